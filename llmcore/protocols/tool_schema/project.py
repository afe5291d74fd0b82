"""Projects a JSON Schema to a target: the steps in order, the root, limits of strict mode."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Final, cast

from attrs import define

from llmcore.protocols.tool_schema.normalise import is_constraint, joined, merged, sentence
from llmcore.protocols.tool_schema.rewrite import Rewriter
from llmcore.protocols.tool_schema.targets import LOOSE, RULES, SchemaRules, SchemaTarget
from llmcore.protocols.tool_schema.traverse import (
    MANY,
    MAX_INLINED,
    MAX_JSON_DEPTH,
    NAMED,
    ONE,
    Hoisted,
    Schema,
    cut_deeper,
    inline,
    is_deeper,
    look_up,
    overlay,
    schemas_in,
    types_of,
)
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic, Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.native_json import texts

# -- what may be at the root


def object_root(root: JsonObject, path: str, diagnostics: Diagnostics) -> Schema:
    """Return *root* as an object with properties, unions at the top merged into it."""
    top = _Flattener(root, path, diagnostics).flat(root, frozenset())
    if "type" in top and types_of(top) != ["object"]:
        type_text = json.dumps(top["type"]).decode()
        why = f"the root is always an object here; {type_text} became one"
        diagnostics.at(f"{path}.type").changed("schema-root-not-object", why)
    for keyword in ("enum", "const", "not"):
        if keyword in top:
            top = _described(top, sentence(keyword, top[keyword]), keyword)
            diagnostics.at(f"{path}.{keyword}").changed(
                "schema-keyword-described",
                f"{keyword} is not allowed at the root; it is added to the description",
            )
    return _with_properties(top)


def may_be_object(schema: JsonObject) -> bool:
    """Return whether some value that *schema* allows is an object."""
    return _may_be_object(schema, schema, frozenset())


def _may_be_object(schema: JsonObject, root: JsonObject, opened: frozenset[str]) -> bool:
    reference = schema.get("$ref")
    target: JsonObject | None = None
    if isinstance(reference, str) and reference not in opened:
        target, opened = look_up(root, reference), opened | {reference}
    inside = partial(_may_be_object, root=root, opened=opened)
    kinds = types_of(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if kinds and "object" not in kinds:
        return False
    if isinstance(values, list) and not any(isinstance(value, Mapping) for value in values):
        return False
    unions = [schemas_in(schema.get(keyword)) for keyword in ("anyOf", "oneOf")]
    members = [*schemas_in(schema.get("allOf")), *([] if target is None else [target])]
    return all(map(inside, members)) and all(any(map(inside, union)) for union in unions if union)


def _with_properties(top: Schema) -> Schema:
    kind: Schema = {} if types_of(top) == ["object"] else {"type": "object"}
    rest = without(top, "type") if kind else top
    known: Schema = {} if isinstance(top.get("properties"), Mapping) else {"properties": {}}
    return {**kind, **rest, **known}


class _Flattener:
    """Merges references, `allOf` and unions into one object schema."""

    def __init__(self, root: JsonObject, path: str, diagnostics: Diagnostics) -> None:
        self._root = root
        self._path = path
        self._diagnostics = diagnostics
        self._left = MAX_INLINED

    def flat(self, schema: JsonObject, opened: frozenset[str]) -> Schema:
        """Return *schema* as one object; *opened* are the references it is in."""
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
        """Return *schema*, or the schema it refers to; a recursive reference adds nothing."""
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
        result, unmerged = merged([without(schema, "allOf"), *members])
        if unmerged:
            why = f"its members contradict each other: {sentence('allOf', unmerged)}"
            self._diagnostics.at(f"{self._path}.allOf").dropped("schema-keyword-dropped", why)
        return result

    def _with_any(self, schema: Schema, keyword: str, shapes: list[Schema]) -> Schema:
        """Return *schema* with the properties of all *shapes*; required is what each requires."""
        objects = [shape for shape in shapes if types_of(shape) in ([], ["object"])]
        properties: Schema = dict(_properties(schema))
        for shape in objects:
            for name, shape_schema in _properties(shape).items():
                known = properties.setdefault(name, shape_schema)
                if known != shape_schema:
                    properties[name] = {"anyOf": [*_branches(known), shape_schema]}
        required = texts(schema.get("required"))
        if objects and len(objects) == len(shapes):
            common = [set(texts(shape.get("required"))) for shape in objects]
            first = texts(objects[0].get("required"))
            required += [name for name in first if all(name in names for names in common)]
        why = "a union is not allowed at the root; its properties are moved to the root"
        self._diagnostics.at(f"{self._path}.{keyword}").changed("schema-root-union-merged", why)
        result = {**without(schema, keyword), "properties": properties}
        if required:
            result["required"] = list(dict.fromkeys(required))
        return _described(result, _forms(keyword, objects), keyword)


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _branches(schema: object) -> list[JsonObject]:
    """Return the branches of a union that we made, or *schema* alone."""
    if isinstance(schema, Mapping) and schema.keys() == {"anyOf"}:
        return schemas_in(schema["anyOf"])
    return [schema] if isinstance(schema, Mapping) else []


def _forms(keyword: str, shapes: list[Schema]) -> str:
    """Return a sentence that states which properties go together."""
    forms = [", ".join(texts(s.get("required")) or list(_properties(s))) for s in shapes]
    distinct = [form for form in dict.fromkeys(forms) if form]
    if not distinct:
        return ""
    start = "Exactly" if keyword == "oneOf" else "At least"
    return f"{start} one of these groups of properties is given: {'; '.join(distinct)}."


def _described(schema: Schema, constraint: str, keyword: str) -> Schema:
    rest = without(schema, keyword)
    return (
        {**rest, "description": joined(rest.get("description"), [constraint])}
        if constraint
        else rest
    )


def keep_only(
    root: Schema, keywords: frozenset[str], path: str, diagnostics: Diagnostics
) -> Schema:
    """Return *root* with *keywords* only; the root has no description for the others."""
    for keyword, value in root.items():
        if keyword not in keywords:
            lossy = is_constraint(keyword) and sentence(keyword, value) != ""
            here = diagnostics.at(f"{path}.{keyword}")
            report = here.dropped if lossy else here.noted
            report("schema-keyword-dropped", f"the target accepts no {keyword} at the root")
    return {keyword: value for keyword, value in root.items() if keyword in keywords}


# -- how large a strict schema may be


@define
class _Size:
    """The sizes of a schema that providers limit."""

    properties: int = 0
    optional: int = 0
    unions: int = 0
    enum_values: int = 0
    characters: int = 0
    levels: int = 0
    long_enum: int = 0
    """Characters of the longest enum that has more than 250 strings."""


def over_limit(schema: JsonObject, target: SchemaTarget) -> str | None:
    """Return the limit of *target*'s strict mode that *schema* exceeds; None if there is none.

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
        size.optional += len(properties.keys() - set(texts(node.get("required"))))
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


