"""The top of a schema: an object with properties, and where targets say so no union."""

from collections.abc import Mapping

from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_schema.describing import is_constraint, joined, sentence
from llmcore.protocols.tool_schema.forms import merged
from llmcore.protocols.tool_schema.references import look_up, overlay
from llmcore.protocols.tool_schema.walking import (
    Schema,
    names_in,
    schemas_in,
    types_of,
    without,
)
from llmcore.schema.json import JsonObject


def object_root(root: JsonObject, path: str, notes: Notes) -> Schema:
    """Return *root* as an object with properties, unions at the top merged into it."""
    top = _expanded(root, root)
    while members := schemas_in(top.get("allOf")):
        top = _with_all(top, [_expanded(member, root) for member in members], path, notes)
    for keyword in ("anyOf", "oneOf"):
        if members := schemas_in(top.get(keyword)):
            shapes = [_expanded(member, root) for member in members]
            top = _with_any(top, keyword, shapes, path, notes)
    top = without(top, "allOf", "anyOf", "oneOf")
    for keyword in ("enum", "not"):
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


def _expanded(schema: JsonObject, root: JsonObject) -> Schema:
    """Return *schema*, or what it refers to."""
    seen: set[str] = set()
    while isinstance(reference := schema.get("$ref"), str) and reference not in seen:
        seen.add(reference)
        target = look_up(root, reference)
        if target is None:
            break
        schema = overlay(target, without(schema, "$ref"))
    return dict(schema)


def _with_all(top: Schema, members: list[Schema], path: str, notes: Notes) -> Schema:
    result, left = merged([without(top, "allOf"), *members])
    if left:
        notes.dropped(
            "schema-keyword-dropped",
            f"{path}.allOf",
            f"its members contradict each other: {sentence('allOf', left)}",
        )
    return result


def _with_any(top: Schema, keyword: str, shapes: list[Schema], path: str, notes: Notes) -> Schema:
    """Return *top* with the properties of all *shapes*; required is what each requires."""
    objects = [shape for shape in shapes if types_of(shape) in ([], ["object"])]
    properties: Schema = dict(_properties(top))
    for shape in objects:
        for name, schema in _properties(shape).items():
            known = properties.setdefault(name, schema)
            if known != schema:
                properties[name] = {"anyOf": [*_branches(known), schema]}
    required = names_in(top.get("required"))
    if objects and len(objects) == len(shapes):
        common = [set(names_in(shape.get("required"))) for shape in objects]
        first = names_in(objects[0].get("required"))
        required += [name for name in first if all(name in names for names in common)]
    notes.changed(
        "schema-root-union-merged",
        f"{path}.{keyword}",
        "a union may not stand at the root; its properties became the root's",
    )
    result = {**without(top, keyword), "properties": properties}
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
