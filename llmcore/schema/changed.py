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
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import fields

__all__ = ["changed", "copying", "thawed"]

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


def copying(kind: type[_T], *names: str) -> Callable[..., _T]:
    """Return a function that copies a *kind* with other values of the fields *names*, in order.

    It is faster than `changed`, which looks the function up in each call; subclasses of *kind* are
    not copied. For copies that each call makes.
    """
    return _COPIERS.get((kind, *names)) or _copier(kind, *names)


if TYPE_CHECKING:
    from attrs import evolve as changed  # so that type checkers know the fields
else:

    def changed(value: _T, /, **changes: object) -> _T:
        """Return a copy of the slotted attrs *value* with *changes*, unchecked."""
        shape = (type(value), *changes)
        return (_COPIERS.get(shape) or _copier(*shape))(value, *changes.values())


_COPIERS: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""For each class and the fields that change, in the order of a call: returns a changed copy."""


def _copier(kind: type, *changed_names: str) -> Callable[..., Any]:
    """Return the function that copies values of *kind* with other values of *changed_names*.

    It is written out field by field, as attrs writes constructors: the interpreter then reads and
    assigns a field in a fifteenth of the time that one takes on its way through a dictionary.
    There is one for each call of `changed` in the library, as calls name their fields.
    """
    names = [attribute.name for attribute in fields(kind)]
    unknown = set(changed_names).difference(names)
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
    given = {name: f"new_{number}" for number, name in enumerate(changed_names)}
    lines = [f"def copier({', '.join(['value', *given.values()])}):", " copy = thawed()"]
    lines += [f" copy.{name} = {given.get(name, f'value.{name}')}" for name in names]
    scope: dict[str, Any] = {"thawed": _thawed_once(kind), "kind": kind}
    code = "\n".join([*lines, " copy.__class__ = kind", " return copy"])
    exec(code, scope)  # noqa: S102  (names of a class's own fields)
    copier: Callable[..., Any] = scope["copier"]
    _COPIERS[kind, *changed_names] = copier
    return copier


_thawed_once: Final = cache(thawed)
