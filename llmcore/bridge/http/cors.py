"""Cross-origin requests: web pages of configured origins may use the gateway.

A browser asks first, by a request with the method OPTIONS (a preflight), whether a page of another
origin may send a request of JSON or with a key. It shows the response to the page only if the
response names the origin. Keys are sent in headers that pages set themselves, never by cookies, so
`access-control-allow-credentials` is not sent.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol, read November 2026.
"""

from collections.abc import Awaitable, Collection
from typing import Final

from llmcore.bridge.http.asgi import Headers, Message, Scope, Send, headers_of
from llmcore.bridge.http.responses import BytesResponse

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
    """Return what allows a page of *origin* its request; None for another request than that."""
    headers = headers_of(scope)
    if scope["method"] != "OPTIONS" or _ASKED_METHOD not in headers:
        return None
    allowing = [
        *_headers(origin),
        (b"access-control-allow-methods", _METHODS),
        # All that it wants: `*` would not allow `authorization`.
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
