"""Names of a package that are imported from their modules on first use.

Each name stands once, in the package's table of modules. Type checkers and editors read the
`__init__.pyi` beside it, which `scripts/write_stubs.py` makes from the same table.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, names_of: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for *package*.

    *names_of* maps each module to the names it defines, separated by spaces. A name that is not
    there raises AttributeError, as Python's own look-up does.
    """
    module_of = {name: module for module, names in names_of.items() for name in names.split()}
    exported = sorted(module_of)

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: exported, exported
