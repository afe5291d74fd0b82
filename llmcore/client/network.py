"""httpcore's network, with a limit for reads that can be changed in the middle of a body.

httpcore reads its own limit once, before the first byte of a body; until then a model may think for
longer than it may pause between two events.
"""

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import sniffio

from llmcore.client.asyncio_network import AsyncioBackend


class Stream(httpcore.AsyncNetworkStream):
    """A connection. `read_limit`, in seconds, takes the place of httpcore's limit for reads."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self.read_limit: float | None = None
        self._head = b""
        """The head of a request whose body is written next."""

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> bytes:
        """Read what has come."""
        limit = timeout if self.read_limit is None else self.read_limit
        return await self._inner.read(max_bytes, limit)

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
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> "Stream":
        """Return the connection, encrypted from now on."""
        return Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks of a connection."""
        return self._inner.get_extra_info(info)


class Backend(httpcore.AsyncNetworkBackend):
    """Opens such connections in the running event loop."""

    def __init__(self) -> None:
        trio = sniffio.current_async_library() == "trio"
        # Any: httpcore has a class without methods in the place of one that is not installed.
        inner: Any = httpcore.TrioBackend() if trio else AsyncioBackend()
        self._inner: httpcore.AsyncNetworkBackend = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        """Connect to a host."""
        return Stream(
            await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        """Connect to a socket of this machine."""
        return Stream(await self._inner.connect_unix_socket(path, timeout, socket_options))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)
