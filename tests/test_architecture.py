"""The map of the library, enforced: who imports whom, who is pure, and what is documented."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "llmcore"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = ("schema", "folds", "protocols", "routes", "client", "generation")
"""Each imports itself and what stands before it."""

MAY_IMPORT: dict[str, set[str]] = {
    **{layer: set(LAYERS[: number + 1]) for number, layer in enumerate(LAYERS)},
    "catalog": {"schema", "folds", "catalog"},
    "sessions": {"schema", "folds", "sessions"},
    "testing": {*LAYERS[: LAYERS.index("client") + 1], "testing"},
    "bridge": {*LAYERS, "catalog", "sessions", "bridge"},
    "cli": {*LAYERS, "catalog", "sessions", "bridge", "testing", "cli"},
}
MAY_IMPORT["client"] |= {"catalog"}
MAY_IMPORT["generation"] |= {"catalog", "sessions"}
MAY_IMPORT["sync"] = {*LAYERS, "catalog", "sync"}

EVERYONES = {"lazy_names", "version", "forking", "sqlite_files"}
"""Modules at the root that import nothing of ours but each other."""

PURE = ("schema", "folds", "protocols", "routes")

IMPURE_MODULES = {
    "aiohttp",
    "anyio",
    "asyncio",
    "http",
    "httpcore",
    "httpx",
    "httpx2",
    "io",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "trio",
    "urllib.request",
    "uuid",
    "warnings",
}
"""Clock, randomness, environment, files, network, logging and event loops."""

IMPURE_CALLS = {
    "open",
    "print",
    "input",
    "exec",
    "eval",
    "now",
    "utcnow",
    "today",
    "cwd",
    "home",
    "expanduser",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_text",
}

NOT_NAMES = {"common", "helpers", "misc", "shared", "utils"}
"""A module is named for what it holds."""

VENDORS = ("anthropic", "openai", "gemini", "google", "bedrock", "mistral", "ollama", "claude")


def name_of(module: Path) -> str:
    """Return where a module stands, below the root."""
    return module.relative_to(ROOT).as_posix()


def layer_of(module: Path) -> str:
    """Return the folder, or the root module, that *module* belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def tree_of(module: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(module.read_text(encoding="utf-8"), module.name)


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Name every module that *tree* imports, at any depth, also for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def pure_modules() -> list[Path]:
    """List the modules that must not do anything."""
    return [module for module in MODULES if layer_of(module) in PURE]


every_module = pytest.mark.parametrize("module", MODULES, ids=name_of)
every_pure_module = pytest.mark.parametrize("module", pure_modules(), ids=name_of)


# -- imports


def test_there_is_something_to_check() -> None:
    """A moved folder would otherwise pass every check below."""
    assert {"schema", "folds", "protocols", "routes"} <= {layer_of(m) for m in MODULES}


@every_module
def test_imports_point_down_the_arrows(module: Path) -> None:
    """A layer knows what it stands on, and nothing of what stands on it."""
    layer = layer_of(module)
    if layer == "__init__":  # the front door names everything
        return
    allowed = EVERYONES | MAY_IMPORT.get(layer, set())
    ours = [name for name in imports_of(tree_of(module)) if name.split(".")[0] == "llmcore"]

    assert [name for name in ours if name.split(".")[1] not in allowed] == []


@every_module
def test_imports_are_absolute(module: Path) -> None:
    """Where a name comes from shows in the line that imports it."""
    relative = [
        node.lineno
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert relative == []


def test_every_folder_has_its_place_on_the_map() -> None:
    """A new folder has to say what it may import."""
    folders = {path.parent.relative_to(PACKAGE).parts[:1] for path in MODULES} - {()}

    assert {name for (name,) in folders} <= set(MAY_IMPORT)


# -- purity


@every_pure_module
def test_pure_layers_import_nothing_impure(module: Path) -> None:
    """Values, folds, protocols and routes can be replayed, anywhere, with the same outcome."""
    impure = [
        name
        for name in imports_of(tree_of(module))
        if any(name == bad or name.startswith(f"{bad}.") for bad in IMPURE_MODULES)
    ]

    assert impure == []


@every_pure_module
def test_pure_layers_call_nothing_impure(module: Path) -> None:
    """No file is opened and no clock is read, by whatever name it was imported."""
    calls = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call)]
    named = [
        (node.lineno, getattr(node.func, "attr", getattr(node.func, "id", ""))) for node in calls
    ]

    assert [call for call in named if call[1] in IMPURE_CALLS] == []


@every_pure_module
def test_only_routes_may_wait(module: Path) -> None:
    """An answer is read by one loop, in the client; what it calls is synchronous."""
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    found = [node for node in ast.walk(tree_of(module)) if isinstance(node, waits)]

    assert layer_of(module) == "routes" or found == []


@pytest.mark.parametrize(
    "module", [m for m in MODULES if layer_of(m) in {"schema", "folds"}], ids=name_of
)
def test_values_and_folds_know_no_vendor(module: Path) -> None:
    """What is true of one provider only is its protocol's to know; examples are in docstrings."""
    tree = tree_of(module)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    words = [
        str(getattr(node, "value", getattr(node, "id", getattr(node, "attr", ""))))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.Name | ast.Attribute) and id(node) not in docstrings
    ]

    assert [word for word in words for vendor in VENDORS if vendor in word.lower()] == []


# -- names and docstrings


@every_module
def test_modules_are_named_for_what_they_hold(module: Path) -> None:
    """A drawer for everything fills up."""
    assert not NOT_NAMES & set(module.relative_to(PACKAGE).with_suffix("").parts)


def test_every_folder_is_a_package_with_a_map() -> None:
    """Its docstring lists the modules in reading order."""
    folders = {module.parent for module in MODULES}
    inits = {folder: folder / "__init__.py" for folder in folders}

    missing = [
        name_of(folder)
        for folder, init in inits.items()
        if not (init.exists() and ast.get_docstring(tree_of(init)))
    ]
    assert sorted(missing) == []


def undocumented(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    """Name each public class and function without a docstring."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or is_overload(node):
            continue
        if not ast.get_docstring(node):
            yield f"{prefix}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node, f"{node.name}.")


def is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function only states types; the last of its name has the docstring."""
    return any(
        getattr(decorator, "id", getattr(decorator, "attr", "")) in {"overload", "setter"}
        for decorator in node.decorator_list
    )


@every_module
def test_everything_public_has_a_docstring(module: Path) -> None:
    """Modules, classes, functions and methods say what they are."""
    tree = tree_of(module)

    assert ast.get_docstring(tree)
    assert list(undocumented(tree)) == []
