"""Text, ends, usage and errors of a response."""

import json
from typing import Any

import pytest
from attrs import evolve
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import COMPATIBLE, OPENAI, stream
from llmcore.protocols.openai_chat.state import ChatState
from llmcore.schema.content import RefusalPart, TextPart, TokenLogprob
from llmcore.schema.errors import (
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    ProviderEvent,
    StreamStart,
    TextDelta,
)
from llmcore.schema.model import Model
from llmcore.schema.options import HttpOverlay
from llmcore.schema.request import request
from llmcore.schema.usage import Usage
from tests.support.wire.chat import (
    ASKED,
    USAGE,
    call,
    calls_chunks,
    chunk,
    completion,
    sse,
    streamed,
    text_chunks,
    usage_chunk,
    whole,
)
from tests.support.wire.protocol import error, response

# -- frames


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (("", b""), None),
        (("ping", b"  "), None),
        (("", b"null"), None),
        (("", b'{"id":"a"}'), {"id": "a"}),
        (("error", b'{"message":"no"}'), {"error": {"message": "no"}}),
        (("error", b'{"error":{"message":"no"}}'), {"error": {"message": "no"}}),
        (("error", b"plain words"), {"error": "plain words"}),
    ],
)
def test_frames_are_decoded_and_pings_ignored(frame: tuple[str, bytes], expected: object) -> None:
    """Pings are ignored; an event named error is an error, with any content."""
    assert stream.decode(frame) == expected


@pytest.mark.parametrize("data", [b"[DONE]", b" [DONE]", b"[DONE] \n", b"[DONE] x"])
def test_the_sentinel_ends_the_stream(data: bytes) -> None:
    """After `[DONE]` nothing is read, so the connection is free at once."""
    chunk_ = stream.decode(("", data))

    assert chunk_ is not None
    assert stream.terminal(chunk_)


def test_no_other_chunk_is_the_sentinel() -> None:
    """A server cannot fake the end by sending what the sentinel is decoded to."""
    assert not stream.terminal({"done": True})


@pytest.mark.parametrize("data", [b"{", b"<html>", b"[1"])
def test_frame_of_invalid_json_raises_value_error(data: bytes) -> None:
    """Invalid JSON is a ValueError, which the decoder turns into a StreamError."""
    with pytest.raises(ValueError, match=r"."):
        stream.decode(("", data))


def test_a_chunk_that_is_not_an_object_is_an_error() -> None:
    """A list where a chunk belongs fails with words, not with a TypeError."""
    assert isinstance(error(streamed([[1, 2]])), LLMError)


# -- text


def test_a_stream_of_text(snapshot: SnapshotAssertion) -> None:
    """The whole event list of a plain response."""
    assert streamed([*text_chunks("Hel", "lo"), usage_chunk()]) == snapshot


def test_whole_body_gives_the_full_event_list(snapshot: SnapshotAssertion) -> None:
    """The whole event list of a plain response that was not streamed."""
    assert whole(completion({"content": "Hello"}, usage=USAGE)) == snapshot


@pytest.mark.parametrize("stream", [True, False])
def test_a_text_without_a_delta_is_that_of_the_older_api(stream: bool) -> None:
    """Some servers send `/completions` where `/chat/completions` was asked for."""
    given = {"tokens": ["Hel"], "token_logprobs": [-0.5], "top_logprobs": None}
    pieces: list[Any] = [
        {"text": "Hel", "logprobs": given},
        {"text": "lo", "finish_reason": "stop"},
    ]
    if not stream:
        pieces = [{"text": "Hello", "finish_reason": "stop"}]
    chunks = [{**chunk(), "object": "text_completion", "choices": [one]} for one in pieces]

    made = response(streamed(chunks) if stream else whole(chunks[0]))

    assert (made.text, made.finish_reason) == ("Hello", FinishReason("stop", "stop"))
    (part,) = made.message.content
    assert isinstance(part, TextPart)
    assert [one.token for one in part.logprobs] == (["Hel"] if stream else [])


def test_the_text_beside_a_delta_is_read_once() -> None:
    """Together sends both."""
    choice = {"index": 0, "text": "Hello", "delta": {"content": "Hello"}, "finish_reason": "stop"}

    assert response(streamed([{**chunk(), "choices": [choice]}])).text == "Hello"


