"""Unchecked copies of frozen values, for values that are made many times in one call.

`attrs.evolve` runs the constructor again, with all converters and checks. `changed` copies the
fields as they are: for the private state of protocols, and for values whose new fields are known
to be valid. Values from users go through `evolve`.
"""

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import fields

__all__ = ["changed"]

_T = TypeVar("_T")

if TYPE_CHECKING:
    from attrs import evolve as changed  # so that type checkers know the fields
else:

    def changed(value: _T, /, **changes: object) -> _T:
        """Return a copy of the slotted attrs *value* with *changes*, unchecked."""
        kind = type(value)
        get, setters, by_name = _SHAPES.get(kind) or _shape(kind)
        copy = object.__new__(kind)
        for put, item in zip(setters, get(value), strict=True):
            put(copy, item)
        for name, item in changes.items():
            by_name[name](copy, item)
        return copy


_SHAPES: dict[type, Any] = {}
"""For each class: a getter of all fields, their setters in order, and their setters by name."""


def _shape(kind: type) -> Any:
    names = [attribute.name for attribute in fields(kind)]
    by_name = {name: getattr(kind, name).__set__ for name in names}
    several = attrgetter(*names)
    get = several if len(names) > 1 else lambda value: (several(value),)
    shape = _SHAPES[kind] = (get, tuple(by_name.values()), by_name)
    return shape
