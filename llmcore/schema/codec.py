"""Converts every public value to JSON and back, with one converter.

`from_json(type(value), to_json(value)) == value` holds for each of them. Fields at their
default are omitted; members of a union carry `type`:

    >>> to_json(TextPart("Hi"))
    {'text': 'Hi', 'type': 'text'}

Input is checked: a wrong type, a missing or an unknown field raises an InvalidRequestError that
names its path. The converter and cattrs are loaded on first use, since most calls of models need
neither.
"""

from typing import Any, Final, TypeVar

from llmcore.schema import errors, json
from llmcore.schema.hints import Hinted, shown_kind
from llmcore.tracebacks import wrong_call

_T = TypeVar("_T")


def to_json(value: object, as_type: Any = None) -> json.JsonValue:
    """Return *value* as JSON data: dicts, lists and scalars.

    Events, content parts, tools and errors carry their `type` also when they are alone;
    give *as_type* for anything else whose declared type is not its class.
    """
    from llmcore.schema.converter import converter_of_values, union_of

    declared = as_type or union_of(type(value)) or type(value)
    data: json.JsonValue = converter_of_values().unstructure(value, declared)
    return data


def from_json(type_: type[_T], data: json.JsonValue) -> _T:
    """Return the value of *type_* that the JSON *data* represents.

    Raises InvalidRequestError, naming the path of each fault, and TypeError for a *type_* that is
    not a type, or one whose fields are not known.
    """
    if not isinstance(type_, type) and type(type_).__module__ not in _TYPES_OF_TYPES:
        shown = shown_kind(type_)
        raise wrong_call(f"from_json(): the type comes first, such as Message; got {shown}")
    from llmcore.schema import converter

    declared: Any = converter.union_of(type_) or type_
    if open_ := getattr(declared, "__parameters__", ()):  # a generic class without its arguments
        declared = declared[(Any,) * len(open_)]
    try:
        value: _T = converter.converter_of_values().structure(data, declared)
    except converter.READING_ERRORS as error:
        name = converter.NAMES.get(type_) or type_.__name__
        message = f"not a valid {name}: {converter.faults_of(error)}"
        raise errors.InvalidRequestError(message, cause=error) from error
    except converter.UNKNOWN_FIELDS as error:
        name = getattr(error.type_, "__name__", str(error.type_))
        known = "give one of llmcore's, a dataclass, an attrs class or a TypedDict"
        raise wrong_call(f"from_json(): the fields of {name} are unknown: {known}") from None
    if (type(type_) is type or isinstance(type_, Hinted)) and not isinstance(value, type_):
        raise errors.InvalidRequestError(
            f"not a valid {type_.__name__}: it is a {type(value).__name__} @ $"
        )
    return value


_TYPES_OF_TYPES: Final = ("types", "typing", "typing_extensions")
"""The modules of what annotations are made of, besides classes."""