@pytest.mark.parametrize("index", [0, "0", 0.0, None])
def test_the_first_choice_is_the_response(index: object) -> None:
    """However its number is written."""
    choice = {"index": index, "delta": {"content": "Hello"}, "finish_reason": "stop"}

    assert response(streamed([{**chunk(), "choices": [choice]}])).text == "Hello"


def test_plain_text_leaves_the_state_alone() -> None:
    """The per-token path changes nothing and builds one event."""
    state = stream.initial(ASKED, OPENAI)
    for one in text_chunks("Hi")[:2]:
        state, _ = stream.step(state, one)

    after, events = stream.step(state, chunk({"content": " there"}))

    assert after is state
    assert list(events) == [TextDelta("text_0", " there")]


@pytest.mark.parametrize(
    "extra",
    [
        {"role": "assistant"},
        {"reasoning_content": None, "refusal": None},
        {"reasoning": "", "reasoning_details": [], "tool_calls": []},
    ],
)
def test_empty_fields_beside_the_text_are_ignored(extra: dict[str, Any]) -> None:
    """Servers that fill every chunk with nulls stay on the per-token path."""
    state = stream.initial(ASKED, OPENAI)
    state, _ = stream.step(state, chunk({"content": "Hi"}))

    after, events = stream.step(state, chunk({"content": "!", **extra}))

    assert stream.step(after, chunk({"content": "?", **extra}))[0] is after
    assert _with_shape_of(state, after) == state
    assert list(events) == [TextDelta("text_0", "!")]


def _with_shape_of(state: ChatState, after: ChatState) -> ChatState:
    """Return *after* without the fields that have come since *state*, and may come again."""
    return replace(after, info=replace(after.info, shape=state.info.shape))


@pytest.mark.parametrize(
    "envelope", [{"error": None}, {"citations": []}, {"x_groq": None, "usage": None}]
)
def test_empty_fields_around_the_text_are_ignored(envelope: dict[str, Any]) -> None:
    """The same for what stands beside the choices."""
    state = stream.initial(ASKED, OPENAI)
    state, _ = stream.step(state, chunk({"content": "Hi"}))

    after, events = stream.step(state, chunk({"content": "!"}, **envelope))

    assert _with_shape_of(state, after) == state
    assert set(after.info.shape[0]) - set(state.info.shape[0]) <= envelope.keys()
    assert list(events) == [TextDelta("text_0", "!")]


def test_a_refusal_is_its_own_part() -> None:
    """Words of refusal are not a response's text; the model ended them by itself."""
    chunks = [chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop")]

    answer = response(streamed(chunks))

    assert answer.message.content == (RefusalPart("I cannot."),)
    assert answer.text == ""
    assert answer.finish_reason == FinishReason("stop", "stop")


def test_logprobs_come_with_their_text() -> None:
    """Each delta has the tokens it is made of; the part has them all."""

    def with_logprobs(text: str, data: list[int] | None = None) -> dict[str, Any]:
        other = {"token": "?", "logprob": -1.0, "bytes": data}
        token = {"token": text, "logprob": -0.5, "bytes": data, "top_logprobs": [other]}
        made = chunk({"content": text})
        made["choices"][0]["logprobs"] = {"content": [token]}
        return made

    (part,) = response(
        streamed([with_logprobs("a"), with_logprobs("b", [0xF0, 0x9F]), chunk({}, "stop")])
    ).message.content

    def token(text: str, data: bytes | None) -> TokenLogprob:
        other = TokenLogprob(token="?", logprob=-1.0, data=data)
        return TokenLogprob(token=text, logprob=-0.5, top=(other,), data=data)

    assert part == TextPart("ab", logprobs=(token("a", None), token("b", b"\xf0\x9f")))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"id": 5, "token": "a"}, TokenLogprob(token="a", logprob=-0.5, id=5)),
        ({"id": 5}, TokenLogprob(token="", logprob=-0.5, id=5)),
        ({"id": "t5", "token_id": 5}, TokenLogprob(token="", logprob=-0.5, id=5)),
        ({"token": None}, TokenLogprob(token="", logprob=-0.5)),
    ],
    ids=["llama.cpp", "MLX", "number under its own name", "neither"],
)
def test_logprobs_of_local_servers_have_numbers_of_tokens(
    given: dict[str, Any], expected: TokenLogprob
) -> None:
    """MLX's server may state the number of a token alone; its text is empty then."""
    document = completion({"content": "a"}, "stop")
    document["choices"][0]["logprobs"] = {"content": [{**given, "logprob": -0.5}]}

    (part,) = response(whole(document)).message.content

    assert part == TextPart("a", logprobs=(expected,))


