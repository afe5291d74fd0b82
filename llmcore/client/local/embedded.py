"""The embedded model's server: llama.cpp's HTTP server in this process.

It listens on a Unix socket in a private folder, or, where the platform has none, on a
free port of the loopback interface with a random key. To the client it is an upstream like
any other, so everything above it is the code that also talks to real providers.

llama.cpp comes from the wheel `xllamacpp`. Five traits of it shape this module, each seen
with version 2026.10.11549:

- Loading a model holds the GIL (0.3 to 2.5 seconds): no other thread runs meanwhile.
- Freeing a server holds the GIL too, and waits for its connections: during a request, or before
  the main loop runs, it waits forever. So `stop` closes connections first.
- Frequent requests for the state of the slots keep llama.cpp from noticing that a client has
  disconnected. So `stop` polls rarely.
- After a streamed reply it closes the connection without announcing it, and the next request on it
  often fails. So clients must send `Connection: close`.
- In a child made by `os.fork` its clean-up at exit waits for threads that the child does not
  have. Such a child must end with `os._exit`, as those of multiprocessing do.
"""

import contextlib
import ctypes
import http.client
import importlib
import os
import secrets
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, Self

import anyio.to_thread
from attrs import evolve, field

from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.local import model_files
from llmcore.client.locked_files import TemporaryFolder
from llmcore.routes.transport_spec import Embedded
from llmcore.schema.errors import ConfigurationError, missing_extra
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue, loads

_UNIX_SOCKETS = sys.platform != "win32"  # whose Python has none
_SOCKET_NAME = "llama.sock"  # llama.cpp takes a host name for a path if it ends in .sock
_SOCKET_PATH_BYTES = 100  # sun_path holds 104 bytes on macOS and BSD, 108 on Linux
_BATCH_TOKENS = 128  # no slower than 2048 on a CPU, and a cancelled prompt ends within a batch
_READY_S = 60.0
_STOP_S = 15.0
_REQUEST_S = 10.0  # a look at the slots waits for the running batch
_GONE_S = 1.2  # llama.cpp looks for clients that are gone after each second without news
_PING_S = 1  # quiet seconds before a stream's keep-alive comment, which finds those clients too

_importing = threading.Lock()


class _Native(Protocol):
    """The used part of `xllamacpp.Server`, which listens from its creation until it is freed."""

    @property
    def listening_address(self) -> str: ...


@frozen(kw_only=True)
class EmbeddedAddress:
    """Where a server listens. Exactly one of `socket_path` and `api_key` is set.

    Requests must carry `Connection: close`: a kept connection may be dead.
    """

    socket_path: str | None
    """The Unix socket to connect to, whatever the URL is."""
    base_url: str
    """Scheme and host, and the port of a TCP server; no path (the API begins at `/v1`)."""
    api_key: str | None = field(default=None, repr=False)
    """The bearer token of a TCP server."""


class EmbeddedServer:
    """A running server. Stop it, or use it in a `with` statement.

    A server that was not stopped ends when it is collected or when the interpreter exits.
    """

    def __init__(
        self,
        held: list[_Native],
        address: EmbeddedAddress,
        model_name: str,
        folder: contextlib.ExitStack,
    ) -> None:
        """*folder* deletes the folder of the socket when it is closed."""
        self.address = address
        self.model_name = model_name
        self._end = weakref.finalize(self, _shut_down, held, address, folder, os.getpid())

    @classmethod
    def start(cls, options: Embedded, environ: Mapping[str, str]) -> Self:
        """Load the model and return once the server answers. Blocks, and holds the GIL.

        Raises `ConfigurationError` if xllamacpp or the model is missing, or will not load.
        """
        path = options.model_path or model_files.installed(environ)
        native = _import_native()
        name = _model_name(path)
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(contextlib.ExitStack())
            address = _choose_address(folder)
            held = _load(native, evolve(options, model_path=path), name, address)
            server = cls(held, _listening(held, address), name, folder)
            undo.pop_all()
            undo.callback(server.stop)
            _wait_until_ready(server.address)
            undo.pop_all()
            return server

    def stop(self) -> None:
        """End the server and its connections, free its memory and remove its socket.

        Does nothing the second time. At rest it takes milliseconds; requests under way are
        cut off, which takes a second or two. After 15 seconds a server that will not rest
        is abandoned with a `ResourceWarning`: freeing it would hang the process.
        """
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()


