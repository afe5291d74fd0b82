"""One call: from a prepared request over a transport to events, within its time limits."""

import contextlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar, cast

import anyio
from attrs import frozen

from llmcore.client.transport import Exchange, Transport
from llmcore.folds.response import Accumulator
from llmcore.protocols.errors import error_from_response
from llmcore.protocols.rate_limit import rate_limit_from
from llmcore.routes.decoding import ResponseContext, ResponseDecoder, is_streamed
from llmcore.routes.http_request import HttpRequest, redact
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.timeouts import Timeouts
from llmcore.schema import json
from llmcore.schema.errors import (
    InvalidRequestError,
    LLMError,
    NetworkError,
    RequestTimeoutError,
    StreamError,
)
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.json import JsonValue, ProviderMetadata
from llmcore.schema.result import Result, Success

MAX_ERROR_BYTES = 1024 * 1024
"""More of an error body than this is not read."""

_LINGERING_SECONDS = 0.05
_LINGERING_BYTES = 64 * 1024
"""How much is read after a whole answer, at most."""

_UNAUTHORIZED = 401
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "cf-ray")

_T = TypeVar("_T")


@frozen(kw_only=True)
class Outgoing:
    """A request that is ready, and what carries it."""

    prepared: PreparedRequest
    route: Route
    transport: Transport
    refused: Callable[[], bool] = lambda: False
    """Takes in that its credentials were refused; whether there may be others next time."""