_TOP = {"a": -0.5, "b": -1.0}


@pytest.mark.parametrize(
    "choice",
    [
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [_TOP]}},
        {"logprobs": -0.5, "top_logprobs": _TOP},
    ],
    ids=["lists", "one number for the chunk"],
)
def test_logprobs_of_other_servers_come_with_their_text(choice: dict[str, Any]) -> None:
    """Together and Fireworks have forms of their own."""
    made = chunk({"content": "a"})
    made["choices"][0].update(choice)

    (part,) = response(streamed([made, chunk({}, "stop")])).message.content

    likely = (TokenLogprob(token="a", logprob=-0.5), TokenLogprob(token="b", logprob=-1.0))
    assert part == TextPart("a", logprobs=(TokenLogprob(token="a", logprob=-0.5, top=likely),))


@pytest.mark.parametrize("numbers", [{"token_ids": [1, 2]}, {"token_ids": [1]}, {}])
def test_lists_of_logprobs_may_be_shorter_than_their_tokens(numbers: dict[str, Any]) -> None:
    """A whole body has all tokens in one list; those without a probability are left out."""
    document = completion({"content": "abc"})
    lists = {"tokens": ["a", "b", "c"], "token_logprobs": [-1, None], **numbers}
    document["choices"][0]["logprobs"] = lists

    (part,) = response(whole(document)).message.content

    token = TokenLogprob(token="a", logprob=-1.0, id=1 if numbers else None)
    assert part == TextPart("abc", logprobs=(token,))


@pytest.mark.parametrize("finish", [None, "stop"])
def test_an_error_in_x_groq_ends_the_stream(finish: str | None) -> None:
    """Groq states there why it stopped early, whatever the finish reason is."""
    last = chunk({"content": "b"}, finish, x_groq={"id": "req_1", "error": "over capacity"})

    *_, delta, error = streamed([chunk({"content": "a"}), last])

    assert delta == TextDelta("text_0", "b")
    assert isinstance(error, ErrorEvent)
    assert "over capacity" in str(error.error)


def test_unknown_fields_of_a_delta_are_passed_on() -> None:
    """Fields without a neutral form become an event."""
    events = streamed([chunk({"content": "a", "mood": "good"}), chunk({}, "stop")])

    assert ProviderEvent("openai", {"delta": {"mood": "good"}}) in events


@pytest.mark.parametrize("index", [1, -1])
def test_a_choice_with_another_number_is_the_response_if_it_is_the_only_one(index: int) -> None:
    """Some servers count from 1; nothing of it may be lost."""
    chunks = [*text_chunks("Hel", "lo"), usage_chunk()]
    body = completion({"content": "Hello"})
    for one in (*chunks[:-1], body):
        one["choices"][0]["index"] = index

    for events in (streamed(chunks), whole(body)):
        assert response(events).text == "Hello"
        assert response(events).finish_reason.reason == "stop"


@pytest.mark.parametrize("n", [None, 1])
@pytest.mark.parametrize("first", [0, 1])
def test_an_only_choice_whose_number_rises_is_one_response(first: int, n: int | None) -> None:
    """Servers have counted tokens, or chunks, in the place of choices."""
    chunks = [*text_chunks("Hel", "lo", "!"), usage_chunk()]
    for number, one in enumerate(chunks[:-1], first):
        one["choices"][0]["index"] = number
    asked = evolve(ASKED, provider_options={"openai": {"n": n}} if n else {})

    events = streamed(chunks, asked=asked)

    assert response(events).text == "Hello!"
    assert response(events).finish_reason.reason == "stop"
    assert not [event for event in events if isinstance(event, ProviderEvent)]


