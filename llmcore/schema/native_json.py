"""Readers of native JSON, whose types no server guarantees.

Servers that imitate an API send null, numbers or objects where it has strings. The readers return
a value of the wanted type or nothing, and never raise.
"""

from collections.abc import Iterable
from typing import Any, Final

from llmcore.schema.json import JsonObject


def str_or_none(value: Any) -> str | None:
    """Return a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def str_or_empty(value: Any) -> str:
    """Return a string; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def int_or_none(value: Any) -> int | None:
    """Return a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def index_or_none(value: Any) -> int | None:
    """Return a whole number, which some servers write as text or as a float; else None."""
    if isinstance(value, str) and len(value) < 10 and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int_or_none(value)


LARGEST_COUNT: Final = 10**15
"""A server that states more tokens, bytes or calls than this does not count them."""


def count_or_none(value: Any) -> int | None:
    """Return a count; None for a number that counts nothing: below 0, or above `LARGEST_COUNT`.

    Servers that count in floats mean whole numbers, and some state -1 for what they do not know.
    """
    if value is None or type(value) is bool or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= LARGEST_COUNT else None


def float_or_none(value: Any) -> float | None:
    """Return a number as a float; None for anything else, and for one that no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def object_or_empty(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def objects_or_one(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or an object that is by itself."""
    return [value] if isinstance(value, dict) else objects(value)


def texts(value: Any) -> list[str]:
    """Return the strings of a list; none for anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def all_objects(value: Any) -> list[dict[str, Any]] | None:
    """Return a list whose values are all objects; None for anything else."""
    dicts = objects(value)
    return dicts if isinstance(value, list) and len(dicts) == len(value) else None


_SCALARS: Final = frozenset({str, bool, type(None)})
"""Types that are always valid. Numbers are not among them: some cannot be represented."""


def has_only(fields: JsonObject, others: Iterable[str] = ()) -> bool:
    """Return whether *fields* are texts, flags or null, but for *others*."""
    return all(type(value) in _SCALARS or name in others for name, value in fields.items())
