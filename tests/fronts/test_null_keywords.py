"""Schemas with null in place of keywords, as clients in Go write empty lists and objects."""

from typing import Any

import pytest

from llmcore.fronts.front import FRONT_IDS
from llmcore.schema.tools import ToolDefinition
from llmcore.testing.fronts import read_as_front

ASKS: dict[str, Any] = {
    "openai-chat": lambda schema: {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": schema}},
    },
    "openai-responses": lambda schema: {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "function", "name": "f", "parameters": schema}],
        "text": {"format": {"type": "json_schema", "name": "r", "schema": schema}},
    },
    "anthropic-messages": lambda schema: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "f", "input_schema": schema}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    },
    "gemini": lambda schema: {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
        },
    },
}
TEXT = {"type": "string"}
SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "at the root": (
        {"type": "object", "properties": {"a": TEXT}, "required": None, "$defs": None},
        {"type": "object", "properties": {"a": TEXT}},
    ),
    "of the type": ({"type": None, "properties": {}}, {"type": "object", "properties": {}}),
    "inside": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {**TEXT, "enum": ["x", None]}, "maxItems": None},
                "required": {"anyOf": [{**TEXT, "pattern": None}, {"type": "null"}]},
            },
        },
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {**TEXT, "enum": ["x", None]}},
                "required": {"anyOf": [TEXT, {"type": "null"}]},
            },
        },
    ),
    "of a keyword that is not known": (
        {"type": "object", "properties": {"a": {"x-unit": None, "enum": None}}},
        {"type": "object", "properties": {"a": {"x-unit": None}}},
    ),
    "as a value": (
        {"type": "object", "properties": {"a": {"default": None, "const": None, "title": None}}},
        {"type": "object", "properties": {"a": {"default": None, "const": None}}},
    ),
}


@pytest.mark.parametrize(("given", "read"), SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_keyword_that_is_null_is_none(
    front_id: str, given: dict[str, Any], read: dict[str, Any]
) -> None:
    body = ASKS[front_id](given)
    path = "/v1beta/models/m:generateContent"
    request = read_as_front(front_id, body, path=path).unwrap()

    (tool,) = request.tools
    assert isinstance(tool, ToolDefinition)
    assert tool.parameters == read
    assert request.response_format is not None
    written = {"type": "object", **(request.response_format.schema or {})}
    assert written == read
