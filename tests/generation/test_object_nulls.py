"""Nulls that stand for absent properties."""

from typing import Any

import pytest

from llmcore.generation.object_nulls import referred, without_null_options

TEXT = {"type": "string"}
INNER = {"type": "object", "properties": {"c": TEXT}}


def schema_with(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("schema", "value", "expected", "dropped"),
    [
        (schema_with(a=TEXT), {"a": None}, {}, ["$.a"]),
        (schema_with(("a",), a=TEXT), {"a": None}, {"a": None}, []),
        (schema_with(a={"type": ["string", "null"]}), {"a": None}, {"a": None}, []),
        (schema_with(a={"enum": ["x", None]}), {"a": None}, {"a": None}, []),
        (schema_with(a={"enum": ["x"]}), {"a": None}, {}, ["$.a"]),
        (schema_with(a={"const": None}), {"a": None}, {"a": None}, []),
        (schema_with(a={"description": "anything"}), {"a": None}, {"a": None}, []),
        (schema_with(a={"anyOf": [TEXT, {"type": "null"}]}), {"a": None}, {"a": None}, []),
        (schema_with(a={"anyOf": [TEXT, {"type": "integer"}]}), {"a": None}, {}, ["$.a"]),
        (schema_with(a=TEXT), {"b": None}, {"b": None}, []),
        (
            {"type": "array", "items": INNER},
            [{"c": None}, {"c": "x"}],
            [{}, {"c": "x"}],
            ["$[0].c"],
        ),
        (
            {**schema_with(a={"$ref": "#/$defs/I"}), "$defs": {"I": INNER}},
            {"a": {"c": None}},
            {"a": {}},
            ["$.a.c"],
        ),
        (
            {"type": "object", "additionalProperties": INNER},
            {"k": {"c": None}},
            {"k": {}},
            ["$.k.c"],
        ),
        (
            {**schema_with(a=TEXT, next={"$ref": "#"})},
            {"next": {"next": {"a": None}}},
            {"next": {"next": {}}},
            ["$.next.next.a"],
        ),
        ({"$ref": "#"}, {"a": None}, {"a": None}, []),
    ],
)
def test_only_optional_properties_without_null_lose_it(
    schema: dict[str, Any], value: Any, expected: Any, dropped: list[str]
) -> None:
    """A null that the schema knows, or a property it demands, stays."""
    assert without_null_options(value, schema) == (expected, dropped)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", {"a/b": {"~": 1}}),
        ("#/a~1b/~0", 1),
        ("#/nothing/there", None),
        ("https://x/y", None),
        ("", None),
    ],
)
def test_references_lead_into_the_schema(reference: str, found: Any) -> None:
    """Pointers as RFC 6901 spells them; other documents are not followed."""
    assert referred({"a/b": {"~": 1}}, reference) == found
