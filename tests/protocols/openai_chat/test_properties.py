"""Laws of Chat Completions alone; those of all protocols are in `test_laws.py`."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.errors import StreamError
from llmcore.schema.events import ToolCall
from tests.support.strategies.native.chat import answers
from tests.support.strategies.native.drawn import Answer
from tests.support.strategies.values import json_values
from tests.support.wire.chat import sse, streamed
from tests.support.wire.protocol import error, response


@given(answers(), st.data())
def test_a_cut_before_the_finish_is_an_error(answer: Answer, data: st.DataObject) -> None:
    """Bytes that end too soon are never a success, and an open call never counts as complete."""
    body = sse(answer[0])
    finish = next(i for i, one in enumerate(answer[0]) if one["choices"][0]["finish_reason"])
    until = len(sse(answer[0][: finish + 1], done=False)) - len(b"\n\n")
    place = data.draw(st.integers(0, until - 1))

    events = streamed(body[:place])

    assert isinstance(error(events), StreamError)
    assert not any(isinstance(event, ToolCall) for event in events)


_LATER = st.dictionaries(st.sampled_from(["x_new", "x_more"]), json_values(), max_size=2)


@given(answers(), st.lists(_LATER, min_size=1, max_size=3), st.data())
def test_unknown_fields_change_nothing(
    answer: Answer,
    noise: list[dict[str, Any]],
    data: st.DataObject,
) -> None:
    """Next year's fields, anywhere, neither raise nor touch what was said."""
    later = []
    for one in answer[0]:
        above, beside, inside = data.draw(st.tuples(*[st.sampled_from(noise)] * 3))
        choices = [{**beside, **c, "delta": {**inside, **c["delta"]}} for c in one["choices"]]
        later.append({**above, **one, "choices": choices})

    got, expected = response(streamed(later)), response(streamed(answer[0]))

    assert (got.message, got.finish_reason, got.usage) == (
        expected.message,
        expected.finish_reason,
        expected.usage,
    )
