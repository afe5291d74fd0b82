"""Methods of frozen classes: a short repr, the form of rich, equality, and a hash of all fields."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from operator import attrgetter
from typing import Any, Final, TypeVar

from attrs import NOTHING, Attribute, Factory, fields

_T = TypeVar("_T")


def short_repr(self: Any) -> str:
    """Return the repr of an attrs value, without fields at their default.

    >>> from llmcore import Message
    >>> Message.user("Hi")
    Message(role='user', content=(TextPart(text='Hi'),))
    """
    shown = ", ".join(f"{name}={text}" for name, text, _ in _shown(self))
    return f"{type(self).__name__}({shown})"


def rich_repr(self: Any) -> Iterator[tuple[str, object]]:
    """Yield name and value of the fields in `short_repr`, as rich prints them."""
    for name, text, value in _shown(self):
        own = text == repr(value)
        yield name, value if own else _Text(text)


def with_settings_in_repr(cls: type[_T]) -> type[_T]:
    """Give *cls* a repr with the settings that are not at their default, as `cls` takes them.

    Each is read from the attribute of its name, with or without an underscore.
    """
    setattr(cls, "__repr__", _repr_of_settings)  # noqa: B010  (mypy refuses the assignment)
    return cls


def _repr_of_settings(self: Any) -> str:
    shown: list[str] = []
    for parameter in signature(type(self)).parameters.values():
        value = getattr(
            self, parameter.name, getattr(self, f"_{parameter.name}", parameter.default)
        )
        if parameter.kind is parameter.VAR_POSITIONAL:
            shown += map(repr, value)
        elif value is not parameter.default and value != parameter.default:
            text = getattr(value, "__qualname__", None) or repr(value)
            shown.append(
                text if parameter.default is parameter.empty else f"{parameter.name}={text}"
            )
    return f"{type(self).__name__}({', '.join(shown)})"


class _Text:
    """A text that is its own repr."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(self: Any) -> Iterator[tuple[str, str, object]]:
    """Yield name, text and value of each field that the repr shows."""
    for attribute in fields(type(self)):
        value = getattr(self, attribute.name)
        if attribute.repr is False or _is_default(attribute, value):
            continue
        text = attribute.repr(value) if callable(attribute.repr) else repr(value)
        yield attribute.name, str(text), value


def _is_default(attribute: "Attribute[Any]", value: object) -> bool:
    default = attribute.default
    if default is NOTHING:
        return False
    if isinstance(default, Factory):  # type: ignore[arg-type]  # a class at run time
        default = default.factory()  # type: ignore[union-attr]
    return type(value) is type(default) and bool(value == default)


def equal(self: Any, other: object) -> Any:
    """Return whether *other* has the same class and equal fields, without those of `eq=False`."""
    kind = type(self)
    if type(other) is not kind:
        return NotImplemented
    fields_of = _COMPARED.get(kind) or _compared(kind)
    return fields_of(self) == fields_of(other)


def hashed(self: Any) -> int:
    """Return the hash of the fields that are compared; JSON in them hashes by its content.

    Values can so be kept in sets and caches.
    """
    kind = type(self)
    compared = (_COMPARED.get(kind) or _compared(kind))(self)
    try:
        return hash((kind, compared))
    except TypeError:
        return hash((kind, _hashable(compared)))


_COMPARED: Final[dict[type, Callable[[Any], object]]] = {}
"""For each class of values that were compared: returns the fields of a value by which it is."""


def _compared(kind: type) -> Callable[[Any], object]:
    names = [attribute.name for attribute in fields(kind) if attribute.eq]
    _COMPARED[kind] = attrgetter(*names) if names else lambda _value: ()
    return _COMPARED[kind]


def _hashable(value: object) -> object:
    """Return *value* with mappings and lists as values that hash; equal ones stay equal."""
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return value