@pytest.mark.parametrize(
    "fields",
    [{"provider_options": {"openai": {"n": 2}}}, {"http": HttpOverlay(body={"n": 2})}],
    ids=["option", "body"],
)
def test_other_choices_are_passed_on(fields: dict[str, Any]) -> None:
    """`n` above 1 has no neutral form: the first choice is the response."""
    second = chunk({"content": "b"})
    second["choices"][0]["index"] = 1

    events = streamed(
        [chunk({"content": "a"}), second, chunk({}, "stop")], asked=evolve(ASKED, **fields)
    )

    assert response(events).text == "a"
    assert sum(isinstance(event, ProviderEvent) for event in events) == 1


@pytest.mark.parametrize("index", [None, 0, 1])
def test_calls_in_a_choice_of_their_own_belong_to_the_response(index: int | None) -> None:
    """GitHub Copilot splits one message into choices; another text is another response."""
    document = completion({"content": "Let me look."}, "tool_calls")
    called = {"message": {"tool_calls": [call(id="a", name="look", arguments="{}")]}}
    other = {"message": {"content": "Well."}, "index": 2}
    document["choices"] += [{"index": index, **called, "finish_reason": "tool_calls"}, other]

    events = whole(document)
    made = response(events)

    assert (made.text, [one.name for one in made.tool_calls]) == ("Let me look.", ["look"])
    assert [e.data for e in events if isinstance(e, ProviderEvent)] == [{"choice": other}]
    asked = evolve(ASKED, http=HttpOverlay(body={"n": 3}))
    assert len(response(whole(document, asked=asked)).tool_calls) == (index != 1)


def test_calls_in_two_choices_are_of_two_responses() -> None:
    """Nothing in a body tells how many its request asked for."""
    document = completion({"tool_calls": [call(id="a", name="look", arguments="{}")]})
    other = {"message": {"tool_calls": [call(id="b", name="wait", arguments="{}")]}, "index": 1}
    document["choices"].append(other)

    events = whole(document)

    assert [one.name for one in response(events).tool_calls] == ["look"]
    assert [e.data for e in events if isinstance(e, ProviderEvent)] == [{"choice": other}]


@pytest.mark.parametrize("name", ["data", "result"])
def test_a_body_inside_an_object_is_read(name: str) -> None:
    """Cline and Cloudflare put the whole body into a field."""
    wrapped = {name: completion({"content": "Hello"}), "success": True, "errors": []}

    assert response(whole(wrapped)).text == "Hello"


# -- where things come


PLACES: dict[str, list[Any]] = {
    "content, finish and usage in one chunk": [chunk({"content": "Hello"}, "stop", usage=USAGE)],
    "finish twice": [
        chunk({"content": "Hello"}),
        chunk({}, "stop"),
        chunk({}, "stop"),
        usage_chunk(),
    ],
    "finish twice, the last one counts": [
        chunk({"content": "Hello"}),
        chunk({}, "length"),
        chunk({}, "stop"),
        usage_chunk(),
    ],
    "an empty reason on every chunk": [
        chunk({"content": "Hel"}, ""),
        chunk({"content": "lo"}, ""),
        chunk({}, "stop"),
        usage_chunk(),
    ],
    "usage after the finish": [chunk({"content": "Hello"}), chunk({}, "stop"), usage_chunk()],
    "usage before an empty last chunk": [
        chunk({"content": "Hello"}),
        usage_chunk(),
        chunk({}, "stop"),
    ],
    "a first chunk with only a role": [
        chunk({"role": "assistant"}),
        chunk({"content": "Hello"}),
        chunk({}, "stop"),
        usage_chunk(),
    ],
    "a first chunk of filter results, as Azure sends": [
        {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": []},
        chunk({"content": "Hello"}),
        chunk({}, "stop"),
        usage_chunk(),
    ],
    "text in the finish chunk": [
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}, "stop"),
        usage_chunk(),
    ],
    "delta null in the end": [
        chunk({"content": "Hello"}),
        {**chunk(), "choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]},
        usage_chunk(),
    ],
    "usage growing on every chunk": [
        chunk({"content": "Hel"}, usage={**USAGE, "completion_tokens": 1, "total_tokens": 8}),
        chunk({"content": "lo"}, usage={**USAGE, "completion_tokens": 4, "total_tokens": 11}),
        chunk({}, "stop", usage=USAGE),
    ],
    "usage split over two chunks": [
        chunk({"content": "Hello"}, usage={"prompt_tokens": 7, "completion_tokens": None}),
        chunk({}, "stop", usage={"completion_tokens": 5, "total_tokens": 12}),
    ],
    "zeros in the last chunk": [
        chunk({"content": "Hello"}),
        chunk({}, "stop", usage=USAGE),
        usage_chunk(**dict.fromkeys(USAGE, 0), prompt_tokens_details={"cached_tokens": 0}),
    ],
    "usage in two places": [
        chunk({"content": "Hello"}),
        chunk({}, "stop", x_groq={"usage": USAGE}),
        usage_chunk(),
    ],
    "usage in x_groq": [chunk({"content": "Hello"}), chunk({}, "stop", x_groq={"usage": USAGE})],
    "usage in the choice, as Moonshot sends": [
        chunk({"content": "Hello"}),
        {
            **chunk(),
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}],
        },
    ],
    "no index in the choice": [
        {**chunk(), "choices": [{"delta": {"content": "Hello"}}]},
        {**chunk(), "choices": [{"delta": {}, "finish_reason": "stop"}], "usage": USAGE},
    ],
}


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("chunks", PLACES.values(), ids=PLACES.keys())
def test_wherever_it_comes_it_counts_once(chunks: list[Any], done: bool) -> None:
    """Text is whole, the end is one, usage is the last word and never a sum."""
    events = streamed(chunks, done=done)
    answer = response(events)

    assert answer.text == "Hello"
    assert answer.finish_reason == FinishReason("stop", "stop")
    assert (answer.id, answer.model) == ("chatcmpl-1", "gpt-4.1")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 5)
    assert answer.usage.total_tokens == 12


