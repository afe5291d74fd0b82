"""Laws of every response, however it is cut, and for all nonsense that a server can send."""

import json
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.segments import complete_segments
from llmcore.protocols.openai_responses import protocol, stream
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent, ToolCall
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.protocol import error, response
from tests.support.wire.responses import (
    ANSWERS,
    ASKED,
    HOSTED,
    Native,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    refusal_part,
    sse,
    streamed,
    text_part,
    url_citation,
    whole,
)

# -- responses, streamed and whole


@st.composite
def outputs(draw: st.DrawFn) -> list[Native]:
    """Draw the items of a response, all ids different."""
    kinds = draw(st.lists(st.sampled_from(sorted(_DRAWN)), max_size=4))
    return [item for n, kind in enumerate(kinds) for item in draw(_DRAWN[kind](n))]


@cache
def _messages(n: int) -> st.SearchStrategy[list[Native]]:
    part = st.one_of(
        texts().map(text_part),
        texts(1).map(refusal_part),
        st.tuples(texts(1), texts(1)).map(lambda t: text_part(t[0], url_citation(t[1]))),
    )
    return st.lists(part, min_size=1, max_size=2).map(lambda p: [message(*p, id=f"msg_{n}")])


@cache
def _thoughts(n: int) -> st.SearchStrategy[list[Native]]:
    parts = st.lists(texts(1), max_size=2)
    return st.tuples(parts, parts).map(
        lambda t: [reasoning(*t[0], content=t[1], id=f"rs_{n}", encrypted=f"enc {n}")]
    )


@cache
def _calls(n: int) -> st.SearchStrategy[list[Native]]:
    return json_objects().map(lambda a: [function_call(json.dumps(a), n=n)])


@cache
def _hosted(n: int) -> st.SearchStrategy[list[Native]]:
    def renamed(items: list[Native]) -> list[Native]:
        ids = ("id", "call_id")
        return [{**i, **{k: f"{i[k]}{n}" for k in ids if i.get(k)}} for i in items]

    return st.sampled_from(sorted(HOSTED)).map(lambda name: renamed(HOSTED[name]))


_DRAWN = {"message": _messages, "reasoning": _thoughts, "call": _calls, "hosted": _hosted}


@given(outputs(), st.integers(1, 6), st.sampled_from(["completed", "incomplete"]))
def test_a_stream_and_a_whole_body_are_one_response(
    output: list[Native], size: int, status: str
) -> None:
    """The same response gives the same response, streamed or not."""
    events = streamed(events_of(output, status, size))

    assert response(events) == response(whole(document(output, status)))


@given(outputs(), st.data())
def test_where_the_network_cuts_never_shows(output: list[Native], data: st.DataObject) -> None:
    """Any slices of the bytes give the same events."""
    body = sse(events_of(output))
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=20)))
    pieces = [body[a:b] for a, b in pairwise([0, *places, len(body)])]

    assert streamed(body, pieces=pieces) == streamed(body)


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


_NOISE = [
    b":\n\n",
    b": OPENROUTER PROCESSING\n\n",
    b"retry: 3000\n\n",
    b"id: 1\n\n",
    b"event: ping\ndata: \n\n",
    b"data:\n\n",
    b"data: [DONE]\n\n",
    b'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
    b"\n\n",
]


@given(outputs(), st.data())
def test_pings_and_comments_are_ignored(output: list[Native], data: st.DataObject) -> None:
    """Keep-alives between any two events change nothing."""
    noises = st.lists(st.sampled_from(_NOISE), max_size=2).map(b"".join)
    events = events_of(output)
    noisy = b"".join(data.draw(noises) + sse([event]) for event in events)

    assert streamed(noisy) == streamed(events)


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


# -- steps


@given(outputs())
def test_a_step_is_pure(output: list[Native]) -> None:
    """An old state steps to the same events again, whatever came after it."""
    state = stream.initial(ASKED)
    steps = []
    for one in events_of(output):
        after, events = stream.step(state, one)
        steps.append((state, one, list(events), list(stream.halt(after))))
        state = after

    for before, one, events, ended in steps:
        after, again = stream.step(before, one)
        assert list(again) == events
        assert [_bare(e) for e in stream.halt(after)] == [_bare(e) for e in ended]


