"""Running the gateway: in one process or several workers, until SIGINT or SIGTERM."""

import asyncio
import errno
import gc
import linecache
import logging
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, cast

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.logs import log, set_up
from llmcore.client.http.engine import SOCKET_OPTIONS
from llmcore.client.locked_files import TemporaryFolder
from llmcore.fronts.policy import RegisteredTool
from llmcore.schema.errors import ConfigurationError, missing_extra
from llmcore.version import VERSION

if TYPE_CHECKING:
    from uvicorn import Config, Server

    from llmcore.bridge.http.asgi import ASGIApp, Receive, Scope, Send
    from llmcore.bridge.reload import ReadSettings

_BACKLOG = 2048
_UNSENT_BYTES = 131_072
"""How much the system keeps of what a client has no room for; Linux would keep up to 4 MB."""
_LONGEST_MS = 2**31 - 1
_OPEN_FILES = 65_536
_OWN_FILES = 40
"""Open files of a process without connections."""
_IDLE_CONNECTION_S = 75
_MALLOC_OPTIONS = {-8: 2, -3: 2 * 1024 * 1024, -1: 8 * 1024 * 1024}
"""By the numbers of malloc.h. M_ARENA_MAX: the number of heaps. M_MMAP_THRESHOLD: what is at least
so large is returned to the system when it is freed. M_TRIM_THRESHOLD: so much is kept of a heap."""
_WHILE_IMPORTING = (2_000, 1_000_000)
"""Thresholds by which each object is looked at once, while it is new: importing leaves some 4 MB of
cycles behind, most of them the classes that attrs replaced, and their memory is used again."""
_OBJECTS_BETWEEN_COLLECTIONS = 10_000
_GENERATIONS = (10, 2)
"""Collections of one generation before the next one is collected, too. Responses leave no reference
cycles behind, but failures do, by their tracebacks."""


def run(
    settings: GatewaySettings,
    *,
    registered_tools: tuple[RegisteredTool, ...] = (),
    announce: Callable[[str], None] | None = None,
    read_again: "ReadSettings | None" = None,
) -> None:
    """Serve until SIGINT or SIGTERM; running responses are finished first.

    With *read_again*, the settings are read again when their files change, and on SIGHUP.
    *announce* is called with the gateway's URL, without a path, once the address is taken.
    Raises ConfigurationError if the settings cannot work or the address is taken.
    """

    def listens(url: str, **more: object) -> None:
        log(logging.INFO, "listening", url=f"{url}/v1", version=VERSION, **more)
        needed = _OWN_FILES + 2 * settings.limits.max_running  # of clients, and to upstreams
        if open_files < needed:  # further connections would be closed without a message
            log(logging.WARNING, "too_few_open_files", allowed=open_files, needed=needed)
        if announce is not None:
            announce(url)

    open_files = allow_open_files()
    bound_free_memory()
    thresholds = gc.get_threshold()
    gc.set_threshold(*_WHILE_IMPORTING)
    try:
        if settings.workers > 1:
            _run_workers(settings, registered_tools, listens, read_again)
            return
        with _bound(settings, registered_tools, read_again) as (uvicorn_server, listener, url):
            listens(url)
            reduce_garbage_collection()
            uvicorn_server.run(sockets=[listener])
    finally:
        gc.set_threshold(*thresholds)


def _run_workers(
    settings: GatewaySettings,
    registered_tools: tuple[RegisteredTool, ...],
    listens: Callable[..., None],
    read_again: "ReadSettings | None",
) -> None:
    """Serve in several processes, which share the state and the metrics."""
    if sys.platform == "win32":
        raise ConfigurationError("Windows cannot fork processes: leave workers at 1")
    make_config = _application(settings, registered_tools, read_again)
    from llmcore.bridge.http.metrics import share_metrics
    from llmcore.bridge.http.workers import ReportingServer, Supervisor

    with ExitStack() as held:
        folder = TemporaryFolder.create("openbridge-metrics-")
        held.callback(folder.remove)
        share_metrics(folder.path)
        make_config()  # so that faults of the settings show before a process is forked
        address = held.enter_context(closing(_listening_for(settings, settings.port)))
        port = address.getsockname()[1]
        own_sockets = sys.platform == "linux"
        if own_sockets:  # the address was free, and is kept by a socket that does not listen
            address.close()
            address = held.enter_context(
                closing(_listening_for(settings, port, shared=True, accepting=False))
            )

        def serve(report: Callable[[], None]) -> None:
            listener = _listening_for(settings, port, shared=True) if own_sockets else address
            ReportingServer(make_config(), report).run(sockets=[listener])

        reduce_garbage_collection()
        workers = Supervisor(serve, settings.workers, settings.limits.shutdown_s)
        stopped_by = workers.run(lambda: listens(_url(settings, port), workers=settings.workers))
    signal.raise_signal(stopped_by)  # now, since it may end the process


def allow_open_files() -> float:
    """Raise the limit of open files as far as the system lets this process, and return it.

    Each connection is an open file, and the limit is usually 1024, though more are allowed.
    """
    if sys.platform == "win32":
        return math.inf
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS allows fewer than it states
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return math.inf if soft == resource.RLIM_INFINITY else soft


