"""Laws of every response, however it is cut, and for all nonsense that a server can send."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.segments import complete_segments
from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import OPENAI, stream
from llmcore.protocols.openai_chat.stream import fast_reader
from llmcore.routes.decoding import deltas
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent, ToolCall
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.chat import (
    ASKED,
    call,
    chunk,
    completion,
    sse,
    streamed,
    usage_chunk,
    whole,
)
from tests.support.wire.protocol import error, response

# -- responses, streamed and whole


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Draw pieces of *text*; none for an empty one."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    edges = [0, *places, len(text)]
    return [text[a:b] for a, b in pairwise(edges) if a < b]


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Draw one response in both forms: its chunks, and its document."""
    field = draw(st.sampled_from(["reasoning_content", "reasoning"]))
    reasoning, text, refusal = draw(texts()), draw(texts()), draw(texts(0, 3))
    calls = draw(st.lists(json_objects(), max_size=3))
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    usage = draw(st.sampled_from([None, {"prompt_tokens": 3, "completion_tokens": 4}]))
    deltas: list[dict[str, Any]] = [{field: piece} for piece in draw(cuts(reasoning))]
    deltas += [{"content": piece} for piece in draw(cuts(text))]
    deltas += [{"refusal": piece} for piece in draw(cuts(refusal))]
    native_calls = []
    for index, arguments in enumerate(calls):
        written = json.dumps(arguments)
        opened: dict[str, Any] = {"id": f"call_{index}", "name": f"tool_{index}"}
        native_calls.append(call(**opened, arguments=written))
        deltas.append({"tool_calls": [call(index, **opened, arguments="")]})
        deltas += [{"tool_calls": [call(index, arguments=piece)]} for piece in draw(cuts(written))]
    chunks = [chunk({"role": "assistant"}), *map(chunk, deltas), chunk({}, finish)]
    message = {"content": text or None, "refusal": refusal, field: reasoning}
    envelope = {} if usage is None else {"usage": usage}
    document = completion({**message, "tool_calls": native_calls}, finish, **envelope)
    return [*chunks, *([usage_chunk(**usage)] if usage else [])], document


