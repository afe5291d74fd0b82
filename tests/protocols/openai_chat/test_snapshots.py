"""Arguments that a server repeats from their beginning in every fragment."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from llmcore.protocols.openai_chat import OPENAI
from llmcore.protocols.openai_chat.state import is_object
from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import Finish, LLMEvent, ToolInputDelta
from llmcore.schema.tools import CustomTool
from tests.support.wire.chat import ASKED, call, calls_chunks, streamed
from tests.support.wire.protocol import response

NESTED = '{"a":{"a":1}}'
SNAPSHOTS = {
    "grows": ['{"city":', '{"city":"Os', '{"city":"Oslo"}'],
    "begins with a brace": ["{", '{"city":', '{"city":"Oslo"}'],
    "comes twice": ['{"city":"Oslo"}', '{"city":"Oslo"}'],
    "its end comes twice": ['{"ci', '{"city":"Oslo"}', '{"city":"Oslo"}'],
    "both readings are possible at first": ['{"a":', '{"a":{"a":', NESTED],
    "both readings are possible until the end": ['{"a":', NESTED],
    "the rest is new only": ['{"a', '{"a":1', "}"],
    "all of it after the deltas": ['{"ci', 'ty":"', 'Oslo"}', '{"city":"Oslo"}'],
    "all of it twice after the deltas": ["{", '"city":"Oslo"}', *['{"city":"Oslo"}'] * 2],
}
ANSWERS = {
    "both readings are possible at first": NESTED,
    "both readings are possible until the end": NESTED,
    "the rest is new only": '{"a":1}',
}


def fragments(pieces: Sequence[str], *, named: bool = False, id_: str | None = "a") -> list[Any]:
    """Return the chunks of one call."""
    name = {"name": "look"} if named else {}
    own = {} if id_ is None else {"id": id_}
    first = call(0, **own, name="look", arguments=pieces[0] if named else "")
    rest = pieces[1:] if named else pieces
    return [first, *(call(0, **(own if named else {}), **name, arguments=one) for one in rest)]


def read(native: Sequence[Any]) -> tuple[list[str], str, list[str]]:
    """Return the deltas of the response's call, its whole text, and the codes of its reports."""
    events = streamed(calls_chunks(*native))
    return (deltas(events), "".join(deltas(events)), [note.code for note in notes(events)])


def deltas(events: Sequence[LLMEvent]) -> list[str]:
    """Return what is new in each event of a call."""
    return [event.text for event in events if isinstance(event, ToolInputDelta)]


def notes(events: Sequence[LLMEvent]) -> tuple[Diagnostic, ...]:
    """Return the reports of a response."""
    (finish,) = [event for event in events if isinstance(event, Finish)]
    return finish.diagnostics


@pytest.mark.parametrize("case", SNAPSHOTS)
def test_arguments_that_are_repeated_are_read_once(case: str) -> None:
    """Streamed as what is new in each fragment, and reported."""
    _, text, codes = read(fragments(SNAPSHOTS[case]))

    assert text == ANSWERS.get(case, '{"city":"Oslo"}')
    assert codes == ["repeated-tool-arguments"]


@pytest.mark.parametrize("before", [" ", "\n", " \n"])
@pytest.mark.parametrize("pieces", [['{"a":1}'], ['{"a":', "1}"]])
def test_arguments_after_white_space_are_read(before: str, pieces: list[str]) -> None:
    """A whole object after it does not repeat what came before."""
    _, text, codes = read(fragments([before, *pieces]))

    assert (text.strip(), codes) == ('{"a":1}', [])


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"a":[', '{"b":1}', "]}"],
        ['{"a":', '{"b":1}', "}"],
        ['{"a":[', '{"b":1}', ",", '{"b":1}', "]}"],
        ['{"a":"', "{}", '"}'],
        ['{"a":"', "{}", "{}", "{}", '"}'],
    ],
)
def test_an_object_among_the_deltas_is_one_of_them(pieces: list[str]) -> None:
    """More follows, if only the end of the object around it."""
    _, text, codes = read(fragments(pieces))

    assert (text, codes) == ("".join(pieces), [])


def test_an_object_held_back_is_in_what_a_cut_response_has() -> None:
    """Whether it repeats the others cannot be known."""
    native = calls_chunks(*fragments(['{"a":[', '{"b":1}']))[:-1]

    events = streamed(native, done=False)

    assert "".join(deltas(events)) == '{"a":[{"b":1}'


@pytest.mark.parametrize(
    "native",
    [
        fragments(SNAPSHOTS["grows"], named=True),
        fragments(SNAPSHOTS["grows"], named=True, id_=None),
    ],
    ids=["id and name in each", "name in each, no id"],
)
def test_a_call_whose_name_comes_with_each_snapshot_is_one_call(native: list[Any]) -> None:
    """A whole object that repeats the arguments so far does not begin another call."""
    (part,) = response(streamed(calls_chunks(*native))).message.content

    assert isinstance(part, ToolCallPart)
    assert part.arguments == {"city": "Oslo"}


def test_a_snapshot_is_streamed_as_soon_as_it_is_certain() -> None:
    """A client sees the input grow."""
    found, _, _ = read(fragments(['{"city', '{"city":"Os', '{"city":"Oslo"}']))

    assert found == ['{"city', '":"Os', 'lo"}']


def test_calls_side_by_side_are_read_each_by_itself() -> None:
    """One repeats its arguments, the other does not."""
    native = [
        call(0, id="a", name="look", arguments=""),
        call(1, id="b", name="look", arguments=""),
        call(0, arguments='{"x":'),
        call(1, arguments='{"y":'),
        call(0, arguments='{"x":1}'),
        call(1, arguments="2}"),
    ]
    answer = response(streamed(calls_chunks(*native)))

    assert [
        part.arguments for part in answer.message.content if isinstance(part, ToolCallPart)
    ] == [
        {"x": 1},
        {"y": 2},
    ]


def test_the_input_of_a_freeform_tool_may_be_repeated() -> None:
    """It is unwrapped once."""
    asked = evolve(ASKED, tools=(CustomTool("look"),))
    dialect = evolve(OPENAI, custom_tools=False)
    native = fragments(['{"input":"a', '{"input":"ab"}'])
    events = streamed(calls_chunks(*native), dialect=dialect, asked=asked)

    assert "".join(deltas(events)) == "ab"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab{}":\\ 🙂', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab{"), inner, max_size=2)
    ),
    max_leaves=5,
)
objects = st.dictionaries(st.sampled_from("ab{"), values, max_size=2).map(json.dumps)


@st.composite
def cut(draw: st.DrawFn) -> list[str]:
    """Return the arguments of a call, cut anywhere."""
    text = draw(objects)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)))
    edges = [0, *cuts, len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges) if a < b]


@given(cut())
def test_arguments_in_pieces_are_their_text_whatever_they_hold(pieces: list[str]) -> None:
    """An object that holds itself is never taken for a repetition."""
    _, text, codes = read(fragments(pieces))

    assert text == "".join(pieces)
    assert codes == []


@given(cut())
def test_snapshots_of_any_arguments_are_read_as_their_last(pieces: list[str]) -> None:
    """Unless all of them together are an object: then they are pieces."""
    grown = ["".join(pieces[: count + 1]) for count in range(len(pieces))]
    assume(not is_object("".join(grown)))
    _, text, codes = read(fragments(grown))

    assert text == grown[-1]
    assert codes == ["repeated-tool-arguments"]
