"""Laws: responses survive being sent back, streams equal their whole, requests keep their body."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from google.genai import errors, types
from hypothesis import assume, given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.gemini import front
from llmcore.fronts.gemini.carrier import joined_texts
from llmcore.protocols import gemini
from llmcore.protocols.openai_responses.names import CALL_IDS
from llmcore.schema import json
from llmcore.schema.content import (
    ContentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Success
from llmcore.testing import decode_recorded
from tests.fronts.gemini.gemini_kit import (
    CLIENTS,
    HELLO,
    Written,
    echo,
    heard,
    messages_of,
    upstream,
    written,
)
from tests.support.events import stream, text, thought
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_values, requests
from tests.support.strategies.values import network_streams as streams
from tests.support.wire import gemini as wire


def decoded(body: bytes, *, streaming: bool) -> LLMResponse | LLMError:
    """Return what our own protocol reads out of a response."""
    kind = "text/event-stream" if streaming else "application/json"
    result = decode_recorded(
        "gemini", status=200, headers={"content-type": kind}, body=body, streaming=streaming
    )
    found: LLMResponse | LLMError = (
        result.unwrap() if isinstance(result, Success) else result.failure()
    )
    return found


def said(message: Message, *kinds: type[Any]) -> str:
    """Return the text of all parts of *kinds*."""
    parts: list[Any] = [part for part in message.content if isinstance(part, kinds)]
    return "".join(part.text for part in parts)


def calls(message: Message) -> list[tuple[str, str, Any]]:
    """Return the calls that the client is to run, arguments as objects."""
    return [
        (CALL_IDS.fit(part.id), part.name, _as_object(part.arguments))
        for part in message.tool_calls
    ]


def _as_object(arguments: Any) -> Any:
    return arguments if isinstance(arguments, Mapping) else {"input": arguments}


CUT_OFF = "incomplete-tool-call"
"""The code of a response that ends inside a call, which is left out."""


# -- responses


@costly
@given(streams(may_fail=False))
def test_our_protocol_reads_what_the_events_say(events: list[LLMEvent]) -> None:
    """Grammar and the SDK's types hold too: `written` checks them."""
    made = written(events)
    before = collect(events).unwrap()
    after = decoded(made.sse, streaming=True)

    if before.finish_reason.reason == "error":
        assert isinstance(after, LLMError)
        return
    assert isinstance(after, LLMResponse)
    assert said(after.message, TextPart) == said(before.message, TextPart, RefusalPart)
    assert said(after.message, ReasoningPart) == said(before.message, ReasoningPart)
    if CUT_OFF not in made.codes:
        assert calls(after.message) == calls(before.message)
    if before.usage is not None and before.usage.output_tokens is not None:
        assert after.usage is not None
        assert after.usage.input_tokens == (
            before.usage.input_tokens if before.usage.input_tokens is not None else _cached(before)
        )
        assert after.usage.output_tokens == before.usage.output_tokens
    if before.finish_reason.reason in ("length", "content_filter"):
        assert after.finish_reason.reason == before.finish_reason.reason


def _cached(response: LLMResponse) -> int:
    usage = response.usage
    assert usage is not None
    return (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)


def restored(made: Written, client: str) -> tuple[Message, ...]:
    """Return the messages that *client* sends back of a response."""
    return messages_of(HELLO, *echo(made, client), HELLO)[1:-1]


@pytest.mark.parametrize("client", CLIENTS)
def test_texts_around_a_hidden_thought_come_back_as_they_were(client: str) -> None:
    """The client sees one text, and sends it back as one."""
    hidden = [*text("Hel", id="a"), *thought("Why?"), *text("lo.", id="b")]
    made = written(stream(hidden), {})

    (part,) = made.whole["candidates"][0]["content"]["parts"]
    assert part["text"] == "Hello."
    assert restored(made, client)[0].content == (
        TextPart("Hel"),
        ReasoningPart("Why?"),
        TextPart("lo."),
    )


