"""How responses ended, and what they consumed."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from llmcore.folds.response import collect
from llmcore.fronts.finishing import finish_kind, token_counts
from llmcore.fronts.front import FRONT_IDS
from llmcore.schema.events import Finish, FinishReason, FinishReasonKind
from llmcore.schema.usage import Usage
from llmcore.testing import recorded_events, write_as_front
from tests.support.strategies.responses import usages
from tests.support.wire import responses


@pytest.mark.parametrize(
    ("reason", "called", "kind"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("other", True, "tool_calls"),
        ("other", False, "other"),
        ("length", True, "length"),
        ("content_filter", True, "content_filter"),
        ("error", True, "error"),
    ],
)
def test_a_finish_reason_agrees_with_the_calls_of_the_response(
    reason: FinishReasonKind, called: bool, kind: FinishReasonKind
) -> None:
    """Calls are run; a call reason without calls is corrected; a cut response stays one."""
    assert finish_kind(FinishReason(reason), called=called) == kind


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("streaming", [False, True])
def test_an_error_for_a_reason_is_told_with_the_providers_words(
    front_id: str, streaming: bool
) -> None:
    words = "Malformed function call: f(a="
    candidate = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": words}
    body = json.dumps({"candidates": [candidate]}).encode()
    events = recorded_events("gemini", status=200, headers={}, body=body, streaming=False)

    made = write_as_front(front_id, events, streaming=streaming).decode()

    own = f'"finishMessage":"{words}"'  # Gemini's clients know the reason
    assert (own if front_id == "gemini" else f"(MALFORMED_FUNCTION_CALL): {words}") in made


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"candidates": [{"finishReason": "SAFETY", "finishMessage": "Not this."}]}, "Not this."),
        (
            {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not this."}},
            "Not this.",
        ),
        ({"candidates": [{"finishReason": "SAFETY"}]}, None),
    ],
    ids=["response", "prompt", "no words"],
)
def test_clients_of_messages_get_the_explanation_of_a_refusal(
    document: dict[str, object], words: str | None
) -> None:
    body = json.dumps(document).encode()
    events = recorded_events("gemini", status=200, headers={}, body=body, streaming=False)

    made = json.loads(write_as_front("anthropic-messages", events, streaming=False))

    details = {"type": "refusal", "category": None, "explanation": words}
    assert (made["stop_reason"], made["stop_details"]) == ("refusal", details)


_ASKING_FOR_JSON: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "messages": [{"role": "user", "content": "q"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "stream_options": {"include_usage": True},
    },
    "anthropic-messages": {
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "q"}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "thinkingConfig": {"includeThoughts": True},
        },
    },
}


@pytest.mark.parametrize("front_id", list(_ASKING_FOR_JSON))
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("in_json", [False, True])
def test_commentary_is_thinking_for_clients_that_asked_for_a_document(
    front_id: str, streaming: bool, in_json: bool
) -> None:
    """They take all texts for one document; others get it as the text that it is."""
    output = [
        responses.message("I look.", id="msg_0", phase="commentary"),
        responses.message('{"a": 2}', phase="final_answer"),
    ]
    document = json.dumps(responses.document(output)).encode()
    events = recorded_events(
        "openai-responses", status=200, headers={}, body=document, streaming=False
    )
    asked = {"model": "m", **copy.deepcopy(_ASKING_FOR_JSON[front_id])}
    if not in_json:
        for name in ("response_format", "output_config"):
            asked.pop(name, None)
        asked.get("generationConfig", {}).pop("responseMimeType", None)

    body = write_as_front(front_id, events, streaming=streaming, request=asked)
    kind = {"content-type": "text/event-stream" if streaming else "application/json"}
    read = recorded_events(front_id, status=200, headers=kind, body=body, streaming=streaming)

    response = collect(read).unwrap()
    assert response.text == ('{"a": 2}' if in_json else 'I look.{"a": 2}')
    assert ("I look." in (response.reasoning or "")) is in_json


_CUT_OFF = {
    "openai-chat": '"finish_reason":"length"',
    "openai-responses": '"status":"incomplete"',
    "anthropic-messages": '"stop_reason":"max_tokens"',
    "gemini": '"finishReason":"MAX_TOKENS"',
}


@pytest.mark.parametrize("status", ["queued", "in_progress"])
@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_response_that_still_runs_is_cut_off_and_that_is_reported(
    front_id: str, status: str, streaming: bool
) -> None:
    """Clients would take the beginning for the whole."""
    said = [{"type": "output_text", "text": "So far", "annotations": []}]
    item = {"type": "message", "id": "m", "role": "assistant", "content": said}
    body = {"id": "resp_1", "object": "response", "model": "m", "status": status, "output": [item]}
    events = recorded_events(
        "openai-responses", status=200, headers={}, body=json.dumps(body).encode(), streaming=False
    )
    made = write_as_front(front_id, events, streaming=streaming).decode()

    assert "So far" in made
    assert _CUT_OFF[front_id] in made.replace(": ", ":")
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert [(one.code, one.path) for one in finish.diagnostics] == [
        ("response-unfinished", "status")
    ]


@given(usages())
def test_counts_of_any_usage_add_up_and_none_is_below_zero(usage: Usage) -> None:
    """Input is what was cached and the rest, output what was thought and the rest."""
    counts = token_counts(usage)
    if counts is None:
        assert usage.input_tokens is None
        assert usage.output_tokens is None
        return

    assert counts.input == counts.uncached_input + counts.cache_read + counts.cache_write
    assert counts.output == counts.visible_output + counts.reasoning
    assert counts.cache_write_1h <= counts.cache_write
    assert min(counts.uncached_input, counts.visible_output, counts.reasoning, counts.total) >= 0


@pytest.mark.parametrize("usage", [None, Usage(), Usage(reasoning_tokens=3)])
def test_a_response_without_counts_has_none(usage: Usage | None) -> None:
    """Missing counts are not 0."""
    assert token_counts(usage) is None
