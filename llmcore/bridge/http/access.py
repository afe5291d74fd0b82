"""Admits callers: keys, origins, hosts and rates; and web pages of configured origins.

A browser asks first, by a request with the method OPTIONS (a preflight), whether a page of another
origin may send a request of JSON or with a key. It shows the response to the page only if the
response names the origin. Keys are sent in headers that pages set themselves, never by cookies, so
`access-control-allow-credentials` is not sent. Source: https://fetch.spec.whatwg.org/#http-cors-protocol,
read November 2026.
"""

import hashlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Final

from llmcore.bridge.accounts.issued_keys import KeyLookup, accounts_unavailable
from llmcore.bridge.api import Caller
from llmcore.bridge.apis.registry import Apis
from llmcore.bridge.configuration.settings import GatewaySettings, is_loopback
from llmcore.bridge.http.asgi import (
    ASGIApp,
    Headers,
    Message,
    Receive,
    Scope,
    Send,
    headers_of,
    query_of,
)
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.observability import log_fields, name_operation
from llmcore.bridge.http.responses import BytesResponse, error_response
from llmcore.bridge.pools.keys import RotatingKey
from llmcore.bridge.response_run import ErrorForm
from llmcore.bridge.service import Service
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.client.middleware.token_bucket import TokenBucket, per_minute
from llmcore.fronts.errors import FrontError, forbidden, rate_limited

MAX_CALLERS = 10_000
"""How many callers' rates are kept; of more, that of the caller seen longest ago is removed."""

ANYBODY = "anybody"
"""The owner of all responses of a gateway without keys."""
ADMIN = "admin"
"""The owner of what the admin key makes."""
METRICS_PATH: Final = "/metrics"
_ADMIN_PATHS = "/admin/"
_UI_PATHS = "/ui/"
_OPEN_PATHS = frozenset({"/", "/api/hello", "/healthz", "/ui"})
_CALLER = "openbridge.caller"
_ADMIT = "openbridge.admit"

