"""The gateway on a real socket: clients that disconnect, stay silent or abort."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from tests.support.cycles import in_cycles
from tests.support.servers.bridge_service import (
    events_of,
    listening,
    refused,
    settings_for,
    streamed,
    text_of,
    tool_script,
)
from tests.support.servers.loopback import (
    DONE,
    Loopback,
    chat_chunk,
    chat_handler,
    chat_stream,
    chat_whole,
    serve,
)
from tests.support.waiting import wait_until

ASK = {"model": "m-1", "input": "Hi"}


def metrics(url: str) -> str:
    return httpx.get(f"{url.removesuffix('/v1')}/metrics").text


def post(url: str, body: Any) -> httpx.Response:
    return httpx.post(f"{url}/responses", json=body, timeout=30)


# -- Older and intermediate software


@pytest.mark.parametrize("size", [1, 70_000])
def test_a_stream_over_http_1_0_ends_with_its_connection(
    upstream: Loopback, settings: GatewaySettings, size: int
) -> None:
    """Its clients do not know the chunked coding."""
    text = "\r\n0\r\n\r\nx" * size
    upstream.handler = lambda _: streamed(chat_stream([text]))
    body = json.dumps({**ASK, "stream": True}).encode()
    head = b"POST /v1/responses HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with listening(settings) as url:
        port = int(url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
            received = b""
            while data := client.recv(65536):
                received += data

    fields, _, content = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in fields
    assert b"connection: close" in fields
    last = events_of(content)[-1]
    assert (last["type"], text_of(last["response"])) == ("response.completed", text)


def test_a_stream_asks_proxies_to_pass_it_on_as_it_comes(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """nginx would buffer it, and others would compress it, for which they wait for more."""
    with listening(settings) as url:
        headers = post(url, {**ASK, "stream": True}).headers

    assert headers["x-accel-buffering"] == "no"
    assert headers["cache-control"] == "no-cache, no-transform"


# -- Leaving


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_a_client_that_goes_away_cancels_the_upstream(
    upstream: Loopback, stream: bool, begun: bool
) -> None:
    """Before the first event and after it, streamed and whole."""
    first: list[bytes | float] = [chat_chunk(delta={"content": "Hel"})] if begun else []
    upstream.handler = lambda _: streamed([*first, 600.0, DONE])
    with listening(settings_for(upstream.url)) as url:
        host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request(
            "POST",
            "/v1/responses",
            json.dumps({**ASK, "stream": stream}),
            {"content-type": "application/json"},
        )
        if stream and begun:
            assert connection.getresponse().readline().startswith(b"event: response.created")
        wait_until(lambda: bool(upstream.received))
        time.sleep(0.1)
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()

        wait_until(lambda: bool(upstream.disconnects))


def test_many_that_leave_free_their_places(upstream: Loopback) -> None:
    """The gateway has as many free places after them as before."""
    upstream.handler = lambda r: (
        streamed([chat_chunk(delta={"content": "x"}), 30.0])
        if b"stay" in r.body
        else chat_handler(r)
    )
    settings = evolve(settings_for(upstream.url), limits=Limits(max_running=20))
    with listening(settings) as url:
        for _ in range(3):
            with httpx.Client() as client:
                for _ in range(20):
                    body = {**ASK, "input": "stay", "stream": True}
                    request = client.build_request("POST", f"{url}/responses", json=body)
                    assert client.send(request, stream=True).status_code == 200
            wait_until(lambda: "openbridge_running_responses 0.0" in metrics(url))

        assert post(url, ASK).status_code == 200


# -- What responses leave behind


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("path", ["chat/completions", "responses"], ids=["relayed", "translated"])
def test_a_response_that_ended_leaves_no_reference_cycles(
    settings: GatewaySettings, path: str, stream: bool
) -> None:
    """Its memory is free at once, and no time is spent on looking for it."""
    content = {"role": "user", "content": "Hi"}
    body = {"model": "m-1", "input" if path == "responses" else "messages": [content]}
    with listening(settings) as url:

        def ask() -> None:
            answer = httpx.post(f"{url}/{path}", json={**body, "stream": stream})
            assert answer.status_code == 200
            wait_until(lambda: "openbridge_running_responses 0.0" in metrics(url))

        assert not in_cycles(ask)


@pytest.mark.parametrize("reads", [True, False], ids=["leaves", "stalls"])
@pytest.mark.parametrize("path", ["chat/completions", "responses"], ids=["relayed", "translated"])
def test_a_stream_whose_client_is_gone_leaves_no_reference_cycles(
    upstream: Loopback, path: str, reads: bool
) -> None:
    """Whether the client closes the connection, or takes nothing for too long."""
    events = [chat_chunk(delta={"content": "x" * 60_000})] * 200
    upstream.handler = lambda _: streamed([*events, 30.0])
    settings = evolve(settings_for(upstream.url), limits=Limits(send_s=10.0 if reads else 0.2))
    content = {"role": "user", "content": "Hi"}
    body = {"model": "m-1", "input" if path == "responses" else "messages": [content]}
    with listening(settings) as url:
        host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")

        def ask() -> None:
            client = http.client.HTTPConnection(host, int(port), timeout=10)
            sent = json.dumps({**body, "stream": True, "store": False})
            client.request("POST", f"/v1/{path}", sent, {"content-type": "application/json"})
            answer = client.getresponse()
            assert answer.readline()
            if reads:
                answer.close()
                client.close()
            wait_until(lambda: "openbridge_running_responses 0.0" in metrics(url))
            answer.close()
            client.close()

        left = in_cycles(ask)
    assert not left


# -- Silence


def test_a_silent_upstream_is_bridged_by_comments(upstream: Loopback) -> None:
    """The stream begins, then comments; what follows is whole."""
    upstream.handler = lambda _: streamed([0.5, *chat_stream(), 0.3])
    with listening(evolve(settings_for(upstream.url), keep_alive_s=0.1)) as url:
        answer = post(url, {**ASK, "stream": True})

    body = answer.content.decode()
    assert body.startswith("event: response.created")
    assert body.count(": keep-alive\n") >= 2
    assert ": keep-alive\n\n" not in body
    events = events_of(body)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert text_of(events[-1]["response"]) == "Hello"


def test_a_failure_after_the_first_comment_is_a_failed_response(upstream: Loopback) -> None:
    """The head is sent by then."""
    answer_later = streamed([0.4, b'data: {"error": {"message": "no luck", "code": 500}}\n\n'])
    upstream.handler = lambda _: answer_later
    with listening(evolve(settings_for(upstream.url), keep_alive_s=0.1)) as url:
        answer = post(url, {**ASK, "stream": True})

    assert answer.status_code == 200
    types = [event["type"] for event in events_of(answer.content)]
    assert types == ["response.created", "response.in_progress", "error", "response.failed"]


def test_an_upstream_that_stalls_is_given_up(upstream: Loopback) -> None:
    """Its keep-alives do not count; the stream ends as failed."""
    upstream.handler = lambda _: streamed(
        [chat_chunk(delta={"content": "x"}), *([b": ping\n\n", 0.05] * 1000)]
    )
    settings = evolve(settings_for(upstream.url), limits=Limits(idle_s=0.3))
    with listening(settings) as url:
        answer = post(url, {**ASK, "stream": True})

    last = events_of(answer.content)[-1]
    assert last["type"] == "response.failed"
    assert "idle" in last["response"]["error"]["message"]


# -- Breaking off


TEXT = chat_stream(["Hel", "lo", " you"])
CALLS = tool_script(("call_1", "one", '{"a": 1}'), ("call_2", "two", '{"b": 2}'))
CUTS = [
    (name, n) for name, script in (("text", TEXT), ("calls", CALLS)) for n in range(len(script))
]


@pytest.fixture(scope="module")
def cut_url() -> Iterator[tuple[Loopback, str]]:
    with serve(chat_handler) as running, listening(settings_for(running.url)) as url:
        yield running, url


@pytest.mark.parametrize(("name", "number"), CUTS)
@pytest.mark.parametrize("torn", [False, True])
def test_an_upstream_that_dies_gives_a_terminal_event(
    cut_url: tuple[Loopback, str], name: str, number: int, torn: bool
) -> None:
    """After each of its events and in the middle of each: the stream ends with an error."""
    upstream, url = cut_url
    script = TEXT if name == "text" else CALLS
    sent: list[bytes | float] = list(script[:number])
    following = script[number]
    assert isinstance(following, bytes)
    if torn:
        sent.append(following[: len(following) // 2])
    upstream.handler = lambda _: streamed(sent, cut=True)
    tools: Any = [{"type": "function", "name": n, "parameters": {}} for n in ("one", "two")]

    answer = post(url, {**ASK, "stream": True, "tools": tools})

    finished = number > len(script) - 3  # its finish reason had come
    if answer.status_code != 200:
        assert answer.status_code == 502
        assert number <= 1
        return
    events = events_of(answer.content)
    terminal = [e for e in events if e["type"] in ("response.completed", "response.failed")]
    assert terminal == [events[-1]]
    assert events[-1]["type"] == "response.failed" or finished
    assert events[-1]["response"]["output"] is not None


def test_streams_of_all_tests_kept_the_grammar(cut_url: tuple[Loopback, str]) -> None:
    """The grammar of Responses streams held, whatever broke."""
    assert "openbridge_stream_violations_total 0.0" in metrics(cut_url[1])


def test_an_upstream_that_is_refused_before_its_stream(upstream: Loopback) -> None:
    """A whole response to a streamed question is folded just the same."""
    data = chat_whole("Not streamed")
    upstream.handler = lambda _: streamed(
        [data], headers={"content-type": "application/json"}, length=len(data)
    )
    with listening(settings_for(upstream.url)) as url:
        answer = post(url, {**ASK, "stream": True})

    assert text_of(events_of(answer.content)[-1]["response"]) == "Not streamed"


# -- The next request


def test_the_next_request_finds_what_was_just_completed(upstream: Loopback) -> None:
    """It is stored before the terminal event is sent."""
    with listening(settings_for(upstream.url)) as url:
        for _ in range(5):
            with httpx.stream("POST", f"{url}/responses", json={**ASK, "stream": True}) as stream:
                for line in stream.iter_lines():
                    if '"response.completed"' in line and line.startswith("data: "):
                        made = json.loads(line[6:])["response"]["id"]
                        again = {**ASK, "previous_response_id": made}
                        assert post(url, again).status_code == 200
                        break


# -- HTTP


def test_more_headers_than_the_limit_are_refused(upstream: Loopback) -> None:
    """More of them than the limit is refused."""
    settings = evolve(settings_for(upstream.url), limits=Limits(max_header_bytes=4096))
    with listening(settings) as url:
        answer = httpx.get(f"{url}/models", headers={"x-long": "x" * 10_000})

    assert answer.status_code == 431
    assert answer.json()["error"]["code"] == "headers_too_large"


def test_fifty_streams_at_once_are_all_whole(upstream: Loopback) -> None:
    """Nobody gets another's events."""

    def handler(received: Any) -> Any:
        words = json.loads(received.body)["messages"][0]["content"].split()
        return streamed(chat_stream(words, pause=0.01))

    upstream.handler = handler
    found: dict[int, str] = {}
    with listening(settings_for(upstream.url)) as url:

        def one(number: int) -> None:
            body = {**ASK, "input": f"a{number} b{number} c{number}", "stream": True}
            found[number] = text_of(events_of(post(url, body).content)[-1]["response"])

        threads = [threading.Thread(target=one, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert found == {n: f"a{n}b{n}c{n}" for n in range(50)}


def test_a_refusal_has_no_stream(upstream: Loopback) -> None:
    """A plain error with its own content type, also on a real socket."""
    upstream.handler = lambda _: refused(400, "no")
    with listening(settings_for(upstream.url)) as url:
        answer = post(url, {**ASK, "stream": True})

    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
