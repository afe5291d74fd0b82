"""Connections of asyncio, as httpcore asks for them.

httpcore's own, over anyio, enters a cancel scope, starts a timer and switches the socket's
polling on and off for every read: more than reading one event of an answer takes. Here the event
loop delivers what comes, one timer watches all reads, and what waits is bounded by pausing.
"""

import asyncio
import math
import select
import ssl
import sys
from asyncio import sslproto
from collections import deque
from typing import Any, Final, cast

import anyio
import httpcore

MAX_WAITING: Final = 256 * 1024
"""Bytes that may have come and not been read; the kernel holds what comes after them."""
PIECE: Final = 256 * 1024
"""Bytes that are handed over to be written before looking whether the other side reads."""
_A_DAY: Final = 86_400.0
"""asyncio's own limit for a handshake, in seconds: never before ours."""
_NOTHING: Final = memoryview(b"")

_INFO: Final = {
    "ssl_object": "ssl_object",
    "socket": "socket",
    "client_addr": "sockname",
    "server_addr": "peername",
}
"""What httpcore asks of a connection, and what asyncio calls it."""


class AsyncioStream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection: asyncio's side puts in what comes, httpcore's takes it out."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._socket: asyncio.Transport | None = None
        """The transport beneath all TLS. Only it is paused: what has passed it comes through."""
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._reader: asyncio.Future[None] | None = None
        """Who waits for something to come."""
        self._writers: asyncio.Future[None] | None = None
        """There while too much waits to be written: done when it is gone."""
        self._rest = _NOTHING
        """What a writer has not handed over yet."""
        self._ended = False
        """Nothing more will come."""
        self._error: Exception | None = None
        """Why, if not by the other side's end: what came is not whole."""
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # -- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = self._socket = cast("asyncio.Transport", transport)  # uvloop's is none

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size > MAX_WAITING and not self._paused and self._socket is not None:
            self._paused = True
            self._socket.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Note that the other side has ended; the transport closes itself."""
        self._ended = True
        self._wake()
        self.resume_writing()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Let nobody wait any longer."""
        if not self._ended:
            self._error = exc or ConnectionAbortedError("the connection was closed before its end")
        self._ended = True
        self._wake()
        self.resume_writing()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def pause_writing(self) -> None:
        """Let writers wait: the other side does not read."""
        self._writers = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Let writers go on."""
        if self._writers is not None and not self._writers.done():
            self._writers.set_result(None)
        self._writers = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # -- called by httpcore

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> bytes:
        """Return what has come, waiting for it *timeout* seconds; nothing at the end.

        Raises httpcore.ReadTimeout and httpcore.ReadError.
        """
        if not self._waiting and not self._ended:
            await self._come(timeout)
        if not self._waiting:
            if self._error is not None:
                raise httpcore.ReadError(str(self._error)) from self._error
            return b""
        data = self._waiting.popleft()
        if len(data) > max_bytes:
            self._waiting.appendleft(data[max_bytes:])
            data = data[:max_bytes]
        self._size -= len(data)
        if self._paused and self._size <= MAX_WAITING // 2:
            self._go_on()
        return data

    def _go_on(self) -> None:
        """Let more come. uvloop minds if the connection is gone."""
        self._paused = False
        if self._socket is not None and not self._socket.is_closing():
            self._socket.resume_reading()

    def _gone(self) -> bool:
        """Tell whether nothing can be written. Of this, asyncio's TLS tells too late."""
        return self._ended or self._socket is None or self._socket.is_closing()

    async def _come(self, limit: float | None) -> None:
        """Wait until there is something to read."""
        loop = asyncio.get_running_loop()
        self._reader = reader = loop.create_future()
        self._deadline = math.inf if limit is None else loop.time() + limit
        if limit is not None:
            if self._timer is not None and self._timer.when() > self._deadline:
                self._timer.cancel()
                self._timer = None
            if self._timer is None:
                self._timer = loop.call_at(self._deadline, self._expire, loop)
        try:
            await reader
        finally:
            self._reader = None

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the read that has waited too long; the timer outlives those that have not."""
        self._timer = None
        if self._reader is None or self._reader.done() or math.isinf(self._deadline):
            return
        if loop.time() < self._deadline:
            self._timer = loop.call_at(self._deadline, self._expire, loop)
        else:
            self._reader.set_exception(httpcore.ReadTimeout("nothing came"))

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> None:
        """Write *buffer*; wait at most *timeout* seconds while the other side does not read.

        What is written to who has ended is dropped, as on any socket: reading tells, and what
        had come before can still be read. Raises httpcore.WriteTimeout and httpcore.WriteError.
        """
        transport = self._transport
        if transport is None or self._error or (self._gone() and not self._ended):
            raise httpcore.WriteError("the connection is closed") from self._error
        if self._ended or not buffer:
            return
        if self._rest:  # of a writer that waits: nothing comes in between
            self._hand_over(len(self._rest))
        transport.write(buffer[:PIECE])
        if self._writers is None and len(buffer) <= PIECE:
            return
        self._rest = memoryview(buffer)[PIECE:]
        try:
            async with asyncio.timeout(timeout):
                await self._write_on()
        except TimeoutError as error:
            raise httpcore.WriteTimeout("the server does not read") from error
        if self._error:
            raise httpcore.WriteError("the server closed the connection") from self._error

    async def _write_on(self) -> None:
        """Write the rest as fast as the other side reads; all at once, if this is cancelled.

        asyncio's TLS takes all it is given, and then does not tell that it waits. Half of what
        was to be written would spoil what others write to the same connection.
        """
        try:
            while not self._gone() and (self._rest or self._writers):
                if self._writers is not None:
                    await asyncio.shield(self._writers)
                else:
                    self._hand_over(PIECE)
        finally:
            self._hand_over(len(self._rest))

    def _hand_over(self, size: int) -> None:
        """Write as much of the rest."""
        piece, rest = self._rest[:size], self._rest[size:]
        self._rest = rest or _NOTHING  # an empty view would hold the whole
        if piece and self._transport is not None and not self._gone():
            self._transport.write(piece)

    def abort(self) -> None:
        """Close the connection; the event loop closes the socket in its next round."""
        if self._transport is not None:
            self._waiting.clear()
            self._error = self._error or ConnectionAbortedError("the connection was closed here")
            self.connection_lost(None)  # asyncio does not tell in the middle of a handshake
            self._transport.abort()

    async def aclose(self) -> None:
        """Close the connection at once: when this returns, it is closed."""
        self.abort()
        with anyio.CancelScope(shield=True):
            await asyncio.sleep(0)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
    ) -> "AsyncioStream":
        """Encrypt the connection. Raises httpcore.ConnectTimeout and httpcore.ConnectError."""
        try:
            async with asyncio.timeout(timeout):
                self._transport = await self._encrypted(ssl_context, server_hostname)
        except OSError as error:  # ssl.SSLError and TimeoutError are some
            await self.aclose()
            raise not_connected(error) from error
        except BaseException:
            await self.aclose()
            raise
        return self

    async def _encrypted(self, context: ssl.SSLContext, host: str | None) -> asyncio.Transport:
        """Return the transport with TLS around it."""
        if self._transport is None or self._gone():
            raise ConnectionResetError("the connection was closed before TLS began")
        if self._waiting:  # they would be read as if they had come encrypted
            raise ConnectionAbortedError("the server sent bytes before TLS began")
        _let_break_off(self._transport)
        encrypted = await asyncio.get_running_loop().start_tls(
            self._transport,
            self,
            context,
            server_hostname=host,
            ssl_handshake_timeout=_A_DAY,
        )
        if encrypted is None or self._error:  # asyncio takes being closed for success
            raise ConnectionAbortedError("the connection was closed before TLS began")
        return encrypted

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks of a connection."""
        if info == "is_readable":
            return bool(self._waiting) or self._ended or self._unseen()
        if self._transport is None or info not in _INFO:
            return None
        return self._transport.get_extra_info(_INFO[info])

    def _unseen(self) -> bool:
        """Tell whether something came, or the end, while the program kept the loop from looking."""
        file = self.get_extra_info("socket")
        if file is None or file.fileno() < 0 or not hasattr(select, "poll"):  # on Windows
            return False
        unseen = select.poll()
        unseen.register(file.fileno(), select.POLLIN)
        return bool(unseen.poll(0))


def _let_break_off(transport: asyncio.Transport) -> None:
    """Let TLS inside of this TLS fail with its own error.

    It breaks off what carries it in a way that is a TypeError up to Python 3.11.7 and 3.12.1.
    """
    if sys.version_info >= (3, 13):
        return
    if isinstance(transport, sslproto._SSLProtocolTransport):  # noqa: SLF001  (it has no other name)
        vars(transport)["_force_close"] = lambda _error: transport.abort()


def not_connected(error: OSError) -> httpcore.ConnectError | httpcore.ConnectTimeout:
    """Return httpcore's name for what kept a connection from being made."""
    kind = httpcore.ConnectTimeout if isinstance(error, TimeoutError) else httpcore.ConnectError
    return kind(str(error) or type(error).__name__)
