"""The gateway's WebSockets: uvicorn's, with limits that it does not have.

A frame can be two bytes long, and each takes some ten microseconds to read. So a client that sends
nothing but tiny frames is read in steps, between which the others have their turns.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Close, CloseCode
from websockets.http11 import Request

from llmcore.bridge.http.http1 import refusal
from llmcore.bridge.http.request_body import LEAST_BYTES_PER_S, HeldBytes
from llmcore.bridge.websocket.connection import STOPPING, UNFINISHED
from llmcore.client.websocket.connection import is_utf8
from llmcore.fronts.errors import FrontError

_STEP_BYTES: Final = 16 * 1024
_INVALID_DATA: Final = 1007
_POLICY_VIOLATION: Final = 1008
_TRY_AGAIN_LATER: Final = 1013
_CLOSE: Final = 0x88
_MASKED: Final = 0x80
_MASKED_HEAD: Final = 6
_SILENCE_S: Final = 0.5
_LONGEST_END_S: Final = 10.0


class GatewayWebSocket(WebSocketsSansIOProtocol):
    """A connection that became a WebSocket; *settings* are uvicorn's.

    One whose message takes more than *body_s* seconds to arrive, and one more for each 8 KiB of it,
    is closed (1008), as is one whose text is not UTF-8 (1007), and one whose unfinished message is
    more than the application lets a caller have in memory (1013). What such a client is still
    sending is read and discarded: a connection that is closed before is reset, and the client may
    lose the reason. A client that does not read gets no pongs, which would pile up.

    At a shutdown the application gets a `websocket.disconnect` with the code 1012, and closes when
    it can; uvicorn itself would cut the connection. It waits as long as for requests.
    """

    def __init__(self, body_s: float, **settings: Any) -> None:
        super().__init__(**settings)
        self._body_s = body_s
        self._unread = memoryview(b"")
        """The bytes that were received and are not read yet."""
        self._late: asyncio.TimerHandle | None = None
        self._begun_at = 0.0
        self._unfinished: HeldBytes | None = None
        """Counts the bytes of a message that has not arrived completely."""
        self._has_failed = False
        """Whether a fault of the client ends the connection."""
        self._heard_at = 0.0

    def data_received(self, data: bytes) -> None:
        """Read *data* in steps; nothing more is received before its end."""
        if self._has_failed:
            self._heard_at = self.loop.time()
            if _is_close(data):  # the client has read why
                self.transport.close()
            return
        self._unread = memoryview(bytes(self._unread) + data)
        self.transport.pause_reading()
        self._step()

    def _step(self) -> None:
        """Read one step, unless messages before it wait for the application."""
        if self.read_paused or self._is_ending or not self._unread:
            return
        data, self._unread = self._unread[:_STEP_BYTES], self._unread[_STEP_BYTES:]
        super().data_received(bytes(data))
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self._refuse(self.conn.handshake_exc)
            return
        if not self._has_failed:
            self._count(len(data))
            self._watch()
            self._go_on()

    def _refuse(self, error: Exception) -> None:
        """Close the connection of a request that opens no WebSocket, such as one with a body.

        Neither uvicorn nor websockets responds to it.
        """
        self.transport.write(
            refusal(400, f"the WebSocket cannot be opened: {error.__cause__ or error}")
        )
        self.transport.close()

    @property
    def _is_ending(self) -> bool:
        return self._has_failed or self.transport.is_closing()

    def _go_on(self) -> None:
        if self.read_paused or self._is_ending:
            return
        if self._unread:
            self.loop.call_soon(self._step)
        else:
            self.transport.resume_reading()

    async def receive(self) -> Any:
        """Return the next message, and read on after the last one."""
        paused = self.read_paused
        message = await super().receive()
        if paused and self._unread and not self._is_ending:
            self.transport.pause_reading()
            self._go_on()
        return message

    async def send(self, message: Any) -> None:
        """Send *message*; a response to the request ends what a handshake would complete."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # else uvicorn logs that it is missing, as an error

    def handle_ping(self) -> None:
        """Send a pong, unless the client does not read."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_connect(self, event: Request) -> None:
        """Start the application, which may have the bytes of unfinished messages counted."""
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions = {**self.scope.get("extensions", {})}
            self.scope["extensions"] = {**extensions, UNFINISHED: {"count_with": self._count_with}}

    def _count_with(self, held: HeldBytes) -> None:
        self._unfinished = held

    def _count(self, received: int) -> None:
        """Count *received* bytes if a message is not complete; close where they are too many."""
        held = self._unfinished
        if held is None:
            return
        if not self._is_amid_message or self._is_ending:
            held.release()
            return
        try:
            held.add(received)
        except FrontError as error:
            self._fail(_TRY_AGAIN_LATER, error.message)
            held.release()

    @property
    def _is_amid_message(self) -> bool:
        return bool(self.frames or self.conn.reader.buffer)

    def send_receive_event_to_app(self) -> None:
        """Hand a message over, or close the connection for one that is not UTF-8."""
        data = b"".join(self.frames)
        self.frames = [data]
        if self._unfinished is not None:
            self._unfinished.release()  # the application counts it from now on
        if self.curr_msg_data_type == "text" and not is_utf8(data):
            self._fail(_INVALID_DATA, "the message is not UTF-8")
        else:
            super().send_receive_event_to_app()

    def shutdown(self) -> None:
        """Ask the application to end the connection."""
        if self.handshake_complete and not self.close_sent:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": STOPPING})
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time limit, too."""
        self._unwatch()
        if self._unfinished is not None:
            self._unfinished.release()
        super().connection_lost(exc)

    # -- the time limit of a message

    def _watch(self) -> None:
        """Start the limit with the first bytes of a message, and end it with the last one."""
        if not self._is_amid_message:
            self._unwatch()
        elif self._late is None:
            self._begun_at = self.loop.time()
            self._late = self.loop.call_later(self._body_s, self._check)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _check(self) -> None:
        if self._unread or self.read_paused:  # bytes have arrived that were not read yet
            self._begun_at = self.loop.time()
        size = sum(map(len, self.frames)) + len(self.conn.reader.buffer)
        until = self._begun_at + self._body_s + size / LEAST_BYTES_PER_S
        if until > self.loop.time():
            self._late = self.loop.call_at(until, self._check)
        else:
            self._late = None
            self._fail(_POLICY_VIOLATION, "the message did not arrive in time")

    # -- faults of the client

    def _fail(self, code: int, reason: str) -> None:
        """End the connection for a fault of the client that websockets does not find."""
        self.conn.fail(code, reason)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """End the connection for a fault of the client, once it does not send any more."""
        close = self.conn.close_sent or Close(CloseCode.PROTOCOL_ERROR, "")
        self.queue.put_nowait(
            {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
        )
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = self.disconnected = self._has_failed = True
        self.frames, self._unread = [], memoryview(b"")
        self._unwatch()
        self._heard_at = self.loop.time()
        self._close_when_silent(self._heard_at + _LONGEST_END_S)
        self.transport.resume_reading()

    def _close_when_silent(self, latest: float) -> None:
        until = min(self._heard_at + _SILENCE_S, latest)
        if until > self.loop.time():
            self.close_timer = self.loop.call_at(until, self._close_when_silent, latest)
        else:
            self.transport.close()


def _is_close(data: bytes) -> bool:
    """Return whether *data* is a masked close frame, and nothing else."""
    return (
        len(data) >= _MASKED_HEAD
        and data[0] == _CLOSE
        and len(data) == _MASKED_HEAD + data[1] - _MASKED
    )
