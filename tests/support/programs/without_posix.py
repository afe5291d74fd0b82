"""Makes this process resemble one on Windows, as far as llmcore can see: run before importing it.

Modules and functions that only POSIX systems have are removed, and `sys.platform` is `win32`. The
standard library and others' packages keep what they have imported before.
"""

import asyncio
import ctypes
import multiprocessing.util
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import Final

_PACKAGES: Final = (
    "aiohttp anyio._backends._asyncio attrs cattrs concurrent.futures.process httpcore httpx "
    "platform uvicorn.protocols.http.httptools_impl urllib.request "
    "uvicorn.protocols.websockets.websockets_sansio_impl webbrowser zoneinfo"
)
_POSIX_MODULES: Final = "curses fcntl grp posix pty pwd readline resource syslog termios tty uvloop"
_POSIX_NAMES: Final[dict[ModuleType, str]] = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK WNOHANG chown fchown fork forkpty getegid "
    "geteuid getgid getpgid getuid killpg mkfifo openpty pipe2 pread pwrite register_at_fork "
    "sched_getaffinity sendfile set_blocking setpgid setsid",
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 "
    "SIGWINCH alarm pthread_kill pthread_sigmask setitimer sigwait",
    socket: "AF_UNIX SO_REUSEPORT",
    select: "epoll poll",
}
_IMPORTED: Final = (ctypes, multiprocessing.util, shutil, ssl, subprocess)


def remove_posix() -> None:
    """Remove what Windows does not have."""
    for package in _PACKAGES.split():
        import_module(package)
    asyncio.new_event_loop().close()  # the kind of loop is chosen for the platform once
    pair, family = socket.socketpair, socket.AF_UNIX
    socket.socketpair = lambda *_: pair(family, socket.SOCK_STREAM)
    asyncio.ProactorEventLoop = asyncio.SelectorEventLoop  # type: ignore[attr-defined, unused-ignore]
    for name in _POSIX_MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]  # imports of it raise ImportError
    for module, names in _POSIX_NAMES.items():
        for name in names.split():
            vars(module).pop(name, None)
    sys.platform = "win32"
    ssl.enum_certificates = lambda _store: []  # type: ignore[attr-defined, unused-ignore]
