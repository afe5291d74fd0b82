"""Tools that clients send again with each request are read once."""

from typing import Any

import pytest

from llmcore.fronts.reading import function_tool
from llmcore.schema.json import JsonObject

PATH = {"path": {"type": "string"}}


def schema(**more: Any) -> JsonObject:
    return {"type": "object", "properties": PATH, **more}


def test_a_tool_that_is_sent_again_is_not_read_again() -> None:
    first = function_tool("read", "Reads.", schema(), strict=True)
    assert function_tool("read", "Reads.", schema(), strict=True) is first
    assert first.parameters == schema()


@pytest.mark.parametrize(
    "other",
    [
        {"name": "write"},
        {"description": "Writes."},
        {"schema": schema(required=["path"])},
        {"schema": None},
        {"strict": False},
        {"cache": "1h"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_tool_that_differs_in_anything_is_another(other: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "read", "description": "Reads.", "schema": schema()}
    first, second = function_tool(**given), function_tool(**{**given, **other})
    assert first != second


@pytest.mark.parametrize(
    ("description", "parameters"),
    [("x" * 20_000, schema()), ("Reads.", schema(description="x" * 5_000))],
    ids=["long text", "large schema"],
)
def test_a_large_tool_is_not_kept(description: str, parameters: JsonObject) -> None:
    first = function_tool("read", description, parameters)
    second = function_tool("read", description, parameters)
    assert first == second
    assert first is not second
