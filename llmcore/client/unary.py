"""Unary calls: one request, and one document that answers it.

Counting tokens, embedding, reranking, making images and speech, listing models and keeping files
are sent by `UnaryCalls`. They use the same connections, credentials and time limits as
generations, but not the middleware.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import anyio
from attrs import evolve

from llmcore.client.address_hints import hint_for_address
from llmcore.client.byte_stream import ByteStream
from llmcore.client.credentials import Credentials
from llmcore.client.error_responses import REDIRECTED, close_response, redact_error, response_error
from llmcore.client.transport import Exchange
from llmcore.client.transport_selection import Transports
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.protocol import (
    BodyKind,
    Item,
    NativeResponse,
    Page,
    PageRequest,
    Request,
    Response_co,
)
from llmcore.routes.auth import AuthContext
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Http, Timeouts, WebSocket
from llmcore.routes.unary import PreparedCall, UnaryRoute
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.schema.result import Failure, Result, Success

_T = TypeVar("_T")

_UNAUTHORIZED: Final = 401
_ENVELOPE: Final = frozenset({"error", "type", "request_id", "status", "code"})
"""The fields of a document that is an error and nothing else; some servers send it with a 200."""
_MOST_PAGES: Final = 100


SendableRoute: TypeAlias = Route[Any] | UnaryRoute[Any, Any]


@frozen
class UnaryCalls:
    """Sends unary requests over a client's connections, as its credentials. Raises LLMError."""

    credentials: Credentials
    transports: Transports
    environ: Mapping[str, str]
    timeouts: Timeouts

    async def call(
        self,
        route: UnaryRoute[Request, Response_co],
        request: Request,
        timeouts: Timeouts | None = None,
    ) -> Response_co:
        """Return the response to *request* over *route*."""
        diagnostics: list[Diagnostic] = []
        prepare = partial(_prepared, route, request, diagnostics)
        try:
            response = await self.exchange(route, prepare, timeouts, route.protocol.response_kind)
            return route.protocol.read(evolve(response, diagnostics=tuple(diagnostics)), request)
        except LLMError as error:
            error.provider = error.provider or route.provider
            raise

    async def all_pages(
        self, route: UnaryRoute[PageRequest, Page[Item]], timeouts: Timeouts | None = None
    ) -> tuple[Item, ...]:
        """Return the items of a list, page after page, of at most 100 pages."""
        items: list[Item] = []
        after: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self.call(route, PageRequest(after=after), timeouts)
            items += page.items
            after = page.after
            if after is None:
                break
        return tuple(items)

    async def opened(
        self,
        route: UnaryRoute[Request, Response_co],
        request: Request,
        timeouts: Timeouts | None = None,
    ) -> ByteStream:
        """Return the response to *request* over *route*, whose content is yet to be read."""
        diagnostics: list[Diagnostic] = []
        prepare = partial(_prepared, route, request, diagnostics)
        limits = self._limits(route, timeouts)
        started = anyio.current_time()
        try:
            with _time_limit(route, limits):
                exchange, sent = await self._opened(route, prepare, limits)
        except LLMError as error:
            error.provider = error.provider or route.provider
            raise
        return ByteStream(
            exchange,
            provider=route.provider,
            diagnostics=tuple(diagnostics),
            limits=limits,
            started=started,
            most=route.defaults.max_response_bytes,
            secrets=sent.secrets,
        )

    async def exchange(
        self,
        route: SendableRoute,
        prepare: Callable[[AuthContext], Result[HttpRequest, LLMError]],
        timeouts: Timeouts | None = None,
        response_kind: BodyKind = "json",
    ) -> NativeResponse:
        """Return the response to the request that *prepare* makes."""
        limits = self._limits(route, timeouts)
        with _time_limit(route, limits):
            exchange, sent = await self._opened(route, prepare, limits)
            try:
                body = await _whole(exchange, route.defaults.max_response_bytes)
                return _response(route, exchange.headers, body, response_kind)
            except LLMError as error:
                redact_error(error, sent.secrets)
                raise

    def _limits(self, route: SendableRoute, timeouts: Timeouts | None) -> Timeouts:
        return timeouts or route.defaults.timeouts or self.timeouts

    async def _opened(
        self,
        route: SendableRoute,
        prepare: Callable[[AuthContext], Result[HttpRequest, LLMError]],
        limits: Timeouts,
    ) -> tuple[Exchange, HttpRequest]:
        """Return the successful response to a request, before its body, and that request.

        After a 401, credentials that can be renewed are, and the request is made once more.
        """
        request: HttpRequest | None = None
        renewed = False
        try:
            while True:
                token = await self.credentials.token(route.auth, self.environ)
                context = AuthContext(environ=self.environ, now=datetime.now(UTC), token=token)
                request = prepare(context).unwrap()
                exchange = await self._sent(route, request, limits)
                if exchange.status < REDIRECTED:
                    return exchange, request
                error = await response_error(exchange, route.provider)
                location = exchange.headers.get("location")
                error.hint = hint_for_address(error, location, request) or None
                refused = exchange.status == _UNAUTHORIZED and self.credentials.refused(
                    route.auth, token
                )
                if renewed or not refused:
                    raise error
                renewed = True
        except LLMError as error:
            redact_error(error, () if request is None else request.secrets)
            raise

    async def _sent(self, route: SendableRoute, request: HttpRequest, limits: Timeouts) -> Exchange:
        spec = Http() if isinstance(route.transport, WebSocket) else route.transport
        transport, ready = await self.transports.over_http(spec, request)
        return await transport.send(ready, limits)


