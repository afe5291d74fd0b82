"""Frozen attrs classes that cost less than those of `attrs.frozen`.

    @frozen(kw_only=True)
    class Usage:
        input_tokens: int | None = None

*To make a value*: attrs sets each field of a frozen value by a call with the field's name, which
takes ten times as long as an assignment. Here the constructor begins with `__class__` set to the
thawed class of `changed`, which has the same layout, assigns the fields, and ends with `__class__`
set back.

*To make a class*: attrs writes and compiles methods that compare, hash and print each class, which
takes a third of the time of an import. Here all classes share those of `display`; values print
without their defaults and hash with JSON in them.

Fields, checks, converters and hooks are those of attrs, and so is the error of an assignment.
"""

from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs.exceptions import FrozenInstanceError

from llmcore.schema.changed import thawed
from llmcore.schema.display import equal, hashed, rich_repr, short_repr

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
        if issubclass(kind, BaseException):  # whose traceback can be assigned
            return attrs.frozen(kind, **settings)
        shared = {
            name: method
            for setting, methods in _SHARED.items()
            if settings.get(setting, True) and methods.keys().isdisjoint(vars(kind))
            for name, method in methods.items()
        }
        settings |= dict.fromkeys(_SHARED, False)
        if len(get_annotations(kind)) < _FEWEST and not any(map(attrs.has, kind.__bases__)):
            return _with(shared, attrs.frozen(kind, **settings))
        kind.__attrs_pre_init__ = _thaw
        kind.__attrs_post_init__ = _after(getattr(kind, "__attrs_post_init__", _freeze))
        made = _with(shared, attrs.define(kind, on_setattr=attrs.setters.NO_OP, **settings))
        made.__setattr__ = made.__delattr__ = _refuse
        _THAWED[made] = None
        return made


def _with(methods: Mapping[str, Callable[..., Any]], made: Any) -> Any:
    for name, method in methods.items():
        setattr(made, name, method)
    return made


_SHARED = {
    "eq": {"__eq__": equal, "__hash__": hashed},
    "repr": {"__repr__": short_repr, "__rich_repr__": rich_repr},
}
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
