"""Everything that OpenAI's own accumulators take from a stream is in the response.

The streams are drawn by the grammar of the SDKs' accumulators: `ResponseStreamState` (Python,
`openai.lib.streaming.responses`) and `accumulateResponse` (JavaScript, openai 7.57.0). An item may
be announced with content, deltas come on top of it, and the end of a text, of a part, of an item
or of the response may bring what no delta did.
"""

import json
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.response import LLMResponse
from tests.support.strategies.values import json_objects, texts
from tests.support.wire.openai_sdk import assert_agrees, sdk_streamed
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    CLIENT_RUN,
    HOSTED,
    Native,
    custom_call,
    document,
    function_call,
    message,
    reasoning,
    refusal_part,
    streamed,
    text_part,
    whole,
)

# -- streams by the accumulators' grammar


def _messages(n: int) -> st.SearchStrategy[Native]:
    part = st.one_of(texts().map(text_part), texts(1).map(refusal_part))
    return st.lists(part, min_size=1, max_size=2).map(lambda p: message(*p, id=f"msg_{n}"))


def _thoughts(n: int) -> st.SearchStrategy[Native]:
    parts = st.lists(texts(1), max_size=2)
    return st.tuples(parts, parts).map(
        lambda t: reasoning(*t[0], content=t[1], id=f"rs_{n}", encrypted=f"enc {n}")
    )


def _calls(n: int) -> st.SearchStrategy[Native]:
    functions = json_objects().map(lambda a: function_call(json.dumps(a), n=n))
    return functions | texts(1).map(lambda t: custom_call(t, n=n))


_ITEMS = [_messages, _thoughts, _calls]


def _cut(draw: st.DrawFn, text: str, count: int) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), min_size=count, max_size=count)))
    return [text[a:b] for a, b in pairwise([0, *places, len(text)])]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Native], list[Native], str]:
    """Draw the events of a response, its output, and its status."""
    makers = draw(st.lists(st.sampled_from(_ITEMS), min_size=1, max_size=3))
    output = [draw(make(n)) for n, make in enumerate(makers)]
    status = draw(st.sampled_from(["completed", "incomplete"]))
    final = draw(st.booleans())
    early = draw(st.integers(0, len(output)))
    announced: list[Native] = []
    events: list[Native] = []
    for at, item in enumerate(output):
        must_end = status == "completed" and not final
        ends = must_end or draw(st.booleans())
        begun, inside = draw(_item_events(item, ends or final))
        place = {"output_index": at}
        if at < early:
            announced.append(begun)
        else:
            events.append({"type": "response.output_item.added", "item": begun, **place})
        events += [{**event, **place, "item_id": item["id"]} for event in inside]
        if ends:
            events.append({"type": "response.output_item.done", "item": item, **place})
    started = document(announced, "in_progress", usage=None)
    lifecycle = [
        {"type": f"response.{kind}", "response": started}
        for kind in draw(st.sampled_from([["created"], ["created", "in_progress"]]))
    ]
    ended = document(output, status)
    if not final:
        ended["output"] = None
    everything = [*lifecycle, *events, {"type": f"response.{status}", "response": ended}]
    numbered = [{**event, "sequence_number": n} for n, event in enumerate(everything)]
    return numbered, output, status


@st.composite
def _item_events(draw: st.DrawFn, item: Native, repeated: bool) -> tuple[Native, list[Native]]:
    """Draw how *item* is announced, and the events inside it.

    Where the item is *repeated* whole later, not all of its texts must come as deltas.
    """
    if item["type"] not in ("message", "reasoning"):
        return draw(_call_events(item, repeated))
    begun = {**item}
    events: list[Native] = []
    complete = True
    for name, number_field in (("summary", "summary_index"), ("content", "content_index")):
        if name in item:
            known = draw(st.integers(0, len(item[name]))) if complete else 0
            complete = known == len(item[name])
            begun[name] = []
            for number, part in enumerate(item[name]):
                first, inside = draw(_part_events(part, number < known, repeated))
                if number < known:
                    begun[name].append(first)
                events += [{**event, number_field: number} for event in inside]
    return begun, events


_FIELDS = {"refusal": "refusal"}
_NAMES = {
    "output_text": ("response.output_text", "response.content_part"),
    "refusal": ("response.refusal", "response.content_part"),
    "summary_text": ("response.reasoning_summary_text", "response.reasoning_summary_part"),
    "reasoning_text": ("response.reasoning_text", "response.content_part"),
}


