"""Blocking views of streams: events, text, objects."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

from llmcore.client import event_stream as events
from llmcore.generation import objects
from llmcore.generation import stream as runs
from llmcore.generation.results import GenerateResult, StepResult
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent, TextDelta
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from llmcore.sync.pulling import Connection, Pulled, one_by_one

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_Element = TypeVar("_Element")


class Reading(Generic[_T]):
    """What all streams are: a context, an iterator, and something to close."""

    def __init__(self, connection: Connection, items: Pulled[_T]) -> None:
        self._connection = connection
        self._items = items

    def __enter__(self) -> Self:
        self._connection.enter()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._connection.leave()

    def __iter__(self) -> Iterator[_T]:
        return iter(self._items)

    def close(self) -> None:
        """Close the connection, wherever the stream is, and end tools that run. Idempotent."""
        self._connection.close()


class EventStream(Reading[LLMEvent]):
    """The events of one call: `llmcore.EventStream`, blocking.

    It ends with exactly one terminal event and does not raise; `result()` is the outcome.
    Leaving the `with` block closes the connection; without one, leaving the loop does.
    """

    def __init__(self, stream: events.EventStream) -> None:
        connection = Connection(stream)
        super().__init__(connection, Pulled(connection, stream.next_batch))
        self._stream = stream

    @property
    def text_stream(self) -> Iterator[str]:
        """The text alone, as it comes; look at `result()` for how it ended."""
        return _texts_of(self)

    @property
    def partial_response(self) -> LLMResponse:
        """What has arrived so far."""
        return self._stream.partial_response

    def result(self) -> Result[LLMResponse, LLMError]:
        """Read what is left and return the response, or the error with `partial`."""
        self._items.drop()
        return self._connection.run(self._stream.result)

    def resumed(self) -> "EventStream":
        """Return a stream of the rest of this one, which was cut; see `llmcore.EventStream`."""
        return EventStream(self._stream.resumed())


class StreamResult(Reading[LLMEvent]):
    """The events of a run, over all of its steps: `llmcore.StreamResult`, blocking.

    A run that fails has an `ErrorEvent` as its last event, and then raises its error. In a
    `with` block, the results of a step's tools come as each is ready, and leaving it closes the
    connection and ends the tools. Without it they come together, and leaving the loop closes the
    connection. Nothing is sent before the first event is asked for.
    """

    def __init__(self, stream: runs.StreamResult, connection: Connection | None = None) -> None:
        connection = connection or Connection(stream)
        super().__init__(connection, Pulled(connection, _those_that_came(stream)))
        self._stream = stream

    @property
    def text_stream(self) -> Iterator[str]:
        """The text alone, of all steps, as it comes. It raises as the events do."""
        return _texts_of(self)

    @property
    def partial_response(self) -> LLMResponse | None:
        """What has arrived of the current step's answer; None before the first."""
        return self._stream.partial_response

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The steps that are done; also those of a run that failed later."""
        return self._stream.steps

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, without a step that is not done."""
        return self._stream.messages

    def result(self) -> GenerateResult[None]:
        """Read what is left and return the result of the run; raises its error."""
        self._items.drop()
        return self._connection.run(self._stream.result)

    def response(self) -> LLMResponse:
        """Read what is left and return the last response; raises the run's error."""
        return self.result().response


class StreamObjectResult(Reading[JsonValue], Generic[_T_co]):
    """An object that arrives: `llmcore.StreamObjectResult`, blocking.

    Iterate over it for partial objects, as plain JSON, each of which contains the one before.
    After the last of them, iteration raises what `object` raises.
    """

    def __init__(self, stream: objects.StreamObjectResult[_T_co]) -> None:
        connection = Connection(stream)
        super().__init__(connection, Pulled(connection, one_by_one(stream)))
        self._stream = stream
        self._elements: Pulled[Any] | None = None
        self.stream = StreamResult(stream.stream, connection)
        """The events. What is read here is not missed by the other views."""

    @property
    def element_stream(self: "StreamObjectResult[Collection[_Element]]") -> Iterator[_Element]:
        """The elements of an array, each once, when it is complete and validated.

        Raises as that of `llmcore.StreamObjectResult` does.
        """
        if self._elements is None:
            self._elements = Pulled(self._connection, one_by_one(self._stream.element_stream))
        return iter(self._elements)

    def object(self) -> _T_co:
        """Read what is left and return the validated object; raises as `generate_object`."""
        return self._connection.run(self._stream.object)

    def result(self) -> GenerateResult[_T_co]:
        """Read what is left and return what `generate_object` would."""
        return self._connection.run(self._stream.result)


def _texts_of(events: Iterable[LLMEvent]) -> Iterator[str]:
    return (event.text for event in events if isinstance(event, TextDelta))


def _those_that_came(stream: runs.StreamResult) -> Callable[[], Awaitable[Sequence[LLMEvent]]]:
    """Return what pulls all events that came together: a thread switch for each would be slow."""

    async def pull() -> Sequence[LLMEvent]:
        found: list[LLMEvent] = []
        async for event in stream:
            found.append(event)
            if not stream.buffered:
                break
        return found

    return pull
