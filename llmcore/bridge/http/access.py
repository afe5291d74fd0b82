"""Who may ask, and how often."""

import hashlib
import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from attrs import define, frozen

from llmcore.bridge.config import is_loopback

MAX_CALLERS = 10_000
"""Callers whose rate is remembered; beyond it the one not seen for longest is forgotten."""

ANYBODY = "anybody"

_HOST = re.compile(r"(?P<name>[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
"""A name or an address, and a port: RFC 9110, 7.2, without the letters that names do not have."""


@frozen(kw_only=True)
class Caller:
    """Who asks."""

    owner: str
    """Whose the responses are: a digest of the key, never the key."""
    counted_as: str
    """Under which name requests are counted."""


class Keys:
    """The keys that clients must show one of; without any, everybody may ask."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = tuple((key.encode(), _digest(key)) for key in keys)

    @property
    def required(self) -> bool:
        """Whether there are any."""
        return bool(self._keys)

    def caller(self, headers: Mapping[str, str], address: str) -> Caller | None:
        """Return who asks; None if the key is missing or wrong.

        `authorization: Bearer`, `x-api-key` and `api-key` are looked at. Every comparison
        takes the same time for every key that is shown.
        """
        if not self._keys:
            return Caller(owner=ANYBODY, counted_as=address)
        found: str | None = None
        for shown in _shown(headers):
            for key, digest in self._keys:
                if hmac.compare_digest(shown, key):
                    found = digest
        return None if found is None else Caller(owner=found, counted_as=found)


def _shown(headers: Mapping[str, str]) -> list[bytes]:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    given = (bearer, headers.get("x-api-key", ""), headers.get("api-key", ""))
    return [text.encode("latin-1", "replace") for text in given if text]  # the bytes that came


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def names_this_machine(host: str, allowed: tuple[str, ...]) -> bool:
    """Return whether the `host` header names this machine itself, or one of *allowed*.

    Without a client key it must: a web page whose own name was made to lead here would
    otherwise speak for its visitor.
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found["name"].lower()
    return is_loopback(name) or name in map(str.lower, allowed)


@define
class _Bucket:
    tokens: float
    seen: float


class Rates:
    """Counts requests by caller: a bucket of a minute's requests that fills steadily."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, caller: str) -> float:
        """Count a request of *caller*; return 0, or the seconds after which to come back."""
        if not self._size:
            return 0.0
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(self._size, now))
        self._buckets.move_to_end(caller)
        while len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        per_second = self._size / 60.0
        bucket.tokens = min(self._size, bucket.tokens + (now - bucket.seen) * per_second)
        bucket.seen = now
        if bucket.tokens < 1.0:
            return (1.0 - bucket.tokens) / per_second
        bucket.tokens -= 1.0
        return 0.0
