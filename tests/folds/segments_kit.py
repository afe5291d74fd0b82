"""Streams of one step, completed, and their text."""

from collections.abc import Sequence

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.response import LLMResponse
from tests.support.strategies.values import framed


def completed(*inner: LLMEvent) -> list[LLMEvent]:
    """Complete a stream whose one step is *inner*, and return what became of the step."""
    stream = complete_segments(framed(inner))
    assert violations(stream) == []
    return stream[2:-2]


def answer(events: Sequence[LLMEvent]) -> LLMResponse:
    """Return the response of bare events."""
    return collect(complete_segments(events)).unwrap()


def said(events: Sequence[LLMEvent], id_: str) -> str:
    """Return what the deltas of a segment say."""
    deltas = (TextDelta, ReasoningDelta, ToolInputDelta)
    return "".join(e.text for e in events if isinstance(e, deltas) and e.id == id_)
