"""What the provider says is left of our limits."""

from datetime import datetime

from attrs import frozen


@frozen(kw_only=True)
class RateLimitInfo:
    """Limits and what is left of them, as response headers said; None where they did not.

    The reset times are aware datetimes, in UTC.
    """

    requests_limit: int | None = None
    requests_remaining: int | None = None
    requests_reset_at: datetime | None = None
    tokens_limit: int | None = None
    tokens_remaining: int | None = None
    tokens_reset_at: datetime | None = None
