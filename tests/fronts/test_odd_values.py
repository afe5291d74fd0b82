"""Requests and responses with a value of another type somewhere.

Every front reads such requests or refuses them, and writes such responses.
"""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.fronts.errors import MAX_MESSAGE
from llmcore.fronts.front import FRONT_IDS, ClientRequest, front_by_id
from llmcore.schema.result import Failure
from llmcore.testing import recorded_events, write_as_front
from tests.support.json_paths import places
from tests.support.upstreams import upstream_of
from tests.support.wire.sdk_responses import PROTOCOL_IDS, answers

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAA"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                    {"type": "file", "file": {"file_data": "data:text/plain;base64,aGk="}},
                    {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                        "extra_content": {"google": {"thought_signature": "QUJD"}},
                    }
                ],
                "reasoning_details": [{"type": "reasoning.text", "text": "t"}],
            },
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]},
        ],
        "tools": [
            {"type": "function", "function": {"name": "look", "parameters": SCHEMA}},
            {"type": "custom", "custom": {"name": "free", "format": {"type": "text"}}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "stop": ["x"],
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "modalities": ["text"],
        "web_search_options": {"user_location": {"approximate": {"city": "Riga"}}},
        "metadata": {"a": "b"},
        "reasoning": {"effort": "low"},
    },
    "openai-responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Hi"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                    {"type": "input_file", "file_data": "data:text/plain;base64,aGk="},
                ],
            },
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "r"}],
            },
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [
                    {
                        "type": "output_text",
                        "text": "a",
                        "annotations": [{"type": "url_citation", "url": "https://h"}],
                    }
                ],
            },
            {
                "type": "web_search_call",
                "id": "ws",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            },
            {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a"}]},
        ],
        "tools": [
            {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False},
            {"type": "custom", "name": "free", "format": {"type": "text"}},
            {"type": "web_search", "filters": {"allowed_domains": ["h"]}},
            {"type": "mcp", "server_label": "l", "server_url": "https://h", "allowed_tools": ["a"]},
        ],
        "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "look"}]},
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    },
    "anthropic-messages": {
        "model": "m",
        "max_tokens": 50,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                    },
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "d"},
                        "citations": {"enabled": True},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "a", "citations": [{"type": "char_location"}]},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {"city": "Riga"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": [{"type": "text", "text": "r"}],
                        "is_error": False,
                    }
                ],
            },
        ],
        "tools": [
            {"name": "look", "input_schema": SCHEMA},
            {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["h"]},
            {
                "type": "mcp_toolset",
                "mcp_server_name": "l",
                "configs": {"a": {"enabled": True}},
            },
        ],
        "mcp_servers": [{"type": "url", "name": "l", "url": "https://h"}],
        "tool_choice": {"type": "tool", "name": "look"},
        "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"},
        "stop_sequences": ["x"],
        "output_config": {"effort": "low"},
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Hi"},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
                    {"fileData": {"mimeType": "text/plain", "fileUri": "https://h/f"}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "t", "thought": True},
                    {
                        "functionCall": {"name": "look", "args": {"city": "Riga"}, "id": "c"},
                        "thoughtSignature": "QUJD",
                    },
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "look", "response": {"r": 1}, "id": "c"}}],
            },
        ],
        "tools": [
            {"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]},
            {"googleSearch": {}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
        "generationConfig": {
            "stopSequences": ["x"],
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT"},
            "thinkingConfig": {"thinkingBudget": 100},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    },
}
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e300,
    "",
    "\ud800",
    "x" * 5000,
    [],
    [[]],
    [None],
    {},
    {"type": []},
)


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return *value* with *odd* at *path*; what is beside the path is shared."""
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], odd)
    return changed


def odd_requests(front_id: str) -> Iterator[dict[str, Any]]:
    """Yield the request of a front with each of its values replaced by each odd one."""
    body = REQUESTS[front_id]
    for path in places(body):
        for odd in ODD_VALUES:
            yield replaced(body, path, odd)


@pytest.mark.parametrize("same_api", [True, False], ids=["same api", "another api"])
@pytest.mark.parametrize("front_id", REQUESTS)
def test_request_with_an_odd_value_is_read_or_refused_in_few_words(
    front_id: str, *, same_api: bool
) -> None:
    """An exception would be the gateway's fault; a long message would repeat the request."""
    front = front_by_id(front_id)
    other = "gemini" if front_id == "openai-chat" else "openai-chat"
    upstream = upstream_of(front_id if same_api else other)
    before = copy.deepcopy(REQUESTS[front_id])
    for body in odd_requests(front_id):
        asked = ClientRequest(body=body, path="/v1beta/models/m:generateContent")
        read = front.read(asked, upstream)
        if isinstance(read, Failure):
            assert len(read.error.message) <= MAX_MESSAGE + 3
            assert len(read.error.param or "") < 400
    assert REQUESTS[front_id] == before  # or a request would have changed the next ones


TYPES = [
    ("openai-chat", "web_search_options"),
    ("openai-responses", "stream_options"),
    ("anthropic-messages", "mcp_servers"),
    ("gemini", "toolConfig"),
]


@pytest.mark.parametrize(("front_id", "name"), TYPES)
@pytest.mark.parametrize("value", ["x", 1, True])
def test_an_option_that_must_be_an_object_or_a_list_is_refused(
    front_id: str, name: str, value: str | int
) -> None:
    """Left out without a word, it would seem to be set."""
    upstream = upstream_of("bedrock-converse")
    asked = ClientRequest(body={**REQUESTS[front_id], name: value})
    result = front_by_id(front_id).read(asked, upstream)

    assert isinstance(result, Failure)
    assert result.error.message.startswith(f"{name} must be a ")


# -- responses


@cache
def native_responses(protocol_id: str) -> tuple[dict[str, Any], ...]:
    return tuple(answers(protocol_id))


def check_written(protocol_id: str, body: dict[str, Any]) -> None:
    """Raise unless every front writes *body*, streamed and whole."""
    events = recorded_events(
        protocol_id,
        status=200,
        headers={"content-type": "application/json"},
        body=json.dumps(body).encode(),
        streaming=False,
    )
    for front_id in FRONT_IDS:
        json.loads(write_as_front(front_id, events, streaming=False))
        assert write_as_front(front_id, events, streaming=True)


@pytest.mark.parametrize("protocol_id", PROTOCOL_IDS)
@given(data=st.data())
def test_response_with_an_odd_value_is_written_by_every_front(
    protocol_id: str, data: st.DataObject
) -> None:
    body = data.draw(st.sampled_from(native_responses(protocol_id)))
    path = data.draw(st.sampled_from(list(places(body))))
    odd = data.draw(st.sampled_from([odd for odd in ODD_VALUES if odd != "\ud800"]))

    check_written(protocol_id, replaced(body, path, odd))


@pytest.mark.parametrize("status", [None, 1, [], {"type": "completed"}])
def test_item_whose_status_is_not_a_text_is_written_by_every_front(status: object) -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": status, "action": {"type": "search"}}
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": [item]}

    check_written("openai-responses", response)