async def result_of(work: Callable[[], Awaitable[_T]]) -> Result[_T, LLMError]:
    """Return what *work* does as a Success, and an LLMError that it raises as a Failure."""
    try:
        return Success(await work())
    except LLMError as error:
        return Failure(error)


def _prepared(
    route: UnaryRoute[Request, Any],
    request: Request,
    diagnostics: list[Diagnostic],
    context: AuthContext,
) -> Result[HttpRequest, LLMError]:
    """Return the request for *request*, and put what its last try lost into *diagnostics*."""

    def http(call: PreparedCall) -> HttpRequest:
        diagnostics[:] = call.diagnostics
        return call.http

    return route.prepare(request, context=context).map(http)


@contextmanager
def _time_limit(route: SendableRoute, limits: Timeouts) -> Iterator[None]:
    """Raise RequestTimeoutError if the block takes longer than *limits* allow."""
    name, seconds = limits.shortest("first_event", "step", "total")
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise limits.expired(name, route.provider, error) from error


async def _whole(exchange: Exchange, most: int) -> bytes:
    """Return the body, and free the connection; StreamError for more than *most* bytes."""
    body = bytearray()
    chunks = exchange.chunks()
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > most:
                raise StreamError(f"the response is larger than {most} bytes", retryable=False)
    finally:
        await close_response(exchange, chunks)
    return bytes(body)


def _response(
    route: SendableRoute, headers: Mapping[str, str], body: bytes, response_kind: BodyKind
) -> NativeResponse:
    if response_kind == "bytes":
        return NativeResponse(content=body, headers=headers)
    document: JsonValue = None
    if body.strip():
        try:
            document = _json_lines(body) if response_kind == "json-lines" else json.loads(body)
        except (ValueError, RecursionError) as error:
            text = body[:200].decode("utf-8", "replace")
            message = f"the response is not JSON: {text!r}"
            raise StreamError(message, provider=route.provider, cause=error) from error
    if isinstance(document, dict) and document.get("error") and document.keys() <= _ENVELOPE:
        raise error_from_body(provider=route.provider, body=document, headers=headers)
    return NativeResponse(document=document, headers=headers)


def _json_lines(body: bytes) -> list[JsonValue]:
    return [json.loads(line) for line in body.split(b"\n") if line.strip()]
