"""One call: from a prepared request over a transport to events, within its time limits.

    state        next_batch                                               aclose
    new          sends the request, -> connecting                         -> closed
    connecting   the headers of a response: -> streaming;                 -> closed
                 a 401 or a refused field: sends it once more;
                 another error: -> failed
    streaming    events; the last one: -> ended;                          -> closed
                 an error or a time limit: -> failed
    failed       an `ErrorEvent`, once; `resumed` makes a new call, which
                 reads on after the last cursor, if the server keeps it
    ended,       no events
    closed

While each read of a stream brings an event, it is `_read_unscoped` that reads, else `_read_stream`.
Every exit frees the connection, which is reused if the response was read to its end.
"""

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import anyio
import msgspec
from attrs import define

from llmcore.client.error_responses import REDIRECTED, close_response, explained_error, redact_error
from llmcore.client.loop_task import current_time, new_scope
from llmcore.client.loop_timer import loop_timer
from llmcore.client.transport import Chunks, Exchange, Transport
from llmcore.folds.response import Accumulator
from llmcore.protocols.failures.errors import REQUEST_ID_HEADERS
from llmcore.protocols.failures.limits import rate_limit_from
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import is_streamed
from llmcore.routes.http_request import HttpRequest, body_secrets
from llmcore.routes.response_facts import ResponseContext
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.changed import copying
from llmcore.schema.errors import InvalidRequestError, LLMError, RequestTimeoutError, StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.json import ProviderMetadata
from llmcore.schema.result import Result
from llmcore.tracebacks import remove_own_frames

_LINGERING_SECONDS = 0.05
_LINGERING_BYTES = 64 * 1024
"""The most bytes that are read after a complete response."""

_UNAUTHORIZED = 401
_TIERS = ("x-gemini-service-tier", "x-amzn-bedrock-service-tier")
"""Source: https://ai.google.dev/gemini-api/docs/priority-inference, read November 2026."""
_REQUEST_IDS = (*REQUEST_ID_HEADERS, "cf-ray")

_with_body: Final = copying(HttpRequest, "body")

OnResponse: TypeAlias = Callable[[Exchange, HttpRequest], Exchange]
"""Called with each response whose headers have come, and its request; returns the exchange that is
read in its place, such as one that keeps a copy of the bytes."""


class RoutedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared request with its route and transport."""

    prepared: PreparedRequest
    route: Route
    transport: Transport
    renew_credentials: Callable[[], bool] = lambda: False
    """Records that the server rejected its credentials; returns whether there may be others."""
    retry_without_field: Callable[[LLMError], bool] = lambda _error: False
    """Records the field of the body that an error rejects; returns whether to retry without it."""


@define(eq=False)
class _Response:
    """A response whose headers have arrived."""

    exchange: Exchange
    chunks: Chunks | None
    """None after they were read to the end, or while they are being closed."""
    decoder: ResponseDecoder
    streamed: bool
    limit: int
    """The most bytes that are read."""
    received: int = 0

    async def next_chunk(self) -> bytes | None:
        """Return the next bytes, None at the end; StreamError once the response is too large.

        They are empty if those before them are not all decoded.
        """
        if self.decoder.keeps_frames:
            return b""
        chunk = None if self.chunks is None else await anext(self.chunks, None)
        if chunk is None:
            self.chunks = None
            return None
        self.count(chunk)
        return chunk

    def count(self, chunk: bytes) -> None:
        """Raise StreamError once the response is too large with *chunk*."""
        self.received += len(chunk)
        if self.received > self.limit:
            raise StreamError(f"the response is larger than {self.limit} bytes", retryable=False)

    def decoded(self, chunk: bytes | None) -> Sequence[LLMEvent]:
        """Return the events that *chunk* completes, or those of the end."""
        return self.decoder.end() if chunk is None else self.decoder.feed(chunk)

    async def aclose(self) -> None:
        """Free the connection. It can be reused if the response was read to its end."""
        chunks, self.chunks = self.chunks, None  # at once: two tasks may close
        self.decoder.keep_usage()
        if chunks is not None and not (self.decoder.finished and await _reaches_end(chunks)):
            await close_response(self.exchange, chunks)


class Call:
    """The source of a call's events. Nothing happens before the first batch is requested."""

    def __init__(
        self,
        prepare: Callable[[ProviderMetadata | None], Awaitable[Result[RoutedRequest, LLMError]]],
        timeouts: Timeouts,
        cut: ResponseDecoder | None = None,
        *,
        raw: bool = False,
        on_response: OnResponse | None = None,
    ) -> None:
        self._on_response = on_response
        self._prepare = prepare
        self._timeouts = timeouts
        self._cut = cut
        """The decoder of the call that this one continues."""
        self._raw = raw
        self.accumulator = Accumulator() if cut is None else cut.accumulator
        """The response so far."""
        self._response: _Response | None = None
        self._sent: HttpRequest | None = None
        """The last request; without its body while the response to it streams."""
        self._body_secrets: Sequence[str] = ()
        self._provider: str | None = None
        self._begun = False
        """Whether the time limits have begun."""
        self._end = math.inf
        self._next_event = math.inf
        self._waiting_for = "first_event"
        self._scope: anyio.CancelScope | None = None
        self._reading = False
        self._unscoped: _Response | None = None
        """The response, where each read brings an event and so needs no scope of its own."""
        self._last_event = 0.0
        self._closed = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; empty after the end.

        Failures are events; only cancellation is raised.
        """
        if self._closed:
            return ()
        try:
            unscoped = self._unscoped
            events = None if unscoped is None else await self._read_unscoped(unscoped)
            if not events:
                events = await self._advance()
        except LLMError as error:
            remove_own_frames(error)
            return () if self._closed else await self._failed(self._as_limit(error))
        finally:
            if self._closed:  # by another task, which could not close what was being read
                await self._release()
        if events is None:
            return () if self._closed else await self._failed(self._timed_out())
        if events and isinstance(events[-1], ErrorEvent):
            self._redact(events[-1].error)
        return events

    def resumed(self) -> "Call":
        """Return a call that continues where this one was cut, with the same fold.

        Raises InvalidRequestError if no response had begun.
        """
        if self._response is None:
            message = "there is no response to resume, since none had begun: send the request again"
            raise InvalidRequestError(message)
        return Call(self._prepare, self._timeouts, cut=self._response.decoder)

    async def aclose(self) -> None:
        """Cut the connection, also from another task."""
        self._closed = True
        if self._scope is not None:
            self._scope.cancel()
        elif self._reading and self._response is not None:
            await self._response.exchange.aclose()
        else:
            await self._release()

    async def _release(self) -> None:
        if self._response is not None:
            await self._response.aclose()

    async def _advance(self) -> Sequence[LLMEvent] | None:
        """Return the next events; None if a time limit expires or the call is closed."""
        timer = loop_timer()
        if not self._begun:
            self._begin(timer.time())
        # Reads that never wait are never cancelled.
        elif self._end < math.inf and timer.time() >= self._end:
            return None
        scope = self._scope = timer.new_scope(min(self._end, self._next_event))
        try:
            with scope:
                response = self._response = self._response or await self._open()
                if response.streamed:
                    return await self._read_stream(response)
                return await _read_whole(response)
        finally:
            self._scope = None
            timer.forget(scope)
        return None

    def _begin(self, started: float) -> None:
        """Set the limits of the whole call and of its first event, which begin now."""
        self._begun = True
        first = self._timeouts.first_event
        self._end = started + self._timeouts.shortest("total", "step")[1]
        self._next_event = math.inf if first is None else started + first

    async def _open(self) -> _Response:
        """Send the request and return the response; raises the error of an error response."""
        outgoing, exchange = await self._exchanged()
        if exchange.status == _UNAUTHORIZED and outgoing.renew_credentials():
            await exchange.aclose()
            outgoing, exchange = await self._exchanged()
        if exchange.status >= REDIRECTED:
            error = await explained_error(exchange, outgoing.prepared, outgoing.route)
            if not outgoing.retry_without_field(error):
                raise error
            outgoing, exchange = await self._exchanged()
            if exchange.status >= REDIRECTED:
                raise await explained_error(exchange, outgoing.prepared, outgoing.route)
        prepared, route = outgoing.prepared, outgoing.route
        streamed = is_streamed(route.framing, exchange.headers, requested=prepared.streaming)
        if streamed:
            self._drop_body(prepared.http)
        return _Response(
            exchange=exchange,
            chunks=exchange.chunks(),
            decoder=self._decoder(prepared, route, exchange),
            streamed=streamed,
            limit=route.defaults.max_response_bytes,
        )

    def _decoder(
        self, prepared: PreparedRequest, route: Route, exchange: Exchange
    ) -> ResponseDecoder:
        if self._cut is not None:
            self._cut.resume(route.framing)
            return self._cut
        decoder = ResponseDecoder(
            route.protocol,
            route.framing,
            prepared.request,
            _context(prepared, exchange),
            self.accumulator,
            raw=self._raw,
        )
        # Who watches the bytes of a response gets all events of a chunk with it.
        decoder.until_delta = self._on_response is None
        return decoder

    async def _exchanged(self) -> tuple[RoutedRequest, Exchange]:
        """Prepare the request and send it."""
        ready = await self._prepare(None if self._cut is None else self._cut.cursor)
        outgoing = ready.unwrap()
        self._sent = outgoing.prepared.http
        self._provider = outgoing.route.provider
        exchange = await outgoing.transport.send(self._sent, self._timeouts)
        if self._on_response is not None:
            exchange = self._on_response(exchange, self._sent)
        return outgoing, exchange

    def _drop_body(self, sent: HttpRequest) -> None:
        """Keep no body while a response streams, which can take minutes. A small one has 4 kB."""
        self._body_secrets = body_secrets(sent.body)
        self._sent = _with_body(sent, b"")

    async def _read_stream(self, response: _Response) -> Sequence[LLMEvent]:
        while True:
            chunk = await response.next_chunk()
            events = response.decoded(chunk)
            if events or chunk is None:
                exact = math.isinf(self._end) and response.exchange.limit_reads(self._timeouts.idle)
                self._unscoped = response if exact else None
                self._waiting_for = "idle"
                self._await_event(self._timeouts.idle)
                return events

    async def _read_unscoped(self, response: _Response) -> Sequence[LLMEvent]:
        """Read one chunk without a cancel scope; empty if it completes no event.

        The usual case. A scope would cost more than decoding an event. The idle limit stays exact
        as long as each read completes an event, since the transport limits each read to it; the
        first read that does not switches back to scopes.
        """
        self._reading = True
        try:
            chunk = await response.next_chunk()
        finally:
            self._reading = False
        events = response.decoded(chunk)
        if events:
            self._last_event = time.monotonic()
        else:
            self._unscoped = None
            idle = self._timeouts.idle
            waited = time.monotonic() - self._last_event
            self._await_event(None if idle is None else idle - waited)
        return events

    def _await_event(self, limit: float | None) -> None:
        self._last_event = time.monotonic()
        self._next_event = math.inf if limit is None else current_time() + limit

    def _timed_out(self) -> RequestTimeoutError:
        if self._end <= max(self._next_event, current_time()):
            name, _ = self._timeouts.shortest("total", "step")
        else:
            name = self._waiting_for
        return self._timeouts.expired(name)

    def _as_limit(self, error: LLMError) -> LLMError:
        """Return the error of the call's own limit for a transport's read timeout."""
        read = isinstance(error, RequestTimeoutError) and error.error_code == "read"
        limited = getattr(self._timeouts, self._waiting_for) is not None
        return self._timed_out() if read and limited else error

    async def _failed(self, error: LLMError) -> Sequence[LLMEvent]:
        await self.aclose()
        error.provider = error.provider or self._provider
        self._redact(error)
        if self._response is not None:
            return self._response.decoder.fail(error)
        event = ErrorEvent(error)
        self.accumulator.feed(event)
        return (event,)

    def _redact(self, error: LLMError) -> None:
        sent = () if self._sent is None else self._sent.secrets
        redact_error(error, (*sent, *self._body_secrets))


async def _read_whole(response: _Response) -> Sequence[LLMEvent]:
    pieces = []
    if response.chunks is not None:
        async for piece in response.chunks:
            response.count(piece)
            pieces.append(piece)
        response.chunks = None
    return response.decoder.whole(b"".join(pieces))


async def _reaches_end(chunks: Chunks) -> bool:
    """Read the rest of the body after the last event; return whether that was all of it.

    The connection is then free and can be reused. The end of the body has nearly always arrived
    already. The rest is not waited for beyond a short limit, and its faults are not errors.
    """
    left = _LINGERING_BYTES
    at_end = getattr(chunks, "at_end", None)
    try:
        if at_end is not None and at_end():  # a time limit costs more than the read
            return await anext(chunks, None) is None
        with new_scope(current_time() + _LINGERING_SECONDS):
            while left > 0:
                if (chunk := await anext(chunks, None)) is None:
                    return True
                left -= len(chunk)
    except LLMError:
        return False
    return False


def _context(prepared: PreparedRequest, exchange: Exchange) -> ResponseContext:
    headers = exchange.headers
    return ResponseContext(
        diagnostics=(*prepared.diagnostics, *getattr(exchange, "diagnostics", ())),
        rate_limit=rate_limit_from(headers),
        request_id=_first(headers, _REQUEST_IDS),
        service_tier=_first(headers, _TIERS),
    )


def _first(headers: Mapping[str, str], names: Sequence[str]) -> str | None:
    for name in names:
        if name in headers and (value := headers[name]):
            return value
    return None
