"""Blocking views of streams: events, text, objects."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

from llmcore.client import byte_stream
from llmcore.client import event_stream as events
from llmcore.generation import objects
from llmcore.generation import stream as runs
from llmcore.generation.results import GenerateResult, StepResult
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent, TextDelta
from llmcore.schema.hints import with_names_of_others
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from llmcore.sync.iterate import Connection, PulledIterator, single_items

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_Element = TypeVar("_Element")
_Partial = TypeVar("_Partial")


@with_names_of_others(__aenter__="write `with`: llmcore.sync is blocking, llmcore.stream is not")
class StreamView(Generic[_T]):
    """Base of all streams: a context manager and an iterator that can be closed."""

    def __init__(self, connection: Connection, items: PulledIterator[_T]) -> None:
        self._connection = connection
        self._items = items

    def __repr__(self) -> str:
        return repr(self._connection.stream)

    def _repr_markdown_(self) -> str | None:
        rendered = getattr(self._connection.stream, "_repr_markdown_", None)
        shown: str | None = rendered and rendered()
        return shown

    def __enter__(self) -> Self:
        self._connection.enter()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._connection.leave()

    def __iter__(self) -> Iterator[_T]:
        return iter(self._items)

    def close(self) -> None:
        """Close the connection at any point of the stream, and cancel running tools. Idempotent."""
        self._connection.close()


class EventStream(StreamView[LLMEvent]):
    """The events of one call: `llmcore.client.event_stream.EventStream`, blocking.

    It ends with exactly one terminal event and does not raise; `result()` is the outcome.
    Leaving the `with` block closes the connection; without one, leaving the loop does.
    """

    def __init__(self, stream: events.EventStream) -> None:
        connection = Connection(stream)
        super().__init__(connection, PulledIterator(connection, stream.next_batch))
        self._stream = stream

    @property
    def text_stream(self) -> Iterator[str]:
        """The text deltas alone; only `result()` shows whether the response is complete."""
        return _texts_of(self)

    @property
    def partial_response(self) -> LLMResponse:
        """The response made of the events so far."""
        return self._stream.partial_response

    def result(self) -> Result[LLMResponse, LLMError]:
        """Read what is left and return the response, or the error with `partial`."""
        self._items.drop()
        return self._connection.run(self._stream.result)

    def resumed(self) -> "EventStream":
        """Return a stream of the rest of this one after it was cut; see `EventStream`."""
        return EventStream(self._stream.resumed())


@runs.with_stream_hints
class StreamResult(StreamView[LLMEvent]):
    """The events of a run, over all of its steps: `llmcore.StreamResult`, blocking.

    The last event of a run that fails is an `ErrorEvent`, after which iteration raises the error.
    Inside a `with` block, the results of a step's tools are yielded as each is ready, and leaving
    the block closes the connection and cancels the tools. Without one they are yielded together,
    and leaving the loop closes the connection. Nothing is sent before the first event is read.
    """

    def __init__(self, stream: runs.StreamResult, connection: Connection | None = None) -> None:
        connection = connection or Connection(stream)
        super().__init__(connection, PulledIterator(connection, _arrived_events(stream)))
        self._stream = stream

    @property
    def text_stream(self) -> Iterator[str]:
        """The text deltas alone, of all steps.

        Raises the run's error, as iterating over events does.
        """
        return _texts_of(self)

    @property
    def partial_response(self) -> LLMResponse | None:
        """The current step's response made of the events so far; None before the first step."""
        return self._stream.partial_response

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The completed steps, also of a run that failed later."""
        return self._stream.steps

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, without an unfinished step."""
        return self._stream.messages

    def result(self) -> GenerateResult[None]:
        """Read what is left and return the result of the run; raises its error."""
        self._items.drop()
        return self._connection.run(self._stream.result)

    def response(self) -> LLMResponse:
        """Read what is left and return the last response; raises the run's error."""
        return self.result().response


class ByteStream(StreamView[bytes]):
    """The content of a response as it arrives: `llmcore.client.byte_stream.ByteStream`, blocking.

    Leaving the `with` block closes the connection; without one, leaving the loop does.
    """

    def __init__(self, stream: byte_stream.ByteStream) -> None:
        connection = Connection(stream)
        super().__init__(connection, PulledIterator(connection, single_items(stream)))
        self.media_type = stream.media_type
        """The type of the content, such as `audio/mpeg`, if it is stated."""
        self.diagnostics = stream.diagnostics
        """Everything that was left out or changed of the request."""


@objects.with_object_stream_hints
class StreamObjectResult(StreamView[Any], Generic[_T_co]):
    """An object while it is streamed: `StreamObjectResult`, blocking.

    Iterating yields partial objects as plain JSON; each contains the one before.
    After the last of them, iteration raises what `object` raises.
    """

    def __init__(self, stream: objects.StreamObjectResult[_T_co]) -> None:
        connection = Connection(stream)
        super().__init__(connection, PulledIterator(connection, single_items(stream)))
        self._stream = stream
        self._elements: PulledIterator[Any] | None = None
        self.stream = StreamResult(stream.stream, connection)
        """The events. Reading them here takes nothing from the other views."""

    @property
    def element_stream(self: "StreamObjectResult[Collection[_Element]]") -> Iterator[_Element]:
        """The elements of an array, each yielded once it is complete and validated.

        Raises what `StreamObjectResult.element_stream` raises.
        """
        if self._elements is None:
            self._elements = PulledIterator(
                self._connection, single_items(self._stream.element_stream)
            )
        return iter(self._elements)

    def typed_partials(self, kind: type[_Partial]) -> Iterator[_Partial]:
        """Return the partial objects as values of *kind*.

        Raises what `StreamObjectResult.typed_partials` raises.
        """
        partials = self._stream.typed_partials(kind)
        return iter(PulledIterator(self._connection, single_items(partials)))

    def object(self) -> _T_co:
        """Read the rest and return the validated object; raises what `generate_object` raises."""
        return self._connection.run(self._stream.object)

    def result(self) -> GenerateResult[_T_co]:
        """Read what is left and return what `generate_object` would."""
        return self._connection.run(self._stream.result)


def _texts_of(events: Iterable[LLMEvent]) -> Iterator[str]:
    return (event.text for event in events if isinstance(event, TextDelta))


def _arrived_events(stream: runs.StreamResult) -> Callable[[], Awaitable[Sequence[LLMEvent]]]:
    """Return a function that awaits all arrived events: one thread switch for all of them."""

    async def pull() -> Sequence[LLMEvent]:
        arrived: list[LLMEvent] = []
        async for event in stream:
            arrived.append(event)
            if not stream.buffered:
                break
        return arrived

    return pull