_HOST = re.compile(r"(?P<name>[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
"""A name or an address, and a port: RFC 9110, 7.2, without the letters that names do not have."""


class Keys:
    """The keys of which clients must send one; without any, all callers are admitted.

    They are configured, or issued by the gateway and found by *issued*.
    """

    def __init__(
        self,
        keys: tuple[str, ...],
        issued: KeyLookup | None = None,
        clients: Mapping[str, RotatingKey] | None = None,
    ) -> None:
        self._keys = tuple((key.encode(), _caller(_digest(key))) for key in keys)
        self._issued = issued
        self._clients = tuple(
            (key, _caller(_digest(f"client {name}"), name)) for name, key in (clients or {}).items()
        )
        self.required = bool(self._keys or self._clients) or issued is not None
        """Whether clients must send one."""

    def _current(self) -> Iterator[tuple[bytes, Caller]]:
        """Yield each key and its caller; clients stay the same callers when their keys change."""
        yield from self._keys
        for key, caller in self._clients:
            key.refresh()
            if key.current is not None:
                yield key.current.encode(), caller

    def caller(
        self, headers: Mapping[str, str], address: str, query: Mapping[str, str] | None = None
    ) -> Caller | None:
        """Return the caller; None if no configured key is sent, wherever clients of any API put it.

        Every comparison takes the same time for every key that is shown.
        """
        if not self.required:
            return Caller(owner=ANYBODY, counted_as=address)
        found: Caller | None = None
        known = tuple(self._current())
        for text in _shown(headers, query or {}):
            data = text.encode("latin-1", "replace")  # the bytes that came
            for key, caller in known:
                if hmac.compare_digest(data, key):
                    found = caller
        return found

    async def issued_caller(
        self, headers: Mapping[str, str], query: Mapping[str, str]
    ) -> Caller | None:
        """Return the caller with an issued key; None if none is sent.

        Raises FrontError: 401 for a key that is no longer valid, 503 if keys cannot be looked up.
        """
        if self._issued is None:
            return None
        try:
            key = await self._issued.find(_shown(headers, query))
        except StateUnavailableError as error:
            log(logging.ERROR, "state_unavailable", error=str(error))
            raise accounts_unavailable() from error
        return None if key is None else Caller(owner=f"key:{key.id}", counted_as=key.id, key=key)


def _caller(digest: str, name: str = "") -> Caller:
    return Caller(owner=digest, counted_as=digest, name=name)


def _admin(headers: Mapping[str, str], settings: GatewaySettings) -> Caller:
    """Return the admin. Raises FrontError: 404 without an admin key, 401 for another key."""
    admin_key = settings.accounts.admin_key
    if admin_key is None:
        message = f"keys are not managed over HTTP here: set {settings.place_of('ADMIN_KEY')}"
        raise FrontError(status=404, message=message, code="unknown_url")
    sent = [text.encode("latin-1", "replace") for text in _shown(headers, {})]
    if not any(hmac.compare_digest(text, admin_key.encode()) for text in sent):
        raise _no_admin_key()
    return Caller(owner=ADMIN, counted_as=ADMIN, is_admin=True)


def check_admin(caller: Caller) -> None:
    """Raise FrontError, 401, for a caller that did not send the admin key."""
    if not caller.is_admin:
        raise _no_admin_key()


def _check_reader(caller: Caller) -> None:
    """Raise FrontError, 403, for a caller that must not see what other keys spend."""
    if caller.key is not None:
        message = "metrics show what all keys spend: read them with the admin key"
        raise forbidden(message, "admin_only")


def _no_admin_key() -> FrontError:
    message = "the admin key is missing or wrong: send it as Authorization: Bearer"
    return FrontError(status=401, message=message, code="invalid_api_key")


_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")


def _shown(headers: Mapping[str, str], query: Mapping[str, str]) -> list[str]:
    """Return `authorization: Bearer`, the headers of three vendors, and Google's `?key=`."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    given = (bearer, *(headers.get(name, "") for name in _KEY_HEADERS), query.get("key", ""))
    return [text for text in given if text]


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:24]


@lru_cache(maxsize=16)
def is_allowed_host(host: str, allowed: tuple[str, ...]) -> bool:
    """Return whether the `host` header names this machine itself, or one of *allowed*.

    Without a client key it must: a web page could otherwise send requests by a name of its own
    that leads to this machine (DNS rebinding).
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match["name"].lower()
    return is_loopback(name) or name in map(str.lower, allowed)


class CallerRates:
    """Counts requests by caller: a bucket of a minute's requests that fills steadily."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def wait_s(self, caller: str) -> float:
        """Count a request of *caller*; return 0, or the seconds to wait before another request."""
        if not self.per_minute:
            return 0.0
        now = self._clock()
        if caller not in self._buckets:
            self._buckets[caller] = per_minute(self.per_minute, now)
        self._buckets.move_to_end(caller)
        while len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        bucket = self._buckets[caller]
        wait_s = bucket.wait_s(1, now)
        if not wait_s:
            bucket.take(1, now)
        return wait_s


def error_form(served: Apis, scope: Scope) -> ErrorForm:
    """Return the form of errors of the API that a request speaks."""
    return served.error_form(scope["path"], query_of(scope), headers_of(scope))


def caller_of(scope: Scope) -> Caller:
    """Return the caller of an admitted request."""
    caller: Caller = scope[_CALLER]
    return caller


def admission_of(scope: Scope) -> Callable[[], Awaitable[Caller]]:
    """Return a function that admits another request of a WebSocket, and returns its caller.

    It raises FrontError, as where the key has been revoked since.
    """
    admit: Callable[[Scope], Awaitable[Caller]] = scope[_ADMIT]
    return partial(admit, scope)


class AccessMiddleware:
    """Refuses requests without a key, for other hosts, above the rate, or of unsafe framing."""

    def __init__(self, app: ASGIApp, service: Service, served: Apis) -> None:
        self._app = app
        self._served = served
        self._service = service
        self._rates = CallerRates(service.settings.limits.rate_per_minute)
        self._configure()

    def _configure(self) -> None:
        """Use the service's settings of this moment, which a reload replaces."""
        service, settings = self._service, self._service.settings
        self._settings = settings
        lookup = service.accounts.lookup if settings.accounts.issued_keys else None
        self._keys = Keys(settings.client_api_keys, lookup, service.client_keys)
        if settings.limits.rate_per_minute != self._rates.per_minute:
            self._rates = CallerRates(settings.limits.rate_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for a request that is admitted."""
        origins = self._service.settings.allowed_origins
        if origins and (origin := page_origin(scope, origins)) is not None:
            if (response := preflight_response(scope, origin)) is not None:
                name_operation(scope, "preflight")
                await response.send(send)
                return
            send = shown_to(origin, send)
        try:
            _check_framing(scope)
            scope[_CALLER] = await self._caller(scope)
            scope[_ADMIT] = self._caller
        except FrontError as error:
            log_fields(scope)["error"] = str(error)
            refusal = error_response(error, error_form(self._served, scope))
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        """Return the caller of a request, and count it; FrontError if it is not admitted."""
        if self._settings is not self._service.settings:
            self._configure()
        if scope["path"] in _OPEN_PATHS and "deep" not in query_of(scope):
            return Caller(owner=ANYBODY, counted_as=ANYBODY)
        settings, headers = self._settings, headers_of(scope)
        _check_size(scope, settings.limits.max_header_bytes)
        is_metrics = scope["path"] == METRICS_PATH
        has_admin = settings.accounts.admin_key is not None
        if scope["path"].startswith(_ADMIN_PATHS) or (is_metrics and has_admin):
            return _admin(headers, settings)
        if not self._keys.required:
            _check_host(headers, settings.allowed_hosts)
            if scope["type"] == "websocket":
                _check_origin(headers.get("origin"), settings)
        caller = self._keys.caller(headers, _address(scope), query_of(scope))
        if caller is None:
            caller = await self._issued_caller(scope, headers)
        if self._keys.required:
            log_fields(scope)["key"] = caller.label
        if is_metrics:
            _check_reader(caller)
        if self._served.is_free(scope["path"]) or scope["path"].startswith(_UI_PATHS):
            return caller  # the page polls
        if not (_has_own_rate(caller) and _may_be_charged(scope)):
            self._check_rate(caller)
        return caller

    async def _issued_caller(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        """Return the caller whose issued key the request has; FrontError, 401, if it has none."""
        caller = await self._keys.issued_caller(headers, query_of(scope))
        if caller is None:
            message = (
                "the key is missing or wrong: send it as Authorization: Bearer, x-api-key or "
                "x-goog-api-key"
            )
            raise FrontError(status=401, message=message, code="invalid_api_key")
        return caller

    def _check_rate(self, caller: Caller) -> None:
        """Count a request of *caller*; FrontError, 429, above the gateway's rate."""
        if wait_s := self._rates.wait_s(caller.counted_as):
            raise rate_limited("too many requests", wait_s)


def _address(scope: Scope) -> str:
    """Return the address of the client, as far as the server knows it."""
    client: tuple[str, int] | None = scope.get("client")
    return client[0] if client else "unknown"


def _check_size(scope: Scope, most: int) -> None:
    """Raise FrontError, 431, for headers of more than *most* bytes."""
    if sum(map(len, chain.from_iterable(scope["headers"]))) > most:
        message = f"the headers are larger than {most} bytes"
        raise FrontError(status=431, message=message, code="headers_too_large")


def _check_host(headers: Mapping[str, str], allowed: tuple[str, ...]) -> None:
    """Raise FrontError, 403, for a request to another host."""
    if not is_allowed_host(headers.get("host", ""), allowed):
        message = "this gateway has no client key, so it answers to names of this machine only"
        raise FrontError(status=403, message=message, code="host_not_allowed")


def _check_origin(origin: str | None, settings: GatewaySettings) -> None:
    """Refuse a WebSocket that a web page of another site opens.

    Browsers let every page open one to any server, and name the page's origin (RFC 6455, 10.2).
    """
    if origin is None or origin in settings.allowed_origins:  # None: no browser
        return
    if not is_allowed_host(origin.partition("://")[2], settings.allowed_hosts):
        message = "this gateway has no client key, so pages of other sites cannot use it"
        raise FrontError(status=403, message=message, code="origin_not_allowed")


def _has_own_rate(caller: Caller) -> bool:
    """Return whether the caller's key has a rate, which its responses are counted against."""
    return caller.key is not None and caller.key.limits.requests_per_minute is not None


def _may_be_charged(scope: Scope) -> bool:
    """Return whether a request may be for a response; those that only read or delete are not."""
    return scope["type"] == "websocket" or bool(scope["method"] == "POST")


def _check_framing(scope: Scope) -> None:
    """Refuse a request whose end servers may see in different places (RFC 9112, 6.1)."""
    headers = headers_of(scope)
    if "content-length" in headers and "transfer-encoding" in headers:
        message = "content-length and transfer-encoding exclude each other: send one of them"
    elif headers.get("transfer-encoding", "chunked").strip().lower() != "chunked":
        message = "the only transfer-encoding that is read is chunked"
    else:
        return
    closing = (("connection", "close"),)
    raise FrontError(status=400, message=message, code="invalid_framing", headers=closing)


# -- browsers


ANY_ORIGIN: Final = "*"
_METHODS: Final = b"GET, POST, DELETE"
_KEPT_S: Final = b"7200"
"""How long a browser keeps the answer to a preflight; Chrome keeps none for longer."""
_ASKED_METHOD: Final = "access-control-request-method"
_ASKED_HEADERS: Final = "access-control-request-headers"


def page_origin(scope: Scope, allowed: Collection[str]) -> str | None:
    """Return the origin of the page that sends a request; None unless it is *allowed*."""
    origin = headers_of(scope).get("origin")
    if origin is None or scope["type"] != "http":
        return None
    return origin if origin in allowed or ANY_ORIGIN in allowed else None


def preflight_response(scope: Scope, origin: str) -> BytesResponse | None:
    """Return the response to a preflight request of *origin*; None for any other request."""
    headers = headers_of(scope)
    if scope["method"] != "OPTIONS" or _ASKED_METHOD not in headers:
        return None
    allowing = [
        *_headers(origin),
        (b"access-control-allow-methods", _METHODS),
        # The headers that it names: `*` would not allow `authorization`.
        (b"access-control-allow-headers", headers.get(_ASKED_HEADERS, "").encode("latin-1")),
        (b"access-control-max-age", _KEPT_S),
    ]
    return BytesResponse(200, b"", allowing)


def shown_to(origin: str, send: Send) -> Send:
    """Return *send* for a response that a page of *origin* may read, with all its headers."""

    def named(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            exposed = (b"access-control-expose-headers", b"*")
            message["headers"] = [*message.get("headers", ()), *_headers(origin), exposed]
        return send(message)

    return named


def _headers(origin: str) -> Headers:
    return [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"origin")]
