"""Names of a package that are imported from their modules on first use.

Each name is listed once, in the package's table of modules. Type checkers and editors read the
`__init__.pyi` beside it, which `scripts/write_stubs.py` makes from the same table.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str,
    names_of: Mapping[str, str],
    in_modules: Callable[[], Mapping[str, str]] = dict[str, str],
    *,
    packages: tuple[str, ...] = (),
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for *package*.

    *names_of* maps each module to the names it defines, separated by spaces. *packages* are those
    inside it that are attributes, too, as in `llmcore.sync.generate`. A name that is not
    there raises AttributeError, as Python's own look-up does, or ImportError in a `from` import,
    which would leave out the hint: where to import from for the names of the package above and of
    *in_modules*, the nearest name otherwise.
    """
    module_of = _modules(names_of)
    exported = sorted(module_of)

    def get(name: str) -> object:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            hint = _hint(package, name, module_of, in_modules)
            if hint and _is_from_import(f"{package}.{name}"):
                raise ImportError(f"cannot import name {name!r} from {package!r}{hint}")
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    listed = sorted([*exported, *packages])
    return get, lambda: listed, exported


def _modules(names_of: Mapping[str, str]) -> dict[str, str]:
    return {name: module for module, names in names_of.items() for name in names.split()}


def _hint(
    package: str,
    name: str,
    exported: Mapping[str, str],
    in_modules: Callable[[], Mapping[str, str]],
) -> str:
    """Return where *name* or the name that is meant by it is, as the end of an error, or ""."""
    if name.startswith("_"):  # looked up by Python and its tools
        return ""
    parent = package.rpartition(".")[0]
    if name in getattr(sys.modules.get(parent), "__all__", ()):
        return f": use `from {parent} import {name}`"
    elsewhere = _modules(in_modules())
    if name in elsewhere:
        return f": use `from {elsewhere[name]} import {name}`"
    import difflib  # it and the table are needed for errors alone

    from llmcore.foreign_names import names_elsewhere

    meant = names_elsewhere().get(name, "")
    if " " in meant:
        return f": {meant}"

    homes = elsewhere | dict.fromkeys(exported, package)
    lower = {spelling.lower(): spelling for spelling in homes}
    near = difflib.get_close_matches(name.lower(), lower, 1)
    nearest = meant or (lower[near[0]] if near else None)
    if nearest not in homes:
        return ""
    return f": did you mean {nearest!r}? Use `from {homes[nearest]} import {nearest}`"


def _is_from_import(name: str) -> bool:
    """Return whether a `from` import looks *name* up, and no submodule has it."""
    from importlib.util import find_spec
    from inspect import currentframe

    frame = currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    return (
        caller is not None
        and caller.f_code.co_name == "_handle_fromlist"
        and find_spec(name) is None
    )
