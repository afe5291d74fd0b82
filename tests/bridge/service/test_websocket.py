"""The Responses API over WebSockets, on the real server."""

import json
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import openai
import pytest
from attrs import evolve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from llmcore import Client, Message, OpenAI, request
from llmcore import evolve as changed
from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from llmcore.bridge.http.logs import LOGGER
from llmcore.bridge.websocket import connection
from llmcore.bridge.websocket.connection import SocketMemory
from llmcore.fronts.openai_responses.grammar import ResponsesChecker
from llmcore.fronts.openai_responses.state import StoredConversation
from tests.support.servers.bridge_process import gateway
from tests.support.servers.bridge_service import (
    UPSTREAM_KEY,
    listening,
    refused,
    streamed,
    text_of,
    tool_script,
)
from tests.support.servers.loopback import DONE, Loopback, Received, chat_chunk, chat_stream, held
from tests.support.servers.pooled_gateway import pooled_gateway
from tests.support.waiting import wait_until

CREATE = {"type": "response.create", "model": "m-1", "store": False, "input": "Hi"}
TERMINAL = ("response.completed", "response.failed", "response.incomplete", "error")


def socket_url(url: str) -> str:
    return f"{url.replace('http', 'ws', 1)}/responses"


@contextmanager
def connected(url: str, **options: Any) -> Iterator[ClientConnection]:
    with connect(socket_url(url), proxy=None, **options) as socket:
        yield socket


def send(socket: ClientConnection, **changes: Any) -> None:
    socket.send(json.dumps({**CREATE, **changes}))


def events(socket: ClientConnection) -> list[Any]:
    """Return the events of one response."""
    found: list[Any] = []
    while not found or found[-1]["type"] not in TERMINAL:
        found.append(json.loads(socket.recv(timeout=10)))
    return found


def turn(socket: ClientConnection, **changes: Any) -> Any:
    """Return the last event of the response to a request."""
    send(socket, **changes)
    return events(socket)[-1]


def until_closed(socket: ClientConnection) -> Iterator[Any]:
    """Yield events until the server closes the connection."""
    with suppress(ConnectionClosed):
        while True:
            yield json.loads(socket.recv(timeout=10))


def until_error(socket: ClientConnection, stream_id: str) -> Iterator[Any]:
    """Yield events up to the error of a stream."""
    while True:
        yield (event := json.loads(socket.recv(timeout=10)))
        if event["type"] == "error" and event.get("stream_id") == stream_id:
            return


def messages(upstream: Loopback, number: int = -1) -> list[Any]:
    body: Any = upstream.received[number].json
    return list(body["messages"])


# -- responses


def test_the_events_are_those_of_a_stream(upstream: Loopback, settings: GatewaySettings) -> None:
    with listening(settings) as url, connected(url) as socket:
        send(socket)
        found = events(socket)

    checker = ResponsesChecker()
    assert [violation for event in found for violation in checker.feed(event)] == []
    assert not checker.finish()
    assert text_of(found[-1]["response"]) == "Hello"
    assert not any("stream_id" in event for event in found)
    assert json.loads(upstream.received[0].body)["stream"] is True


def test_a_response_has_the_line_of_the_log_that_other_responses_have(
    upstream: Loopback, settings: GatewaySettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, LOGGER.name), listening(settings) as url:
        with connected(url) as socket:
            socket_response = turn(socket)["response"]
        response = httpx.post(f"{url}/responses", json={"model": "m-1", "input": "Hi"}).json()
    lines = {record.msg: getattr(record, "facts", {}) for record in caplog.records}

    assert lines["socket_request"]["response_id"] == socket_response["id"]
    assert lines["request"]["response_id"] == response["id"]
    named = {"method", "path", "client_request_id"}
    assert lines["socket_request"].keys() == lines["request"].keys() - named
    assert lines["socket_request"]["input_tokens"] == lines["request"]["input_tokens"]