def test_missing_usage_is_none() -> None:
    """A server that counts nothing is not taken to have counted 0."""
    assert response(streamed(text_chunks("Hello"))).usage == Usage()


def test_facts_of_the_response_are_kept() -> None:
    """Service tier, fingerprint and filter results are the finish's metadata."""
    chunks = [
        chunk({"content": "a"}, service_tier="flex", system_fingerprint="fp", obfuscation="xx"),
        chunk({"content": "b"}, p="xxx"),
        {**chunk({}, "stop"), "service_tier": "default"},
    ]

    metadata = response(streamed(chunks)).provider_metadata

    assert metadata == {"openai": {"service_tier": "default", "system_fingerprint": "fp"}}


# -- finish reasons


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("error", "error"),
        ("insufficient_system_resource", "error"),
        ("abort", "error"),
        ("parse_error", "error"),
        ("eos_token", "stop"),
        ("repetition_truncation", "length"),
        ("guardrail_intervened", "content_filter"),
        ("refusal", "content_filter"),
        ("SAFETY", "content_filter"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "error"),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", "other"),
        ("content_filter: IMAGE_RECITATION", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("normal", "stop"),
        ("COMPLETE", "stop"),
        ("TOOL_CALL", "tool_calls"),
        ("TIMEOUT", "error"),
        ("tool-calls", "tool_calls"),
        ("content-filter", "content_filter"),
        ("output_guardrail_triggered", "content_filter"),
        ("ERROR_TOXIC", "content_filter"),
        ("max_output_tokens", "length"),
        ("token_limit", "length"),
        ("time_limit", "error"),
        ("cancelled", "error"),
        ("server_error", "error"),
        ("stop_token", "other"),
        ("one of next year's", "other"),
    ],
)
def test_every_finish_reason_has_a_common_word(raw: str, reason: str) -> None:
    """Each server's word has a common one, and stays readable."""
    streamed_reason = response(streamed(text_chunks("a", finish=raw))).finish_reason
    whole_reason = response(whole(completion({"content": "a"}, raw))).finish_reason

    assert (streamed_reason.reason, streamed_reason.raw) == (reason, raw)
    assert whole_reason == streamed_reason


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "tool_calls"),
        ("one of next year's", "tool_calls"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("parse_error", "error"),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", "other"),
    ],
)
def test_calls_make_stop_and_unknown_reasons_tool_calls(raw: str, reason: str) -> None:
    """Many servers say stop, or a word of their own; a cut response stays cut."""
    called = call(0, id="a", name="one", arguments="{}")
    chunks = [*calls_chunks(called)[:-1], chunk({}, raw)]

    for events in (streamed(chunks), whole(completion({"tool_calls": [called]}, raw))):
        reached = response(events).finish_reason
        assert (reached.reason, reached.raw) == (reason, raw)


