"""A token bucket: a level that refills with time and can be borrowed from."""

import math

from attrs import define


@define
class TokenBucket:
    """Allows *capacity* at once and *rate* per second after that.

    Times are seconds of one monotonic clock. An amount beyond the level leaves it below zero: later
    callers wait until it is refilled, so that none overtakes another.
    """

    capacity: float
    rate: float
    """The amount that is refilled each second."""
    level: float
    at: float
    """The time at which `level` was current."""
    until: float = math.inf
    """The time from which the bucket no longer limits anything."""

    def wait_s(self, amount: float, now: float) -> float:
        """Return how long to wait before *amount* may be used; more than all counts as all."""
        missing = min(amount, self.capacity) - self._level_at(now)
        if missing <= 0 or now >= self.until:
            return 0.0
        refilled = missing / self.rate if self.rate > 0 else math.inf
        return min(refilled, self.until - now)

    def take(self, amount: float, now: float) -> None:
        """Use *amount*, available or not; a negative amount is returned to the bucket."""
        self.level = min(self._level_at(now) - min(amount, self.capacity), self.capacity)
        self.at = max(now, self.at)

    def _level_at(self, now: float) -> float:
        return min(self.capacity, self.level + self.rate * max(0.0, now - self.at))


def per_minute(count: float, now: float) -> TokenBucket:
    """Return a full bucket of *count* that refills within a minute."""
    return TokenBucket(capacity=count, rate=count / 60, level=count, at=now)


def bucket_by_headers(
    limit: int | None,
    remaining: int | None,
    reset_s: float | None,
    waiting: float,
    now: float,
    end: float = math.inf,
) -> TokenBucket | None:
    """Return a bucket by a server's headers: *remaining* of *limit*, full after *reset_s*.

    *waiting* is the amount reserved by requests that are not sent yet. From *end* on the bucket
    limits nothing, even if the reset is later. None if values are missing or the reset has passed.
    """
    if remaining is None or reset_s is None or reset_s <= 0:
        return None
    rate = 0.0 if limit is None else max(0, limit - remaining) / reset_s
    return TokenBucket(
        capacity=math.inf if limit is None else limit,
        rate=rate,
        level=remaining - waiting,
        at=now,
        until=min(now + reset_s, end),
    )
