"""Values of an upstream's response in the responses of every front.

A value of a response is changed, and that must change what the front writes, or its diagnostics.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from llmcore.fronts.front import FRONT_IDS
from llmcore.testing import recorded_events
from tests.fronts.test_legal_requests import at
from tests.fronts.test_legal_responses import written
from tests.support.json_paths import places

A: Final = "https://a.example/"
CHAT: Final[dict[str, Any]] = {
    "id": "chatcmpl-1",
    "model": "m",
    "service_tier": "priority",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "It rains.",
                "reasoning_content": "think",
                "annotations": [
                    {"type": "url_citation", "url_citation": {"url": A, "title": "A"}},
                ],
                "images": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGkh"}}
                ],
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"a":1}'},
                    },
                    {
                        "id": "call_2",
                        "type": "custom",
                        "custom": {"name": "patch", "input": "free"},
                    },
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 20},
    },
}
RESPONSES: Final[dict[str, Any]] = {
    "id": "resp_1",
    "object": "response",
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "sum"}],
            "encrypted_content": "enc",
        },
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "w", "sources": [{"type": "url", "url": A}]},
        },
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "found",
            "server_label": "srv",
            "arguments": '{"x":1}',
            "output": "yes",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "It rains.",
                    "annotations": [{"type": "url_citation", "url": A, "title": "A"}],
                }
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "look",
            "arguments": '{"a":1}',
        },
        {
            "type": "custom_tool_call",
            "id": "ctc_1",
            "call_id": "call_2",
            "name": "patch",
            "input": "free",
        },
    ],
    "usage": {
        "input_tokens": 100,
        "output_tokens": 50,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens_details": {"reasoning_tokens": 20},
    },
}
MESSAGES: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "zz"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "w"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "url": A, "title": "A", "page_age": "2 d"}],
        },
        {
            "type": "text",
            "text": "It rains.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": A,
                    "title": "A",
                    "cited_text": "rains",
                    "encrypted_index": "ei",
                }
            ],
        },
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
    ],
    "usage": {
        "input_tokens": 60,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    },
}
GEMINI: Final[dict[str, Any]] = {
    "responseId": "r",
    "modelVersion": "m",
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"text": "think", "thought": True},
                    {"text": "It rains.", "thoughtSignature": "c2ln"},
                    {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                    {"functionCall": {"name": "look", "args": {"a": 1}, "id": "f1"}},
                ],
            },
            "groundingMetadata": {
                "groundingChunks": [{"web": {"uri": A, "title": "A"}}],
                "groundingSupports": [
                    {
                        "segment": {"endIndex": 9, "text": "It rains."},
                        "groundingChunkIndices": [0],
                    }
                ],
            },
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 40,
    },
}
BODIES: Final[Mapping[str, dict[str, Any]]] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic-messages": MESSAGES,
    "gemini": GEMINI,
}

QUIET: Final = (
    r"^(id|responseId|object|type|role)$",  # the gateway's own
    r"groundingSupports",  # the place of a citation, which its text has too
    r"\.(type|role|status|index)$",
    r"(finish|stop)_?[rR]eason$|^status$",  # the calls say it
)
"""Values that may change without a change of what is written: it says the same without them."""


def dotted(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def said(front_id: str, protocol_id: str, body: Any) -> str:
    """Return what a front writes of a response, streamed and whole, and what it reports."""
    events = recorded_events(
        protocol_id, status=200, headers={}, body=json.dumps(body).encode(), streaming=False
    )
    writer, chunks = written(front_id, events)
    assert writer.error is None
    return json.dumps([chunks, writer.whole(), str(writer.diagnostics)])


def silent(front_id: str, protocol_id: str) -> Iterator[str]:
    """Yield the values of a response that change nothing of what the front writes."""
    body = BODIES[protocol_id]
    whole = said(front_id, protocol_id, body)
    for path in places(body):
        value, place = at(body, path), dotted(path)
        if isinstance(value, dict | list) or re.search("|".join(QUIET), place):
            continue
        changed = copy.deepcopy(body)
        at(changed, path[:-1])[path[-1]] = _other(value)
        if said(front_id, protocol_id, changed) == whole:
            yield place


def _other(value: Any) -> Any:
    """Return another value, that is a number, base64 or JSON if *value* is."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value.startswith("{"):
        return value.replace("1", "2")
    return value.replace("aGkh", "aGho") if "aGkh" in value else f"{value}_other"


@pytest.mark.parametrize("protocol_id", list(BODIES))
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_what_a_response_says_is_written_or_reported(front_id: str, protocol_id: str) -> None:
    assert list(silent(front_id, protocol_id)) == []


# -- what a provider states of a response besides its content


def _with(body: dict[str, Any], *path: Any, **fields: Any) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    at(changed, path).update(fields)
    return changed


_RESULT: Final = {"type": "moderation_results", "model": "m", "results": [{"flagged": True}]}
_DETAILS: Final = {"audio_tokens": 7, "cached_tokens": 40}
FACTS: Final[Mapping[str, tuple[str, dict[str, Any], str]]] = {
    "moderation": (
        "openai-chat",
        _with(CHAT, moderation={"input": _RESULT, "output": _RESULT}),
        "moderation",
    ),
    "audio": (
        "openai-chat",
        _with(CHAT, "usage", prompt_tokens_details=_DETAILS),
        "usage.prompt_tokens_details.audio_tokens",
    ),
    "misses of the cache": (
        "openai-responses",
        _with(RESPONSES, prompt_cache_diagnostics={"status": "miss"}),
        "prompt_cache_diagnostics",
    ),
    "container": (
        "anthropic-messages",
        _with(MESSAGES, container={"id": "c", "expires_at": "2026-11-23T12:00:00Z"}),
        "container",
    ),
    "category of a refusal": (
        "anthropic-messages",
        {
            **MESSAGES,
            "content": [],
            "stop_reason": "refusal",
            "stop_details": {"type": "refusal", "category": "bio", "explanation": "No."},
        },
        "stop_details.category",
    ),
    "searches": (
        "anthropic-messages",
        _with(MESSAGES, "usage", server_tool_use={"web_search_requests": 2}),
        "usage.server_tool_use.web_search_requests",
    ),
    "place of inference": (
        "anthropic-messages",
        _with(MESSAGES, "usage", inference_geo="eu"),
        "inference_geo",
    ),
    "safety": (
        "gemini",
        _with(GEMINI, "candidates", 0, safetyRatings=[{"probability": "LOW"}]),
        "safetyRatings",
    ),
    "trace of a guardrail": (
        "bedrock-converse",
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 5},
            "performanceConfig": {"latency": "standard"},
            "trace": {"guardrail": {"actionReason": "none"}},
        },
        "trace",
    ),
    "what is to be shown with a search": (
        "gemini",
        _with(
            GEMINI, "candidates", 0, "groundingMetadata", searchEntryPoint={"renderedContent": "<"}
        ),
        "groundingMetadata.searchEntryPoint",
    ),
}
"""The protocol of a response, the response, and the name of the fact."""