# -- the steps in order


@frozen(kw_only=True)
class Projected:
    """A schema as its target takes it."""

    schema: JsonObject
    diagnostics: tuple[Diagnostic, ...] = ()
    strict: bool = False
    """Whether the schema keeps the rules of the target's strict mode. Always False where
    the target has none; where it has one and the schema cannot be made to keep its rules,
    `schema` is the loose form and a Diagnostic (`schema-not-strict`) states why."""


def project(schema: JsonObject, target: SchemaTarget, path: str) -> Projected:
    """Return *schema* as *target* takes it; *path* is where it is in the request.

    Agents send the same tools with each request, so the results of small schemas are kept as text,
    which takes a tenth of the time to read.
    """
    try:
        text = json.dumps(schema)
    except InvalidRequestError:  # nested too deeply to be written; it is cut
        return _projected(schema, target, path)
    if len(text) > _KEPT_BYTES:
        return _projected(schema, target, path)
    kept, diagnostics, strict = _projected_text(text, target, path)
    kept_schema = cast("JsonObject", json.loads(kept))
    return Projected(schema=kept_schema, diagnostics=diagnostics, strict=strict)


_KEPT_BYTES: Final = 8 * 1024


@lru_cache(maxsize=256)
def _projected_text(
    text: bytes, target: SchemaTarget, path: str
) -> tuple[bytes, tuple[Diagnostic, ...], bool]:
    done = _projected(cast("JsonObject", json.loads(text)), target, path)
    return json.dumps(done.schema), done.diagnostics, done.strict


def _projected(schema: JsonObject, target: SchemaTarget, path: str) -> Projected:
    diagnostics = Diagnostics()
    shallow = _shallow(schema, path, diagnostics)
    if target not in LOOSE:
        return Projected(
            schema=_loose(shallow, RULES[target], path, diagnostics),
            diagnostics=tuple(diagnostics.entries),
        )
    strict, problem = _strict(shallow, target, path, diagnostics)
    if problem is None:
        return Projected(schema=strict, diagnostics=tuple(diagnostics.entries), strict=True)
    where, reason = problem
    loose = _projected(schema, LOOSE[target], path)
    diagnostic = Diagnostic(
        "schema-not-strict",
        where,
        action="changed",
        message=f"strict mode is off for this schema: {reason}",
    )
    return Projected(schema=loose.schema, diagnostics=(diagnostic, *loose.diagnostics))


def _shallow(schema: JsonObject, path: str, diagnostics: Diagnostics) -> JsonObject:
    """Return *schema* without what is nested too deep to be read or written."""
    if not is_deeper(schema, MAX_JSON_DEPTH):
        return schema
    diagnostics.at(path).changed("schema-too-deep", f"cut at {MAX_JSON_DEPTH} levels of JSON")
    cut = cut_deeper(schema, MAX_JSON_DEPTH)
    return cut if isinstance(cut, dict) else {}


def _loose(schema: JsonObject, rules: SchemaRules, path: str, diagnostics: Diagnostics) -> Schema:
    root = inline(schema, path, diagnostics) if rules.references == "inline" else dict(schema)
    result = Rewriter(rules, diagnostics).schema(_top(root, rules, path, diagnostics), path)
    return result if rules.root is None else keep_only(result, rules.root, path, diagnostics)


def _strict(
    schema: JsonObject, target: SchemaTarget, path: str, diagnostics: Diagnostics
) -> tuple[Schema, tuple[str, str] | None]:
    """Return the strict form, and where and why it is impossible (None: it is possible)."""
    rules = RULES[target]
    hoisted = Hoisted(schema)
    root = hoisted.schema(path)
    for where, reference in hoisted.unresolved:
        return root, (where, f"{reference} is not in the schema")
    if hoisted.is_recursive and not rules.recursion:
        return root, (path, "it contains itself")
    rewriter = Rewriter(rules, diagnostics)
    result = rewriter.schema(_top(root, rules, path, diagnostics), path)
    if rewriter.problems:
        return result, rewriter.problems[0]
    too_much = over_limit(result, target)
    return result, None if too_much is None else (path, too_much)


def _top(root: Schema, rules: SchemaRules, path: str, diagnostics: Diagnostics) -> Schema:
    """Return *root* in a form that is allowed at the root: that of a tool is always an object."""
    if rules.root_unions and types_of(root) != ["object"] and root:
        return root
    return object_root(root, path, diagnostics)
