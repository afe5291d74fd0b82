"""The interface of ASGI applications and servers.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html, read November 2026.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, Self, TypeAlias
from urllib.parse import parse_qsl

Scope: TypeAlias = MutableMapping[str, Any]
"""Type, method, path and headers of a request, and whatever is added on its way."""
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

BODY_IS_THERE: Final = "openbridge.body_is_there"
"""Set in the scope of a request whose whole body was received, so that reading it never waits."""

_HEADERS: Final = "openbridge.headers"
_QUERY: Final = "openbridge.query"


def join_slashes(scope: Scope) -> None:
    """Write a path such as `//v1//models/`, as clients join base URLs and paths, as `/v1/models`.

    All that depends on the path, such as who is admitted, must see the path that is served.
    """
    path: str = scope["path"]
    if path.endswith("/") or "//" in path:
        scope["path"] = "/" + "/".join(filter(None, path.split("/")))


def headers_of(scope: Scope) -> Mapping[str, str]:
    """Return the headers of a request by name in lower case; repeated ones are joined by commas."""
    if (known := scope.get(_HEADERS)) is None:
        given = scope["headers"]
        known = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
        if len(known) < len(given):
            for key in known:
                same = (value for name, value in given if name == key.encode("latin-1"))
                known[key] = b",".join(same).decode("latin-1")
        scope[_HEADERS] = known
    return known


def query_of(scope: Scope) -> Mapping[str, str]:
    """Return the parameters of a request's URL; of repeated ones the last."""
    if (known := scope.get(_QUERY)) is None:
        text = scope["query_string"].decode("latin-1")
        known = scope[_QUERY] = dict(parse_qsl(text, keep_blank_values=True)) if text else {}
    return known


class ClientDisconnectError(Exception):
    """The client disconnected before its request was complete."""


class BodyChunks:
    """Iterates over a request's body as it arrives; ClientDisconnectError if it does not."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._has_more = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while self._has_more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnectError
            self._has_more = message.get("more_body", False)
            chunk: bytes = message.get("body", b"")
            if chunk:
                return chunk
        raise StopAsyncIteration
