"""Errors, lists of models and bytes of tokens in OpenAI's form."""

from typing import Any

import openai
import pytest

from llmcore.folds.response import collect
from llmcore.fronts.errors import FrontError, from_llm_error, invalid
from llmcore.fronts.front import ListedModel, front_by_id
from llmcore.fronts.openai_chat import content as chat_content
from llmcore.fronts.openai_forms import (
    CHAT_TIERS,
    RESPONSES_TIERS,
    listed_model,
    message_of,
    model_list,
    read_cache,
    read_tier,
    service_tier,
    token_bytes,
)
from llmcore.fronts.openai_responses import content as responses_content
from llmcore.protocols.failures.errors import error_from_body
from llmcore.schema.content import TextPart, TokenLogprob
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import error_types
from llmcore.schema.events import (
    Finish,
    FinishReason,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage
from llmcore.testing import recorded_events, write_as_front
from tests.support.error_kinds import ERROR_KINDS
from tests.support.upstreams import upstream_of


@pytest.mark.parametrize("kind", ERROR_KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_all_four_fields(kind: type) -> None:
    """A status that says whose fault it is, and a message."""
    error = from_llm_error(kind("words"))
    response = front_by_id("openai-chat").error(error)

    assert response.status == error.status >= 400
    assert response.body == {
        "error": {
            "message": message_of(error),
            "type": error.type,
            "param": None,
            "code": error.code,
        }
    }


@pytest.mark.parametrize(
    ("upstream_status", "told"),
    [
        (500, (502, 502, 502)),
        (502, (502, 502, 502)),
        (503, (503, 503, 503)),
        (504, (504, 504, 504)),
        (529, (503, 529, 503)),
        (409, (409, 409, 409)),
    ],
)
def test_an_upstream_that_is_unavailable_is_told_from_one_that_failed(
    upstream_status: int, told: tuple[int, int, int]
) -> None:
    """By the status in the APIs of OpenAI, Anthropic and Google; each client may try again."""
    body: JsonObject = {"error": {"message": "The service cannot be reached."}}
    error = from_llm_error(error_from_body(provider="p", body=body, status=upstream_status))
    fronts = ("openai-chat", "anthropic-messages", "gemini")
    responses = [front_by_id(front_id).error(error) for front_id in fronts]

    assert tuple(response.status for response in responses) == told
    assert {response.headers["x-should-retry"] for response in responses} == {"true"}


def test_googles_word_for_unavailable_counts_within_a_stream_too() -> None:
    """There is no HTTP status then: the body states it."""
    body: JsonObject = {"error": {"code": 503, "message": "Try later.", "status": "UNAVAILABLE"}}

    assert from_llm_error(error_from_body(provider="google", body=body)).status == 503


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (invalid("no"), {"x-should-retry": "false"}),
        (
            FrontError(status=429, message="slow", retry_after=2.6),
            {"x-should-retry": "true", "retry-after": "3", "retry-after-ms": "2600"},
        ),
        (
            FrontError(status=429, message="empty", code="insufficient_quota"),
            {"x-should-retry": "false"},
        ),
        (from_llm_error(error_types()["AuthenticationError"]("bad")), {"x-should-retry": "false"}),
        (
            FrontError(status=503, message="full", retry_after=0.1),
            {"x-should-retry": "true", "retry-after": "1", "retry-after-ms": "100"},
        ),
        (
            FrontError(status=429, message="slow", retry_after=2.2),
            {"x-should-retry": "true", "retry-after": "3", "retry-after-ms": "2200"},
        ),
        (
            FrontError(status=429, message="slow", retry_after=7.0),
            {"x-should-retry": "true", "retry-after": "7"},
        ),
    ],
)
def test_headers_say_whether_and_when_to_try_again(
    error: FrontError, headers: dict[str, str]
) -> None:
    """The vendors' SDKs obey them, and retry most errors without."""
    assert front_by_id("openai-chat").error(error).headers == headers


@pytest.mark.parametrize(
    ("token", "data", "written"),
    [
        ("é", None, "é".encode()),
        ("\\xf0\\x9f", b"\xf0\x9f", b"\xf0\x9f"),
        ("\ufffd", b"\x99", b"\x99"),
        ("\ufffd", None, None),
        ("\ud83d", None, b"?"),
    ],
    ids=["text", "escaped part", "replaced part", "unknown part", "half of a pair"],
)
def test_the_bytes_of_a_token_are_the_upstreams_else_those_of_its_text(
    token: str, data: bytes | None, written: bytes | None
) -> None:
    """A part of a character has no bytes in its text; Chat writes null, and Responses none."""
    one = TokenLogprob(token=token, logprob=-1.0, data=data)

    assert token_bytes(one) == written
    listed = None if written is None else list(written)
    assert chat_content.native_logprobs([one])[0]["bytes"] == listed
    assert responses_content.logprobs_of([one])[0]["bytes"] == (listed or [])


