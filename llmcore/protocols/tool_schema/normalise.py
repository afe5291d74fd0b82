"""Rewrites other drafts and spellings of JSON Schema in the form that a target supports."""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.tool_schema.traverse import (
    MANY,
    NAMED,
    ONE,
    Schema,
    map_value,
    schemas_in,
    types_of,
)
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.native_json import str_or_empty, texts

ANNOTATIONS = frozenset(
    {"title", "description", "default", "example", "examples", "nullable", "deprecated"}
)
"""Keywords that describe and do not constrain; `nullable` applies to any branch."""

_ARRAY = {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}
_OBJECT = {
    "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
    "minProperties", "maxProperties", "propertyOrdering",
}  # fmt: skip
_STRING = {"pattern", "minLength", "maxLength", "format"}
_NUMBER = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}

_OF_TYPES: Final = _ARRAY | _OBJECT | _STRING | _NUMBER
"""Keywords that apply to values of one type."""

_NEVER_NULL: Final = (ONE | MANY | NAMED | _OF_TYPES | (ANNOTATIONS - {"default", "example"})) | {
    "type",
    "enum",
    "$ref",
}
"""Keywords whose value cannot be null."""


def without_null_keywords(schema: JsonObject) -> JsonObject:
    """Return *schema* without keywords that are null although their values cannot be.

    Clients in Go write null for empty lists and objects (`"required": null`); servers refuse it.
    """
    return _without_nulls(schema) if b":null" in json.dumps(schema) else schema


def _without_nulls(schema: JsonObject) -> JsonObject:
    return {
        name: map_value(name, value, "", _without_nulls_inside)
        for name, value in schema.items()
        if value is not None or name not in _NEVER_NULL
    }


def _without_nulls_inside(schema: JsonValue, _path: str) -> JsonValue:
    return _without_nulls(schema) if isinstance(schema, Mapping) else schema


def constrains(keyword: str) -> bool:
    """Return whether *keyword*, beside a union, holds for all of its branches."""
    return keyword in _OF_TYPES or keyword in ("enum", "const", "not", "oneOf", "allOf")


def to_2020_12(schema: JsonObject) -> Schema:
    """Return *schema* as draft 2020-12 has it, every array with its items.

    Read are draft 4 (boolean `exclusiveMinimum`), draft 7 (`items` as a list) and OpenAPI 3.0
    (`nullable`).
    """
    result = dict(schema)
    if isinstance(result.get("items"), list):
        result = renamed(result, {"items": "prefixItems", "additionalItems": "items"})
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(flag := result.get(exclusive), bool):
            result.pop(exclusive)
            if flag and bound in result:
                result = renamed(result, {bound: exclusive})
    if "array" in types_of(result) and "items" not in result and "prefixItems" not in result:
        result["items"] = {}
    return result


