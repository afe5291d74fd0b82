"""Whatever a server leaves out or spells in its own way, the response is the same."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from llmcore.protocols.openai_responses import stream
from llmcore.schema.content import ContentPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.response import LLMResponse
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    ANSWERS,
    ASKED,
    Native,
    document,
    events_of,
    streamed,
    whole,
)

Variant = Callable[[list[Native]], list[Native]]


def _without(*endings: str) -> Variant:
    def vary(events: list[Native]) -> list[Native]:
        return [event for event in events if not event["type"].endswith(endings)]

    return vary


def _only(*types: str) -> Variant:
    def vary(events: list[Native]) -> list[Native]:
        return [event for event in events if event["type"].removeprefix("response.") in types]

    return vary


def _bare_end(events: list[Native]) -> list[Native]:
    """Leave the output out of the final response."""
    last = events[-1]
    return [*events[:-1], {**last, "response": {**last["response"], "output": []}}]


def _deltas_and_items(events: list[Native]) -> list[Native]:
    """Leave out what ends texts and inputs, but not what ends items."""
    kept = _without("text.done", "part.done", "arguments.done", "input.done", "refusal.done")
    return _bare_end(kept(events))


def _unnumbered(events: list[Native]) -> list[Native]:
    """Leave out all numbers, as llama.cpp does."""
    gone = ("sequence_number", "output_index", "content_index", "summary_index")
    return [{k: v for k, v in event.items() if k not in gone} for event in events]


def _rotating(events: list[Native]) -> list[Native]:
    """Give items a new id in each event, as GitHub Copilot does."""

    def rotate(number: int, event: Native) -> Native:
        event = dict(event)
        if "item_id" in event:
            event["item_id"] = f"rotated_{number}"
        if "item" in event and "id" in event["item"]:
            event["item"] = {**event["item"], "id": f"rotated_{number}"}
        return event

    return [rotate(number, event) for number, event in enumerate(events)]


def _all_zero(events: list[Native]) -> list[Native]:
    """Give all items the number 0."""
    return [{**e, "output_index": 0} if "output_index" in e else e for e in events]


def _unannounced(events: list[Native]) -> list[Native]:
    """Leave out where items and parts begin."""
    gone = ("output_item.added", "content_part.added", "summary_part.added", "command.added")
    return [event for event in events if not event["type"].endswith(gone)]


def _numbered_throughout(events: list[Native]) -> list[Native]:
    """Count the parts of all items together, as vLLM does with gpt-oss."""
    offsets: dict[int, int] = {}

    def counted(event: Native) -> Native:
        if "content_index" not in event:
            return event
        offset = offsets.setdefault(event["output_index"], len(offsets) + 1)
        return {**event, "content_index": event["content_index"] + offset}

    return [counted(event) for event in events]


def _renamed_at_the_end(events: list[Native]) -> list[Native]:
    """Give items and calls other ids in the final response, as vLLM does with gpt-oss."""
    new = {"id": "rotated_1", "call_id": "call_of_the_end"}
    last = events[-1]
    output = [
        {name: f"{new[name]}{at}" if name in new else value for name, value in item.items()}
        for at, item in enumerate(last["response"]["output"])
    ]
    return [*events[:-1], {**last, "response": {**last["response"], "output": output}}]


def _reasoning_parts(events: list[Native]) -> list[Native]:
    """Announce and end parts of reasoning by events of their own, as vLLM does."""
    return [
        {**event, "type": event["type"].replace("content_part", "reasoning_part")}
        if object_or_empty(event.get("part")).get("type") == "reasoning_text"
        else event
        for event in events
    ]


VARIANTS: dict[str, Variant] = {
    "as documented": list,
    "ends only": _without(".delta"),
    "whole items only": _only("created", "output_item.done", "completed"),
    "final response only": _only("created", "completed"),
    "final event only": _only("completed"),
    "bare final response": _bare_end,
    "deltas and items": _deltas_and_items,
    "unnumbered": _unnumbered,
    "unnumbered, bare final response": lambda events: _bare_end(_unnumbered(events)),
    "unnumbered, unannounced": lambda events: _unnumbered(_unannounced(events)),
    "all numbered 0": _all_zero,
    "all numbered 0, whole items only": lambda events: _bare_end(
        _only("created", "output_item.done", "completed")(_all_zero(events))
    ),
    "rotating ids": _rotating,
    "unannounced": _unannounced,
    "numbered throughout": _numbered_throughout,
    "renamed at the end": _renamed_at_the_end,
    "parts of reasoning": _reasoning_parts,
}


def comparable(answer: LLMResponse, *, ids: bool) -> Any:
    """Return what must be the same; without *ids*, those of items do not count."""
    return (
        [_part(part, ids) for part in answer.message.content],
        answer.finish_reason,
        answer.usage,
        answer.sources,
        answer.diagnostics,
        answer.provider_metadata,
    )


def _part(part: ContentPart, ids: bool) -> str:
    return repr(part) if ids else _without_ids(repr(part))


_IDS = re.compile(
    r"'(rotated|rs|msg|fc|ctc|ws|fs|ci|ig|mcp|mcpl|mcpr|tsc|tso|sh|sho|cm|cmo|cu|lsh|apc|cmp|dr)_\d+'"
)


def _without_ids(text: str) -> str:
    """Return *text* with the ids of all items made one."""
    return _IDS.sub("'?'", text)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_variant_gives_the_same_response(name: str) -> None:
    """Deltas only, ends only, the final response only: one response, and it is the whole body's."""
    output = ANSWERS[name]
    expected = response(whole(document(output)))
    for variant, size in product(VARIANTS, (2, 1000)):
        ids = variant != "rotating ids"

        events = streamed(VARIANTS[variant](events_of(output, size=size)))

        assert comparable(response(events), ids=ids) == comparable(expected, ids=ids), variant
        _assert_delivered_once(events, expected)


