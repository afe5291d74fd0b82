"""How responses begin and end: reasons, usage, errors."""

import json
from typing import Any

import pytest

from llmcore.protocols.openai_responses import stream
from llmcore.schema import errors
from llmcore.schema.events import ErrorEvent, Finish, FinishReason, StreamStart
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.schema.usage import Usage
from tests.support.wire.protocol import error, response
from tests.support.wire.responses import (
    ASKED,
    CLIENT_RUN,
    HOSTED,
    USAGE,
    Native,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    refusal_part,
    streamed,
    whole,
)

# -- the beginning


def test_start_event_has_response_id_and_model() -> None:
    """The response's id and the model that answers, which may be another."""
    start = streamed(events_of([message("Hi.")]))[0]

    assert start == StreamStart(
        provider="openai", model="gpt-5.2-2026-01-01", id="resp_1", protocol="openai-responses"
    )


def test_a_server_that_names_no_model() -> None:
    """The model is then the one that was asked for."""
    events = events_of([message("Hi.")])
    for event in events[:2]:
        event["response"] = {"id": "resp_1", "object": "response", "status": "in_progress"}

    assert response(streamed(events)).model == "gpt-5.2"


def test_a_stream_may_begin_anywhere() -> None:
    """A resumed stream begins after its first events."""
    answer = response(streamed(events_of([message("Hi.")])[2:]))

    assert (answer.text, answer.provider) == ("Hi.", "openai")


# -- reasons

