"""Settings of the wrong kind: refused before anything is sent, with what to give instead."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from attrs import Attribute

from llmcore.schema.errors import InvalidRequestError

Check: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]


def is_a(*kinds: type, instead: str, optional: bool = True) -> Check:
    """Return a check that a setting is one of *kinds*, or None; *instead* says what to give."""

    def check(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
        if isinstance(value, kinds) or (optional and value is None):
            return
        raise InvalidRequestError(f"{attribute.name} is {instead}, not {_kind_of(value)}")

    return check


def is_function(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
    """Refuse what cannot be called."""
    if value is not None and not callable(value):
        raise InvalidRequestError(f"{attribute.name} is a function, not {_kind_of(value)}")


def are_functions(_plan: object, attribute: "Attribute[Any]", values: tuple[object, ...]) -> None:
    """Refuse a sequence in which something cannot be called."""
    for value in values:
        is_function(_plan, attribute, value)


def is_count(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
    """Refuse what is no whole number of at least 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidRequestError(f"{attribute.name} is a whole number from 0 on, not {value!r}")


def sequence_of(name: str, given: object) -> tuple[Any, ...]:
    """Return *given* as a tuple; InvalidRequestError for what is no sequence."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidRequestError(f"{name} is a list of them, not {_kind_of(given)}")
    return tuple(given)


def _kind_of(value: object) -> str:
    """Return what *value* is; of a class in full, since its name may be known twice."""
    kind = type(value)
    return (
        f"a {kind.__name__}"
        if kind.__module__ == "builtins"
        else f"a {kind.__module__}.{kind.__qualname__}"
    )