def _assert_delivered_once(events: list[LLMEvent], expected: LLMResponse) -> None:
    """Each character of the texts is delivered once."""
    texts = "".join(event.text for event in events if isinstance(event, TextDelta))
    thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    refusals = "".join(p.text for p in expected.message.content if isinstance(p, RefusalPart))

    assert texts == (expected.text or refusals)
    assert thoughts == (expected.reasoning or "")


WORDS = ("message", "reasoning", "function_call", "custom_tool_call")
WORDY = [name for name, output in ANSWERS.items() if all(i["type"] in WORDS for i in output)]


@pytest.mark.parametrize("vary", [_bare_end, _numbered_throughout, _renamed_at_the_end])
@pytest.mark.parametrize("name", WORDY)
def test_deltas_alone_give_texts_and_calls(name: str, vary: Variant) -> None:
    """A server that sends neither whole parts nor whole items is understood all the same."""
    events = vary(_without(".done")(events_of(ANSWERS[name])))

    answer, expected = response(streamed(events)), response(whole(document(ANSWERS[name])))

    assert answer.text == expected.text
    assert answer.reasoning == expected.reasoning
    assert [(c.name, c.arguments) for c in answer.tool_calls] == [
        (c.name, c.arguments) for c in expected.tool_calls
    ]
    assert answer.finish_reason == expected.finish_reason


def test_encrypted_argument_deltas_give_way_to_the_plain_end() -> None:
    """Where deltas are ciphertext, the arguments are what the end says, and the call is one."""
    events = _rotating(events_of(ANSWERS["parallel calls"]))
    for event in events:
        if event["type"].endswith("arguments.delta"):
            event["delta"] = "9f3a0c"

    answer = response(streamed(events))

    assert [call.arguments for call in answer.tool_calls] == [{"city": "A"}, {"city": "B"}]
    assert [call.id for call in answer.tool_calls] == ["call_1", "call_2"]
    assert {note.code for note in answer.diagnostics} == {"segment-text-changed"}


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"name": "time"}, ["call_1", "call_2", "call_3"]),
        ({"arguments": '{"city": "C"}'}, ["call_1", "call_2", "call_3"]),
        ({}, ["call_1", "call_2"]),
        ({"arguments": '{ "city":"A"}'}, ["call_1", "call_2"]),
    ],
)
def test_a_call_of_the_final_response_alone_is_another(fields: Native, ids: list[str]) -> None:
    """A call id that was not streamed is that of a call with the same name and input, or new."""
    *events, end = events_of(ANSWERS["parallel calls"])
    first, second = end["response"]["output"]
    listed = [{**first, "call_id": "call_3", **fields}, {**second, "call_id": "call_4"}]

    answer = response(
        streamed([*events, {**end, "response": {**end["response"], "output": listed}}])
    )

    assert [call.id for call in answer.tool_calls] == ids


def test_interleaved_items_do_not_mix() -> None:
    """Items whose events alternate stay apart, also where all are numbered 0."""
    sent = events_of(ANSWERS["parallel calls"], size=2)
    first = [e for e in sent if e.get("item_id") == "fc_1"]
    second = [e for e in sent if e.get("item_id") == "fc_2"]
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    added = [e for e in sent if e["type"].endswith("item.added")]
    done = [e for e in sent if e["type"].endswith("item.done")]
    order = [*sent[:2], *added, *mixed, *done, sent[-1]]

    nameless = [{k: v for k, v in event.items() if k != "item_id"} for event in order]
    for varied in (order, nameless, _unnumbered(order), _all_zero(order)):
        for events in (varied, _bare_end(varied)):
            answer = response(streamed(events))

            assert [(call.id, call.arguments) for call in answer.tool_calls] == [
                ("call_1", {"city": "A"}),
                ("call_2", {"city": "B"}),
            ]
            assert answer.diagnostics == ()


def test_interleaved_parts_do_not_mix() -> None:
    """Parts of one message whose deltas alternate stay apart."""
    events = events_of(ANSWERS["two texts"], size=1)
    first, second = (
        [e for e in events if e["type"].endswith("text.delta") and e["content_index"] == n]
        for n in (0, 1)
    )
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    rest = [e for e in events if e not in mixed]
    at = next(n for n, e in enumerate(rest) if e["type"].endswith("text.done"))

    answer = response(streamed([*rest[:at], *mixed, *rest[at:]]))

    assert [part.text for part in answer.message.content if isinstance(part, TextPart)] == [
        "One.",
        "Two.",
    ]
    assert answer.diagnostics == ()


