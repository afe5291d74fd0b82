"""Reading JSON whose types nobody guarantees.

Servers that imitate an API send null, numbers or objects where it has strings. These
readers return what is wanted or nothing, and never raise.
"""

from typing import Any


def string(value: Any) -> str | None:
    """Return a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def integer(value: Any) -> int | None:
    """Return a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a number of things, never negative; servers that count in floats mean whole ones."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0, int(value)) if value == value and abs(value) != float("inf") else None  # noqa: PLR0124


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
