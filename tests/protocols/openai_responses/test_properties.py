"""Laws of the Responses API alone; those of all protocols are in `test_laws.py`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.errors import StreamError
from llmcore.schema.events import ToolCall
from tests.support.strategies.native.responses import outputs
from tests.support.strategies.values import json_values
from tests.support.wire.protocol import error, response
from tests.support.wire.responses import Native, document, events_of, message, sse, streamed, whole


@given(outputs(), st.data())
def test_a_cut_before_the_end_is_an_error(output: list[Native], data: st.DataObject) -> None:
    """Bytes that end too soon are never a success, and an open call never counts as complete."""
    events = events_of(output)
    body = sse(events)
    place = data.draw(st.integers(0, len(body) - len(b"\n\n") - 1))

    told = streamed(body[:place])

    assert isinstance(error(told), StreamError)
    arrived = [e for e in events[: body[:place].count(b"\n\n")] if e["type"].endswith("item.done")]
    calls = [event for event in told if isinstance(event, ToolCall)]
    assert len(calls) <= len(arrived)


_LATER = st.dictionaries(st.sampled_from(["x_new", "x_more"]), json_values(), max_size=2)


@given(outputs(), st.lists(_LATER, min_size=1, max_size=3), st.data())
def test_unknown_events_and_fields_change_nothing(
    output: list[Native], noise: list[Native], data: st.DataObject
) -> None:
    """Next year's events and fields, anywhere, neither raise nor touch what was said."""
    events = events_of(output)
    later: list[Native] = []
    for event in events:
        if data.draw(st.integers(0, 4)) == 0:
            extra = data.draw(st.sampled_from(noise))
            later.append({"type": "response.x_new.delta", "output_index": 0, **extra})
        later.append({**data.draw(st.sampled_from(noise)), **event})

    got, expected = response(streamed(later)), response(streamed(events))

    assert got == expected


@pytest.mark.parametrize("depth", [200, 900])
@pytest.mark.parametrize("kind", ["x_new", "web_search_call"])
def test_json_that_is_nested_too_deeply_is_an_error(kind: str, depth: int) -> None:
    """No value of ours can hold it; what came before is kept."""
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    output = [message("Hi."), {"type": kind, "id": "x", "name": "f", "arguments": {"a": deep}}]

    for found in (error(streamed(events_of(output))), error(whole(document(output)))):
        assert isinstance(found, StreamError)
        assert found.partial is not None
        assert found.partial.text == "Hi."
