"""Cool-downs and the circuit as values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.configuration.settings import CoolDownSettings
from llmcore.bridge.pools.health import (
    HEALTHY,
    Health,
    after_failure,
    after_success,
    claimed,
    is_of_the_key,
    merged,
    reason_of,
    state_of,
)
from llmcore.client.http.errors import TOO_MANY_FILES
from llmcore.schema import errors
from llmcore.schema.errors import LLMError

SETTINGS = CoolDownSettings(failure_s=5, key_s=300, breaker_failures=3, breaker_s=60)


@pytest.mark.parametrize(
    ("error", "reason", "seconds"),
    [
        (errors.RateLimitError("x", status_code=429), "rate_limited", 5),
        (errors.RateLimitError("x", status_code=429, retry_after=42), "rate_limited", 42),
        (errors.RateLimitError("x", retry_after=1e9), "rate_limited", 3600),
        (errors.AuthenticationError("x", status_code=401), "key_refused", 300),
        (errors.AccessDeniedError("x", status_code=403), "access_denied", 5),
        (errors.NotFoundError("x", status_code=404), "not_found", 5),
        (errors.QuotaExceededError("x", status_code=402), "no_quota", 300),
        (errors.ServerError("x", status_code=500), "failing", 5),
        (errors.OverloadedError("x", status_code=529, retry_after=9), "failing", 9),
        (errors.RequestTimeoutError("x", error_code="first_event"), "timed_out", 5),
        (errors.NetworkError("x"), "unreachable", 5),
        (errors.StreamError("x"), "failing", 5),
    ],
)
def test_each_failure_has_its_cool_down(error: LLMError, reason: str, seconds: float) -> None:
    after = after_failure(HEALTHY, error, 100.0, SETTINGS)

    assert (after.reason, after.free_at) == (reason, 100.0 + seconds)
    assert state_of(after, 100.0, SETTINGS) == "cooling"
    assert state_of(after, after.free_at, SETTINGS) == "ok"


def test_one_request_probes_an_open_circuit_where_failures_start_no_cool_down() -> None:
    settings = CoolDownSettings(failure_s=0, breaker_failures=1, breaker_s=60)
    opened = after_failure(HEALTHY, errors.ServerError("x", status_code=500), 100.0, settings)

    assert opened.free_at == 160.0
    assert claimed(opened, 160.0, settings).free_at > 160.0


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidRequestError("x", status_code=400),
        errors.ContextLengthError("x", status_code=400),
        errors.ContentFilterError("x"),
        errors.RequestTimeoutError("x", error_code="total"),
        errors.ConfigurationError("x"),
        errors.NetworkError("x", error_code=TOO_MANY_FILES),
    ],
)
def test_errors_of_request_and_gateway_leave_the_health_of_the_target(
    error: LLMError,
) -> None:
    assert reason_of(error) is None
    assert after_failure(HEALTHY, error, 100.0, SETTINGS) is HEALTHY


def test_failures_in_a_row_open_the_circuit_and_one_request_tries() -> None:
    error, health = errors.ServerError("x"), HEALTHY
    for _ in range(3):
        health = after_failure(health, error, 100.0, SETTINGS)
    assert (health.free_at, state_of(health, 100.0, SETTINGS)) == (160.0, "open")

    trying = claimed(health, 160.0, SETTINGS)

    assert trying.free_at == 165.0, "others keep away while one tries"
    assert claimed(trying, 161.0, SETTINGS) is trying
    assert after_failure(trying, error, 162.0, SETTINGS).free_at == 222.0
    assert after_success(trying, 160.0) is HEALTHY


@pytest.mark.parametrize(
    "error",
    [errors.RateLimitError("x"), errors.NotFoundError("x"), errors.AccessDeniedError("x")],
    ids=lambda error: type(error).__name__,
)
def test_what_one_request_may_have_caused_does_not_open_the_circuit(error: LLMError) -> None:
    health = HEALTHY
    for _ in range(10):
        health = after_failure(health, error, 100.0, SETTINGS)
    assert state_of(health, 100.0, SETTINGS) == "cooling"


def test_a_refusal_of_one_model_leaves_the_others_of_its_key() -> None:
    assert not is_of_the_key(errors.NotFoundError("x"))
    assert not is_of_the_key(errors.AccessDeniedError("x"))
    assert is_of_the_key(errors.AuthenticationError("x"))
    assert is_of_the_key(errors.QuotaExceededError("x"))


def test_response_that_began_before_the_failure_leaves_the_cool_down() -> None:
    health = after_failure(HEALTHY, errors.ServerError("x"), 100.0, SETTINGS)

    assert after_success(health, 99.0) is health
    assert after_success(health, 100.0) is HEALTHY


healths = st.builds(
    Health,
    free_at=st.floats(0, 1e6),
    failures=st.integers(0, 9),
    failed_at=st.floats(0, 1e6),
    reason=st.just("failing"),
)


@given(healths, healths, healths)
def test_workers_agree_whatever_the_order_in_which_they_learn(
    one: Health, two: Health, three: Health
) -> None:
    later = max((one, two, three), key=lambda health: health.failed_at)
    found = merged(merged(one, two), three)
    assert found.failed_at == later.failed_at == merged(one, merged(two, three)).failed_at


@given(healths, st.floats(0, 1e6), st.sampled_from([None, 0.0, 7.5]))
def test_a_failure_never_shortens_a_cool_down(health: Health, now: float, retry_after: Any) -> None:
    error = errors.ServerError("x", retry_after=retry_after)
    assert after_failure(health, error, now, SETTINGS).free_at >= max(health.free_at, now)
