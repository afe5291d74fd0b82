"""The steps of a projection in a row."""

from attrs import frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.tool_schema.limits import excess
from llmcore.protocols.tool_schema.references import Hoisted, inline
from llmcore.protocols.tool_schema.rewriting import Rewriter
from llmcore.protocols.tool_schema.roots import object_root, only
from llmcore.protocols.tool_schema.targets import LOOSE, RULES, Rules, SchemaTarget
from llmcore.protocols.tool_schema.walking import (
    MAX_JSON_DEPTH,
    Schema,
    cut_deeper,
    is_deeper,
    types_of,
)
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.json import JsonObject


@frozen(kw_only=True)
class Projected:
    """A schema as its target takes it."""

    schema: JsonObject
    diagnostics: tuple[Diagnostic, ...] = ()
    strict: bool = False
    """Whether the schema keeps the rules of the target's strict mode. Always False where
    the target has none; where it has one and the schema cannot be made to keep its rules,
    `schema` is the loose form and a Diagnostic (`schema-not-strict`) says why."""


def project(schema: JsonObject, target: SchemaTarget, path: str) -> Projected:
    """Return *schema* as *target* takes it; *path* is where it stands in the request."""
    notes = Notes()
    shallow = _shallow(schema, path, notes)
    if target not in LOOSE:
        return Projected(
            schema=_loose(shallow, RULES[target], path, notes),
            diagnostics=tuple(notes.entries),
        )
    strict, problem = _strict(shallow, target, path, notes)
    if problem is None:
        return Projected(schema=strict, diagnostics=tuple(notes.entries), strict=True)
    where, reason = problem
    loose = project(schema, LOOSE[target], path)
    said = Diagnostic(
        "schema-not-strict",
        where,
        action="changed",
        message=f"strict mode is off for this schema: {reason}",
    )
    return Projected(schema=loose.schema, diagnostics=(said, *loose.diagnostics))


def _shallow(schema: JsonObject, path: str, notes: Notes) -> JsonObject:
    """Return *schema* no deeper than anyone can read or write."""
    if not is_deeper(schema, MAX_JSON_DEPTH):
        return schema
    notes.changed("schema-too-deep", path, f"cut at {MAX_JSON_DEPTH} levels of JSON")
    cut = cut_deeper(schema, MAX_JSON_DEPTH)
    return cut if isinstance(cut, dict) else {}


def _loose(schema: JsonObject, rules: Rules, path: str, notes: Notes) -> Schema:
    root = inline(schema, path, notes) if rules.references == "inline" else dict(schema)
    result = Rewriter(rules, notes).schema(_top(root, rules, path, notes), path)
    return result if rules.root is None else only(result, rules.root, path, notes)


def _strict(
    schema: JsonObject, target: SchemaTarget, path: str, notes: Notes
) -> tuple[Schema, tuple[str, str] | None]:
    """Return the strict form, and where and why there is none (None: it is one)."""
    rules = RULES[target]
    hoisted = Hoisted(schema)
    root = hoisted.schema(path)
    for where, reference in hoisted.unresolved:
        return root, (where, f"{reference} is not in the schema")
    if hoisted.is_recursive and not rules.recursion:
        return root, (path, "it contains itself")
    rewriter = Rewriter(rules, notes)
    result = rewriter.schema(_top(root, rules, path, notes), path)
    if rewriter.problems:
        return result, rewriter.problems[0]
    too_much = excess(result, target)
    return result, None if too_much is None else (path, too_much)


def _top(root: Schema, rules: Rules, path: str, notes: Notes) -> Schema:
    """Return *root* as what may stand at the top: a tool's is always an object."""
    if rules.root_unions and types_of(root) != ["object"] and root:
        return root
    return object_root(root, path, notes)
