"""The HTTP client of the SDK, with limits, and with the status of the last failed response.

The SDK reports a failed HTTP exchange as an error without its status; the status is kept here, so
that a rejected key is an AuthenticationError.
"""

from collections.abc import AsyncIterator

import httpx2

from llmcore.mcp.servers import HttpServer

_EVENT_STREAM = "text/event-stream"
_SESSION_ID = "mcp-session-id"
_NOT_FOUND = 404
_PLAIN = "identity"
_TOO_LARGE = "the body is larger than the limit"


class LimitedTransport(httpx2.AsyncBaseTransport):
    """Limits the bodies of responses, except streams of events, whose events the SDK limits."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, max_bytes: int, url: str) -> None:
        self._own = _address(httpx2.URL(url))
        self.status: int | None = None
        """The status of the last failed response; None after one that did not fail."""
        self.login_url = ""
        """The address of the last response, if it was one of a login and not the server's own."""
        self.error: Exception | None = None
        """The exception of the last exchange that got no response."""
        self.session_lost = False
        """Whether the server has forgotten the session: it answered it with a 404."""
        self._inner = inner
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send *request*, and return its response with a limited body."""
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            self.error = error
            raise
        address = _address(request.url)
        if request.method == "POST" or address != self._own:  # others are streams, and goodbyes
            self.error = None
            self.status = response.status_code if response.status_code >= 400 else None
            self.login_url = "" if address == self._own else address
        in_session = request.method == "POST" and _SESSION_ID in request.headers
        if self.status == _NOT_FOUND and in_session:
            self.session_lost = True
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101  (of an async transport)
        has_events = response.headers.get("content-type", "").startswith(_EVENT_STREAM)
        if not (has_events and _is_plain(response)):
            response.stream = _LimitedStream(response, stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _address(url: httpx2.URL) -> str:
    return str(url.copy_with(query=None)).rstrip("/")


class _LimitedStream(httpx2.AsyncByteStream):
    """A body that is refused where it is compressed, or is larger than *max_bytes*.

    A small compressed one can stand for more than memory holds.
    """

    def __init__(
        self, response: httpx2.Response, inner: httpx2.AsyncByteStream, max_bytes: int
    ) -> None:
        stated = response.headers.get("content-length", "")
        self._fault = ""
        if not _is_plain(response):
            self._fault = "the body is compressed, and only plain ones are accepted"
        elif stated.isdecimal() and int(stated) > max_bytes:
            self._fault = _TOO_LARGE
        self._inner = inner
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._fault:
            raise _RefusedBodyError(self._fault)
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise _RefusedBodyError(_TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_plain(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-encoding", _PLAIN) == _PLAIN)


class _RefusedBodyError(httpx2.StreamError):
    """A body was not read to its end. As a StreamError it fails one call, not the connection."""


def limited_client(
    server: HttpServer, auth: httpx2.Auth | None
) -> tuple[httpx2.AsyncClient, LimitedTransport]:
    """Return the HTTP client for *server*, and its transport."""
    transport = LimitedTransport(httpx2.AsyncHTTPTransport(), server.max_body_bytes, server.url)
    client = httpx2.AsyncClient(
        headers={"accept-encoding": _PLAIN, **server.headers},
        auth=auth,
        timeout=httpx2.Timeout(server.connect_seconds, read=None),  # calls have limits of their own
        transport=transport,
    )
    return client, transport