@pytest.mark.parametrize("finish", [None, "", "null"])
def test_a_whole_body_without_a_reason_is_whole(finish: str | None) -> None:
    """A document that parses is not cut off, whatever it forgets to say."""
    plain = response(whole(completion({"content": "a"}, finish)))
    calling = response(
        whole(completion({"tool_calls": [call(id="a", name="one", arguments="{}")]}, finish))
    )

    assert plain.finish_reason == FinishReason("other")
    assert calling.finish_reason == FinishReason("tool_calls")


# -- cut streams


def test_an_end_without_a_finish_reason_is_an_error() -> None:
    """Half a response is never taken for a whole one, and is not lost."""
    failed = error(streamed(text_chunks("Hel", "lo")[:-1], done=False))

    assert isinstance(failed, StreamError)
    assert failed.retryable
    assert failed.partial is not None
    assert failed.partial.text == "Hello"


@pytest.mark.parametrize("finish", ["", "null"])
def test_an_empty_finish_reason_on_every_chunk_is_not_an_end(finish: str) -> None:
    """SGLang has sent an empty text in the place of null, KoboldCpp the word."""
    chunks = [chunk({"content": text}, finish) for text in ("Hel", "lo")]

    assert isinstance(error(streamed(chunks, done=False)), StreamError)
    assert isinstance(error(streamed(chunks, done=True)), StreamError)
    ended = response(streamed([*chunks, chunk({}, "stop")]))
    assert (ended.text, ended.finish_reason) == ("Hello", FinishReason("stop", "stop"))


def test_done_alone_is_not_an_end() -> None:
    """A gateway that lost its server still writes `[DONE]`."""
    assert isinstance(error(streamed(text_chunks("Hello")[:-1], done=True)), StreamError)


def test_done_after_the_final_usage_is_an_end() -> None:
    """A stream that is cut has no final usage, so a server without reasons is believed."""
    chunks = [*text_chunks("Hello")[:-1], usage_chunk()]

    assert response(streamed(chunks)).finish_reason == FinishReason("other")
    assert isinstance(error(streamed(chunks, done=False)), StreamError)


@pytest.mark.parametrize("count", [0, 5])
@pytest.mark.parametrize("words", ["", "!"])
def test_done_after_a_chunk_of_usage_alone_is_an_end(count: int, words: str) -> None:
    """As Spark's last chunk; servers that count all the time have usage before the end."""
    usage = {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count}
    last = chunk({"role": "assistant", "content": words}, usage=usage)
    events = streamed([*text_chunks("Hello")[:-1], last])

    if count and not words:
        assert response(events).finish_reason == FinishReason("other")
    else:
        assert isinstance(error(events), StreamError)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data: [DONE]\n\n",
        b": ping\n\n",
        b"<html>502</html>",
        sse([{**chunk(), "choices": []}]),
        sse([{**chunk(), "choices": None}]),
        sse([{"id": "a"}]),
    ],
)
def test_a_stream_without_a_response_is_an_error(body: bytes) -> None:
    """Nothing, a web page, or empty chunks never look like an empty success."""
    assert isinstance(error(streamed(body)), StreamError)


def test_a_frame_that_is_not_json_is_an_error_with_what_had_come() -> None:
    """Broken bytes end the stream with a typed error."""
    body = sse(text_chunks("Hello")[:-1], done=False) + b"data: {oops\n\n"

    failed = error(streamed(body))

    assert isinstance(failed, StreamError)
    assert failed.partial is not None
    assert failed.partial.text == "Hello"


def test_nothing_is_read_after_done() -> None:
    """A server that leaves the connection open does not delay the end."""
    events = streamed(sse(text_chunks("Hello")) + sse(text_chunks("again")))

    assert response(events).text == "Hello"
    assert isinstance(events[-1], Finish)


# -- errors inside HTTP 200


