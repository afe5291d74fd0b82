"""Every front in front of every upstream protocol: what single requests ask for, and how they end.

The body that the upstream gets is read in its own form, so that nothing of ours judges itself.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from attrs import evolve

from llmcore.catalog.lookup import get_model_info
from tests.support.servers.front_gateways import ASKERS, MODEL, WEATHER, gateway
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.matrix import (
    ANTHROPIC,
    COLUMNS,
    GEMINI,
    PIXEL_64,
    Column,
    Native,
    Said,
    playing,
)

fronts = pytest.mark.parametrize("front", list(ASKERS))
columns = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.id)
ANSWER = Said(text="I see.")
PNG = f"data:image/png;base64,{PIXEL_64}"


def asked(front: str, **fields: Any) -> tuple[str, Native]:
    """Return the path and the body of a request with *fields*."""
    match front:
        case "openai-responses":
            return "/v1/responses", {"model": MODEL, "input": "Hi", "store": False, **fields}
        case "openai-chat":
            hi = [{"role": "user", "content": "Hi"}]
            return "/v1/chat/completions", {"model": MODEL, "messages": hi, **fields}
        case "anthropic-messages":
            hi = [{"role": "user", "content": "Hi"}]
            return "/v1/messages", {"model": MODEL, "max_tokens": 90, "messages": hi, **fields}
        case _:
            contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
            path = f"/v1beta/models/{MODEL}:generateContent"
            return path, {"contents": contents, **fields}


def sent(column: Column, front: str, **fields: Any) -> tuple[Native, str]:
    """Return the body that the upstream got of a request, and what was reported."""
    path, body = asked(front, **fields)
    with playing(column, ANSWER) as scene, gateway(scene.model, relay=False) as url:
        answer = httpx.post(url + path, json=body)
    assert answer.status_code == 200, answer.text
    return scene.bodies[0], answer.headers.get("x-openbridge-diagnostics", "")


# -- results of tools

CALL: Mapping[str, Any] = {"name": "weather", "arguments": '{"city": "Oslo"}'}
RESULTS: Mapping[str, Callable[[Any], Native]] = {
    "openai-responses": lambda output: {
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "call_id": "call_1", **CALL},
            {"type": "function_call_output", "call_id": "call_1", "output": output},
        ]
    },
    "openai-chat": lambda content: {
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": content},
        ]
    },
    "anthropic-messages": lambda fields: {
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}}
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", **fields}]},
        ]
    },
    "gemini": lambda fields: {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", **fields}}]},
        ]
    },
}
"""A conversation with the result of a tool, in each front's form."""
PICTURES: Mapping[str, Any] = {
    "openai-responses": [
        {"type": "input_text", "text": "the map"},
        {"type": "input_image", "image_url": PNG},
    ],
    "openai-chat": [
        {"type": "text", "text": "the map"},
        {"type": "image_url", "image_url": {"url": PNG}},
    ],
    "anthropic-messages": {
        "content": [
            {"type": "text", "text": "the map"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL_64},
            },
        ]
    },
    "gemini": {
        "response": {"output": "the map"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL_64}}],
    },
}
DECLARED: Mapping[str, Any] = {
    **WEATHER,
    "gemini": {"tools": [{"functionDeclarations": [{"name": "weather", "parameters": {}}]}]},
}


@columns
@fronts
def test_a_picture_in_a_result_reaches_the_model_once(front: str, column: Column) -> None:
    """With the text beside it, in whatever place the upstream has for pictures."""
    fields = RESULTS[front](PICTURES[front])
    body, _ = sent(column, front, **fields, **DECLARED[front])

    assert json.dumps(body).count(PIXEL_64) == 1
    assert json.dumps(body).count("the map") == 1
    assert "image/png" in json.dumps(body) or column.id == "bedrock"


MISLABELED: Mapping[str, Native] = {
    "openai-responses": {
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": f"data:image/jpg;base64,{PIXEL_64}"}
                ],
            }
        ]
    },
    "openai-chat": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/jpg;base64,{PIXEL_64}"},
                    }
                ],
            }
        ]
    },
    "anthropic-messages": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/jpeg", "data": PIXEL_64},
                    }
                ],
            }
        ]
    },
    "gemini": {
        "contents": [
            {
                "role": "user",
                "parts": [{"inlineData": {"mimeType": "image/jpeg", "data": PIXEL_64}}],
            }
        ]
    },
}
"""A PNG image with the type of another."""


