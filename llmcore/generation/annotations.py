"""Reads the annotations of types: what they consist of, and their descriptions.

A description is text in `Annotated`, a `Meta` of msgspec or a `Doc` of typing_extensions:

    name: Annotated[str, "the full name"]
"""

import dataclasses
from collections.abc import Iterator
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs
import msgspec


def is_annotated(type_: Any) -> bool:
    """Return whether *type_* is an `Annotated`."""
    return get_origin(type_) is Annotated


def is_model(type_: Any) -> bool:
    """Return whether *type_* is a model of pydantic."""
    return hasattr(type_, "model_json_schema") and hasattr(type_, "model_validate_json")


def is_record(value: object) -> bool:
    """Return whether *value* is one of a class with fields, rather than such a class or a type."""
    kind = type(value)
    return (
        dataclasses.is_dataclass(kind)
        or attrs.has(kind)
        or issubclass(kind, msgspec.Struct)
        or is_model(kind)
    )


def description_of(type_: Any) -> str | None:
    """Return the text of `Annotated[type, "text"]`, also within `Required` and `NotRequired`."""
    while get_origin(type_) in (Required, NotRequired):
        type_ = get_args(type_)[0]
    notes = type_.__metadata__ if is_annotated(type_) else ()
    return next((text for note in notes if (text := _text_of(note)) is not None), None)


def _text_of(note: object) -> str | None:
    if isinstance(note, str):
        return note
    if isinstance(note, msgspec.Meta):
        return note.description
    return getattr(note, "documentation", None) if type(note).__name__ == "Doc" else None


def field_types(class_: Any) -> dict[str, Any]:
    """Return the types of the fields of *class_* by their names; none if they cannot be read."""
    if not isinstance(class_, type) or class_.__module__ == "builtins" or is_model(class_):
        return {}
    try:
        return get_type_hints(class_, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}


def parts_of(type_: Any) -> list[Any]:
    """Return *type_*, and all types and annotations in its arguments and fields."""
    return list(_parts_of(type_, {}))


def _parts_of(type_: Any, seen: dict[int, object]) -> Iterator[Any]:
    if id(type_) in seen:
        return
    seen[id(type_)] = type_
    yield type_
    if get_origin(type_) is Literal:
        return
    if is_annotated(type_):
        yield from type_.__metadata__
        yield from _parts_of(type_.__origin__, seen)
        return
    for argument in get_args(type_):
        yield from _parts_of(argument, seen)
    if hasattr(type_, "__value__"):  # an alias by the `type` statement
        yield from _parts_of(type_.__value__, seen)
    for hint in field_types(get_origin(type_) or type_).values():
        yield from _parts_of(hint, seen)


def describe(schema: dict[str, Any], type_: Any) -> None:
    """Add the descriptions within *type_* to *schema*, which is made of it and may have others."""
    text = description_of(type_)
    if text is not None:
        schema.setdefault("description", text)
    bare = plain(type_)
    arguments = get_args(bare)
    items, others = schema.get("items"), schema.get("additionalProperties")
    if get_origin(bare) in (Union, UnionType):
        branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
        members = [member for member in arguments if member is not type(None)]
        if len(branches) == len(members) == 1:  # those of others may be in another order
            describe(branches[0], members[0])
    elif isinstance(items, dict) and arguments:
        describe(items, arguments[0])
    elif isinstance(others, dict) and len(arguments) == 2:
        describe(others, arguments[1])


def plain(type_: Any) -> Any:
    """Return *type_* without the annotations around it."""
    while get_origin(type_) in (Required, NotRequired, Annotated):
        type_ = type_.__origin__ if is_annotated(type_) else get_args(type_)[0]
    return type_
