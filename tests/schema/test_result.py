"""Success and Failure: `llmcore/schema/result.py`."""

import pickle

import pytest

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.result import Failure, Result, Success

ERROR = ConfigurationError("no key")


def halved(number: int) -> Result[int, str]:
    """Return half of an even *number*."""
    return Failure(f"{number} is odd") if number % 2 else Success(number // 2)


def test_match_binds_the_value_or_the_error() -> None:
    """By position, as users write it."""
    said: list[object] = []
    for result in (halved(4), halved(3)):
        match result:
            case Success(value):
                said.append(value)
            case Failure(error):
                said.append(error)

    assert said == [2, "3 is odd"]


def test_success_composes_its_value() -> None:
    """`alt` is for failures."""
    assert Success(4).map(str) == Success("4")
    assert Success(4).bind(halved).bind(halved) == Success(1)
    assert Success(6).bind(halved).bind(halved) == Failure("3 is odd")
    assert Success(4).alt(str.upper) == Success(4)
    assert Success(4).value_or(0) == Success(4).unwrap() == 4


def test_failure_composes_its_error() -> None:
    """The steps that it is given do not run."""
    failed = Failure("odd")

    assert failed.map(halved) is failed.bind(halved) is failed
    assert failed.alt(str.upper) == Failure("ODD")
    assert failed.value_or(0) == 0
    assert failed.failure() == "odd"


def test_unwrapping_a_failure_raises_its_error() -> None:
    """Its message is in the traceback, not that of a wrapper."""
    with pytest.raises(ConfigurationError, match="no key") as caught:
        Failure(ERROR).unwrap()
    assert caught.value is ERROR
    with pytest.raises(TypeError, match="not a success: Failure\\('odd'\\)"):
        Failure("odd").unwrap()
    with pytest.raises(TypeError, match="not a failure: Success\\(4\\)"):
        Success(4).failure()


def test_results_are_compared_hashed_pickled_and_shown() -> None:
    """Compared, hashed, pickled and shown like others."""
    assert len({Success(1), Success(1), Failure(1)}) == 2
    assert pickle.loads(pickle.dumps(Success((1, 2)))) == Success((1, 2))
    assert repr((Success("a"), Failure("b"))) == "(Success('a'), Failure('b'))"
