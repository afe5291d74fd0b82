"""The result of a call: an asynchronous iterator of events that does not raise."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self, runtime_checkable

import anyio

from llmcore.client.cost import with_cost
from llmcore.folds.response import Accumulator
from llmcore.schema.errors import AbortError, ConfigurationError, LLMError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, TextDelta
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result


class EventSource(Protocol):
    """Where a stream's events come from, a batch at a time."""

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events; an empty sequence when there are no more."""
        ...

    async def aclose(self) -> None:
        """Free what is held. Idempotent."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source whose answer can be gone on with after a cut."""

    def resumed(self) -> EventSource:
        """Return the source of the rest."""
        ...


class Collected(Protocol):
    """The response that a stream's events add up to."""

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
    context, `aclose()` and cancellation close the connection at once.
    """

    def __init__(
        self,
        source: EventSource,
        collected: Collected | None = None,
        price: Callable[[LLMResponse], LLMResponse] = with_cost,
    ) -> None:
        """Read *source*; what its events add up to is kept here, unless *collected* does it.

        *price* puts the cost on the whole response.
        """
        self._source = source
        self._own = Accumulator() if collected is None else None
        self._collected: Collected = collected or self._own  # type: ignore[assignment]
        self._price = price
        self._batch: Sequence[LLMEvent] = ()
        self._next = 0
        self._ended = False
        self._closed = False

    @classmethod
    def of(cls, events: Iterable[LLMEvent]) -> Self:
        """Build a stream of events that are all there, such as cached ones."""
        return cls(_Given(tuple(events)))

    @classmethod
    def deferred(cls, make: Callable[[], Awaitable["EventStream"]]) -> Self:
        """Build a stream of the one that *make* returns when the first event is requested.

        Closing it ends the making.
        """
        source = _Deferred(make)
        return cls(source, source)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LLMEvent:
        index = self._next
        if index >= len(self._batch):
            batch = await self.next_batch()
            if not batch:
                raise StopAsyncIteration
            self._batch = batch
            index = 0
        self._next = index + 1
        return self._batch[index]

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the events that came together, at least one; empty at the end.

        The iterator hands them out one by one; middleware that only looks at events
        saves time by taking them as they come.
        """
        if self._next < len(self._batch):
            rest, self._batch, self._next = self._batch[self._next :], (), 0
            return rest
        if self._ended or self._closed:
            return ()
        batch = await self._source.next_batch()
        if not batch and self._closed:  # by another task, while this one waited
            return ()
        if self._own is not None:
            for event in batch:
                self._own.process(event)
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            self._ended = True
            await self._source.aclose()
        return batch

    def unread(self, events: Sequence[LLMEvent]) -> None:
        """Put *events*, which were read, back in front of those to come."""
        self._batch, self._next = (*events, *self._batch[self._next :]), 0

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text alone, as it comes; look at `result()` for how it ended."""
        return _TextStream(self)

    @property
    def partial_response(self) -> LLMResponse:
        """The response so far."""
        return self._collected.partial

    async def result(self) -> Result[LLMResponse, LLMError]:
        """Read what is left and return the response, or the error with `partial`."""
        while await self.next_batch():
            pass
        return self._outcome()

    def _outcome(self) -> Result[LLMResponse, LLMError]:
        """Return what came of a stream that nothing more is read of."""
        if self._ended:
            return self._answer()
        left = "closed" if self._closed else "dropped"
        message = f"the stream was {left} before its end"
        return Failure(AbortError(message, partial=self.partial_response))

    def _answer(self) -> Result[LLMResponse, LLMError]:
        return self._collected.response().map(self._price)

    async def aclose(self) -> None:
        """Close the connection, wherever the stream is. Idempotent."""
        self._closed = True
        await self._source.aclose()

    def resumed(self) -> "EventStream":
        """Return a stream of the rest of this one, which was cut; nothing is requested twice.

        For answers that the server keeps, such as background responses of OpenAI: its
        events continue this stream's, its result is the whole answer. ConfigurationError
        where the stream is not a call's own (middleware made it).
        """
        if not isinstance(self._source, Resumable):
            raise ConfigurationError("a stream that middleware made cannot be resumed")
        return EventStream(self._source.resumed(), self._collected, self._price)

    def map(self, change: Callable[[LLMEvent], Iterable[LLMEvent]]) -> "EventStream":
        """Return a stream that has what *change* makes of each event: none, itself, several."""
        return EventStream(_Mapped(self, change), price=self._price)

    def tap(self, look: Callable[[LLMEvent], None]) -> "EventStream":
        """Return the same stream, every event of which is shown to *look* first."""

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
        """Return the same stream, watched.

        *each* gets every batch of events before it is handed out. *end* gets the result,
        exactly once: at the end, when the stream is closed, and when it is garbage-collected
        (in the thread that collects it). A stream that is not closed and left before its
        end is an AbortError with `partial`.
        """
        return EventStream(_Watched(self, each, end), self._collected, self._price)

    def within(self, scope: Callable[[], AbstractContextManager[object]]) -> "EventStream":
        """Return the same stream, each read of which happens in a new *scope*."""
        return EventStream(_Within(self, scope), self._collected, self._price)

    def then(
        self, done: Callable[[Result[LLMResponse, LLMError]], Awaitable[None]]
    ) -> "EventStream":
        """Return the same stream; *done* gets the result once, at the end or when it is closed.

        For a stream that is neither read to its end nor closed it is not called; use `watch`.
        """
        return EventStream(_Followed(self, done), self._collected, self._price)


class _TextStream:
    """A stream's text. An object, since no one closes a generator that is left in the middle."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._stream:
            if isinstance(event, TextDelta):
                return event.text
        raise StopAsyncIteration


