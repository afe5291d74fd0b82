"""Where a JSON Schema holds further schemas, and where only data that looks like one."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

Schema: TypeAlias = dict[str, JsonValue]

MAX_DEPTH = 64
"""Schemas within schemas. JSON itself nests twice as deep, and no reader goes much further."""

ONE = frozenset(
    {
        "items",
        "additionalProperties",
        "additionalItems",
        "not",
        "contains",
        "propertyNames",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    }
)
"""Keywords whose value is a schema."""
MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
"""Keywords whose value is a list of schemas; `items` was one before draft 2020-12."""
NAMED = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
"""Keywords whose value maps names to schemas, and the names may be anything."""

Change: TypeAlias = Callable[[JsonValue, str], JsonValue]
"""Returns the replacement of a schema at a path."""


def within(keyword: str, value: JsonValue, path: str, change: Change) -> JsonValue:
    """Return *value* of *keyword* with *change* made to the schemas right inside it."""
    where = f"{path}.{keyword}"
    if keyword in MANY and isinstance(value, list):
        return [change(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if keyword in NAMED and isinstance(value, Mapping):
        return {
            name: item if isinstance(item, list) else change(item, f"{where}.{name}")
            for name, item in value.items()
        }
    if keyword in ONE and isinstance(value, Mapping | bool):
        return change(value, where)
    return value


MAX_JSON_DEPTH = 2 * MAX_DEPTH
"""Objects and lists within each other: a schema within a property is two levels down."""


def is_deeper(value: JsonValue, levels: int) -> bool:
    """Whether objects and lists stand more than *levels* deep in *value*. Does not recurse."""
    layer: list[JsonValue] = [value]
    for _ in range(levels + 1):
        layer = [inner for outer in layer for inner in _inside(outer)]
        if not layer:
            return False
    return any(isinstance(item, Mapping | list) for item in layer)


def _inside(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def cut_deeper(value: JsonValue, levels: int) -> JsonValue:
    """Return *value* with every object and list more than *levels* deep emptied."""
    if isinstance(value, Mapping):
        return {k: cut_deeper(v, levels - 1) for k, v in value.items()} if levels else {}
    if isinstance(value, list):
        return [cut_deeper(item, levels - 1) for item in value] if levels else []
    return value


def without(schema: JsonObject, *keywords: str) -> Schema:
    """Return *schema* less *keywords*."""
    return {name: value for name, value in schema.items() if name not in keywords}


def types_of(schema: JsonObject) -> list[str]:
    """Return the types *schema* names, as a list."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    return [item for item in kind if isinstance(item, str)] if isinstance(kind, list) else []


def schemas_in(value: JsonValue) -> list[JsonObject]:
    """Return the object schemas in a list of schemas."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def names_in(value: JsonValue) -> list[str]:
    """Return the strings in a list, such as that of `required`."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


# -- descriptions that say what was stripped


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
    start = description if isinstance(description, str) else ""
    if sentences and start and not start.rstrip().endswith((".", "!", "?", ":")):
        start = f"{start.rstrip()}."
    return " ".join([start, *sentences] if start else sentences)
