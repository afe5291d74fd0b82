"""Unchecked copies of frozen values, for values that are made many times in one call.

`attrs.evolve` runs the constructor again, with all converters and checks. `changed` copies the
fields as they are: for the private state of protocols, and for values whose new fields are known
to be valid. Values from users go through `evolve`.

A frozen class refuses assignments, so that its constructor sets each field by a call, with the
field's name. The fields of `thawed(kind)`, which has the same layout, are assigned by plain
statements, which takes a tenth of the time:

    delta = thawed(TextDelta)()
    delta.id, delta.text, delta.logprobs = "text_0", "Hi", ()
    delta.__class__ = TextDelta
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import fields

__all__ = ["changed", "thawed"]

_T = TypeVar("_T")


def thawed(kind: type[Any]) -> Callable[[], Any]:
    """Return the class of values of the slotted attrs class *kind* before they are frozen.

    Its values have no fields yet. Once they are set, `__class__` is to be set to *kind*.
    """
    plain = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    made: type[Any] = type(kind)(f"Thawed{kind.__name__}", (kind,), {"__slots__": (), **plain})
    return made


if TYPE_CHECKING:
    from attrs import evolve as changed  # so that type checkers know the fields
else:

    def changed(value: _T, /, **changes: object) -> _T:
        """Return a copy of the slotted attrs *value* with *changes*, unchecked."""
        kind = type(value)
        copy = (_COPIERS.get(kind) or _copier(kind))(value)
        for name, item in changes.items():
            setattr(copy, name, item)
        copy.__class__ = kind
        return copy


_COPIERS: dict[type, Callable[[Any], Any]] = {}
"""For each class, what returns a thawed copy of a value."""


def _copier(kind: type) -> Callable[[Any], Any]:
    """Return a function that assigns each field by a statement, made as attrs makes its own."""
    copies = "".join(f"\n    copy.{field.name} = value.{field.name}" for field in fields(kind))
    source = f"def copied(value):\n    copy = thawed(){copies}\n    return copy"
    names: dict[str, Any] = {"thawed": thawed(kind)}
    exec(source, names)  # noqa: S102  (of the names of fields)
    copier: Callable[[Any], Any] = names["copied"]
    _COPIERS[kind] = copier
    return copier