class _Given:
    """Events that are already complete."""

    def __init__(self, events: Sequence[LLMEvent]) -> None:
        self._events = events

    async def next_batch(self) -> Sequence[LLMEvent]:
        events, self._events = self._events, ()
        return events

    async def aclose(self) -> None:
        self._events = ()


class _Mapped:
    """Another stream's events, changed."""

    def __init__(
        self, inner: EventStream, change: Callable[[LLMEvent], Iterable[LLMEvent]]
    ) -> None:
        self._inner = inner
        self._change = change

    async def next_batch(self) -> Sequence[LLMEvent]:
        while batch := await self._inner.next_batch():
            changed = [new for event in batch for new in self._change(event)]
            if changed:
                return changed
        return ()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Within:
    """Another stream's events, read in a scope."""

    def __init__(
        self, inner: EventStream, scope: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self._inner = inner
        self._scope = scope

    async def next_batch(self) -> Sequence[LLMEvent]:
        with self._scope():
            return await self._inner.next_batch()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Followed:
    """Another stream's events, with a function that is called at the end."""

    def __init__(
        self,
        inner: EventStream,
        done: Callable[[Result[LLMResponse, LLMError]], Awaitable[None]],
    ) -> None:
        self._inner = inner
        self._done = done
        self._told = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        batch = await self._inner.next_batch()
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            await self._tell()
        return batch

    async def aclose(self) -> None:
        await self._inner.aclose()
        with anyio.CancelScope(shield=True):  # closing is what cancelled calls do, too
            await self._tell()

    async def _tell(self) -> None:
        if not self._told:
            self._told = True
            await self._done(await self._inner.result())


class _Watched:
    """Another stream's events, observed."""

    def __init__(
        self,
        inner: EventStream,
        each: Callable[[Sequence[LLMEvent]], None] | None,
        end: Callable[[Result[LLMResponse, LLMError]], None] | None,
    ) -> None:
        self._inner = inner
        self._each = each
        self._end = end

    async def next_batch(self) -> Sequence[LLMEvent]:
        batch = await self._inner.next_batch()
        if self._each is not None and batch:
            self._each(batch)
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            self._tell()
        return batch

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._tell()

    def _tell(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end(self._inner._outcome())  # noqa: SLF001  (our own class)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._tell()


class _Deferred:
    """A stream that is still to be made, and the response of its events."""

    def __init__(self, make: Callable[[], Awaitable[EventStream]]) -> None:
        self._make = make
        self._stream: EventStream | None = None
        self._making: anyio.CancelScope | None = None
        self._closed = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Make the stream if need be, and return its next events."""
        if self._closed:
            return ()
        if self._stream is None:
            await self._made()
        return () if self._stream is None else await self._stream.next_batch()

    async def aclose(self) -> None:
        """Close the stream if it was made, also from another task; else end its making."""
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
        return Accumulator().response() if stream is None else stream._answer()  # noqa: SLF001

    async def _made(self) -> None:
        try:
            with anyio.CancelScope() as self._making:
                self._stream = await self._make()
        finally:
            self._making = None
        if self._closed and self._stream is not None:
            await self._stream.aclose()
