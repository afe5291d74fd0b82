"""Headers and messages of providers about waiting and about remaining limits."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.failures.limits import duration_s, rate_limit_from, retry_after
from llmcore.schema.json import JsonValue
from llmcore.schema.usage import RateLimitInfo

DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def at(hour: int, minute: int, second: int = 0, microsecond: int = 0) -> datetime:
    return datetime(2015, 10, 21, hour, minute, second, microsecond, tzinfo=UTC)


# -- Waiting ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "0"}, 0),
        ({"retry-after": "60"}, 60),
        ({"retry-after": "1800"}, 1800),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"Retry-After": "1m30s"}, 90),
        ({"RateLimit": '"api";r=0;t=55', "date": DATE}, 55),
        ({"RateLimit": '"api";r=0;t=55, "pages";r=0;t=70', "date": DATE}, 70),
        ({"RateLimit": '"api";r=3;t=55', "date": DATE}, None),
        ({"RateLimit": '"api";r=0;t=55'}, None),
        ({"RateLimit": "limit=100, remaining=0", "date": DATE}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "0", "retry-after": "7"}, 0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": "Wed, 21 Oct 2015 07:29:30 GMT", "date": DATE}, 90),
        ({"retry-after": DATE, "Date": DATE}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:29:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT", "date": DATE}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:29:30 GMT", "date": "yesterday"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "infinity"}, None),
        ({"retry-after": "1_000"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_wait_that_headers_ask_for(headers: dict[str, str], wait_s: float | None) -> None:
    """Milliseconds before seconds; a date counts from the response's own date."""
    assert wait_s == retry_after(headers)


@pytest.mark.parametrize(
    ("delay", "wait_s"),
    [
        ("7s", 7),
        ("0.5s", 0.5),
        ("0s", 0),
        ("38.123456789s", 38.123456789),
        ("-3s", None),
        (7, None),
    ],
)
def test_the_wait_that_google_asks_for(delay: JsonValue, wait_s: float | None) -> None:
    """`RetryInfo.retryDelay` is a protobuf duration, among other details."""
    details: JsonValue = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    error: JsonValue = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}

    assert wait_s == retry_after({}, {"error": error})
    assert wait_s == retry_after({}, [{"error": error}])
    assert wait_s == retry_after({}, error)


@pytest.mark.parametrize(
    ("message", "wait_s"),
    [
        ("Rate limit reached. Please try again in 6.2s.", 6.2),
        ("Please try again in 1m30s. Visit the docs.", 90),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 7m12.5s", 432.5),
        ("Please try again in 1h2m3s", 3723),
        ("Please retry in 38.6s.", 38.6),
        ("Please retry after 6 seconds.", 6),
        ("Rate limit exceeded. Retry after: 12 seconds", 12),
        ("Rate limit is exceeded. Try again in 1 seconds.", 1),
        ("try again in 2 minutes", 120),
        ("Try again in 1 hour, 5 minutes", 3900),
        ("Rate limit of 15 per 60s exceeded. Please wait 42 seconds before retrying.", 42),
        ("Please wait for at least 1m30s.", 90),
        ("Too many tokens, please wait before trying again.", None),
        ("Please try again later.", None),
        ("Try again in 5 ways", None),
        ("Please try again in a moment", None),
        ("", None),
    ],
)
def test_the_wait_that_a_message_asks_for(message: str, wait_s: float | None) -> None:
    """OpenAI, Groq and Azure say it in words."""
    assert (None if wait_s is None else pytest.approx(wait_s)) == retry_after({}, None, message)


@pytest.mark.parametrize(
    ("body", "wait_s"),
    [
        ({"error": {"message": "Slow down", "retry_after": 12}}, 12),
        ({"error": {"message": "Slow down"}, "retry_after": "12"}, 12),
        ({"error": {"metadata": {"retry_after_seconds": 12.5}}}, 12.5),
        ({"detail": "Slow down", "retry_after_ms": 1500}, 1.5),
        ({"error": {"type": "usage_limit_reached", "resets_in_seconds": 60}}, 60),
        ({"error": "Model x is currently loading", "estimated_time": 20.0}, 20),
        ({"error": {"retry_after": None}, "retry_after": True}, None),
        ({"error": {"retry_after": "soon", "retry_after_ms": []}}, None),
    ],
)
def test_the_wait_that_a_field_of_the_body_states(body: JsonValue, wait_s: float | None) -> None:
    assert wait_s == retry_after({}, body)


def test_headers_come_before_the_body_and_the_body_before_the_message() -> None:
    """The more exact source wins; an unreadable one does not hide the next."""
    body: JsonValue = {"error": {"details": [{"retryDelay": "7s"}]}}
    message = "try again in 9s"

    assert retry_after({"retry-after": "3"}, body, message) == 3
    assert retry_after({"retry-after": "soon"}, body, message) == 7
    assert retry_after({}, {"error": {"details": [{"retryDelay": "x"}]}}, message) == 9


