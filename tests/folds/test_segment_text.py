"""Arguments of tools, and characters that were cut in two."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.schema.content import TextPart, TokenLogprob
from llmcore.schema.events import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.json import MAX_DEPTH, JsonValue, parse_arguments
from tests.folds.segments_kit import answer, completed, said
from tests.support.strategies.values import chunkings, framed, json_objects, texts

# -- tool arguments


@pytest.mark.parametrize("text", ["", " ", "\n\t", "null", " null ", "{}", " {} ", '""', '"{}"'])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """Every spelling of no arguments means the same, and is valid."""
    events = completed(ToolInputStart("c1", "f"), ToolInputDelta("c1", text), ToolInputEnd("c1"))

    assert parse_arguments(text) == ({}, None)
    assert events[-1] == ToolCall("c1", "f", {})
    assert answer(framed(events)).diagnostics == ()


def test_no_delta_at_all_is_an_empty_object() -> None:
    """A call without arguments may have no input to stream."""
    assert completed(ToolInputStart("c1", "f"), ToolInputEnd("c1"))[-1] == ToolCall("c1", "f", {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a":', "not JSON"),
        ('{"a": 1} {"b": 2}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("look it up", "not JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "too large"),
        ("[1, 2]", "a JSON list, not an object"),
        ("5", "a JSON int, not an object"),
        ("true", "a JSON bool, not an object"),
        ('"text"', "a JSON str, not an object"),
        ('"[1]"', "a JSON str, not an object"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "levels deep"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_arguments_stay_text_and_are_reported(text: str, problem: str) -> None:
    """Half an object is not taken for a whole one, nor for none; nothing is lost."""
    stream = complete_segments(
        framed([ToolInputStart("c1", "f"), ToolInputDelta("c1", text), ToolInputEnd("c1")])
    )
    response = collect(stream).unwrap()
    (call,) = response.tool_calls
    (diagnostic,) = response.diagnostics

    assert call.arguments == text
    assert not call.is_valid
    assert diagnostic.code == "invalid-tool-arguments"
    assert diagnostic.path == "tool_calls[0].arguments"
    assert problem in diagnostic.message
    assert violations(stream) == []


@given(json_objects(), st.data())
def test_arguments_are_what_the_model_wrote(value: JsonValue, data: st.DataObject) -> None:
    """Encoded once or twice, cut anywhere."""
    encoded = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    for text in (encoded, json.dumps(encoded)):
        chunks = data.draw(chunkings(text))
        events = completed(
            ToolInputStart("c1", "f"),
            *(ToolInputDelta("c1", chunk) for chunk in chunks),
            ToolInputEnd("c1"),
        )
        assert events[-1] == ToolCall("c1", "f", value)


def test_large_integers_keep_their_digits() -> None:
    """An id of more than 64 bits is not rounded."""
    assert parse_arguments('{"id": 123456789012345678901}')[0] == {"id": 123456789012345678901}


@given(texts())
def test_a_custom_tools_input_is_never_parsed(text: str) -> None:
    """Freeform text that happens to be JSON is still text."""
    events = completed(
        ToolInputStart("c1", "f", kind="custom"), ToolInputDelta("c1", text), ToolInputEnd("c1")
    )

    assert events[-1] == ToolCall("c1", "f", text, kind="custom")


def test_faults_are_reported_by_the_place_of_the_call() -> None:
    """The path counts the caller's calls in the order of their starts, as `tool_calls` does."""
    response = answer(
        framed(
            [
                ToolInputStart("s", "search", provider_executed=True),
                ToolInputStart("a", "f"),
                ToolInputStart("b", "g"),
                ToolInputDelta("b", "{"),
                ToolInputDelta("s", "["),
                ToolInputEnd("b"),
                ToolInputEnd("s"),
                ToolInputEnd("a"),
            ]
        )
    )

    assert [diagnostic.path for diagnostic in response.diagnostics] == [
        "tool_calls[1].arguments",
        "provider_executed[s].arguments",
    ]
    assert response.tool_calls[1].id == "b"