@pytest.mark.parametrize("fact", list(FACTS))
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_fact_about_a_response_is_written_for_its_own_api_and_reported_for_others(
    front_id: str, fact: str
) -> None:
    protocol_id, body, name = FACTS[fact]
    events = recorded_events(
        protocol_id, status=200, headers={}, body=json.dumps(body).encode(), streaming=False
    )
    writer, chunks = written(front_id, events)
    notes = [note for note in writer.diagnostics if note.code == "response-field-dropped"]

    if front_id == protocol_id:
        assert notes == []
        assert f'"{name.rpartition(".")[2]}"' in json.dumps([chunks, writer.whole()])
    else:
        assert [(note.path, note.action) for note in notes] == [(name, "dropped")]


_SAFE: Final = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"detected": False}}
_HATE: Final = {"hate": {"filtered": False, "severity": "medium"}}
_TEXT_COUNT: Final = {"modality": "TEXT", "tokenCount": 90}


def _filtered(found: dict[str, Any]) -> dict[str, Any]:
    body = _with(CHAT, "choices", 0, content_filter_results=found)
    return {**body, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": found}]}


STATED: Final[Mapping[str, tuple[str, dict[str, Any], list[str]]]] = {
    "the filters of Azure": ("openai-chat", _filtered(_SAFE), []),
    "what they found": (
        "openai-chat",
        _filtered(_HATE),
        ["prompt_filter_results", "content_filter_results"],
    ),
    "the server of OpenRouter": (
        "openai-chat",
        _with(_with(CHAT, provider="Acme"), "usage", cost_details={"upstream_inference_cost": 0.1}),
        [],
    ),
    "edits of the context": (
        "anthropic-messages",
        _with(MESSAGES, context_management={"applied_edits": []}),
        [],
    ),
    "ratings of Google": (
        "gemini",
        _with(
            GEMINI, "candidates", 0, avgLogprobs=-0.1, safetyRatings=[{"probability": "NEGLIGIBLE"}]
        ),
        [],
    ),
    "counts of text": (
        "gemini",
        _with(GEMINI, "usageMetadata", promptTokensDetails=[_TEXT_COUNT]),
        [],
    ),
    "counts of other media": (
        "gemini",
        _with(
            GEMINI,
            "usageMetadata",
            promptTokensDetails=[_TEXT_COUNT, {"modality": "AUDIO", "tokenCount": 10}],
        ),
        ["usage.promptTokensDetails"],
    ),
    "counts of each request": (
        "anthropic-messages",
        _with(MESSAGES, "usage", iterations=[{"output_tokens": 20}, {"output_tokens": 30}]),
        ["usage.iterations"],
    ),
}
"""The protocol of a response, the response, and what of it is reported."""


@pytest.mark.parametrize("stated", list(STATED))
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_what_every_response_of_a_server_states_is_not_reported(front_id: str, stated: str) -> None:
    protocol_id, body, lost = STATED[stated]
    events = recorded_events(
        protocol_id, status=200, headers={}, body=json.dumps(body).encode(), streaming=False
    )
    writer, _ = written(front_id, events)
    notes = [note.path for note in writer.diagnostics if note.code == "response-field-dropped"]

    own = front_id == protocol_id and lost[:1] != ["prompt_filter_results"]
    assert notes == ([] if own else lost)


@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_tier_that_an_api_has_no_word_for_is_reported(front_id: str) -> None:
    body = {**RESPONSES, "service_tier": "ultrafast"}
    events = recorded_events(
        "openai-responses", status=200, headers={}, body=json.dumps(body).encode(), streaming=False
    )
    writer, _ = written(front_id, events)

    lost = [note.path for note in writer.diagnostics if note.code == "response-field-dropped"]
    assert lost == ([] if front_id == "openai-responses" else ["service_tier"])
