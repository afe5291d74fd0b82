"""Representations of values: a short repr, the form of rich, and a hash of all their fields."""

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, Final, TypeVar

from attrs import NOTHING, Attribute, Factory, fields

from llmcore.schema.pydantic_hooks import for_pydantic

_T = TypeVar("_T")

_HIDDEN: Final = frozenset({"raw"})
"""Fields that repeat the others in a provider's own form."""


def readable(cls: type[_T]) -> type[_T]:
    """Give the frozen attrs class *cls* a short repr, a hash and the hooks of pydantic.

    Put it above `@frozen`.

    The repr leaves out fields at their default and native documents:

        >>> from llmcore import Message
        >>> Message.user("Hi")
        Message(role='user', content=(TextPart(text='Hi'),))

    Values with JSON in them hash too, so that they can be kept in sets and caches.
    """
    for name, function in (
        ("__repr__", _repr),
        ("__rich_repr__", _rich_repr),
        ("__hash__", _hash),
    ):
        setattr(cls, name, function)
    return for_pydantic(cls)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={text}" for name, text, _ in _shown(self))
    return f"{type(self).__name__}({shown})"


def _rich_repr(self: Any) -> Iterator[tuple[str, object]]:
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
        if attribute.repr is False or attribute.name in _HIDDEN or _is_default(attribute, value):
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


def _hash(self: Any) -> int:
    compared = (attribute.name for attribute in fields(type(self)) if attribute.eq)
    return hash((type(self), *(_hashable(getattr(self, name)) for name in compared)))


def _hashable(value: object) -> object:
    """Return *value* with mappings and lists as values that hash; equal ones stay equal."""
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return value
