"""The result of a call: an asynchronous iterator of events that does not raise."""

import sys
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn, Protocol, Self, runtime_checkable

import anyio
from attrs import define, field

from llmcore.client.cost import with_cost
from llmcore.folds.response import Accumulator
from llmcore.schema.errors import AbortError, ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.events import TERMINAL_EVENTS, ErrorEvent, LLMEvent, TextDelta
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result


class EventSource(Protocol):
    """A source of events, in batches."""

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; empty after the end."""
        ...

    async def aclose(self) -> None:
        """Free the connection. Idempotent."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source whose response can be resumed after a cut."""

    def resumed(self) -> EventSource:
        """Return a source of the remaining events."""
        ...


class Collected(Protocol):
    """The response that a stream's events make."""

    @property
    def partial(self) -> LLMResponse:
        """The response so far."""
        ...

    def response(self) -> Result[LLMResponse, LLMError]:
        """Return the response once the stream has finished, or the error."""
        ...


class EventStream:
    """The events of one call.

    Use it as an asynchronous context manager and iterate. It ends with exactly one
    terminal event, `Finish` or `ErrorEvent`, and does not raise; `result()` is the outcome
    as a `Result`. Nothing is sent before the first event is requested. Leaving the
    context, `aclose()` and cancellation close the connection at once; after a read that was
    cancelled, the next event is an `ErrorEvent`.
    """

    def __init__(
        self,
        source: EventSource,
        collected: Collected | None = None,
        price: Callable[[LLMResponse], LLMResponse] = with_cost,
    ) -> None:
        """Read *source*. Its events are collected here unless *collected* does it.

        *price* sets the cost of the complete response.
        """
        self._source = source
        self._own = Accumulator() if collected is None else None
        self._collected: Collected = collected or self._own  # type: ignore[assignment]
        self._price = price
        self._pending: Iterator[LLMEvent] = iter(())
        """The events that have come and were not yet returned."""
        self._ended = False
        self._closed = False
        self._freed = False
        """Whether the source was closed at the end."""
        self._reading = False

    @classmethod
    def of(cls, events: Iterable[LLMEvent]) -> Self:
        """Build a stream of complete events, such as cached ones."""
        return cls(_CompleteEvents(tuple(events)))

    @classmethod
    def deferred(cls, make: Callable[[], Awaitable["EventStream"]]) -> Self:
        """Build a stream that calls *make* for its events when the first is requested.

        Closing it cancels *make*.
        """
        source = _Deferred(make)
        return cls(source, source)

    def __repr__(self) -> str:
        state = "ended" if self._ended else "open"
        return f"EventStream({state}, text={self.partial_response.text[-60:]!r})"

    def _repr_markdown_(self) -> str | None:
        """Return what a notebook renders: the response so far; None shows the repr."""
        return self.partial_response._repr_markdown_()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LLMEvent:
        for event in self._pending:
            return event
        self._pending = iter(await self.next_batch())
        for event in self._pending:
            return event
        raise StopAsyncIteration

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; empty after the end.

        Raises InvalidRequestError while another task is reading: a stream has one reader. The
        iterator yields them one by one; middleware that only observes events is faster with
        batches.
        """
        if rest := tuple(self._pending):
            return rest
        if self._ended or self._closed:
            return ()
        if self._reading:
            raise second_reader()
        self._reading = True
        try:
            batch = await self._source.next_batch()
        except BaseException as error:  # of a cancelled read, or of middleware
            self._reading = False
            await self._break_off(error)
            raise
        self._reading = False
        if not batch and self._closed:  # by another task, while this one waited
            return ()
        if self._own is not None:
            for event in batch:
                self._own.feed(event)
        if not batch or isinstance(batch[-1], TERMINAL_EVENTS):
            self._ended = True
            await self._source.aclose()
            self._freed = True
        return batch

    async def _break_off(self, error: BaseException) -> None:
        """Close the connection, and let the next read return an `ErrorEvent`."""
        with anyio.CancelScope(shield=True):
            await self.aclose()
        abort = broken_read("stream", error, self.partial_response)
        self.push_back((ErrorEvent(abort),))

    def push_back(self, events: Sequence[LLMEvent]) -> None:
        """Put *events*, which were read, back before the remaining ones: they are read again."""
        self._pending = iter((*events, *self._pending))

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text deltas alone; only `result()` shows whether the response is complete."""
        return TextStream(self)

    @property
    def partial_response(self) -> LLMResponse:
        """The response so far."""
        return self._collected.partial

    async def result(self) -> Result[LLMResponse, LLMError]:
        """Read the rest and return the response, or the error with `partial` set."""
        while await self.next_batch():
            if self._ended:  # all of it has been returned
                break
        return self._outcome()

    def _outcome(self) -> Result[LLMResponse, LLMError]:
        """Return the result of a stream that has ended or will not be read further."""
        if self._ended:
            return self._response_result()
        left = "closed" if self._closed else "dropped"
        message = f"the stream was {left} before its end"
        return Failure(AbortError(message, partial=self.partial_response))

    def _response_result(self) -> Result[LLMResponse, LLMError]:
        return self._collected.response().map(self._price)

    async def aclose(self) -> None:
        """Close the connection at any point of the stream. Idempotent."""
        self._closed = True
        if not self._freed:
            await self._source.aclose()

    def resumed(self) -> "EventStream":
        """Return a stream of the rest of this one after it was cut; nothing is generated twice.

        For responses that the server stores, such as background responses of OpenAI. Its events
        continue this stream's; its result is the complete response. Raises ConfigurationError for
        a stream that middleware made.
        """
        if not isinstance(self._source, Resumable):
            raise ConfigurationError("a stream that middleware made cannot be resumed")
        return EventStream(self._source.resumed(), self._collected, self._price)

    def map(self, change: Callable[[LLMEvent], Iterable[LLMEvent]]) -> "EventStream":
        """Return a stream with each event replaced by `change(event)`: none, one or several."""
        return EventStream(_Mapped(self, change), price=self._price)

    def tap(self, look: Callable[[LLMEvent], None]) -> "EventStream":
        """Return the same stream; *look* is called with each event before it is returned."""

        def each(batch: Sequence[LLMEvent]) -> None:
            for event in batch:
                look(event)

        return self.watch(each=each)

    def watch(
        self,
        *,
        each: Callable[[Sequence[LLMEvent]], None] | None = None,
        end: Callable[[Result[LLMResponse, LLMError]], None] | None = None,
    ) -> "EventStream":
        """Return the same stream, observed by callbacks.

        *each* is called with every batch of events before it is returned. *end* is called with the
        result exactly once: at the end, when the stream is closed, or when it is garbage-collected
        (in the thread that collects it). The result of a stream that was left before its end is
        an AbortError with `partial`.
        """
        return EventStream(_Watched(self, each, end), self._collected, self._price)

    def in_context(self, scope: Callable[[], AbstractContextManager[object]]) -> "EventStream":
        """Return the same stream; each read runs in a new context *scope*."""
        return EventStream(_InContext(self, scope), self._collected, self._price)

    def on_result(
        self, done: Callable[[Result[LLMResponse, LLMError]], Awaitable[None]]
    ) -> "EventStream":
        """Return the same stream; *done* is called once with the result, at its end or on close.

        It is not called for a stream that is neither read to its end nor closed; use `watch` for
        that.
        """
        return EventStream(_WithCallback(self, done), self._collected, self._price)


