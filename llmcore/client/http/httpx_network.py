"""httpcore's own network, kept track of: no connection outlives its pool or a cancelled handshake.

Measured with httpcore 1.0: a pool forgets connections that are still being made when it is closed,
and a TLS handshake that is cancelled leaves its socket open.
"""

import ssl
from collections.abc import Iterable
from typing import Any, Final

import anyio
import httpcore
import sniffio

_MAX_READ_BYTES: Final = 256 * 1024
"""As much as asyncio reads at once, so that nothing is left over in a buffer of anyio's."""


class TrackedStream(httpcore.AsyncNetworkStream):
    """A connection. `read_limit`, in seconds, takes the place of httpcore's limit for reads.

    httpcore reads its own limit once, before the first byte of a body; until then a model may
    think for longer than it may pause between two events.
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
        """The connection to a TLS proxy that this one is inside of."""
        self._min_read = min_read
        self.read_limit: float | None = None
        self._head = b""
        """The head of a request whose body is written next."""
        opened.add(self)

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> bytes:
        """Read what has come."""
        limit = timeout if self.read_limit is None else self.read_limit
        return await self._inner.read(max(max_bytes, self._min_read), limit)

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> None:
        """Write all of *buffer*; the head of an HTTP/1.1 request together with its body.

        httpcore writes them one after the other, and always writes again after a head.
        """
        if self._head:
            buffer, self._head = self._head + buffer, b""
        elif buffer[:5] == b"POST " and buffer[-4:] == b"\r\n\r\n":
            self._head = buffer
            return
        await self._inner.write(buffer, timeout)

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
        """Return the connection, encrypted from now on."""
        try:
            inner = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise
        self._opened.discard(self)
        return TrackedStream(inner, self._opened, below=self)

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks of a connection."""
        return self._inner.get_extra_info(info)


def has_unread(stream: httpcore.AsyncNetworkStream) -> bool:
    """Return whether TLS holds bytes that were received and not read, or has ended.

    Neither httpcore nor the socket shows them. A byte is taken out: the connection is not usable
    afterwards.
    """
    tls = stream.get_extra_info("ssl_object")
    if tls is not None:
        try:
            tls.read(1)
        except ssl.SSLWantReadError:
            pass
        except (OSError, ValueError):
            return True
        else:
            return True
    return (
        isinstance(stream, TrackedStream) and stream.below is not None and has_unread(stream.below)
    )


class TrackedNetwork(httpcore.AsyncNetworkBackend):
    """httpcore's network for the running event loop. `aclose` closes all that it has opened."""

    def __init__(self) -> None:
        trio = sniffio.current_async_library() == "trio"
        # Any: httpcore has a class without methods in the place of one that is not installed.
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
        return await self._tracked(
            await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        socket_options: Iterable[Any] | None = None,
    ) -> TrackedStream:
        """Connect to a socket of this machine."""
        return await self._tracked(
            await self._inner.connect_unix_socket(path, timeout, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)

    async def aclose(self) -> None:
        """Close every connection, and each one that is still being made as soon as it is."""
        self._closed = True
        for stream in tuple(self._opened):
            await stream.aclose()

    async def _tracked(self, stream: httpcore.AsyncNetworkStream) -> TrackedStream:
        if self._closed:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
            raise httpcore.ConnectError("the client was closed")
        return TrackedStream(stream, self._opened, min_read=self._min_read)
