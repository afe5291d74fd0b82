"""Answers on the wire: a stream of events or one object, and somebody who notices who leaves."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import anyio
from starlette.types import Receive, Scope, Send

from llmcore.bridge.errors import SERVER_ERROR, BridgeError, envelope
from llmcore.bridge.event_writer import Event
from llmcore.bridge.logs import LOGGER, log
from llmcore.bridge.sse import KEEP_ALIVE, encode
from llmcore.bridge.turn import Turn
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ServerError
from llmcore.schema.json import JsonValue

_MAX_HEADER_CHARS = 1024
_LAST_WORDS_S = 2.0

Headers = list[tuple[bytes, bytes]]


class WholeAnswer:
    """Runs a turn and sends its response object, or an error."""

    def __init__(self, turn: Turn, done: Callable[[], None]) -> None:
        self._turn = turn
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        try:
            await _while_connected(receive, lambda: self._run(send))
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_LAST_WORDS_S, shield=True):
                await send_error(send, _stopping(), turn_headers(self._turn))
            raise
        finally:
            await self._turn.aclose()
            self._done()

    async def _run(self, send: Send) -> None:
        try:
            response = await self._turn.whole()
        except BridgeError as error:
            await send_error(send, error, turn_headers(self._turn))
            return
        await send_json(send, 200, response, turn_headers(self._turn))


class StreamedAnswer:
    """Runs a turn and sends its events as they come.

    The response's head is sent with the first of them, or after `keep_alive_s` seconds of
    silence; a failure before that is a plain HTTP error.
    """

    def __init__(self, turn: Turn, done: Callable[[], None], *, keep_alive_s: float) -> None:
        self._turn = turn
        self._done = done
        self._keep_alive_s = keep_alive_s
        self._begun = False
        self._ended = False
        self._sent_at = 0.0
        self._sending = anyio.Lock(fast_acquire=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; a client that goes away ends the call of the upstream."""
        try:
            await _while_connected(receive, lambda: self._run(send))
        except anyio.get_cancelled_exc_class():
            await self._say_failed(send, _stopping())
            raise
        finally:
            await self._turn.aclose()
            self._done()

    async def _run(self, send: Send) -> None:
        async with anyio.create_task_group() as tasks:
            if self._keep_alive_s:
                tasks.start_soon(self._keep_alive, send)
            try:
                await self._pump(send)
            except BridgeError as error:
                await self._send_error(send, error)
            except OSError:
                raise
            except Exception:  # noqa: BLE001  a fault of ours: the client is told that there was one
                LOGGER.exception("answer_broke")
                await self._say_failed(send, gateway_failed())
            tasks.cancel_scope.cancel()

    async def _pump(self, send: Send) -> None:
        while events := await self._turn.next_events():
            await self._send_events(send, events)
        await self._end(send)

    async def _end(self, send: Send) -> None:
        async with self._sending:
            self._ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _keep_alive(self, send: Send) -> None:
        """Say something whenever nothing was said for a while."""
        self._sent_at = anyio.current_time()
        while True:
            await anyio.sleep_until(self._sent_at + self._keep_alive_s)
            if anyio.current_time() < self._sent_at + self._keep_alive_s:
                continue
            if self._begun:
                await self._send(send, KEEP_ALIVE)
            else:
                await self._send_events(send, self._turn.announce())

    async def _send_events(self, send: Send, events: Sequence[Event]) -> None:
        await self._send(send, b"".join(map(encode, events)))

    async def _send(self, send: Send, data: bytes) -> None:
        async with self._sending:
            if self._ended:
                return
            if not self._begun:
                self._begun = True
                headers = [
                    (b"content-type", b"text/event-stream; charset=utf-8"),
                    (b"cache-control", b"no-cache"),
                    (b"x-accel-buffering", b"no"),
                    *turn_headers(self._turn),
                ]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            self._sent_at = anyio.current_time()
            await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _send_error(self, send: Send, error: BridgeError) -> None:
        if self._begun:  # announced in the same moment
            await self._say_failed(send, error)
        else:
            self._begun = self._ended = True
            await send_error(send, error, turn_headers(self._turn))

    async def _say_failed(self, send: Send, error: BridgeError) -> None:
        """End the stream with a failed response, or the request with an error."""
        with anyio.move_on_after(_LAST_WORDS_S, shield=True):
            if not self._begun:
                self._begun = self._ended = True
                await send_error(send, error, turn_headers(self._turn))
                return
            if events := self._turn.failed_events(ServerError(error.message)):
                await self._send_events(send, events)
            await self._end(send)


async def _while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Run *work*; leave it as soon as the client is gone."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
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
    body = json.dumps(value)
    head = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_error(send: Send, error: BridgeError, headers: Headers) -> None:
    """Send *error* in OpenAI's form."""
    await send_json(send, error.status, envelope(error), [*headers, *error_headers(error)])


def error_headers(error: BridgeError) -> Headers:
    """Return what the headers of an error response say."""
    headers: Headers = []
    if error.retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    return headers


def turn_headers(turn: Turn) -> Headers:
    """Return what the headers say of the upstream, and of what was changed on the way there."""
    facts = {
        b"x-upstream-request-id": turn.upstream_request_id,
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
    told = dict.fromkeys(f"{note.action} {note.code} {note.path}" for note in diagnostics)
    return "; ".join(told) or None


def _header(value: str) -> bytes:
    printable = "".join(char if " " <= char <= "~" else "?" for char in value)
    return printable[:_MAX_HEADER_CHARS].encode()
