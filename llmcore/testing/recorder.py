"""Records the exchanges that another transport makes, and what goes over its WebSockets."""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import define, evolve, field

from llmcore.client.transport import Exchange, OpensSockets, Socket, Transport, WrappedExchange
from llmcore.client.websocket.connection import WebSocketDialer
from llmcore.routes.http_request import HttpRequest, body_secrets
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema.errors import LLMError
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import loads
from llmcore.testing.cassette import (
    Cassette,
    Chunk,
    Interaction,
    Metadata,
    NoResponse,
    Recorded,
    RecordedRequest,
    RecordedResponse,
    SocketMessage,
    WebSocketInteraction,
)
from llmcore.testing.cassette_file import save
from llmcore.testing.httpx_transport import HttpxCompatible
from llmcore.testing.recorded_headers import response_headers


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
        self.failure = _without_partial(error)

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


# -- exchanges


@with_call_hints()
class Recorder(HttpxCompatible):
    """A transport that forwards requests to *inner* and records the exchanges.

    It can be given to llmcore's client, and to those of httpx and httpx2.

    Callers get each piece as soon as it arrives. Requests are recorded in the order in which
    they were sent, even if they overlap. Headers that identify the sender are left out.

    - `path`: where `aclose()` saves the cassette; without it, only `save` does.
    - `headers`: more request headers to keep, which are then compared.
    - `environ`, `not_secret`: for the search for secrets, see `save`.
    """

    def __init__(
        self,
        inner: Transport,
        metadata: Metadata,
        *,
        path: str | Path | None = None,
        headers: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        not_secret: Collection[str] = (),
    ) -> None:
        self._inner = inner
        self._metadata = metadata
        self._path = path
        self._headers = frozenset(headers)
        self._environ = environ
        self._not_secret = not_secret
        self._tracks: list[_ExchangeTrack | SocketTrack] = []
        self._secrets: set[str] = set()

    def __repr__(self) -> str:
        file = "" if self._path is None else f" for {str(self._path)!r}"
        return f"Recorder({len(self._tracks)} exchanges recorded{file})"

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "RecordedExchange":
        """Send *request* by the inner transport, and record the exchange."""
        track = _ExchangeTrack(RecordedRequest.of(request, self._headers), anyio.current_time())
        self._tracks.append(track)
        self._secrets.update(request.secrets)
        try:
            exchange = await self._inner.send(request, timeouts)
        except LLMError as error:
            track.failure, track.delay_ms = error, track.elapsed_ms()
            raise
        track.delay_ms = track.elapsed_ms()
        track.status = exchange.status
        track.headers = response_headers(exchange.headers)
        return RecordedExchange(exchange, track)

    async def open_socket(
        self, request: HttpRequest, timeouts: Timeouts, spec: WebSocket
    ) -> RecordedSocket:
        """Open a WebSocket, by the inner transport if it can, and record what goes over it."""
        track = SocketTrack(RecordedRequest.of(request, self._headers), anyio.current_time())
        self._tracks.append(track)
        self._secrets.update(request.secrets)
        opener = self._inner if isinstance(self._inner, OpensSockets) else WebSocketDialer()
        try:
            return RecordedSocket(await opener.open_socket(request, timeouts, spec), track)
        except LLMError as error:
            track.failed(error)
            raise

    async def aclose(self) -> None:
        """Close the inner transport, and save if a path was given."""
        await self._inner.aclose()
        if self._path is not None:
            path, self._path = self._path, None
            await anyio.to_thread.run_sync(self.save, path)

    @property
    def cassette(self) -> Cassette:
        """The exchanges so far; a response that has not ended counts as abandoned."""
        return Cassette(
            metadata=_filled(self._metadata, self._tracks),
            interactions=[track.interaction() for track in self._tracks],
        )

    def save(self, path: str | Path) -> None:
        """Write the cassette; SecretFoundError, and no file, if it holds a credential."""
        save(
            self.cassette,
            path,
            environ=self._environ,
            known_secrets=self._secrets.union(*map(_sent_secrets, self._tracks)),
            not_secret=self._not_secret,
        )


def _sent_secrets(track: "_ExchangeTrack | SocketTrack") -> tuple[str, ...]:
    """Return the credentials in the messages that were sent over a WebSocket."""
    messages = track.messages if isinstance(track, SocketTrack) else ()
    return tuple(
        secret
        for message in messages
        if message.direction == "client"
        for secret in body_secrets(message.text.encode("utf-8", "surrogatepass"))
    )


class RecordedExchange(WrappedExchange):
    """A response that is being recorded."""

    def __init__(self, inner: Exchange, track: "_ExchangeTrack") -> None:
        super().__init__(inner)
        self._track = track
        self._closed = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body as it comes."""
        track = self._track
        track.elapsed_ms()
        chunks = self._inner.chunks()
        async with aclosing(chunks):
            try:
                async for chunk in chunks:
                    track.pieces.append((chunk, track.elapsed_ms()))
                    yield chunk
            except LLMError as error:
                if not self._closed:  # else the caller has closed it
                    track.failure = error
                raise
            track.complete = True

    async def aclose(self) -> None:
        """Free the connection."""
        self._closed = True
        await self._inner.aclose()


@define
class _ExchangeTrack(Track):
    """An exchange under way."""

    delay_ms: float = 0.0
    status: int | None = None
    headers: Mapping[str, str] = field(factory=dict)
    pieces: list[tuple[bytes, float]] = field(factory=list)
    failure: LLMError | None = None
    complete: bool = False

    def interaction(self) -> Interaction:
        return Interaction(request=self.request, response=self._response())

    def _response(self) -> RecordedResponse | NoResponse:
        failure = None if self.failure is None else _without_partial(self.failure)
        if self.status is None:
            return NoResponse(failure=failure, delay_ms=self.delay_ms)
        return RecordedResponse(
            status=self.status,
            headers=self.headers,
            body=b"".join(piece for piece, _ in self.pieces),
            delay_ms=self.delay_ms,
            chunks=tuple(Chunk(len(piece), delay_ms) for piece, delay_ms in self.pieces),
            failure=failure,
            abandoned=not self.complete and failure is None,
        )


def _without_partial(error: LLMError) -> LLMError:
    """Return *error* without a partial response, which the client adds again on replay."""
    return type(error)(error.message, error_code=error.error_code, retryable=error.retryable)


def _filled(metadata: Metadata, tracks: Sequence[_ExchangeTrack | SocketTrack]) -> Metadata:
    """Return *metadata* with the server and the model that the requests name."""
    origin = metadata.origin
    if not isinstance(origin, Recorded) or not tracks:
        return metadata
    first = tracks[0]
    known = evolve(
        origin,
        server=origin.server or first.request.url.partition("://")[2].partition("/")[0],
        model=origin.model or _model(first),
    )
    return evolve(metadata, origin=known)


def _model(track: _ExchangeTrack | SocketTrack) -> str | None:
    messages = track.messages[:1] if isinstance(track, SocketTrack) else ()
    try:
        body = loads(messages[0].text.encode() if messages else track.request.body)
    except ValueError:
        return None
    model = body.get("model") if isinstance(body, Mapping) else None
    return model if isinstance(model, str) else None
