"""Values of a vendor's SDK types as JSON: every variant of a union, every field set."""

import enum
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel

_DEEPEST = 6
"""Models within models; JSON schemas and filters refer to themselves."""


def documents(type_: Any) -> list[Any]:
    """Return values of *type_*, which together take each variant of the unions in it."""
    return list(_values(type_, "", 0))


def _values(type_: Any, name: str, depth: int) -> Iterator[Any]:
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        yield from _values(arguments[0], name, depth)
    elif name == "data" and str in arguments:  # base64, or a file that the SDK would read
        yield "AAEC"
    elif origin in (Union, types.UnionType):
        for one in arguments:
            if one is not types.NoneType:
                yield from _values(one, name, depth)
    elif origin is Literal:
        yield from islice(arguments, 2)
    elif origin in (typing.Required, typing_extensions.Required):
        yield from _values(arguments[0], name, depth)
    elif origin in (list, Iterable) or getattr(origin, "__name__", "") == "SequenceNotStr":
        yield list(_values(arguments[0], name, depth)) if depth < _DEEPEST else []
    elif origin in (dict, Mapping):
        yield {"key": "value"}
    elif isinstance(type_, type) and issubclass(type_, BaseModel):
        known = {field.alias or key: field.annotation for key, field in type_.model_fields.items()}
        yield from _objects(known, depth + 1)
    elif typing_extensions.is_typeddict(type_):
        hints = typing_extensions.get_type_hints(type_, include_extras=True)
        yield from _objects(hints, depth + 1)
    else:
        yield _scalar(type_, name)


def _objects(types_of: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        return
    fields = {name: list(_values(kind, name, depth)) for name, kind in types_of.items()}
    for number in range(max(map(len, fields.values()), default=1)):
        yield {name: some[number % len(some)] for name, some in fields.items() if some}


def _scalar(type_: Any, name: str) -> Any:
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return list(type_)[-1].value
    match type_:
        case _ if type_ is bool:
            return True
        case _ if type_ is int:
            return 3
        case _ if type_ is float:
            return 0.5
        case _ if type_ is bytes or (type_ is str and name == "data"):
            return "AAEC"
        case _ if type_ in (datetime, date):
            return "2026-01-02T03:04:05Z"
        case _ if type_ is str:
            return f"https://example.com/{name}" if name.endswith("url") else f"the_{name}"
        case _:
            return {"key": "value"}