def test_the_wait_is_on_the_error() -> None:
    """The classifier reads all three sources."""
    body: JsonValue = {"error": {"message": "Please try again in 6.2s", "code": 429}}

    assert error_from_body(provider="openai", body=body).retry_after == pytest.approx(6.2)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("20ms", 0.02),
        ("1h2m", 3720),
        ("2m59.56s", 179.56),
        ("1d", 86400),
        ("5 minutes", 300),
        ("", None),
        ("5", None),
        ("s", None),
        ("5 parsecs", None),
    ],
)
def test_durations_are_read_with_their_units(text: str, seconds: float | None) -> None:
    """A number without a unit is not a duration."""
    assert (None if seconds is None else pytest.approx(seconds)) == duration_s(text)


# -- Limits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "info"),
    [
        pytest.param(
            {
                "x-ratelimit-limit-requests": "5000",
                "x-ratelimit-limit-tokens": "160000",
                "x-ratelimit-remaining-requests": "4999",
                "x-ratelimit-remaining-tokens": "159976",
                "x-ratelimit-reset-requests": "12ms",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-limit-tokens_usage_based": "160000",
                "date": DATE,
            },
            RateLimitInfo(
                requests_limit=5000,
                requests_remaining=4999,
                requests_reset_at=at(7, 28, 0, 12000),
                tokens_limit=160000,
                tokens_remaining=159976,
                tokens_reset_at=at(7, 34),
            ),
            id="openai",
        ),
        pytest.param(
            {
                "x-ratelimit-limit-requests": "14400",
                "x-ratelimit-remaining-requests": "14370",
                "x-ratelimit-reset-requests": "2m59.5s",
                "x-ratelimit-limit-tokens": "18000",
                "x-ratelimit-remaining-tokens": "17997",
                "x-ratelimit-reset-tokens": "1h2m",
                "date": DATE,
            },
            RateLimitInfo(
                requests_limit=14400,
                requests_remaining=14370,
                requests_reset_at=at(7, 30, 59, 500000),
                tokens_limit=18000,
                tokens_remaining=17997,
                tokens_reset_at=at(8, 30),
            ),
            id="groq",
        ),
        pytest.param(
            {
                "x-ratelimit-limit-tokens": "-1",
                "x-ratelimit-remaining-tokens": "-1",
                "x-ratelimit-reset-tokens": "0",
                "x-ratelimit-remaining-requests": "99",
                "date": DATE,
            },
            RateLimitInfo(requests_remaining=99, tokens_reset_at=at(7, 28)),
            id="azure",
        ),
        pytest.param(
            {
                "x-ratelimit-limit-requests-day": "1000",
                "x-ratelimit-limit-tokens-minute": "60000",
                "x-ratelimit-remaining-requests-day": "998",
                "x-ratelimit-remaining-tokens-minute": "59000",
                "x-ratelimit-reset-requests-day": "3600.5",
                "x-ratelimit-reset-tokens-minute": "11.25",
                "date": DATE,
            },
            RateLimitInfo(
                requests_limit=1000,
                requests_remaining=998,
                requests_reset_at=at(8, 28, 0, 500000),
                tokens_limit=60000,
                tokens_remaining=59000,
                tokens_reset_at=at(7, 28, 11, 250000),
            ),
            id="cerebras",
        ),
        pytest.param(
            {
                "x-ratelimit-limit-tokens-minute": "5000000",
                "x-ratelimit-remaining-tokens-minute": "4999911",
                "x-ratelimit-tokens-query-cost": "52",
                "x-ratelimit-limit-req-minute": "720",
                "x-ratelimit-remaining-req-minute": "717",
            },
            RateLimitInfo(
                requests_limit=720,
                requests_remaining=717,
                tokens_limit=5000000,
                tokens_remaining=4999911,
            ),
            id="mistral",
        ),
        pytest.param(
            {
                "anthropic-ratelimit-requests-limit": "1000",
                "anthropic-ratelimit-requests-remaining": "999",
                "anthropic-ratelimit-requests-reset": "2015-10-21T07:28:01Z",
                "anthropic-ratelimit-tokens-limit": "96000",
                "anthropic-ratelimit-tokens-remaining": "95000",
                "anthropic-ratelimit-tokens-reset": "2015-10-21T09:29:00+02:00",
                "anthropic-ratelimit-input-tokens-limit": "80000",
                "anthropic-ratelimit-input-tokens-remaining": "1",
            },
            RateLimitInfo(
                requests_limit=1000,
                requests_remaining=999,
                requests_reset_at=at(7, 28, 1),
                tokens_limit=96000,
                tokens_remaining=95000,
                tokens_reset_at=at(7, 29),
            ),
            id="anthropic",
        ),
        pytest.param(
            {
                "anthropic-ratelimit-input-tokens-limit": "80000",
                "anthropic-ratelimit-input-tokens-remaining": "70000",
                "anthropic-ratelimit-input-tokens-reset": "2015-10-21T07:28:02Z",
                "anthropic-ratelimit-output-tokens-limit": "16000",
                "anthropic-ratelimit-output-tokens-remaining": "12",
                "anthropic-ratelimit-output-tokens-reset": "2015-10-21T07:28:03Z",
            },
            RateLimitInfo(tokens_limit=16000, tokens_remaining=12, tokens_reset_at=at(7, 28, 3)),
            id="anthropic, only the parts",
        ),
        pytest.param(
            {
                "X-RateLimit-Limit": "20",
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": "1445412480000",
            },
            RateLimitInfo(requests_limit=20, requests_remaining=0, requests_reset_at=at(7, 28)),
            id="openrouter, epoch milliseconds",
        ),
        pytest.param(
            {
                "x-ratelimit-limit": "60",
                "x-ratelimit-remaining": "59",
                "x-ratelimit-reset": "1445412480",
            },
            RateLimitInfo(requests_limit=60, requests_remaining=59, requests_reset_at=at(7, 28)),
            id="epoch seconds",
        ),
        pytest.param(
            {
                "ratelimit-limit": "300, 300;w=60",
                "ratelimit-remaining": "280",
                "ratelimit-reset": "53",
                "date": DATE,
            },
            RateLimitInfo(
                requests_limit=300, requests_remaining=280, requests_reset_at=at(7, 28, 53)
            ),
            id="the IETF draft",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "1", "x-ratelimit-remaining-requests": "2"},
            RateLimitInfo(requests_remaining=2),
            id="the header that names its subject wins",
        ),
        pytest.param(
            {
                "x-ratelimit-limit-requests-minute": "30",
                "x-ratelimit-remaining-requests-minute": "29",
                "x-ratelimit-limit-requests-day": "900",
                "x-ratelimit-remaining-requests-day": "3",
            },
            RateLimitInfo(requests_limit=900, requests_remaining=3),
            id="the window with the least left wins",
        ),
    ],
)
def test_each_family_of_headers_is_read(headers: dict[str, str], info: RateLimitInfo) -> None:
    """Every provider's headers say the same six things."""
    assert info == rate_limit_from(headers)


