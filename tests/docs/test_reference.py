"""The API reference shows every exported name with all its fields, types and defaults."""

import re
from functools import cache
from pathlib import Path

import attrs
import pytest
from griffe import Class, DocstringSectionParameters, GriffeLoader, Object, load_extensions

import llmcore
from scripts.reference_fields import ReferenceFields

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "reference").glob("*.md")
MODULES = {
    module
    for page in PAGES
    for module in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
}
ELSEWHERE = {"attrs", "returns"}
CLASSES = [
    value
    for name in llmcore.__all__
    if isinstance(value := getattr(llmcore, name), type)
    and value.__module__.partition(".")[0] not in ELSEWHERE
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


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_exported_class_is_on_a_reference_page(cls: type) -> None:
    assert cls.__module__ in MODULES


@pytest.mark.parametrize(
    "cls", [cls for cls in CLASSES if attrs.has(cls)], ids=lambda c: c.__name__
)
def test_every_field_of_an_exported_class_is_in_its_table(cls: type) -> None:
    fields = {field.name for field in attrs.fields(cls) if field.init}
    assert {name for name in fields if not name.startswith("_")} - fields_shown(cls) == set()


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
