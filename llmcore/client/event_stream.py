"""What a call gives: an asynchronous iterator of events that does not raise."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Protocol, Self, runtime_checkable

from returns.result import Failure, Result

from llmcore.folds.response import Accumulator
from llmcore.schema.errors import AbortError, ConfigurationError, LLMError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, TextDelta
from llmcore.schema.response import LLMResponse


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


class EventStream:
    """The events of one call.

    Use it as an asynchronous context manager and iterate. It ends with exactly one
    terminal event, `Finish` or `ErrorEvent`, and does not raise; `result()` is the outcome
    as a `Result`. Nothing is sent before the first event is asked for. Leaving the
    context, `aclose()` and cancellation close the connection at once.
    """

    def __init__(self, source: EventSource, accumulator: Accumulator | None = None) -> None:
        self._source = source
        self._accumulator = accumulator or Accumulator()
        self._accumulates = accumulator is None
        self._batch: Sequence[LLMEvent] = ()
        self._next = 0
        self._ended = False
        self._closed = False

    @classmethod
    def of(cls, events: Iterable[LLMEvent]) -> Self:
        """Build a stream of events that are all there, such as cached ones."""
        return cls(_Given(tuple(events)))

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
        if self._accumulates:
            for event in batch:
                self._accumulator.process(event)
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            self._ended = True
            await self._source.aclose()
        return batch

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text alone, as it comes; look at `result()` for how it ended."""
        return _TextStream(self)

    @property
    def partial_response(self) -> LLMResponse:
        """What has arrived so far."""
        return self._accumulator.partial

    async def result(self) -> Result[LLMResponse, LLMError]:
        """Read what is left and return the response, or the error with `partial`."""
        while await self.next_batch():
            pass
        if self._closed and not self._ended:
            message = "the stream was closed before its end"
            return Failure(AbortError(message, partial=self.partial_response))
        return self._accumulator.response()

    async def aclose(self) -> None:
        """Close the connection, wherever the stream is. Idempotent."""
        self._closed = True
        await self._source.aclose()

    def resumed(self) -> "EventStream":
        """Return a stream of the rest of this one, which was cut; nothing is asked twice.

        For answers that the server keeps, such as background responses of OpenAI: its
        events continue this stream's, its result is the whole answer. ConfigurationError
        where the stream is not a call's own (middleware made it).
        """
        if not isinstance(self._source, Resumable):
            raise ConfigurationError("a stream that middleware made cannot be resumed")
        return EventStream(self._source.resumed(), self._accumulator)

    def map(self, change: Callable[[LLMEvent], Iterable[LLMEvent]]) -> "EventStream":
        """Return a stream that has what *change* makes of each event: none, itself, several."""
        return EventStream(_Mapped(self, change))

    def tap(self, look: Callable[[LLMEvent], None]) -> "EventStream":
        """Return the same stream, every event of which is shown to *look* first."""

        def change(event: LLMEvent) -> Iterable[LLMEvent]:
            look(event)
            return (event,)

        return self.map(change)

    def then(
        self, done: Callable[[Result[LLMResponse, LLMError]], Awaitable[None]]
    ) -> "EventStream":
        """Return the same stream; *done* gets the result once, however the stream is left."""
        return EventStream(_Followed(self, done), self._accumulator)


class _TextStream:
    """A stream's text. An object, since a generator left in the middle is nobody's to close."""

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
    """Events that are all there."""

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


class _Followed:
    """Another stream's events, with somebody waiting for the end."""

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
        await self._tell()

    async def _tell(self) -> None:
        if not self._told:
            self._told = True
            await self._done(await self._inner.result())


class Deferred:
    """A stream that somebody is still to make: the source of middleware's streams."""

    def __init__(self, make: Callable[[], Awaitable[EventStream]]) -> None:
        self._make = make
        self._stream: EventStream | None = None
        self._closed = False

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Make the stream if need be, and return its next events."""
        if self._closed:
            return ()
        if self._stream is None:
            self._stream = await self._make()
        return await self._stream.next_batch()

    async def aclose(self) -> None:
        """Close the stream if it was made."""
        self._closed = True
        if self._stream is not None:
            await self._stream.aclose()
