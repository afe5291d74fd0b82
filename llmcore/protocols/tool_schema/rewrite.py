"""Rewrites each schema with the keywords of its target, and describes the others in words."""

import re
from collections.abc import Mapping

from attrs import define

from llmcore.protocols.tool_schema import normalise
from llmcore.protocols.tool_schema.normalise import is_constraint, joined, sentence
from llmcore.protocols.tool_schema.targets import SchemaRules
from llmcore.protocols.tool_schema.traverse import MAX_DEPTH, Schema, map_value, types_of
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.native_json import texts

_LOOKS_AROUND = re.compile(r"\(\?(?!:|P<\w+>)|\\[bB1-9]|\(\?P=")
"""Look-around, inline flags, word boundaries and back references."""

_ANYTHING: tuple[JsonObject, ...] = (
    {"type": "string"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object"},
)
"""The replacement of a schema without a type for targets that require types."""


@define
class _Visit:
    """A schema being rewritten: its path, its result, and hints for removed keywords."""

    path: str
    depth: int
    result: Schema
    sentences: list[str]


class Rewriter:
    """Rewrites one schema for one target."""

    def __init__(self, rules: SchemaRules, diagnostics: Diagnostics) -> None:
        self._rules = rules
        self._diagnostics = diagnostics
        self.problems: list[tuple[str, str]] = []
        """Path and reason of each constraint that strict mode cannot express."""

    def schema(self, node: JsonValue, path: str, depth: int = 0) -> Schema:
        """Return *node* with the keywords of the target."""
        if not isinstance(node, Mapping):
            node = {"not": {}} if node is False else {}
        if depth > MAX_DEPTH:
            return self._too_deep(path)
        sentences: list[str] = []
        ready = self._in_form(node, path, sentences)
        result: Schema = {}
        visit = _Visit(path, depth, result, sentences)
        for keyword, value in ready.items():
            self._copy(keyword, value, visit)
        if self._rules.closed:
            self._close(ready, result, path)
        elif self._rules.keywords is not None and "required" in result:
            _require_known(result, self._diagnostics.at(f"{path}.required"))
        if sentences:
            result["description"] = joined(result.get("description"), sentences)
        if "$ref" in result and len(result) > 1 and self._rules.references_alone:
            beside = without(result, "$ref", "$defs")
            return {"anyOf": [{"$ref": result["$ref"]}], **beside}
        return result

    def _too_deep(self, path: str) -> Schema:
        why = f"cut to an object of any shape: deeper than {MAX_DEPTH} levels"
        self._diagnostics.at(path).changed("schema-too-deep", why)
        self.problems.append((path, f"it is deeper than {MAX_DEPTH} levels"))
        return {"type": "object"}

    def _lacks(self, keyword: str) -> bool:
        return self._rules.keywords is not None and keyword not in self._rules.keywords

    # -- before the walk: equivalents that the target has

    def _in_form(self, node: JsonObject, path: str, sentences: list[str]) -> Schema:
        """Return *node* in the spellings that the target has."""
        schema = self._flat(normalise.to_2020_12(node), path, sentences)
        if "const" in schema and self._lacks("const"):
            schema = {**without(schema, "const"), "enum": [schema["const"]]}
        if "prefixItems" in schema and self._lacks("prefixItems"):
            schema = self._untupled(schema, path, sentences)
        if self._lacks("exclusiveMinimum"):
            schema = _inclusive(schema)
        schema = self._with_null(self._typed(schema, path))
        return self._alone(schema, path, sentences) if self._rules.lone_any_of else schema

    def _flat(self, schema: Schema, path: str, sentences: list[str]) -> Schema:
        """Return *schema* without the compositions that the target lacks."""
        while True:
            before = schema
            if "allOf" in schema and self._lacks("allOf"):
                schema = self._merge_all(schema, path, sentences)
            if "oneOf" in schema and self._lacks("oneOf") and "anyOf" not in schema:
                schema = _any_of(schema, self._diagnostics.at(f"{path}.oneOf"))
            if schema is before:
                return schema

    def _describe_left(self, unmerged: list[JsonObject], path: str, sentences: list[str]) -> None:
        """Describe what could not be merged into one schema."""
        if unmerged:
            sentences.append(sentence("allOf", unmerged))
            self._described("allOf", path)

    def _with_null(self, schema: Schema) -> Schema:
        """Return *schema* with null in the form that the target has."""
        if not self._rules.lists_null:
            schema = normalise.with_null_apart(normalise.with_plain_null(schema))
        return normalise.without_nullable(schema)

    def _merge_all(self, schema: Schema, path: str, sentences: list[str]) -> Schema:
        """Return *schema* with its `allOf` merged into it."""
        while isinstance(members := schema.get("allOf"), list):
            parts = [
                normalise.to_2020_12(member) for member in members if isinstance(member, Mapping)
            ]
            schema, unmerged = normalise.merged([without(schema, "allOf"), *parts])
            self._describe_left(unmerged, path, sentences)
        return schema

    def _untupled(self, schema: Schema, path: str, sentences: list[str]) -> Schema:
        """Return *schema* with one `items` in place of a list of them."""
        members = schema["prefixItems"]
        distinct: list[JsonValue] = []
        for member in members if isinstance(members, list) else []:
            if member not in distinct:
                distinct.append(member)
        sentences.append(sentence("prefixItems", members))
        self._described("prefixItems", path)
        items: JsonValue = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        return {**without(schema, "prefixItems", "items"), "items": items if distinct else {}}

    def _typed(self, schema: Schema, path: str) -> Schema:
        """Return *schema* with a type, where the target requires one and it can be inferred."""
        if not (self._rules.typed or self._rules.closed):
            return schema
        if schema.keys() & {"type", "anyOf", "allOf", "$ref", "const"}:
            return schema
        if kinds := normalise.inferred_types(schema):
            return normalise.typed(schema, kinds)
        if self._rules.closed:
            self.problems.append((path, "it has no type"))
            return schema
        self._diagnostics.at(path).noted(
            "schema-any-type", "it has no type; it became a union of all"
        )
        return {"anyOf": list(_ANYTHING), "nullable": True, **schema}

    def _alone(self, schema: Schema, path: str, sentences: list[str]) -> Schema:
        """Return *schema* with nothing beside its `anyOf`, or without the `anyOf`."""
        branches = schema.get("anyOf")
        if not isinstance(branches, list):
            return schema
        beside = without(schema, "anyOf")
        if any(normalise.constrains(key) for key in beside):
            sentences.append(sentence("anyOf", branches))
            self._described("anyOf", path)
            return self._typed(beside, path)
        for keyword in beside:
            if keyword not in ("type", "description"):
                self._describe(keyword, beside[keyword], path, sentences)
        words = joined(beside.get("description"), sentences)
        sentences.clear()  # the branches have them
        shared: Schema = {"type": beside["type"]} if "type" in beside else {}
        return {
            "anyOf": [
                {**shared, **dict(branch), **_described_by(words, branch)}
                for branch in branches
                if isinstance(branch, Mapping)
            ]
        }

    # -- the walk

    def _copy(self, keyword: str, value: JsonValue, visit: "_Visit") -> None:
        """Copy *keyword* if the target supports it; otherwise describe it in words."""
        if self._lacks(keyword) or self._refuses(keyword, value):
            self._describe(keyword, value, visit.path, visit.sentences)
        elif keyword == "enum" and isinstance(value, list):
            self._copy_enum(value, visit)
        elif keyword == "minItems" and self._rules.few_items and value not in (0, 1):
            self._describe(keyword, value, visit.path, visit.sentences)
            visit.result[keyword] = 1
        elif keyword == "additionalProperties" and isinstance(value, bool):
            visit.result[keyword] = value
        else:
            visit.result[keyword] = map_value(
                keyword,
                value,
                visit.path,
                lambda child, where: self.schema(child, where, visit.depth + 1),
            )

    def _refuses(self, keyword: str, value: JsonValue) -> bool:
        """Return whether the target supports *keyword*, but not with this value."""
        if keyword == "format":
            known = self._rules.formats
            return known is not None and not (isinstance(value, str) and value in known)
        looks_around = keyword == "pattern" and _LOOKS_AROUND.search(str(value)) is not None
        return looks_around and self._rules.simple_patterns

    def _describe(self, keyword: str, value: JsonValue, path: str, sentences: list[str]) -> None:
        """Describe a constraint that the target has no keyword for."""
        words = sentence(keyword, value) if is_constraint(keyword) else ""
        if words:
            sentences.append(words)
            self._described(keyword, path)
        else:
            why = f"the target has no {keyword}, which constrains nothing here"
            self._diagnostics.at(f"{path}.{keyword}").noted("schema-keyword-dropped", why)

    def _described(self, keyword: str, path: str) -> None:
        why = f"the target has no such {keyword}; it is added to the description"
        self._diagnostics.at(f"{path}.{keyword}").changed("schema-keyword-described", why)

    def _copy_enum(self, values: list[JsonValue], visit: "_Visit") -> None:
        """Copy an `enum` of values that the target takes; describe any other."""
        kinds = self._rules.enum_types
        listed = [value for value in values if kinds is None or _may_be_listed(value, kinds)]
        if len(listed) == len(values):
            visit.result["enum"] = values
        else:
            self._describe("enum", values, visit.path, visit.sentences)

    # -- strict objects

    def _close(self, ready: Schema, result: Schema, path: str) -> None:
        """Set `additionalProperties` of an object to false."""
        if "object" not in types_of(ready) and "properties" not in ready:
            return
        if "properties" not in ready:
            self.problems.append((path, "it is an object of any shape"))
        elif ready.get("additionalProperties", False) is not False or "patternProperties" in ready:
            self.problems.append((path, "it allows properties that it does not name"))
        properties = result.get("properties")
        if not isinstance(properties, Mapping):
            properties = result["properties"] = {}
        result["additionalProperties"] = False
        if self._rules.all_required:
            self._require_all(result, properties, path)
        elif "required" in result:
            _require_known(result, self._diagnostics.at(f"{path}.required"))

    def _require_all(self, result: Schema, properties: JsonObject, path: str) -> None:
        """Require each property; those that were optional may be null instead."""
        required = set(texts(result.get("required")))
        nullable: Schema = {}
        for name, schema in properties.items():
            if name in required or not isinstance(schema, Mapping):
                nullable[name] = schema
                continue
            nullable[name] = normalise.with_null(dict(schema))
            here = self._diagnostics.at(f"{path}.properties.{name}")
            report = here.noted if nullable[name] == schema else here.changed
            report(
                "schema-optional-as-null",
                "the target requires every property; an absent one is null",
            )
        result["properties"] = nullable
        result["required"] = list(properties)


def _any_of(schema: Schema, diagnostics: Diagnostics) -> Schema:
    """Return *schema* with `anyOf` in place of its `oneOf`."""
    if "discriminator" not in schema:  # a property whose values exclude each other
        why = "oneOf became anyOf, which lets more than one branch hold"
        diagnostics.noted("schema-one-of-loosened", why)
    return {("anyOf" if key == "oneOf" else key): value for key, value in schema.items()}


def _require_known(result: Schema, diagnostics: Diagnostics) -> None:
    """Remove required properties that are not defined."""
    properties = result.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    required = texts(result["required"])
    result["required"] = [name for name in required if name in known]
    if len(required) != len(texts(result["required"])):
        why = "it names properties that the schema does not describe"
        diagnostics.dropped("schema-keyword-dropped", why)


def _described_by(words: str, branch: JsonObject) -> Schema:
    if not words:
        return {}
    description = branch.get("description")
    return {"description": joined(words, [description] if isinstance(description, str) else [])}


def _may_be_listed(value: JsonValue, kinds: tuple[type, ...]) -> bool:
    """Return whether *value* is of one of *kinds*."""
    return bool in kinds if isinstance(value, bool) else isinstance(value, kinds)


def _inclusive(schema: Schema) -> Schema:
    """Return *schema* with exclusive bounds of integers as inclusive ones."""
    if types_of(schema) != ["integer"]:
        return schema
    result: Schema = {}
    for key, value in schema.items():
        if key == "exclusiveMinimum" and isinstance(value, int) and "minimum" not in schema:
            result["minimum"] = value + 1
        elif key == "exclusiveMaximum" and isinstance(value, int) and "maximum" not in schema:
            result["maximum"] = value - 1
        else:
            result[key] = value
    return result
