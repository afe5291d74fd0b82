"""Laws of the Chat front, for any request and any response."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from openai import APIError

from llmcore.folds.response import collect
from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.finishing import finish_kind, token_counts
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_chat.carrier import SHOWN_IDS
from llmcore.fronts.openai_forms import message_of
from llmcore.protocols.openai_chat import OPENAI, make
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.events import File, LLMEvent, ToolInputStart, ToolResult
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from tests.fronts.openai_chat.chat_kit import Written, echoed, sdk_streamed, sdk_whole, upstream_of
from tests.support.strategies.examples import costly
from tests.support.strategies.requests import requests
from tests.support.strategies.values import streams as any_streams

MODEL = Model("gpt-4.1", "acme")
OPENROUTER = evolve(OPENAI, reasoning_field="reasoning_details", reasoning_replay="accepted")


# -- requests: what the protocol writes, the front reads


def built(request: LLMRequest, dialect: Any) -> JsonObject | None:
    """Return the native body of *request*; None for one that cannot be sent.

    Responses without content are left out: the protocol sends none that came without parts.
    """
    result = make(dialect).body.build(request, True)
    if not isinstance(result, Success):
        return None
    body: dict[str, Any] = dict(result.unwrap().body)
    body["messages"] = [one for one in body["messages"] if not _is_empty(one)]
    return body


def _is_empty(message: Mapping[str, Any]) -> bool:
    given = (message[name] for name in message if name not in ("role", "name"))
    return message["role"] == "assistant" and not any(given)


@costly
@pytest.mark.parametrize("dialect", [OPENAI, OPENROUTER], ids=["openai", "openrouter"])
@given(request=requests())
def test_a_body_that_the_protocol_builds_is_read_as_what_builds_it_again(
    dialect: Any, request: LLMRequest
) -> None:
    """Whatever a request says in this API, the front reads."""
    plain = evolve(request, model=MODEL, provider=None, provider_options={})
    body = built(plain, dialect)
    assume(body is not None and body.get("messages"))
    assert body is not None

    result = front.read(ClientRequest(body=body), evolve(upstream_of(), model=MODEL))
    assert isinstance(result, Success), result
    assert built(result.unwrap().request, dialect) == body


# -- responses


def streams(*, may_fail: bool = True) -> st.SearchStrategy[list[LLMEvent]]:
    """Streams as the network brings them: no result of a hosted tool names a local file."""
    return any_streams(may_fail=may_fail).map(
        lambda events: [event for event in events if not _names_file(event)]
    )


def _names_file(event: LLMEvent) -> bool:
    if isinstance(event, File):
        return event.url is not None and event.url.startswith(("/", "./", "../", "~"))
    content = event.content if isinstance(event, ToolResult) else ()
    parts = content if isinstance(content, tuple) else ()
    return any(getattr(part, "path", None) is not None for part in parts)


def listed(events: list[LLMEvent]) -> dict[str, Any]:
    """Return the freeform tools that are called, as a request lists them."""
    names = {one.name for one in events if isinstance(one, ToolInputStart) and one.kind == "custom"}
    return {"tools": [{"type": "custom", "custom": {"name": name}} for name in sorted(names)]}


def said(message: Message, kind: type[Any]) -> str:
    """Return the text of all parts of a kind."""
    parts: list[Any] = [part for part in message.content if isinstance(part, kind)]
    return "".join(part.text for part in parts)


def calls(message: Message) -> list[tuple[str, str, Any]]:
    """Return the calls that the client is to run."""
    return [(SHOWN_IDS.fit(part.id), part.name, part.arguments) for part in message.tool_calls]


@costly
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
@given(events=streams())
def test_our_client_reads_of_our_front_what_the_upstream_answered(
    streaming: bool, events: list[LLMEvent]
) -> None:
    """Texts, thinking, calls, the reason to stop and the counts; or that it failed."""
    made = Written(events, {**listed(events), "stream_options": {"include_usage": True}})
    before = collect(events)
    if made.failed:
        assert made.writer.outcome == "failed"
        assert not isinstance(made.decoded(), Success)
        return
    assert isinstance(before, Success)
    answer, again = before.unwrap(), made.decoded(streaming=streaming).unwrap()

    for kind in (TextPart, RefusalPart, ReasoningPart):
        assert said(again.message, kind) == said(answer.message, kind)
    assert calls(again.message) == calls(answer.message)
    assert again.finish_reason.reason == _expected_reason(answer)
    counts = token_counts(answer.usage)
    if counts is not None:
        counts = replace(counts, total=counts.input + counts.output, cache_write_1h=0)
    assert token_counts(again.usage) == counts


def _expected_reason(answer: LLMResponse) -> str:
    kind = finish_kind(answer.finish_reason, called=bool(answer.tool_calls))
    return {"other": "stop"}.get(kind, kind)


@costly
@given(events=streams(may_fail=False))
def test_the_message_that_a_client_sends_back_is_the_response_with_all_its_state(
    events: list[LLMEvent],
) -> None:
    """Signatures, encrypted thinking, hosted tools and the order of all parts."""
    made = Written(events, listed(events))
    assume(not made.failed)

    answer = collect(events).unwrap().message
    again = echoed(made)
    assert expected(again) == expected(answer)
    if again.origin is not None:
        assert again.origin == answer.origin


def expected(answer: Message) -> list[Any]:
    """Return the parts of a response as they come back."""
    found = [_kept(part) for part in answer.content]
    return [part for part in found if part is not None]


def _kept(part: Any) -> Any:
    """Return a part without what the API has no place for."""
    if isinstance(part, ImagePart | AudioPart | DocumentPart):
        return None  # has tests of its own
    if isinstance(part, TextPart | RefusalPart) and not (part.text or part.provider_metadata):
        return None
    if part == ReasoningPart(""):
        return None
    if isinstance(part, TextPart):
        return evolve(part, logprobs=())
    if isinstance(part, ToolCallPart):
        return evolve(part, id=SHOWN_IDS.fit(part.id))
    if isinstance(part, ToolResultPart):
        return evolve(part, tool_call_id=SHOWN_IDS.fit(part.tool_call_id))
    return part


@costly
@given(events=streams())
def test_the_sdk_in_strict_mode_adds_the_stream_up_to_the_whole_completion(
    events: list[LLMEvent],
) -> None:
    """A stream and a body are one response; a failure is raised with the words for clients."""
    made = Written(events, {"stream_options": {"include_usage": True}})
    if made.failed:
        with pytest.raises(APIError) as caught:
            sdk_streamed(made)
        assert made.writer.error is not None
        said = message_of(from_llm_error(made.writer.error))
        assert caught.value.message == (said or caught.value.message)
        return
    assume(not any(isinstance(event, File) for event in events))

    added = sdk_streamed(made)["choices"][0]
    message = sdk_whole(made).choices[0].message.model_dump(exclude_unset=True)
    assert added["finish_reason"] == made.whole["choices"][0]["finish_reason"]
    assert _plain(added["message"]) == _plain(message)


def _plain(value: Any) -> Any:
    """Return *value* without what the accumulator of streams adds or leaves in.

    Blanks that came before the arguments of a call stay in a stream.
    """
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        left_out = ("index", "parsed", "parsed_arguments")
        kept = {name: one for name, one in value.items() if one is not None}
        plain = {name: _plain(one) for name, one in kept.items() if name not in left_out}
        return {name: one.strip() if name == "arguments" else one for name, one in plain.items()}
    return value


@costly
@given(events=streams())
def test_a_stream_may_stop_anywhere_and_ends_with_an_error(events: list[LLMEvent]) -> None:
    """Wherever the upstream stops, the client receives an error."""
    for cut in range(len(events)):
        made = Written(events[:cut])

        assert made.failed
        assert "error" in made.chunks[-1]
        assert b"[DONE]" not in made.body
