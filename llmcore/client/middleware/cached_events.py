"""The events of a response in the form of the cache: shortened, and marked as cached."""

from collections.abc import Sequence

from attrs import evolve

from llmcore.client.cost import FROM_CACHE
from llmcore.schema import codec, json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    Finish,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    StreamStart,
    TextDelta,
    TextEnd,
    ToolInputDelta,
    ToolInputEnd,
)

_MARK = Diagnostic(
    FROM_CACHE,
    "response",
    action="noted",
    message="from the response cache: nothing was sent; usage is that of the first response",
)


class Recording:
    """Collects events with one delta for each segment, made from its end event."""

    def __init__(self) -> None:
        self._events: list[LLMEvent] = []

    def add(self, batch: Sequence[LLMEvent]) -> None:
        """Add the next events."""
        for event in batch:
            if type(event) not in SEGMENT_DELTAS:
                self._add(event)

    def _add(self, event: LLMEvent) -> None:
        match event:
            case TextEnd(id=id_, text=text, logprobs=logprobs) if text:
                self._events.append(TextDelta(id_, text, logprobs))
            case ReasoningEnd(id=id_, text=text) if text:
                self._events.append(ReasoningDelta(id_, text))
            case ToolInputEnd(id=id_, text=text) if text:
                self._events.append(ToolInputDelta(id_, text))
            case _:
                pass
        self._events.append(event)

    def packed(self) -> bytes:
        """Return the events as JSON, as they will be played back.

        They carry the Diagnostic of a response from the cache, and no rate limit: it would be an
        old one.
        """
        return json.dumps([codec.to_json(_cached(event)) for event in self._events])


def _cached(event: LLMEvent) -> LLMEvent:
    if isinstance(event, StreamStart):
        return evolve(event, rate_limit=None)
    if isinstance(event, Finish):
        return evolve(event, diagnostics=(*event.diagnostics, _MARK))
    return event


def unpacked(data: bytes) -> list[LLMEvent]:
    """Return the events of *data*; InvalidRequestError or ValueError unless it is a response."""
    items = json.loads(data)
    if not isinstance(items, list):
        raise InvalidRequestError("not a list of events")
    events: list[LLMEvent] = [codec.from_json(LLMEvent, item) for item in items]  # type: ignore[arg-type]
    if not events or not isinstance(events[-1], Finish):
        raise InvalidRequestError("the events of the response do not end with its finish")
    return events
