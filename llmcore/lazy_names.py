"""Names of a package that are imported from their modules on first use.

Each name stands once, in the package's table of modules. Type checkers and editors read the
`__init__.pyi` beside it, which `scripts/write_stubs.py` makes from the same table.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
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
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{_hint(name, exported)}"
            )
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: exported, exported


_OTHER_NAMES = {
    "Gemini": "Google",
    "GoogleAI": "Google",
    "Claude": "Anthropic",
    "Bedrock": "AmazonBedrock",
    "AzureOpenAI": "Azure",
    "Grok": "XAI",
    "AsyncOpenAI": "OpenAI",
    "AsyncClient": "Client",
}
"""Names under which people look for others."""


def _hint(name: str, exported: Sequence[str]) -> str:
    """Return the name that is meant by *name*, as the end of an error; empty without one."""
    if name.startswith("_"):  # looked up by Python and its tools
        return ""
    import difflib  # not needed otherwise

    lower = {known.lower(): known for known in exported}
    near = difflib.get_close_matches(name.lower(), lower, 1)
    meant = _OTHER_NAMES.get(name) or (lower[near[0]] if near else None)
    return f": did you mean {meant!r}?" if meant in exported else ""
