"""Copies of structs by `msgspec.structs.replace`, whose keywords are unknown to type checkers."""

import ast
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, get_args, get_type_hints

import msgspec

from llmcore.protocols.gemini.state import GeminiInfo

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "llmcore").rglob("*.py"))
COPYING = [file for file in FILES if "from msgspec.structs import replace" in file.read_text()]
GEMINI = sorted((ROOT / "llmcore" / "protocols" / "gemini").glob("*.py"))
"""Where `change` copies a `GeminiInfo`."""
Structs: TypeAlias = set[type[msgspec.Struct]]


def structs_of(hint: Any) -> Structs:
    """Return the struct classes that a type hint names, also in a union or as an argument."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return {hint}
    return {struct for argument in get_args(hint) for struct in structs_of(argument)}


def structs_in(module: ModuleType) -> Structs:
    """Return the structs that *module* and modules in it name, and those in their fields."""
    found: Structs = set()
    within = [value for value in vars(module).values() if isinstance(value, ModuleType)]
    named = [vars(one) for one in (module, *within) if one.__name__.startswith("llmcore.")]
    new = {struct for names in named for value in names.values() for struct in structs_of(value)}
    while new:
        found |= new
        hints = [hint for struct in new for hint in get_type_hints(struct).values()]
        new = {struct for hint in hints for struct in structs_of(hint)} - found
    return found


def types_of(value: ast.expr, names: dict[str, Any]) -> Structs:
    """Return the structs of a parameter, or of a field of one; empty for other expressions."""
    match value:
        case ast.Name(id=name):
            return structs_of(names.get(name))
        case ast.Attribute(value=owner, attr=field):
            hints = [get_type_hints(struct) for struct in types_of(owner, names)]
            return {struct for hint in hints for struct in structs_of(hint.get(field))}
        case _:
            return set()


def functions_of(
    body: list[ast.stmt], made: Mapping[str, Any]
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Any]]:
    """Yield each function and method of *body*, parsed and as it is among *made*."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions_of(node.body, vars(made[node.name]))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found = made[node.name]
            yield node, getattr(found, "fget", None) or getattr(found, "__func__", found)


def copies(file: Path) -> Iterator[tuple[str, set[str], Structs]]:
    """Yield of each copy in *file* its place, its keywords, and the structs that it may be of."""
    dotted = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    module = importlib.import_module(dotted)
    for function, made in functions_of(ast.parse(file.read_text()).body, vars(module)):
        names = get_type_hints(made)
        for call in ast.walk(function):
            copier = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
            if not isinstance(call, ast.Call) or copier not in ("replace", "change"):
                continue
            keywords = {one.arg for one in call.keywords if one.arg is not None}
            stated = types_of(call.args[0], names) or structs_in(module)
            kinds: Structs = {GeminiInfo} if copier == "change" else stated
            yield f"{file.name}:{call.lineno}", keywords, kinds


def test_copies_of_structs_change_fields_that_exist() -> None:
    found = [copy for file in {*COPYING, *GEMINI} for copy in copies(file)]
    wrong = [
        (place, keywords)
        for place, keywords, kinds in found
        if not any(keywords <= set(kind.__struct_fields__) for kind in kinds)
    ]

    assert len(found) > 100
    assert wrong == []
