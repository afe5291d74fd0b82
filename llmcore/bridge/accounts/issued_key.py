"""A key that the gateway issues to a client, with its limits.

    ob_5f0c2a91d4_kq3v...        as the client sends it: `ob_`, the id of the key, 256 random bits

The store keeps the SHA-256 of the whole text. A slow hash, as passwords need, would protect a
secret that can be guessed; 256 random bits cannot be, and each request would pay for it.
"""

import hashlib
import hmac
import re
import secrets
from calendar import monthrange
from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from attrs import asdict, evolve, field, fields_dict

from llmcore.bridge.configuration.settings import BudgetPeriod
from llmcore.fronts.errors import FrontError
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

_ID_BYTES: Final = 5
_SECRET_BYTES: Final = 32
_TEXT: Final = re.compile(r"ob_(?P<id>[0-9a-f]{10})_[A-Za-z0-9_-]{43}")
_PERIOD_S: Final = {"day": 86400.0, "week": 7 * 86400.0, "month": 31 * 86400.0}
_FOREVER_S: Final = 10 * 366 * 86400.0


@frozen(kw_only=True)
class KeyLimits:
    """The models that a key may use, how much, and for how long. None is unlimited."""

    name: str = ""
    """A label for people: the owner or the purpose."""
    owner: str = ""
    """The person or team that spend is attributed to."""
    models: tuple[str, ...] = ()
    """Names of models as clients write them; one may end with `*`. Empty allows all."""
    expires_at: float | None = None
    """In seconds since 1970."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    """Tokens of input and output together, each minute."""
    budget_usd: float | None = None
    """US dollars of each period."""
    budget_tokens: int | None = None
    """Tokens of each period, of input and output together."""
    period: BudgetPeriod = "month"

    def __attrs_post_init__(self) -> None:
        """Raise InvalidRequestError for a limit that cannot be kept."""
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            if value is not None and not 0 < value <= most:
                raise InvalidRequestError(f"{name} must be above 0 and at most {most:,.0f}")
        for name in ("name", "owner"):
            if len(getattr(self, name)) > _MAX_CHARS:
                raise InvalidRequestError(f"{name} is longer than {_MAX_CHARS} characters")
        if self.period not in (*_PERIOD_S, "total"):
            raise InvalidRequestError("period must be one of day, week, month, total")

    def allows(self, model: str) -> bool:
        """Return whether the key may use *model*, by the name that the client writes."""
        return not self.models or any(_names(pattern, model) for pattern in self.models)

    def shown(self) -> JsonObject:
        """Return the limits as JSON."""
        return {**asdict(self), "models": list(self.models)}


_MAX_CHARS: Final = 200
_LARGEST: Final = {
    "expires_at": 1e11,
    "requests_per_minute": 1e9,
    "tokens_per_minute": 1e12,
    "budget_usd": 1e6,
    "budget_tokens": 1e15,
}
"""The largest values, so that no sum exceeds the exact integers of any store."""


def _names(pattern: str, model: str) -> bool:
    if pattern.endswith("*"):
        return model.startswith(pattern[:-1])
    return model == pattern


LIMITS: Final = tuple(fields_dict(KeyLimits))
"""The names of the limits."""


@frozen(kw_only=True)
class IssuedKey:
    """An issued key as it is stored."""

    id: str
    limits: KeyLimits
    created_at: float
    digest: str = field(repr=False)
    """SHA-256 of the key's text, in hexadecimal digits."""
    revoked_at: float | None = None
    old_digest: str | None = field(default=None, repr=False)
    """The digest of the text before the last rotation."""
    old_until: float = 0.0
    """When the text before the last rotation expires."""

    def matches(self, text: str, now: float) -> bool:
        """Return whether *text* is that of the key; takes the same time for every wrong text."""
        digest = digest_of(text)
        is_new = hmac.compare_digest(digest, self.digest)
        is_old = hmac.compare_digest(digest, self.old_digest or "-" * len(digest))
        return is_new or (is_old and now < self.old_until)

    def check(self, now: float) -> None:
        """Raise FrontError, 401, for a key that is no longer valid."""
        if self.revoked_at is not None:
            raise FrontError(status=401, message="this key was revoked", code="key_revoked")
        if self.limits.expires_at is not None and now >= self.limits.expires_at:
            raise FrontError(status=401, message="this key has expired", code="key_expired")

    def shown(self) -> JsonObject:
        """Return the key for people who manage keys, without its digests."""
        return {
            "object": "key",
            "id": self.id,
            **self.limits.shown(),
            "created_at": self.created_at,
            "revoked_at": self.revoked_at,
        }