@pytest.mark.parametrize(
    ("body", "retention"),
    [
        ({}, None),
        ({"prompt_cache_options": {"ttl": "30m"}}, "30m"),
        ({"prompt_cache_retention": "24h", "prompt_cache_options": {"ttl": "30m"}}, "24h"),
        ({"prompt_cache_retention": "", "prompt_cache_options": {"ttl": "30m"}}, ""),
    ],
    ids=["none", "of the options", "both", "empty"],
)
def test_the_retention_of_the_cache_is_what_the_client_says(
    body: JsonObject, retention: str | None
) -> None:
    """An empty one too: whether a word is legal is for the upstream to say."""
    read = read_cache(body, upstream_of("openai-responses", "gpt-5.2"), Diagnostics())

    assert read.retention == retention


@pytest.mark.parametrize("front_id", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
def test_bytes_of_tokens_survive_a_response_and_its_front(front_id: str, streaming: bool) -> None:
    """Read by the API's own protocol from what its front wrote."""
    token = TokenLogprob(
        token="\\xf0",
        logprob=-0.5,
        top=(TokenLogprob(token="\\xe2", logprob=-1.0, data=b"\xe2"),),
        data=b"\xf0",
    )
    events: list[LLMEvent] = [
        StreamStart(provider="test", model="m", id="r"),
        StepStart(),
        TextStart("t"),
        TextDelta("t", "\\xf0", (token,)),
        TextEnd("t", "\\xf0", logprobs=(token,)),
        StepFinish(finish_reason=FinishReason("stop")),
        Finish(finish_reason=FinishReason("stop")),
    ]
    asked: JsonObject = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "input": "Hi",
        "logprobs": True,
        "top_logprobs": 1,
    }
    data = write_as_front(front_id, events, streaming=streaming, request=asked)
    kind = "text/event-stream" if streaming else "application/json"
    read = recorded_events(
        front_id, status=200, headers={"content-type": kind}, body=data, streaming=streaming
    )

    (part,) = collect(read).unwrap().message.content
    assert isinstance(part, TextPart)
    assert part.logprobs == (token,)


def test_a_model_is_what_the_sdk_reads_with_its_window_where_that_is_known() -> None:
    """Both forms: alone, and in the list."""
    bare = ListedModel(id="m/1", owner="openai")
    known = ListedModel(id="m2", owner="us", max_input_tokens=1000)

    assert openai.types.Model.model_validate(listed_model(bare), strict=True).id == "m/1"
    assert listed_model(known)["max_model_len"] == 1000
    assert model_list([bare, known], {}) == {
        "object": "list",
        "data": [listed_model(bare), listed_model(known)],
    }


@pytest.mark.parametrize(
    ("tier", "protocol_id", "read", "lost"),
    [
        ("flex", "gemini", "flex", []),
        ("fast", "anthropic-messages", "priority", []),
        ("fast", "openai-responses", "fast", []),
        ("scale", "bedrock-converse", None, ["service_tier"]),
        ("ultrafast", "gemini", None, ["service_tier"]),
        ("ultrafast", "openai-responses", "ultrafast", []),
        ("ultrafast", None, "ultrafast", []),
    ],
)
def test_tiers_of_openai_alone_are_kept_from_other_vendors(
    tier: str, protocol_id: str | None, read: str | None, lost: list[str]
) -> None:
    """They would refuse the request for them."""
    diagnostics = Diagnostics()

    assert read_tier({"service_tier": tier}, protocol_id, diagnostics) == read
    assert [one.path for one in diagnostics.entries] == lost


@pytest.mark.parametrize(("tiers", "shown"), [(RESPONSES_TIERS, "ultrafast"), (CHAT_TIERS, None)])
@pytest.mark.parametrize("in_usage", [True, False])
def test_a_tier_is_shown_to_clients_whose_api_has_it(
    tiers: frozenset[str], shown: str | None, *, in_usage: bool
) -> None:
    stated: Any = {"provider_metadata": {"openai": {"service_tier": "ultrafast"}}}
    if in_usage:
        stated = {"usage": Usage(service_tier="ultrafast")}

    assert service_tier(Finish(finish_reason=FinishReason("stop"), **stated), tiers) == shown