@pytest.mark.parametrize(
    ("arguments", "text", "parsed"),
    [
        ({"q": 1}, '{"q":1}', {"q": 1}),
        ({}, "{}", {}),
        ('{"q": 1}', '{"q": 1}', {"q": 1}),
        ("1 + 1", "1 + 1", "1 + 1"),
        ("", "", {}),
    ],
)
def test_a_call_that_comes_whole_gets_its_input(
    arguments: JsonValue, text: str, parsed: JsonValue
) -> None:
    """Servers that send calls in one piece look like all others."""
    events = completed(ToolCall("c1", "f", arguments, provider_executed=True))

    assert events[0] == ToolInputStart("c1", "f", provider_executed=True)
    assert events[-2:] == [
        ToolInputEnd("c1", text),
        ToolCall("c1", "f", parsed, provider_executed=True),
    ]
    assert said(events, "c1") == text


# -- surrogate pairs


@pytest.mark.parametrize(
    "chunks",
    [
        ["I ", "\ud83d", "\ude42"],
        ["I \ud83d", "\ude42"],
        ["I ", "\ud83d\ude42"],
        ["I \ud83d", "", "\ude42"],
    ],
)
@pytest.mark.parametrize("whole", ["", "I 🙂", "I \ud83d\ude42"])
def test_halves_of_a_pair_wait_for_each_other(chunks: list[str], whole: str) -> None:
    """A server that counts UTF-16 units cuts emoji in two; users never see half of one."""
    events = completed(
        TextStart("0"), *(TextDelta("0", chunk) for chunk in chunks), TextEnd("0", whole)
    )

    assert events[-1] == TextEnd("0", "I 🙂")
    assert said(events, "0") == "I 🙂"


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        (["a\ud83d"], "a\ufffd"),
        (["\ud83d", "b"], "\ufffdb"),
        (["\ude42b"], "\ufffdb"),
        (["\ud83d", "\ud83d", "\ude42"], "\ufffd🙂"),
        (["a\ude42\ud83db"], "a\ufffd\ufffdb"),
    ],
)
def test_half_a_pair_alone_is_replaced(chunks: list[str], text: str) -> None:
    """A lone half shows as U+FFFD, in the deltas and in the end."""
    events = completed(
        ReasoningStart("0"), *(ReasoningDelta("0", chunk) for chunk in chunks), ReasoningEnd("0")
    )

    assert events[-1] == ReasoningEnd("0", text)
    assert said(events, "0") == text


def test_a_held_half_keeps_its_log_probabilities() -> None:
    """The log probability comes with its token; only the text waits."""
    logprob = TokenLogprob(token="\\ud83d", logprob=-1.0)

    events = completed(
        TextStart("0"), TextDelta("0", "\ud83d", (logprob,)), TextDelta("0", "\ude42"), TextEnd("0")
    )

    assert events[1:] == [
        TextDelta("0", "", (logprob,)),
        TextDelta("0", "🙂"),
        TextEnd("0", "🙂", logprobs=(logprob,)),
    ]


@given(st.lists(st.text(max_size=6), max_size=6))
def test_all_that_is_delivered_can_be_encoded(chunks: list[str]) -> None:
    """Any deltas at all, halves anywhere, come out as text that can be printed."""
    events = completed(TextStart("0"), *(TextDelta("0", chunk) for chunk in chunks), TextEnd("0"))

    for event in events:
        if isinstance(event, TextDelta | TextEnd):
            event.text.encode()
    assert events[-1] == TextEnd("0", said(events, "0"))


@given(texts(max_size=30), st.data())
def test_text_may_be_cut_between_any_code_units(text: str, data: st.DataObject) -> None:
    """Where a server cuts never shows."""
    chunks = data.draw(chunkings(text))
    response = answer(framed([TextStart("0"), *(TextDelta("0", chunk) for chunk in chunks)]))

    assert response.message.content == (TextPart(text),)