@columns
@fronts
def test_an_image_is_sent_with_the_type_that_its_bytes_have(front: str, column: Column) -> None:
    """Anthropic refuses an image whose declared type is another."""
    body, _ = sent(column, front, **MISLABELED[front])

    assert PIXEL_64 in json.dumps(body)
    assert "jp" not in json.dumps(body)
    assert "png" in json.dumps(body)


FAILURES: Mapping[str, Any] = {
    "anthropic-messages": {"content": "no such city", "is_error": True},
    "gemini": {"response": {"error": "no such city"}},
}
"""In the APIs that can say that a tool failed."""


def failed_result(column: Column, body: Native) -> Any:
    """Return what the upstream is shown of a failed tool, in its own form."""
    last = column.history(body)[-1]
    match column.id:
        case "openai":
            return last["output"]
        case "compatible":
            return last["content"]
        case "anthropic":
            (result,) = last["content"]
            assert result["is_error"] is True
            return result["content"]
        case "gemini":
            (part,) = last["parts"]
            return part["functionResponse"]["response"]["error"]
        case _:
            (block,) = last["content"]
            assert block["toolResult"]["status"] == "error"
            return block["toolResult"]["content"]


@columns
@pytest.mark.parametrize("front", list(FAILURES))
def test_a_failed_tool_is_a_failure_at_the_upstream(front: str, column: Column) -> None:
    """By its mark where the API has one; its words everywhere."""
    fields = RESULTS[front](FAILURES[front])
    body, _ = sent(column, front, **fields, **DECLARED[front])

    assert "no such city" in json.dumps(failed_result(column, body))


SEARCH_BESIDE_A_FUNCTION: Mapping[str, Native] = {
    "openai-responses": {"tools": [{"type": "web_search"}, *WEATHER["openai-responses"]["tools"]]},
    "openai-chat": {"web_search_options": {}, **WEATHER["openai-chat"]},
    "anthropic-messages": {
        "tools": [
            {"type": "web_search_20250305", "name": "web_search"},
            *WEATHER["anthropic-messages"]["tools"],
        ]
    },
    "gemini": {
        "tools": [
            {"googleSearch": {}},
            {"functionDeclarations": [{"name": "weather", "parameters": {}}]},
        ]
    },
}


@fronts
@pytest.mark.parametrize("version", ["3-pro-preview", "2.5-flash"])
def test_a_search_beside_functions_is_switched_on_or_left_out(front: str, version: str) -> None:
    """Gemini 3 has a switch for both; models before it refuse them together."""
    path, body = asked(front, **SEARCH_BESIDE_A_FUNCTION[front])
    with playing(GEMINI, ANSWER) as scene:
        model = evolve(scene.model, id=f"gemini-{version}")
        with gateway(model, relay=False) as url:
            answer = httpx.post(url + path, json=body)
    sent_body = scene.bodies[0]
    kinds = [kind for tool in sent_body["tools"] for kind in tool]
    switched = sent_body.get("toolConfig", {}).get("includeServerSideToolInvocations")

    assert answer.status_code == 200, answer.text
    if version.startswith("3"):
        assert (sorted(kinds), switched) == (["functionDeclarations", "googleSearch"], True)
    else:
        assert (kinds, switched) == (["functionDeclarations"], None)
        assert "unsupported-tool" in answer.headers["x-openbridge-diagnostics"]


# -- the form of the response

SCHEMA: Native = {
    "type": "object",
    "properties": {"rains": {"type": "boolean"}},
    "required": ["rains"],
    "additionalProperties": False,
}
FORMATS: Mapping[str, Native] = {
    "openai-responses": {
        "text": {"format": {"type": "json_schema", "name": "rain", "schema": SCHEMA}}
    },
    "openai-chat": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "rain", "schema": SCHEMA},
        }
    },
    "anthropic-messages": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "gemini": {
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        }
    },
}


@columns
@fronts
def test_a_schema_of_the_response_is_the_upstreams(front: str, column: Column) -> None:
    """In the place that its API has for it."""
    body, _ = sent(column, front, **FORMATS[front])
    assert column.schema_of is not None
    schema = column.schema_of(body)

    assert {name: schema[name] for name in ("type", "properties", "required")} == {
        name: SCHEMA[name] for name in ("type", "properties", "required")
    }


@pytest.mark.parametrize("front", [name for name in ASKERS if name != "anthropic-messages"])
def test_a_request_without_a_limit_may_have_all_that_claude_can_write(front: str) -> None:
    """Only the Messages API requires a limit; a small one would cut responses off."""
    with playing(ANTHROPIC, ANSWER) as scene, gateway(scene.model, relay=False) as url:
        path, body = asked(front)
        assert httpx.post(url + path, json=body).status_code == 200

    known = get_model_info("claude-opus-4-6", "anthropic")
    assert known is not None
    assert scene.bodies[0]["max_tokens"] == known.max_output
    assert (known.max_output or 0) >= 64_000


