"""httpcore's network backend with tracking: connections never outlive their pool.

Measured with httpcore 1.0: closing a pool leaves connections open that are still being opened, and
cancelling a TLS handshake leaves its socket open.
"""

import contextlib
import select
import ssl
from collections.abc import Iterable
from typing import Any, Final

import anyio
import httpcore
import sniffio
from anyio.abc import ByteStream

from llmcore.client.http import engine
from llmcore.client.loop_task import LoopTask, current_time, new_scope

_MAX_READ_BYTES: Final = 256 * 1024
"""The size of asyncio's reads, so that nothing is left over in anyio's buffer."""
_LARGE_REQUEST_BYTES: Final = 64 * 1024
"""Larger requests do not fit into the buffers of asyncio and the system at once."""
_REFUSED_SECONDS: Final = 1.0
"""How long a server that has answered is given to read the rest of a request."""
_INFORMATIONAL: Final = b"HTTP/1.1 1"
"""How a response begins that does not answer the request."""
_BROKEN: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class TrackedStream(httpcore.AsyncNetworkStream):
    """A connection. `read_limit`, in seconds, replaces httpcore's read timeout.

    httpcore reads its timeout once, before the first byte of a body. Before that byte a model may
    take longer than between two events.

    On asyncio, AnyIO's stream itself is read and written. httpcore's stream around it enters three
    contexts for each, and asks the system for the addresses of the connection where only its
    socket is wanted.
    """

    def __init__(
        self,
        inner: httpcore.AsyncNetworkStream,
        opened: "set[TrackedStream]",
        *,
        below: "TrackedStream | None" = None,
        min_read: int = 0,
    ) -> None:
        self._inner = inner
        self._opened = opened
        self.below = below
        """The connection to a TLS proxy that carries this one."""
        self._min_read = min_read
        self.read_limit: float | None = None
        self._head = b""
        """The head of a request whose body is written next."""
        self._early = b""
        """The bytes that arrived while a request was being written."""
        self._bare = _anyio_stream(inner)
        """The stream of AnyIO that httpcore's is around; None on trio."""
        self.tls: Any = inner.get_extra_info("ssl_object")
        """The object that encrypts the connection, or None."""
        self._unread: _Unread | None = None
        opened.add(self)

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> bytes:
        """Read available bytes."""
        if self._early:
            early, self._early = self._early, b""
            return early
        limit = timeout if self.read_limit is None else self.read_limit
        most = max(max_bytes, self._min_read)
        if self._bare is None:
            return await self._inner.read(most, limit)
        try:
            if limit is None:
                return await self._bare.receive(most)
            with new_scope(current_time() + limit):
                return await self._bare.receive(most)
        except anyio.EndOfStream:
            return b""
        except _BROKEN as error:
            raise httpcore.ReadError(error) from error
        raise httpcore.ReadTimeout  # the scope was cancelled

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> None:
        """Write *buffer*; the head of an HTTP/1.1 request is written together with its body.

        httpcore writes them one after the other, and always writes after a head.
        """
        if self._head:
            buffer, self._head = self._head + buffer, b""
            if len(buffer) > _LARGE_REQUEST_BYTES:
                await self._write_while_reading(buffer, timeout)
                return
        elif buffer[:5] == b"POST " and buffer[-4:] == b"\r\n\r\n":
            self._head = buffer
            return
        if self._bare is None or timeout is not None:
            await self._inner.write(buffer, timeout)
            return
        try:
            await self._bare.send(buffer)
        except _BROKEN as error:
            raise httpcore.WriteError(error) from error

    async def _write_while_reading(self, request: bytes, timeout: float | None) -> None:  # noqa: ASYNC109
        """Write *request*, and keep what arrives meanwhile for the next read.

        A server may refuse a large request before it has read it. On asyncio the response would be
        lost once the server closes the connection; and one that reads no further without closing
        it would be waited for. Raises WriteError for these, after which httpcore reads the
        response.
        """
        sending, reading = new_scope(), anyio.Event()

        async def read() -> None:
            reading.set()  # the request is written once this waits: asyncio would lose a response
            with contextlib.suppress(httpcore.ReadError):  # the next read raises it, too
                self._early = await self._inner.read(_MAX_READ_BYTES, None)
            if self._early and not self._early.startswith(_INFORMATIONAL):
                sending.deadline = anyio.current_time() + _REFUSED_SECONDS

        reader = LoopTask(read)
        try:
            await reading.wait()
            with sending:
                await self._inner.write(request, timeout)
        finally:
            await reader.stop()
        if sending.cancelled_caught:
            raise httpcore.WriteError("the server has answered, and does not read the request")

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        self._opened.discard(self)
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> "TrackedStream":
        """Return the connection with TLS."""
        try:
            inner = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise
        self._opened.discard(self)
        return TrackedStream(inner, self._opened, below=self)

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the connection, such as `ssl_object`."""
        if info == "is_readable" and self._bare is not None and _new_poll:
            if self._unread is None:
                self._unread = _Unread(self._inner.get_extra_info("socket"))
            return self._unread.has_come()
        return self._inner.get_extra_info(info)


class _Unread:
    """Watches a socket for bytes, or its end, that were not read."""

    def __init__(self, watched: Any) -> None:
        self._socket = watched
        self._poll = _new_poll()
        if watched.fileno() >= 0:
            self._poll.register(watched.fileno(), _HAS_BYTES)

    def has_come(self) -> bool:
        """Return whether a read would not wait, as of a socket that was closed."""
        return self._socket.fileno() < 0 or bool(self._poll.poll(0))


_new_poll: Final[Any] = getattr(select, "poll", None)
"""Returns an object that polls sockets; None on Windows, which has no such function."""
_HAS_BYTES: Final[int] = getattr(select, "POLLIN", 0)


def _anyio_stream(inner: httpcore.AsyncNetworkStream) -> ByteStream | None:
    """Return AnyIO's stream in *inner*, to which httpcore has no public access."""
    bare = getattr(inner, "_stream", None)
    return bare if isinstance(bare, ByteStream) else None


