"""Frozen values whose constructors cost less than those of attrs, for values made in every call.

attrs sets each field of a frozen value by a call with the field's name, which takes ten times as
long as an assignment. Here the constructor begins with `__class__` set to the thawed class of
`changed`, which has the same layout, assigns the fields, and ends with `__class__` set back:

    @frozen(kw_only=True)
    class Usage:
        input_tokens: int | None = None

Fields, checks, converters and hooks are those of attrs, and so is the error of an assignment.
"""

from collections.abc import Callable
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs.exceptions import FrozenInstanceError

from llmcore.schema.changed import thawed

__all__ = ["frozen"]

_FEWEST: Final = 3
"""With fewer fields, the two changes of the class cost more than they save."""
_set: Final = object.__setattr__

if TYPE_CHECKING:
    from attrs import frozen  # so that type checkers know the fields
else:

    def frozen(kind: type | None = None, /, **settings: Any) -> Any:
        """Return the frozen attrs class of *kind*."""
        if kind is None:
            return lambda kind: frozen(kind, **settings)
        few = len(get_annotations(kind)) < _FEWEST and not any(map(attrs.has, kind.__bases__))
        if few or issubclass(kind, BaseException):  # whose traceback can be assigned
            return attrs.frozen(kind, **settings)
        own = settings.get("eq") is False or not {"__eq__", "__hash__"}.isdisjoint(vars(kind))
        hashed = {} if own else {"unsafe_hash": True}
        kind.__attrs_pre_init__ = _thaw
        kind.__attrs_post_init__ = _after(getattr(kind, "__attrs_post_init__", _freeze))
        made = attrs.define(kind, on_setattr=attrs.setters.NO_OP, **hashed, **settings)
        made.__setattr__ = made.__delattr__ = _refuse
        _THAWED[made] = None
        return made


_THAWED: dict[type, type | None] = {}
"""For each frozen class its thawed one, which is made with the first value."""
_FROZEN: dict[type, type] = {}
"""For each thawed class its frozen one."""


def _thaw(value: object) -> None:
    kind = type(value)
    if kind in _THAWED:  # not a subclass that attrs itself has frozen
        _set(value, "__class__", _THAWED[kind] or _thawed_class(kind))


def _freeze(value: Any) -> None:
    kind = _FROZEN.get(type(value))
    if kind is not None:
        value.__class__ = kind


def _after(hook: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what freezes a value, and then calls the *hook* of its class."""
    if hook is _freeze:
        return hook

    def freeze(value: Any) -> None:
        _freeze(value)
        hook(value)

    return freeze


def _thawed_class(kind: type) -> type:
    made: Any = thawed(kind)
    _THAWED[kind], _FROZEN[made] = made, kind
    return made  # type: ignore[no-any-return]


def _refuse(_value: object, *_item: object) -> None:
    raise FrozenInstanceError
