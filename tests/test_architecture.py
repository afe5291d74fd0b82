"""The map of the library, enforced: who imports whom, who is pure, and what is documented.

Each rule is one test, which lists every offender.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from llmcore.fronts.front import FRONT_IDS
from llmcore.protocols import PROTOCOL_IDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "llmcore"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = ("schema", "folds", "protocols", "routes", "client", "generation")
"""Each imports itself and what stands before it."""

MAY_IMPORT: dict[str, set[str]] = {
    **{layer: set(LAYERS[: number + 1]) for number, layer in enumerate(LAYERS)},
    "catalog": {"schema", "folds", "catalog"},
    "storage": {"schema", "storage"},
    "sessions": {"schema", "folds", "storage", "sessions"},
    "fronts": {"schema", "folds", "protocols", "fronts"},
    "testing": {*LAYERS[: LAYERS.index("client") + 1], "fronts", "sync", "testing"},
    "inspector": {"schema", "folds", "protocols", "routes", "catalog", "sessions", "testing"}
    | {"inspector"},
    "bridge": {*LAYERS, "inspector", "catalog", "sessions", "storage", "fronts", "bridge"},
    "cli": {*LAYERS, "catalog", "sessions", "fronts", "bridge", "testing", "sync", "inspector"}
    | {"cli"},
    "sync": {*LAYERS, "catalog", "sessions", "mcp", "sync"},
    "mcp": {*LAYERS, "mcp"},
    "__main__": {"cli"},
}
MAY_IMPORT["client"] |= {"catalog", "storage"}
MAY_IMPORT["generation"] |= {"catalog", "sessions", "storage"}

UPWARDS_FOR_A_REASON = {
    "llmcore/names_in_modules.py": {"routes", "testing", "__all__"},  # names not at the door
    "llmcore/routes/route.py": {"catalog"},  # `PreparedRequest.estimate` looks prices up
    "llmcore/schema/model.py": {"generation"},  # its methods are shorthands for functions there
}
"""Modules that import another layer when a method of theirs is called, and which."""

EVERYONES = {
    *("foreign_names", "forking", "lazy_names", "names_in_modules", "tracebacks", "version"),
}
"""Modules at the root that import nothing of ours but each other."""

WITH_ANOTHER_PACKAGE = {
    **dict.fromkeys(("multidict", "yarl"), "aiohttp: arguments of its calls"),
    **dict.fromkeys(("httpx2", "mcp_types"), "mcp: arguments and results of its calls"),
    "pyarrow": "ray: its blocks are tables of it",
    **dict.fromkeys(("pydantic", "pydantic_core", "pytest", "trio"), "where a program uses it"),
    "typing_extensions": "for type checkers, which know it",
}
"""Imported packages that are neither dependencies nor in an extra, and why."""

PURE = ("schema", "folds", "protocols", "fronts", "routes", "sessions/contract")

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

CALLS_FOR_A_REASON = {
    "llmcore/schema/changed.py": {"exec"},  # code made of the names of a class's own fields
}
"""Modules that call one of these, and which."""

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

_FRONTS = tuple(f"fronts/{front_id.replace('-', '_')}/" for front_id in FRONT_IDS)

NOT_NAMES = {"common", "helpers", "misc", "shared", "utils"}
"""A module is named for what it holds."""

VENDORS = ("anthropic", "openai", "gemini", "google", "bedrock", "mistral", "ollama", "claude")

SMALL_FOR_A_REASON = {
    "llmcore/__main__.py": "what `python -m llmcore` runs",
    "llmcore/client/middleware/clock.py": "what tests of middleware replace",
    "llmcore/generation/generate.py": "the function that most users look for first",
    "llmcore/version.py": "the build backend and the library both read it",
}
"""Modules of under 40 lines that cannot be a section of another one, and why."""

PROTOCOLS_FOR_A_REASON = {
    "llmcore/bridge/apis/registry.py": "the paths of each API that the gateway serves",
    "llmcore/bridge/rejected_betas.py": "a route and requests, of which protocols know nothing",
    "llmcore/catalog/model_names.py": "`gemini` is another name of the provider `google`",
    "llmcore/fronts/billing_line.py": "a line for the servers of one API, from clients of any",
    "llmcore/fronts/checked_read.py": "an error names the API of a body sent to another",
    "llmcore/fronts/front.py": "the list of fronts",
    "llmcore/routes/providers.py": "the APIs of each provider",
    "llmcore/routes/retrieval.py": "`gemini` is a part of models' names",
}
"""Modules outside of protocols and of the fronts' packages that name a protocol, and why."""