class TextStream:
    """Iterates over the text of *stream*'s events.

    A class and not an async generator: a generator that a caller leaves early is not closed.
    """

    def __init__(self, stream: AsyncIterable[LLMEvent]) -> None:
        self._stream = stream

    if not TYPE_CHECKING:  # type checkers report these uses by themselves

        def __iter__(self) -> NoReturn:
            """Raise TypeError: the texts are read with `async for`."""
            raise TypeError(
                "a text_stream is read with `async for`; in blocking code use llmcore.sync.stream"
            )

        def __await__(self) -> NoReturn:
            """Raise TypeError: the texts are read with `async for`."""
            raise TypeError("a text_stream is not awaited: read it with `async for`")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._stream:
            if isinstance(event, TextDelta):
                return event.text
        raise StopAsyncIteration


@define(eq=False)
class _CompleteEvents:
    """A source of complete events."""

    _events: Sequence[LLMEvent]

    async def next_batch(self) -> Sequence[LLMEvent]:
        events, self._events = self._events, ()
        return events

    async def aclose(self) -> None:
        self._events = ()


@define(eq=False)
class _Wrapped:
    """The events of another stream."""

    _inner: EventStream

    async def aclose(self) -> None:
        await self._inner.aclose()


@define(eq=False)
class _Mapped(_Wrapped):
    """The events of another stream, changed."""

    _change: Callable[[LLMEvent], Iterable[LLMEvent]]

    async def next_batch(self) -> Sequence[LLMEvent]:
        while batch := await self._inner.next_batch():
            changed = [new for event in batch for new in self._change(event)]
            if changed:
                return changed
        return ()


