"""Bounds on the memory, places and log lines that a hostile or broken client costs."""

import asyncio
import gc
import gzip
import io
import json
import logging
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import anyio
import httpx
import pytest
from attrs import evolve
from uvicorn.server import ServerState

from llmcore.bridge import api
from llmcore.bridge.apis import responses as operations_module
from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from llmcore.bridge.health_check import HealthCheck
from llmcore.bridge.http import metrics, server
from llmcore.bridge.http.app import make_app
from llmcore.bridge.http.logs import LOGGER, JsonFormatter
from llmcore.bridge.http.responses import diagnostic_codes
from llmcore.bridge.service import Service
from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.client import large_requests
from llmcore.client.large_requests import LARGE_REQUEST_VALUES
from llmcore.fronts.openai_responses import request as translate_module
from llmcore.routes.route import Route
from llmcore.schema.diagnostics import Diagnostic
from tests.support.servers.bridge_service import asked, listening, refused, settings_for, streamed
from tests.support.servers.loopback import Answer, Loopback, Received, chat_chunk, chat_stream
from tests.support.waiting import PATIENCE_S, wait_until

ASK = {"model": "m-1", "input": "Hi"}


# -- Memory


@pytest.mark.anyio
async def test_made_up_methods_are_counted_as_one(settings: GatewaySettings) -> None:
    """Each name of a metric's label is kept until the process ends."""
    async with asked(settings) as client:
        for number in range(20):
            await client.request(f"METHOD{number}", "/v1/models")
        lines = (await client.get("/metrics")).text.splitlines()

    counted = [line for line in lines if line.startswith("openbridge_requests_total")]
    assert next(line for line in counted if 'method="other"' in line).endswith(" 20.0")
    assert not any("METHOD" in line for line in counted)


def test_made_up_models_are_counted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """From so many on: clients can ask for any name, and each pair with a key is a series."""
    monkeypatch.setattr(metrics, "_MAX_SERIES", 5)
    counts = metrics.Metrics()
    for number in range(100):
        row = SpendRow(
            id="a",
            at=0.0,
            key="k",
            model="m",
            provider="p",
            target=f"m{number}",
            outcome="completed",
            input_tokens=1,
        )
        counts.count_spend(row)
    text = counts.exposition().decode()

    lines = [
        line for line in text.splitlines() if line.startswith("openbridge_key_responses_total")
    ]
    assert len(lines) == 6
    assert lines[-1].endswith('model="other",outcome="completed"} 95.0')


