"""Where a JSON Schema holds further schemas, and where only data that looks like one; `$ref`.

References are inlined where a target has none, and hoisted into `$defs` where it has few.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias
from urllib.parse import unquote

from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.native_json import texts

Schema: TypeAlias = dict[str, JsonValue]

MAX_DEPTH = 64
"""Schemas within schemas. JSON itself nests twice as deep, and no reader goes much further."""

ONE = frozenset(
    {
        "items", "additionalProperties", "additionalItems", "not", "contains", "propertyNames",
        "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip
"""Keywords whose value is a schema."""
MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
"""Keywords whose value is a list of schemas; `items` was one before draft 2020-12."""
NAMED = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
"""Keywords whose value maps names to schemas, and the names may be anything."""

Change: TypeAlias = Callable[[JsonValue, str], JsonValue]
"""Returns the replacement of a schema at a path."""


def map_value(keyword: str, value: JsonValue, path: str, change: Change) -> JsonValue:
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
    """Return whether *value* is nested more than *levels* deep. Does not recurse."""
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


def types_of(schema: JsonObject) -> list[str]:
    """Return the types *schema* names, as a list."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    return texts(kind)


def schemas_in(value: JsonValue) -> list[JsonObject]:
    """Return the object schemas in a list of schemas."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


# -- references

MAX_INLINED = 2000
"""Schemas that inlining may add: definitions used twice that use others twice grow as 2^n."""

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
_DEFINITIONS = ("$defs", "definitions")


def look_up(root: JsonObject, reference: str) -> JsonObject | None:
    """Return the schema that *reference* (a JSON pointer, `#/$defs/Name`) points to in *root*."""
    if not reference.startswith("#"):
        return None
    value: JsonValue = root
    for step in unquote(reference[1:]).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    if reference != "#" and not reference.startswith("#/"):
        return None
    return value if isinstance(value, Mapping) else None


def overlay(target: JsonObject, beside: JsonObject) -> Schema:
    """Return *target* with the keywords that were beside its `$ref`.

    What only describes replaces the target's; what constrains holds as well.
    """
    clash = [key for key in beside if key in target and key not in _ANNOTATIONS]
    if not clash:
        return {**target, **beside}
    known = beside.get("allOf")
    return {**beside, "allOf": [*(known if isinstance(known, list) else []), dict(target)]}


# -- inlining


def inline(root: JsonObject, path: str, diagnostics: Diagnostics) -> Schema:
    """Return *root* without references; recursion ends in `{"type": "object"}`."""
    return _Inliner(root, diagnostics).schema(root, path, 0, ())


class _Inliner:
    """Copies a schema, putting definitions where they are used."""

    def __init__(self, root: JsonObject, diagnostics: Diagnostics) -> None:
        self._root = root
        self._diagnostics = diagnostics
        self._left = MAX_INLINED
        self._reported: set[str] = set()

    def schema(self, node: JsonObject, path: str, depth: int, opened: tuple[str, ...]) -> Schema:
        """Return *node* without references; *opened* are those it is in."""
        if opened:
            self._left -= 1
        if depth > MAX_DEPTH:
            return self._cut(node, path, "schema-too-deep", f"deeper than {MAX_DEPTH} levels")
        if isinstance(reference := node.get("$ref"), str):
            return self._resolve(reference, node, path, depth, opened)

        def change(child: JsonValue, where: str) -> JsonValue:
            if not isinstance(child, Mapping):
                return child
            return self.schema(child, where, depth + 1, opened)

        return {
            keyword: map_value(keyword, value, path, change)
            for keyword, value in node.items()
            if keyword not in _DEFINITIONS
        }

    def _resolve(
        self, reference: str, node: JsonObject, path: str, depth: int, opened: tuple[str, ...]
    ) -> Schema:
        beside = without(node, "$ref")
        shown = reference[:100]
        target = look_up(self._root, reference)
        if target is None:
            why = f"{shown} points nowhere in the schema"
            self._diagnostics.at(path).dropped("schema-reference-unresolved", why)
            return self.schema(beside, path, depth + 1, opened)
        if reference in opened:
            return self._cut(
                beside,
                path,
                "schema-recursion-cut",
                f"{shown} contains itself, which the target cannot express",
            )
        if self._left < 0:
            return self._cut(
                beside,
                path,
                "schema-too-large",
                f"inlining {shown} once more would make the schema too large",
            )
        merged = overlay(target, beside)
        return self.schema(merged, path, depth + 1, (*opened, reference))

    def _cut(self, node: JsonObject, path: str, code: str, reason: str) -> Schema:
        """Return an object of any shape in place of *node*, with its description.

        A cut because of size is reported once, since hundreds of positions may share the reason.
        """
        if reason not in self._reported:
            if code != "schema-recursion-cut":
                self._reported.add(reason)
            self._diagnostics.at(path).changed(code, f"cut to an object of any shape: {reason}")
        words = {key: node[key] for key in ("title", "description") if key in node}
        return {"type": "object", **words}


# -- hoisting


class Hoisted:
    """A schema whose references all point to its own `$defs`, or to its root."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._pending: deque[str] = deque()
        self._uses: dict[str, list[str]] = {}
        self._current = "#"
        self._left = MAX_INLINED
        self.unresolved: list[tuple[str, str]] = []
        """Path and reference of each reference without a target."""

    def schema(self, path: str) -> Schema:
        """Return the root, with every definition that is used in `$defs`."""
        top = self._resolved(self._root, *_DEFINITIONS)  # which may not be a reference itself
        result = self._copy(top, path, 0)
        definitions: Schema = {}
        while self._pending:
            reference = self._current = self._pending.popleft()
            name = self._names[reference]
            target = look_up(self._root, reference) or {}
            definitions[name] = self._copy(target, f"{path}.$defs.{name}", 0)
        return {**result, "$defs": definitions} if definitions else result

    @property
    def is_recursive(self) -> bool:
        """Whether a definition contains itself. Ask after `schema`."""
        return _has_cycle(self._uses)

    def _copy(self, node: JsonObject, path: str, depth: int) -> Schema:
        if depth > MAX_DEPTH or self._left < 0:
            self.unresolved.append((path, "all of it, to a size that can be sent,"))
            return {}
        if "allOf" in node:
            node = self._with_members(node)

        def change(child: JsonValue, where: str) -> JsonValue:
            return self._copy(child, where, depth + 1) if isinstance(child, Mapping) else child

        copy = {
            keyword: map_value(keyword, value, path, change)
            for keyword, value in node.items()
            if keyword not in _DEFINITIONS
        }
        if isinstance(reference := copy.get("$ref"), str):
            copy["$ref"] = self._point(reference, path)
        return copy

    def _with_members(self, node: JsonObject) -> JsonObject:
        """Return *node* with what its `allOf` refers to, where it is to be merged with more."""
        members = schemas_in(node["allOf"])
        if len(members) == 1 and node.keys() - {"allOf"} <= _ANNOTATIONS:
            return node
        return {**node, "allOf": [self._expanded(member) for member in members]}

    def _expanded(self, schema: JsonObject) -> JsonObject:
        self._left -= 1
        return self._resolved(schema)

    def _resolved(self, schema: JsonObject, *omitted: str) -> JsonObject:
        """Return *schema* over what its `$ref` names, in turn, each without the keywords *omitted*.

        A reference without a target, or to itself, stays.
        """
        seen: set[str] = set()
        while isinstance(reference := schema.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            target = look_up(self._root, reference)
            if target is None:
                break
            schema = overlay(target, without(schema, "$ref", *omitted))
        return schema

    def _point(self, reference: str, path: str) -> str:
        """Return *reference* as it reads in the result."""
        self._uses.setdefault(self._current, []).append(reference)
        if reference == "#":
            return reference
        if look_up(self._root, reference) is None:
            self.unresolved.append((path, reference))
            return reference
        if reference not in self._names:
            self._names[reference] = self._free_name(reference)
            self._pending.append(reference)
        return f"#/$defs/{self._names[reference]}"

    def _free_name(self, reference: str) -> str:
        last = unquote(reference).rsplit("/", 1)[-1]
        base = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in last)
        name, times = base or "_", 1
        while name in self._taken:
            times += 1
            name = f"{base}_{times}"
        self._taken.add(name)
        return name


def _has_cycle(uses: dict[str, list[str]]) -> bool:
    """Return whether any reference leads back to itself."""
    settled: set[str] = set()
    for start in uses:
        trail = [(start, iter(uses.get(start, ())))]
        on_trail = {start}
        while trail:
            current, following = trail[-1]
            for reference in following:
                if reference in on_trail:
                    return True
                if reference not in settled:
                    trail.append((reference, iter(uses.get(reference, ()))))
                    on_trail.add(reference)
                    break
            else:
                trail.pop()
                on_trail.discard(current)
                settled.add(current)
    return False
