"""Everything that OpenAI's own accumulators take from a stream is in the response.

The streams are drawn by the grammar of `openai.lib.streaming.chat.ChatCompletionStreamState`
(Python) and `ChatCompletionStream` (JavaScript, openai 7.57.0): any chunk may bring any field.
"""

import base64
import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from llmcore.protocols.openai_chat import OPENAI
from llmcore.schema.content import RefusalPart, TextPart, ToolCallPart
from llmcore.schema.errors import StreamError
from llmcore.schema.events import File, FinishReason, ProviderEvent, ToolInputDelta
from llmcore.schema.response import LLMResponse
from tests.support.strategies.values import json_objects, texts
from tests.support.wire.chat import USAGE, call, calls_chunks, chunk, completion, streamed, whole
from tests.support.wire.protocol import error, response

# -- streams by the accumulator's grammar


@st.composite
def fragments(draw: st.DrawFn, index: int) -> list[dict[str, Any]]:
    """Draw the fragments of one call: the first has index, id and type, any one the name."""
    custom = draw(st.booleans())
    written = draw(texts()) if custom else json.dumps(draw(json_objects()))
    cuts = sorted(draw(st.lists(st.integers(0, len(written)), max_size=3)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    named = draw(st.integers(0, len(pieces) - 1))
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    found: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces):
        inside: dict[str, Any] = {key: piece}
        if number == named:
            inside["name"] = f"tool_{index}"
        found.append({"index": index, kind: inside})
    found[0] |= {"id": f"call_{index}", "type": kind}
    return found


_LOGPROB = {"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}


@st.composite
def deltas(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw what the chunks bring: text, refusal and calls, several of them in a chunk."""
    calls = [draw(fragments(index)) for index in range(draw(st.integers(0, 3)))]
    found: list[dict[str, Any]] = [{"role": "assistant"}] if draw(st.booleans()) else []
    while draw(st.booleans()) or any(calls):
        delta: dict[str, Any] = {}
        if draw(st.booleans()):
            delta["content"] = draw(texts() | st.none())
        if draw(st.integers(0, 4)) == 0:
            delta["refusal"] = draw(texts() | st.none())
        at = next((index for index, rest in enumerate(calls) if rest), None)
        if at is not None and draw(st.booleans()):
            size = draw(st.integers(1, len(calls[at])))
            delta["tool_calls"], calls[at] = calls[at][:size], calls[at][size:]
        found.append(delta)
        if len(found) > 40:
            found += [{"tool_calls": rest} for rest in calls if rest]
            break
    return found or [{}]


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a stream: the finish reason, the usage and other choices anywhere they may be."""
    chunks = [chunk(delta) for delta in draw(deltas())]
    for one in chunks:
        if draw(st.integers(0, 3)) == 0:
            (choice,) = one["choices"]
            choice["logprobs"] = {"content": [_LOGPROB], "refusal": None}
    reason = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    for at in draw(st.sets(st.integers(0, len(chunks) - 1), max_size=2)) | {len(chunks) - 1}:
        chunks[at]["choices"][0]["finish_reason"] = reason
        reason = draw(st.sampled_from([reason, "stop"]))
    chunks[-1]["usage"] = USAGE
    return chunks


def accumulated(chunks: list[dict[str, Any]]) -> Any:
    """Return what the SDK's accumulator makes of *chunks*."""
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for one in chunks:
        state.handle_chunk(ChatCompletionChunk.construct(**one))
    return state.current_completion_snapshot


def _ours(answer: LLMResponse) -> dict[str, Any]:
    refusals = [part.text for part in answer.message.content if isinstance(part, RefusalPart)]
    return {
        "text": answer.text,
        "refusal": "".join(refusals),
        "calls": [(c.id, c.name, c.kind, c.arguments) for c in answer.tool_calls],
        "reason": answer.finish_reason.raw,
        "total": answer.usage.total_tokens if answer.usage else None,
    }


def _theirs(snapshot: Any) -> dict[str, Any]:
    message = snapshot.choices[0].message
    calls = []
    for one in message.tool_calls or []:
        if one.type == "custom":
            custom = one.custom if isinstance(one.custom, dict) else one.custom.model_dump()
            calls.append((one.id, custom["name"], "custom", custom["input"]))
        else:
            arguments = json.loads(one.function.arguments)
            calls.append((one.id, one.function.name, "function", arguments))
    return {
        "text": message.content or "",
        "refusal": message.refusal or "",
        "calls": calls,
        "reason": snapshot.choices[0].finish_reason,
        "total": snapshot.usage.total_tokens,
    }


@given(streams())
def test_a_stream_by_the_accumulators_grammar_reads_as_the_accumulator_reads_it(
    chunks: list[dict[str, Any]],
) -> None:
    """Text, refusal, calls, finish reason and usage, whichever chunk brings them."""
    assert _ours(response(streamed(chunks))) == _theirs(accumulated(chunks))


# -- whole messages in a stream

A = '{"city":"A"}'
_CALL = call(id="a", type="function", name="one", arguments=A)
_MESSAGE = {"role": "assistant", "content": "Hello", "tool_calls": [_CALL]}


def _with_empty_fields(one: dict[str, Any], empty: Any) -> None:
    """Give *one* the fields that other servers send without content."""
    one["x"] = {"unknown": [1]}
    for choice in one["choices"]:
        choice["delta"] = {"role": "assistant", **choice["delta"]}
        for name in ("content", "refusal", "tool_calls", "function_call", "audio"):
            choice["delta"].setdefault(name, [] if name == "tool_calls" and empty else empty)
        for fragment in choice["delta"]["tool_calls"] or []:
            for name in ("id", "type"):
                fragment.setdefault(name, empty)


@given(streams(), st.data())
def test_fields_without_content_change_nothing(
    chunks: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Null, empty or absent, in chunks of any kind, and the end told twice.

    The accumulator is given the stream without them: it raises for some, and joins ids that come
    again, which are one call's.
    """
    expected = _theirs(accumulated(json.loads(json.dumps(chunks))))
    mutated = json.loads(json.dumps(chunks))
    for one in mutated:
        for choice in one["choices"]:
            for fragment in choice["delta"].get("tool_calls", []):
                fragment["index"] += 3
        if data.draw(st.booleans()):
            _with_empty_fields(one, data.draw(st.sampled_from([None, ""])))
    again = {**mutated[-1], "choices": [{**mutated[-1]["choices"][0], "delta": {}}]}
    again["choices"][0].pop("logprobs", None)
    mutated.insert(data.draw(st.integers(0, len(mutated))), {**chunk(), "choices": []})

    assert _ours(response(streamed([*mutated, again]))) == expected


def _with_message(message: dict[str, Any], **delta: Any) -> dict[str, Any]:
    """Return a chunk whose choice holds a whole *message*."""
    one = completion(message, "tool_calls", usage=USAGE)
    if delta:
        one["choices"][0]["delta"] = delta
    return dict(one)


MESSAGES: dict[str, list[dict[str, Any]]] = {
    "in place of all deltas": [_with_message(_MESSAGE)],
    "after all deltas": [
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        *calls_chunks(call(0, id="a", name="one", arguments=""), call(0, arguments=A))[:-1],
        _with_message(_MESSAGE),
    ],
    "after all deltas, and beside the last": [
        chunk({"content": "Hel"}),
        chunk({"tool_calls": [call(0, id="a", name="one", arguments=A)]}),
        chunk({"content": "l"}),
        _with_message(_MESSAGE, content="o"),
    ],
    "with the call that no delta brought": [
        chunk({"content": "Hello"}),
        _with_message(_MESSAGE),
    ],
    "with the text that no delta brought": [
        chunk({"tool_calls": [call(0, id="a", name="one", arguments=A)]}),
        _with_message(_MESSAGE),
    ],
    "with more text than the deltas": [
        chunk({"content": "Hel"}),
        _with_message(_MESSAGE),
    ],
    "with more arguments than the deltas": [
        chunk({"content": "Hello"}),
        chunk({"tool_calls": [call(0, id="a", name="one", arguments=A[:5])]}),
        _with_message(_MESSAGE),
    ],
    "with a call that has no id": [
        chunk({"content": "Hello"}),
        chunk({"tool_calls": [call(0, id="a", name="one", arguments=A)]}),
        _with_message({**_MESSAGE, "tool_calls": [call(name="one", arguments=A)]}),
    ],
}


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("chunks", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_whole_message_in_a_stream_is_read_once(chunks: list[Any], done: bool) -> None:
    """A choice may hold `message` where others have `delta`, also after deltas that said it."""
    answer = response(streamed(chunks, done=done))

    assert answer.text == "Hello"
    assert answer.tool_calls == (ToolCallPart("a", "one", {"city": "A"}),)
    assert answer.finish_reason == FinishReason("tool_calls", "tool_calls")
    assert answer.diagnostics == ()


@pytest.mark.parametrize(
    ("streamed_as", "whole_as"),
    [
        ({"reasoning": "Hm."}, {"reasoning_content": "Hm.", "reasoning": "Hm."}),
        (
            {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm."}]},
            {
                "reasoning_content": "Hm.",
                "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm."}],
            },
        ),
        ({"reasoning_content": "Hm."}, {"thinking": "Hm."}),
    ],
)
def test_thinking_that_a_whole_message_has_under_another_name_is_read_once(
    streamed_as: dict[str, Any], whole_as: dict[str, Any]
) -> None:
    """The whole message after deltas repeats their thinking, in all the fields that it has."""
    deltas = [chunk(streamed_as), chunk({"content": "Hello"})]
    message = {"role": "assistant", "content": "Hello", **whole_as}

    answer = response(streamed([*deltas, _with_message(message)]))

    assert (answer.reasoning, answer.text) == ("Hm.", "Hello")


def test_two_whole_calls_of_one_id_stay_two() -> None:
    """Ids do recur; each call of a message is one."""
    message = {"tool_calls": [_CALL, {**_CALL, "function": {"name": "two", "arguments": "{}"}}]}

    calls = response(whole(completion(message, "tool_calls"))).tool_calls

    assert [(c.name, c.arguments) for c in calls] == [("one", {"city": "A"}), ("two", {})]


# -- names that come late


LATE: dict[str, list[Any]] = {
    "after all arguments": [
        call(0, id="a", type="function", arguments=A[:4]),
        call(0, arguments=A[4:]),
        call(0, name="one"),
    ],
    "between arguments": [
        call(0, id="a", arguments=A[:4]),
        call(0, name="one", arguments=A[4:6]),
        call(0, arguments=A[6:]),
    ],
    "by the index alone": [
        call(0, arguments=A[:4]),
        call(0, id="a", name="one", arguments=A[4:]),
    ],
    "by the id alone": [
        call(id="a", arguments=A[:4]),
        call(id="a", name="one", arguments=A[4:]),
    ],
    "of two calls in turn": [
        call(0, id="a", arguments=A[:4]),
        call(1, id="b", arguments="{"),
        call(0, name="one", arguments=A[4:]),
        call(1, name="two", arguments="}"),
    ],
    "of a second call": [
        call(0, id="a", name="one", arguments=A),
        call(1, id="b", arguments="{"),
        call(1, name="two", arguments="}"),
    ],
}


@pytest.mark.parametrize("fragments", LATE.values(), ids=LATE.keys())
def test_arguments_before_the_name_belong_to_the_call_that_gets_it(fragments: list[Any]) -> None:
    """A call is known by its index or id; its name may come with any fragment."""
    calls = response(streamed(calls_chunks(*fragments))).tool_calls

    assert calls[0] == ToolCallPart("a", "one", {"city": "A"})
    assert [(c.id, c.name, c.arguments) for c in calls[1:]] in ([], [("b", "two", {})])


def test_a_response_with_a_call_that_never_gets_a_name_is_an_error() -> None:
    """Of two calls one has no name: the response cannot be used as if it had one call."""
    fragments = [call(0, id="a", name="one", arguments=A), call(1, id="b", arguments="{}")]

    assert isinstance(error(streamed(calls_chunks(*fragments))), StreamError)


# -- log probabilities without text


def test_log_probabilities_in_a_chunk_without_text_belong_to_the_open_text() -> None:
    """The SDK joins them by choice, wherever they come."""
    last = chunk({}, "stop")
    last["choices"][0]["logprobs"] = {"content": [_LOGPROB], "refusal": None}

    (part,) = response(streamed([chunk({"content": "a"}), last])).message.content

    assert isinstance(part, TextPart)
    assert [one.token for one in part.logprobs] == ["a"]


@pytest.mark.parametrize("name", ["content", "refusal"])
def test_log_probabilities_of_no_text_are_passed_on(name: str) -> None:
    """Of a call's tokens, for example; they have no neutral form."""
    one = chunk({"tool_calls": [call(0, id="a", name="one", arguments="{}")]})
    one["choices"][0]["logprobs"] = {name: [_LOGPROB]}

    events = streamed([one, chunk({}, "tool_calls")])

    assert [e.data for e in events if isinstance(e, ProviderEvent)] == [
        {"logprobs": {name: [_LOGPROB]}}
    ]


# -- sound


SOUND = bytes(range(10))


def _audio(pieces: list[str], *, end: bool = True) -> list[dict[str, Any]]:
    deltas_: list[dict[str, Any]] = [{"id": "audio_1", "transcript": "Hi"}]
    deltas_ += [{"data": piece} for piece in pieces]
    deltas_ += [{"expires_at": 9}] if end else []
    return [chunk({"audio": delta}) for delta in deltas_]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 100])
def test_sound_is_the_same_wherever_its_base64_is_cut(size: int) -> None:
    """The SDK joins the text of the pieces; others pad each piece by itself."""
    written = base64.b64encode(SOUND).decode()
    cut = [written[at : at + size] for at in range(0, len(written), size)]
    padded = [base64.b64encode(SOUND[at : at + size]).decode() for at in range(0, len(SOUND), size)]

    for pieces in (cut, padded):
        events = streamed([*_audio(pieces), chunk({}, "stop")])
        assert [event.data for event in events if isinstance(event, File)] == [SOUND]


def test_sound_that_came_to_its_end_needs_no_finish_reason() -> None:
    """The SDK completes such a stream by the chunk that says when the sound expires."""
    pieces = [base64.b64encode(SOUND).decode()]

    answer = response(streamed(_audio(pieces)))

    assert answer.finish_reason == FinishReason("stop", "stop")
    assert isinstance(error(streamed(_audio(pieces, end=False))), StreamError)
    later = [*_audio(pieces), chunk({"content": "More"})]
    assert isinstance(error(streamed(later)), StreamError)


# -- other servers' habits


@pytest.mark.parametrize(
    "deltas",
    [
        [{"content": "Hel"}, {"content": "lo"}],
        [
            {"tool_calls": [call(0, id="a", name="one", arguments='{"x":')]},
            {"tool_calls": [call(0, arguments="1}")]},
        ],
        [{"reasoning_content": "Hel"}, {"reasoning_content": "lo"}],
    ],
    ids=["text", "call", "thinking"],
)
def test_a_message_with_the_same_piece_as_the_delta_is_not_the_whole(
    deltas: list[dict[str, Any]],
) -> None:
    """Foundry Local sends each piece twice, the last one too."""
    twice = [chunk(delta) for delta in deltas]
    for one in twice:
        one["choices"][0]["message"] = {"role": "assistant", **one["choices"][0]["delta"]}
    twice[-1]["choices"][0]["finish_reason"] = "stop"
    once = [chunk(delta) for delta in deltas]
    once[-1]["choices"][0]["finish_reason"] = "stop"

    assert response(streamed(twice)).message == response(streamed(once)).message


def test_think_tags_of_a_repeated_message_are_not_text() -> None:
    """Where thinking stands in the text, a message that repeats it changes nothing."""
    dialect = evolve(OPENAI, think_tags=((".*", "think"),))
    said = "<think>Hm.</think>Hello"
    chunks = [chunk({"content": said}), _with_message({"content": said})]

    answer = response(streamed(chunks, dialect=dialect))

    assert (answer.reasoning, answer.text) == ("Hm.", "Hello")


def test_each_delta_passes_at_once_though_the_name_came_late() -> None:
    """Deltas that waited are delivered with the name; later ones do not wait."""
    fragments = [
        call(0, id="a", arguments="{"),
        call(0, name="one"),
        *(call(0, arguments=char) for char in A[1:]),
    ]

    events = streamed(calls_chunks(*fragments))

    assert [e.text for e in events if isinstance(e, ToolInputDelta)] == list(A)