@pytest.mark.anyio
async def test_a_body_of_millions_of_empty_lists_is_refused(settings: GatewaySettings) -> None:
    """As values they would be twenty times as large as the body is."""
    body = b'{"model": "m-1", "input": [' + b"[]," * 1_500_000 + b"[]]}"
    async with asked(settings) as client:
        headers = {"content-type": "application/json"}
        answer = await client.post("/v1/responses", content=body, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert "lists" in answer.json()["error"]["message"]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("relay", [True, False])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_event_that_is_too_large_leaves_nothing_in_memory(
    upstream: Loopback, relay: bool, stream: bool
) -> None:
    """Not even until cycles are collected, which the tracebacks of failures are."""

    def endless(_received: Received) -> Answer:
        pieces = [b'data: {"x":"', *(b"a" * 2**20 for _ in range(66))]
        return Answer(pieces, headers={"content-type": "text/event-stream"})

    upstream.handler = endless
    body = {"model": "m-1", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    settings = settings_for(upstream.url, relay=relay)
    gc.disable()
    tracemalloc.start()
    try:
        async with asked(settings) as client:
            answers = [await client.post("/v1/chat/completions", json=body) for _ in range(2)]
            left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()

    assert [answer.status_code for answer in answers] == [502, 502]
    assert "has more than 67108864 bytes" in answers[0].text
    assert left < 40_000_000


@pytest.mark.anyio
async def test_a_full_gateway_reads_no_bodies(settings: GatewaySettings) -> None:
    """They would all be in memory at once."""
    service = Service.from_settings(evolve(settings, limits=Limits(max_running=1)))
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(3):
            read += 1
            yield b" "

    transport = httpx.ASGITransport(app=make_app(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        with service.admissions.admitted():
            headers = {"content-type": "application/json"}
            answers = [
                await client.post(path, content=body(), headers=headers)
                for path in ("/v1/responses", "/v1/responses/input_tokens")
            ]
    await service.aclose()

    assert [answer.status_code for answer in answers] == [503, 503]
    assert read == 0


@pytest.mark.anyio
async def test_a_refused_request_gives_its_place_back(settings: GatewaySettings) -> None:
    """Whatever it is refused for."""
    async with asked(evolve(settings, limits=Limits(max_running=1))) as client:
        for body in ({}, {"model": "m-1"}, {**ASK, "previous_response_id": "resp_none"}):
            assert (await client.post("/v1/responses", json=body)).status_code == 400
        assert (await client.post("/v1/responses", json=ASK)).status_code == 200


@pytest.mark.anyio
async def test_thousands_of_tools_are_refused(settings: GatewaySettings) -> None:
    """Finding the allowed ones among them would take minutes."""
    tools = [{"type": "function", "name": f"t{n}", "parameters": {}} for n in range(5000)]
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "tools": tools})

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "tools")


@pytest.mark.anyio
@pytest.mark.parametrize("model", ["../../files", "a/../b", ".", "m\n1", "m\x00", " m", "m "])
async def test_a_model_cannot_leave_its_place_in_a_path(
    upstream: Loopback, settings: GatewaySettings, model: str
) -> None:
    """Some upstreams have its name in their addresses, which are asked with our key."""
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "model": model})

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
    assert upstream.received == []


@pytest.mark.anyio
@pytest.mark.parametrize("store", [True, False])
async def test_the_values_of_a_request_are_counted_once(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, store: bool
) -> None:
    """To count those of a large one takes as long as to read them."""
    counted: list[object] = []

    def count(*values: object) -> bool:
        counted.extend(values)
        return False

    monkeypatch.setattr(api, "holds_much", count)
    monkeypatch.setattr(large_requests, "holds_much", count)
    long = "words " * 1000
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "input": long, "store": store})

    assert answer.status_code == 200
    assert [json.dumps(value).count(long) for value in counted] == [1]


def long_inputs() -> dict[str, dict[str, Any]]:
    """Return requests that are long in one place each."""
    many = LARGE_REQUEST_VALUES + 1
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    properties = {f"p{number}": {"type": "string"} for number in range(many)}
    schema = {"type": "object", "properties": properties}
    texts = [{"type": "input_text", "text": "x"}] * many
    summary = [{"type": "summary_text", "text": "x"}] * many
    deep = json.dumps({"a": [[]] * many})
    return {
        "parts of a message": {"input": [{"role": "user", "content": texts}]},
        "parts of an output": {"input": [call, {**output, "output": texts}]},
        "thinking": {"input": [{"type": "reasoning", "summary": summary}, *ASK_ITEMS]},
        "arguments": {"input": [{**call, "arguments": deep}, output]},
        "a tool": {"tools": [{"type": "function", "name": "f", "parameters": schema}]},
        "the format": {
            "text": {"format": {"type": "json_schema", "name": "f", "schema": schema}},
        },
        "unknown fields": {f"u{number}": 1 for number in range(many)},
    }


ASK_ITEMS = [{"role": "user", "content": "Hi"}]