LIMITS: Mapping[str, Native] = {
    "openai-responses": {"max_output_tokens": 77},
    "openai-chat": {"max_completion_tokens": 77},
    "anthropic-messages": {"max_tokens": 77},
    "gemini": {"generationConfig": {"maxOutputTokens": 77}},
}
LIMIT_AT: Mapping[str, Callable[[Native], Any]] = {
    "openai": lambda body: body["max_output_tokens"],
    "compatible": lambda body: body["max_tokens"],
    "anthropic": lambda body: body["max_tokens"],
    "gemini": lambda body: body["generationConfig"]["maxOutputTokens"],
    "bedrock": lambda body: body["inferenceConfig"]["maxTokens"],
}


@columns
@fronts
def test_a_limit_of_tokens_has_the_upstreams_name(front: str, column: Column) -> None:
    """Every spelling becomes every other."""
    body, _ = sent(column, front, **LIMITS[front])

    assert LIMIT_AT[column.id](body) == 77


STOPS: Mapping[str, Native] = {
    "openai-chat": {"stop": ["END", "STOP"]},
    "anthropic-messages": {"stop_sequences": ["END", "STOP"]},
    "gemini": {"generationConfig": {"stopSequences": ["END", "STOP"]}},
}
"""Responses has none."""
STOPS_AT: Mapping[str, Callable[[Native], Any]] = {
    "anthropic": lambda body: body["stop_sequences"],
    "gemini": lambda body: body["generationConfig"]["stopSequences"],
    "bedrock": lambda body: body["inferenceConfig"]["stopSequences"],
    "compatible": lambda body: body["stop"],
}


@columns
@pytest.mark.parametrize("front", list(STOPS))
def test_stop_sequences_go_up_or_are_reported(front: str, column: Column) -> None:
    """Responses has no field for them."""
    body, notes = sent(column, front, **STOPS[front])

    if column.id == "openai":
        assert "dropped unsupported-parameter" in notes
        assert "END" not in json.dumps(body)
    else:
        assert STOPS_AT[column.id](body) == ["END", "STOP"]


# -- ends

ENDS: Mapping[str, Callable[[Native, bool], Native]] = {
    "openai": lambda document, cut: {
        **document,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens" if cut else "content_filter"},
    },
    "anthropic": lambda document, cut: {
        **document,
        "stop_reason": "max_tokens" if cut else "refusal",
    },
    "gemini": lambda document, cut: {
        **document,
        "candidates": [
            {**document["candidates"][0], "finishReason": "MAX_TOKENS" if cut else "SAFETY"}
        ],
    },
    "bedrock": lambda document, cut: {
        **document,
        "stopReason": "max_tokens" if cut else "guardrail_intervened",
    },
    "compatible": lambda document, cut: {
        **document,
        "choices": [
            {**document["choices"][0], "finish_reason": "length" if cut else "content_filter"}
        ],
    },
}
"""A response's body, cut off by its limit or by a filter, in each provider's words."""
CUT = {
    "openai-responses": ("max_output_tokens", "content_filter"),
    "openai-chat": ("length", "content_filter"),
    "anthropic-messages": ("max_tokens", "refusal"),
    "gemini": ("MAX_TOKENS", "SAFETY"),
}
"""The finish reasons of a limit and of a filter, as the clients of each front read them."""


@contextmanager
def ending(column: Column, *, cut: bool) -> Iterator[str]:
    """Run a server whose responses end early; its URL."""
    document = ENDS[column.id](column.whole(Said(text="It rains in")), cut)

    def answer(received: Received) -> Answer:
        if column.streams(received):
            return Answer([column.streamed(document)], headers={"content-type": column.stream_type})
        data = json.dumps(document).encode()
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    with serve(answer) as server:
        yield server.url


@columns
@fronts
@pytest.mark.parametrize("cut", [True, False], ids=["length", "refusal"])
def test_a_response_that_ends_early_ends_so_for_the_client(
    front: str, column: Column, cut: bool
) -> None:
    """Streamed and whole, with the text until then."""
    with ending(column, cut=cut) as up, gateway(column.model_at(up), relay=False) as url:
        streamed = ASKERS[front](url, "Hello", stream=True)
        whole = ASKERS[front](url, "Hello", stream=False)

    assert streamed == whole
    assert whole.finish == CUT[front][not cut]
    assert whole.text == "It rains in"
