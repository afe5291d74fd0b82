"""How large a strict schema may be."""

from collections.abc import Iterator, Mapping

from attrs import define

from llmcore.protocols.tool_schema.targets import SchemaTarget
from llmcore.protocols.tool_schema.walking import MANY, NAMED, ONE, names_in, types_of
from llmcore.schema.json import JsonObject, JsonValue


@define
class _Size:
    """What the providers count."""

    properties: int = 0
    optional: int = 0
    unions: int = 0
    enum_values: int = 0
    characters: int = 0
    levels: int = 0
    long_enum: int = 0
    """Characters of the longest enum that has more than 250 strings."""


def excess(schema: JsonObject, target: SchemaTarget) -> str | None:
    """Return which limit of *target*'s strict mode *schema* breaks; None if none.

    OpenAI ("Structured model outputs"): 5000 properties, 10 levels of objects, 1000 enum
    values, 120000 characters of names and values, 15000 in an enum of more than 250 strings.
    Anthropic ("Structured outputs", schema complexity limits): 24 optional properties and
    16 unions, counted over the whole request, so that several schemas can still break it.
    """
    size = _measure(schema)
    if target is SchemaTarget.OPENAI_STRICT:
        return _first_over(
            (size.properties, 5000, "properties"),
            (size.levels, 10, "levels of objects"),
            (size.enum_values, 1000, "enum values"),
            (size.characters, 120_000, "characters of names and values"),
            (size.long_enum, 15_000, "characters in one enum"),
        )
    return _first_over((size.optional, 24, "optional properties"), (size.unions, 16, "unions"))


def _first_over(*counts: tuple[int, int, str]) -> str | None:
    for count, limit, name in counts:
        if count > limit:
            return f"it has {count} {name}, and {limit} are allowed"
    return None


def _measure(schema: JsonObject) -> _Size:
    size = _Size()
    pending: list[tuple[JsonObject, int]] = [(schema, 0)]
    while pending:
        node, level = pending.pop()
        level += "object" in types_of(node)
        size.levels = max(size.levels, level)
        _count(node, size)
        pending.extend((child, level) for child in _children(node))
    return size


def _count(node: JsonObject, size: _Size) -> None:
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        size.properties += len(properties)
        size.optional += len(properties.keys() - set(names_in(node.get("required"))))
        size.characters += sum(len(name) for name in properties)
    if isinstance(values := node.get("enum"), list):
        strings = sum(len(value) for value in values if isinstance(value, str))
        size.enum_values += len(values)
        size.characters += strings
        if len(values) > 250:
            size.long_enum = max(size.long_enum, strings)
    size.unions += "anyOf" in node or len(types_of(node)) > 1


def _children(node: JsonObject) -> Iterator[JsonObject]:
    for keyword, value in node.items():
        for child in _schemas_of(keyword, value):
            if isinstance(child, Mapping):
                yield child


def _schemas_of(keyword: str, value: JsonValue) -> Iterator[JsonValue]:
    if keyword in MANY and isinstance(value, list):
        yield from value
    elif keyword in NAMED and isinstance(value, Mapping):
        yield from value.values()
    elif keyword in ONE:
        yield value