def renamed(fields: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return *fields* with the keys that are in *names* replaced by them."""
    return {names.get(name, name): value for name, value in fields.items()}


def with_null(schema: Schema) -> Schema:
    """Return *schema* so that null is allowed, in JSON Schema's words."""
    kinds = types_of(schema)
    if "null" in kinds or has_null_branch(schema):
        return schema
    if isinstance(branches := schema.get("anyOf"), list) and not kinds:
        return {**schema, "anyOf": [*branches, {"type": "null"}]}
    if "$ref" in schema or not kinds:
        words = {key: value for key, value in schema.items() if key in ANNOTATIONS}
        return {"anyOf": [without(schema, *words), {"type": "null"}], **words}
    result = {**schema, "type": [*kinds, "null"]}
    if isinstance(values := schema.get("enum"), list) and None not in values:
        result["enum"] = [*values, None]
    return result


def with_null_apart(schema: Schema) -> Schema:
    """Return *schema* with null as a branch of its own, if its `enum` lists null."""
    values = schema.get("enum")
    if not isinstance(values, list) or None not in values or len(values) == 1:
        return schema
    words = {key: value for key, value in schema.items() if key in ANNOTATIONS}
    rest = {**without(schema, *words), "enum": [value for value in values if value is not None]}
    kinds = [kind for kind in types_of(schema) if kind != "null"]
    if kinds:
        rest["type"] = kinds[0] if len(kinds) == 1 else kinds
    return {"anyOf": [rest, {"type": "null"}], **words}


def has_null_branch(schema: JsonObject) -> bool:
    """Return whether a branch of *schema*'s `anyOf` is null."""
    return any(_is_null(branch) for branch in schemas_in(schema.get("anyOf")))


def _is_null(schema: JsonObject) -> bool:
    """Return whether *schema* allows null and nothing else."""
    branches = schema.get("anyOf")
    return (
        types_of(schema) == ["null"]
        or schema.get("enum") == [None]
        or schema.get("const", ...) is None
        or any(map(_is_null, schemas_in(schema.get("allOf"))))
        or (
            isinstance(branches, list)
            and bool(branches)
            and all(isinstance(branch, Mapping) and _is_null(branch) for branch in branches)
        )
    )


def with_plain_null(schema: Schema) -> Schema:
    """Return *schema* with the type null in place of an `enum` of null alone."""
    if schema.get("enum") != [None]:
        return schema
    return {"type": "null", **without(schema, "enum", "type")}


def without_nullable(schema: Schema) -> Schema:
    """Return *schema* with OpenAPI's `nullable` expressed in JSON Schema."""
    if "nullable" not in schema:
        return schema
    rest = without(schema, "nullable")
    return with_null(rest) if schema["nullable"] is True else rest


def type_of(value: JsonValue) -> str:
    """Return the JSON Schema type of *value*; whole numbers are integers."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "object" if isinstance(value, Mapping) else "array"


def inferred_types(schema: JsonObject) -> list[str]:
    """Return the types that the other keywords of *schema* apply to; empty if there are none."""
    values = schema.get("enum")
    if isinstance(values, list) and values:
        kinds = list(dict.fromkeys(type_of(value) for value in values))
        return [kind for kind in kinds if kind != "integer" or "number" not in kinds]
    for keywords, kind in (
        (_OBJECT, "object"),
        (_ARRAY, "array"),
        (_STRING, "string"),
        (_NUMBER, "number"),
    ):
        if keywords & schema.keys():
            return [kind]
    return []


def typed(schema: Schema, kinds: list[str]) -> Schema:
    """Return *schema* with these types as its first keyword."""
    return {"type": kinds[0] if len(kinds) == 1 else list(kinds), **schema} if kinds else schema


# -- several schemas that hold at once

_HIGHEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_LOWEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def merged(parts: list[JsonObject]) -> tuple[Schema, list[JsonObject]]:
    """Return one schema that all of *parts* allow, and the constraints that it cannot express."""
    result: Schema = {}
    unmerged: list[JsonObject] = []
    for part in parts:
        for key, value in part.items():
            if key not in result:
                result[key] = value
            elif result[key] != value and not _merge_into(result, key, value):
                unmerged.append({key: value})
    return result, unmerged


def _merge_into(result: Schema, key: str, value: JsonValue) -> bool:
    """Combine *value* with `result[key]`, if one value can express both."""
    before = result[key]
    if key == "properties" and isinstance(before, Mapping) and isinstance(value, Mapping):
        result[key] = _merged_properties(before, value)
    elif key == "required":
        result[key] = list(dict.fromkeys([*texts(before), *texts(value)]))
    elif key == "description":
        result[key] = f"{before} {value}"
    elif key == "additionalProperties" and False in (before, value):
        result[key] = False
    elif key == "enum" and isinstance(before, list) and isinstance(value, list):
        result[key] = [item for item in before if item in value]
    elif key == "type":
        return _merge_types(result, value)
    elif key in _HIGHEST | _LOWEST and _are_numbers(before, value):
        result[key] = (max if key in _HIGHEST else min)(before, value)  # type: ignore[type-var]
    else:
        return key in ANNOTATIONS
    return True


def _are_numbers(*values: JsonValue) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _merge_types(result: Schema, value: JsonValue) -> bool:
    before, after = types_of(result), types_of({"type": value})
    if "number" in before and "integer" in after:
        before = [*before, "integer"]
    if "integer" in before and "number" in after:
        after = [*after, "integer"]
    shared = [kind for kind in before if kind in after]
    if shared:
        result["type"] = shared[0] if len(shared) == 1 else shared
    return bool(shared)


def _merged_properties(before: JsonObject, after: JsonObject) -> Schema:
    result = dict(before)
    for name, schema in after.items():
        if name in result and result[name] != schema:
            result[name] = {"allOf": [result[name], schema]}
        else:
            result[name] = schema
    return result


# -- descriptions of what was stripped


_SENTENCES = {
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "Greater than {}.",
    "exclusiveMaximum": "Less than {}.",
    "multipleOf": "A multiple of {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "pattern": "Matches the pattern {}.",
    "format": "Format: {}.",
    "minItems": "At least {} items.",
    "maxItems": "At most {} items.",
    "minProperties": "At least {} properties.",
    "maxProperties": "At most {} properties.",
    "const": "Always {}.",
    "enum": "One of {}.",
    "default": "Default: {}.",
    "example": "Example: {}.",
    "examples": "Examples: {}.",
    "prefixItems": "Items in order: {}.",
    "additionalProperties": "Other keys are allowed; their values: {}.",
    "patternProperties": "Keys that match a pattern, and their values: {}.",
    "propertyNames": "Keys: {}.",
    "contains": "At least one item: {}.",
    "not": "Not: {}.",
    "if": "If: {}.",
    "then": "Then: {}.",
    "else": "Else: {}.",
    "anyOf": "At least one of: {}.",
    "oneOf": "Exactly one of: {}.",
    "allOf": "All of: {}.",
    "dependentRequired": "Keys that need other keys: {}.",
    "dependentSchemas": "Keys that ask for more: {}.",
    "dependencies": "Keys that ask for more: {}.",
    "contentEncoding": "Encoding: {}.",
    "contentMediaType": "Media type: {}.",
}
_QUOTED = frozenset({"format", "contentEncoding", "contentMediaType"})
_LONGEST = 400
"""Characters of JSON in a sentence."""


def is_constraint(keyword: str) -> bool:
    """Return whether *keyword* is described to the model where a schema cannot have it."""
    return keyword in _SENTENCES or keyword == "uniqueItems"


def sentence(keyword: str, value: JsonValue) -> str:
    """Return the constraint of *keyword* as a short sentence; empty if it has no effect."""
    if keyword == "uniqueItems":
        return "No item twice." if value is True else ""
    if keyword == "additionalProperties" and isinstance(value, bool):
        return "Other keys are allowed." if value else ""
    if keyword == "default" and value is None:
        return ""
    if keyword in _QUOTED and isinstance(value, str):
        return _SENTENCES[keyword].format(value)
    text = json.dumps(value).decode()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return _SENTENCES[keyword].format(text)


def joined(description: object, sentences: list[str]) -> str:
    """Return *description* followed by *sentences*."""
    start = str_or_empty(description)
    if sentences and start and not start.rstrip().endswith((".", "!", "?", ":")):
        start = f"{start.rstrip()}."
    return " ".join([start, *sentences] if start else sentences)