def test_a_duration_without_a_date_is_not_a_time() -> None:
    """No clock is read: what cannot be placed in time stays unsaid."""
    headers = {"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "1s"}

    assert RateLimitInfo(requests_remaining=5) == rate_limit_from(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "application/json"},
        {"x-ratelimit-reset-requests": "1s"},
        {"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-tokens": "-1"},
        {"x-ratelimit-limit-requests": "9" * 5000},
        {"x-ratelimit-reset": "999999999999999", "date": DATE},
        {"anthropic-ratelimit-requests-reset": "tomorrow"},
    ],
)
def test_nothing_readable_is_nothing(headers: dict[str, str]) -> None:
    """The result is None."""
    assert rate_limit_from(headers) is None


# -- Laws -------------------------------------------------------------------------------

RATE_LIMIT_NAMES = st.sampled_from(
    [
        "date",
        "retry-after",
        "retry-after-ms",
        "x-ratelimit-limit-requests",
        "x-ratelimit-reset-tokens",
        "X-RateLimit-Reset",
        "ratelimit-remaining",
        "anthropic-ratelimit-tokens-reset",
        "x-ratelimit-reset-requests-day",
    ]
)
RATE_LIMIT_VALUES = (
    st.text(max_size=20)
    | st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{1,3})?(ms|s|m|h|d)?", fullmatch=True)
    | st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.from_regex(
        r"[A-Z][a-z]{2}, [0-9]{1,2} (Jan|Oct) [0-9]{1,6} [0-9]{1,2}:[0-9]{2}:[0-9]{2} "
        r"(GMT|[+-][0-9]{4,6})",
        fullmatch=True,
    )
)


@given(st.dictionaries(RATE_LIMIT_NAMES, RATE_LIMIT_VALUES))
def test_any_headers_can_be_read(headers: dict[str, str]) -> None:
    """No header makes the reader raise; waits are never negative, times are in UTC."""
    info = rate_limit_from(headers)
    wait_s = retry_after(headers)

    assert wait_s is None or wait_s >= 0
    if info is not None:
        times = (info.requests_reset_at, info.tokens_reset_at)
        assert all(time is None or time.tzinfo is UTC for time in times)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_spelled_in_parts_is_their_sum(hours: int, minutes: int, seconds: int) -> None:
    """`1h2m3s` is an hour, two minutes and three seconds, in a header and in words."""
    total = hours * 3600 + minutes * 60 + seconds
    text = f"{hours}h{minutes}m{seconds}s"

    assert total == duration_s(text)
    assert total == retry_after({}, None, f"Please try again in {text}.")