class Call:
    """The source of a call's events. Nothing happens before the first batch is asked for."""

    def __init__(
        self,
        prepare: Callable[[ProviderMetadata | None], Awaitable[Result[Outgoing, LLMError]]],
        timeouts: Timeouts,
        cut: ResponseDecoder | None = None,
    ) -> None:
        self._prepare = prepare
        self._timeouts = timeouts
        self._cut = cut
        """The decoder of the call that this one goes on with."""
        self.accumulator = Accumulator() if cut is None else cut.accumulator
        """What has arrived so far."""
        self._decoder: ResponseDecoder | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._streamed = True
        self._received = 0
        self._limit = 0
        self._sent: HttpRequest | None = None
        self._provider: str | None = None
        self._end = math.inf
        self._next_event = math.inf
        self._waiting_for = "first_event"
        self._scope: anyio.CancelScope | None = None
        self._exchange: Exchange | None = None
        self._reading = False
        self._unscoped = False
        self._last_event = 0.0
        self._closed = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events. Failures are events; only cancellation is raised."""
        if self._closed:
            return ()
        try:
            events = await self._read_unscoped() if self._unscoped else None
            if not events:
                events = await self._within(self._advance)
        except LLMError as error:
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
        """Return a call that goes on where this one was cut, in the same fold.

        Raises InvalidRequestError if no answer had begun.
        """
        if self._decoder is None:
            message = "no answer had begun, so there is nothing to resume: send the request again"
            raise InvalidRequestError(message)
        return Call(self._prepare, self._timeouts, cut=self._decoder)

    async def aclose(self) -> None:
        """Cut the connection, also from another task."""
        self._closed = True
        if self._scope is not None:
            self._scope.cancel()
        elif self._reading and self._exchange is not None:
            await self._exchange.aclose()
        else:
            await self._release()

    async def _release(self) -> None:
        """Close what is open; nobody is reading it."""
        chunks, self._chunks = self._chunks, None  # at once: two tasks may close
        if chunks is None:
            return
        if self._decoder is not None and self._decoder.finished:
            await self._read_out(chunks)
        with anyio.CancelScope(shield=True):
            await chunks.aclose()
            if self._exchange is not None:  # a generator that never ran closes nothing
                await self._exchange.aclose()

    async def _read_out(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read what follows the whole answer, so that its connection can be used again.

        It is the end of the body, and nearly always there already. What a server sends
        or lacks after that is not worth waiting for, and no error.
        """
        left = _LINGERING_BYTES
        with anyio.move_on_after(_LINGERING_SECONDS), contextlib.suppress(LLMError):
            while left > 0 and (chunk := await anext(chunks, None)) is not None:
                left -= len(chunk)

    async def _within(self, step: Callable[[], Awaitable[_T]]) -> _T | None:
        """Run *step* until it ends, a limit runs out or the call is closed (then None)."""
        self._scope = anyio.CancelScope(deadline=min(self._end, self._next_event))
        try:
            with self._scope:
                return await step()
        finally:
            self._scope = None
        return None

    async def _advance(self) -> Sequence[LLMEvent]:
        if self._decoder is None:
            failure = await self._open()
            if failure is not None:
                raise failure
        return await (self._read_stream() if self._streamed else self._read_whole())

    async def _open(self) -> LLMError | None:
        """Send the request; return the error if the answer is one."""
        started = anyio.current_time()
        limits = (limit for limit in (self._timeouts.step, self._timeouts.total) if limit)
        self._end = started + min(limits, default=math.inf)
        self._await_event(self._timeouts.first_event)
        outgoing, exchange = await self._exchanged()
        if exchange.status == _UNAUTHORIZED and outgoing.refused():
            await exchange.aclose()
            outgoing, exchange = await self._exchanged()
        prepared, route = outgoing.prepared, outgoing.route
        self._limit = route.defaults.max_response_bytes
        self._exchange = exchange
        self._chunks = cast("AsyncGenerator[bytes, None]", exchange.chunks())
        if exchange.status >= 300:
            return await self._error_of(exchange, route)
        self._streamed = is_streamed(route.framing, exchange.headers, asked=prepared.streaming)
        if self._cut is not None:
            self._cut.go_on(route.framing)
            self._decoder = self._cut
            return None
        self._decoder = ResponseDecoder(
            route.protocol,
            route.framing,
            prepared.request,
            _context(prepared, exchange),
            self.accumulator,
        )
        return None

    async def _exchanged(self) -> tuple[Outgoing, Exchange]:
        """Prepare the request and send it."""
        ready = await self._prepare(None if self._cut is None else self._cut.cursor)
        if not isinstance(ready, Success):
            raise ready.failure()
        outgoing = ready.unwrap()
        self._sent = outgoing.prepared.http
        self._provider = outgoing.route.provider
        return outgoing, await outgoing.transport.send(self._sent, self._timeouts)

    async def _error_of(self, exchange: Exchange, route: Route) -> LLMError:
        body = bytearray()
        assert self._chunks is not None  # noqa: S101  (set by _open)
        with contextlib.suppress(NetworkError):  # the status says enough
            async for chunk in self._chunks:
                body += chunk
                if len(body) > MAX_ERROR_BYTES:
                    break
        return error_from_response(
            provider=route.provider,
            status=exchange.status,
            headers=exchange.headers,
            body=bytes(body[:MAX_ERROR_BYTES]),
        )

    async def _read_stream(self) -> Sequence[LLMEvent]:
        while True:
            chunk = await self._next_chunk()
            events = self._decoded(chunk)
            if events or chunk is None:
                self._unscoped = (
                    self._exchange is not None
                    and math.isinf(self._end)
                    and self._exchange.limit_reads(self._timeouts.idle)
                )
                self._waiting_for = "idle"
                self._await_event(self._timeouts.idle)
                return events

    async def _read_unscoped(self) -> Sequence[LLMEvent]:
        """Read one chunk, without a cancel scope of our own; empty if it completes no event.

        The usual case, and worth it: a scope costs more than decoding an event. It is
        exact as long as each read brings an event, since the transport limits each read
        to the idle time. The first one that does not ends it.
        """
        chunks = self._chunks
        if chunks is None:
            return self._decoded(None)
        self._reading = True
        try:
            chunk = self._counted(await anext(chunks, None))
        finally:
            self._reading = False
        events = self._decoded(chunk)
        if events:
            self._last_event = time.monotonic()
        else:
            self._unscoped = False
            idle = self._timeouts.idle
            waited = time.monotonic() - self._last_event
            self._await_event(None if idle is None else idle - waited)
        return events

    def _decoded(self, chunk: bytes | None) -> Sequence[LLMEvent]:
        assert self._decoder is not None  # noqa: S101  (set by _open)
        return self._decoder.end() if chunk is None else self._decoder.feed(chunk)

    async def _read_whole(self) -> Sequence[LLMEvent]:
        assert self._decoder is not None  # noqa: S101  (set by _open)
        chunks = []
        while (chunk := await self._next_chunk()) is not None:
            chunks.append(chunk)
        return self._decoder.whole(b"".join(chunks))

    async def _next_chunk(self) -> bytes | None:
        if self._chunks is None:
            return None
        return self._counted(await anext(self._chunks, None))

    def _counted(self, chunk: bytes | None) -> bytes | None:
        """Return *chunk*, counted; StreamError once the response is too large."""
        if chunk is None:
            self._chunks = None
            return None
        self._received += len(chunk)
        if self._received > self._limit:
            message = f"the response is larger than {self._limit} bytes"
            raise StreamError(message, retryable=False)
        return chunk

    def _await_event(self, limit: float | None) -> None:
        now = anyio.current_time()
        self._last_event = time.monotonic()
        self._next_event = math.inf if limit is None else now + limit
        if self._scope is not None:
            self._scope.deadline = min(self._end, self._next_event)

    def _timed_out(self) -> RequestTimeoutError:
        if self._end <= self._next_event:
            step, total = self._timeouts.step, self._timeouts.total
            name = "step" if step is not None and (total is None or step < total) else "total"
        else:
            name = self._waiting_for
        seconds = getattr(self._timeouts, name)
        message = f"the time limit {name!r} of {seconds:g} seconds ran out"
        return RequestTimeoutError(message, error_code=name)

    def _as_limit(self, error: LLMError) -> LLMError:
        """Return a transport's read timeout as the limit it stands for."""
        read = isinstance(error, RequestTimeoutError) and error.error_code == "read"
        limited = getattr(self._timeouts, self._waiting_for) is not None
        return self._timed_out() if read and limited else error

    async def _failed(self, error: LLMError) -> Sequence[LLMEvent]:
        await self.aclose()
        error.provider = error.provider or self._provider
        self._redact(error)
        if self._decoder is not None:
            return self._decoder.fail(error)
        event = ErrorEvent(error)
        self.accumulator.process(event)
        return (event,)

    def _redact(self, error: LLMError) -> None:
        """Take out our credentials, which some servers quote back."""
        secrets = () if self._sent is None else self._sent.secrets
        error.message = redact(error.message, secrets)
        error.args = (error.message,)
        text = json.canonical(error.raw) if error.raw is not None else ""
        if any(secret in text for secret in secrets):
            error.raw = _redacted(error.raw, secrets)


def _redacted(value: JsonValue, secrets: tuple[str, ...]) -> JsonValue:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {key: _redacted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, secrets) for item in value]
    return value


def _context(prepared: PreparedRequest, exchange: Exchange) -> ResponseContext:
    headers = exchange.headers
    return ResponseContext(
        diagnostics=(*prepared.diagnostics, *getattr(exchange, "diagnostics", ())),
        rate_limit=rate_limit_from(headers),
        request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None),
    )