@pytest.mark.parametrize("name", ["call", "custom call", "hosted mcp_call"])
def test_the_end_of_the_input_is_enough(name: str) -> None:
    """The end of an item need not repeat the input that its own end said."""
    events = _bare_end(_without(".delta")(events_of(ANSWERS[name])))
    for event in events:
        if event["type"].endswith("item.done") and event["output_index"] == 0:
            empty = {"arguments": "", "input": ""}
            kept = {k: v for k, v in empty.items() if k in event["item"]}
            event["item"] = {**event["item"], **kept}

    answer = response(streamed(events))
    (call, *_) = [part for part in answer.message.content if isinstance(part, ToolCallPart)]

    assert call.arguments in ({"city": "A"}, "ls -l", {"q": "otters"})


def test_gaps_in_the_numbers_do_not_matter() -> None:
    """The final list is matched to what was streamed although an item between was hidden."""
    output = ANSWERS["phases"]
    events = _rotating(events_of(output))
    for event in events:
        if event.get("output_index") == 1:
            event["output_index"] = 2

    answer = response(streamed(events))

    assert [part.text for part in answer.message.content if isinstance(part, TextPart)] == [
        "Let me see.",
        "There.",
    ]


def test_late_ends_are_ignored() -> None:
    """Events after an item's end add nothing."""
    events = events_of(ANSWERS["text"])
    again = [e for e in events if e.get("item_id") or "item" in e]

    answer = response(streamed([*events[:-1], *again, events[-1]]))

    assert answer.text == "Hello, wörld!"


def test_reasoning_under_its_first_name_is_read_as_it_comes() -> None:
    """`response.reasoning.delta`, with the deltas that `response.reasoning_text.delta` has."""
    sent = events_of(ANSWERS["open reasoning"], size=1)
    renamed = [{**e, "type": e["type"].replace("reasoning_text.", "reasoning.")} for e in sent]

    assert renamed != sent
    assert streamed(renamed) == streamed(sent)


DELTAS = {
    "text": (TextDelta, "output_text.delta"),
    "summaries": (ReasoningDelta, "summary_text.delta"),
    "open reasoning": (ReasoningDelta, "reasoning_text.delta"),
    "refusal": (TextDelta, "refusal.delta"),
    "parallel calls": (ToolInputDelta, "arguments.delta"),
    "custom call": (ToolInputDelta, "input.delta"),
    "hosted mcp_call": (ToolInputDelta, "arguments.delta"),
}


@pytest.mark.parametrize("name", DELTAS)
def test_plain_deltas_pass_through_one_by_one(name: str) -> None:
    """Each delta of the server is one delta of ours."""
    kind, ending = DELTAS[name]
    sent = events_of(ANSWERS[name], size=1)

    ours = [event.text for event in streamed(sent) if type(event) is kind]  # type: ignore[union-attr]

    assert ours == [event["delta"] for event in sent if event["type"].endswith(ending)]


@pytest.mark.parametrize("variant", ["as documented", "rotating ids", "unnumbered"])
@pytest.mark.parametrize("name", DELTAS)
def test_a_token_changes_no_state(name: str, variant: str) -> None:
    """All but the first delta of a segment leave the state as it is."""
    state, changes, deltas = stream.initial(ASKED), 0, 0
    for event in VARIANTS[variant](events_of(ANSWERS[name], size=1)):
        before = state
        state, _ = stream.step(before, event)
        if event["type"].endswith(DELTAS[name][1]):
            deltas += 1
            changes += state is not before

    assert deltas > 2 * changes > 0


# -- content in other shapes

SHAPES: dict[str, Any] = {
    "a text": "Hello",
    "a part without a list": {"type": "output_text", "text": "Hello"},
    "a part of another type of text": [{"type": "text", "text": "Hello"}],
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES.keys())
def test_content_of_any_shape_has_its_text(content: Any) -> None:
    """Whole, or at the end of a stream, where it is not repeated."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    ended = {"type": "response.completed", "response": document([item])}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        ended,
    ]

    for made in (response(whole(document([item]))), response(streamed(events))):
        assert [part.text for part in made.message.content if isinstance(part, TextPart)] == [
            "Hello"
        ]


@pytest.mark.parametrize("field", ["content", "summary"])
def test_reasoning_of_one_text_is_read(field: str) -> None:
    """As servers write it that have no parts."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], field: "Hm."}

    assert response(whole(document([item]))).reasoning == "Hm."


def test_a_response_may_end_under_its_old_name() -> None:
    """As the socket of ChatGPT's own backend ends it."""
    native = document([{"type": "message", "id": "msg_1", "content": "Hello"}])
    del native["status"]

    made = response(streamed([{"type": "response.done", "response": native}]))

    assert (made.text, made.finish_reason.reason) == ("Hello", "stop")