def _bare(event: LLMEvent) -> object:
    return str(event.error) if isinstance(event, ErrorEvent) else event


# -- mess

_SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "a", "{}", '{"a": 1}', 0, 1, -1, 1.5, True, [], {}, "call_1", "completed"]
)
_TYPES = st.sampled_from(
    sorted(
        {event["type"] for output in ANSWERS.values() for event in events_of(output)}
        | {"response.failed", "response.queued", "response.audio.delta", "error", "x_new"}
    )
)
_ITEM_TYPES = st.sampled_from(
    [
        *sorted({item["type"] for output in ANSWERS.values() for item in output}),
        *("output_text", "refusal", "summary_text", "reasoning_text", "output_audio"),
    ]
)
_FIELDS = [
    "id", "call_id", "name", "arguments", "input", "content", "summary", "encrypted_content",
    "text", "refusal", "annotations", "logprobs", "action", "commands", "operation", "diff",
    "code", "outputs", "output", "result", "results", "queries", "tools", "environment",
    "execution", "status", "phase", "error", "url", "file_id", "index", "data", "transcript",
]  # fmt: skip
_MESSY: st.SearchStrategy[Any] = st.recursive(
    _SCALARS | json_values(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.builds(
            lambda kind, fields: {**fields, "type": kind},
            _ITEM_TYPES,
            st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
        )
    ),
    max_leaves=6,
)
_EVENT_FIELDS = [
    "item", "part", "delta", "text", "refusal", "arguments", "input", "name", "item_id",
    "output_index", "content_index", "summary_index", "command_index", "annotation", "logprobs",
    "response", "error", "message", "sequence_number",
]  # fmt: skip
_RESPONSES = st.fixed_dictionaries(
    {},
    optional={
        "id": _SCALARS,
        "status": st.sampled_from(["completed", "incomplete", "failed", "cancelled", "queued", 7]),
        "output": st.lists(_MESSY, max_size=3) | _SCALARS,
        "usage": _MESSY,
        "incomplete_details": _MESSY,
        "error": _MESSY,
        "background": _SCALARS,
    },
)
_EVENTS = st.builds(
    lambda kind, fields, response: {**fields, **response, "type": kind},
    _TYPES,
    st.dictionaries(st.sampled_from(_EVENT_FIELDS), _MESSY, max_size=5),
    st.fixed_dictionaries({}, optional={"response": _RESPONSES}),
)


@given(st.lists(_EVENTS, max_size=8))
def test_no_mess_raises_in_a_stream(events: list[Any]) -> None:
    """Whatever JSON comes, the events obey the grammar and end with one terminal event."""
    streamed([*events, {"type": "response.completed", "response": document([])}])


@given(_RESPONSES)
def test_no_mess_raises_in_a_whole_body(native: Any) -> None:
    """The same for bodies that were not streamed."""
    whole(native)


@given(st.lists(json_values(), max_size=4))
def test_frames_of_any_json_raise_nothing(values: list[Any]) -> None:
    """Frames of any JSON at all."""
    streamed(b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values))
    for value in values:
        whole(value)


@given(st.lists(st.tuples(st.sampled_from(["", "error", "ping"]), st.binary(max_size=20))))
def test_no_frame_raises_but_value_error(frames: list[tuple[str, bytes]]) -> None:
    """Frames of any bytes are read, or refused as not JSON."""
    for frame in frames:
        with suppress(ValueError):
            assert isinstance(stream.decode(frame), dict | None)


@given(st.lists(_EVENTS, max_size=8))
def test_bare_events_obey_the_grammar_once_completed(events: list[Any]) -> None:
    """Also without the decoder: the state machine alone, completed by the fold."""
    machine = protocol.stream
    state = machine.initial(ASKED)
    told: list[LLMEvent] = []
    for one in events:
        state, said = machine.step(state, one)
        told += said
        if machine.terminal(one) or any(isinstance(event, ErrorEvent) for event in said):
            break
    told += machine.halt(state) if not any(isinstance(e, ErrorEvent) for e in told) else ()

    assert violations(complete_segments(told)) == []


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