@st.composite
def _part_events(
    draw: st.DrawFn, part: Native, announced: bool, repeated: bool
) -> tuple[Native, list[Native]]:
    field = _FIELDS.get(part["type"], "text")
    name, part_name = _NAMES[part["type"]]
    first, *pieces, rest = _cut(draw, part[field], draw(st.integers(1, 3)))
    begun = {**part, field: first}
    events: list[Native] = []
    if not announced:
        events.append({"type": f"{part_name}.added", "part": begun})
    said = draw(st.booleans())
    whole_part = draw(st.booleans())
    if not (said or whole_part or repeated):
        pieces.append(rest)
    events += [
        {"type": f"{name}.delta", "delta": piece, "logprobs": []} for piece in pieces if piece
    ]
    if said:
        events.append({"type": f"{name}.done", field: part[field], "logprobs": []})
    if whole_part:
        events.append({"type": f"{part_name}.done", "part": part})
    return begun, events


@st.composite
def _call_events(draw: st.DrawFn, item: Native, repeated: bool) -> tuple[Native, list[Native]]:
    custom = item["type"] == "custom_tool_call"
    field = "input" if custom else "arguments"
    name = "response.custom_tool_call_input" if custom else "response.function_call_arguments"
    first, *pieces, rest = _cut(draw, item[field], draw(st.integers(1, 3)))
    said = draw(st.booleans())
    if not (said or repeated):
        pieces.append(rest)
    events: list[Native] = [{"type": f"{name}.delta", "delta": piece} for piece in pieces if piece]
    if said:
        events.append({"type": f"{name}.done", field: item[field]})
    return {**item, field: first}, events


@given(streams())
def test_a_stream_by_the_accumulators_grammar_is_the_response_that_the_response_is(
    drawn: tuple[list[Native], list[Native], str],
) -> None:
    """Whichever event brings a text, the response is that of the whole document."""
    events, output, status = drawn
    expected = response(whole(document(output, status)))
    got = response(streamed(events))

    assert _in_order(got) == _in_order(expected)
    assert got.finish_reason == expected.finish_reason
    assert got.usage == expected.usage
    assert got.diagnostics == expected.diagnostics


def _in_order(answer: LLMResponse) -> list[Any]:
    """Return the parts by the places of their items: several may have been open at once."""
    return sorted(
        answer.message.content, key=lambda part: part.provider_metadata["openai"]["index"]
    )


@given(streams())
def test_a_stream_by_the_accumulators_grammar_reads_as_the_sdk_reads_it(
    drawn: tuple[list[Native], list[Native], str],
) -> None:
    """The official SDK's accumulator and ours agree."""
    events, _, status = drawn
    answer = response(streamed(events))
    if status == "completed" and _in_order(answer) == list(answer.message.content):
        assert_agrees(answer, sdk_streamed(events))


# -- one event of each kind


_Delta = TypeVar("_Delta", TextDelta, ReasoningDelta, ToolInputDelta)


def _deltas(events: list[LLMEvent], kind: type[_Delta]) -> list[str]:
    return [event.text for event in events if isinstance(event, kind)]


def _answer(*inside: Native, created: tuple[Native, ...] = (), **ended: Any) -> list[LLMEvent]:
    """Return the events of a response with *inside* as its only content."""
    begun = document(list(created), "in_progress", usage=None)
    end = {**document([], "completed"), "output": None, **ended}
    return streamed(
        [
            {"type": "response.created", "response": begun},
            *inside,
            {"type": "response.completed", "response": end},
        ]
    )


def _added(item: Native, at: int = 0) -> Native:
    return {"type": "response.output_item.added", "output_index": at, "item": item}


def _inside(kind: str, at: int = 0, **fields: Any) -> Native:
    return {"type": f"response.{kind}", "output_index": at, **fields}


def test_items_of_the_first_event_are_part_of_the_response() -> None:
    """A response may begin with output, which deltas continue."""
    delta = _inside("output_text.delta", item_id="msg_1", content_index=0, delta="lo")

    events = _answer(delta, created=(message("Hel"),))

    assert _deltas(events, TextDelta) == ["Hel", "lo"]
    assert response(events).text == "Hello"


