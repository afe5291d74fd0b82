r"""A transport that answers from a script, without a file and without a network.

transport = scripted("data: [DONE]\n\n", {"error": {"message": "no"}}, NetworkError("gone"))
client = Client(transport=transport)
"""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import Any, TypeAlias, TypeGuard, Union, cast

import anyio
import anyio.lowlevel

from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema import json
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.testing.httpx_transport import HttpxCompatible

Piece: TypeAlias = Union[bytes, str, BaseException, tuple[Union[bytes, str], float]]
"""A chunk, a chunk with the milliseconds to wait before it, or an exception to raise."""

Body: TypeAlias = Union[bytes, str, JsonObject, Iterable[Piece], AsyncIterable[Piece]]

Triple: TypeAlias = tuple[int, Mapping[str, str], Body]
"""A response: its status, headers and body."""

Response: TypeAlias = Union[Body, BaseException, Triple]


class ScriptEndedError(AssertionError):
    """There were more requests than scripted responses, or fewer."""


def scripted(*responses: Response) -> "ScriptedTransport":
    """Return a transport that gives one of *responses* to each request, in order.

    - text, bytes: a body. An object: a JSON body. Their first bytes decide the content type.
    - `(status, headers, body)`: a body with its status and headers
    - an iterable, asynchronous or not: the body's chunks. A pair is a chunk and the
      milliseconds to wait before it; an exception is raised in its place.
    - an exception: raised instead of a response
    """
    return ScriptedTransport(responses)


@with_call_hints()
class ScriptedTransport(HttpxCompatible):
    """Answers each request with its next response. A transport of llmcore, httpx and httpx2."""

    def __init__(self, responses: Iterable[Response]) -> None:
        self._responses = list(responses)
        self.requests: list[HttpRequest] = []
        """The requests that were sent, in order, credentials included."""

    def __repr__(self) -> str:
        return f"ScriptedTransport({len(self.requests)} of {len(self._responses)} responses given)"

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies that were sent, in order."""
        return [json.loads(request.body) for request in self.requests]

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "ScriptedExchange":
        """Return the next response; ScriptEndedError if there is none."""
        self.requests.append(request)
        sent, there = len(self.requests), len(self._responses)
        if sent > there:
            message = f"request {sent} came, but {there} responses were scripted: {request!r}"
            raise ScriptEndedError(message)
        response = self._responses[sent - 1]
        await anyio.lowlevel.checkpoint()
        if isinstance(response, BaseException):
            raise response
        return _exchange(response)

    def finish(self) -> None:
        """Raise ScriptEndedError if a response was not used."""
        sent, there = len(self.requests), len(self._responses)
        if sent < there:
            raise ScriptEndedError(f"{there} responses were scripted, but {sent} requests came")


class ScriptedExchange:
    """A scripted response."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Body) -> None:
        self.status = status
        self.headers = {"content-type": _content_type(body)}
        self.headers.update((name.lower(), value) for name, value in headers.items())
        self._body = body

    def limit_reads(self, _seconds: float | None) -> bool:
        """Return False: the caller is to limit each read."""
        return False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body."""
        body = self._body
        if not isinstance(body, AsyncIterable):
            for piece in _pieces(body):
                yield await _delivered(piece)
            return
        async with AsyncExitStack() as stack:
            if isinstance(body, AsyncGenerator):
                await stack.enter_async_context(aclosing(body))
            async for piece in body:
                yield await _delivered(piece)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _exchange(response: Body | Triple) -> ScriptedExchange:
    if _is_triple(response):
        return ScriptedExchange(*response)
    return ScriptedExchange(200, {}, cast("Body", response))


def _is_triple(response: Body | Triple) -> TypeGuard[Triple]:
    return isinstance(response, tuple) and len(response) == 3 and isinstance(response[0], int)


def _pieces(body: Body) -> Iterable[Piece]:
    if isinstance(body, bytes | str):
        return [body] if body else []
    if _is_json(body):
        return [json.dumps(cast("JsonValue", body))]
    return cast("Iterable[Piece]", body)


def _is_json(body: Body) -> bool:
    """Return whether *body* is a JSON value: an object, or a list whose items are not chunks."""
    items = body if isinstance(body, list) else []
    return isinstance(body, Mapping) or any(isinstance(item, Mapping | list) for item in items)


def _content_type(body: Body) -> str:
    """Return the content type by the first bytes of *body*; chunks are server-sent events."""
    if _is_json(body):
        return "application/json"
    if not isinstance(body, bytes | str):
        return "text/event-stream"
    start = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    if start.lstrip().startswith(("{", "[")):
        return "application/json"
    is_events = start.startswith(("data:", "event:", "id:", "retry:", ":"))
    return "text/event-stream" if is_events else "text/plain"


async def _delivered(piece: Piece) -> bytes:
    chunk, delay_ms = piece if isinstance(piece, tuple) else (piece, 0.0)
    await anyio.sleep(delay_ms / 1000)
    if isinstance(chunk, BaseException):
        raise chunk
    if not isinstance(chunk, bytes | str):
        raise TypeError(f"a chunk is bytes or text, not {shown_kind(chunk)}")
    return chunk.encode() if isinstance(chunk, str) else chunk
