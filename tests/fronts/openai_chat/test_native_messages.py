"""Every field of a message reaches the client of an upstream of the same API.

The values are those of the `openai` package's own types, every field set.
"""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import ChoiceLogprobs

from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.request import request
from tests.fronts.openai_chat.chat_kit import MODEL, Written, sdk_streamed
from tests.support.sdk_values import documents

ASKED: dict[str, Any] = {
    "logprobs": True,
    "tools": [{"type": "custom", "custom": {"name": "the_name"}}],
}
LEGACY: dict[str, Any] = {"functions": [{"name": "the_name"}]}
OWN = {"id", "object", "created", "model", "choices", "usage"}
"""Fields of a completion that are the gateway's, or that other tests are about."""
NOT_CARRIED = {"metadata"}
"""The request's own, of a stored completion; a chunk has none, and nothing is stored here."""
ARGUMENTS = '{"key":"value"}'

streaming = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def _values(type_: Any) -> dict[str, Any]:
    (values, *_) = documents(type_)
    found: dict[str, Any] = values
    return found


def _message() -> dict[str, Any]:
    """Return a message with values that an upstream could have sent."""
    message = _values(ChatCompletionMessage)
    message["audio"]["data"] = "AAEC"
    message["function_call"]["arguments"] = ARGUMENTS
    for number, call in enumerate(message["tool_calls"]):
        call["id"] = f"call_{number}"
        if call["type"] == "function":
            call["function"]["arguments"] = ARGUMENTS
    return message


MESSAGE = _message()


