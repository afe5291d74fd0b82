"""Answers on the wire: a stream of events or one object, and somebody who notices who leaves."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

import anyio
from starlette.types import Receive, Scope, Send

from llmcore.bridge.errors import SERVER_ERROR, BridgeError, envelope
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.stream_writer import Headers, StreamBody
from llmcore.bridge.response_run import Turn
from llmcore.bridge.responses.events import KEEP_ALIVE, Event, encode
from llmcore.client.large_requests import off_the_loop
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ServerError
from llmcore.schema.json import JsonValue

_MAX_HEADER_CHARS = 1024
_MAX_CODES = 200
"""Diagnostics that are named in headers and logs, which are cut off long before that."""
_LAST_WORDS_S = 2.0

UPSTREAM_ID = b"x-upstream-request-id"


class WholeAnswer:
    """Runs a turn and sends its response object, or an error."""

    def __init__(self, turn: Turn, done: Callable[[], None]) -> None:
        self._turn = turn
        self._done = done
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        try:
            await _while_connected(receive, lambda: self._run(send), lambda: self._ended)
        except anyio.get_cancelled_exc_class():
            if not self._ended:
                with anyio.move_on_after(_LAST_WORDS_S, shield=True):
                    await send_error(send, _stopping(), turn_headers(self._turn))
            raise
        finally:
            try:
                await self._turn.aclose()
            finally:
                self._done()

    async def _run(self, send: Send) -> None:
        try:
            response = await self._turn.whole()
        except BridgeError as error:
            self._ended = True
            await send_error(send, error, turn_headers(self._turn))
            return
        self._ended = True
        step = partial(json.dumps, response)
        body = await off_the_loop(step, large=self._turn.is_large)
        await _send_body(send, 200, body, turn_headers(self._turn))


class StreamedAnswer:
    """Runs a turn and sends its events as they come.

    The response's head is sent with the first of them, or after `keep_alive_s` seconds of
    silence; a failure before that is a plain HTTP error.
    """

    def __init__(
        self, turn: Turn, done: Callable[[], None], *, keep_alive_s: float, send_s: float
    ) -> None:
        self._turn = turn
        self._done = done
        self._keep_alive_s = keep_alive_s
        self._send_s = send_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        body = StreamBody(send, self._headers)
        try:
            await _while_connected(receive, lambda: self._run(body, send), lambda: body.ended)
        except anyio.get_cancelled_exc_class():
            await self._say_failed(body, send, _stopping())
            raise
        finally:
            try:
                await self._turn.aclose()
            finally:
                self._done()

    async def _run(self, body: StreamBody, send: Send) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(body.write)
            tasks.start_soon(body.notice_stall, self._send_s)
            if self._keep_alive_s:
                tasks.start_soon(self._keep_alive, body)
            try:
                await self._pump(body)
            except BridgeError as error:
                await self._say_failed(body, send, error)
            except OSError:
                raise
            except Exception:  # noqa: BLE001  a fault of ours: the client is told that there was one
                LOGGER.exception("answer_broke")
                await self._say_failed(body, send, gateway_failed())
            tasks.cancel_scope.cancel()

    async def _pump(self, body: StreamBody) -> None:
        while events := await self._turn.next_events():
            body.say(await self._encoded(events))
            if body.is_full:
                await body.flush()
        await body.end()

    async def _keep_alive(self, body: StreamBody) -> None:
        """Say something whenever nothing was said for a while."""
        while not body.ended:
            await anyio.sleep_until(body.wrote_at + self._keep_alive_s)
            if anyio.current_time() >= body.wrote_at + self._keep_alive_s:
                opening = b"" if body.begun else await self._encoded(self._turn.announce())
                body.say(opening or KEEP_ALIVE)
                await body.flush()

    async def _say_failed(self, body: StreamBody, send: Send, error: BridgeError) -> None:
        """End the stream with a failed response, or the request with an error."""
        with anyio.move_on_after(_LAST_WORDS_S, shield=True):
            if not body.begun:
                body.begun = body.ended = True
                await send_error(send, error, turn_headers(self._turn))
                return
            if events := self._turn.failed_events(ServerError(error.message)):
                body.say(await self._encoded(events))
            await body.end()

    async def _encoded(self, events: Sequence[Event]) -> bytes:
        return await off_the_loop(partial(_encoded, events), large=self._turn.is_large)

    def _headers(self) -> Headers:
        return [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
            *turn_headers(self._turn),
        ]


def _encoded(events: Iterable[Event]) -> bytes:
    return b"".join(map(encode, events))


async def _while_connected(
    receive: Receive, work: Callable[[], Awaitable[None]], ended: Callable[[], bool]
) -> None:
    """Run *work*; leave it as soon as the client is gone."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if ended():  # servers say the same to whoever has answered
            return
        log(logging.INFO, "client_gone")
        tasks.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await work()
            tasks.cancel_scope.cancel()
    except* OSError:  # what servers raise that tell us so when we send
        log(logging.INFO, "client_gone")


async def send_json(send: Send, status: int, value: JsonValue, headers: Headers) -> None:
    """Send a whole response."""
    await _send_body(send, status, json.dumps(value), headers)


async def _send_body(send: Send, status: int, body: bytes, headers: Headers) -> None:
    head = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_error(send: Send, error: BridgeError, headers: Headers) -> None:
    """Send *error* in OpenAI's form."""
    told = dict([*headers, *error_headers(error)])  # both may name the upstream's id
    await send_json(send, error.status, envelope(error), list(told.items()))


def error_headers(error: BridgeError) -> Headers:
    """Return what the headers of an error response say."""
    headers: Headers = []
    if error.retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    if error.upstream_request_id:
        headers.append((UPSTREAM_ID, _header(error.upstream_request_id)))
    return headers


def turn_headers(turn: Turn) -> Headers:
    """Return what the headers say of the upstream, and of what was changed on the way there."""
    facts = {
        UPSTREAM_ID: turn.upstream_request_id,
        b"x-openbridge-dropped": ", ".join(turn.dropped) or None,
        b"x-openbridge-diagnostics": diagnostic_codes(turn.diagnostics),
    }
    return [(name, _header(value)) for name, value in facts.items() if value]


def gateway_failed() -> BridgeError:
    """Return the error of a fault of ours, 500."""
    message = "the gateway failed; its log says why, under the x-request-id of this response"
    return BridgeError(status=500, message=message, type=SERVER_ERROR)


def _stopping() -> BridgeError:
    message = "the gateway is shutting down"
    return BridgeError(status=503, message=message, type=SERVER_ERROR, retry_after=1)


def diagnostic_codes(diagnostics: Sequence[Diagnostic]) -> str | None:
    """Return each diagnostic as `action code path`."""
    codes: dict[str, None] = {}
    for note in diagnostics[:_MAX_CODES]:
        codes[f"{note.action} {note.code} {note.path}"] = None
    return "; ".join(codes) or None


def _header(value: str) -> bytes:
    printable = "".join(char if " " <= char <= "~" else "?" for char in value)
    return printable[:_MAX_HEADER_CHARS].encode()
