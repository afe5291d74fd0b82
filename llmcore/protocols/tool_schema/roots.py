"""The top of a schema: an object with properties, and where targets say so no union."""

from collections.abc import Mapping

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.tool_schema.describing import is_constraint, joined, sentence
from llmcore.protocols.tool_schema.forms import merged
from llmcore.protocols.tool_schema.references import MAX_INLINED, look_up, overlay
from llmcore.protocols.tool_schema.walking import (
    Schema,
    names_in,
    schemas_in,
    types_of,
    without,
)
from llmcore.schema import json
from llmcore.schema.json import JsonObject


def object_root(root: JsonObject, path: str, notes: Notes) -> Schema:
    """Return *root* as an object with properties, unions at the top merged into it."""
    top = _Flattener(root, path, notes).flat(root, frozenset())
    if "type" in top and types_of(top) != ["object"]:
        said = json.dumps(top["type"]).decode()
        why = f"the root is always an object here; {said} became one"
        notes.changed("schema-root-not-object", f"{path}.type", why)
    for keyword in ("enum", "const", "not"):
        if keyword in top:
            top = _described(top, sentence(keyword, top[keyword]), keyword)
            notes.changed(
                "schema-keyword-described",
                f"{path}.{keyword}",
                f"{keyword} may not stand at the root; the description says it",
            )
    return _with_properties(top)


def _with_properties(top: Schema) -> Schema:
    kind: Schema = {} if types_of(top) == ["object"] else {"type": "object"}
    rest = without(top, "type") if kind else top
    known: Schema = {} if isinstance(top.get("properties"), Mapping) else {"properties": {}}
    return {**kind, **rest, **known}


class _Flattener:
    """Merges references, `allOf` and unions into one object schema."""

    def __init__(self, root: JsonObject, path: str, notes: Notes) -> None:
        self._root = root
        self._path = path
        self._notes = notes
        self._left = MAX_INLINED

    def flat(self, schema: JsonObject, opened: frozenset[str]) -> Schema:
        """Return *schema* as one object; *opened* are the references it stands in."""
        self._left -= 1
        result, opened = self._expanded(schema, opened)
        if members := schemas_in(result.get("allOf")):
            result = self._with_all(result, [self.flat(member, opened) for member in members])
        for keyword in ("anyOf", "oneOf"):
            if members := schemas_in(result.get(keyword)):
                shapes = [self.flat(member, opened) for member in members]
                result = self._with_any(result, keyword, shapes)
        return without(result, "allOf", "anyOf", "oneOf")

    def _expanded(
        self, schema: JsonObject, opened: frozenset[str]
    ) -> tuple[Schema, frozenset[str]]:
        """Return *schema*, or what it refers to; a reference within itself adds nothing."""
        while isinstance(reference := schema.get("$ref"), str):
            beside = without(schema, "$ref")
            target = look_up(self._root, reference)
            if target is None:
                break
            if reference in opened or self._left < 0:
                return beside, opened
            opened |= {reference}
            schema = overlay(target, beside)
        return dict(schema), opened

    def _with_all(self, schema: Schema, members: list[Schema]) -> Schema:
        result, left = merged([without(schema, "allOf"), *members])
        if left:
            self._notes.dropped(
                "schema-keyword-dropped",
                f"{self._path}.allOf",
                f"its members contradict each other: {sentence('allOf', left)}",
            )
        return result

    def _with_any(self, schema: Schema, keyword: str, shapes: list[Schema]) -> Schema:
        """Return *schema* with the properties of all *shapes*; required is what each requires."""
        objects = [shape for shape in shapes if types_of(shape) in ([], ["object"])]
        properties: Schema = dict(_properties(schema))
        for shape in objects:
            for name, found in _properties(shape).items():
                known = properties.setdefault(name, found)
                if known != found:
                    properties[name] = {"anyOf": [*_branches(known), found]}
        required = names_in(schema.get("required"))
        if objects and len(objects) == len(shapes):
            common = [set(names_in(shape.get("required"))) for shape in objects]
            first = names_in(objects[0].get("required"))
            required += [name for name in first if all(name in names for names in common)]
        self._notes.changed(
            "schema-root-union-merged",
            f"{self._path}.{keyword}",
            "a union may not stand at the root; its properties became the root's",
        )
        result = {**without(schema, keyword), "properties": properties}
        if required:
            result["required"] = list(dict.fromkeys(required))
        return _described(result, _forms(keyword, objects), keyword)


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _branches(schema: object) -> list[JsonObject]:
    """Return the branches of a union that we made, or *schema* alone."""
    if isinstance(schema, Mapping) and schema.keys() == {"anyOf"}:
        return schemas_in(schema["anyOf"])
    return [schema] if isinstance(schema, Mapping) else []


def _forms(keyword: str, shapes: list[Schema]) -> str:
    """Return a sentence that tells which properties go together."""
    forms = [", ".join(names_in(s.get("required")) or list(_properties(s))) for s in shapes]
    distinct = [form for form in dict.fromkeys(forms) if form]
    if not distinct:
        return ""
    start = "Exactly" if keyword == "oneOf" else "At least"
    return f"{start} one of these groups of properties is given: {'; '.join(distinct)}."


def _described(schema: Schema, said: str, keyword: str) -> Schema:
    rest = without(schema, keyword)
    return {**rest, "description": joined(rest.get("description"), [said])} if said else rest


def only(root: Schema, keywords: frozenset[str], path: str, notes: Notes) -> Schema:
    """Return *root* with no other than *keywords*; there is no description to say the rest."""
    for keyword, value in root.items():
        if keyword not in keywords:
            lossy = is_constraint(keyword) and sentence(keyword, value) != ""
            say = notes.dropped if lossy else notes.noted
            say(
                "schema-keyword-dropped",
                f"{path}.{keyword}",
                f"the target takes no {keyword} at the root",
            )
    return {keyword: value for keyword, value in root.items() if keyword in keywords}
