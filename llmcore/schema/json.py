"""JSON as Python values: types, reading, writing, and copies for frozen values.

All modules read and write JSON with these functions. msgspec reads the frames of a stream about
five times as fast as the standard library, as orjson does, and unlike orjson it keeps all digits
of integers; orjson writes, and rejects values that are not JSON. The standard library is the
fallback for what they reject: lone surrogates (servers cut emoji in two), NaN, and writing
integers of more than 64 bits.
"""

import json
import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, Union, cast

import msgspec
import orjson

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind

if TYPE_CHECKING:
    JsonValue = Union[None, bool, int, float, str, Sequence["JsonValue"], Mapping[str, "JsonValue"]]
    JsonObject = Mapping[str, JsonValue]
    ProviderMetadata = Mapping[str, JsonObject]
else:

    class JsonValue:
        """Any JSON value. At run time a marker class that the codec has hooks for."""

    class JsonObject:
        """A JSON object. At run time a marker class."""

    class ProviderMetadata:
        """Opaque provider data, keyed by provider, that must be sent back unchanged."""


NativeObject: TypeAlias = dict[str, Any]
"""A JSON object of a provider's API. Servers differ too much for a stricter type."""

_V = TypeVar("_V")

MAX_DIGITS = 4300
"""The most digits of an integer in a value: Python's own limit for reading and writing."""
_LARGEST = 10**MAX_DIGITS

MAX_DEPTH = 128
"""The most levels of nested objects and lists in a value."""


def loads(data: bytes | str) -> JsonValue:
    """Return the JSON value in *data*; ValueError if it is not JSON.

    Integers keep all digits. NaN and numbers beyond a double, which some servers write, become
    None, as in JavaScript; so do integers that Python rejects (more than 4300 digits).
    """
    try:
        value: JsonValue = _fast_loads(data)
    except (ValueError, RecursionError):
        value = _standard_loads(
            data,
            parse_constant=_none_for_constant,
            parse_float=_finite_or_none,
            parse_int=_readable_or_none,
        )
    return value


_fast_loads: Final = msgspec.json.Decoder().decode


def loads_exact(text: str) -> JsonValue:
    """Return the JSON value in *text*, read strictly.

    Raises ValueError for anything that is not JSON, including NaN, and for nesting deeper than
    MAX_DEPTH, so that `plain_json` accepts the result.
    """
    try:
        value: JsonValue = _fast_loads(text)
    except (ValueError, RecursionError):  # also for halves of emoji, and long integers
        value = _standard_loads(text, parse_constant=_reject_constant, parse_float=_finite)
    if text.count("{") + text.count("[") > MAX_DEPTH and _too_deep(value):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    return value


def _standard_loads(data: bytes | str, **hooks: Callable[[str], object]) -> JsonValue:
    try:
        value: JsonValue = json.loads(data, **hooks)  # type: ignore[arg-type]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def _none_for_constant(_name: str) -> None:
    return None


def _finite_or_none(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _readable_or_none(digits: str) -> int | None:
    try:
        return int(digits)
    except ValueError:
        return None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits} is too large")
    return number


_CONTAINERS: Final = frozenset({dict, list})


def _too_deep(value: JsonValue) -> bool:
    """Return whether decoded JSON is nested deeper than MAX_DEPTH, without recursion."""
    level: list[Any] = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) in _CONTAINERS
        ]
    return bool(level)


