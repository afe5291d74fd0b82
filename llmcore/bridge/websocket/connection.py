"""One WebSocket of a client: messages in, events out.

Messages of one lane are answered one after another, those of different lanes at the same time. Each
counts as a request of its own: key, rate limit and number of responses under way are checked again.

The connection remembers the latest conversation of each lane, until it ends. Requests with
`store: false` can continue them by `previous_response_id`, although no response is stored.
"""

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final

import anyio
import anyio.lowlevel
from attrs import evolve
from msgspec.structs import replace

from llmcore.bridge.accounts.charges import Charge
from llmcore.bridge.api import Caller, OperationRequest
from llmcore.bridge.apis.responses import Responses, TurnMemory
from llmcore.bridge.http.asgi import Receive, Scope, Send
from llmcore.bridge.http.logs import LOGGER, REQUEST_ID, error_text, log
from llmcore.bridge.http.observability import note_response
from llmcore.bridge.http.request_body import BodyBytes, parsed_message
from llmcore.bridge.http.responses import gateway_failed
from llmcore.bridge.response_run import ResponseRun, has_ended
from llmcore.bridge.service import Service
from llmcore.bridge.websocket.messages import (
    Create,
    error_event,
    in_lane,
    lane_of,
    read_create,
    steering_refused,
)
from llmcore.client.loop_task import SideTasks
from llmcore.fronts.errors import FrontError, invalid, rate_limited
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_responses.state import StoredConversation
from llmcore.protocols.openai_responses.names import SOCKET_TOO_OLD
from llmcore.schema import json
from llmcore.schema.errors import ServerError
from llmcore.schema.json import JsonObject

MAX_AGE_S: Final = 3600.0
"""Seconds for which a connection accepts requests, as at OpenAI."""
MAX_AT_ONCE: Final = 16
"""Responses under way of one connection."""
MAX_LANES: Final = 32
"""Lanes with a name."""
MAX_WAITING: Final = 64
"""The most requests of one connection, including those under way."""
STOPPING: Final = 1012
"""The code of a `websocket.disconnect` by which the server asks for the connection's end."""
UNFINISHED: Final = "openbridge.unfinished"
"""The extension of a server that has the bytes of unfinished messages counted."""
_GOING_AWAY: Final = 1001
_FAREWELL_S: Final = 2.0
_ERROR_EVENT: Final = b'{"type":"error",'