def test_a_conversation_goes_on_without_being_stored(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """The connection remembers it; another one answers with an error."""
    with listening(settings) as url:
        with connected(url) as socket:
            first = turn(socket)["response"]["id"]
            second = turn(socket, input="And you?", previous_response_id=first)["response"]["id"]
            stale = turn(socket, input="?", previous_response_id=first)
            third = turn(socket, input="More", previous_response_id=second)
        with connected(url) as other:
            unknown = turn(other, previous_response_id=third["response"]["id"])
        stored = httpx.get(f"{url}/responses/{first}").status_code

    assert [one["role"] for one in messages(upstream)] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert stale["error"]["code"] == unknown["error"]["code"] == "previous_response_not_found"
    assert (stale["status"], stale["error"]["param"]) == (400, "previous_response_id")
    assert third["type"] == "response.completed"
    assert stored == 404


def test_a_stored_response_continues_on_any_connection(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    with listening(settings) as url:
        with connected(url) as socket:
            first = turn(socket, store=True)["response"]["id"]
        with connected(url) as socket:
            second = turn(socket, store=True, previous_response_id=first)
        found = httpx.get(f"{url}/responses/{second['response']['id']}").json()

    assert len(messages(upstream)) == 3
    assert found == second["response"]


def test_a_tool_loop_sends_only_what_is_new(upstream: Loopback, settings: GatewaySettings) -> None:
    def handler(received: Received) -> Any:
        body: Any = received.json
        called = body["messages"][-1]["role"] == "tool"
        call = ("call_1", "weather", '{"in":"Oslo"}')
        return streamed(chat_stream(["Sunny"]) if called else tool_script(call))

    upstream.handler = handler
    tools = [{"type": "function", "name": "weather", "parameters": {"type": "object"}}]
    with listening(settings) as url, connected(url) as socket:
        first = turn(socket, tools=tools)["response"]
        call = first["output"][0]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "20 C"}
        last = turn(socket, tools=tools, input=[output], previous_response_id=first["id"])

    assert [one["role"] for one in messages(upstream)] == ["user", "assistant", "tool"]
    assert text_of(last["response"]) == "Sunny"


@pytest.mark.parametrize(
    "change", [{"generate": False}, {"prompt_cache_options": {"prewarm": True}}]
)
def test_a_warm_up_is_remembered_and_not_sent(
    upstream: Loopback, settings: GatewaySettings, change: dict[str, Any]
) -> None:
    with listening(settings) as url, connected(url) as socket:
        send(socket, instructions="Be brief.", **change)
        found = events(socket)
        assert upstream.received == []
        warm = found[-1]["response"]
        last = turn(socket, input="Go on", previous_response_id=warm["id"])

    assert [event["type"] for event in found] == [
        "response.created", "response.in_progress", "response.completed",
    ]  # fmt: skip
    assert (warm["output"], warm["usage"]["total_tokens"]) == ([], 0)
    assert [one["content"] for one in messages(upstream)] == ["Hi", "Go on"]
    assert text_of(last["response"]) == "Hello"


# -- errors


@pytest.mark.parametrize(
    ("message", "status", "code", "param"),
    [
        ("{", 400, "invalid_json", None),
        ("[]", 400, "invalid_json", None),
        (b"\x00", 400, "invalid_json", None),
        ('{"type": "session.update"}', 400, "unknown_event_type", "type"),
        ('{"type": "response.create"}', 400, "missing_required_parameter", "model"),
        (json.dumps({**CREATE, "background": True}), 400, None, "background"),
        (json.dumps({**CREATE, "stream_id": ""}), 400, "invalid_stream_id", "stream_id"),
        (json.dumps({**CREATE, "stream_id": "a b"}), 400, "invalid_stream_id", "stream_id"),
        (json.dumps({**CREATE, "input": []}), 400, None, "input"),
        ("[" * 300_000, 413, "body_too_large", None),
    ],
)
def test_a_message_that_cannot_be_answered_is_an_error_and_the_next_one_is_answered(
    upstream: Loopback,
    settings: GatewaySettings,
    message: str | bytes,
    status: int,
    code: str | None,
    param: str | None,
) -> None:
    with listening(settings) as url, connected(url) as socket:
        socket.send(message)
        error = events(socket)[-1]
        following = turn(socket)

    assert (error["type"], error["status"]) == ("error", status)
    assert (error["error"]["code"], error["error"]["param"]) == (code, param)
    assert error["error"]["message"]
    assert following["type"] == "response.completed"


def test_a_refusal_of_the_upstream_has_status_and_headers(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """And the response that it was to continue is forgotten, as at OpenAI."""
    with listening(settings) as url, connected(url) as socket:
        first = turn(socket)["response"]["id"]
        upstream.handler = lambda _: refused(429, "slow down", headers={"retry-after": "7"})
        error = turn(socket, previous_response_id=first)
        again = turn(socket, previous_response_id=first)

    assert (error["status"], error["error"]["code"]) == (429, "rate_limit_exceeded")
    assert error["headers"]["retry-after"] == error["error"]["headers"]["retry-after"] == "7"
    assert again["error"]["code"] == "previous_response_not_found"


def test_a_response_that_breaks_off_has_failed(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"})], cut=True)
    with listening(settings) as url, connected(url) as socket:
        assert turn(socket)["type"] == "response.failed"


def test_steering_is_refused_and_acknowledgements_are_taken(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    with listening(settings) as url, connected(url) as socket:
        steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "Stop"}
        socket.send(json.dumps(steer))
        told = json.loads(socket.recv(timeout=10))
        socket.send(json.dumps({"type": "response.processed", "response_id": "resp_1"}))
        following = turn(socket)

    assert (told["type"], told["steer"]["input"]) == ("response.steer.failed", "Stop")
    assert told["error"]["code"] == "steering_not_supported"
    assert following["type"] == "response.completed"


# -- lanes


def test_lanes_are_answered_at_once_and_each_in_order(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Events name their lane; a lane can go on from another one's response."""
    release = threading.Event()

    def handler(received: Received) -> Any:
        slow = b"slow" in received.body
        return streamed(held(release, chat_stream()) if slow else chat_stream())

    upstream.handler = handler
    with listening(settings) as url, connected(url) as socket:
        send(socket, stream_id="a", input="slow")
        send(socket, stream_id="a", input="second")
        send(socket, stream_id="b", input="quick")
        ends: list[Any] = []
        while len(ends) < 3:
            event = json.loads(socket.recv(timeout=10))
            if event["type"] in TERMINAL:
                ends.append(event)
                release.set()
        fork = turn(socket, stream_id="c", previous_response_id=ends[0]["response"]["id"])

    assert [event["stream_id"] for event in ends] == ["b", "a", "a"]
    assert messages(upstream, 2)[0]["content"] == "second"
    assert (fork["type"], fork["stream_id"]) == ("response.completed", "c")
    assert len(messages(upstream)) == 3


def test_a_connection_has_so_many_lanes(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_LANES", 2)
    with listening(settings) as url, connected(url) as socket:
        found = [turn(socket, stream_id=name) for name in ("a", "b", "c", "b")]
        unnamed = turn(socket)

    assert [event["type"] for event in found] == [
        "response.completed", "response.completed", "error", "response.completed",
    ]  # fmt: skip
    assert found[2]["error"]["code"] == "websocket_stream_limit_reached"
    assert found[2]["stream_id"] == "c"
    assert unnamed["type"] == "response.completed"


def test_a_connection_waits_for_so_many_requests(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_WAITING", 2)
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream()))
    with listening(settings) as url, connected(url) as socket:
        for _ in range(3):
            send(socket)
        refusal = events(socket)
        release.set()
        ends = [events(socket)[-1]["type"] for _ in range(2)]

    assert (refusal[0]["type"], refusal[0]["status"]) == ("error", 429)
    assert ends == ["response.completed"] * 2


# -- admission


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"authorization": "Bearer wrong"}, 401), ({"authorization": "Bearer k"}, None)],
)
def test_a_socket_needs_the_key(
    upstream: Loopback, settings: GatewaySettings, headers: dict[str, str], status: int | None
) -> None:
    with listening(evolve(settings, client_api_keys=("k",))) as url, ExitStack() as stack:
        if status is None:
            socket = stack.enter_context(connected(url, additional_headers=headers))
            assert turn(socket)["type"] == "response.completed"
            return
        with pytest.raises(InvalidStatus) as refusal:
            stack.enter_context(connected(url, additional_headers=headers))

    assert refusal.value.response.status_code == status
    assert json.loads(refusal.value.response.body)["error"]["code"] == "invalid_api_key"
    assert refusal.value.response.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://app.example"}, 403),
        ({"origin": "https://app.example"}, None),
        ({"origin": "http://localhost:3000"}, None),
    ],
)
def test_pages_of_other_sites_cannot_use_a_gateway_without_keys(
    upstream: Loopback, settings: GatewaySettings, headers: dict[str, str], status: int | None
) -> None:
    """Browsers would let them: a WebSocket is not under the same-origin policy."""
    allowing = evolve(settings, allowed_origins=("https://app.example",))
    with listening(allowing) as url, ExitStack() as stack:
        if status is None:
            stack.enter_context(connected(url, additional_headers=headers))
            return
        with pytest.raises(InvalidStatus) as refusal:
            stack.enter_context(connected(url, additional_headers=headers))

    assert refusal.value.response.status_code == status
    assert json.loads(refusal.value.response.body)["error"]["code"] == "origin_not_allowed"


