"""Writes what tools return as JSON: values of Python, numpy and pandas, which it never imports.

Such as `numpy.float64(1.5)` as 1.5, and `pandas.DataFrame({"a": [1, 2]})` as [{"a": 1}, {"a": 2}].
"""

import datetime
from collections.abc import Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from llmcore.generation.annotations import is_model
from llmcore.generation.named_tuples import with_names
from llmcore.generation.type_schema import OF_PYDANTIC
from llmcore.schema import json


def to_plain(value: object) -> object:
    """Return *value* as dicts, lists and scalars; TypeError if it has no such form."""
    return msgspec.to_builtins(with_names(value), str_keys=True, enc_hook=_simpler)


def _simpler(value: Any) -> Any:
    """Return *value*, which msgspec does not know, in types that it knows."""
    if is_model(type(value)):
        return value.model_dump(mode="json")
    module = type(value).__module__.partition(".")[0]
    if module in ("pathlib", "ipaddress"):
        return str(value)
    if module in OF_PYDANTIC:
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(value)
    if module in ("pandas", "polars") and hasattr(value, "columns"):
        return _records(value)
    if module == "pandas" and hasattr(value, "to_json"):  # a series, by its index
        return json.loads(value.to_json(date_format="iso"))
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):  # a subclass
        written = getattr(value, "isoformat", None)  # pandas.Timedelta has it
        return str(value) if written is None else written()
    if callable(getattr(value, "tolist", None)):
        return _numbers(value)
    return _collection(value)


def _records(frame: Any) -> Any:
    """Return the rows of a data frame as objects; an index with names of rows is a column."""
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()
    if type(frame.index).__name__ != "RangeIndex":
        frame = frame.reset_index()
    return json.loads(frame.to_json(orient="records", date_format="iso"))


def _numbers(array: Any) -> Any:
    """Return an array or a scalar of numpy, or of a library like it; times are text."""
    if getattr(getattr(array, "dtype", None), "kind", "") in ("M", "m"):
        array = array.astype(str)
    return array.tolist()


def _collection(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | AbstractSet | ValuesView):
        return list(value)
    name = type(value).__name__
    if any(callable(getattr(value, method, None)) for method in ("savefig", "_repr_png_")):
        raise TypeError(f"an image ({name}) cannot be written as JSON: return ImagePart.of(...)")
    raise TypeError(
        f"a value of type {name} cannot be written as JSON: return text, a dict, a list or a "
        "dataclass"
    )
