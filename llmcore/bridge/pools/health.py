"""The health of upstreams as values: a failure starts a cool-down, and a success ends it.

Times are seconds of one clock that the caller reads. An upstream that has failed so often in a row
that its circuit is open gets one request at the end of its cool-down; until that one's outcome is
known, others keep away from it.
"""

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from llmcore.bridge.configuration.settings import CoolDownSettings
from llmcore.client.http.errors import TOO_MANY_FILES
from llmcore.schema.errors import (
    UNSUPPORTED_OPERATION,
    AccessDeniedError,
    AuthenticationError,
    LLMError,
    NetworkError,
    NotFoundError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
)
from llmcore.schema.frozen import frozen

_LONGEST_S: Final = 3600.0
"""The longest cool-down, whatever an upstream asks for: its key may get other limits meanwhile."""
_SHORTEST_S: Final = 0.1
_PROBE_S: Final = 5.0
"""How long others keep away while an upstream is probed, where failures start no cool-down."""
_SET_BACK_S: Final = 60.0
"""The clocks of machines differ by less."""

RATE_LIMITED: Final = "rate_limited"
_OF_THE_KEY: Final = (AuthenticationError, QuotaExceededError)
_OF_THE_MODEL: Final = (AccessDeniedError, NotFoundError)
"""Some of these are caused by one request, such as by what it contains or refers to."""
_REASONS: Final[Mapping[type[LLMError], str]] = {
    AuthenticationError: "key_refused",
    AccessDeniedError: "access_denied",
    NotFoundError: "not_found",
    QuotaExceededError: "no_quota",
    RateLimitError: RATE_LIMITED,
    RequestTimeoutError: "timed_out",
    NetworkError: "unreachable",
    ServerError: "failing",
    StreamError: "failing",
    ProviderError: "failing",
}
KEY_REASONS: Final = frozenset(_REASONS[kind] for kind in _OF_THE_KEY)
"""The reasons of refusals that concern the key of an upstream."""
MODEL_REASONS: Final = frozenset(_REASONS[kind] for kind in _OF_THE_MODEL)
"""The reasons of refusals that concern one model of an upstream."""


@frozen(kw_only=True)
class Health:
    """The health of an upstream, or of one model of it."""

    free_at: float = 0.0
    """When its cool-down ends, in seconds of the caller's clock."""
    failures: int = 0
    """The number of failures in a row that show that it does not work."""
    failed_at: float = 0.0
    reason: str = ""
    """Why it is cooling down, in a word."""


HEALTHY: Final = Health()


def reason_of(error: LLMError) -> str | None:
    """Return why *error* cools an upstream down; None if it shows nothing about it.

    Errors of the request, time limits over all tries together, and a gateway that has too many open
    files show nothing.
    """
    if isinstance(error, RequestTimeoutError) and error.error_code == "total":
        return None
    if error.error_code == TOO_MANY_FILES:
        return None
    for kind in type(error).__mro__:
        if kind is ProviderError and not error.retryable:
            return None
        if kind in _REASONS:
            return _REASONS[kind]
    return None


def is_of_the_key(error: LLMError) -> bool:
    """Return whether *error* concerns every model behind the upstream's key."""
    return isinstance(error, _OF_THE_KEY)


def is_of_the_model(error: LLMError) -> bool:
    """Return whether *error* is a refusal of one model, or of what one request contains."""
    return isinstance(error, _OF_THE_MODEL)


def after_failure(
    health: Health, error: LLMError, now: float, settings: CoolDownSettings
) -> Health:
    """Return the health after a request that failed with *error*.

    Limits of rates, and refusals that one request may have caused, do not open the circuit.
    """
    reason = reason_of(error)
    if reason is None:
        return health
    counts = not (isinstance(error, RateLimitError) or is_of_the_model(error))
    failures = health.failures + counts
    if is_of_the_key(error):
        wait_s = settings.key_s
    elif failures >= settings.breaker_failures:
        wait_s = settings.breaker_s
    else:
        wait_s = settings.failure_s
    if error.retry_after is not None:
        wait_s = min(max(error.retry_after, _SHORTEST_S), _LONGEST_S)
    return Health(
        free_at=max(health.free_at, now + wait_s), failures=failures, failed_at=now, reason=reason
    )


def after_success(health: Health, started_at: float) -> Health:
    """Return the health after a request that began at *started_at* and is being answered.

    One that began before the last failure shows nothing about the time after it.
    """
    return HEALTHY if started_at >= health.failed_at else health


def claimed(health: Health, now: float, settings: CoolDownSettings) -> Health:
    """Return the health while one request probes an upstream whose circuit was open."""
    if health.failures < settings.breaker_failures or now < health.free_at:
        return health
    return evolve(health, free_at=now + (settings.failure_s or _PROBE_S))


def merged(own: Health, other: Health) -> Health:
    """Return what two workers know together: the later failure counts."""
    return other if other.failed_at > own.failed_at else own


def is_before_a_set_back(at: float, now: float) -> bool:
    """Return whether the time *at* was read before the system's clock was set back to *now*."""
    return at > now + _SET_BACK_S


def state_of(health: Health, now: float, settings: CoolDownSettings) -> str:
    """Return `ok`, `cooling` or `open` (the circuit)."""
    if health.failures >= settings.breaker_failures:
        return "open"
    return "cooling" if now < health.free_at else "ok"


def moves_on(error: LLMError) -> bool:
    """Return whether another target may answer where *error* is final for this one."""
    lacks_operation = error.error_code == UNSUPPORTED_OPERATION
    return lacks_operation or is_of_the_key(error) or is_of_the_model(error)
