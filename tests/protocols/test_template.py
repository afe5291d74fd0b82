"""The template of the protocols: the same modules, functions and sections in each package.

Who has read one package finds everything in the others. `docs/adding-a-protocol.md` describes the
template, and its example, an invented protocol, is held to it too.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.every_protocol import FOLDERS as PACKAGES

LEAVES = ("names", "models")
"""The modules that both directions read."""
REQUEST = ("body", "messages", "parts", "tools", "caching")
RESPONSE = ("state", "content", "calls", "finish", "stream")
OPTIONAL = {"caching": "only where a request has breakpoints"}
HOMES = {
    "models": "names",
    **dict.fromkeys(("messages", "parts", "tools"), "body"),
    **dict.fromkeys(("state", "calls", "finish"), "content"),
}
"""Modules that may be missing, and the module that then has their functions: where all of them
together are short. All packages of the library have them."""
LONGEST_HOME = 250
"""Lines of a module with those of another one in it."""
EXTRA_MODULES = {
    "openai-responses": {
        "replay_grouping": "parts go back as the items that they came in",
        "call_inputs": "a dozen types of calls have inputs of their own",
        "matching": "events name their item in two ways, and servers break either",
        "continuation": "the server keeps responses, and requests go on from one",
    },
    "openai-chat": {
        "executed": "servers state in ways of their own which calls they ran and pages they found",
    },
    "anthropic-messages": {
        "contract": "the API as strict values, for users and tests",
        "turns": "code that the provider runs waits for results of the caller's tools",
    },
}
"""Modules that one API alone needs, and why."""
SIDES = {
    **dict.fromkeys((*REQUEST, "replay_grouping", "turns"), "request"),
    **dict.fromkeys((*RESPONSE, "call_inputs", "matching", "executed"), "response"),
}

CONSTANTS = ("PROTOCOL_ID", "API_NAME", "METADATA_KEY", "CALL_IDS", "TOOL_NAMES")
"""How `names` begins."""

FUNCTIONS = {
    "body.from_request": "request stream",
    "body.lower_reasoning": "request * diagnostics",
    "messages.target_of": "request",
    "messages.lower_messages": "request * diagnostics",
    "parts.lower_part": "part * diagnostics",
    "tools.lower_tools": "request * diagnostics",
    "finish.map_usage": "usage",
    "stream.decode": "frame",
    "stream.terminal": "event",
    "stream.initial": "request",
    "stream.step": "state event",
    "stream.halt": "state",
    "stream.whole": "document request",
}
"""Functions of every package: how their parameters begin and, after the star, end."""

SECTIONS = ("frames", "state", "stepping", "the end", "a whole body", "the per-token path")
"""Of `stream`, in this order; others may stand between them, the last one may be missing."""


@cache
def tree_of(module: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(module.read_text(encoding="utf-8"))


def lines_of(module: Path) -> int:
    return module.read_text(encoding="utf-8").count("\n")


def imports_of(module: Path) -> set[str]:
    """Return the modules of its own package that *module* imports."""
    package = module.parent.name
    found: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            _, inside, below = node.module.partition(f".{package}")
            if below:
                found.add(below.split(".")[1])
            elif inside:
                found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("id_", PACKAGES)
def test_a_package_has_the_modules_of_the_template(id_: str) -> None:
    found = {p.stem for p in PACKAGES[id_].iterdir() if not p.name.startswith("__")}
    expected = {*LEAVES, *REQUEST, *RESPONSE} | EXTRA_MODULES.get(id_, {}).keys()
    homes = {HOMES[name] for name in expected - found - OPTIONAL.keys()}

    assert found - expected == set()
    assert expected - found <= OPTIONAL.keys() | HOMES.keys()
    assert [home for home in homes if lines_of(PACKAGES[id_] / f"{home}.py") > LONGEST_HOME] == []


@pytest.mark.parametrize("id_", PACKAGES)
def test_neither_direction_imports_the_other(id_: str) -> None:
    """Both read the leaves, which read neither; a front reads the leaves alone."""
    crossing = {
        f"{module.stem} -> {name}"
        for module in PACKAGES[id_].glob("*.py")
        for name in imports_of(module)
        if module.stem != "__init__"
        and name in SIDES
        and SIDES[name] != SIDES.get(module.stem, "leaf")
    }

    assert crossing == set()


@pytest.mark.parametrize("id_", PACKAGES)
def test_names_begin_with_the_facts_that_the_rest_of_the_library_reads(id_: str) -> None:
    named = [
        node.target.id
        for node in tree_of(PACKAGES[id_] / "names.py").body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]

    assert tuple(named[: len(CONSTANTS)]) == CONSTANTS


@pytest.mark.parametrize("id_", PACKAGES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_package_has_the_functions_of_the_template(id_: str, function: str) -> None:
    """With these parameters; what a dialect or a model adds stands between them or follows."""
    module, _, name = function.partition(".")
    path = PACKAGES[id_] / f"{module}.py"
    path = path if path.exists() else path.with_stem(HOMES[module])
    functions = {
        node.name: node for node in tree_of(path).body if isinstance(node, ast.FunctionDef)
    }
    assert name in functions, f"{path} has no function {name}({FUNCTIONS[function]})"
    given = [a.arg.lstrip("_") for a in functions[name].args.args]
    begin, _, end = (part.split() for part in FUNCTIONS[function].partition("*"))

    assert [_EVENTS.get(a, a) for a in given[: len(begin)]] == begin
    assert given[len(given) - len(end) :] == end


_EVENTS = {"chunk": "event"}
"""Words of an API for what is an event elsewhere."""


@pytest.mark.parametrize("id_", PACKAGES)
def test_the_sections_of_a_stream_stand_in_one_order(id_: str) -> None:
    text = (PACKAGES[id_] / "stream.py").read_text(encoding="utf-8")
    found = [name for name in re.findall(r"(?m)^# -- (.+?) -+$", text) if name in SECTIONS]

    assert found in (list(SECTIONS), list(SECTIONS[:-1]))


@pytest.mark.parametrize("id_", PACKAGES)
def test_the_map_of_a_package_names_its_modules_in_reading_order(id_: str) -> None:
    text = ast.get_docstring(tree_of(PACKAGES[id_] / "__init__.py")) or ""
    order: list[str] = re.findall(r"`(\w+)`", text[text.index("In reading order") :])
    template = [*LEAVES, *REQUEST, *RESPONSE]
    there = [name for name in template if (PACKAGES[id_] / f"{name}.py").exists()]

    assert [name for name in dict.fromkeys(order) if name in there] == there


def test_an_invented_protocol_takes_eight_files() -> None:
    """Its package, and what the guide says is always touched outside of it."""
    guide = (Path(__file__).parents[2] / "docs/adding-a-protocol.md").read_text(encoding="utf-8")
    always = [row.split("|")[1] for row in guide.splitlines() if row.endswith("| always |")]
    outside = [name for cell in always for name in re.findall(r"`([^`]+)`", cell)]

    assert outside == [
        "llmcore/protocols/__init__.py",
        "tests/protocols/<name>/",
        "CHANGELOG.md",
    ]
    assert len([*PACKAGES["parley"].glob("*.py")]) + len(outside) <= 8
