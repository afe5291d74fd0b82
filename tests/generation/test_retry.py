"""When to try again, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.generation.generate import generate
from llmcore.generation.retry import RetryPolicy, next_delay, retry
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NetworkError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
)
from llmcore.schema.result import Failure, Result, Success
from tests.support.strategies.examples import costly
from tests.support.wire.generation import any_model, client_of, text_of

pytestmark = pytest.mark.anyio

EXACT = RetryPolicy(jitter=False)
NO_RETRIES = RetryPolicy(max_retries=0)


@pytest.mark.parametrize(
    ("error", "applies"),
    [
        (RateLimitError("", status_code=429), True),
        (ServerError("", status_code=500), True),
        (OverloadedError("", status_code=529), True),
        (RequestTimeoutError("", status_code=408), True),
        (RequestTimeoutError("", error_code="connect"), True),
        (NetworkError(""), True),
        (StreamError(""), True),
        (ProviderError("unknown"), True),
        (RequestTimeoutError("", error_code="idle"), False),
        (RequestTimeoutError("", error_code="first_event"), False),
        (InvalidRequestError("", status_code=400), False),
        (AuthenticationError("", status_code=401), False),
        (AccessDeniedError("", status_code=403), False),
        (NotFoundError("", status_code=404), False),
        (ContextLengthError("", status_code=413), False),
        (InvalidRequestError("", status_code=422), False),
        (QuotaExceededError("", status_code=429), False),
        (ContentFilterError(""), False),
        (ConfigurationError(""), False),
    ],
    ids=str,
)
def test_what_may_pass_is_retried(error: LLMError, applies: bool) -> None:
    """A read timeout may have been answered, and billed, all the same."""
    assert EXACT.applies_to(error) is applies


def test_timeouts_are_retried_if_wanted() -> None:
    """All but the limit on everything."""
    policy = RetryPolicy(retry_timeouts=True)

    assert policy.applies_to(RequestTimeoutError("", error_code="idle"))
    assert not policy.applies_to(RequestTimeoutError("", error_code="total"))


@pytest.mark.parametrize(
    ("retry_after", "delay"),
    [
        (None, 1.0),
        (0.0, 0.0),
        (0.25, 0.25),
        (6.2, 6.2),
        (60.0, 60.0),
        (60.1, None),
        (1800.0, None),
    ],
)
def test_the_server_says_how_long(retry_after: float | None, delay: float | None) -> None:
    """Up to the longest wait; beyond it, the error is final and says how long."""
    assert EXACT.delay(RateLimitError("", retry_after=retry_after), 0) == delay


def test_delays_grow_to_a_limit() -> None:
    """base * multiplier ** n, and no more than max_delay."""
    policy = RetryPolicy(max_retries=2000, jitter=False)
    delays = [policy.delay(ServerError(""), n) for n in (0, 1, 2, 3, 6, 1999)]

    assert delays == [1.0, 2.0, 4.0, 8.0, 60.0, 60.0]


@costly
@given(st.floats(0, 1), st.integers(0, 30))
def test_jitter_is_half_to_one_and_a_half(chance: float, attempt: int) -> None:
    """Of the delay without it."""
    exact = RetryPolicy(max_retries=99, jitter=False).delay(ServerError(""), attempt)
    delay = RetryPolicy(max_retries=99).delay(ServerError(""), attempt, chance)

    assert exact is not None
    assert delay is not None
    assert 0.5 * exact <= delay <= 1.5 * exact


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_retries": -1},
        {"base_delay": -1},
        {"max_delay": -1},
        {"backoff_multiplier": 0.5},
        {"base_delay": float("nan")},
    ],
)
def test_a_policy_makes_sense(wrong: dict[str, int]) -> None:
    """Or says what does not."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