class LocalServers:
    """The servers of one client: each started once, shared, and stopped with the client.

    They are started on first use, in a thread, since loading takes a second.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._running: dict[Embedded, tuple[EmbeddedServer, HttpTransport]] = {}
        self._lock = threading.Lock()

    async def running(self, spec: Embedded) -> tuple[HttpTransport, str, str | None]:
        """Return the transport to the server of *spec*, its base URL and its key.

        Raises ConfigurationError where the server or its model is not installed.
        """
        server, http = await anyio.to_thread.run_sync(self._start, spec)
        return http, server.address.base_url, server.address.api_key

    def _start(self, spec: Embedded) -> tuple[EmbeddedServer, HttpTransport]:
        with self._lock:
            if spec not in self._running:
                server = EmbeddedServer.start(spec, self._environ)
                http = HttpTransport(socket=server.address.socket_path)
                self._running[spec] = server, http
            return self._running[spec]

    async def aclose(self) -> None:
        """Stop every server."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
        for server, transport in running:
            await transport.aclose()
            await anyio.to_thread.run_sync(server.stop)


# -- starting


def _import_native() -> ModuleType:
    """Import xllamacpp with OpenMP threads that sleep while they wait.

    By default they spin, and on busy cores that takes time from threads that have work. The
    variable is read when the library is loaded, so our children need not inherit it.
    """
    with _importing:
        added = "OMP_WAIT_POLICY" not in os.environ
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            return importlib.import_module("xllamacpp")
        except ImportError as error:
            raise missing_extra("the embedded model", "local", error) from error
        finally:
            if added:
                os.environ.pop("OMP_WAIT_POLICY", None)


def _choose_address(undo: contextlib.ExitStack) -> EmbeddedAddress:
    """Return a socket in a new private folder, or a TCP address whose port is still open.

    Closing *undo* deletes the folder.
    """
    if _UNIX_SOCKETS:
        for parent in (None, "/tmp"):  # noqa: S108 - short, where the usual folder is not
            with contextlib.suppress(OSError):
                folder = TemporaryFolder.create("llmcore-local-", parent)
                path = str(folder.path / _SOCKET_NAME)
                if len(os.fsencode(path)) < _SOCKET_PATH_BYTES:
                    undo.callback(folder.remove)
                    return EmbeddedAddress(socket_path=path, base_url="http://localhost")
                folder.remove()
    key = secrets.token_urlsafe(32)
    return EmbeddedAddress(socket_path=None, base_url="http://127.0.0.1", api_key=key)


def _load(
    native: ModuleType, options: Embedded, name: str, address: EmbeddedAddress
) -> list[_Native]:
    """Return the native server in a list that is its only owner, so that clearing frees it."""
    try:
        return [native.Server(_parameters(native, options, name, address))]
    except (RuntimeError, ValueError) as error:
        message = (
            f"llama.cpp cannot load {options.model_path} (not a GGUF model, or not enough memory)"
        )
        raise ConfigurationError(message, cause=error) from error


def _parameters(native: ModuleType, options: Embedded, name: str, address: EmbeddedAddress) -> Any:
    """Return the settings of llama.cpp's server for *options*."""
    params = native.CommonParams()
    params.verbosity = 0  # before anything else can be logged
    params.model.path = str(options.model_path)
    params.model_alias = {name}  # else replies carry the path
    if options.embeddings:
        params.embedding = True
        params.pooling_type = native.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.n_ctx = options.context_tokens * options.parallel
    params.n_parallel = options.parallel
    # a text that is embedded must fit into one batch
    params.n_batch = params.n_ubatch = (
        options.context_tokens if options.embeddings else _BATCH_TOKENS
    )
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.n_gpu_layers = 0
    params.fit_params = False  # tries several sizes, for GPUs: a third of the loading time
    params.cache_ram_mib = 0  # would keep up to 8 GiB of old prompts
    params.sse_ping_interval = _PING_S
    params.ui = False
    params.chat_template = _template(name)
    params.hostnames = [address.socket_path or "127.0.0.1"]
    params.port = 0
    if address.api_key:
        params.api_keys = [address.api_key]
        params.cors_origins = address.base_url
        params.cors_origins_explicit = True
    return params


def _model_name(path: Path) -> str:
    smollm2 = model_files.SMOLLM2
    return smollm2.name if path.name == smollm2.file_name else path.stem


