"""The pages of diagnostic codes in `docs/diagnostics/`, made from the code.

    python -m scripts.diagnostic_pages

writes them; a test reports when that is due. What a code means is in
`diagnostic_codes.py`; which packages report it, and whether something is then
dropped, changed, added or noted, is read from the calls in the source.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

from scripts.diagnostic_codes import CODES, DiagnosticCode

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "diagnostics"
ACTIONS: Final = ("dropped", "changed", "added", "noted")
NAMED: Final = {"left_out": "unsupported-content", "unsupported": "unsupported-parameter"}
"""Methods of `Diagnostics` for something dropped, and their codes."""
_REPORTING: Final = re.compile(rf"\b({'|'.join((*ACTIONS, *NAMED, '_cut', 'Diagnostic'))})\b")
_CONSTANT: Final = re.compile(r'^(_?[A-Z][A-Z0-9_]*)(?:: .+)? = "([a-z-]+)"$', re.MULTILINE)


@frozen
class Report:
    """One call in the source that reports a code."""

    code: str
    action: str
    place: str
    """The module below `llmcore`, such as `protocols/gemini`."""


@cache
def reports() -> frozenset[Report]:
    """Return all calls in the library that report a diagnostic of a constant code."""
    return frozenset(
        report for path in sorted((ROOT / "llmcore").rglob("*.py")) for report in _reports_of(path)
    )


def _reports_of(path: Path) -> Iterator[Report]:
    place = path.relative_to(ROOT / "llmcore").with_suffix("").as_posix()
    place = "/".join(place.split("/")[:2])
    text = path.read_text("utf-8")
    tree = ast.parse(text if _REPORTING.search(text) else "")  # parsing all takes seconds
    chosen = _chosen_actions(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        action = _action(call)
        if action in NAMED:
            yield Report(NAMED[action], "dropped", place)
            continue
        named = chosen.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
        for one in named if action is None else (action,):
            for code in _codes(call, tree):
                yield Report(code, one, place)


def _chosen_actions(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the actions by names, as of `report = here.dropped if lossy else here.noted`."""
    return {
        made.targets[0].id: (made.value.body.attr, made.value.orelse.attr)
        for made in ast.walk(tree)
        if isinstance(made, ast.Assign)
        and isinstance(made.targets[0], ast.Name)
        and isinstance(made.value, ast.IfExp)
        and isinstance(made.value.body, ast.Attribute)
        and isinstance(made.value.orelse, ast.Attribute)
        and {made.value.body.attr, made.value.orelse.attr} <= set(ACTIONS)
    }


def _action(call: ast.Call) -> str | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else None
    if name in (*ACTIONS, *NAMED):
        return name
    if name == "_cut":  # of a schema, in `protocols/tool_schema/traverse`
        return "changed"
    if isinstance(call.func, ast.Name) and call.func.id == "report_lost":  # in `fronts/reading`
        return "dropped"
    if isinstance(call.func, ast.Name) and call.func.id == "Diagnostic":
        stated = (word.value for word in call.keywords if word.arg == "action")
        action = next(stated, None)
        return str(action.value) if isinstance(action, ast.Constant) else None
    return None


def _codes(call: ast.Call, tree: ast.Module) -> Iterator[str]:
    """Yield the code that *call* has, or all that a name of its module may stand for."""
    at = 2 if isinstance(call.func, ast.Attribute) and call.func.attr == "_cut" else 0
    named = (word.value for word in call.keywords if word.arg == "code")
    given = next(named, call.args[at] if len(call.args) > at else None)
    if isinstance(given, ast.Name) and given.id in _constants():
        yield _constants()[given.id]
    elif isinstance(given, ast.Name):
        for made in ast.walk(tree):
            if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == given.id:
                value = made.value
                yield from _texts(
                    *((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))
                )
    else:
        yield from _texts(given)


def _texts(*values: ast.expr | None) -> Iterator[str]:
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


@cache
def _constants() -> dict[str, str]:
    """Return the codes that names in capitals stand for; some are shared that way."""
    return {
        name: code
        for path in sorted((ROOT / "llmcore").rglob("*.py"))
        for name, code in _CONSTANT.findall(path.read_text("utf-8"))
    }


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {"index.md": _index(), **{f"{code}.md": _page(code) for code in CODES}}


MOST_PLACES: Final = 6
"""A page with more modules names their packages alone."""


def _index() -> str:
    rows = [f"| [`{code}`]({code}.md) | {CODES[code].meaning} |\n" for code in CODES]
    return (
        "# Diagnostics\n\n"
        "A diagnostic reports what llmcore left out of a request or response, changed in it or\n"
        "added to it, because a provider, a model or a client's API requires it. Diagnostics are\n"
        "in `diagnostics` of the prepared request, the response and the result. With\n"
        "`strict=True`, a request that would lose or change something is an error instead.\n\n"
        "Each diagnostic has an `action` (dropped, changed, added or noted), a `path` in the\n"
        "request or response, a `message`, and one of these codes, which are stable:\n\n"
        "| Code | Meaning |\n| --- | --- |\n" + "".join(rows)
    )


def _page(code: str) -> str:
    entry: DiagnosticCode = CODES[code]
    found = [report for report in reports() if report.code == code]
    actions = ", ".join(sorted({report.action for report in found}))
    places = {report.place for report in found}
    if len(places) > MOST_PLACES:
        places = {place.partition("/")[0] for place in places}
    shown = ", ".join(f"`llmcore/{place}`" for place in sorted(places))
    return (
        f"# {code}\n\n{entry.meaning}\n\n"
        f"## Cause\n\n{entry.cause}\n\n"
        f"## What to do\n\n{entry.remedy}\n\n"
        f"## Where it comes from\n\nAction: {actions}. Reported by {shown}.\n\n"
        "[All diagnostics](index.md)\n"
    )


def write() -> None:
    """Write all pages, and delete those of codes that no longer exist."""
    FOLDER.mkdir(exist_ok=True)
    current = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in current:
            path.unlink()
    for name, text in current.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