def bound_free_memory() -> None:
    """Let the C library of Linux keep less of the memory that large requests have freed.

    By itself glibc keeps heaps for up to 8 threads a core, and of each up to 64 MB that are free:
    after 240 background responses to requests of a megabyte a worker had 170 to 200 MB, and has 105
    MB with these bounds, which cost a request of 1.5 MB at most a tenth more time; much lower ones
    cost it half as much again. Nothing is changed where the environment has variables of glibc's
    own.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        for option, value in _MALLOC_OPTIONS.items():
            mallopt(option, value)


def reduce_garbage_collection() -> None:
    """Leave what was imported out of garbage collections, and collect less often.

    A request makes hundreds of objects, nearly all of which their reference counts free. With
    Python's own threshold of 700, looking through them for cycles takes a tenth of the time. The
    source that attrs wrote, 0.4 MB for debuggers, is freed first.
    """
    linecache.clearcache()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *_GENERATIONS)


@contextmanager
def serving_in_thread(settings: GatewaySettings) -> Iterator[str]:
    """Serve in a thread for the block, and yield the gateway's URL, without a path.

    Raises ConfigurationError if the settings cannot work or the address is taken.
    """
    with _bound(settings, ()) as (uvicorn_server, listener, url):
        thread = threading.Thread(target=uvicorn_server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield url
        finally:
            uvicorn_server.should_exit = True
            thread.join()


@contextmanager
def _bound(
    settings: GatewaySettings,
    registered_tools: tuple[RegisteredTool, ...],
    read_again: "ReadSettings | None" = None,
) -> Iterator[tuple["Server", socket.socket, str]]:
    """Return the server, the socket that it listens on, and its URL."""
    make_config = _application(settings, registered_tools, read_again)
    from llmcore.bridge.http.draining import DrainingServer

    with _listening_for(settings, settings.port) as listener:
        yield DrainingServer(make_config()), listener, _url(settings, listener.getsockname()[1])


def load() -> None:
    """Import the gateway. Raises ConfigurationError if a package is missing."""
    try:
        import llmcore.bridge.http.app
        import llmcore.bridge.service  # noqa: F401
    except ImportError as error:
        raise missing_extra("the gateway", "bridge", error) from error


def _application(
    settings: GatewaySettings,
    registered_tools: tuple[RegisteredTool, ...],
    read_again: "ReadSettings | None",
) -> Callable[[], "Config"]:
    """Load everything, and return what makes the configuration of a server."""
    load()
    from llmcore.bridge.http.app import make_app
    from llmcore.bridge.reload import stamps_of
    from llmcore.bridge.service import Service

    set_up(settings.log_level)
    stamps = stamps_of(settings)

    def make() -> "Config":
        service = Service.from_settings(
            settings, registered_tools=registered_tools, read_again=read_again, stamps=stamps
        )
        return uvicorn_config(make_app(service), settings)

    return make


def _url(settings: GatewaySettings, port: int) -> str:
    bare = settings.host.strip("[]")
    host = f"[{bare}]" if ":" in bare else bare
    return f"http://{host}:{port}"


def uvicorn_config(app: "ASGIApp", settings: GatewaySettings) -> "Config":
    """Return how uvicorn is to serve *app*."""
    import uvicorn

    from llmcore.bridge.http.http1 import limited_connections, web_sockets

    limits = settings.limits
    return uvicorn.Config(
        _ending_quietly(app),
        http=limited_connections(limits.body_s, limits.max_header_bytes),
        ws=cast("type[asyncio.Protocol]", web_sockets(limits.body_s)),
        ws_max_size=limits.max_body_bytes,
        ws_per_message_deflate=False,  # it costs more time than a small event takes to send
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # any client could claim another address, and so another rate
        server_header=False,
        timeout_keep_alive=_IDLE_CONNECTION_S,
        timeout_graceful_shutdown=max(1, round(limits.shutdown_s)),
    )


def _ending_quietly(app: "ASGIApp") -> "ASGIApp":
    """Return *app* for uvicorn, which logs a traceback of each task that a shutdown cuts.

    uvicorn cancels the task of a request at the end of its patience, and at a second SIGINT also
    that of the lifespan; they end here.
    """

    async def run_until_cancelled(scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "lifespan":
                log(logging.WARNING, "response_cut", path=scope["path"])

    return run_until_cancelled


def _listening_for(settings: GatewaySettings, port: int, **kind: bool) -> socket.socket:
    return listening(settings.host, port, settings.limits.send_s, **kind)


def listening(
    host: str, port: int, send_s: float, *, shared: bool = False, accepting: bool = True
) -> socket.socket:
    """Return a socket that listens at the address; ConfigurationError if it is taken.

    Other *shared* sockets may listen there too. One that is not *accepting* only takes the address.
    Linux closes a connection whose client has acknowledged nothing for *send_s* seconds, as where
    its network is gone; by itself it would wait for a quarter of an hour.

    It presents itself as TCP: asyncio sends small writes of such sockets at once, and of others
    only after the client's delayed acknowledgement, 40 milliseconds later.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared and sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if sys.platform == "linux":  # accepted connections have it from the listener
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
            unanswered_ms = min(math.ceil(send_s * 1000), _LONGEST_MS)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unanswered_ms)
            for option in SOCKET_OPTIONS:
                listener.setsockopt(*option)
        listener.bind((host.strip("[]"), port))
        if accepting:
            listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"cannot listen on {host}:{port}: {error.strerror or error}"
        if remedy := _REMEDIES.get(error.errno or 0):
            message = f"{message}; {remedy}"
        raise ConfigurationError(message, cause=error) from error
    return listener


_REMEDIES = {
    errno.EADDRINUSE: "stop what listens there, such as another gateway, or set another --port",
    errno.EACCES: "set a --port of 1024 or more",
    errno.EADDRNOTAVAIL: "set the --host to an address of this machine",
}
"""The remedies of errors of binding a socket; `--port` has a variable and a setting, too."""
