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
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import fields

__all__ = ["changed", "thawed"]

_T = TypeVar("_T")


def thawed(kind: type[Any]) -> Callable[[], Any]:
    """Return the class of values of the slotted attrs class *kind* before they are frozen.

    Its values have no fields yet. Once all are set, `__class__` is to be set to *kind*.
    """
    plain = {name: getattr(object, name) for name in ("__setattr__", "__delattr__")}
    metaclass: Any = type(kind)
    made: Callable[[], Any] = metaclass(
        f"Thawed{kind.__name__}",
        (kind,),
        {"__slots__": (), "__init__": object.__init__, **plain},
    )
    return made


if TYPE_CHECKING:
    from attrs import evolve as changed  # so that type checkers know the fields
else:

    def changed(value: _T, /, **changes: object) -> _T:
        """Return a copy of the slotted attrs *value* with *changes*, unchecked."""
        kind = type(value)
        copy = (_COPIERS.get(kind) or _copier(kind))(value)
        try:
            for name, field in changes.items():
                setattr(copy, name, field)
        except AttributeError as error:
            raise TypeError(f"{kind.__name__} has no field {name!r}") from error
        copy.__class__ = kind
        return copy


_COPIERS: dict[type, Callable[[Any], Any]] = {}
"""For each class: returns a thawed copy of one of its values."""


def _copier(kind: type) -> Callable[[Any], Any]:
    """Return the function that makes thawed copies of values of *kind*.

    It is written out field by field, as attrs writes constructors: the interpreter then reads and
    assigns a field in a fifteenth of the time that one takes on its way through a dictionary.
    """
    names = [attribute.name for attribute in fields(kind)]
    lines = ["def copier(value):", " copy = thawed()"]
    lines += [f" copy.{name} = value.{name}" for name in names]
    scope: dict[str, Any] = {"thawed": thawed(kind)}
    exec("\n".join([*lines, " return copy"]), scope)  # noqa: S102  (names of a class's own fields)
    copier: Callable[[Any], Any] = scope["copier"]
    _COPIERS[kind] = copier
    return copier
