"""Removes nulls that represent absent properties.

Strict structured output requires all properties, so optional ones are sent as nullable. Where the
caller's schema does not allow null, a null in the response is removed:

    schema {"properties": {"a": {"type": "string"}}}, response {"a": null}: the object {}
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from llmcore.protocols.tool_schema.traverse import look_up
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty, objects, texts

_Schemas: TypeAlias = Sequence[JsonObject]


def without_null_options(value: JsonValue, schema: JsonObject) -> tuple[JsonValue, list[str]]:
    """Return *value* without nulls for optional properties of *schema*, and their paths."""
    pruner = _Pruner(schema)
    return pruner.pruned(value, [schema], "$"), pruner.dropped


class _Pruner:
    def __init__(self, root: JsonObject) -> None:
        self.dropped: list[str] = []
        self._root = root

    def pruned(self, value: JsonValue, schemas: Iterable[JsonObject], path: str) -> JsonValue:
        """Return *value*, which matches one of *schemas*, without such nulls."""
        if isinstance(value, Mapping):
            return self._pruned_object(value, self._flat(schemas), path)
        if isinstance(value, list):
            inner = _objects(schema.get("items") for schema in self._flat(schemas))
            return [self.pruned(item, inner, f"{path}[{i}]") for i, item in enumerate(value)]
        return value

    def _pruned_object(self, value: JsonObject, schemas: _Schemas, path: str) -> JsonObject:
        remaining: dict[str, JsonValue] = {}
        for name, item in value.items():
            below = f"{path}.{name}"
            declared = _objects(
                object_or_empty(schema.get("properties")).get(name) for schema in schemas
            )
            if item is None and self._stands_for_absence(name, declared, schemas):
                self.dropped.append(below)
                continue
            others = _objects(schema.get("additionalProperties") for schema in schemas)
            remaining[name] = self.pruned(item, declared or others, below)
        return remaining

    def _stands_for_absence(self, name: str, declared: _Schemas, schemas: _Schemas) -> bool:
        required = any(name in texts(schema.get("required")) for schema in schemas)
        return bool(declared) and not required and not any(map(self._accepts_null, declared))

    def _accepts_null(self, schema: JsonObject) -> bool:
        return any(_allows_null(item) for item in self._flat([schema]))

    def _flat(self, schemas: Iterable[JsonObject]) -> list[JsonObject]:
        """Return *schemas* with all schemas that they reference or combine."""
        flat: list[JsonObject] = []
        seen: set[int] = set()
        queue = list(schemas)
        while queue:
            schema = queue.pop()
            if id(schema) not in seen:
                seen.add(id(schema))
                flat.append(schema)
                queue.extend(self._parts(schema))
        return flat

    def _parts(self, schema: JsonObject) -> Iterator[JsonObject]:
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from objects(schema.get(keyword))
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield from _objects([look_up(self._root, reference)])


_TYPE_KEYWORDS = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")


def _allows_null(schema: JsonObject) -> bool:
    if not any(keyword in schema for keyword in _TYPE_KEYWORDS):
        return True
    if "const" in schema:
        return schema["const"] is None
    if "enum" in schema:
        return isinstance(schema["enum"], list) and None in schema["enum"]
    kind = schema.get("type")
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _objects(values: Iterable[JsonValue]) -> list[JsonObject]:
    return [value for value in values if isinstance(value, Mapping)]