def test_there_is_one_place_for_sockets(upstream: Loopback, settings: GatewaySettings) -> None:
    with listening(settings) as url:
        with connect(f"{socket_url(url)}/", proxy=None) as socket:
            assert turn(socket)["type"] == "response.completed"
        with pytest.raises(InvalidStatus) as refusal:
            connect(f"{url.replace('http', 'ws')}/chat/completions", proxy=None)

    assert refusal.value.response.status_code == 404


def test_each_message_counts_against_the_rate_and_the_room(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """The opening of the socket counts as one."""
    limits = Limits(rate_per_minute=3)
    with listening(evolve(settings, limits=limits)) as url, connected(url) as socket:
        found = [turn(socket) for _ in range(3)]
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream()))
    with listening(evolve(settings, limits=Limits(max_running=1))) as url, connected(url) as socket:
        send(socket, stream_id="a")
        send(socket, stream_id="b")
        full = events(socket)[-1]
        release.set()
        rest = events(socket)[-1]

    assert [event["type"] for event in found[:2]] == ["response.completed"] * 2
    assert (found[2]["status"], found[2]["error"]["code"]) == (429, "rate_limit_exceeded")
    assert float(found[2]["headers"]["retry-after"]) > 0
    assert (full["status"], full["stream_id"]) == (503, "b")
    assert rest["type"] == "response.completed"