@pytest.mark.parametrize("kind", ["created", "in_progress"])
def test_items_that_a_later_event_repeats_are_read_once(kind: str) -> None:
    """Each event about the response as a whole may repeat what is known of it."""
    again = document([message("Hello"), function_call()], "in_progress")
    done = {"type": "response.output_item.done", "output_index": 0, "item": message("Hello")}

    events = _answer(
        _added(message("Hel")),
        {"type": f"response.{kind}", "response": again},
        done,
        {"type": f"response.{kind}", "response": again},
    )
    answer = response(events)

    assert answer.text == "Hello"
    assert [call.arguments for call in answer.tool_calls] == [{"city": "A"}]
    assert answer.diagnostics == ()


def test_a_call_that_is_announced_with_arguments_takes_deltas_on_top() -> None:
    """As the SDK adds them."""
    delta = _inside("function_call_arguments.delta", item_id="fc_1", delta=':"A"}')

    events = _answer(_added(function_call('{"city"')), delta)

    assert _deltas(events, ToolInputDelta) == ['{"city"', ':"A"}']
    assert response(events).tool_calls[0].arguments == {"city": "A"}


def test_reasoning_that_is_announced_with_texts_takes_deltas_on_top() -> None:
    """The summary and the text itself."""
    begun = reasoning("Su", content=["Te"])
    summary = _inside("reasoning_summary_text.delta", item_id="rs_1", summary_index=0, delta="m.")
    content = _inside("reasoning_text.delta", item_id="rs_1", content_index=0, delta="xt.")

    events = _answer(_added(begun), summary, content)

    assert response(events).reasoning == "Sum.Text."
    assert _deltas(events, ReasoningDelta)[:2] == ["Su", "Te"]


SHELL = HOSTED["shell"][0]
BARE: dict[str, tuple[Native, list[Native], Any]] = {
    "code, only its end": (
        {**HOSTED["code_interpreter"][0], "code": ""},
        [_inside("code_interpreter_call_code.done", item_id="ci_1", code="print(1)")],
        {"code": "print(1)"},
    ),
    "code that is announced, and deltas": (
        {**HOSTED["code_interpreter"][0], "code": "print("},
        [_inside("code_interpreter_call_code.delta", item_id="ci_1", delta="1)")],
        {"code": "print(1)"},
    ),
    "commands, only their ends": (
        {**SHELL, "action": {"commands": []}},
        [
            _inside("shell_call_command.added", command="", command_index=0),
            _inside("shell_call_command.done", command="ls", command_index=0),
            _inside("shell_call_command.added", command="", command_index=1),
            _inside("shell_call_command.done", command="pwd", command_index=1),
        ],
        {"commands": ["ls", "pwd"]},
    ),
    "commands, only their beginnings": (
        {**SHELL, "action": {"commands": []}},
        [
            _inside("shell_call_command.added", command="ls", command_index=0),
            _inside("shell_call_command.added", command="pwd", command_index=1),
        ],
        {"commands": ["ls", "pwd"]},
    ),
    "commands that are announced, and deltas": (
        {**SHELL, "action": {"commands": ["ls", "p"]}},
        [_inside("shell_call_command.delta", delta="wd", command_index=1)],
        {"commands": ["ls", "pwd"]},
    ),
    "a diff, only its end": (
        {**CLIENT_RUN["apply_patch"], "operation": {"type": "create_file", "path": "a"}},
        [_inside("apply_patch_call_operation_diff.done", item_id="apc_1", diff="+a")],
        {"type": "create_file", "path": "a", "diff": "+a"},
    ),
}


@pytest.mark.parametrize(("begun", "inside", "expected"), BARE.values(), ids=BARE.keys())
def test_bare_input_may_come_by_any_event(
    begun: Native, inside: list[Native], expected: Any
) -> None:
    """Code, commands and diffs: announced, as deltas, or only at their end."""
    answer = response(_answer(_added(begun), *inside))

    assert _called(answer) == expected


def _called(answer: LLMResponse) -> Any:
    calls = [part for part in answer.message.content if isinstance(part, ToolCallPart)]
    return calls[0].arguments