@define(eq=False)
class _InContext(_Wrapped):
    """The events of another stream, read in a context."""

    _scope: Callable[[], AbstractContextManager[object]]

    async def next_batch(self) -> Sequence[LLMEvent]:
        with self._scope():
            return await self._inner.next_batch()


@define(eq=False)
class _WithCallback(_Wrapped):
    """The events of another stream, with an asynchronous callback at the end."""

    _done: Callable[[Result[LLMResponse, LLMError]], Awaitable[None]]
    _notified: bool = field(default=False, init=False)

    async def next_batch(self) -> Sequence[LLMEvent]:
        batch = await self._inner.next_batch()
        if not batch or isinstance(batch[-1], TERMINAL_EVENTS):
            await self._notify()
        return batch

    async def aclose(self) -> None:
        await self._inner.aclose()
        with anyio.CancelScope(shield=True):  # cancelled calls close their streams, too
            await self._notify()

    async def _notify(self) -> None:
        if not self._notified:
            self._notified = True
            await self._done(await self._inner.result())


@define(eq=False)
class _Watched(_Wrapped):
    """The events of another stream, with callbacks."""

    _each: Callable[[Sequence[LLMEvent]], None] | None
    _end: Callable[[Result[LLMResponse, LLMError]], None] | None

    async def next_batch(self) -> Sequence[LLMEvent]:
        batch = await self._inner.next_batch()
        if self._each is not None and batch:
            self._each(batch)
        if not batch or isinstance(batch[-1], TERMINAL_EVENTS):
            self._notify()
        return batch

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._notify()

    def _notify(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end(self._inner._outcome())  # noqa: SLF001  (our own class)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._notify()


class _Deferred:
    """A source that makes its stream on first use, and the response of its events."""

    def __init__(self, make: Callable[[], Awaitable[EventStream]]) -> None:
        self._make = make
        self._stream: EventStream | None = None
        self._making: anyio.CancelScope | None = None
        self._closed = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Make the stream if necessary, and return its next events."""
        if self._closed:
            return ()
        if self._stream is None:
            await self._made()
        return () if self._stream is None else await self._stream.next_batch()

    async def aclose(self) -> None:
        """Close the stream, or cancel making it. Can be called from another task."""
        self._closed = True
        if self._stream is not None:
            await self._stream.aclose()
        elif self._making is not None:
            self._making.cancel()

    @property
    def partial(self) -> LLMResponse:
        """The response so far."""
        return Accumulator().partial if self._stream is None else self._stream.partial_response

    def response(self) -> Result[LLMResponse, LLMError]:
        """Return the response once the stream has finished, or the error."""
        stream = self._stream
        return Accumulator().response() if stream is None else stream._response_result()  # noqa: SLF001

    async def _made(self) -> None:
        try:
            with anyio.CancelScope() as self._making:
                self._stream = await self._make()
        finally:
            self._making = None
        if self._closed and self._stream is not None:
            await self._stream.aclose()


def second_reader() -> InvalidRequestError:
    """Return the error of a task that reads a stream while another one does."""
    return InvalidRequestError(
        "another task is reading this stream, which has one reader: let it pass on what it reads, "
        "or wait for its end and take the result"
    )


def broken_read(what: str, cause: BaseException, partial: LLMResponse | None) -> AbortError:
    """Return the error of a stream or a run (*what*) after a read that *cause* ended."""
    message = f"an earlier read of the {what} was ended by {type(cause).__name__}"
    return AbortError(message, partial=partial)
