"""Packages whose names are imported on first use: `llmcore` and `llmcore.testing`."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import llmcore
import llmcore.testing
from llmcore.foreign_names import names_elsewhere
from llmcore.names_in_modules import names_in_modules
from scripts import write_stubs
from tests.support.programs.fresh_interpreter import run_fresh

PACKAGES = [llmcore, llmcore.testing]
NAMES = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize("folder", write_stubs.PACKAGES)
def test_stub_equals_the_one_made_from_the_table(folder: str) -> None:
    package = write_stubs.ROOT / folder
    stub = (package / "__init__.pyi").read_text("utf-8")
    assert stub == write_stubs.stub_of(package), "run `make stubs`"


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_names_are_sorted_and_unique(package: ModuleType) -> None:
    assert package.__all__ == sorted(set(package.__all__))


@pytest.mark.parametrize(("package", "name"), NAMES, ids=str)
def test_exported_name_can_be_imported_and_is_listed(package: ModuleType, name: str) -> None:
    assert getattr(package, name) is not None
    assert name in dir(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_unknown_name_raises_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' .* 'opena1'"):
        _ = package.opena1


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Gemini", "Google"),
        ("Openai", "OpenAI"),
        ("Bedrock", "AmazonBedrock"),
        ("genrate", "generate"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_right_one(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean '{meant}'"):
        getattr(llmcore, name)


def test_what_is_meant_by_names_of_other_libraries_exists() -> None:
    names = " ".join(names_in_modules().values()).split()
    meant = {name for name in names_elsewhere().values() if " " not in name}

    assert meant <= {*names, *llmcore.__all__}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Groq", "cannot import name 'Groq' .*from llmcore.routes.chat_providers import Groq"),
        ("StepStart", "'StepStart' .*: use `from llmcore.schema.events import StepStart`"),
        ("Grok", "did you mean 'XAI'. Use `from llmcore.routes.xai import XAI`"),
        ("Openai", "did you mean 'OpenAI'. Use `from llmcore import OpenAI`"),
        ("completion", "or `from llmcore.sync import generate` to block"),
        ("HumanMessage", r"`from llmcore import Message`, and write Message.user\(...\)"),
        ("Response", "did you mean 'LLMResponse'"),
        ("zzz", "cannot import name 'zzz'"),
    ],
)
def test_import_of_a_name_that_is_elsewhere_raises_import_error_with_the_module(
    name: str, error: str
) -> None:
    with pytest.raises(ImportError, match=error):
        exec(f"from llmcore import {name}")


def test_names_in_modules_are_there_and_not_at_the_front_door() -> None:
    homes = [
        (module, name) for module, names in names_in_modules().items() for name in names.split()
    ]

    assert [pair for pair in homes if not hasattr(import_module(pair[0]), pair[1])] == []
    assert {name for _, name in homes} & set(llmcore.__all__) == set()


MODULES = {"batch", "openai_chat", "openai_responses"}


def test_import_of_a_name_of_a_guide_raises_import_error_with_its_module() -> None:
    pages = set(Path(write_stubs.ROOT, "docs").glob("*.md"))
    pages.discard(Path(write_stubs.ROOT, "docs/adding-a-protocol.md"))  # what only protocols need
    guides = "".join(page.read_text("utf-8") for page in pages)
    imported = {
        (module, name)
        for module, names in re.findall(r"^from (llmcore[\w.]+) import ([^(\n]+)$", guides, re.M)
        if not module.startswith(("llmcore.bridge", "llmcore.fronts", "llmcore.sync"))
        for name in re.findall(r"\w+", names)
        if name not in llmcore.__all__ and name not in MODULES
    }
    assert len(imported) > 80
    homes = {name: module for module, names in names_in_modules().items() for name in names.split()}

    assert {
        (module, name)
        for module, name in imported
        if name not in homes
        or getattr(import_module(homes[name]), name) is not getattr(import_module(module), name)
    } == set()


def test_a_submodule_is_imported_though_a_name_is_near_to_it() -> None:
    code = "from llmcore import sync, routes, cli, testing; print(routes.__name__)"

    assert run_fresh(code).stdout == "llmcore.routes\n"


@pytest.mark.parametrize("package", ["mcp", "sync", "testing"])
def test_package_is_an_attribute_after_import_of_llmcore_alone(package: str) -> None:
    """As in `import llmcore; llmcore.sync.generate(...)`."""
    program = f"import llmcore; print(llmcore.{package}.__name__)"
    assert run_fresh(program).stdout == f"llmcore.{package}\n"
    assert package in dir(llmcore)
    assert (
        f"import {package} as {package}"
        in Path(write_stubs.ROOT, "llmcore/__init__.pyi").read_text()
    )


def test_the_front_door_has_some_sixty_names() -> None:
    assert 50 < len(llmcore.__all__) < 70


def test_importing_the_package_loads_no_http_library_and_no_provider() -> None:
    code = "import sys, llmcore; print(*sorted(sys.modules))"
    loaded = set(run_fresh(code).stdout.split())
    assert {name for name in loaded if name.startswith("llmcore")} == {
        "llmcore",
        "llmcore.lazy_names",
        "llmcore.names_in_modules",
        "llmcore.version",
    }
    assert loaded.isdisjoint({"httpx", "httpcore", "aiohttp", "attrs", "cattrs", "anyio", "typing"})


def test_every_package_is_named_in_the_map() -> None:
    root = Path(llmcore.__file__).parent
    packages = {path.parent.name for path in root.glob("*/__init__.py")}
    assert {name for name in packages if f"- `{name}`:" not in (llmcore.__doc__ or "")} == set()