def read(answer: dict[str, Any], *, stream: bool) -> list[LLMEvent]:
    """Return the events of an upstream's completion, or of the chunks that it is sent in."""
    events = decode_response(
        protocol_by_id("openai-chat"),
        Framing.sse(),
        request(model=MODEL, prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream" if stream else "application/json"},
        chunks=_chunks(answer) if stream else [json.dumps(answer).encode()],
        streaming=stream,
    )
    return list(events)


def _chunks(answer: dict[str, Any]) -> list[bytes]:
    (choice,) = answer["choices"]
    head = {**answer, "object": "chat.completion.chunk"}
    message = choice["message"]
    calls = [{"index": i, **call} for i, call in enumerate(message.get("tool_calls", ()))]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    first = {**choice, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    del first["message"]
    frames = [json.dumps({**head, "choices": [one]}) for one in (first, last)]
    return [f"data: {frame}\n\n".encode() for frame in (*frames, "[DONE]")]


def answered(
    message: dict[str, Any],
    *,
    stream: bool,
    asked: dict[str, Any] = ASKED,
    choice: dict[str, Any] | None = None,
    **fields: Any,
) -> Written:
    """Return the completion that a client gets of *message*."""
    said = {"content": None, "refusal": None, "role": "assistant", **message}
    one = {"index": 0, "message": said, "finish_reason": "stop", **(choice or {})}
    frame = {"id": "up_1", "object": "chat.completion", "created": 1, "model": "m"}
    return Written(read({**frame, "choices": [one], **fields}, stream=stream), asked)


def _choice(made: Written, *, stream: bool) -> dict[str, Any]:
    """Return the choice that the client has: of a stream, as the SDK adds it up."""
    (choice,) = (sdk_streamed(made) if stream else made.whole)["choices"]
    return dict(choice)


def _as_sent(message: dict[str, Any]) -> dict[str, Any]:
    """Return *message* without what the SDK adds to the calls of a stream."""
    calls = [{k: v for k, v in one.items() if k != "index"} for one in message["tool_calls"] or ()]
    for call in calls:
        call.get("function", {}).pop("parsed_arguments", None)
    return {**message, "tool_calls": calls}


def _of_stream(message: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    """Return *message* without calls of custom tools, which the SDK's types of a stream lack."""
    if not stream or "tool_calls" not in message:
        return message
    calls = [one for one in message["tool_calls"] if one["type"] == "function"]
    return {**message, "tool_calls": calls}


@streaming
@pytest.mark.parametrize("name", ["content", "refusal", "audio", "tool_calls"])
def test_a_field_of_a_message_reaches_the_client(name: str, stream: bool) -> None:
    sent = _of_stream({name: MESSAGE[name]}, stream=stream)
    made = _choice(answered(sent, stream=stream), stream=stream)

    assert _as_sent({"tool_calls": None, **made["message"]})[name] == sent[name]


def test_a_call_of_a_custom_tool_is_streamed_with_every_field() -> None:
    """Its input in pieces under one index."""
    (call,) = [one for one in MESSAGE["tool_calls"] if one["type"] == "custom"]
    made = answered({"tool_calls": [call]}, stream=True)

    (first, *others) = [one for found in made.values("tool_calls") for one in found]
    text = "".join(one["custom"]["input"] for one in others)
    name = first["custom"]["name"]
    assert {**first, "custom": {"name": name, "input": text}} == {"index": 0, **call}


@streaming
def test_annotations_reach_the_client_of_a_text(stream: bool) -> None:
    sent = {name: MESSAGE[name] for name in ("content", "annotations")}
    made = _choice(answered(sent, stream=stream), stream=stream)["message"]

    assert {name: made[name] for name in sent} == sent


@streaming
def test_a_message_reaches_the_client_with_all_fields_at_once(stream: bool) -> None:
    """All but the one call of the API before tools, which is one of the calls."""
    message = {name: item for name, item in MESSAGE.items() if name != "function_call"}
    sent = _of_stream(message, stream=stream)
    made = _as_sent(_choice(answered(sent, stream=stream), stream=stream)["message"])

    assert {name: made.get(name) for name in sent} == sent


@streaming
def test_a_call_of_a_function_reaches_a_client_that_lists_functions(stream: bool) -> None:
    sent = {"function_call": MESSAGE["function_call"]}
    choice = {"finish_reason": "function_call"}
    made = _choice(answered(sent, stream=stream, asked=LEGACY, choice=choice), stream=stream)

    assert made["message"]["function_call"] == sent["function_call"]
    assert made["finish_reason"] == "function_call"


def _logprobs() -> dict[str, Any]:
    """Return log probabilities of tokens with the bytes of their text.

    Those of a token that is a part of a character are others, for which `TokenLogprob` has no
    place: they are not carried.
    """
    values = _values(ChoiceLogprobs)
    for token in (one for tokens in values.values() for one in tokens):
        for one in (token, *token["top_logprobs"]):
            one["bytes"] = list(one["token"].encode())
    return values


@pytest.mark.parametrize("name", ["content", "refusal"])
@streaming
def test_log_probabilities_reach_the_client_with_every_field(name: str, stream: bool) -> None:
    sent = {"content": None, "refusal": None, name: _logprobs()[name]}
    answer = answered({name: MESSAGE[name]}, stream=stream, choice={"logprobs": sent})

    got = _choice(answer, stream=stream)["logprobs"]
    assert {k: v for k, v in got.items() if v} == {name: sent[name]}


@streaming
@pytest.mark.parametrize("number", range(len(documents(ChatCompletion))))
def test_a_completion_reaches_the_client_with_every_field(number: int, stream: bool) -> None:
    """In a stream with its last chunk."""
    values = documents(ChatCompletion)[number]
    fields = {name: item for name, item in values.items() if name not in OWN | NOT_CARRIED}
    answer = answered({"content": "Hello."}, stream=stream, **fields)

    made = answer.chunks[-1] if stream else answer.whole
    assert {name: made.get(name) for name in fields} == fields


@streaming
def test_usage_reaches_the_client_with_every_field(stream: bool) -> None:
    usage = _values(ChatCompletion)["usage"]
    usage |= {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"]}
    usage["prompt_tokens_details"] |= {"cached_tokens": 1, "cache_write_tokens": 1}
    asked = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
    answer = answered({"content": "Hello."}, stream=stream, asked=asked, usage=usage)

    usage["prompt_cache_hit_tokens"] = 1  # DeepSeek's, for its clients
    assert (answer.chunks[-1] if stream else answer.whole)["usage"] == usage
