"""JSON as Python values: the types, the one reader and the one writer.

Every module reads and writes JSON through here, so the libraries that do it are one
file's decision. msgspec reads a stream's frames about five times as fast as the standard
library, as orjson does, and integers to the last digit, as orjson does not; orjson writes, and
refuses what is no JSON. The standard library stays the fallback for what they refuse: half a
surrogate pair (servers cut emoji in two), NaN, and writing integers of more than 64 bits.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Union

import msgspec
import orjson

from llmcore.schema.errors import InvalidRequestError

if TYPE_CHECKING:
    JsonValue = Union[None, bool, int, float, str, Sequence["JsonValue"], Mapping[str, "JsonValue"]]
    JsonObject = Mapping[str, JsonValue]
    ProviderMetadata = Mapping[str, JsonObject]
else:

    class JsonValue:
        """Anything JSON can say. At run time a marker, which the codec knows by sight."""

    class JsonObject:
        """A JSON object. At run time a marker."""

    class ProviderMetadata:
        """Opaque provider data, keyed by provider, that must come back unchanged."""


MAX_DIGITS = 4300
"""Digits of an integer that a value may hold, which is as many as Python writes and reads."""
_LARGEST = 10**MAX_DIGITS

MAX_DEPTH = 128
"""Objects and lists inside one another that a value may hold."""


def loads(data: bytes | str) -> JsonValue:
    """Return the JSON value *data* spells; ValueError if it spells none.

    Integers keep every digit. NaN and numbers beyond a double, which some servers write, are
    None, as JavaScript writes them; so are integers that Python refuses to read (4300 digits).
    """
    try:
        value: JsonValue = _fast_loads(data)
    except (ValueError, RecursionError):
        value = _standard_loads(
            data,
            parse_constant=_no_number,
            parse_float=_finite_or_none,
            parse_int=_readable_or_none,
        )
    return value


_fast_loads: Final = msgspec.json.Decoder().decode


def loads_exact(text: str) -> JsonValue:
    """Return the JSON value *text* spells, if it is one to the letter.

    Raises ValueError for anything that is not JSON, NaN included, and for what is nested
    deeper than MAX_DEPTH, so that `plain` takes whatever this returns.
    """
    value = _standard_loads(text, parse_constant=_refuse, parse_float=_finite)
    if text.count("{") + text.count("[") > MAX_DEPTH and _too_deep(value):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    return value


def _standard_loads(data: bytes | str, **hooks: Callable[[str], object]) -> JsonValue:
    try:
        value: JsonValue = json.loads(data, **hooks)  # type: ignore[arg-type]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def _no_number(_name: str) -> None:
    return None


def _finite_or_none(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _readable_or_none(digits: str) -> int | None:
    try:
        return int(digits)
    except ValueError:
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _too_deep(value: JsonValue) -> bool:
    """Return whether *value* is nested deeper than MAX_DEPTH, without recursion."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, dict | list) for item in level)


def dumps(value: JsonValue) -> bytes:
    """Return *value* as compact UTF-8 JSON, keys in the order they were given.

    Raises InvalidRequestError for what JSON cannot say, such as an integer of too many digits.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return _standard_dumps(value, ensure_ascii=True).encode()


def canonical(value: JsonValue) -> str:
    """Return *value* as compact JSON with sorted keys: equal values give equal text.

    Raises InvalidRequestError for what JSON cannot say.
    """
    return _standard_dumps(value, ensure_ascii=False, sort_keys=True)


def _standard_dumps(value: JsonValue, *, ensure_ascii: bool, sort_keys: bool = False) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=ensure_ascii, separators=(",", ":"), sort_keys=sort_keys
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"cannot be written as JSON: {error}", cause=error) from error


def plain(value: object, where: str = "value") -> JsonValue:
    """Return a copy of *value* made of dicts, lists and scalars only.

    The copy is what a frozen value keeps, so that nobody changes it from outside.
    Raises InvalidRequestError, naming the path, for what JSON cannot say, and for what is
    nested deeper than MAX_DEPTH.
    """
    return _plain(value, where, MAX_DEPTH)


def _plain(value: object, where: str, levels: int) -> JsonValue:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value  # type: ignore[return-value]
    if isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise InvalidRequestError(f"{where} is an integer of more than {MAX_DIGITS} digits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequestError(f"{where} is {value}, which JSON cannot say")
        return value
    if isinstance(value, Mapping):
        below = _below(where, levels)
        return {
            _key(key, where): _plain(item, f"{where}.{key}", below) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        below = _below(where, levels)
        return [_plain(item, f"{where}[{index}]", below) for index, item in enumerate(value)]
    if isinstance(value, str):
        return value
    raise InvalidRequestError(f"{where} is a {kind.__name__}, which JSON cannot say")


def _below(where: str, levels: int) -> int:
    if not levels:
        raise InvalidRequestError(f"{where[:60]}... is nested more than {MAX_DEPTH} levels deep")
    return levels - 1


def plain_object(value: object) -> JsonObject:
    """Return a copy of the JSON object *value*; None counts as empty."""
    if value is None or value == {}:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRequestError(f"expected a JSON object, got a {type(value).__name__}")
    return plain(value)  # type: ignore[return-value]


def plain_metadata(value: object) -> ProviderMetadata:
    """Return a copy of provider metadata: an object of objects, keyed by provider."""
    if value == {}:  # nearly always
        return {}
    copy = plain_object(value)
    for provider, data in copy.items():
        if not isinstance(data, Mapping):
            raise InvalidRequestError(
                f"provider_metadata[{provider!r}] must be an object, not a {type(data).__name__}"
            )
    return copy  # type: ignore[return-value]


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidRequestError(f"{where} has the key {key!r}; JSON keys are strings")
    return key