def new_key(limits: KeyLimits, now: float) -> tuple[IssuedKey, str]:
    """Return a new key, and its text, which cannot be found out later."""
    id_ = secrets.token_hex(_ID_BYTES)
    text = _new_text(id_)
    return IssuedKey(id=id_, limits=limits, created_at=now, digest=digest_of(text)), text


def rotated(key: IssuedKey, now: float, overlap_s: float) -> tuple[IssuedKey, str]:
    """Return *key* with a new text; the one before is valid for *overlap_s* seconds more."""
    text = _new_text(key.id)
    until = now + overlap_s
    return evolve(key, digest=digest_of(text), old_digest=key.digest, old_until=until), text


def _new_text(id_: str) -> str:
    return f"ob_{id_}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def key_id(text: str) -> str | None:
    """Return the id in the text of a key; None for a text that no issued key has."""
    match = _TEXT.fullmatch(text)
    return None if match is None else match["id"]


def digest_of(text: str) -> str:
    """Return the SHA-256 of a key's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def limits_from(given: JsonObject) -> KeyLimits:
    """Return the limits that a JSON object gives.

    Raises InvalidRequestError, naming limits that do not exist, and texts that terminals and logs
    could not show.
    """
    try:
        # null means that a limit is not set, and unknown names are refused with it too
        stated = {k: v for k, v in given.items() if v is not None or k not in LIMITS}
        limits = from_json(KeyLimits, stated)
    except InvalidRequestError as error:
        from llmcore.schema.converter import faults_of  # `from_json` has loaded it

        faults = faults_of(error.cause or error).removesuffix(" @ $")  # of the whole object
        raise InvalidRequestError(f"{_INVALID}: {faults}", cause=error) from error
    for name in ("name", "owner", "models"):
        value = getattr(limits, name)
        if not all(map(str.isprintable, value)):
            raise InvalidRequestError(f"{_INVALID}: {name} has characters that are not printable")
    return limits


_INVALID: Final = "invalid limits of a key"


def packed_key(key: IssuedKey) -> bytes:
    """Return *key* as it is stored."""
    return json.dumps(to_json(key))


def unpacked_key(data: bytes) -> IssuedKey:
    """Return the key in *data*. Raises InvalidRequestError for data of a newer version."""
    return from_json(IssuedKey, json.loads(data))


# -- periods


def period_name(period: BudgetPeriod, at: float, zone: tzinfo) -> str:
    """Return the name of the period that *at* is in: `2026-11-22`, `2026-W47`, `2026-11`."""
    day = datetime.fromtimestamp(at, zone)
    match period:
        case "day":
            return day.strftime("%Y-%m-%d")
        case "week":
            return day.strftime("%G-W%V")
        case "month":
            return day.strftime("%Y-%m")
        case "total":
            return "total"


def period_end(period: BudgetPeriod, at: float, zone: tzinfo) -> float | None:
    """Return when the period that *at* is in ends, in seconds since 1970; None if never."""
    day = datetime.fromtimestamp(at, zone).date()
    match period:
        case "day":
            days = 1
        case "week":
            days = 7 - day.weekday()
        case "month":
            days = monthrange(day.year, day.month)[1] + 1 - day.day
        case "total":
            return None
    return datetime.combine(day + timedelta(days=days), time.min, zone).timestamp()


def kept_s(period: BudgetPeriod) -> float:
    """Return how long the level of a period is kept after its last change."""
    return 2 * _PERIOD_S[period] if period in _PERIOD_S else _FOREVER_S