ERRORS: dict[str, tuple[Any, type[LLMError]]] = {
    "OpenAI": (
        {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}},
        RateLimitError,
    ),
    "OpenRouter": (
        {
            **chunk({"content": ""}, "error"),
            "error": {"code": 429, "message": "slow down"},
        },
        RateLimitError,
    ),
    "OpenRouter, in the choice": (
        {**chunk(), "choices": [{"index": 0, "error": {"code": 502, "message": "slow down"}}]},
        ServerError,
    ),
    "in the choice, beside text": (
        {
            **chunk(),
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": "x"},
                    "error": {"code": 502, "message": "slow down"},
                }
            ],
        },
        ServerError,
    ),
    "choices null": (
        {"choices": None, "error": {"code": 429, "message": "slow down"}},
        RateLimitError,
    ),
    "vLLM": (
        {"object": "error", "message": "slow down", "type": "BadRequestError", "code": 400},
        LLMError,
    ),
    "FastAPI": ({"detail": "slow down"}, LLMError),
    "Google": (
        [{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}],
        RateLimitError,
    ),
    "Baidu": ({"error_code": 336003, "error_msg": "slow down"}, LLMError),
    "DeepInfra": ({"detail": {"error": "slow down"}}, LLMError),
    "Cloudflare": (
        {"success": False, "errors": [{"code": 7000, "message": "slow down"}], "result": None},
        LLMError,
    ),
    "a code and a message": ({"code": 40003, "msg": "slow down", "data": None}, LLMError),
    "MiniMax": (
        {"choices": None, "base_resp": {"status_code": 1000, "status_msg": "slow down"}},
        LLMError,
    ),
    "an error in fields of its own": (
        {
            "id": "a",
            "choices": None,
            "usage": None,
            "error_type": "BadRequestError",
            "error_message": "slow down",
        },
        InvalidRequestError,
    ),
    "Anthropic behind it": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "slow down"}},
        OverloadedError,
    ),
    "llama.cpp": (
        {
            "error": {
                "code": 400,
                "message": "slow down",
                "type": "exceed_context_size_error",
                "n_ctx": 512,
                "n_prompt_tokens": 700,
            }
        },
        ContextLengthError,
    ),
}


