"""The error tree."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from hypothesis import given

from llmcore.schema import errors
from llmcore.schema.errors import LLMError, ProviderError, RateLimitError, error_types
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from tests.support.error_kinds import ERROR_KINDS
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.strategies.values import llm_errors

RETRYABLE = {
    "ProviderError",
    "RateLimitError",
    "ServerError",
    "OverloadedError",
    "RequestTimeoutError",
    "NetworkError",
    "StreamError",
}

PARTIAL = LLMResponse(
    message=Message.assistant("half an ans"),
    finish_reason=FinishReason("other"),
    provider="acme",
    model="roadrunner",
)

COPIES: dict[str, Callable[[LLMError], LLMError]] = {
    **{
        f"pickle {protocol}": lambda error, protocol=protocol: pickle.loads(  # type: ignore[misc]
            pickle.dumps(error, protocol)
        )
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

every_copy = pytest.mark.parametrize("way", COPIES)
every_class = pytest.mark.parametrize("kind", ERROR_KINDS, ids=lambda k: k.__name__)


def full(kind: type[LLMError]) -> LLMError:
    """Build an error of *kind* with every field."""
    error = kind(
        "slow down",
        provider="acme",
        status_code=429,
        error_code="rate_limit",
        retryable=True,
        retry_after=1.5,
        request_id="req_1",
        partial=PARTIAL,
        raw={"error": {"type": "rate_limit"}},
        cause=OSError("reset by peer"),
    )
    error.add_note("while asking for the weather")
    return error


# -- copies


@every_class
@every_copy
def test_copies_of_errors_keep_every_field_and_note(kind: type[LLMError], way: str) -> None:
    """Every class survives every way to copy it, notes and partial response included."""
    error = full(kind)

    other = COPIES[way](error)

    assert type(other) is kind
    assert other == error
    assert (other.status_code, other.error_code, other.request_id) == (429, "rate_limit", "req_1")
    assert (other.retryable, other.retry_after) == (True, 1.5)
    assert other.partial == PARTIAL
    assert other.__notes__ == ["while asking for the weather"]
    assert str(other.cause) == "OSError: reset by peer"
    assert other.__cause__ is other.cause


@every_copy
def test_copies_keep_a_cause_of_our_own(way: str) -> None:
    """An error of this library that caused another stays what it is."""
    error = errors.NoObjectGeneratedError("no object", cause=RateLimitError("slow", retry_after=2))

    cause = COPIES[way](error).cause

    assert isinstance(cause, RateLimitError)
    assert cause.retry_after == 2


@given(llm_errors())
def test_error_with_subclass_fields_is_pickled(error: LLMError) -> None:
    """Fields of a subclass come along, too."""
    assert pickle.loads(pickle.dumps(error)) == error


def test_a_cause_that_cannot_pickle_does_not_stop_its_error() -> None:
    """Live handles stay behind; their text comes along."""

    class SocketError(Exception):
        def __init__(self) -> None:
            super().__init__("gone")
            self.handle = lambda: None

    copied = pickle.loads(pickle.dumps(errors.NetworkError("broke", cause=SocketError())))

    assert str(copied.cause) == "SocketError: gone"


def raise_rate_limit() -> None:
    """Raise the error that a worker meets most."""
    raise full(RateLimitError)


@pytest.mark.slow
def test_an_error_crosses_processes() -> None:
    """A worker's RateLimitError is a RateLimitError in the parent."""
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(RateLimitError) as caught,
    ):
        pool.submit(raise_rate_limit).result(timeout=60)

    assert caught.value == full(RateLimitError)
    assert caught.value.partial == PARTIAL


# -- the tree


@every_class
def test_one_except_clause_catches_all(kind: type[LLMError]) -> None:
    """Every error is an LLMError, and an exception."""
    with pytest.raises(LLMError):
        raise kind("no")


@every_class
def test_retryable_defaults_to_that_of_the_class(kind: type[LLMError]) -> None:
    """The default follows the class; an argument overrides it."""
    assert kind("x").retryable == (kind.__name__ in RETRYABLE)
    assert kind("x", retryable=True).retryable
    assert not kind("x", retryable=False).retryable


def test_error_types_of_classes_with_slots_are_those_that_are_raised() -> None:
    """Of such a class an unused twin exists, until a garbage collection."""
    program = (
        "import gc\ngc.disable()\nfrom llmcore.schema import errors\n"
        "kind = errors.error_types()['ContextLengthError']\n"
        "assert kind is errors.ContextLengthError"
    )
    run_fresh(program)


def test_every_error_class_of_the_library_is_tested() -> None:
    """Of those that other tests have imported as well."""
    own = {kind for kind in error_types().values() if kind.__module__.startswith("llmcore.")}

    assert own == set(ERROR_KINDS)


def test_error_types_are_found_by_name() -> None:
    """The codec finds every class, subclasses of subclasses included."""
    assert error_types()["OverloadedError"] is errors.OverloadedError
    assert error_types()["LLMError"] is LLMError


# -- values


@given(llm_errors(), llm_errors())
def test_errors_compare_by_value(left: LLMError, right: LLMError) -> None:
    """Equal errors have equal hashes; the class is part of the value."""
    same = copy.deepcopy(left)

    assert same == left
    assert hash(same) == hash(left)
    if type(left) is not type(right):
        assert left != right
    assert left != "an error"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LLMError("no luck"), "no luck"),
        (RateLimitError("slow down", provider="acme"), "slow down (acme)"),
        (
            RateLimitError("slow down", provider="acme", status_code=429, error_code="limit"),
            "slow down (acme, 429, limit)",
        ),
    ],
)
def test_the_text_names_provider_status_and_code(error: LLMError, text: str) -> None:
    """The facts that a log line needs, without the native body."""
    assert str(error) == text
    assert repr(error) == f"{type(error).__name__}({text!r})"


def test_a_cause_is_chained() -> None:
    """Tracebacks show where an error came from."""
    cause = OSError("reset")

    assert errors.NetworkError("broke", cause=cause).__cause__ is cause


def test_no_object_keeps_the_paid_response() -> None:
    """The response that held no object is not lost."""
    assert errors.NoObjectGeneratedError("none", partial=PARTIAL).response is PARTIAL


def test_errors_are_raised_with_what_had_arrived() -> None:
    """`partial` can be added while an error travels up."""
    error = errors.StreamError("cut")
    error.partial = PARTIAL

    assert error == errors.StreamError("cut", partial=PARTIAL)


@pytest.mark.parametrize("levels", [100, 900, 100_000])
def test_errors_pickle_however_deep_their_body_is(levels: int) -> None:
    """Also from a deep stack, as in a callback of a callback."""
    raw: Any = "end"
    for _ in range(levels):
        raw = {"inner": raw}

    def copied(error: LLMError, frames: int) -> Any:
        return pickle.loads(pickle.dumps(error)) if not frames else copied(error, frames - 1)

    error = ProviderError("no", raw={"message": "no", "body": raw})

    assert copied(error, 200) == error
    assert error.raw["message"] == "no"  # type: ignore[index,call-overload]