def dumps(value: JsonValue) -> bytes:
    """Return *value* as compact UTF-8 JSON, with keys in their order.

    Raises InvalidRequestError for values that JSON cannot represent, such as an integer of too
    many digits.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return _standard_dumps(value, ensure_ascii=True).encode()


def canonical(value: JsonValue) -> str:
    """Return *value* as compact JSON with sorted keys: equal values give equal text.

    Raises InvalidRequestError for values that JSON cannot represent.
    """
    return _standard_dumps(value, ensure_ascii=False, sort_keys=True)


def _standard_dumps(value: JsonValue, *, ensure_ascii: bool, sort_keys: bool = False) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=ensure_ascii, separators=(",", ":"), sort_keys=sort_keys
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"cannot be written as JSON: {error}", cause=error) from error


def replace_lone_surrogates(text: str) -> str:
    """Return *text* with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dumps_whole(value: JsonValue) -> tuple[bytes, JsonValue | None]:
    """Return *value* as `dumps` does, with U+FFFD for each lone surrogate.

    The second item is the changed value; None if there was no lone surrogate.
    """
    try:
        return orjson.dumps(value), None  # which rejects surrogates
    except TypeError:
        data = dumps(value)
    if rb"\ud" not in data:
        return data, None
    read = loads(data)  # in which pairs are joined
    whole = _with_whole_texts(read)
    return (data, None) if whole == read else (dumps(whole), whole)


def _with_whole_texts(value: Any) -> Any:
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, list):
        return [_with_whole_texts(item) for item in value]
    if isinstance(value, dict):
        return {_with_whole_texts(key): _with_whole_texts(item) for key, item in value.items()}
    return value


def plain_json(value: object, where: str = "value") -> JsonValue:
    """Return a copy of *value* made of dicts, lists and scalars only.

    Frozen values keep such a copy, so that changes to the original do not reach them.
    Raises InvalidRequestError, naming the path, for values that JSON cannot represent and for
    nesting deeper than MAX_DEPTH.
    """
    if _is_flat(value):  # as the arguments of most calls are
        return cast("dict[str, JsonValue]", value).copy()
    copy = _written_and_read(value) if type(value) is dict or type(value) is list else None
    return _plain(value, where, MAX_DEPTH) if copy is None else copy


def _written_and_read(value: object) -> JsonValue | None:
    """Return a copy of *value*, made without a step for each member of it.

    None where JSON cannot hold it just as it is, or it is nested deeply.
    """
    try:
        data = orjson.dumps(value)
        copy: JsonValue = orjson.loads(data)
    except (TypeError, ValueError):
        return None
    may_be_deep = data.count(b"{") + data.count(b"[") > MAX_DEPTH
    return None if copy != value or (may_be_deep and _too_deep(copy)) else copy


_COPIED: Final = frozenset({str, bool, type(None)})
"""Types whose values are their own copies, whatever they are."""


