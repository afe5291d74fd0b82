"""Native objects in which every field that a vendor's package declares states nothing.

Servers in other languages leave out no field: they write null, or empty texts and lists. Others
leave out even fields that are always there, or add fields of their own.
"""

import copy
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})
"""Values that are as good as leaving out their field."""
UNKNOWN: Final = "x_of_tomorrow"

Fields = Mapping[str, FieldInfo]
Restate = Callable[[dict[str, Any], Fields], None]


def _with_nulls(holder: dict[str, Any], fields: Fields) -> None:
    for name, field in fields.items():
        if not field.is_required():
            holder.setdefault(name, None)


def _with_empty(holder: dict[str, Any], fields: Fields) -> None:
    for name, field in fields.items():
        empty = _empty(field.annotation)
        if not field.is_required() and empty is not None:
            holder.setdefault(name, empty)


def _without_empty(holder: dict[str, Any], _fields: Fields) -> None:
    for name in [name for name, value in holder.items() if value in NOTHING]:
        del holder[name]


def _null_for_empty(holder: dict[str, Any], _fields: Fields) -> None:
    for name, value in holder.items():
        if value in NOTHING:
            holder[name] = None


def _with_unknown(holder: dict[str, Any], _fields: Fields) -> None:
    holder[UNKNOWN] = {"a": [1, None]}


FORMS: Final[Mapping[str, Restate]] = {
    "null": _with_nulls,
    "empty": _with_empty,
    "without what is empty": _without_empty,
    "null for empty": _null_for_empty,
    "unknown": _with_unknown,
}


def restated(value: Any, declared: Any, form: str) -> Any:
    """Return a copy of *value*, of the type *declared*, whose objects are in one of the `FORMS`."""
    made = copy.deepcopy(value)
    for holder, kind in list(_objects(made, declared)):
        FORMS[form](holder, _fields(kind))
    return made


def stated(value: Any) -> Any:
    """Return *value* without what states nothing, and without unknown fields."""
    if isinstance(value, dict):
        items = {name: stated(item) for name, item in value.items() if name != UNKNOWN}
        return {name: item for name, item in items.items() if item not in NOTHING}
    return [stated(item) for item in value] if isinstance(value, list | tuple) else value


# -- walking along the types


def _objects(value: Any, declared: Any) -> Iterator[tuple[dict[str, Any], type[BaseModel]]]:
    """Yield the objects in *value* that have a class."""
    if isinstance(value, list):
        for arm in _arms(declared):
            for item in value if get_origin(arm) in (list, typing.List) else ():  # noqa: UP006
                yield from _objects(item, get_args(arm)[0])
    if isinstance(value, dict) and (kind := _kind(value, declared)) is not None:
        yield value, kind
        for name, field in _fields(kind).items():
            yield from _objects(value.get(name), field.annotation)


def _kind(value: Mapping[str, Any], declared: Any) -> type[BaseModel] | None:
    """Return the class of *value* among those of a union: by its `type`, else by its fields."""
    kinds = [a for a in _arms(declared) if isinstance(a, type) and issubclass(a, BaseModel)]
    if len(kinds) == 1:
        return kinds[0]
    for kind in kinds:
        type_ = kind.model_fields.get("type")
        literals = [] if type_ is None else [get_args(arm) for arm in _arms(type_.annotation)]
        if any(value.get("type") in values for values in literals):
            return kind
        if type_ is None and value.keys() <= _fields(kind).keys():
            return kind
    return None


def _fields(kind: type[BaseModel]) -> Fields:
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _arms(declared: Any) -> list[Any]:
    origin, args = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _arms(args[0])
    if origin in (Union, types.UnionType):
        return [arm for one in args for arm in _arms(one)]
    return [declared]


def _empty(declared: Any) -> Any:
    """Return the empty text, list or object of a type; None if it has none."""
    kind = next(arm for arm in _arms(declared) if arm is not types.NoneType)
    empty = {str: "", list: [], dict: {}}.get(get_origin(kind) or kind)
    return None if get_origin(kind) is Literal else copy.copy(empty)
