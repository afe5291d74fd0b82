"""The public names of the package: those of the front door, and those in their modules."""

from collections.abc import Iterator
from importlib import import_module

import llmcore
from llmcore.names_in_modules import NAMES_IN_MODULES


def public_names() -> Iterator[tuple[str, object]]:
    """Yield each name with what it names."""
    for name in llmcore.__all__:
        yield name, getattr(llmcore, name)
    for module, names in NAMES_IN_MODULES.items():
        for name in names.split():
            yield name, getattr(import_module(module), name)