REASONS: dict[str, tuple[list[Native], str, dict[str, Any], FinishReason]] = {
    "text": ([message("Hi.")], "completed", {}, FinishReason("stop", "completed")),
    "nothing": ([], "completed", {}, FinishReason("stop", "completed")),
    "call": ([function_call()], "completed", {}, FinishReason("tool_calls", "completed")),
    "text and call": (
        [message("Hi."), function_call()],
        "completed",
        {},
        FinishReason("tool_calls", "completed"),
    ),
    "built-in call": (
        [CLIENT_RUN["shell"]],
        "completed",
        {},
        FinishReason("tool_calls", "completed"),
    ),
    "hosted call": (HOSTED["web_search"], "completed", {}, FinishReason("stop", "completed")),
    "refusal": (
        [message(refusal_part("No."))],
        "completed",
        {},
        FinishReason("stop", "completed"),
    ),
    "limit": (
        [message("Hi")],
        "incomplete",
        {"incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason("length", "max_output_tokens"),
    ),
    "limit in the word of another API": (
        [message("Hi")],
        "incomplete",
        {"incomplete_details": {"reason": "length"}},
        FinishReason("length", "length"),
    ),
    "limit while thinking": (
        [reasoning()],
        "incomplete",
        {"incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason("length", "max_output_tokens"),
    ),
    "limit without a word": (
        [],
        "incomplete",
        {"incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason("length", "max_output_tokens"),
    ),
    "limit in a call": (
        [function_call('{"a')],
        "incomplete",
        {"incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason("length", "max_output_tokens"),
    ),
    "filter": (
        [message("Hi")],
        "incomplete",
        {"incomplete_details": {"reason": "content_filter"}},
        FinishReason("content_filter", "content_filter"),
    ),
    "steered": (
        [message("Hi")],
        "incomplete",
        {"incomplete_details": {"reason": "steered"}},
        FinishReason("other", "steered"),
    ),
    "call to be run": (
        [function_call()],
        "requires_action",
        {},
        FinishReason("tool_calls", "requires_action"),
    ),
    "incomplete, nobody knows why": (
        [message("Hi")],
        "incomplete",
        {"incomplete_details": None},
        FinishReason("other", "incomplete"),
    ),
}


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", REASONS)
def test_why_the_model_stopped(name: str, form: str) -> None:
    """Streamed or whole, with its usage, whatever came of the response."""
    output, status, fields, reason = REASONS[name]
    native = document(output, status, **fields)

    events = streamed(events_of(output, status, **fields)) if form == "stream" else whole(native)
    answer = response(events)

    assert answer.finish_reason == reason
    assert answer.usage is not None
    assert answer.usage.total_tokens == 30
    assert answer.raw == native


def test_a_status_that_is_missing_is_that_of_the_event() -> None:
    """Servers that imitate the API leave fields out."""
    events = events_of([message("Hi.")], "incomplete")
    del events[-1]["response"]["status"]

    assert response(streamed(events)).finish_reason == FinishReason("other", "incomplete")


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_in_the_background_is_not_a_response_yet(status: str) -> None:
    """It ends with where to go on reading."""
    answer = response(whole(document([], status, usage=None, background=True)))

    assert answer.finish_reason == FinishReason("other", status)
    assert answer.provider_metadata["openai"]["resume"] == {
        "response_id": "resp_1",
        "sequence_number": None,
    }


def test_facts_of_the_response_are_kept_as_metadata() -> None:
    """Facts about it are kept, what repeats the request is not."""
    facts: dict[str, Any] = {
        "access_programs": {"cyber": "standard"},
        "conversation": {"id": "conv_1"},
        "content_filters": [{"blocked": False}],
        "input_transformations": [{"id": "rs_0", "action": "removed"}],
        "moderation": {"input": {}},
        "tool_usage": {"web_search": {"num_requests": 1}},
    }
    native = document([message("Hi.")], instructions="Be brief.", tools=[], **facts)

    answer = response(whole(native))

    assert answer.provider_metadata == {"openai": {"service_tier": "default", **facts}}


# -- usage

USAGES: dict[str, tuple[Native, dict[str, Any]]] = {
    "full": (
        USAGE,
        {
            "input_tokens": 20,
            "output_tokens": 10,
            "total_tokens": 30,
            "cache_read_tokens": 8,
            "cache_write_tokens": 2,
            "uncached_input_tokens": 10,
            "reasoning_tokens": 4,
        },
    ),
    "llama.cpp": (
        {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        {
            "input_tokens": 5,
            "output_tokens": 2,
            "total_tokens": 7,
            "uncached_input_tokens": 5,
            "cache_read_tokens": None,
            "reasoning_tokens": None,
        },
    ),
    "openrouter": (
        {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cost": 0.25},
        {"cost_usd": 0.25},
    ),
    "perplexity": (
        {
            "input_tokens": 10,
            "output_tokens": 2,
            "total_tokens": 12,
            "input_tokens_details": {
                "cache_read_input_tokens": 4,
                "cache_creation_input_tokens": 3,
            },
            "cost": {"currency": "USD", "input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3},
        },
        {
            "cache_read_tokens": 4,
            "cache_write_tokens": 3,
            "uncached_input_tokens": 3,
            "cost_usd": 0.3,
        },
    ),
    "xai": (
        {"input_tokens": 5, "output_tokens": 2, "cost_in_usd_ticks": 25_000_000},
        {"cost_usd": 0.0025, "total_tokens": 7},
    ),
    "under the names of Chat Completions": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_tokens": 4,
            "uncached_input_tokens": 6,
            "reasoning_tokens": 3,
        },
    ),
    "contradiction": (
        {
            "input_tokens": 10,
            "output_tokens": 1,
            "total_tokens": 11,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 8},
        },
        {"input_tokens": 10, "total_tokens": 11, "uncached_input_tokens": None},
    ),
    "nonsense": (
        {"input_tokens": None, "output_tokens": "many", "input_tokens_details": 3},
        {"input_tokens": None, "output_tokens": None},
    ),
}


@pytest.mark.parametrize("name", USAGES)
def test_usage_has_inclusive_totals_and_the_native_object(name: str) -> None:
    """Inclusive totals, a disjoint breakdown, the cost as stated, and the native object."""
    native, fields = USAGES[name]

    usage = response(whole(document([message("Hi.")], usage=native))).usage

    assert usage is not None
    assert {field: getattr(usage, field) for field in fields} == fields
    assert usage.raw == native


@pytest.mark.parametrize("usage", [None, {}])
def test_missing_usage_is_none(usage: Any) -> None:
    """Which is not 0."""
    assert response(whole(document([message("Hi.")], usage=usage))).usage == Usage()


# -- errors

ERRORS: dict[str, tuple[Native, type[errors.LLMError], str]] = {
    "flat event": (
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None},
        errors.RateLimitError,
        "Slow down.",
    ),
    "nested event": (
        {
            "type": "error",
            "error": {
                "type": "insufficient_quota",
                "code": "insufficient_quota",
                "message": "Pay.",
            },
        },
        errors.QuotaExceededError,
        "Pay.",
    ),
    "server": (
        {"type": "error", "code": "server_error", "message": "Broken."},
        errors.ServerError,
        "Broken.",
    ),
    "named within the response": (
        {"type": "response.error", "error": {"type": "server_error", "message": "Broken."}},
        errors.ServerError,
        "Broken.",
    ),
    "without a code": (
        {"type": "error", "code": None, "message": "Something.", "param": None},
        errors.ProviderError,
        "Something.",
    ),
    "bare body": (
        {"error": {"message": "Too long", "code": "context_length_exceeded"}},
        errors.ContextLengthError,
        "Too long",
    ),
    "vLLM": (
        {"object": "error", "type": "BadRequestError", "message": "Too hot.", "code": 400},
        errors.InvalidRequestError,
        "Too hot.",
    ),
    "a list of errors": (
        {"success": False, "errors": [{"code": 7000, "message": "No route."}]},
        errors.ProviderError,
        "No route.",
    ),
    "failed": (
        {
            "type": "response.failed",
            "response": {
                **document([], "failed"),
                "error": {"code": "server_error", "message": "The model broke."},
            },
        },
        errors.ServerError,
        "The model broke.",
    ),
    "failed, with OpenRouter's type beside the error": (
        {
            "type": "response.failed",
            "response": {
                **document([], "failed"),
                "error": {"code": "server_error", "message": "No key."},
                "error_type": "authentication",
            },
        },
        errors.AuthenticationError,
        "No key.",
    ),
    "failed without a response": (
        {"type": "response.failed", "error": {"type": "server_error", "message": "It broke."}},
        errors.ServerError,
        "It broke.",
    ),
    "failed without a word": (
        {"type": "response.failed", "response": {"id": "resp_1"}},
        errors.ProviderError,
        "without an error",
    ),
    "cancelled": (
        {"type": "response.cancelled", "response": document([], "cancelled")},
        errors.AbortError,
        "cancelled",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_in_a_stream(name: str) -> None:
    """One error, of the class it is, with what had arrived."""
    event, kind, words = ERRORS[name]
    events = events_of([message("Hello.")])
    cut = next(n for n, e in enumerate(events) if e["type"].endswith("text.done"))

    found = error(streamed([*events[:cut], event, *events[cut:]]))

    assert type(found) is kind
    assert words in str(found)
    assert found.provider == "openai"
    assert found.partial is not None
    assert found.partial.text == "Hello."


def test_an_error_before_anything_else() -> None:
    """The response may be missing altogether."""
    (event,) = streamed([ERRORS["flat event"][0]])

    assert isinstance(event, ErrorEvent)


@pytest.mark.parametrize("data", [b"{", b"Internal error", b"", b"[]"])
def test_a_frame_that_is_called_an_error_is_one(data: bytes) -> None:
    """Whatever it holds."""
    found = error(streamed(b"event: error\ndata: " + data + b"\n\n"))

    assert isinstance(found, errors.LLMError)
    assert found.message


WHOLE_ERRORS: dict[str, tuple[Any, type[errors.LLMError]]] = {
    "error body": (
        {"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}},
        errors.RateLimitError,
    ),
    "failed": (
        document([], "failed", error={"code": "server_error", "message": "Broken."}),
        errors.ServerError,
    ),
    "cancelled": (document([], "cancelled"), errors.AbortError),
    "no output": ({"id": "resp_1", "object": "response"}, errors.StreamError),
    "FastAPI": ({"detail": "Not Found"}, errors.NotFoundError),
    "vLLM": (
        {"object": "error", "type": "NotFoundError", "message": "No model.", "code": 404},
        errors.NotFoundError,
    ),
    "list": ([], errors.StreamError),
    "null": (None, errors.StreamError),
    "web page": (b"<html></html>", errors.StreamError),
    "nothing": (b"", errors.StreamError),
}


@pytest.mark.parametrize("name", WHOLE_ERRORS)
def test_whole_bodies_without_a_response_are_errors(name: str) -> None:
    """Each is an error of its class, never an exception."""
    native, kind = WHOLE_ERRORS[name]

    assert type(error(whole(native))) is kind


def test_failed_response_keeps_its_text() -> None:
    """Its text is in the partial response, its half-written calls are not."""
    output = [reasoning("Hm."), message("Hello."), function_call('{"ci')]
    native = document(output, "failed", error={"code": "server_error", "message": "Broken."})

    partial = error(whole(native)).partial

    assert partial is not None
    assert (partial.text, partial.reasoning, partial.tool_calls) == ("Hello.", "Hm.", ())


def test_nothing_comes_after_the_end() -> None:
    """Frames behind the final event are not read."""
    events = events_of([message("Hi.")])

    assert streamed([*events, *events]) == streamed(events)


def test_a_sentinel_is_not_an_end() -> None:
    """Some servers send `[DONE]`; only a final event says that the response is whole."""
    body = b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events_of([]))
    cut = body.rpartition(b"data: ")[0]

    assert isinstance(streamed(body + b"data: [DONE]\n\n")[-1], Finish)
    assert isinstance(error(streamed(cut + b"data: [DONE]\n\n")), errors.StreamError)


def test_types_may_stand_in_the_frames_name_only() -> None:
    """The event's name is then its type."""
    frames = b"".join(
        f"event: {event.pop('type')}\ndata: {json.dumps(event)}\n\n".encode()
        for event in events_of([message("Hi.")])
    )

    assert response(streamed(frames)).text == "Hi."


@pytest.mark.parametrize("named", [True, False])
def test_a_response_may_come_without_an_event_around_it(named: bool) -> None:
    """The frame's name is then the event's type, or else the response's status."""
    frames = b""
    for event in events_of([message("Hi.")]):
        name = event["type"]
        data = json.dumps(event.get("response", event)).encode()
        frames += (f"event: {name}\n".encode() if named else b"") + b"data: " + data + b"\n\n"

    assert streamed(frames) == streamed(events_of([message("Hi.")]))


@pytest.mark.parametrize("kind", [None, [], {"a": 1}, 7])
def test_invalid_event_type_falls_back_to_the_frame_name(kind: Any) -> None:
    """The frame's name counts instead; without one, the event is ignored or an error."""
    answer = events_of([message("Hi.")])

    assert streamed([*answer[:3], {"type": kind, "delta": "?"}, *answer[3:]]) == streamed(answer)
    assert stream.decode(("keepalive", json.dumps({"type": kind}).encode())) == {
        "type": "keepalive"
    }
    failure = error(streamed([{"type": kind, "error": {"message": "Broken."}}]))
    assert failure.message == "Broken."


def test_a_request_without_a_provider() -> None:
    """Native parts are then the API's own."""
    asked = request(model=Model("gpt-5.2", ""), prompt="Hi")
    native = {"type": "dream", "id": "d"}

    (part,) = response(whole(document([native]), asked=asked)).message.content

    assert part.provider == "openai"  # type: ignore[union-attr]
    assert ASKED.provider_id == "openai"
