"""Serves recorded responses, and what went over WebSockets, to the requests of the recording."""

import copy
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

import anyio
import anyio.lowlevel

from llmcore.routes.http_request import HttpRequest, redact
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.testing.cassette import (
    Cassette,
    CassetteError,
    Interaction,
    RecordedRequest,
    RecordedResponse,
    SocketMessage,
    WebSocketInteraction,
)
from llmcore.testing.httpx_transport import HttpxCompatible
from llmcore.testing.request_diff import difference, same, similarity


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


# -- exchanges and sockets


_Kind = TypeVar("_Kind", Interaction, WebSocketInteraction)

Order: TypeAlias = Literal["recorded", "any"]

PATIENCE_S = 5.0
"""Seconds for which a caller may wait beyond the end of the recording."""


class CassetteMismatchError(AssertionError):
    """A request differs from the recorded one.

    Not an LLMError, which would become the outcome of a call: it must fail the test.
    """


@with_call_hints()
class Player(HttpxCompatible):
    """A transport over a cassette: the Nth request gets the Nth response.

    It can be given to llmcore's client, and to those of httpx and httpx2.

    - `realtime`: wait as long as the provider took; otherwise nothing is waited for. Bodies
      arrive in the recorded pieces either way.
    - `order`: `"any"` lets requests come in another order, as concurrent ones do; each then
      gets the first unused response to an equal request.
    - `headers`: more headers to compare, besides the usual ones and those recorded.

    A request that differs raises CassetteMismatchError, and so does `finish()`.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        realtime: bool = False,
        order: Order = "recorded",
        headers: Iterable[str] = (),
        hint: str = "",
    ) -> None:
        if not isinstance(cassette, Cassette):
            kind = shown_kind(cassette)
            raise CassetteError(f"Player takes a Cassette, not {kind}: Player(load('FILE'))")
        self.cassette = cassette
        self.requests: list[RecordedRequest] = []
        """The requests that were sent, in order."""
        self._headers = frozenset(headers)
        self._unused = dict(enumerate(cassette.interactions))
        self._realtime = realtime
        self._order = order
        self._hint = hint
        self._mismatch: CassetteMismatchError | None = None
        self._sockets: list[PlayedSocket] = []

    def __repr__(self) -> str:
        return f"Player({len(self.requests)} of {len(self.cassette.interactions)} exchanges played)"

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "PlayedExchange":
        """Return the recorded response to *request*, or raise the recorded failure.

        Raises CassetteMismatchError if it is not the request that was recorded.
        """
        # Before anything is awaited: the order is the callers'.
        interaction = self._take(request, Interaction)
        response = interaction.response
        await _wait(response.delay_ms if self._realtime else 0)
        if isinstance(response, RecordedResponse):
            return PlayedExchange(response, realtime=self._realtime, overrun=self._overrun)
        if response.failure is not None:
            raise copy.copy(response.failure)
        raise await self._overrun("The caller of the recording left before a response came")

    async def open_socket(
        self, request: HttpRequest, timeouts: Timeouts, spec: WebSocket
    ) -> PlayedSocket:
        """Return the recorded WebSocket, or raise the recorded failure to open it."""
        interaction = self._take(request, WebSocketInteraction)
        await anyio.lowlevel.checkpoint()
        if interaction.failure is not None and not interaction.messages:
            raise copy.copy(interaction.failure)
        socket = PlayedSocket(
            interaction, realtime=self._realtime, failed=self._failed, overrun=self._overrun
        )
        self._sockets.append(socket)
        return socket

    def finish(self) -> None:
        """Raise CassetteMismatchError if a response was not used, or a request differed.

        A request that differed has raised before, but the code under test may have caught that.
        """
        if self._mismatch is not None:
            raise self._mismatch
        if self._unused:
            raise self._failed(self._leftover())
        silent = [socket.leftover for socket in self._sockets if socket.unsent]
        if silent:
            raise self._failed(f"not sent: {', '.join(silent)}")

    def _take(self, request: HttpRequest, kind: type[_Kind]) -> _Kind:
        sent = self._comparable(request)
        self.requests.append(sent)
        number = len(self.requests)
        if not self._unused:
            recorded = _counted(len(self.cassette.interactions), "request")
            facts = f"Request {number} is one too many: {recorded} recorded.\n\n"
            raise self._failed(f"{facts}It is {sent.method} {sent.url}")
        for index in self._candidates():
            interaction = self._unused[index]
            if isinstance(interaction, kind) and same(interaction.request, sent):
                del self._unused[index]
                return interaction
        raise self._failed(self._differs(sent, number, request.secrets))

    def _comparable(self, request: HttpRequest) -> RecordedRequest:
        recorded = (
            name
            for interaction in self.cassette.interactions
            for name in interaction.request.headers
        )
        return RecordedRequest.of(request, self._headers.union(recorded))

    def _candidates(self) -> list[int]:
        unused = list(self._unused)
        return unused if self._order == "any" else unused[:1]

    def _differs(self, sent: RecordedRequest, number: int, secrets: tuple[str, ...]) -> str:
        candidates = [self._unused[index].request for index in self._candidates()]
        nearest = max(candidates, key=lambda recorded: similarity(recorded, sent))
        which = (
            "differs from the recorded one"
            if self._order == "recorded"
            else "matches none of those still to come; the most similar one"
        )
        return f"Request {number} {which}:\n\n{redact(difference(nearest, sent), secrets)}"

    def _leftover(self) -> str:
        lines = [
            f"  {index + 1}: {interaction.request.method} {interaction.request.url}"
            for index, interaction in self._unused.items()
        ]
        return f"{_counted(len(lines), 'recorded request')} not sent:\n" + "\n".join(lines)

    async def _overrun(self, what: str) -> CassetteMismatchError:
        """Return the error for reading beyond the end of the recording.

        It first waits for `PATIENCE_S`, in which the caller may cancel as it did when recorded.
        """
        await anyio.sleep(PATIENCE_S)
        return self._failed(f"{what}; now it waits for more.")

    def _failed(self, message: str) -> CassetteMismatchError:
        name = self.cassette.metadata.name
        error = CassetteMismatchError(f"cassette {name!r}: {message}\n\n{self._hint}".rstrip())
        self._mismatch = self._mismatch or error
        return error


class PlayedExchange:
    """A recorded response that is played to a caller."""

    def __init__(
        self,
        response: RecordedResponse,
        *,
        realtime: bool,
        overrun: Callable[[str], Awaitable[CassetteMismatchError]],
    ) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = dict(response.headers)
        self._response = response
        self._realtime = realtime
        self._overrun = overrun
        self._closed = False

    def limit_reads(self, _seconds: float | None) -> bool:
        """Return False: the caller is to limit each read."""
        return False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the recorded pieces of the body, then raise the recorded failure."""
        response = self._response
        for piece, delay_ms in response.pieces():
            await _wait(delay_ms if self._realtime else 0)
            if self._closed:
                return
            yield piece
        if response.failure is not None:
            raise copy.copy(response.failure)
        if response.abandoned:
            raise await self._overrun("The recording stopped reading this response here")

    async def aclose(self) -> None:
        """End the body."""
        self._closed = True


async def _wait(delay_ms: float) -> None:
    if delay_ms:
        await anyio.sleep(delay_ms / 1000)
    else:
        await anyio.lowlevel.checkpoint()


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing} was" if count == 1 else f"{count} {thing}s were"