@costly
@given(streams(may_fail=False), st.sampled_from(CLIENTS))
def test_what_a_client_sends_back_is_the_response(events: list[LLMEvent], client: str) -> None:
    """Also what it does not see: signatures, encrypted thinking, tools that the provider ran."""
    before = collect(events).unwrap()
    assume(before.finish_reason.reason != "error")
    made = written(events)
    assume(CUT_OFF not in made.codes)
    expected = [_as_kept(part) for part in before.message.content]
    answers = restored(made, client)

    parts = [part for message in answers for part in message.content]
    if client == "ai-sdk":
        parts, expected = [*map(_without_id, parts)], [*map(_without_id, expected)]
    assert _as_one(parts) == _as_one(expected)
    for message in answers:
        assert message.origin in (None, before.message.origin)


def _as_kept(part: ContentPart) -> ContentPart:
    """Return *part* as an echo can bring it back: log probabilities are not read again."""
    match part:
        case TextPart():
            return evolve(part, logprobs=())
        case ToolCallPart():
            return evolve(part, id=CALL_IDS.fit(part.id))
        case ToolResultPart():
            return evolve(part, tool_call_id=CALL_IDS.fit(part.tool_call_id))
        case _:
            return part


def _without_id(part: ContentPart) -> ContentPart:
    """Return a call without its id: one that needs no state comes back with a new one."""
    if isinstance(part, ToolCallPart) and not part.provider_executed:
        return evolve(part, id="")
    return part


def _as_one(parts: list[ContentPart]) -> list[ContentPart]:
    """Return *parts* without texts of no characters, which have no effect."""
    return [part for part in parts if part != TextPart("")]


def _unsigned(parts: list[ContentPart]) -> list[ContentPart]:
    """Return *parts*, the texts without signatures: a stream brings them on an empty text."""
    return _as_one(
        [
            evolve(part, provider_metadata={}) if isinstance(part, TextPart) else part
            for part in parts
        ]
    )


def _signatures(parts: list[ContentPart]) -> list[object]:
    """Return the native data of texts, in their order."""
    texts = [part for part in parts if isinstance(part, TextPart)]
    return [part.provider_metadata for part in texts if part.provider_metadata]


@costly
@given(streams())
def test_a_stream_and_a_whole_body_are_the_same_response(events: list[LLMEvent]) -> None:
    made = written(events)
    assume(made.writer.error is None)
    whole = decoded(json.dumps(made.whole), streaming=False)
    for query, kind in (({"alt": "sse"}, "text/event-stream"), ({}, "application/json")):
        result = decode_recorded(
            "gemini",
            status=200,
            headers={"content-type": kind},
            body=made.encoded(**query),
            streaming=True,
        )
        streamed = result.unwrap() if isinstance(result, Success) else result.failure()
        assert isinstance(streamed, LLMResponse) == isinstance(whole, LLMResponse)
        if isinstance(streamed, LLMResponse) and isinstance(whole, LLMResponse):
            both = [list(one.message.content) for one in (streamed, whole)]
            assert _unsigned(both[0]) == _unsigned(both[1])
            assert _signatures(both[0]) == _signatures(both[1])
            assert streamed.finish_reason == whole.finish_reason
            assert streamed.usage == whole.usage
            assert streamed.sources == whole.sources


@costly
@given(streams())
def test_any_stream_ends_once_wherever_it_is_cut(events: list[LLMEvent]) -> None:
    for cut in range(len(events)):
        made = written(events[:cut])

        assert made.writer.error is not None
        assert "error" in made.last


@costly
@given(streams())
def test_the_sdk_reads_every_response_and_raises_on_every_failure(events: list[LLMEvent]) -> None:
    made = written(events)
    if made.writer.error is not None:
        with pytest.raises(errors.APIError) as caught:
            list(heard(made.sse))
        assert caught.value.message == made.last["error"]["message"]
        return
    parts = [part for piece in heard(made.sse) for part in _parts(piece)]
    shown = "".join(part.text or "" for part in parts if not part.thought)
    before = collect(events).unwrap()
    assert shown == said(before.message, TextPart, RefusalPart)


def _parts(piece: types.GenerateContentResponse) -> list[types.Part]:
    found = (piece.candidates or [types.Candidate()])[0].content
    return (found.parts if found else None) or []


# -- requests


PATH = "/v1beta/models/gemini-3-flash-preview:generateContent"


