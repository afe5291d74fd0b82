"""Calls without arguments, and with arguments that do not parse: sent back to every provider."""

import json
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from llmcore import Client, Message, ToolDefinition, request
from llmcore.schema.content import ToolCallPart
from tests.support.every_protocol import EVERY_COLUMN
from tests.support.json_paths import places
from tests.support.wire.matrix import OPENAI, Column, Said

WITH_CALLS = [column for column in EVERY_COLUMN if column.calls_in_history]
NOW = ToolDefinition("now", "Tell the time.", {"type": "object", "properties": {}})


def sent_back(column: Column, arguments: Any) -> tuple[Any, list[str]]:
    """Return the native arguments of a call in a conversation, and the diagnostics."""
    call = ToolCallPart(column.call_id(1) or "c1", "now", arguments)
    messages = [Message.user("When?"), Message.assistant(call), Message.tool(call.id, "noon")]
    asked = request(model=column.model_at("http://x"), messages=messages, tools=[NOW])
    prepared = Client().prepare(asked).unwrap()
    native = column.history(dict(prepared.body))[1]
    place, _ = example_of(column)
    return at(native, place), [note.code for note in prepared.diagnostics]


def example_of(column: Column) -> tuple[tuple[Any, ...], Any]:
    """Return where a column's calls have their arguments, and an example of arguments there."""
    given = {"city": "Rome"}
    call = column.turn(Said(cities=("Rome",)), ["sunny"])[0]
    (place,) = (path for path in places(call) if at(call, path) in (given, json.dumps(given)))
    return place, at(call, place)


def at(value: Any, place: tuple[Any, ...]) -> Any:
    return reduce(getitem, place, value)


@pytest.mark.parametrize("arguments", [None, {}], ids=["absent", "empty"])
@pytest.mark.parametrize("column", WITH_CALLS, ids=lambda column: column.id)
def test_no_arguments_go_back_as_an_empty_object(column: Column, arguments: Any) -> None:
    """As an object, or as its text, by the provider's own way."""
    native, notes = sent_back(column, arguments)
    _, example = example_of(column)

    assert native == ("{}" if isinstance(example, str) else {})
    assert "invalid-tool-arguments" not in notes


@pytest.mark.parametrize("column", WITH_CALLS, ids=lambda column: column.id)
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
