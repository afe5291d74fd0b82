"""Reading native JSON whose types no server guarantees, and writing values as text.

Servers that imitate an API send null, numbers or objects where it has strings. The readers return a
value of the wanted type or nothing, and never raise.
"""

import math
from typing import Any

from llmcore.schema import json
from llmcore.schema.json import JsonValue

# -- readers


def str_or_none(value: Any) -> str | None:
    """Return a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def int_or_none(value: Any) -> int | None:
    """Return a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count_or_none(value: Any) -> int | None:
    """Return a count, never negative; servers that count in floats mean whole numbers."""
    if type(value) is int:
        return value if value > 0 else 0
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0, int(value)) if math.isfinite(value) else None


def float_or_none(value: Any) -> float | None:
    """Return a number as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def object_or_empty(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# -- text or JSON


def text_or_json(value: JsonValue) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value).decode()


def json_or_text(text: str) -> JsonValue:
    """Return the value of JSON *text*; *text* itself where it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