@pytest.mark.parametrize(("body", "kind"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_in_a_stream_are_typed(body: Any, kind: type[LLMError]) -> None:
    """An error after HTTP 200 has its class and words, and keeps what had come."""
    failed = error(streamed([*text_chunks("Hello")[:-1], body]))

    assert isinstance(failed, kind)
    assert "slow down" in failed.message
    assert failed.provider == "openai"
    assert failed.partial is not None
    assert failed.partial.text == "Hello"


@pytest.mark.parametrize(("body", "kind"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_as_the_first_chunk_are_typed(body: Any, kind: type[LLMError]) -> None:
    """A stream may be nothing but an error."""
    assert isinstance(error(streamed([body])), kind)


@pytest.mark.parametrize(("body", "kind"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_in_a_whole_body_are_typed(body: Any, kind: type[LLMError]) -> None:
    """The same bodies fail the same way where nothing is streamed."""
    assert isinstance(error(whole(body)), kind)


@pytest.mark.parametrize(
    "wrapper", [{"success": True}, {"code": 0, "message": "ok"}, {"choices": None}], ids=str
)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_response_inside_data_is_read_as_one_without_it(
    wrapper: dict[str, Any], stream: bool
) -> None:
    """As Cline's API wraps its bodies."""
    plain = completion({"content": "Hello"}, usage=USAGE)
    given = {**wrapper, "data": plain}
    chunks = text_chunks("Hel", "lo")

    if stream:
        assert streamed([{**wrapper, "data": one} for one in chunks]) == streamed(chunks)
    else:
        read = response(whole(given))
        assert read.raw == given
        assert evolve(read, raw=plain) == response(whole(plain))


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"choices": []}},
        {"data": [{"choices": [{"message": {"content": "Hello"}}]}], "success": True},
        {"choices": None},
        {"choices": []},
        {"id": "a", "usage": USAGE},
        {},
        [],
        None,
        "text",
        b"",
        b"<html>502 Bad Gateway</html>",
    ],
)
def test_a_whole_body_without_a_response_is_an_error(body: Any) -> None:
    """Whatever is missing, it is a StreamError and never a TypeError."""
    failed = error(whole(body))

    assert isinstance(failed, StreamError)
    assert failed.retryable


def test_an_event_named_error_is_an_error() -> None:
    """Some servers say it in the event's name only."""
    body = b'event: error\ndata: {"message": "gone", "code": 503}\n\n'

    failed = error(streamed(sse(text_chunks("Hello")[:-1], done=False) + body))

    assert isinstance(failed, ServerError)
    assert failed.message == "gone"


@pytest.mark.parametrize("empty", [None, "", 0, []])
def test_empty_fields_of_errors_are_no_error(empty: object) -> None:
    """Some servers have them in chunks without choices."""
    fields = dict.fromkeys(
        ("error", "errors", "error_code", "error_msg", "error_message", "error_type", "msg"), empty
    )
    chunks = [{"id": "chatcmpl-1", **fields}, *text_chunks("Hello")]

    assert response(streamed(chunks)).text == "Hello"


def test_a_field_named_error_is_an_error() -> None:
    """As llama.cpp wrote it."""
    line = b'error: {"code":500,"message":"slow down","type":"server_error"}\n\n'

    failed = error(streamed(sse(text_chunks("Hello")[:-1], done=False) + line))

    assert isinstance(failed, ServerError)
    assert "slow down" in failed.message


FIELDS = [{"reasoning_logprobs": {"content": [{"token": "a", "logprob": -1}]}}, {"token_ids": [7]}]


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: next(iter(fields)))
def test_facts_of_the_tokens_of_each_chunk_are_passed_on(fields: dict[str, Any]) -> None:
    """Beside the text that they are of, and none of them is left out on the per-token path."""
    chunks = [chunk({"content": piece}) for piece in "abc"]
    for one in chunks[1:]:
        one["choices"][0].update(fields)

    events = streamed([*chunks, chunk({}, "stop")])
    body = completion({"content": "a"})
    body["choices"][0].update(fields)

    assert events.count(ProviderEvent("openai", fields)) == 2
    assert response(events).text == "abc"
    assert response(events).provider_metadata == {}
    assert list(whole(body)).count(ProviderEvent("openai", fields)) == 1


def test_nothing_follows_an_error_in_one_chunk() -> None:
    """A chunk with invalid fragments gives its error and no more."""
    state = stream.initial(ASKED, OPENAI)
    both = chunk({"tool_calls": [call(arguments="{"), call(1, name="one", arguments="{}")]})

    _, events = stream.step(state, both)

    assert isinstance(events[-1], ErrorEvent)
    assert sum(isinstance(event, ErrorEvent) for event in events) == 1


# -- the start


def test_the_answering_model_is_named() -> None:
    """A gateway may answer with another model than was asked for."""
    asked = request(model=Model("auto", "router"), prompt="Hi")
    events = streamed([{**chunk({"content": "a"}, "stop"), "model": "other-1"}], asked=asked)

    start = events[0]

    assert isinstance(start, StreamStart)
    assert (start.provider, start.model, start.id) == ("router", "other-1", "chatcmpl-1")
    assert response(events).message.origin is not None


def test_missing_model_is_that_of_the_request() -> None:
    """Without id and model in the chunks the request's model counts."""
    bare = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}

    answer = response(streamed([bare]))

    assert (answer.id, answer.model, answer.text) == (None, "gpt-4.1", "a")


# -- the protocol


def test_a_dialect_makes_a_protocol() -> None:
    """Facades close a dialect over the one protocol."""
    made = openai_chat.make(COMPATIBLE)

    assert (made.id, made.metadata_key) == ("openai-chat", "openai")
    assert openai_chat.protocol.stream.initial(ASKED).context.dialect is OPENAI
    assert made.stream.initial(ASKED).context.dialect is COMPATIBLE


def test_the_state_is_frozen() -> None:
    """A step cannot change the state it was given."""
    state = stream.initial(ASKED, evolve(OPENAI, think_tags=((".*", "think"),)))

    with pytest.raises(AttributeError):
        state.fast_field = "content"  # type: ignore[misc]


def test_long_streams_stay_linear() -> None:
    """No field grows with the tokens: 20 000 plain chunks leave the state as it was."""
    state = stream.initial(ASKED, OPENAI)
    state, _ = stream.step(state, chunk({"content": "a"}))
    again = json.loads(json.dumps(chunk({"content": "b"})))

    after = state
    for _ in range(20_000):
        after, _events = stream.step(after, again)

    assert after is state
