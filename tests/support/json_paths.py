"""Paths of the values in a JSON document."""

from collections.abc import Iterator
from typing import Any


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in *value*: keys of objects, and indices of lists."""
    if path:
        yield path
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield from places(value[key], (*path, key))
