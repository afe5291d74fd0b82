"""The API reference shows every exported name with all its fields, types and defaults."""

import inspect
import re
from functools import cache
from pathlib import Path

import attrs
import pytest
from griffe import (
    Alias,
    Class,
    DocstringSectionParameters,
    Function,
    GriffeLoader,
    Object,
    load_extensions,
)

from llmcore.generation.signatures import setting_meanings
from llmcore.sync import Client as SyncClient
from scripts.reference_fields import ReferenceFields, _texts, described
from tests.support.public_names import home_of, public_names

ROOT = Path(__file__).parents[2]
PAGES = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
MODULES = set(re.findall(r"^::: (\S+)$", PAGES, re.MULTILINE))
SHOWN_WITH_INHERITED = set(
    re.findall(
        r"^::: (\S+)\n    options:\n(?:      .*\n)*?      inherited_members: true$",
        PAGES,
        re.MULTILINE,
    )
)
ELSEWHERE = {"attrs", "returns"}
CLASSES = [
    value
    for _, value in public_names()
    if isinstance(value, type) and value.__module__.partition(".")[0] not in ELSEWHERE
]


@cache
def source() -> Object:
    loader = GriffeLoader(extensions=load_extensions(ReferenceFields), search_paths=[ROOT])
    package = loader.load("llmcore", submodules=True)
    assert isinstance(package, Object)
    return package


def fields_shown(cls: type) -> set[str]:
    """Return the names in the table of fields of *cls* and of its bases in the library."""
    shown: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.startswith("llmcore"):
            found = source()[f"{base.__module__.removeprefix('llmcore.')}.{base.__qualname__}"]
            assert isinstance(found, Class)
            for section in found.docstring.parsed if found.docstring else ():
                if isinstance(section, DocstringSectionParameters):
                    shown |= {row.name for row in section.value}
    return shown


def test_every_exported_class_is_on_a_reference_page() -> None:
    assert [cls for cls in CLASSES if cls.__module__ not in MODULES] == []


def test_every_field_of_an_exported_class_is_in_its_table() -> None:
    missing: dict[type, set[str]] = {}
    for cls in filter(attrs.has, CLASSES):
        fields = {field.name for field in attrs.fields(cls) if field.init}
        missing[cls] = {name for name in fields if not name.startswith("_")} - fields_shown(cls)

    assert len(missing) > 30
    assert {cls: names for cls, names in missing.items() if names} == {}


def test_defaults_are_shown_as_the_source_has_them() -> None:
    request = source()["schema.request.LLMRequest"]
    assert isinstance(request, Class)
    assert request.docstring is not None
    table = request.docstring.parsed[-1]
    assert isinstance(table, DocstringSectionParameters)
    defaults = {row.name: row.value for row in table.value}
    assert defaults["model"] is None
    assert defaults["system"] == "()"
    assert defaults["metadata"] == "dict()"


def members_shown(cls: Class, module: str) -> dict[str, Object]:
    """Return the members of *cls* that the page of *module* shows."""
    members = cls.all_members if module in SHOWN_WITH_INHERITED else cls.members
    found = {
        name: one.final_target if isinstance(one, Alias) else one for name, one in members.items()
    }
    return {name: one for name, one in found.items() if isinstance(one, Object)}


@cache
def exported_functions() -> dict[str, Function]:
    """Return the exported functions, and the public methods of exported classes."""
    found: dict[str, Function] = {}
    for name, value in public_names():
        home = home_of(value)
        if home.startswith("llmcore.") and hasattr(value, "__qualname__"):
            shown = source()[f"{home.removeprefix('llmcore.')}.{value.__qualname__}"]
            members = members_shown(shown, home) if isinstance(shown, Class) else {name: shown}
            for member, one in members.items():
                if isinstance(one, Function) and (member == "__init__" or member[0] != "_"):
                    found[name if one is shown else f"{name}.{member}"] = one
    return found


def test_every_parameter_of_an_exported_function_has_a_type_and_a_sentence() -> None:
    bare = [
        f"{name}: {one.name}"
        for name, function in exported_functions().items()
        for one in function.parameters
        if one.name not in ("self", "cls") and not one.name.startswith("_")
        if one.annotation is None or not described(function, one.name).endswith((".", "`"))
    ]
    assert len(exported_functions()) > 100
    assert bare == []


@pytest.mark.parametrize(
    "name", ["calls.generate", "calls.stream", "client.Client.generate", "client.Client.from_env"]
)
def test_blocking_functions_are_shown_with_the_parameters_of_their_asynchronous_twins(
    name: str,
) -> None:
    twin = name.replace("calls.generate", "generate.generate").replace("calls.", "stream.")
    room = "client" if "Client" in name else "generation"
    blocking, asynchronous = source()[f"sync.{name}"], source()[f"{room}.{twin}"]
    assert isinstance(blocking, Function)
    assert isinstance(asynchronous, Function)
    assert str(blocking.parameters) == str(asynchronous.parameters)
    assert blocking.docstring is not None
    tables = [one for one in blocking.docstring.parsed if one.kind.value == "parameters"]
    assert [len(one.value) for one in tables] == [
        sum(one.name not in ("self", "cls") for one in asynchronous.parameters)
    ]


def test_a_blocking_class_is_shown_with_the_parameters_of_its_asynchronous_twin() -> None:
    assert "providers" in fields_shown(SyncClient)


def test_every_field_of_an_exported_class_has_a_sentence() -> None:
    bare: list[str] = []
    for cls in CLASSES:
        shown = source()[f"{cls.__module__.removeprefix('llmcore.')}.{cls.__qualname__}"]
        for section in shown.docstring.parsed if shown.docstring else ():
            if isinstance(section, DocstringSectionParameters):
                rows = [row.name for row in section.value if not row.description]
                bare += [f"{cls.__name__}: {name}" for name in rows]

    assert bare == []


def test_functions_that_only_the_library_calls_are_not_shown() -> None:
    """The pages leave out functions without a docstring."""
    shown = {
        f"{module}.{name}"
        for module in MODULES
        for name, member in source()[module.removeprefix("llmcore.")].members.items()
        if isinstance(member, Function) and name[0] != "_" and member.docstring is not None
    }
    functions = {name for name, value in public_names() if inspect.isfunction(value)}

    assert "llmcore.generation.generate.generate" in shown
    assert "llmcore.folds.grammar.violations" in shown
    assert "llmcore.generation.generate.completed" not in shown
    assert "llmcore.schema.options.check_kind" not in shown
    names = {path.rpartition(".")[2] for path in shown}
    assert functions - names == {"evolve"}  # of attrs


def test_sentences_of_parameters_are_all_used() -> None:
    used = {
        owner + one.name
        for name, function in exported_functions().items()
        for one in function.parameters
        for owner in ("", f"{name}.", f"{name}.__init__.", f"{function.name}.")
    }
    settings = set(setting_meanings())
    assert sorted(_texts().keys() - used - settings) == []
