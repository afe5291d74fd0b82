"""Nulls that stand for absent properties."""

from typing import Any

import pytest

from llmcore.generation.object_nulls import without_null_options

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
    "reference", ["#/$defs/Text", "#/$defs/a~1b/~0", "#/$defs/A%20text", "#/$defs/All/anyOf/0"]
)
def test_references_of_a_property_lead_to_its_schema(reference: str) -> None:
    """Pointers as RFC 6901 spells them."""
    text: Any = {"type": "string"}
    definitions: Any = {
        "Text": text, "a/b": {"~": text}, "A text": text, "All": {"anyOf": [text]},
    }  # fmt: skip
    schema: Any = {"properties": {"a": {"$ref": reference}}, "$defs": definitions}

    assert without_null_options({"a": None}, schema) == ({}, ["$.a"])


@pytest.mark.parametrize("reference", ["#/nothing/there", "https://x/y", ""])
def test_a_null_stays_where_the_reference_of_its_property_leads_nowhere(reference: str) -> None:
    schema: Any = {"properties": {"a": {"type": ["string", "null"], "$ref": reference}}}

    assert without_null_options({"a": None}, schema) == ({"a": None}, [])
