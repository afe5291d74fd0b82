"""Unchecked copies of frozen values, for values that are made many times in one call.

`attrs.evolve` runs the constructor again, with all converters and checks. `changed` copies the
fields as they are, for values whose new fields are known to be valid. Values from users go through
`evolve`; the private states of protocols are structs, which `msgspec.structs.replace` copies.

A frozen class refuses assignments, so that its constructor sets each field by a call, with the
field's name. The fields of `thawed(kind)`, which has the same layout, are assigned by plain
statements, which takes a tenth of the time:

    delta = thawed(TextDelta)()
    delta.id, delta.text, delta.logprobs = "text_0", "Hi", ()
    delta.__class__ = TextDelta
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import fields, make_class

__all__ = ["changed", "thawed"]

_T = TypeVar("_T")


def thawed(kind: type[Any], init: object = object.__init__) -> Callable[..., Any]:
    """Return the class of values of the slotted attrs class *kind* before they are frozen.

    Its values have the fields that *init* sets, or none yet. Once all are set, `__class__` is to be
    set to *kind*.
    """
    plain = {name: getattr(object, name) for name in ("__setattr__", "__delattr__")}
    metaclass: Any = type(kind)
    made: Callable[..., Any] = metaclass(
        f"Thawed{kind.__name__}", (kind,), {"__slots__": (), "__init__": init, **plain}
    )
    return made


if TYPE_CHECKING:
    from attrs import evolve as changed  # so that type checkers know the fields
else:

    def changed(value: _T, /, **changes: object) -> _T:
        """Return a copy of the slotted attrs *value* with *changes*, unchecked."""
        kind = type(value)
        new, names, fields_of = _SHAPES.get(kind) or _shape(kind)
        copy = new(**dict(zip(names, fields_of(value), strict=True), **changes))
        copy.__class__ = kind
        return copy


_SHAPES: dict[type, Any] = {}
"""For each class: the thawed class, made of its fields, their names, and a getter of them all."""


def _shape(kind: type) -> Any:
    names = [attribute.name for attribute in fields(kind)]
    several = attrgetter(*names)
    get = several if len(names) > 1 else lambda value: (several(value),)
    plain: Any = make_class("Fields", names, eq=False, repr=False)
    arguments = [attribute.alias for attribute in fields(plain)]
    shape = _SHAPES[kind] = (thawed(kind, init=plain.__init__), arguments, get)
    return shape