SAME_NAME_FOR_A_REASON: dict[str, str] = {
    "CachedContents": "sync mirrors the asynchronous API",
    "Client": "sync mirrors the asynchronous API",
    "Conversation": "sync mirrors the asynchronous API",
    "EventStream": "sync mirrors the asynchronous API",
    "McpServers": "sync mirrors the asynchronous API",
    "ByteStream": "sync mirrors the asynchronous API",
    "StreamObjectResult": "sync mirrors the asynchronous API",
    "StreamResult": "sync mirrors the asynchronous API",
}
"""Public classes that two modules may define, and why."""


def name_of(module: Path) -> str:
    """Return the path of a module or folder below the root."""
    return module.relative_to(ROOT).as_posix()


def layer_of(module: Path) -> str:
    """Return the folder, or the root module, that *module* belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree_of(module: Path) -> ast.Module:
    """Parse a module, once for all rules."""
    return ast.parse(module.read_text(encoding="utf-8"), module.name)


@cache
def nodes_of(module: Path) -> tuple[ast.AST, ...]:
    """Return every node of a module's tree."""
    return tuple(ast.walk(tree_of(module)))


@cache
def imports_of(module: Path) -> tuple[tuple[int, str], ...]:
    """Return each import at any depth, those for type checkers too: its line and its name."""
    found: list[tuple[int, str]] = []
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return tuple(found)


def offenders(
    rule: Callable[[Path], Iterable[tuple[int, str]]], modules: Iterable[Path] = MODULES
) -> list[str]:
    """Return `file:line: what` for everything that *rule* yields of *modules*."""
    return [f"{name_of(m)}:{line}: {what}" for m in modules for line, what in rule(m)]


def pure_modules() -> list[Path]:
    """Return the modules that do no I/O."""
    folders = tuple(f"{folder}/" for folder in PURE)
    return [m for m in MODULES if m.relative_to(PACKAGE).as_posix().startswith(folders)]


# -- imports


def test_there_are_modules_to_check() -> None:
    """A moved folder would otherwise pass every rule below."""
    assert {"schema", "folds", "protocols", "routes"} <= {layer_of(m) for m in MODULES}


def test_imports_point_down_the_arrows() -> None:
    """A layer imports what it stands on, and nothing of what stands on it."""

    def upwards(module: Path) -> Iterator[tuple[int, str]]:
        layer = layer_of(module)
        if layer == "__init__":  # the front door names everything
            return
        allowed = EVERYONES | MAY_IMPORT.get(layer, set())
        allowed |= UPWARDS_FOR_A_REASON.get(name_of(module), set())
        for line, name in imports_of(module):
            root, _, rest = name.partition(".")
            if root == "llmcore" and rest.split(".")[0] not in allowed:
                yield line, name

    assert offenders(upwards) == []


def test_imports_are_absolute() -> None:
    """Where a name comes from shows in the line that imports it."""

    def relative(module: Path) -> Iterator[tuple[int, str]]:
        for node in nodes_of(module):
            if isinstance(node, ast.ImportFrom) and node.level:
                yield node.lineno, "a relative import"

    assert offenders(relative) == []


def test_frozen_classes_are_those_of_the_schema() -> None:
    """Which attrs compiles no methods for: they take a third less of an import."""

    def of_attrs(module: Path) -> Iterator[tuple[int, str]]:
        for line, name in imports_of(module):
            if name == "attrs.frozen" and name_of(module) != "llmcore/schema/frozen.py":
                yield line, "use `from llmcore.schema.frozen import frozen`"

    assert offenders(of_attrs) == []


def test_every_folder_has_its_place_on_the_map() -> None:
    """A new folder has to state what it may import."""
    folders = {path.parent.relative_to(PACKAGE).parts[:1] for path in MODULES} - {()}

    assert {name for (name,) in folders} <= set(MAY_IMPORT)


# -- purity


def test_pure_layers_import_nothing_impure() -> None:
    """Values, folds, protocols and routes can be replayed, anywhere, with the same outcome."""

    def impure(module: Path) -> Iterator[tuple[int, str]]:
        for line, name in imports_of(module):
            if any(name == bad or name.startswith(f"{bad}.") for bad in IMPURE_MODULES):
                yield line, name

    assert offenders(impure, pure_modules()) == []


