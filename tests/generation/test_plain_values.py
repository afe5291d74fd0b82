"""Values that tools return, written as JSON."""

import collections
import dataclasses
import datetime
import enum
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pydantic
import pytest
from PIL import Image

from llmcore.generation.plain_values import to_plain
from llmcore.schema.content import tool_output
from llmcore.schema.errors import InvalidRequestError

DAY = datetime.date(2026, 1, 2)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Inner(pydantic.BaseModel):
    n: int


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (
            {1: Point(2), "d": DAY, "s": {Colour.RED}},
            {"1": {"x": 2, "y": 0}, "d": "2026-01-02", "s": ["red"]},
        ),
        ({"o": Inner(n=1)}, {"o": {"n": 1}}),
        (Path("/a"), "/a"),
        ([IPv4Address("127.0.0.1")], ["127.0.0.1"]),
        (pydantic.SecretStr("key"), "**********"),
        (collections.deque([1]), [1]),
        (range(2), [0, 1]),
        ({"a": 1}.keys(), ["a"]),
        (MappingProxyType({"a": {1}}), {"a": [1]}),
        (
            {"n": np.int64(3), "mean": np.float32(1.5), "is": np.bool_(True)},
            {"n": 3, "mean": 1.5, "is": True},
        ),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array(["2026-01-02"], dtype="datetime64[ns]"), ["2026-01-02T00:00:00.000000000"]),
        ([np.datetime64("2026-01-02"), np.str_("a")], ["2026-01-02", "a"]),
        (
            pd.DataFrame({"a": [1, None], "at": [pd.Timestamp(DAY)] * 2}),
            [
                {"a": 1.0, "at": "2026-01-02T00:00:00.000"},
                {"a": None, "at": "2026-01-02T00:00:00.000"},
            ],
        ),
        (pd.DataFrame({"n": [1]}, index=pd.Index(["x"], name="city")), [{"city": "x", "n": 1}]),
        ([pd.Series(["a", "a", "b"]).value_counts()], [{"a": 2, "b": 1}]),
        (pd.Index([1, 2]), [1, 2]),
        (
            [pd.NA, pd.NaT, pd.Timestamp(DAY), pd.Timedelta(days=1)],
            [None, None, "2026-01-02T00:00:00", "P1DT0H0M0S"],
        ),
    ],
)
def test_values_of_python_numpy_and_pandas_become_plain_json(value: object, plain: object) -> None:
    assert to_plain(value) == plain
    assert tool_output(plain) == plain


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a value of type object cannot be written as JSON: return text, a dict"),
        (iter([1]), "a value of type list_iterator cannot be written as JSON"),
        ({"plot": Image.new("RGB", (1, 1))}, r"an image \(Image\) .* return ImagePart\.of\("),
    ],
)
def test_a_value_without_a_form_in_json_is_an_error_that_says_what_to_return(
    value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        to_plain(value)


def test_an_array_is_not_compared_with_an_empty_result() -> None:
    """Comparisons of arrays are arrays, which are neither true nor false."""
    with pytest.raises(InvalidRequestError, match="ndarray"):
        tool_output(np.array([1, 2]))
