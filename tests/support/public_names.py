"""The public names of the package: those of the front door, and those in their modules."""

from collections.abc import Iterator
from importlib import import_module

from attrs import evolve

import llmcore
from llmcore.names_in_modules import names_in_modules


def public_names() -> Iterator[tuple[str, object]]:
    """Yield each name with what it names."""
    for name in llmcore.__all__:
        yield name, getattr(llmcore, name)
    for module, names in names_in_modules().items():
        for name in names.split():
            yield name, getattr(import_module(module), name)


def home_of(value: object) -> str:
    """Return the module that defines *value*; empty if it states none.

    From Python 3.13 on, attrs makes `attrs.evolve` the method `__replace__` of each class, and
    writes the name and the module of the last one into the function.
    """
    return "attrs" if value is evolve else str(getattr(value, "__module__", ""))