@given(answers())
def test_a_stream_and_a_whole_body_are_one_response(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    """The same response gives the same response, streamed or not."""
    chunks, document = answer

    assert response(streamed(chunks)) == response(whole(document))


@given(answers(), st.data())
def test_where_the_network_cuts_never_shows(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Any slices of the bytes give the same events."""
    body = sse(answer[0])
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=20)))
    pieces = [body[a:b] for a, b in pairwise([0, *places, len(body)])]

    assert streamed(body, pieces=pieces) == streamed(body)


@given(answers(), st.data())
def test_a_cut_before_the_finish_is_an_error(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Bytes that end too soon are never a success, and an open call never counts as complete."""
    body = sse(answer[0])
    finish = next(i for i, one in enumerate(answer[0]) if one["choices"][0]["finish_reason"])
    until = len(sse(answer[0][: finish + 1], done=False)) - len(b"\n\n")
    place = data.draw(st.integers(0, until - 1))

    events = streamed(body[:place])

    assert isinstance(error(events), StreamError)
    assert not any(isinstance(event, ToolCall) for event in events)


_NOISE = [
    b":\n\n",
    b": ping - 2026\n\n",
    b": OPENROUTER PROCESSING\n\n",
    b"retry: 3000\n\n",
    b"id: 1\n\n",
    b"event: ping\ndata: \n\n",
    b"data:\n\n",
    b"\n\n",
]


@given(answers(), st.data())
def test_pings_and_comments_are_ignored(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Keep-alives between any two events change nothing."""
    noises = st.lists(st.sampled_from(_NOISE), max_size=2).map(b"".join)
    noisy = b"".join(data.draw(noises) + sse([one], done=False) for one in answer[0])

    assert streamed(noisy + sse([])) == streamed(answer[0])


_LATER = st.dictionaries(st.sampled_from(["x_new", "x_more"]), json_values(), max_size=2)


@given(answers(), st.lists(_LATER, min_size=1, max_size=3), st.data())
def test_unknown_fields_change_nothing(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
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


# -- steps


@given(answers(), st.booleans())
def test_a_step_is_pure(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], think_tags: bool
) -> None:
    """An old state steps to the same events again, whatever came after it."""
    dialect = evolve(OPENAI, think_tags=((".*", "think"),) if think_tags else ())
    state = stream.initial(ASKED, dialect)
    steps = []
    for one in answer[0]:
        after, events = stream.step(state, one)
        steps.append((state, one, list(events), list(stream.halt(after))))
        state = after

    for before, one, events, ended in steps:
        after, again = stream.step(before, one)
        assert list(again) == events
        assert [_bare(e) for e in stream.halt(after)] == [_bare(e) for e in ended]


def _bare(event: LLMEvent) -> object:
    return str(event.error) if isinstance(event, ErrorEvent) else event


@given(answers())
def test_the_fast_path_says_what_the_slow_one_says(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    """The per-token path is a short cut, not another reading."""
    state = stream.initial(ASKED, OPENAI)
    for one in answer[0]:
        reader = fast_reader(state)
        texts = [] if reader is None else reader.read([("", json.dumps(one).encode())])
        state, events = stream.step(state, one)
        if reader is not None and texts:
            assert list(events) == deltas(reader.kind, reader.segment, texts)


# -- mess

_KEYS = [
    "content",
    "role",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking",
    "signature",
    "audio",
    "images",
    "annotations",
    "tool_calls",
    "function_call",
    "executed_tools",
    "extra_content",
    "x_new",
]
_CALL_KEYS = ["index", "id", "type", "function", "custom", "extra_content"]
_FUNCTION_KEYS = ["name", "arguments", "input"]


def _messy(keys: list[str], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(keys), inner, max_size=4)


_SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "a", "{}", '{"a": 1}', 0, 1, -1, 1.5, True, [], {}]
)
_FRAGMENTS = _messy(_CALL_KEYS, _SCALARS | _messy(_FUNCTION_KEYS, _SCALARS))
_VALUES = (
    _SCALARS
    | json_values()
    | st.lists(_FRAGMENTS | json_objects() | _SCALARS, max_size=3)
    | json_objects()
)
_CHOICES = _messy(
    ["index", "delta", "message", "finish_reason", "logprobs", "error", "usage"],
    _VALUES | _messy(_KEYS, _VALUES),
)
_CHUNKS = _messy(
    ["id", "model", "choices", "usage", "error", "citations", "search_results", "x_groq"],
    _VALUES | st.lists(_CHOICES, max_size=2),
)


@given(st.lists(_CHUNKS, max_size=6), st.booleans())
def test_no_mess_raises_in_a_stream(chunks: list[Any], think_tags: bool) -> None:
    """Whatever JSON comes, the events obey the grammar and end with one terminal event."""
    dialect = evolve(OPENAI, think_tags=((".*", "think"),) if think_tags else ())

    streamed([*chunks, chunk({}, "stop")], dialect=dialect)


@given(_messy(["id", "choices", "usage", "error"], _VALUES | st.lists(_CHOICES, max_size=2)))
def test_no_mess_raises_in_a_whole_body(document: Any) -> None:
    """The same for bodies that were not streamed."""
    whole(document)


@given(st.lists(json_values(), max_size=4))
def test_frames_of_any_json_raise_nothing(chunks: list[Any]) -> None:
    """Frames of any JSON at all."""
    streamed(chunks)
    for document in chunks:
        whole(document)


@given(st.lists(st.tuples(st.sampled_from(["", "error", "ping"]), st.binary(max_size=20))))
def test_no_frame_raises_but_value_error(frames: list[tuple[str, bytes]]) -> None:
    """Frames of any bytes are read, or refused as not JSON."""
    for frame in frames:
        with suppress(ValueError):
            assert isinstance(stream.decode(frame), dict | None)


@given(st.lists(_CHUNKS, max_size=6))
def test_bare_events_obey_the_grammar_once_completed(chunks: list[Any]) -> None:
    """Also without the decoder: the state machine alone, completed by the fold."""
    machine = openai_chat.protocol.stream
    state = machine.initial(ASKED)
    events: list[LLMEvent] = []
    for one in chunks:
        state, said = machine.step(state, one)
        events += said
        if any(isinstance(event, ErrorEvent) for event in said):
            break
    else:
        events += machine.halt(state)

    assert violations(complete_segments(events)) == []
