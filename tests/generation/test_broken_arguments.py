"""Calls without arguments, and with arguments that do not parse: sent back to every provider."""

import json
from typing import Any

import pytest

from llmcore import Client, Message, ToolDefinition, request
from llmcore.schema.content import ToolCallPart
from tests.support.wire.matrix import (
    ANTHROPIC,
    BEDROCK,
    COLUMNS,
    COMPATIBLE,
    GEMINI,
    OPENAI,
    Column,
)

NOW = ToolDefinition("now", "Tell the time.", {"type": "object", "properties": {}})


def sent_back(column: Column, arguments: Any) -> tuple[Any, list[str]]:
    """Return the native arguments of a call in a conversation, and the diagnostics."""
    call = ToolCallPart(column.call_id(1) or "c1", "now", arguments)
    messages = [Message.user("When?"), Message.assistant(call), Message.tool(call.id, "noon")]
    asked = request(model=column.model_at("http://x"), messages=messages, tools=[NOW])
    prepared = Client().prepare(asked).unwrap()
    native = column.history(dict(prepared.body))[1]
    return arguments_of(column, native), [note.code for note in prepared.diagnostics]


def arguments_of(column: Column, native: Any) -> Any:
    if column is OPENAI:
        return native["arguments"]
    if column is COMPATIBLE:
        return native["tool_calls"][0]["function"]["arguments"]
    if column is ANTHROPIC:
        return native["content"][0]["input"]
    if column is BEDROCK:
        return native["content"][0]["toolUse"]["input"]
    return native["parts"][0]["functionCall"]["args"]


@pytest.mark.parametrize("arguments", [None, {}], ids=["absent", "empty"])
@pytest.mark.parametrize("column", COLUMNS, ids=[column.id for column in COLUMNS])
def test_no_arguments_go_back_as_an_empty_object(column: Column, arguments: Any) -> None:
    """As an object, or as its text, by the provider's own way."""
    native, notes = sent_back(column, arguments)

    assert native == ("{}" if column in (OPENAI, COMPATIBLE) else {})
    assert "invalid-tool-arguments" not in notes


@pytest.mark.parametrize("column", COLUMNS, ids=[column.id for column in COLUMNS])
def test_broken_arguments_go_back_without_a_loss(column: Column) -> None:
    """Half an object is never taken for an empty one: its text is sent, and reported."""
    broken = '{"zone": "Eur'
    native, notes = sent_back(column, broken)

    if column is OPENAI:  # takes any text
        assert (native, notes) == (broken, [])
        return
    whole = json.loads(native) if isinstance(native, str) else native
    assert list(whole.values()) == [broken]
    assert "invalid-tool-arguments" in notes
    assert column in (ANTHROPIC, GEMINI, BEDROCK, COMPATIBLE)