def test_pure_layers_call_nothing_impure() -> None:
    """No file is opened and no clock is read, by whatever name it was imported."""

    def impure(module: Path) -> Iterator[tuple[int, str]]:
        allowed = CALLS_FOR_A_REASON.get(name_of(module), set())
        for node in nodes_of(module):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in IMPURE_CALLS - allowed:
                    yield node.lineno, name

    assert offenders(impure, pure_modules()) == []


def test_pure_layers_below_routes_never_wait() -> None:
    """One loop in the client reads a response; all that it calls is synchronous."""
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)

    def waiting(module: Path) -> Iterator[tuple[int, str]]:
        for node in nodes_of(module):
            if isinstance(node, waits):
                yield node.lineno, type(node).__name__

    assert offenders(waiting, [m for m in pure_modules() if layer_of(m) != "routes"]) == []


def test_values_and_folds_name_no_vendor() -> None:
    """Facts of one provider belong to its protocol; docstrings may give them as examples."""

    def named(module: Path) -> Iterator[tuple[int, str]]:
        docstrings = {
            id(node.value)
            for node in nodes_of(module)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in nodes_of(module):
            if id(node) not in docstrings and any(v in _word(node).lower() for v in VENDORS):
                yield getattr(node, "lineno", 0), _word(node)

    assert offenders(named, [m for m in MODULES if layer_of(m) in {"schema", "folds"}]) == []


def test_only_a_protocol_and_its_front_ask_which_protocol_it_is() -> None:
    """Other modules read its facts from fields of `Protocol` and `Front`."""

    def named(module: Path) -> Iterator[tuple[int, str]]:
        for node in nodes_of(module):
            if isinstance(node, ast.Constant) and node.value in PROTOCOL_IDS:
                yield node.lineno, str(node.value)
        yield from ((n, what) for n, what in imports_of(module) if what.endswith(".PROTOCOL_ID"))

    others = [
        module
        for module in MODULES
        if layer_of(module) != "protocols"
        and not module.relative_to(PACKAGE).as_posix().startswith(_FRONTS)
    ]
    found = {offender.partition(":")[0] for offender in offenders(named, others)}

    assert found == PROTOCOLS_FOR_A_REASON.keys()


def _word(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


# -- names, sizes and docstrings


def test_modules_are_named_for_what_they_hold() -> None:
    """A module for everything fills up."""
    assert [
        name_of(module)
        for module in MODULES
        if NOT_NAMES & set(module.relative_to(PACKAGE).with_suffix("").parts)
    ] == []


def test_modules_have_at_least_40_lines() -> None:
    """A smaller one is a section of another module, or states its reason above."""
    small = {
        name_of(module)
        for module in MODULES
        if module.name != "__init__.py"
        and len(module.read_text(encoding="utf-8").splitlines()) < 40
    }

    assert small == SMALL_FOR_A_REASON.keys()


def test_modules_have_at_most_500_lines() -> None:
    long = {
        name_of(module)
        for module in MODULES
        if len(module.read_text(encoding="utf-8").splitlines()) > 500
    }

    assert long == set()


def test_public_classes_have_names_of_their_own() -> None:
    """A name has one meaning; what only one module uses begins with an underscore."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name_of(module))

    assert {n for n, at in homes.items() if len(at) > 1} == SAME_NAME_FOR_A_REASON.keys()


def test_classes_of_fronts_and_protocols_have_at_most_20_methods() -> None:
    """A larger one has two subjects, of which the second has a state of its own."""

    def large(module: Path) -> Iterator[tuple[int, str]]:
        for node in nodes_of(module):
            if isinstance(node, ast.ClassDef):
                methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
                if len(methods) > 20:
                    yield node.lineno, f"{node.name} has {len(methods)} methods"

    rooms = [m for m in MODULES if layer_of(m) in ("fronts", "protocols")]

    assert offenders(large, rooms) == []


_CONTENT = {
    *("_on_text_start", "_on_text_delta", "_on_text_end", "_on_reasoning_delta"),
    *("_on_reasoning_end", "_on_tool_call", "_on_tool_result", "_on_file", "_on_source"),
    *("_on_provider_event", "delta_of_live", "end"),
}
_AROUND = {"whole", "_begin_response", "_end_response", "_write_failure"}


def test_each_front_writes_responses_in_the_same_arrangement() -> None:
    """`response` has the writer of begin and end, `output` that of the content."""
    found = {
        (package, module, base): sorted(names - _names_in_subclass(package / module, base))
        for package in (PACKAGE / folder for folder in _FRONTS)
        for module, base, names in (
            ("response.py", "FrontWriter", _AROUND),
            ("output.py", "OutputWriter", _CONTENT),
        )
    }

    assert len(found) == 2 * len(FRONT_IDS)
    assert [missing for missing in found.items() if missing[1]] == []


def _names_in_subclass(module: Path, base: str) -> set[str]:
    """Return the names that the one subclass of *base* in *module* defines."""
    (found,) = (
        node
        for node in nodes_of(module)
        if isinstance(node, ast.ClassDef) and base in map(_word, node.bases)
    )
    defined = {item.name for item in found.body if isinstance(item, ast.FunctionDef)}
    aliases = (item.targets for item in found.body if isinstance(item, ast.Assign))
    return defined | {_word(target) for targets in aliases for target in targets}


def test_every_folder_is_a_package_with_a_complete_map() -> None:
    """The docstring of its `__init__` names each of its modules and packages."""
    folders = {
        parent for module in MODULES for parent in module.parents if PACKAGE in parent.parents
    }
    unnamed: dict[str, list[str]] = {}
    for folder in sorted({PACKAGE, *folders}):
        words = set(re.findall(r"\w+", _docstring(folder / "__init__.py")))
        here = {
            m.relative_to(folder).parts[0].removesuffix(".py")
            for m in MODULES
            if folder in m.parents
        }
        missing = sorted(here - {"__init__"} - words)
        if not words or missing:
            unnamed[name_of(folder)] = missing

    assert unnamed == {}


def _docstring(module: Path) -> str:
    return (ast.get_docstring(tree_of(module)) or "") if module.exists() else ""


WIRE_READERS = {
    "protocols": {"content", "calls", "finish", "stream"},
    "fronts": {"request", "messages", "content", "calls", "tools"},
}
"""The modules that read responses of providers, and those that read requests of clients."""


def test_each_reader_of_a_wire_shows_a_frame() -> None:
    """A docstring of the module, or of a function in it, has the JSON that is read."""
    readers = [
        module
        for layer, names in WIRE_READERS.items()
        for module in (PACKAGE / layer).glob("*/*.py")
        if module.stem in names
    ]
    without = [name_of(m) for m in readers if not _shows_json(m)]

    assert len(readers) > 30
    assert without == []


def _shows_json(module: Path) -> bool:
    texts = (
        ast.get_docstring(node) or ""
        for node in nodes_of(module)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    )
    return any(re.search(r'\{"\w+": ', text) for text in texts)


def test_everything_public_has_a_docstring() -> None:
    """Modules, classes, functions and methods have one."""

    def undocumented(module: Path) -> Iterator[tuple[int, str]]:
        tree = tree_of(module)
        if not ast.get_docstring(tree):
            yield 1, "the module"
        yield from _undocumented(tree)

    assert offenders(undocumented) == []


def _undocumented(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[int, str]]:
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or _is_overload(node):
            continue
        if not ast.get_docstring(node):
            yield node.lineno, f"{prefix}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node, f"{node.name}.")


def _is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function only states types; the last of its name has the docstring."""
    return any(
        getattr(decorator, "id", getattr(decorator, "attr", "")) in {"overload", "setter"}
        for decorator in node.decorator_list
    )


NEWER_STDLIB = {"annotationlib"}
"""Modules of Python 3.14, which older versions do not list."""


def test_every_imported_package_is_declared() -> None:
    """Nothing is imported only because another package happens to need it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    declared = {canonicalize_name(Requirement(line).name) for lines in groups for line in lines}
    distributions = packages_distributions()

    def undeclared(module: Path) -> Iterator[tuple[int, str]]:
        for line, name in imports_of(module):
            package = name.partition(".")[0]
            known = {*sys.stdlib_module_names, *NEWER_STDLIB, *WITH_ANOTHER_PACKAGE, "llmcore"}
            names = {canonicalize_name(one) for one in distributions.get(package, [package])}
            if package not in known and not names & declared:
                yield line, package

    assert offenders(undeclared) == []