class Slept:
    """A clock that only counts."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Calls:
    """Fails so often, by raising or by returning, and then works."""

    def __init__(self, *errors: LLMError, raises: bool = False) -> None:
        self.errors = list(errors)
        self.raises = raises
        self.count = 0

    async def __call__(self) -> Result[str, LLMError]:
        self.count += 1
        if not self.errors:
            return Success("done")
        error = self.errors.pop(0)
        if self.raises:
            raise error
        return Failure(error)


@pytest.mark.parametrize("raises", [False, True])
async def test_retry_accepts_calls_that_raise_or_return_results(raises: bool) -> None:
    """It takes calls that raise and calls that return a Result."""
    calls, slept = Calls(ServerError("a"), NetworkError("b"), raises=raises), Slept()
    seen: list[tuple[LLMError, int, float]] = []
    policy = RetryPolicy(jitter=False, on_retry=lambda *what: seen.append(what))

    assert await retry(calls, policy, sleep=slept) == Success("done")
    assert calls.count == 3
    assert slept.seconds == [1.0, 2.0]
    assert seen == [(ServerError("a"), 0, 1.0), (NetworkError("b"), 1, 2.0)]


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_n_retries_are_n_plus_one_calls(retries: int) -> None:
    """And the last failure is the outcome."""
    calls, slept = Calls(*[ServerError(str(n)) for n in range(9)]), Slept()
    outcome = await retry(calls, RetryPolicy(max_retries=retries), sleep=slept)

    assert outcome == Failure(ServerError(str(retries)))
    assert calls.count == retries + 1


async def test_what_is_final_is_raised_at_once() -> None:
    """Also an error that the default policy would repeat, if it excludes a retry itself."""
    calls, slept = Calls(RateLimitError("", retry_after=1800), raises=True), Slept()
    with pytest.raises(RateLimitError) as caught:
        await retry(calls, sleep=slept)

    assert caught.value.retry_after == 1800
    assert (calls.count, slept.seconds) == (1, [])
    assert await retry(Calls(ServerError("")), NO_RETRIES) == Failure(ServerError(""))


async def test_other_values_and_errors_pass() -> None:
    """Only LLMErrors are failures."""

    async def odd() -> Failure[str]:
        return Failure("mine")

    async def broken() -> int:
        raise KeyError

    assert await retry(odd) == Failure("mine")
    with pytest.raises(KeyError):
        await retry(broken)


async def test_no_wait_that_is_cut_off_is_begun() -> None:
    """If the time left is shorter than the wait, the error is what matters."""
    slept = Slept()
    error = ServerError("")

    assert await next_delay(EXACT, error, 0, within=0.9, sleep=slept) is None
    assert await next_delay(EXACT, error, 0, within=1.1, sleep=slept) == 1.0
    assert slept.seconds == [1.0]


def test_policy_of_the_nearest_class_counts() -> None:
    patient = RetryPolicy(max_retries=9, base_delay=7, jitter=False)
    policy = RetryPolicy(
        max_retries=1,
        base_delay=1,
        jitter=False,
        by_error={ServerError: NO_RETRIES, OverloadedError: patient},
    )

    assert policy.delay(RateLimitError("x"), 0) == 1
    assert policy.delay(RateLimitError("x"), 1) is None
    assert policy.delay(ServerError("x"), 0) is None
    assert policy.delay(OverloadedError("x"), 1) == 14
    assert policy.at_most(1).delay(OverloadedError("x"), 1) is None


def test_predicate_decides_in_place_of_the_rules() -> None:
    policy = RetryPolicy(retry_if=lambda error: "again" in error.message, jitter=False)

    assert policy.applies_to(InvalidRequestError("once again"))
    assert not policy.applies_to(ServerError("down"))


async def test_the_predicate_is_asked_once_for_each_failure_of_a_run() -> None:
    asked: list[str] = []

    def again(error: LLMError) -> bool:
        asked.append(error.message)
        return True

    policy = RetryPolicy(max_retries=1, base_delay=0, retry_if=again)
    client, _ = client_of((500, {}, "down"), text_of("Hi"))
    result = await generate(any_model(), "Hi", retry_policy=policy, client=client)

    assert (result.text, len(asked)) == ("Hi", 1)
