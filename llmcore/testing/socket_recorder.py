"""Records what goes over a WebSocket."""

from collections.abc import Sequence

import anyio
from attrs import define, field

from llmcore.client.transport import Socket
from llmcore.schema.errors import LLMError
from llmcore.testing.cassette import RecordedRequest, SocketMessage, WebSocketInteraction


@define
class Track:
    """A recording under way."""

    request: RecordedRequest
    since: float
    """The time of the last request, chunk, message or error."""

    def elapsed_ms(self) -> float:
        """Return the time since the last call."""
        before, self.since = self.since, anyio.current_time()
        return round((self.since - before) * 1000, 1)


@define
class SocketTrack(Track):
    """One WebSocket while it is open."""

    messages: list[SocketMessage] = field(factory=list)
    failure: LLMError | None = None

    def sent(self, message: bytes) -> None:
        """Record a message of the client."""
        self.messages.append(
            SocketMessage(direction="client", text=message.decode(), delay_ms=self.elapsed_ms())
        )

    def came(self, messages: Sequence[bytes]) -> None:
        """Record messages of the server."""
        for message in messages:
            self.messages.append(
                SocketMessage(direction="server", text=message.decode(), delay_ms=self.elapsed_ms())
            )

    def failed(self, error: LLMError) -> None:
        """Record the error that broke the socket, as its transport raised it."""
        kind = type(error)
        self.failure = kind(error.message, error_code=error.error_code, retryable=error.retryable)

    def interaction(self) -> WebSocketInteraction:
        """Return what has been recorded so far."""
        return WebSocketInteraction(
            request=self.request, messages=self.messages, failure=self.failure
        )


class RecordedSocket:
    """A WebSocket that is being recorded."""

    def __init__(self, inner: Socket, track: SocketTrack) -> None:
        self._inner = inner
        self._track = track

    async def send(self, message: bytes) -> None:
        """Send one text message."""
        self._track.sent(message)
        try:
            await self._inner.send(message)
        except LLMError as error:
            self._track.failed(error)
            raise

    async def receive(self) -> Sequence[bytes]:
        """Return the messages that have come, at least one."""
        try:
            messages = await self._inner.receive()
        except LLMError as error:
            self._track.failed(error)
            raise
        self._track.came(messages)
        return messages

    def rest(self) -> None:
        """Let the socket answer pings while it is idle."""
        self._inner.rest()

    async def settle(self) -> Sequence[bytes] | None:
        """Return the messages that came while the socket was idle; None if it is not reusable."""
        messages = await self._inner.settle()
        self._track.came(messages or ())
        return messages

    async def aclose(self) -> None:
        """Close the socket."""
        await self._inner.aclose()
