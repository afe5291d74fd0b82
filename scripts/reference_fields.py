"""A griffe extension: tables of fields and of parameters in the API reference.

Fields are those of attrs classes and TypedDicts, described by their docstrings. Parameters are
described by `scripts/parameters.txt`, or as a setting of `generate`. Annotations keep the names
that the code uses, and defaults are shown as they are written. The functions of `llmcore.sync` that
are made of asynchronous ones have the parameters of these. Functions that modules of the library
share with each other, and that are not public names, are not shown.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from griffe import (
    Alias,
    Attribute,
    Class,
    DocstringParameter,
    DocstringSectionParameters,
    Expr,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Module,
    Object,
    Parameters,
)

import llmcore
import llmcore.testing
from llmcore.generation.signatures import setting_meanings
from llmcore.names_in_modules import names_in_modules

_PARAMETERS: Final = Path(__file__).with_name("parameters.txt")
_ATTRS = frozenset({"frozen", "define", "attrs.frozen", "attrs.define"})
_BLOCKING = frozenset({"blocking", "blocking_method"})
_AS_TWIN = frozenset({"with_parameters_of", "method_with_parameters_of"})
_PUBLIC: Final = frozenset(
    {
        *llmcore.__all__,
        *(name for names in names_in_modules().values() for name in names.split()),
        *llmcore.testing.__all__,
    }
)
_PUBLIC_FUNCTIONS: Final = {
    "llmcore.folds.grammar": "violations",
    "llmcore.folds.segments": "complete_segments",
    "llmcore.generation.batch": "ray requests_in",
    "llmcore.generation.default_client": "default_client",
    "llmcore.protocols.protocol": "collect_diagnostics protocol_by_id",
    "llmcore.sessions.contract.codec": (
        "to_wire entry_from_wire delta_from_wire entry_to_text entry_from_text"
    ),
    "llmcore.sessions.jsonl": "to_lines from_lines export_lines import_entries",
    "llmcore.sessions.store": "utc_now",
    "llmcore.testing.cassette_file": "dumps loads",
}
"""Functions that the guides use, or whose modules they name, beside the public names."""


class ReferenceFields(Extension):
    """Adds a table of fields (name, type, description, default) to each class that has fields."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Add the table of parameters of *func*; hide it if it is not public."""
        if _is_internal(func):
            func.docstring = None  # and so it is not shown
        if func.docstring is not None and not func.name.startswith("_"):
            func.docstring.parsed.extend(_parameters(func))

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Add the table of *cls*, whose members have been read."""
        if cls.docstring is None:
            return
        typed_dict = any(str(base) in {"TypedDict", "UnarySettings"} for base in cls.bases)
        if isinstance(made := cls.members.get("__init__"), Function):
            cls.docstring.parsed.extend(_parameters(made))
        if typed_dict or _is_attrs(cls):
            cls.docstring.parsed.extend(_fields(cls, typed_dict=typed_dict))

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Give the blocking functions the parameters of their asynchronous twins.

        The tables of functions are added after this.
        """
        for module in pkg["sync"].modules.values():
            for owner in (module, *module.classes.values()):
                for member in list(owner.members.values()):
                    _take_parameters(member, owner)


def _is_internal(func: Function) -> bool:
    """Return whether *func* is a function of a module that only other modules call."""
    parent = func.parent
    if not isinstance(parent, Module) or parent.path.startswith("llmcore.sync"):
        return False
    also = _PUBLIC_FUNCTIONS.get(parent.path, "").split()
    return func.name not in _PUBLIC and func.name not in also


def _take_parameters(member: Object | Alias, owner: Module | Class) -> None:
    """Replace *member* of *owner* by a function with its twin's parameters, if it has a twin."""
    if isinstance(member, Attribute) and (twin := _twin(member.value, _BLOCKING, owner.module)):
        parameters, returns = twin.parameters, twin.returns
    elif isinstance(member, Function):
        twins = [_twin(decorator.value, _AS_TWIN, owner.module) for decorator in member.decorators]
        if not (twin := next(filter(None, twins), None)):
            return
        itself = [one for one in member.parameters if one.name in ("self", "cls")]
        own = [one for one in twin.parameters if one.name not in ("self", "cls")]
        parameters, returns = Parameters(*itself, *own), member.returns
    else:
        return
    made = Function(
        member.name,
        parameters=parameters,
        returns=returns,
        lineno=member.lineno,
        endlineno=member.endlineno,
        docstring=member.docstring,
    )
    owner.set_member(member.name, made)
    if made.name == "__init__" and owner.docstring is not None:
        owner.docstring.parsed[-1:] = _parameters(made)