def has_unread(stream: httpcore.AsyncNetworkStream) -> bool:
    """Return whether TLS has received bytes that were not read, or has ended.

    Neither httpcore nor the socket shows them. This consumes a byte, so that the connection is
    unusable if it returns True.
    """
    tracked = stream if isinstance(stream, TrackedStream) else None
    tls = stream.get_extra_info("ssl_object") if tracked is None else tracked.tls
    if tls is not None:
        try:
            tls.read(1)
        except ssl.SSLWantReadError:
            pass
        except (OSError, ValueError):
            return True
        else:
            return True
    return tracked is not None and tracked.below is not None and has_unread(tracked.below)


class TrackedNetwork(httpcore.AsyncNetworkBackend):
    """httpcore's backend for the running event loop; `aclose` closes all its connections."""

    def __init__(self) -> None:
        trio = sniffio.current_async_library() == "trio"
        # Any: httpcore replaces a backend that is not installed by a class without methods.
        inner: Any = httpcore.TrioBackend() if trio else httpcore.AnyIOBackend()
        self._inner: httpcore.AsyncNetworkBackend = inner
        self._min_read = 0 if trio else _MAX_READ_BYTES
        self._opened: set[TrackedStream] = set()
        self._closed = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> TrackedStream:
        """Connect to a host."""
        options = (*engine.SOCKET_OPTIONS, *(socket_options or ()))
        return await self._tracked(
            await self._inner.connect_tcp(host, port, timeout, local_address, options)
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        socket_options: Iterable[Any] | None = None,
    ) -> TrackedStream:
        """Connect to a Unix socket."""
        return await self._tracked(
            await self._inner.connect_unix_socket(path, timeout, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*."""
        await self._inner.sleep(seconds)

    async def aclose(self) -> None:
        """Close all connections; those that are still being opened are closed once open."""
        self._closed = True
        for stream in tuple(self._opened):
            await stream.aclose()

    async def _tracked(self, stream: httpcore.AsyncNetworkStream) -> TrackedStream:
        if self._closed:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
            raise httpcore.ConnectError("the client was closed")
        return TrackedStream(stream, self._opened, min_read=self._min_read)