def test_what_a_command_wrote_is_its_result_though_the_item_does_not_repeat_it() -> None:
    """The output's own end event has it."""
    call, output = HOSTED["shell"]
    written = _inside(
        "shell_call_output_content.done",
        at=1,
        item_id=output["id"],
        command_index=0,
        output=output["output"],
    )

    answer = response(_answer(_added(call), _added({**output, "output": []}, at=1), written))

    results = [part for part in answer.message.content if isinstance(part, ToolResultPart)]
    assert [part.content for part in results] == [{"output": output["output"]}]


def test_a_part_of_a_new_kind_is_kept_though_the_item_does_not_repeat_it() -> None:
    """It is known from the end of the part alone."""
    part = {"type": "dream", "of": ["sheep"]}
    begun = _added(message())
    done = _inside("content_part.done", item_id="msg_1", content_index=0, part=part)

    content = response(_answer(begun, done, done)).message.content

    assert [getattr(one, "data", None) for one in content] == [part]


_LOGPROB = {"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}


def test_log_probabilities_of_the_end_of_a_text_count() -> None:
    """The SDK puts those of the `done` event in place of the deltas'."""
    done = _inside(
        "output_text.done", item_id="msg_1", content_index=0, text="a", logprobs=[_LOGPROB]
    )

    (part,) = response(_answer(_added(message()), done)).message.content

    assert isinstance(part, TextPart)
    assert [one.token for one in part.logprobs] == ["a"]


def test_a_final_response_with_other_words_is_noted() -> None:
    """The emitted text stays, and a diagnostic reports the difference."""
    item = message("Hello")
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}

    same = response(_answer(_added(message()), done, output=[item]))
    other = response(_answer(_added(message()), done, output=[message("Bye")]))
    empty = response(_answer(_added(message()), done, output=[message()]))

    assert [same.text, other.text, empty.text] == ["Hello"] * 3
    assert [note.code for note in other.diagnostics] == ["final-response-differs"]
    assert same.diagnostics == empty.diagnostics == ()


@pytest.mark.parametrize("listed", ["nothing", "the same", "as content"])
def test_deltas_after_the_end_of_their_item_are_read(listed: str) -> None:
    """Python's accumulator adds them to the text. LiteLLM's bridge ends reasoning before the text.

    More of it then comes for the same item, and the final response lists as `content` what was
    streamed as a summary.
    """
    thought = reasoning("Hm, ", encrypted=None)
    whole_thought = reasoning("Hm, so.", encrypted=None)
    if listed == "as content":
        whole_thought = reasoning(content=["Hm, so."], encrypted=None)
    output = None if listed == "nothing" else [whole_thought, message("Hello")]
    summary: Native = {"item_id": "rs_1", "summary_index": 0}
    text: Native = {"at": 1, "item_id": "msg_1", "content_index": 0}

    events = _answer(
        _added(reasoning(encrypted=None)),
        _inside("reasoning_summary_text.delta", **summary, delta="Hm, "),
        _inside("reasoning_summary_text.done", **summary, text="Hm, "),
        _inside("output_item.done", item=thought),
        _added(message(), at=1),
        _inside("output_text.delta", **text, delta="He"),
        _inside("reasoning_summary_text.delta", **summary, delta="s"),
        _inside("reasoning_summary_text.delta", **summary, delta="o."),
        _inside("output_text.delta", **text, delta="l"),
        _inside("output_item.done", at=1, item=message("Hel")),
        _inside("output_text.delta", **text, delta="lo"),
        output=output,
    )

    answer = response(events)

    assert (answer.reasoning, answer.text) == ("Hm, so.", "Hello")
    assert answer.diagnostics == ()
    assert _deltas(events, ReasoningDelta) == ["Hm, ", "s", "o."]
    assert _deltas(events, TextDelta) == ["He", "l", "lo"]


def test_reasoning_is_read_once_where_its_whole_form_names_its_parts_otherwise() -> None:
    """A text that was streamed as a summary, and is listed as content alone."""
    summary: Native = {"item_id": "rs_1", "summary_index": 0}

    answer = response(
        _answer(
            _added(reasoning(encrypted=None)),
            _inside("reasoning_summary_text.delta", **summary, delta="Hm."),
            output=[reasoning(content=["Hm."])],
        )
    )

    assert answer.reasoning == "Hm."
    assert [part.encrypted for part in answer.message.content] == ["enc=="]  # type: ignore[union-attr]
