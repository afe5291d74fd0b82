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

_DOCUMENTED_KEY = re.compile(r'^    (\w+): [^\n]+\n    """(.*?)"""', re.MULTILINE | re.DOTALL)


@cache
def setting_meanings() -> Mapping[str, str]:
    """Return what each setting means: the docstrings below the keys of `Settings`.

    Python discards these, so they are read from the source. Without it there are none.
    """
    try:
        source = inspect.getsource(settings)
    except OSError:  # a frozen program
        return {}
    meanings = {name: " ".join(text.split()) for name, text in _DOCUMENTED_KEY.findall(source)}
    return {name: meanings[name] for name in Settings.__annotations__ if name in meanings}


def with_settings_listed(function: _F, *, without: frozenset[str] = frozenset()) -> _F:
    """Return *function*, which takes `**settings`, with each of them in signature and docstring.

    *without* are settings that it does not take.
    """
    signature = inspect.signature(function)
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    listed = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=_default(name), annotation=annotation
        )
        for name, annotation in Settings.__annotations__.items()
        if name not in without and name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]
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