def test_a_message_that_is_too_large_closes_the_socket(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    limits = Limits(max_body_bytes=10_000)
    with listening(evolve(settings, limits=limits)) as url, connected(url) as socket:
        send(socket, input="x" * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


# -- the end


def test_a_client_that_goes_away_cancels_the_upstream(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """All lanes; their places are free."""
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"}), 30.0, DONE])
    with listening(settings) as url:
        with connected(url) as socket:
            send(socket, stream_id="a")
            send(socket, stream_id="b")
            wait_until(lambda: len(upstream.received) == 2)
        wait_until(lambda: len(upstream.disconnects) == 2)
        place = f"{url.removesuffix('/v1')}/metrics"
        wait_until(lambda: "openbridge_running_responses 0.0" in httpx.get(place).text)


def test_a_client_that_does_not_read_counts_as_gone(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: streamed(
        [*(chat_chunk(delta={"content": "x" * 60_000}) for _ in range(400)), 30.0, DONE]
    )
    limits = Limits(send_s=0.5)
    with (
        listening(evolve(settings, limits=limits)) as url,
        connected(url, max_queue=1, max_size=None, close_timeout=0.1) as socket,
    ):
        send(socket)
        wait_until(lambda: bool(upstream.disconnects))


def test_an_old_connection_takes_no_more_and_is_closed(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response under way comes to its end."""
    release, aging = threading.Event(), threading.Event()
    opened: list[Any] = []
    end_at_age = connection.SocketConnection._end_at_age

    async def end_when_told(served: Any) -> None:
        opened.append(served)
        while not aging.is_set():  # noqa: ASYNC110  (another thread's event)
            await anyio.sleep(0.01)
        await end_at_age(served)

    monkeypatch.setattr(connection, "MAX_AGE_S", 0.01)
    monkeypatch.setattr(connection.SocketConnection, "_end_at_age", end_when_told)
    upstream.handler = lambda _: streamed(held(release, chat_stream(["a", "b", "c"])))
    with listening(settings) as url, connected(url) as socket:
        send(socket)
        wait_until(lambda: bool(upstream.received))
        aging.set()
        wait_until(lambda: opened[0]._is_old)
        send(socket, stream_id="late")
        found = list(until_error(socket, "late"))
        release.set()
        found += until_closed(socket)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)

    errors = [event for event in found if event["type"] == "error"]
    assert "response.completed" in [event["type"] for event in found]
    assert [event.get("stream_id") for event in errors] == ["late", None]
    assert {event["error"]["code"] for event in errors} == {"websocket_connection_limit_reached"}
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "ended"), [("10", "completed"), ("1", "failed")])
def test_a_stop_lets_answers_come_to_their_end(
    upstream: Loopback, tmp_path: Path, patience: str, ended: str
) -> None:
    """Those that outlast the patience have failed; idle sockets are closed at once, with a code."""
    upstream.handler = lambda _: streamed(chat_stream(["a", "b", "c", "d"], pause=0.7))
    named = {
        "OPENROUTER_API_KEY": UPSTREAM_KEY,
        "OPENROUTER_BASE_URL": f"{upstream.url}/v1",
        "OPENBRIDGE_SHUTDOWN_SECONDS": patience,
    }
    with gateway(tmp_path, **named) as running:
        with connected(running.url) as socket, connected(running.url) as idle:
            send(socket)
            assert json.loads(socket.recv())["type"] == "response.created"
            running.process.send_signal(signal.SIGTERM)
            last = events(socket)[-1]
            for one in (idle, socket):
                with pytest.raises(ConnectionClosed) as closed:
                    one.recv(timeout=10)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1012
        assert running.process.wait(10) in (0, -signal.SIGTERM)

    assert last["type"] == f"response.{ended}"
    assert not any("exception" in line for line in running.lines)


# -- clients of others, and ours


@pytest.mark.filterwarnings("ignore:connect:DeprecationWarning")
def test_the_official_client_runs_turns(upstream: Loopback, settings: GatewaySettings) -> None:
    with (
        listening(settings) as url,
        openai.OpenAI(base_url=url, api_key="any") as client,
        client.responses.connect() as socket,
    ):
        names: list[str] = []
        for text in ("Hi", "And you?"):
            socket.response.create(
                model="m-1",
                store=False,
                input=text,
                previous_response_id=names[-1] if names else None,
            )
            for event in socket:
                if event.type == "response.completed":
                    names.append(event.response.id)
                    assert event.response.output_text == "Hello"
                    break
        socket.response.create(model="m-1", input="x", previous_response_id="resp_no")
        refusal = socket.recv()

    assert len(messages(upstream)) == 3
    assert refusal.type == "error"
    assert refusal.error.code == "previous_response_not_found"
    assert refusal.status == 400


@pytest.mark.anyio
async def test_our_client_runs_turns(upstream: Loopback, settings: GatewaySettings) -> None:
    """Over one socket, each with what is new alone."""
    with listening(settings) as url:
        model = OpenAI.configure(api_key="any", base_url=url).responses_websocket("m-1")
        async with Client() as client:
            question = request(model=model, prompt="Hi")
            first = await client.complete(question)
            more = (*question.messages, first.message, Message.user("And you?"))
            second = await client.complete(changed(question, messages=more))
        place = f"{url.removesuffix('/v1')}/metrics"
        counted = (await anyio.to_thread.run_sync(httpx.get, place)).text

    assert (first.text, second.text) == ("Hello", "Hello")
    assert [*first.diagnostics, *second.diagnostics] == []
    assert len(messages(upstream)) == 3
    assert 'route="socket_create",status="200"} 2.0' in counted


def test_the_next_target_answers_where_the_first_one_fails() -> None:
    """Before anything was sent; the connection remembers the response that came."""
    config = '[models."m-1"]\ntargets = [["a/m-1"], ["b/m-1"]]\n'
    with (
        pooled_gateway(
            config, a=lambda _: refused(500, "no"), b=lambda _: streamed(chat_stream())
        ) as scene,
        connected(scene.url) as socket,
    ):
        first = turn(socket)
        second = turn(socket, previous_response_id=first["response"]["id"])

    assert [event["type"] for event in (first, second)] == ["response.completed"] * 2
    assert len(messages(scene.upstreams["b"])) == 3
    assert len(scene.upstreams["a"].received) >= 1


def test_many_sockets_do_not_disturb_each_other(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    found: list[str] = []

    def run(url: str, number: int) -> None:
        with connected(url) as socket:
            found.extend(turn(socket, input=f"client {number}")["type"] for _ in range(3))

    with listening(settings) as url:
        threads = [threading.Thread(target=run, args=(url, number)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)

    assert found == ["response.completed"] * 24


def test_a_conversation_that_is_too_long_is_not_remembered() -> None:
    memory = SocketMemory(max_messages=2)
    short = StoredConversation(model="m", messages=(Message.user("1"),))
    memory.remember("a", "resp_1", short)
    memory.remember("b", "resp_2", short)
    memory.remember("a", "resp_3", StoredConversation(model="m", messages=(Message.user("1"),) * 3))

    assert list(memory) == ["resp_2"]
    assert memory["resp_2"] == short
    memory.forget("resp_2")
    assert not memory