def _plain(value: object, where: str, levels: int) -> JsonValue:
    kind = type(value)
    if kind in _COPIED:
        return value  # type: ignore[return-value]
    if kind is dict:  # as nearly every object is, and so handled without a call for each text
        below, items = _below(where, levels), cast("dict[Any, Any]", value).items()
        return {
            key if type(key) is str else _key(key, where): item
            if type(item) in _COPIED
            else _plain(item, f"{where}.{key}", below)
            for key, item in items
        }
    if isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise InvalidRequestError(f"{where} is an integer of more than {MAX_DIGITS} digits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequestError(f"{where} is {value}, which JSON cannot represent")
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
    raise InvalidRequestError(f"{where} is a {kind.__name__}, which JSON cannot represent")


def _below(where: str, levels: int) -> int:
    if not levels:
        raise InvalidRequestError(f"{where[:60]}... is nested more than {MAX_DEPTH} levels deep")
    return levels - 1


def plain_object(value: object, where: str = "value") -> JsonObject:
    """Return a copy of the JSON object *value*; None counts as empty."""
    if value is None or value == {}:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidRequestError(f"{where} must be a JSON object, not {shown_kind(value)}")
    return plain_json(value, where)  # type: ignore[return-value]


def plain_metadata(value: object, field: str = "provider_metadata") -> ProviderMetadata:
    """Return a copy of the value of *field*: an object of objects, keyed by provider."""
    if type(value) is dict:
        flat: dict[str, JsonObject] = {}  # nearly always it stays empty, or has ids of items
        for provider, data in value.items():
            if type(provider) is not str or not _is_flat(data):
                break
            flat[provider] = data.copy()
        else:
            return flat
    elif not isinstance(value, Mapping | None):
        kind = shown_kind(value)
        raise InvalidRequestError(f"{field} must be a dict by provider, not {kind}")
    copy = plain_object(value, field)
    for provider, data in copy.items():
        if not isinstance(data, dict):
            raise InvalidRequestError(
                f"{field}[{provider!r}] must be an object, not {shown_kind(data)}"
                + (": write {PROVIDER: {...}}" if field == "provider_options" else "")
            )
    return copy  # type: ignore[return-value]


def _is_flat(value: object) -> bool:
    """Return whether *value* is a dict of texts, flags, counts and nulls by names."""
    if type(value) is not dict:
        return False
    for name, item in value.items():
        kind = type(item)
        if kind not in _COPIED and (kind is not int or not -_LARGEST < item < _LARGEST):
            return False
        if type(name) is not str:
            return False
    return True


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidRequestError(f"{where} has the key {key!r}; JSON keys are strings")
    return key


# -- some fields of an object


def present(fields: Mapping[str, _V | None], *, but: Container[str] = ()) -> dict[str, _V]:
    """Return *fields* without those that are None or named in *but*."""
    if not but:  # no need to look in it for each
        return {k: v for k, v in fields.items() if v is not None}
    return {k: v for k, v in fields.items() if v is not None and k not in but}


def without(fields: Mapping[str, _V], *names: str) -> dict[str, _V]:
    """Return *fields* without *names*."""
    return {name: value for name, value in fields.items() if name not in names}


# -- text or JSON


def text_or_json(value: JsonValue) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else dumps(value).decode()


def text_or_json_or_empty(value: JsonValue) -> str:
    """Return a text as it is, any other value as JSON; an empty text for None."""
    return "" if value is None else text_or_json(value)


def json_or_text(text: str | bytes) -> JsonValue:
    """Return the value of JSON *text*; the text itself where it is not JSON."""
    try:
        return loads(text)
    except ValueError:
        return text if isinstance(text, str) else text.decode("utf-8", "replace")


# -- the arguments of tools


def tool_arguments(value: JsonValue) -> JsonValue:
    """Return a copy of *value*; None, which some servers send for no arguments, becomes `{}`."""
    return {} if value is None else plain_json(value, "arguments")


def parse_arguments(text: str, *, strict: bool = False) -> tuple[JsonValue, str | None]:
    """Return tool arguments as JSON, and a description of the fault or None.

    Empty text and `null` mean no arguments: `{}`. Text that is not a JSON object is returned
    unchanged, so that nothing is lost and a truncated object is not mistaken for a complete one.
    Unless *strict*, the strings of an object may have line breaks and tabs that are not escaped, as
    models write them: the reading is the same.
    """
    if not text.strip():
        return {}, None
    try:
        value = loads_exact(text)
    except ValueError as error:
        found = None if strict else _object_with_line_breaks(text)
        return (text, f"not JSON ({error})") if found is None else (found, None)
    if value is None:
        return {}, None
    if isinstance(value, dict):
        return value, None
    if isinstance(value, str):  # some servers encode the object twice
        inner, problem = parse_arguments(value, strict=strict)
        if problem is None and isinstance(inner, dict):
            return inner, None
    return text, f"a JSON {type(value).__name__}, not an object"


def encodes(raw: str, arguments: JsonValue) -> bool:
    """Return whether *raw* is JSON text of *arguments*; 1 and 1.0 differ."""
    written = dumps(arguments)
    if written == raw.encode("utf-8", "surrogatepass"):  # as many servers write them
        return True
    parsed = parse_arguments(raw, strict=True)[0]
    return dumps(parsed) == written or canonical(parsed) == canonical(arguments)


def _object_with_line_breaks(text: str) -> dict[str, JsonValue] | None:
    """Return the object in *text*, whose strings may have control characters; None without one."""
    try:
        value = json.loads(text, strict=False, parse_constant=_reject_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _too_deep(value) else None