class SocketConnection:
    """Answers the messages of one WebSocket.

    *caller* opened it with *request*. *admit* returns the caller of each message; it
    raises FrontError for one that is not admitted. *bodies* counts the bytes of requests.
    """

    def __init__(
        self,
        service: Service,
        responses: Responses,
        caller: Caller,
        admit: Callable[[], Awaitable[Caller]],
        request: ClientRequest,
        bodies: BodyBytes,
    ) -> None:
        self._service = service
        self._responses = responses
        self._caller = caller
        self._admit = admit
        self._request = request
        self._bodies = bodies
        self._memory = SocketMemory(service.policy.max_items)
        self._lanes: dict[str | None, anyio.Lock] = {None: anyio.Lock()}
        self._places = anyio.Semaphore(MAX_AT_ONCE)
        self._waiting = 0
        self._idle = anyio.Event()
        self._is_old = False
        self._client_left = False
        self._send: Send

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the connection until it ends. One that is closed cancels its responses."""
        self._send = send
        if server := scope.get("extensions", {}).get(UNFINISHED):
            server["count_with"](self._bodies.of(self._caller.counted_as))
        await receive()
        await send({"type": "websocket.accept"})
        try:
            await self._serve(receive)
        except anyio.get_cancelled_exc_class():  # the server does not wait any longer
            with anyio.move_on_after(_FAREWELL_S, shield=True), suppress(OSError):
                await send({"type": "websocket.close", "code": STOPPING})
            raise

    async def _serve(self, receive: Receive) -> None:
        try:
            async with SideTasks() as tasks:
                tasks.start(self._end_at_age)
                if await self._read(receive, tasks) == STOPPING:
                    await self._wait_until_idle()
                    await self._send({"type": "websocket.close", "code": STOPPING})
        except* (OSError, TimeoutError):  # the client is gone, or does not read
            log(logging.INFO, "client_gone")

    async def _read(self, receive: Receive, tasks: SideTasks) -> int:
        """Start a response for each message; return the code of the connection's end."""
        while True:
            await anyio.lowlevel.checkpoint()  # many tiny messages may be there
            message = await receive()
            if message["type"] == "websocket.disconnect":
                code = int(message.get("code") or 0)
                self._client_left = code != STOPPING
                return code
            lane = None
            try:
                event = await parsed_message(message.get("text"))
                lane = lane_of(event)
                if event.get("type") == "response.steer":
                    await self._send_event(steering_refused(event), lane)
                elif event.get("type") != "response.processed":  # which needs no response
                    self._take(read_create(event), len(message["text"]), tasks)
            except FrontError as error:
                await self._send_error(error, lane)

    def _take(self, create: Create, size: int, tasks: SideTasks) -> None:
        """Schedule the response of a request; FrontError if there is no room for it."""
        if self._is_old:
            raise _too_old()
        if self._waiting >= MAX_WAITING:
            message = f"{self._waiting} requests of this connection are under way or wait"
            raise rate_limited(message, 1)
        if create.lane not in self._lanes:
            if len(self._lanes) > MAX_LANES:
                raise invalid(
                    f"this connection has {MAX_LANES} different values of stream_id, which is the "
                    "limit: use one of them again, or open another connection",
                    "stream_id",
                    "websocket_stream_limit_reached",
                )
            self._lanes[create.lane] = anyio.Lock()
        with ExitStack() as place:
            place.enter_context(self._bodies.of(self._caller.counted_as))(size)
            self._waiting += 1
            tasks.start(partial(self._respond_in_turn, create, place.pop_all()))

    # -- responses

    async def _respond_in_turn(self, create: Create, place: ExitStack) -> None:
        try:
            with place:
                async with self._lanes[create.lane], self._places:
                    REQUEST_ID.set(f"req_{secrets.token_hex(16)}")
                    await self._respond(create)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._idle.set()

    async def _respond(self, create: Create) -> None:
        started, status = time.monotonic(), 200
        fields: dict[str, object] = {}
        try:
            await self._run_request(create, fields)
        except FrontError as error:
            status = error.status
            fields["error"] = error_text(error)
            self._memory.forget(create.previous)
            await self._send_error(error, create.lane)
        except OSError:
            raise
        except Exception:  # noqa: BLE001  a fault of the gateway, which the client must learn of
            LOGGER.exception("response_broke")
            status = 500
            await self._send_error(gateway_failed(), create.lane)
        finally:
            seconds = time.monotonic() - started
            self._service.metrics.requests.labels("socket_create", "other", str(status)).inc()
            self._service.metrics.request_seconds.labels("socket_create").observe(seconds)
            log(logging.INFO, "socket_request", status=status, seconds=round(seconds, 4), **fields)

    async def _run_request(self, create: Create, fields: dict[str, object]) -> None:
        caller = await self._admit()
        with self._service.admissions.admitted():
            call = OperationRequest(caller=caller, request=replace(self._request, body=create.body))
            memory = TurnMemory(self._memory, partial(self._memory.remember, create.lane))
            if not create.generates:
                await self._send_lines(await self._responses.warm_up(call, memory), create.lane)
                return
            run = await self._responses.turn(call, memory)
            charge = await self._service.accounts.open(caller, run, create.body)
            info = run.info
            fields.update(model=info.model, provider=info.provider, response_id=info.id)
            try:
                await self._pass_on(run, create.lane, charge)
            finally:
                try:
                    await run.aclose()
                finally:
                    charge.close()
                note_response(fields, run, charge)
                if run.error is not None:
                    self._memory.forget(create.previous)

    async def _pass_on(self, run: ResponseRun, lane: str | None, charge: Charge) -> None:
        try:
            while data := await run.next_bytes():
                if has_ended(run):
                    charge.close()
                await self._send_lines(data, lane)
        except anyio.get_cancelled_exc_class():
            if self._client_left:  # the response is one that was cancelled, not one that failed
                raise
            with anyio.move_on_after(_FAREWELL_S, shield=True):
                error = ServerError("the gateway is shutting down")
                data = await run.failed_bytes(error)
                charge.close()
                await self._send_lines(data, lane)
            raise

    # -- sending

    async def _send_lines(self, data: bytes, lane: str | None) -> None:
        for line in data.split(b"\n")[:-1]:
            if line.startswith(_ERROR_EVENT):
                continue  # over a WebSocket, an `error` is a refused request; this one failed
            await self._send_text(in_lane(line, lane))

    async def _send_error(self, error: FrontError, lane: str | None) -> None:
        failure = self._responses.front.error(evolve(error, request_id=REQUEST_ID.get()))
        await self._send_event(error_event(error, failure), lane)

    async def _send_event(self, event: JsonObject, lane: str | None) -> None:
        await self._send_text(in_lane(json.dumps(event), lane))

    async def _send_text(self, text: str) -> None:
        try:
            with anyio.fail_after(self._service.settings.limits.send_s):
                await self._send({"type": "websocket.send", "text": text})
        except (OSError, TimeoutError):
            self._client_left = True
            raise

    # -- the end

    async def _end_at_age(self) -> None:
        """End the connection at its age, once the responses under way have ended."""
        await anyio.sleep(MAX_AGE_S)
        self._is_old = True
        await self._wait_until_idle()
        await self._send_error(_too_old(), None)
        await self._send({"type": "websocket.close", "code": _GOING_AWAY})

    async def _wait_until_idle(self) -> None:
        while self._waiting:
            self._idle = anyio.Event()
            await self._idle.wait()


def _too_old() -> FrontError:
    message = f"this connection has reached its age of {MAX_AGE_S / 60:g} minutes: open another"
    return invalid(message, code=SOCKET_TOO_OLD)


# -- what a connection remembers


class SocketMemory(Mapping[str, StoredConversation]):
    """Conversations by the ids of responses. A lane's next response takes the place of its last.

    *max_messages* bounds a conversation: a longer one is not remembered, so that its client sends
    it whole.
    """

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        self._latest: dict[str | None, tuple[str, StoredConversation]] = {}

    def remember(
        self, lane: str | None, response_id: str, conversation: StoredConversation
    ) -> None:
        """Keep the conversation up to a response of *lane*, and forget the last one there."""
        if len(conversation.messages) > self._max_messages:
            self._latest.pop(lane, None)
        else:
            self._latest[lane] = (response_id, conversation)

    def forget(self, response_id: object) -> None:
        """Forget a response, whose continuation failed."""
        for lane, (known, _) in list(self._latest.items()):
            if known == response_id:
                del self._latest[lane]

    def __getitem__(self, response_id: str) -> StoredConversation:
        for known, conversation in self._latest.values():
            if known == response_id:
                return conversation
        raise KeyError(response_id)

    def __iter__(self) -> Iterator[str]:
        return iter([known for known, _ in self._latest.values()])

    def __len__(self) -> int:
        return len(self._latest)
