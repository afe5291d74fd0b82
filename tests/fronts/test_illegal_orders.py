"""Events that come in an order that no upstream should send are written, or are a failure."""

from collections.abc import Iterator
from typing import Any

import pytest

from llmcore.fronts.front import FRONT_IDS
from llmcore.schema.content import Citation
from llmcore.schema.events import LLMEvent, Source, ToolResult
from llmcore.testing import write_as_front
from tests.support.events import call, stream, text, thought

BUILT_IN: Any = {"openai": {"type": "shell_call"}}
"""The fields by which an upstream of the Responses API announces the item of a call."""
SEARCHED = [
    *call("web_search", '{"query":"a"}', id="s1", hosted=True),
    ToolResult("s1", {"found": 1}, name="web_search", provider_executed=True),
    Source(id="u1", url="https://a.example"),
]
STREAMS: dict[str, list[LLMEvent]] = {
    "texts": [*stream(thought("a", "b"), text("c", "d"))],
    "calls": [*stream(call("f", '{"a":', "1}"), call("g", "hello", id="c2", kind="custom"))],
    "built-in": [*stream(call("shell", '{"commands":["ls"]}', begins_with=BUILT_IN), text("x"))],
    "searches": [*stream(SEARCHED, text("c", citations=(Citation(url="https://a.example"),)))],
}


def _orders(events: list[LLMEvent]) -> Iterator[list[LLMEvent]]:
    """Yield *events* with one left out, with one repeated at the end, and with two exchanged."""
    yield events
    for number, event in enumerate(events):
        yield [*events[:number], *events[number + 1 :]]
        yield [*events[:-1], event, events[-1]]
        for other in range(number):
            exchanged = list(events)
            exchanged[number], exchanged[other] = exchanged[other], exchanged[number]
            yield exchanged


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_events_in_an_illegal_order_raise_nothing(
    front_id: str, name: str, streaming: bool
) -> None:
    """An error of Python's would end a client's connection without a word."""
    for events in _orders(STREAMS[name]):
        assert write_as_front(front_id, events, streaming=streaming)


@pytest.mark.parametrize("kind", ["function", "custom"])
def test_a_call_whose_native_item_does_not_come_is_written_as_a_plain_one(kind: Any) -> None:
    """The upstream named the item's type at the start, and then sent only the input."""
    events = stream(call("shell", '{"commands":["ls"]}', kind=kind, begins_with=BUILT_IN))
    written = write_as_front("openai-responses", events, streaming=False)

    assert b'\\"commands\\":[\\"ls\\"]' in written
