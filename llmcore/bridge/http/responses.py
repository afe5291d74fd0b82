"""ASGI responses: an SSE stream, written as fast as the client takes it, or one JSON object.

Both watch for the client's disconnect.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, takewhile
from typing import Final, Generic

import anyio
import msgspec
from attrs import define, evolve, field

from llmcore.bridge.http.asgi import Headers, Message, Receive, Scope, Send
from llmcore.bridge.http.client_connection import while_connected
from llmcore.bridge.http.logs import LOGGER, REQUEST_ID
from llmcore.bridge.response_run import (
    ErrorForm,
    Run,
    SentResponse,
    StreamedRun,
    WholeBody,
    WholeRun,
    dropped_of,
    request_id_of,
)
from llmcore.client.large_requests import holds_much, run_in_thread_if
from llmcore.client.loop_task import TaskAfter
from llmcore.fronts.errors import SERVER_ERROR, FrontError
from llmcore.fronts.front import FailureResponse
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ServerError
from llmcore.schema.json import JsonValue

NOT_READ: Final = "the client does not read"


class StreamWriter:
    """Sends the body of a response to a client.

    Several tasks may write: the one that reads the response, and one that sends heartbeats while
    no event comes.
    """

    def __init__(self, send: Send, headers: Callable[[], Headers]) -> None:
        self._transmit = send
        self._headers: Callable[[], Headers] | None = headers
        self._waiting: list[bytes] = []
        self.is_transmitting = False
        """Whether a write waits for the client to take what was written before."""
        self._transmitted: anyio.Event | None = None
        """Set when the write that another task waits for has ended."""
        self.wrote_at = time.monotonic()
        """When the last write began."""
        self.begun = False
        """Whether the head is sent, after which no HTTP error can be."""
        self.ended = False
        """Whether the last byte is written."""

    async def write(self, data: bytes) -> None:
        """Write *data*, once the client has taken enough of what was written before."""
        self.begun = True
        self._waiting.append(data)
        if self.is_transmitting:
            await self._turn()
        self.is_transmitting = True
        try:
            await self._flush()
        finally:
            self._free()

    def hold(self, data: bytes) -> None:
        """Keep *data*, the last of the response, for the write that ends the body."""
        self.begun = True
        self._waiting.append(data)

    async def _turn(self) -> None:
        """Wait until no other task transmits. A lock would cost more than the write."""
        while self.is_transmitting:
            self._transmitted = self._transmitted or anyio.Event()
            await self._transmitted.wait()

    def _free(self) -> None:
        self.is_transmitting = False
        if self._transmitted is not None:
            self._transmitted.set()
            self._transmitted = None

    async def _flush(self, *, ends: bool = False) -> None:
        waiting = self._waiting
        if self.ended or not (waiting or ends):
            return
        self.wrote_at = time.monotonic()
        if self._headers is not None:
            headers, self._headers = self._headers(), None
            await self._transmit({"type": "http.response.start", "status": 200, "headers": headers})
        count, data = len(waiting), b"".join(waiting)
        self.ended = ends  # a client may leave as soon as it has the end
        try:
            await self._transmit(
                {"type": "http.response.body", "body": data, "more_body": not ends}
            )
        except BaseException:  # a write that is cancelled writes nothing
            self.ended = False
            raise
        del waiting[:count]

    async def end(self) -> None:
        """Write what is left and the end of the body. Idempotent."""
        await self._turn()
        self.is_transmitting = True
        try:
            await self._flush(ends=True)
        finally:
            self._free()

    def check_stall(self, seconds: float) -> None:
        """Raise ConnectionAbortedError if the client has taken nothing for *seconds*."""
        waited = time.monotonic() - self.wrote_at
        if self.is_transmitting and waited >= seconds:
            raise ConnectionAbortedError(NOT_READ)


# -- responses


_MAX_HEADER_CHARS = 1024
_MAX_CODES_CHARS = 1000
"""Characters of diagnostics in a header, and in a log line."""
_MAX_CODE_CHARS = 200
"""Characters of one of them: a request may have names of any length."""
_FAREWELL_S = 2.0
"""For a last event or error to be sent, once the gateway is stopping."""

UPSTREAM_ID = b"x-upstream-request-id"
JSON: Headers = [(b"content-type", b"application/json")]


class BytesResponse(msgspec.Struct, frozen=True):
    """A whole response, whose content type is among its headers."""

    status: int
    body: bytes
    headers: Headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, also in place of opening a WebSocket."""
        if scope["type"] == "websocket":
            await receive()
            send = _denying(scope, send)
        await self.send(send)

    async def send(self, send: Send) -> None:
        """Send the head and the body."""
        head = [*self.headers, (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": head})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def _denying(scope: Scope, send: Send) -> Send:
    """Return *send* for the response that refuses a WebSocket.

    Servers without the extension of ASGI for it can only refuse without a reason.
    """
    can_respond = "websocket.http.response" in scope.get("extensions", {})

    async def denied(message: Message) -> None:
        if can_respond:
            await send({**message, "type": f"websocket.{message['type']}"})
        elif message["type"] == "http.response.start":
            await send({"type": "websocket.close", "code": 1008})

    return denied


async def json_response(value: JsonValue, headers: Headers | None = None) -> BytesResponse:
    """Return the response of *value*; a thread serializes what is large."""
    body = await run_in_thread_if(partial(json.dumps, value), large=holds_much(value))
    return BytesResponse(200, body, [*JSON, *(headers or [])])


def error_response(
    error: FrontError, form: ErrorForm, headers: Headers | None = None
) -> BytesResponse:
    """Return the response of *error*; its own headers win over *headers*."""
    failure = form(evolve(error, request_id=REQUEST_ID.get()))
    return _failure(failure, error, headers)


def _failure(
    failure: FailureResponse, error: FrontError, headers: Headers | None = None
) -> BytesResponse:
    fields = dict([*(headers or []), *encoded_headers(failure.headers), *_error_headers(error)])
    return BytesResponse(failure.status, json.dumps(failure.content), [*JSON, *fields.items()])


def _whole(whole: WholeBody, headers: Headers) -> BytesResponse:
    kind = (b"content-type", _header(whole.content_type))
    own = encoded_headers(whole.headers) if whole.headers else ()
    return BytesResponse(whole.status, whole.body, [kind, *own, *headers])


@define(eq=False)
class _RunResponse(Generic[Run]):
    """Runs a response and sends it."""

    _run: Run
    _done: Callable[[], None]
    """Called once the response has ended."""
    _charge: Callable[[], bool]
    """Called before anything is sent. Returns whether the response of the upstream has ended."""

    async def _close(self) -> None:
        try:
            await self._run.aclose()
        finally:
            self._done()


@define(eq=False)
class WholeResponse(_RunResponse[WholeRun]):
    """Runs a response and sends it as one object, or an error."""

    _ended: bool = field(default=False, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        try:
            await while_connected(
                scope, receive, lambda _: self._respond(send), lambda: self._ended
            )
        except anyio.get_cancelled_exc_class():
            if not self._ended:
                with anyio.move_on_after(_FAREWELL_S, shield=True):
                    await _run_error(self._run, _stopping()).send(send)
            raise
        finally:
            await self._close()

    async def _respond(self, send: Send) -> None:
        try:
            response = _whole(await self._run.whole(), run_headers(self._run))
        except FrontError as error:
            response = _run_error(self._run, error)
        self._ended = True
        self._charge()
        await response.send(send)


@define(eq=False)
class StreamedResponse(_RunResponse[StreamedRun]):
    """Runs a response and sends its events as they arrive.

    The response's head is sent with the first of them, or after `keep_alive_s` seconds of
    silence; a failure before that is a plain HTTP error.
    """

    keep_alive_s: float = field(kw_only=True)
    send_s: float = field(kw_only=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        writer = StreamWriter(send, self._headers)
        try:
            await while_connected(
                scope,
                receive,
                lambda connected: self._respond(writer, send, connected),
                lambda: writer.ended,
            )
        except anyio.get_cancelled_exc_class():
            await self._fail(writer, send, _stopping())
            raise
        finally:
            await self._close()

    async def _respond(
        self, writer: StreamWriter, send: Send, connected: anyio.CancelScope
    ) -> None:
        async with TaskAfter(self._unattended_s, lambda: self._attend(writer), connected):
            try:
                while data := await self._run.next_bytes():
                    if self._charge() and self._run.error is None:
                        writer.hold(data)
                    else:
                        await writer.write(data)
                await writer.end()
            except FrontError as error:
                await self._fail(writer, send, error)
            except OSError:
                raise
            except Exception:  # noqa: BLE001  a fault of the gateway, which the client must learn of
                LOGGER.exception("response_broke")
                await self._fail(writer, send, gateway_failed())

    @property
    def _unattended_s(self) -> float:
        """The seconds in which neither a heartbeat is due nor a client can have stalled."""
        return min(self.send_s / 2, self.keep_alive_s or math.inf)

    async def _attend(self, writer: StreamWriter) -> None:
        """Send a heartbeat whenever nothing was sent for a while; fail if the client stalls."""
        silent_s = self.keep_alive_s or math.inf
        next_heartbeat = writer.wrote_at + silent_s
        while True:
            writer.check_stall(self.send_s)
            next_heartbeat = max(next_heartbeat, writer.wrote_at + silent_s)
            if time.monotonic() >= next_heartbeat:
                if not writer.is_transmitting:
                    await self._beat(writer)
                next_heartbeat = time.monotonic() + silent_s
            rest_s = max(0.0, next_heartbeat - time.monotonic())
            await anyio.sleep(min(self.send_s / 2, rest_s))

    async def _beat(self, writer: StreamWriter) -> None:
        """Send a heartbeat; ConnectionAbortedError if the client does not take it in time."""
        data = await self._run.keep_alive()
        if not data:
            return
        with anyio.move_on_after(self.send_s) as limit:
            await writer.write(data)
        if limit.cancelled_caught:
            raise ConnectionAbortedError(NOT_READ)

    async def _fail(self, writer: StreamWriter, send: Send, error: FrontError) -> None:
        """End the stream with the event of a failure, or the request with an error."""
        with anyio.move_on_after(_FAREWELL_S, shield=True):
            if not writer.begun:
                writer.begun = writer.ended = True
                self._charge()
                await _run_error(self._run, error).send(send)
                return
            if data := await self._run.failed_bytes(ServerError(error.message)):
                self._charge()
                await writer.write(data)
            await writer.end()

    def _headers(self) -> Headers:
        return [
            (b"content-type", _header(self._run.content_type)),
            (b"cache-control", b"no-cache, no-transform"),  # a proxy that compresses would buffer
            (b"x-accel-buffering", b"no"),
            *encoded_headers(self._run.headers),
            *run_headers(self._run),
        ]


# -- headers and errors


def run_headers(run: SentResponse) -> Headers:
    """Return headers about the upstream, and about what was changed on the way there."""
    info = run.info
    headers: Headers = [(b"x-openbridge-upstream", _header(info.upstream.label))]
    if request_id := request_id_of(run.calls):
        headers.append((UPSTREAM_ID, _header(request_id)))
    if dropped := dropped_of(run.calls):
        headers.append((b"x-openbridge-dropped", _header(", ".join(dropped))))
    if info.tried:
        headers.append((b"x-openbridge-failed", _header("; ".join(info.tried))))
    return [*headers, *diagnostic_headers(run.diagnostics)]


def diagnostic_headers(diagnostics: Sequence[Diagnostic]) -> Headers:
    """Return the header that names *diagnostics*, if there are any."""
    codes = diagnostic_codes(diagnostics)
    return [(b"x-openbridge-diagnostics", _header(codes))] if codes else []


def diagnostic_codes(diagnostics: Sequence[Diagnostic]) -> str | None:
    """Return each diagnostic as `action code path`; of too many the first, and how many more."""
    if not diagnostics:
        return None
    named = (
        f"{diagnostic.action} {diagnostic.code} {diagnostic.path}"[:_MAX_CODE_CHARS]
        for diagnostic in diagnostics
    )
    codes = list(dict.fromkeys(named))
    chars = accumulate(len(code) + len("; ") for code in codes)
    shown = sum(1 for _ in takewhile(lambda total: total <= _MAX_CODES_CHARS, chars))
    if shown == len(codes):
        return "; ".join(codes)
    return "; ".join([*codes[:shown], f"and {len(codes) - shown} more"])


def gateway_failed() -> FrontError:
    """Return the error of a fault of the gateway, 500."""
    message = "the gateway failed; its log has the reason, under the x-request-id of this response"
    return FrontError(status=500, message=message, type=SERVER_ERROR)


def _run_error(run: SentResponse, error: FrontError) -> BytesResponse:
    failure = run.error_response(evolve(error, request_id=REQUEST_ID.get()))
    if isinstance(failure, WholeBody):
        return _whole(failure, run_headers(run))
    return _failure(failure, error, run_headers(run))


def _error_headers(error: FrontError) -> Headers:
    headers: Headers = [(name.encode(), value.encode()) for name, value in error.headers]
    if error.upstream_request_id:
        headers.append((UPSTREAM_ID, _header(error.upstream_request_id)))
    return headers


def _stopping() -> FrontError:
    message = "the gateway is shutting down"
    return FrontError(status=503, message=message, type=SERVER_ERROR, retry_after=1)


def encoded_headers(headers: Mapping[str, str]) -> Headers:
    """Return *headers* as they are sent."""
    return [(name.lower().encode(), _header(value)) for name, value in headers.items()]


def _header(value: str) -> bytes:
    value = value[:_MAX_HEADER_CHARS]
    if not (value.isascii() and value.isprintable()):
        value = "".join(char if " " <= char <= "~" else "?" for char in value)
    return value.encode()