def _template(name: str) -> str:
    """Return our template for SmolLM2; "" makes llama.cpp use the file's."""
    if name != model_files.SMOLLM2.name:
        return ""
    return resources.files("llmcore.client.local").joinpath("smollm2.jinja").read_text("utf-8")


def _listening(held: list[_Native], address: EmbeddedAddress) -> EmbeddedAddress:
    """Return *address* with the port that the system chose."""
    if address.socket_path:
        return address
    return evolve(address, base_url=held[0].listening_address)


def _wait_until_ready(address: EmbeddedAddress) -> None:
    deadline = time.monotonic() + _READY_S
    while (_ask(address, "/health") or (0, None))[0] != http.client.OK:
        if time.monotonic() > deadline:
            raise ConfigurationError(f"the embedded model did not start within {_READY_S:.0f} s")
        time.sleep(0.02)
    _busy(address)  # answered by the main loop, which `stop` must find running


# -- stopping


def _shut_down(
    held: list[_Native], address: EmbeddedAddress, folder: contextlib.ExitStack, owner: int
) -> None:
    """Free the server, or keep it until the process ends if freeing it would hang."""
    if os.getpid() != owner:  # a forked child: the threads and the folder are its parent's
        _abandon(held)
        return
    at_rest = False
    try:
        at_rest = _disconnect_clients(address)
    finally:  # also when interrupted
        if at_rest:
            held.clear()
        else:
            _abandon(held)
            warnings.warn("the embedded model did not stop", ResourceWarning, stacklevel=2)
        folder.close()


def _disconnect_clients(address: EmbeddedAddress) -> bool:
    """Close connections until no connection and no running request is left."""
    ours = _behind_a_new_name(address)
    deadline = time.monotonic() + _STOP_S
    while time.monotonic() < deadline:
        if _close_connections(address):
            time.sleep(0.01)
        elif _busy(ours):
            time.sleep(_GONE_S)
        else:
            return True
    return False


def _behind_a_new_name(address: EmbeddedAddress) -> EmbeddedAddress:
    """Rename the socket, so that no other client connects."""
    if not address.socket_path:
        return address
    path = Path(address.socket_path)
    with contextlib.suppress(OSError):
        return evolve(address, socket_path=str(path.rename(path.with_name("stop.sock"))))
    return address


def _close_connections(address: EmbeddedAddress) -> int:
    """Shut down all accepted connections, found among this process's files; return how many.

    If open files cannot be listed (Windows), it finds none, and clients must disconnect.
    """
    host, _, port = address.base_url.removeprefix("http://").partition(":")
    name = address.socket_path or (host, int(port))
    for listing in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return sum(_shut_if_accepted(int(fd), name) for fd in os.listdir(listing))
    return 0


def _shut_if_accepted(fd: int, name: object) -> bool:
    """Shut *fd* down if it is a connection accepted at *name*.

    Works on a copy, which stays the same file even if *fd* is closed and used again.
    """
    try:
        copy = os.dup(fd)
    except OSError:
        return False
    try:
        connection = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return False
    with connection:
        try:
            listens = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if listens or connection.getsockname() != name:
                return False
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return False
    return True


def _abandon(held: list[_Native]) -> None:
    """Make sure that the native server is never freed."""
    for native in held:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))


# -- asking the server


if sys.platform != "win32":

    class _UnixConnection(http.client.HTTPConnection):
        def __init__(self, path: str) -> None:
            super().__init__("localhost", timeout=_REQUEST_S)
            self._path = path

        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)


def _busy(address: EmbeddedAddress) -> bool:
    """Return whether a request is being served; True if the server does not answer."""
    _, slots = _ask(address, "/slots") or (0, None)
    return not isinstance(slots, list) or any(
        not isinstance(slot, dict) or bool(slot.get("is_processing", True)) for slot in slots
    )


def _ask(address: EmbeddedAddress, path: str) -> tuple[int, JsonValue] | None:
    """Return status and body of a GET; None without a valid response."""
    headers = {"Authorization": f"Bearer {address.api_key}"} if address.api_key else {}
    try:
        with contextlib.closing(_connection(address)) as connection:
            connection.request("GET", path, headers=headers)
            reply = connection.getresponse()
            return reply.status, loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError):
        return None


def _connection(address: EmbeddedAddress) -> http.client.HTTPConnection:
    if sys.platform != "win32" and address.socket_path:
        return _UnixConnection(address.socket_path)
    host = address.base_url.removeprefix("http://")
    return http.client.HTTPConnection(host, timeout=_REQUEST_S)