def _twin(call: str | Expr | None, makers: frozenset[str], module: Module) -> Function | None:
    """Return the function that *call* passes to one of *makers*; for a class, its constructor."""
    if not isinstance(call, ExprCall) or str(call.function) not in makers:
        return None
    found = module[str(call.arguments[0])]
    found = found.final_target if isinstance(found, Alias) else found
    twin = found["__init__"] if isinstance(found, Class) else found
    if not isinstance(twin, Function):
        raise TypeError(f"{call} names no function")
    return twin


def _parameters(func: Function) -> list[DocstringSectionParameters]:
    """Return the table of parameters, if there are any."""
    rows = [
        DocstringParameter(
            parameter.name,
            description=described(func, parameter.name),
            annotation=parameter.annotation,
            value=None if parameter.default is None else str(parameter.default),
        )
        for parameter in func.parameters
        if parameter.name not in ("self", "cls") and not parameter.name.startswith("_")
    ]
    return [DocstringSectionParameters(rows)] if rows else []


def _fields(cls: Class, *, typed_dict: bool) -> list[DocstringSectionParameters]:
    """Return the table of fields, if there are any."""
    rows = [
        DocstringParameter(
            field.name,
            description=field.docstring.value if field.docstring else "",
            annotation=field.annotation,
            value="optional" if typed_dict else _default(field),
        )
        for field in cls.members.values()
        if isinstance(field, Attribute) and _is_field(field)
    ]
    return [DocstringSectionParameters(rows, title="Fields")] if rows else []


def described(func: Function, parameter: str) -> str:
    """Return the sentence for *parameter* of *func*; empty if there is none."""
    owner = f"{func.parent.name}." if isinstance(func.parent, Class) else ""
    keys = (f"{owner}{func.name}.{parameter}", f"{func.name}.{parameter}", parameter)
    return next((text for key in keys if (text := _texts().get(key))), "")


@cache
def _texts() -> dict[str, str]:
    """Return the sentences by name, and by qualified name."""
    found = dict(setting_meanings())
    for line in _PARAMETERS.read_text("utf-8").splitlines():
        name, _, text = line.partition(": ")
        if not line.startswith("#"):
            found[name] = text
    return found


def _is_attrs(cls: Class) -> bool:
    names = {str(decorator.value).partition("(")[0] for decorator in cls.decorators}
    return not names.isdisjoint(_ATTRS)


def _is_field(attribute: Attribute) -> bool:
    if attribute.name.startswith("_") or attribute.annotation is None:
        return False
    if "property" in attribute.labels or "instance-attribute" not in attribute.labels:
        return False  # the latter: a ClassVar
    return (
        "ClassVar" not in str(attribute.annotation) and _arguments(attribute).get("init") != "False"
    )


def _default(attribute: Attribute) -> str | None:
    """Return the default as the source has it; None for a required field."""
    arguments = _arguments(attribute)
    if arguments.keys() & {"default", "factory"}:
        return arguments.get("default") or f"{arguments['factory']}()"
    is_field_call = (
        isinstance(attribute.value, ExprCall) and str(attribute.value.function) == "field"
    )
    return None if is_field_call or attribute.value is None else str(attribute.value)


def _arguments(attribute: Attribute) -> dict[str, str]:
    """Return the keyword arguments of `field(...)`, if the field is defined by one."""
    call = attribute.value
    if not isinstance(call, ExprCall) or str(call.function) != "field":
        return {}
    keywords = [value for value in call.arguments if isinstance(value, ExprKeyword)]
    return {keyword.name: str(keyword.value) for keyword in keywords}
