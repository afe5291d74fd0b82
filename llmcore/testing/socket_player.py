"""Plays what went over a WebSocket, in the recorded order."""

import copy
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.lowlevel

from llmcore.testing.cassette import RecordedRequest, SocketMessage, WebSocketInteraction
from llmcore.testing.request_diff import difference, same


class PlayedSocket:
    """A recorded WebSocket that is played to a client.

    Each message that the client sends must equal the recorded one. *failed* returns the error for
    one that does not, *overrun* the error for waiting beyond the end of the recording.
    """

    def __init__(
        self,
        interaction: WebSocketInteraction,
        *,
        realtime: bool,
        failed: Callable[[str], Exception],
        overrun: Callable[[str], Awaitable[Exception]],
    ) -> None:
        self._interaction = interaction
        self._realtime = realtime
        self._failed = failed
        self._overrun = overrun
        self._next = 0

    async def send(self, message: bytes) -> None:
        """Compare *message* with the recorded one."""
        await anyio.lowlevel.checkpoint()
        number = 1 + sum(
            played.direction == "client" for played in self._interaction.messages[: self._next]
        )
        recorded = self._peek()
        if recorded is None or recorded.direction != "client":
            what = "is one too many" if recorded is None else "comes before the recorded response"
            raise self._failed(f"Message {number} of {self._name} {what}:\n\n{message.decode()}")
        expected, sent = self._as_request(recorded.text.encode()), self._as_request(message)
        if not same(expected, sent):
            change = difference(expected, sent)
            what = f"Message {number} of {self._name} differs from the recorded one"
            raise self._failed(f"{what}:\n\n{change}")
        self._next += 1

    async def receive(self) -> Sequence[bytes]:
        """Return the next message; raises the recorded error if it is next."""
        recorded = self._peek()
        if recorded is not None and recorded.direction == "server":
            await self._wait(recorded.delay_ms)
            self._next += 1
            return [recorded.text.encode()]
        await self._wait(0)
        if recorded is None and self._interaction.failure is not None:
            raise copy.copy(self._interaction.failure)
        raise await self._overrun(f"The recording of {self._name} has no message here")

    def rest(self) -> None:
        """Do nothing: a recorded socket is not pinged."""

    async def settle(self) -> Sequence[bytes] | None:
        """Return the messages up to the next that was sent; None if no other was sent."""
        await anyio.lowlevel.checkpoint()
        if not self.unsent:
            return None
        came: list[bytes] = []
        while (message := self._peek()) is not None and message.direction == "server":
            came.append(message.text.encode())
            self._next += 1
        return came

    async def aclose(self) -> None:
        """Do nothing: a cassette has no connections."""

    @property
    def unsent(self) -> int:
        """The number of recorded client messages that were not sent."""
        rest = self._interaction.messages[self._next :]
        return sum(message.direction == "client" for message in rest)

    @property
    def leftover(self) -> str:
        """A description of the messages that were not sent."""
        return f"{self.unsent} of the recorded messages to {self._name}"

    @property
    def _name(self) -> str:
        return f"the WebSocket {self._interaction.request.url}"

    def _peek(self) -> SocketMessage | None:
        messages = self._interaction.messages
        return messages[self._next] if self._next < len(messages) else None

    def _as_request(self, message: bytes) -> RecordedRequest:
        """Return *message* in a form that makes readable comparisons."""
        return RecordedRequest(method="MESSAGE", url=self._interaction.request.url, body=message)

    async def _wait(self, delay_ms: float) -> None:
        await anyio.sleep(delay_ms / 1000 if self._realtime else 0)
