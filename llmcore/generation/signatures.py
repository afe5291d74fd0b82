"""Signatures and docstrings that list the settings, for `help()` and notebooks.

Editors read them from `Settings` itself, to which `**settings` is annotated.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from attrs import NOTHING, fields_dict

from llmcore.generation import settings
from llmcore.generation.settings import RunPlan, Settings

_F = TypeVar("_F", bound=Callable[..., object])

_DOCUMENTED_KEY = re.compile(r'^    (\w+): ([^\n]+)\n    """(.*?)"""', re.MULTILINE | re.DOTALL)
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
"""The module before a name in the repr of a type."""


class _Shown(str):
    """An annotation as its text, which `help()` shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@cache
def _documented_keys() -> Mapping[str, tuple[str, str]]:
    """Return the annotation and the docstring of each key of `Settings`, in their order.

    Python discards docstrings of keys, so they are read from the source. Without it there are none.
    """
    try:
        source = inspect.getsource(settings)
    except OSError:  # a frozen program
        return {}
    found = {name: (kind, text) for name, kind, text in _DOCUMENTED_KEY.findall(source)}
    return {name: found[name] for name in Settings.__annotations__ if name in found}


@cache
def setting_meanings() -> Mapping[str, str]:
    """Return what each setting means: the docstrings below the keys of `Settings`."""
    return {name: " ".join(text.split()) for name, (_, text) in _documented_keys().items()}


def _shown(annotation: object) -> object:
    """Return the text of *annotation* without the modules of its names, or that of none."""
    if annotation is inspect.Parameter.empty:
        return annotation
    text = _MODULE.sub("", inspect.formatannotation(annotation))
    return _Shown(text.replace("NoneType", "None"))


def with_settings_listed(function: _F, *, without: frozenset[str] = frozenset()) -> _F:
    """Return *function*, which takes `**settings`, with each of them in signature and docstring.

    *without* are settings that it does not take.
    """
    signature = inspect.signature(function)
    own = [
        parameter.replace(annotation=_shown(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    texts = {name: _Shown(kind) for name, (kind, _) in _documented_keys().items()}
    listed = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(name),
            annotation=texts.get(name) or _shown(annotation),
        )
        for name, annotation in Settings.__annotations__.items()
        if name not in without and name not in signature.parameters
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *listed], return_annotation=_shown(signature.return_annotation)
    )
    return with_settings_documented(function)


def with_settings_documented(function: _F) -> _F:
    """Return *function* with the settings in its signature listed in its docstring, too."""
    if function.__doc__ is not None:  # None under `python -OO`
        parameters = inspect.signature(function).parameters
        meanings = setting_meanings().items()
        listed = [f"    {name}: {text}" for name, text in meanings if name in parameters]
        head = inspect.cleandoc(function.__doc__)
        function.__doc__ = "\n".join([head, "", "Settings:", *listed])
    return function


def _default(name: str) -> object:
    default: object = fields_dict(RunPlan)[name].default
    return inspect.Parameter.empty if default is NOTHING else default