def reread(asked: LLMRequest, body: Mapping[str, Any]) -> LLMRequest:
    """Return what the front reads in the *body* that was built of *asked*."""
    server = evolve(upstream("gemini"), model=asked.model, provider=asked.provider)
    result = front.read(ClientRequest(body=body, path=PATH), server)
    assert isinstance(result, Success), result
    request: LLMRequest = result.unwrap().request
    return request


def native(asked: LLMRequest) -> Any:
    """Return the body that our protocol sends of *asked*."""
    return json.loads(json.dumps(wire.body(asked)))


def test_a_request_is_read_as_it_was_built() -> None:
    asked = wire.everything()
    read = reread(asked, native(asked))

    assert read.generation == asked.generation
    assert read.reasoning == asked.reasoning
    assert read.tools == asked.tools
    assert read.tool_choice == asked.tool_choice
    assert read.system == asked.system
    assert read.provider_options == asked.provider_options
    assert [_untyped(part) for one in read.messages for part in one.content][:5] == [
        part for one in asked.messages for part in one.content
    ][:5]
    assert read.response_format is not None
    assert read.response_format.type == "json_schema"


def _untyped(part: ContentPart) -> ContentPart:
    """Return a part without what its bytes, or its signature, say a second time."""
    if isinstance(part, ReasoningPart):
        return evolve(part, provider_metadata={})
    return evolve(part, media_type=None) if isinstance(part, ImagePart) else part


def _sayable(asked: LLMRequest) -> LLMRequest:
    """Return *asked* without what no body of this API says in one way.

    These are choices among tools that it may not have, a schema of nothing, a thought without a
    word, and an effort that is not in small ASCII letters, of which the API's levels are capitals.
    """
    wanted = asked.response_format
    if wanted is not None and wanted.schema is not None:
        wanted = ResponseFormat.json_schema(wire.SCHEMA)
    thinking = asked.reasoning
    effort = "" if thinking is None else thinking.effort or ""
    if thinking is not None and not (effort.isascii() and effort == effort.lower() != ""):
        thinking = evolve(thinking, effort=None)
    messages = [
        evolve(one, content=tuple(part for part in one.content if _says(part)))
        for one in asked.messages
    ]
    return evolve(
        asked,
        model=wire.MODEL,
        provider=None,
        strict=False,
        reasoning=thinking,
        messages=(Message.user("Hello"), *messages),
        tool_choice=None,
        response_format=wanted,
    )


def _says(part: ContentPart) -> bool:
    return not isinstance(part, ReasoningPart) or bool(part.text)


@costly
@given(requests().map(_sayable))
def test_a_request_that_is_read_is_built_the_same(asked: LLMRequest) -> None:
    """Whatever a body says that we build: the front loses nothing of it."""
    result = gemini.protocol.body.build(asked, False)
    assume(isinstance(result, Success))
    built: Any = result.unwrap().body
    body: Any = json.loads(json.dumps(built))

    assert joined(native(reread(asked, body))) == joined(body)


def joined(body: Any) -> Any:
    """Return *body* with texts in a row as one, and thoughts too: streams bring them in pieces."""
    contents = [{**one, "parts": joined_texts(one["parts"])} for one in body["contents"]]
    return {**body, "contents": contents}


def native_names() -> st.SearchStrategy[str]:
    """Draw a name that a body has somewhere."""
    return st.sampled_from(
        [
            "contents", "parts", "role", "text", "functionCall", "function_response", "response",
            "inlineData", "data", "mimeType", "fileData", "fileUri", "tools", "toolConfig",
            "functionDeclarations", "parameters", "generationConfig", "thinkingConfig", "topK",
            "stopSequences", "responseSchema", "systemInstruction", "name", "args", "id",
            "thoughtSignature", "thinkingBudget", "googleSearch", "functionCallingConfig", "mode",
        ]
    )  # fmt: skip


@costly
@given(st.recursive(json_values(), lambda inner: st.dictionaries(native_names(), inner)))
def test_any_body_is_read_or_refused(body: Any) -> None:
    """Every value of every field either reads or raises the error that the client receives."""
    given_body = body if isinstance(body, dict) else {"contents": body}
    for protocol_id in ("openai-chat", "gemini"):
        result = front.read(ClientRequest(body=given_body, path=PATH), upstream(protocol_id))

        assert isinstance(result, Success | Failure)