@pytest.mark.anyio
@pytest.mark.parametrize("where", long_inputs())
async def test_what_is_long_anywhere_is_translated_beside_the_loop(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Its size counts, not the number of input items: other streams go on meanwhile."""
    threads: dict[str, list[int]] = {"read_request": [], "prepare": []}

    def noted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*args: Any, **fields: Any) -> Any:
            threads[name].append(threading.get_ident())
            return original(*args, **fields)

        monkeypatch.setattr(module, name, call)

    noted(operations_module, "read_request")
    noted(Route, "prepare")
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, **long_inputs()[where]})

    assert answer.status_code == 200
    assert threading.get_ident() not in threads["read_request"]
    if where not in ("arguments", "unknown fields"):  # these are short once they are read
        assert threading.get_ident() not in threads["prepare"]


@pytest.mark.anyio
async def test_unknown_fields_are_named_up_to_a_number(settings: GatewaySettings) -> None:
    """The header stays short, however many there are."""
    body = {**ASK, **{f"unknown_{number}": 1 for number in range(5000)}}
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json=body)

    assert answer.status_code == 200
    named = answer.headers["x-openbridge-diagnostics"]
    assert len(named) <= 1024
    *first, rest = named.split("; ")
    assert first[0] == "dropped unknown-parameter unknown_0"
    assert rest == f"dropped unknown-parameter * ({5000 - len(first)} more)"


def lost(path: str) -> Diagnostic:
    return Diagnostic("unknown-parameter", path, action="dropped", message="no place for it")


def test_diagnostics_that_a_header_has_no_room_for_are_counted() -> None:
    """Whole ones are shown, however long the names are that a client invents."""
    notes = [lost(f"field_{number}") for number in range(500)]
    shown = diagnostic_codes([*notes, *notes])
    long = diagnostic_codes([lost(f"{number}" * 5000) for number in range(10)])

    assert shown is not None
    assert len(shown) < 1024
    *first, rest = shown.split("; ")
    assert first == [f"dropped unknown-parameter field_{number}" for number in range(len(first))]
    assert rest == f"and {500 - len(first)} more"
    assert long is not None
    assert len(long) < 1024
    assert diagnostic_codes([]) is None


@pytest.mark.anyio
async def test_long_conversations_are_read_beside_the_loop(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their translation takes a while, in which other streams go on."""
    loop_thread, threads = threading.get_ident(), []
    read = translate_module.read_request

    def noted(*args: Any, **fields: Any) -> Any:
        threads.append(threading.get_ident())
        return read(*args, **fields)

    monkeypatch.setattr(operations_module, "read_request", noted)
    said = [{"role": role, "content": "x"} for _ in range(250) for role in ("user", "assistant")]
    async with asked(settings) as client:
        first = (await client.post("/v1/responses", json={**ASK, "input": said})).json()
        again = {**ASK, "previous_response_id": first["id"]}
        assert (await client.post("/v1/responses", json=again)).status_code == 200
        assert (await client.post("/v1/responses", json=ASK)).status_code == 200

    sent: Any = upstream.received[1].json
    assert len(sent["messages"]) == 502
    assert [one == loop_thread for one in threads] == [False, False, True]


@pytest.mark.slow
@pytest.mark.anyio
async def test_packed_bodies_of_responses_under_way_are_bounded_in_memory(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Each is small on the wire; they are given back as the responses end."""
    upstream.handler = lambda _: streamed([1.0, *chat_stream()])
    body = gzip.compress(json.dumps({**ASK, "instructions": "x" * 900}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    statuses: list[int] = []
    async with asked(evolve(settings, limits=Limits(max_body_bytes=1000))) as client:

        async def post() -> None:
            answer = await client.post("/v1/responses", content=body, headers=headers)
            statuses.append(answer.status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(post)
        await post()

    assert sorted(statuses) == [200] * 9 + [503] * 4


@pytest.mark.anyio
async def test_the_list_of_models_is_asked_for_once(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """However many clients ask for it at once."""
    upstream.handler = lambda _: refused(200, "", data=[])
    async with asked(settings) as client, anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(client.get, "/v1/models")

    assert len(upstream.received) == 1


@pytest.mark.anyio
async def test_the_store_is_not_kept_busy_by_health_checks(settings: GatewaySettings) -> None:
    """They need no key."""
    service = Service.from_settings(settings)
    checks = 0

    class Counted(SqliteResponseStore):
        async def check(self) -> None:
            nonlocal checks
            checks += 1

    service.health = HealthCheck(Counted(None, ttl_s=60, max_entries=1, max_bytes=1).check)
    for _ in range(20):
        assert (await service.health.result())["status"] == "ok"
    await service.aclose()

    assert checks == 1


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_store_that_does_not_answer_does_not_hold_health_checks(
    settings: GatewaySettings,
) -> None:
    """Else probes with a time limit of a few seconds would have each gateway restarted."""
    service = Service.from_settings(settings)
    answers, answered = anyio.Event(), anyio.Event()

    class Silent(SqliteResponseStore):
        async def check(self) -> None:
            await answers.wait()
            answered.set()

    service.health = HealthCheck(Silent(None, ttl_s=60, max_entries=1, max_bytes=1).check)
    with anyio.fail_after(20):
        silent = [(await service.health.result())["status"] for _ in range(2)]
        answers.set()
        await answered.wait()
        later = (await service.health.result())["status"]
    await service.aclose()

    assert (silent, later) == (["degraded", "degraded"], "ok")


# -- Connections


def connected(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def is_closed(client: socket.socket, *, drip: bytes = b"") -> bool:
    """Wait until the gateway closes the connection, on which *drip* is sent meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    client.settimeout(0.05)
    while time.monotonic() < deadline:
        try:
            if drip:
                client.sendall(drip)
            if not client.recv(65536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


HEAD = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"


@pytest.mark.parametrize("before", [b"", HEAD, HEAD + b"\r\n" + HEAD])
@pytest.mark.parametrize("drip", [b"", b"a: b\r\n"])
def test_a_head_that_never_ends_is_given_up(
    settings: GatewaySettings, before: bytes, drip: bytes
) -> None:
    """From the first byte or later, also after a response; others are answered meanwhile."""
    slow = evolve(settings, limits=Limits(body_s=0.5))
    with listening(slow) as url, connected(url) as client:
        client.sendall(before)
        if b"\r\n\r\n" in before:
            time.sleep(0.2)
        assert is_closed(client, drip=drip if before else b"")


POST = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("before", "endless"),
    [
        (HEAD, b"x: " + b"x" * 1000 + b"\r\n"),
        (HEAD + b"x: ", b"x" * 1000),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"x: " + b"x" * 1000 + b"\r\n"),
        (CHUNKED + b"2;x=", b"x" * 1000),
    ],
    ids=["headers", "one header", "trailers", "an extension of a chunk"],
)
def test_a_head_that_never_ends_is_refused(
    settings: GatewaySettings, before: bytes, endless: bytes
) -> None:
    """The connection is closed soon after the limit, with the status for it."""
    sent, received = 0, b""
    with (
        listening(evolve(settings, limits=Limits(max_header_bytes=8192))) as url,
        connected(url) as client,
    ):
        client.sendall(before)
        client.settimeout(0.02)
        while sent < 2_000_000:
            try:
                client.sendall(endless)
                sent += len(endless)
                received += (data := client.recv(65536))
                if not data:
                    break
            except TimeoutError:
                continue
            except OSError:
                break

    assert sent < 100_000
    assert received.startswith(b"HTTP/1.1 431") or not received
    assert b"headers_too_large" in received or not received


def test_a_body_in_small_chunks_is_read_whatever_their_framing_takes(
    settings: GatewaySettings,
) -> None:
    """Each byte of it comes in a chunk of its own."""
    body = json.dumps({**ASK, "instructions": "x" * 3000}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    limits = Limits(max_header_bytes=1024)
    with listening(evolve(settings, limits=limits)) as url, connected(url) as client:
        client.sendall(CHUNKED + chunks + b"0\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_connection_that_waits_for_the_next_request_is_kept(settings: GatewaySettings) -> None:
    """Silence between two requests is allowed."""
    with listening(evolve(settings, limits=Limits(body_s=0.3))) as url, httpx.Client() as client:
        address = url.removesuffix("/v1") + "/healthz"
        sockets = []
        for _ in range(2):
            with client.stream("GET", address) as answer:
                sockets.append(answer.extensions["network_stream"].get_extra_info("client_addr"))
                answer.read()
            time.sleep(0.8)
    assert sockets[0] == sockets[1]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such option")
@pytest.mark.usefixtures("restored_logs")
def test_a_client_whose_network_is_gone_is_given_up_by_the_system(
    settings: GatewaySettings,
) -> None:
    """After the time for sending, where it acknowledges nothing; silent ones are probed."""
    asked_for = evolve(settings, port=0, limits=Limits(send_s=7.5))
    with server._bound(asked_for, ()) as (_, listener, url):
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(address), listener.accept()[0] as accepted:
            given_up_ms = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            is_probed = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            idle_s = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)

    assert (given_up_ms, is_probed, idle_s) == (7500, 1, 60)


@pytest.mark.parametrize("keep_alive_s", [0.0, 0.1])
def test_a_client_that_does_not_read_gives_its_place_back(
    upstream: Loopback, settings: GatewaySettings, keep_alive_s: float
) -> None:
    """Its connection is open, and nothing more goes into it: no heartbeat either."""
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "x" * 60_000})] * 400)
    limits = Limits(send_s=0.5)
    settings = evolve(settings, limits=limits, keep_alive_s=keep_alive_s)
    with listening(settings) as url, connected(url) as client:
        body = json.dumps({**ASK, "stream": True, "store": False}).encode()
        client.sendall(
            b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        wait_until(lambda: running(url, 1))
        wait_until(lambda: running(url, 0))


@pytest.mark.skipif(sys.platform != "linux", reason="the option of the socket is of Linux")
def test_little_is_kept_for_a_client_that_does_not_read() -> None:
    """The gateway reads its upstream no further than that, and keeps no text of what follows."""
    sent = 0
    with (
        closing(server.listening("127.0.0.1", 0, send_s=60)) as listener,
        closing(socket.create_connection(listener.getsockname())),
        closing(listener.accept()[0]) as connection,
        suppress(BlockingIOError),
    ):
        connection.setblocking(False)
        while sent < 10_000_000:
            sent += connection.send(b"x" * 65_536)

    assert 65_536 <= sent < 1_500_000


def running(url: str, count: int) -> bool:
    """Return whether so many responses are under way."""
    metrics = httpx.get(f"{url.removesuffix('/v1')}/metrics").text
    return f"openbridge_running_responses {count}.0" in metrics


def test_uploads_that_never_arrive_keep_no_caller_out(settings: GatewaySettings) -> None:
    """A request counts once its body is there."""
    with listening(evolve(settings, limits=Limits(max_running=2))) as url, ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(connected(url))
            client.sendall(
                b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n"
                b"content-type: application/json\r\ncontent-length: 10\r\n\r\n"
            )
        time.sleep(0.2)
        answer = httpx.post(f"{url}/responses", json=ASK)

    assert answer.status_code == 200


def test_a_length_beside_a_transfer_coding_is_refused(settings: GatewaySettings) -> None:
    """Servers disagree on where such a request ends: nothing behind it is read as another."""
    hidden = b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with listening(settings) as url, connected(url) as client:
        client.sendall(
            b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            b"0\r\n\r\n" + hidden
        )
        received = b""
        while data := client.recv(65536):
            received += data

    assert received.startswith(b"HTTP/1.1 400")
    assert b"invalid_framing" in received
    assert received.count(b"HTTP/1.1") == 1


BODY = b"content-type: application/json\r\n"
LIES = [
    b"content-length: -1\r\n\r\n",
    b"content-length: +2\r\n\r\n{}",
    b"content-length: 2, 3\r\n\r\n{}",
    b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    b"content-length: 0x2\r\n\r\n{}",
    b"content-length: 2 2\r\n\r\n{}",
    b"content-length: " + b"9" * 30 + b"\r\n\r\n{}",
    b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    b"transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    b"transfer-encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n",
    b"transfer-encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"transfer-encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b" content-length: 2\r\n\r\n{}",
]


def test_lies_about_a_bodys_length_are_refused(
    upstream: Loopback, settings: GatewaySettings, log: io.StringIO
) -> None:
    """With a status of the client's, and nothing behind them is read as another request."""
    statuses = []
    with listening(settings) as url:
        for lie in LIES:
            with connected(url) as client:
                client.sendall(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n" + BODY + lie)
                received = client.recv(65536)
                statuses.append(int(received[9:12]))
        assert httpx.post(f"{url}/responses", json=ASK).status_code == 200

    assert {status // 100 for status in statuses} <= {4, 5}
    assert 500 not in statuses
    assert len(upstream.received) == 1
    assert "Traceback" not in log.getvalue()


def test_a_rate_is_of_the_connection_not_of_a_header(settings: GatewaySettings) -> None:
    """Without a key it is the address that counts, which a client cannot choose."""
    with listening(evolve(settings, limits=Limits(rate_per_minute=3))) as url:
        statuses = [
            httpx.get(f"{url}/responses/x", headers={"x-forwarded-for": f"10.0.0.{n}"}).status_code
            for n in range(5)
        ]

    assert statuses[3:] == [429, 429]


def test_a_client_that_will_send_no_more_counts_as_gone(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """It cannot be told from one that has left, whose upstream must not go on at its cost."""
    upstream.handler = lambda _: streamed([30.0])
    body = json.dumps(ASK).encode()
    with listening(settings) as url, connected(url) as client:
        client.sendall(
            b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        wait_until(lambda: running(url, 1))
        client.shutdown(socket.SHUT_WR)
        wait_until(lambda: running(url, 0))
        assert client.recv(1) == b""


# -- The log


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield stream
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(level)


NASTY = "m\r\n{}\u2028\x85\x1b[31m\x9b31m\ud800"


@pytest.mark.anyio
async def test_no_client_writes_lines_of_the_log(
    settings: GatewaySettings, log: io.StringIO
) -> None:
    """Line ends and the codes of terminals are escaped, what is long is cut."""
    body = json.dumps({**ASK, "model": NASTY + "x" * 100_000}).encode()
    async with asked(settings) as client:
        headers: Any = {
            "content-type": b"application/json",
            "x-request-id": "\x85\x9b".encode("latin-1") + b"y" * 5000,
        }
        await client.post("/v1/responses", content=body, headers=headers)

    text = log.getvalue()
    assert text.isascii()
    assert text.isprintable() or text.replace("\n", "").isprintable()
    lines = text.splitlines()
    assert all(len(line) < 5000 for line in lines)
    assert json.loads(lines[-1])["event"] == "request"
    assert "'m\r\n{}" in json.loads(lines[-1])["error"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["\ud800", "resp_é", "\x00"])
async def test_unknown_ids_are_not_found(settings: GatewaySettings, name: str) -> None:
    """Whatever they are made of."""
    reference = {"type": "item_reference", "id": name}
    bodies: list[dict[str, Any]] = [{"previous_response_id": name}, {"input": [reference]}]
    headers = {"content-type": "application/json"}
    async with asked(settings) as client:
        answers = [
            await client.post("/v1/responses", content=json.dumps({**ASK, **b}), headers=headers)
            for b in bodies
        ]

    assert [answer.status_code for answer in answers] == [400, 404]


def test_requests_that_arrive_as_the_gateway_stops_are_answered(settings: GatewaySettings) -> None:
    """On connections that are kept; the response tells the client not to use it again."""
    first, second, unused = asyncio.run(_asked_as_it_stops(settings))

    assert (first[:15], second[:15]) == (b"HTTP/1.1 200 OK",) * 2
    assert b"connection: close" not in first
    assert b"connection: close" in second
    assert unused == b""


async def _asked_as_it_stops(settings: GatewaySettings) -> list[bytes]:
    """Return the responses before and during a shutdown, and what an idle connection gets."""
    service = Service.from_settings(settings)
    config = server.uvicorn_config(make_app(service), settings)
    config.load()
    kind: Any = config.http_protocol_class
    state = ServerState()
    listener = await asyncio.get_running_loop().create_server(
        lambda: kind(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    async with listener:
        address = listener.sockets[0].getsockname()
        (used, writer), (unused, other) = [await asyncio.open_connection(*address) for _ in "ab"]
        writer.write(request)
        answers = [await used.readuntil(b"}")]
        for connection in list(state.connections):
            connection.shutdown()
        writer.write(request)
        answers += [await used.read(), await unused.read()]
        writer.close()
        other.close()
    await service.aclose()
    return answers
