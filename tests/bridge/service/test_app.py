"""The gateway's calls over HTTP, in this process, in front of a scripted Chat server."""

import gzip
import json
import logging
import platform
import zlib
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import zstandard
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from llmcore.bridge.http.app import make_app
from llmcore.bridge.model_names import ModelNames
from llmcore.bridge.service import Service
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.fronts.openai_responses.grammar import violations
from llmcore.fronts.openai_responses.response import ResponsesWriter
from llmcore.schema.events import Finish, LLMEvent, TextStart
from llmcore.version import VERSION
from tests.support.servers.bridge_service import (
    UPSTREAM_KEY,
    asked,
    events_of,
    refused,
    streamed,
    text_of,
    tool_script,
)
from tests.support.servers.loopback import Loopback, chat_chunk, chat_handler, chat_stream
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio

ASK = {"model": "m-1", "input": "Hi"}


def sent(upstream: Loopback, number: int = -1) -> Any:
    return upstream.received[number].json


# -- POST /responses


@pytest.mark.parametrize("path", ["/v1/responses", "/responses"])
async def test_whole_response_has_its_ids_in_headers(
    settings: GatewaySettings, upstream: Loopback, path: str
) -> None:
    """Its ids go into headers, ours and (none here) the upstream's."""
    async with asked(settings) as client:
        answer = await client.post(path, json=ASK)

    response = answer.json()
    assert answer.status_code == 200
    assert (response["object"], response["status"], text_of(response)) == (
        "response",
        "completed",
        "Hello",
    )
    assert response["model"] == "m-1"
    assert response["usage"]["input_tokens"] == 3
    assert answer.headers["x-request-id"].startswith("req_")
    assert sent(upstream)["messages"] == [{"role": "user", "content": "Hi"}]


async def test_a_whole_response_is_asked_for_whole(
    settings: GatewaySettings, upstream: Loopback
) -> None:
    """A stream that the upstream sends all the same is read as one."""
    async with asked(settings) as client:
        await client.post("/v1/responses", json=ASK)
        assert not sent(upstream).get("stream")
        upstream.handler = lambda _: streamed(chat_stream(["Hel", "lo"]))
        answer = await client.post("/v1/responses", json=ASK)

    assert (answer.status_code, text_of(answer.json())) == (200, "Hello")


async def test_a_stream_has_events_from_created_to_completed(settings: GatewaySettings) -> None:
    """Events from created to completed, the last one the whole response."""
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": True})

    events = events_of(answer.content)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"
    assert text_of(events[-1]["response"]) == "Hello"


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.compress)],
)
async def test_compressed_requests_are_read(
    settings: GatewaySettings, encoding: str, compress: Any
) -> None:
    """Clients may compress what they send."""
    data = compress(json.dumps(ASK).encode())
    headers = {"content-type": "application/json", "content-encoding": encoding}
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", content=data, headers=headers)

    assert text_of(answer.json()) == "Hello"


async def test_tools_and_their_results(upstream: Loopback, settings: GatewaySettings) -> None:
    """A call comes back as an item, and its output goes up as a tool's message."""
    upstream.handler = lambda received: (
        streamed(tool_script(("call_1", "get_weather", '{"city": "Rome"}')))
        if len(upstream.received) == 1
        else chat_handler(received)
    )
    tool = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
    async with asked(settings) as client:
        first = (await client.post("/v1/responses", json={**ASK, "tools": [tool]})).json()
        call = first["output"][0]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        again = {"previous_response_id": first["id"], "input": [result], "tools": [tool]}
        second = (await client.post("/v1/responses", json={**ASK, **again})).json()

    assert (call["type"], call["name"]) == ("function_call", "get_weather")
    assert json.loads(call["arguments"]) == {"city": "Rome"}
    roles = [message["role"] for message in sent(upstream)["messages"]]
    assert roles == ["user", "assistant", "tool"]
    assert second["previous_response_id"] == first["id"]
    assert text_of(second) == "Hello"


# -- State


async def test_instructions_are_not_inherited(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Each request brings its own."""
    async with asked(settings) as client:
        first = (await client.post("/v1/responses", json={**ASK, "instructions": "One"})).json()
        again = {**ASK, "previous_response_id": first["id"], "instructions": "Two"}
        await client.post("/v1/responses", json=again)

    contents = [message["content"] for message in sent(upstream)["messages"]]
    assert contents == ["Two", "Hi", "Hello", "Hi"]


async def test_two_requests_continue_one_response_independently(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Two requests continue from one response, and do not see each other."""
    async with asked(settings) as client:
        root = (await client.post("/v1/responses", json=ASK)).json()["id"]
        for text in ("left", "right"):
            body = {"model": "m-1", "previous_response_id": root, "input": text}
            await client.post("/v1/responses", json=body)

    contents = [[m["content"] for m in sent(upstream, number)["messages"]] for number in (1, 2)]
    assert contents == [["Hi", "Hello", "left"], ["Hi", "Hello", "right"]]


@pytest.mark.parametrize("stream", [True, False])
async def test_what_is_not_stored_cannot_be_continued(
    settings: GatewaySettings, stream: bool
) -> None:
    """400 at once, with the code that clients know; and it cannot be fetched."""
    body = {**ASK, "store": False, "stream": stream}
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json=body)
        last = events_of(answer.content)[-1]["response"] if stream else answer.json()
        again = await client.post(
            "/v1/responses", json={**ASK, "previous_response_id": last["id"], "stream": stream}
        )
        got = await client.get(f"/v1/responses/{last['id']}")

    error = again.json()["error"]
    assert (again.status_code, error["code"], error["param"]) == (
        400,
        "previous_response_not_found",
        "previous_response_id",
    )
    assert got.status_code == 404


async def test_a_stored_response_is_what_the_stream_ended_with(settings: GatewaySettings) -> None:
    """And it is gone once it is deleted."""
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": True})
        response = events_of(answer.content)[-1]["response"]
        path = f"/v1/responses/{response['id']}"
        got = await client.get(path)
        deleted = await client.delete(path)
        again = await client.get(path)

    assert got.json() == response
    assert deleted.json() == {
        "id": response["id"],
        "object": "response.deleted",
        "deleted": True,
    }
    assert again.status_code == 404
    assert again.json()["error"]["type"] == "invalid_request_error"


async def test_output_items_can_be_referred_to(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """By their ids, while the store keeps them; 404 for those it does not have."""
    async with asked(settings) as client:
        first = (await client.post("/v1/responses", json=ASK)).json()
        reference = {"type": "item_reference", "id": first["output"][0]["id"]}
        again = {"model": "m-1", "input": [reference, {"role": "user", "content": "More"}]}
        await client.post("/v1/responses", json=again)
        unknown = {"type": "item_reference", "id": "msg_unknown"}
        missing = await client.post("/v1/responses", json={"model": "m-1", "input": [unknown]})

    assert [m["content"] for m in sent(upstream)["messages"]] == ["Hello", "More"]
    assert missing.status_code == 404
    assert "msg_unknown" in missing.json()["error"]["message"]


async def test_input_items_come_in_pages(settings: GatewaySettings) -> None:
    """Newest first unless asked otherwise."""
    items = [{"role": "user", "content": f"text {number}"} for number in range(5)]
    async with asked(settings) as client:
        made = (await client.post("/v1/responses", json={**ASK, "input": items})).json()
        path = f"/v1/responses/{made['id']}/input_items"
        newest = (await client.get(path, params={"limit": 2})).json()
        after = {"limit": 2, "after": newest["last_id"]}
        next_page = (await client.get(path, params=after)).json()
        oldest = (await client.get(path, params={"order": "asc"})).json()
        wrong = [
            (await client.get(path, params=params)).status_code
            for params in (
                {"limit": "0"},
                {"limit": "x"},
                {"limit": "9" * 5000},
                {"order": "up"},
                {"after": "msg_no"},
            )
        ]

    def texts(page: Any) -> list[str]:
        return [item["content"][0]["text"] for item in page["data"]]

    assert (texts(newest), newest["has_more"]) == (["text 4", "text 3"], True)
    assert texts(next_page) == ["text 2", "text 1"]
    assert texts(oldest) == [f"text {number}" for number in range(5)]
    assert (oldest["has_more"], oldest["first_id"]) == (False, oldest["data"][0]["id"])
    assert wrong == [400] * 5


async def test_responses_belong_to_the_key_that_made_them(settings: GatewaySettings) -> None:
    """Another key does not find them, nor continue from them."""
    keyed = evolve(settings, client_api_keys=("sk-one", "sk-two"))
    async with asked(keyed) as client:
        one, two = {"x-api-key": "sk-one"}, {"authorization": "Bearer sk-two"}
        made = (await client.post("/v1/responses", json=ASK, headers=one)).json()["id"]
        again = {**ASK, "previous_response_id": made}
        statuses = [
            (await client.get(f"/v1/responses/{made}", headers=one)).status_code,
            (await client.get(f"/v1/responses/{made}", headers=two)).status_code,
            (await client.delete(f"/v1/responses/{made}", headers=two)).status_code,
            (await client.post("/v1/responses", json=again, headers=two)).status_code,
        ]

    assert statuses == [200, 404, 404, 400]


# -- Errors


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "says"),
    [
        ("GET", "/v1/nothing", b"", 404, "no GET /v1/nothing"),
        ("PUT", "/v1/responses", b"", 405, "does not take PUT"),
        ("GET", "/v1/responses", b"", 405, "does not take GET"),
        ("POST", "/v1/responses", b"{", 400, "byte 1"),
        ("POST", "/v1/responses", b"{}", 400, "model"),
        ("POST", "/v1/responses", b'{"model": "m"}', 400, "input"),
        ("POST", "/v1/other", b"{}", 404, "POST"),
        ("POST", "/v1/responses/resp_x/cancel", b"", 404, "resp_x"),
        ("GET", "/v1/responses/resp_x", b"", 404, "resp_x"),
        ("GET", "/v1/responses/resp_x?stream=true", b"", 404, "resp_x"),
    ],
)
async def test_errors_have_openais_form(
    settings: GatewaySettings, method: str, path: str, content: bytes, status: int, says: str
) -> None:
    """Every one of them, with our request id."""
    headers = {"content-type": "application/json"}
    async with asked(settings) as client:
        answer = await client.request(method, path, content=content, headers=headers)

    error = answer.json()["error"]
    assert answer.status_code == status
    assert error.keys() == {"message", "type", "param", "code"}
    assert says in error["message"]
    assert answer.headers["x-request-id"].startswith("req_")


async def test_a_stored_response_cannot_be_cancelled(settings: GatewaySettings) -> None:
    """The error states what to do instead."""
    async with asked(settings) as client:
        made = (await client.post("/v1/responses", json=ASK)).json()["id"]
        answer = await client.post(f"/v1/responses/{made}/cancel")

    assert answer.status_code == 400
    assert "close the connection" in answer.json()["error"]["message"]


async def test_sizes_and_types_are_checked(settings: GatewaySettings) -> None:
    """413 and 415."""
    small = evolve(settings, limits=Limits(max_body_bytes=50))
    async with asked(small) as client:
        large = await client.post("/v1/responses", json={**ASK, "input": "x" * 100})
        text = await client.post("/v1/responses", content=b"{}")

    assert (large.status_code, text.status_code) == (413, 415)
    assert large.json()["error"]["code"] == "body_too_large"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "message", "told"),
    [(429, "slow down", 429), (400, "bad thing", 400), (500, "broken", 502), (409, "twice", 409)],
)
async def test_an_upstream_that_refuses_is_a_plain_error(
    upstream: Loopback,
    settings: GatewaySettings,
    stream: bool,
    status: int,
    message: str,
    told: int,
) -> None:
    """Also of a stream, as long as nothing was said; the upstream's id is in a header."""
    headers = {"x-request-id": "up-7", "retry-after": "7"}
    upstream.handler = lambda _: refused(status, message, headers=headers)
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": stream})

    assert answer.status_code == told
    assert message in answer.json()["error"]["message"]
    assert answer.headers["x-upstream-request-id"] == "up-7"
    assert answer.headers["retry-after"] == "7"


async def test_an_upstream_that_is_not_there_is_a_plain_error(settings: GatewaySettings) -> None:
    """502, and nothing of its address or key."""
    gone = evolve(settings, upstream_base_url="http://127.0.0.1:9/v1")
    async with asked(gone) as client:
        answer = await client.post("/v1/responses", json=ASK)

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_unreachable"


async def test_an_upstream_that_breaks_off_is_a_failed_response(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """In a stream that began; a whole response is an HTTP error."""
    upstream.handler = lambda _: streamed(chat_stream()[:1], cut=True)
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": True})
        whole = await client.post("/v1/responses", json=ASK)

    last = events_of(answer.content)[-1]
    assert (answer.status_code, last["type"]) == (200, "response.failed")
    assert last["response"]["status"] == "failed"
    assert last["response"]["error"]["code"] == "server_error"
    assert whole.status_code == 502


async def test_only_what_has_not_begun_is_tried_again(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """One retry after an error; none after text."""
    answers = [
        refused(503, "busy", headers={"retry-after-ms": "1"}),
        streamed(chat_stream()),
        streamed(chat_stream()[:1], cut=True),
    ]
    upstream.handler = lambda _: answers[len(upstream.received) - 1]
    async with asked(evolve(settings, retries=1)) as client:
        first = await client.post("/v1/responses", json={**ASK, "stream": True})
        second = await client.post("/v1/responses", json={**ASK, "stream": True})

    assert events_of(first.content)[-1]["type"] == "response.completed"
    assert events_of(second.content)[-1]["type"] == "response.failed"
    assert len(upstream.received) == 3


# -- Parameters and formats


async def test_a_parameter_that_the_upstream_rejects_is_left_out(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Once, and only those that the configuration names; a header reports it."""

    def handler(received: Any) -> Any:
        if "top_p" in received.json:
            message = "Unsupported parameter: 'top_p' is not supported with this model."
            return refused(400, message, param="top_p", code="unsupported_parameter")
        return streamed(chat_stream())

    upstream.handler = handler
    body = {**ASK, "top_p": 0.5}
    async with asked(evolve(settings, retry_without=("top_p",))) as client:
        helped = await client.post("/v1/responses", json=body)
    async with asked(evolve(settings, retry_without=())) as client:
        refused_ = await client.post("/v1/responses", json=body)

    assert helped.status_code == 200
    assert helped.headers["x-openbridge-dropped"] == "top_p"
    assert "top_p" in helped.headers["x-openbridge-diagnostics"]
    assert refused_.status_code == 400


ENCRYPTED = {"include": ["reasoning.encrypted_content"], "store": False}


def reasoned(encrypted: str) -> list[bytes | float]:
    """Return a response of OpenRouter's with encrypted reasoning."""
    details = [
        {
            "type": "reasoning.encrypted",
            "data": encrypted,
            "id": "rs_1",
            "format": "openai-responses-v1",
        }
    ]
    return [chat_chunk(delta={"reasoning_details": details}), *chat_stream()]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("stored", [True, False])
async def test_a_session_goes_on_without_reasoning_that_the_upstream_refuses(
    upstream: Loopback, settings: GatewaySettings, stream: bool, stored: bool
) -> None:
    """One more request, without it; the text stays, and a stored conversation is mended."""

    def handler(received: Any) -> Any:
        if len(upstream.received) == 1:
            return streamed(reasoned("of the old account"))
        if b"of the old account" in received.body:
            return refused(400, "cannot be verified", code="invalid_encrypted_content")
        return chat_handler(received)

    upstream.handler = handler
    kept = {} if stored else ENCRYPTED
    environ = {"OPENROUTER_API_KEY": UPSTREAM_KEY, "OPENROUTER_BASE_URL": f"{upstream.url}/v1"}
    async with asked(evolve(settings, retries=1, upstream="openrouter", environ=environ)) as client:
        first = (await client.post("/v1/responses", json={**ASK, **kept})).json()
        said = {"role": "user", "content": "More"}
        again: dict[str, Any] = (
            {"previous_response_id": first["id"], "input": [said]}
            if stored
            else {"input": [{"role": "user", "content": "Hi"}, *first["output"], said]}
        )
        answer = await client.post(
            "/v1/responses", json={"model": "m-1", "stream": stream, **kept, **again}
        )
        response = events_of(answer.content)[-1]["response"] if stream else answer.json()
        asked_so_far = len(upstream.received)
        if stored:
            third = {"model": "m-1", "input": "x", "previous_response_id": response["id"]}
            assert (await client.post("/v1/responses", json=third)).status_code == 200
            assert len(upstream.received) == asked_so_far + 1

    assert (answer.status_code, text_of(response)) == (200, "Hello")
    assert asked_so_far == 3
    contents = [message["content"] for message in sent(upstream, 2)["messages"]]
    assert contents == ["Hi", "Hello", "More"]
    assert "opaque-data-dropped" in (answer.headers["x-openbridge-diagnostics"])


async def test_reasoning_that_is_refused_is_an_error_where_nothing_is_tried_again(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """With OPENBRIDGE_RETRIES=0."""
    upstream.handler = lambda _: refused(400, "no", code="invalid_encrypted_content")
    async with asked(evolve(settings, retries=0)) as client:
        answer = await client.post("/v1/responses", json=ASK)

    assert (answer.status_code, answer.json()["error"]["code"]) == (
        400,
        "invalid_encrypted_content",
    )
    assert len(upstream.received) == 1


@pytest.mark.parametrize(("retry_timeouts", "status", "tries"), [(True, 200, 2), (False, 504, 1)])
async def test_an_upstream_that_is_silent_is_asked_again_if_that_is_configured(
    upstream: Loopback, settings: GatewaySettings, retry_timeouts: bool, status: int, tries: int
) -> None:
    """It may bill both requests, so it is not the default."""
    upstream.handler = lambda received: (
        streamed([5.0]) if len(upstream.received) == 1 else chat_handler(received)
    )
    limits = Limits(first_event_s=0.3)
    asking = evolve(settings, limits=limits, retries=2, retry_timeouts=retry_timeouts)
    async with asked(asking) as client:
        answer = await client.post("/v1/responses", json=ASK)

    assert (answer.status_code, len(upstream.received)) == (status, tries)


async def test_all_tries_together_have_one_limit(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """The last one gets what the others left, and no wait goes beyond it."""
    upstream.handler = lambda _: streamed([5.0])
    limits = Limits(first_event_s=0.4, total_s=1.0)
    asking = evolve(settings, limits=limits, retries=50, retry_timeouts=True)
    async with asked(asking) as client:
        with anyio.fail_after(PATIENCE_S):
            answer = await client.post("/v1/responses", json=ASK)

    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    assert 1 <= len(upstream.received) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("relay", [True, False])
async def test_error_of_the_limit_of_all_tries_states_the_configured_limit(
    upstream: Loopback, settings: GatewaySettings, relay: bool, stream: bool
) -> None:
    """Not what the tries before the last one have left of it."""
    upstream.handler = lambda _: (
        refused(500, "broken") if len(upstream.received) == 1 else streamed([5.0])
    )
    asking = evolve(settings, limits=Limits(total_s=1.5), retries=1, relay=relay)
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    async with asked(asking) as client:
        answer = await client.post("/v1/chat/completions", json=body)

    assert len(upstream.received) == 2
    assert answer.json()["error"]["message"] == "the time limit 'total' of 1.5 seconds expired"


@pytest.mark.parametrize("kind", ["web_search", "mcp"])
async def test_a_hosted_tool_can_be_a_function_that_the_client_runs(
    upstream: Loopback, settings: GatewaySettings, kind: str
) -> None:
    """Its call is a function's, and so is what comes back."""
    tool = {"type": "web_search"} if kind == "web_search" else {**MCP, "server_label": "docs"}
    name = "web_search" if kind == "web_search" else "mcp__docs"
    upstream.handler = lambda received: (
        streamed(tool_script(("call_1", name, '{"query": "x"}')))
        if len(upstream.received) == 1
        else chat_handler(received)
    )
    body = {**ASK, "tools": [tool], "tool_choice": tool}
    async with asked(evolve(settings, hosted_tools="function")) as client:
        answer = await client.post("/v1/responses", json=body)
        first = answer.json()
        result = {"type": "function_call_output", "call_id": "call_1", "output": "found"}
        again = {"previous_response_id": first["id"], "input": [result], "tools": [tool]}
        second = await client.post("/v1/responses", json={"model": "m-1", **again})

    assert [t["function"]["name"] for t in sent(upstream, 0)["tools"]] == [name]
    assert sent(upstream, 0)["tool_choice"]["function"]["name"] == name
    assert (first["output"][0]["type"], first["output"][0]["name"]) == ("function_call", name)
    assert "hosted-tool-as-function" in answer.headers["x-openbridge-diagnostics"]
    assert [m["role"] for m in sent(upstream)["messages"]] == ["user", "assistant", "tool"]
    assert text_of(second.json()) == "Hello"


MCP = {"type": "mcp", "server_label": "docs", "server_url": "https://docs.example/mcp"}


async def test_version_lists_the_build_and_its_libraries(settings: GatewaySettings) -> None:
    """Its libraries too; nothing of the environment."""
    async with asked(settings) as client:
        version = (await client.get("/version")).json()

    assert version["version"] == VERSION
    assert version["build"]["python"] == platform.python_version()
    assert version["build"]["libraries"]["uvicorn"]
    assert UPSTREAM_KEY not in json.dumps(version)


async def test_a_schema_goes_to_the_upstream(upstream: Loopback, settings: GatewaySettings) -> None:
    """As its own kind of response format."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
    text = {"format": {"type": "json_schema", "name": "x", "strict": True, "schema": schema}}
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "text": text})

    assert answer.status_code == 200
    assert sent(upstream)["response_format"]["json_schema"]["name"] == "x"


# -- Who may ask


async def test_a_key_is_asked_for(settings: GatewaySettings) -> None:
    """Everywhere but for the health check, unless that asks the upstreams."""
    paths = ("/v1/models", "/version", "/metrics", "/healthz?deep=1", "/healthz?%64eep=1")
    async with asked(evolve(settings, client_api_keys=("sk-client",))) as client:
        refused_ = [await client.get(path) for path in paths]
        health = await client.get("/healthz")
        good = await client.get("/version", headers={"authorization": "Bearer sk-client"})

    assert [answer.status_code for answer in refused_] == [401] * len(paths)
    assert refused_[0].json()["error"]["code"] == "invalid_api_key"
    assert (health.status_code, good.status_code) == (200, 200)


PATHS = [
    f"{prefix}{path}"
    for prefix in ("", "/v1", "/V1", "//v1", "/v1/..", "/healthz/..", "/healthz")
    for path in (
        "/responses",
        "/responses/resp_x",
        "/models",
        "/models/m-1",
        "/version",
        "/metrics",
    )
]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "TRACE"])
async def test_no_spelling_of_a_path_avoids_the_key(settings: GatewaySettings, method: str) -> None:
    """However it is written."""
    async with asked(evolve(settings, client_api_keys=("sk-client",))) as client:
        answers = [await client.request(method, path) for path in PATHS]

    assert {answer.status_code for answer in answers} == {401}


async def test_responses_and_items_of_one_key_are_not_found_by_another(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """By no call that takes the id of a response or of an item."""
    keyed = evolve(settings, client_api_keys=("sk-one", "sk-two"))
    async with asked(keyed) as client:
        one, two = {"x-api-key": "sk-one"}, {"x-api-key": "sk-two"}
        secret = {"model": "m-1", "input": "a secret"}
        made = (await client.post("/v1/responses", json=secret, headers=one)).json()
        place, asked_so_far = f"/v1/responses/{made['id']}", len(upstream.received)
        item = {"type": "item_reference", "id": made["output"][0]["id"]}
        hint = {"type": "reasoning", "id": made["output"][0]["id"], "summary": []}
        answers = [
            await client.get(place, headers=two),
            await client.get(f"{place}/input_items", headers=two),
            await client.post(f"{place}/cancel", headers=two),
            await client.delete(place, headers=two),
        ]
        for path in ("", "/input_tokens", "/compact"):
            for body in ({"previous_response_id": made["id"]}, {"input": [item]}):
                url = f"/v1/responses{path}"
                answers.append(await client.post(url, json={**ASK, **body}, headers=two))
        assert len(upstream.received) == asked_so_far
        body = {**ASK, "input": [hint, {"role": "user", "content": "Hi"}]}
        hinted = await client.post("/v1/responses", json=body, headers=two)
        kept = await client.get(place, headers=one)

    assert {answer.status_code for answer in answers} <= {400, 404}
    assert "a secret" not in "".join(answer.text for answer in (*answers, hinted))
    assert kept.json() == made


async def test_other_peoples_names_are_not_answered_without_a_key(
    settings: GatewaySettings,
) -> None:
    """A web page cannot lead its own name here; a configured name is fine."""
    async with asked(evolve(settings, allowed_hosts=("bridge.lan",))) as client:
        evil = await client.get("/version", headers={"host": "evil.example"})
        allowed = await client.get("/version", headers={"host": "bridge.lan:80"})

    assert (evil.status_code, allowed.status_code) == (403, 200)


async def test_request_over_the_limit_gets_429_with_retry_after(settings: GatewaySettings) -> None:
    """429 with retry-after, counted for each key."""
    limited = evolve(settings, client_api_keys=("sk-a", "sk-b"), limits=Limits(rate_per_minute=1))
    async with asked(limited) as client:
        statuses = [
            await client.get("/version", headers={"api-key": key})
            for key in ("sk-a", "sk-a", "sk-b")
        ]

    assert [answer.status_code for answer in statuses] == [200, 429, 200]
    assert 1 <= int(statuses[1].headers["retry-after"]) <= 60


async def test_a_full_gateway_answers_503(settings: GatewaySettings) -> None:
    """503 with retry-after; nothing is sent upstream."""
    service = Service.from_settings(evolve(settings, limits=Limits(max_running=1)))
    transport = httpx.ASGITransport(app=make_app(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        with service.admissions.admitted():
            answer = await client.post("/v1/responses", json=ASK)
        after = await client.post("/v1/responses", json=ASK)
    await service.aclose()

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert after.status_code == 200


# -- About the gateway


async def test_models_of_the_map_and_of_the_upstream(
    upstream: Loopback, settings: GatewaySettings, tmp_path: Path
) -> None:
    """One list; an unknown name is a 404."""
    upstream.handler = lambda _: refused(200, "", data=[])
    listed = json.dumps({"object": "list", "data": [{"id": "up-1"}, {"id": "mapped"}]}).encode()
    upstream.handler = lambda _: streamed(
        [listed], headers={"content-type": "application/json"}, length=len(listed)
    )
    path = tmp_path / "map.json"
    path.write_text('{"models": {"mapped": "openai-compatible/m-1"}}')
    async with asked(evolve(settings, model_map_path=path)) as client:
        models = (await client.get("/v1/models")).json()
        await client.get("/v1/models")
        one = (await client.get("/v1/models/any/thing")).json()
        outside = await client.get("/v1/models/%2e%2e/files")

    assert outside.status_code == 404  # as a request that names it
    assert [model["id"] for model in models["data"]] == ["mapped", "up-1"]
    assert one == {
        "id": "any/thing",
        "object": "model",
        "created": 0,
        "owned_by": "openai-compatible",
    }
    assert [r.path for r in upstream.received] == ["/v1/models"]


async def test_a_map_that_refuses_other_names(settings: GatewaySettings, tmp_path: Path) -> None:
    """404 in the words that clients know; the mapped name goes up as its target."""
    path = tmp_path / "map.json"
    path.write_text('{"models": {"a": "openai-compatible/m-1"}, "otherwise": "refuse"}')
    async with asked(evolve(settings, model_map_path=path)) as client:
        unknown = await client.post("/v1/responses", json={**ASK, "model": "b"})
        known = await client.post("/v1/responses", json={**ASK, "model": "a"})

    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")
    assert known.json()["model"] == "a"


async def test_tokens_are_counted_where_the_upstream_can(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """A llama.cpp server can; for one that has no such path, the number is an estimate."""
    count = b'{"object": "response.input_tokens", "input_tokens": 32}'
    can = streamed([count], headers={"content-type": "application/json"}, length=len(count))
    upstream.handler = lambda r: can if r.path.endswith("/input_tokens") else refused(404, "no")
    async with asked(settings) as client:
        counted = await client.post("/v1/responses/input_tokens", json=ASK)
        upstream.handler = lambda _: refused(404, "no such path")
        other = {**ASK, "input": "Another text."}
        unable = await client.post("/v1/responses/input_tokens", json=other)

    assert counted.json() == {"object": "response.input_tokens", "input_tokens": 32}
    assert upstream.received[0].path == "/v1/chat/completions/input_tokens"
    assert unable.json()["input_tokens"] > 0
    assert "noted estimated-count" in unable.headers["x-openbridge-diagnostics"]


async def test_half_a_character_is_counted_as_any_other(settings: GatewaySettings) -> None:
    """JSON may hold half of a surrogate pair, which cannot be encoded."""
    body = json.dumps({**ASK, "input": "a\ud800"}).encode()
    async with asked(settings) as client:
        headers = {"content-type": "application/json"}
        counted = await client.post("/v1/responses/input_tokens", content=body, headers=headers)

    assert (counted.status_code, counted.json()["input_tokens"] > 0) == (200, True)


async def test_health_version_and_metrics(settings: GatewaySettings) -> None:
    """The endpoints for operators."""
    async with asked(settings) as client:
        await client.post("/v1/responses", json=ASK)
        health = (await client.get("/healthz")).json()
        version = (await client.get("/version")).json()
        metrics = (await client.get("/metrics")).text

    assert health == {"status": "ok", "state": "ok"}
    assert (version["name"], version["upstream"]) == ("openbridge", "openai-compatible")
    assert 'openbridge_requests_total{method="POST",route="create",status="200"} 1.0' in metrics
    answers = 'openbridge_responses_total{outcome="completed",provider="openai-compatible"} 1.0'
    assert answers in metrics
    assert 'openbridge_tokens_total{kind="input",provider="openai-compatible"} 3.0' in metrics
    assert "openbridge_running_responses 0.0" in metrics
    assert "openbridge_stream_violations_total 0.0" in metrics


async def test_a_websocket_is_refused_so_that_clients_fall_back(settings: GatewaySettings) -> None:
    """426 on the upgrade, in the error form."""
    headers = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13"}
    async with asked(settings) as client:
        answer = await client.get("/v1/responses", headers=headers)

    assert answer.status_code == 426
    assert answer.json()["error"]["code"] == "websocket_not_supported"


# -- Secrets and logs


async def test_no_key_is_ever_shown(
    upstream: Loopback, settings: GatewaySettings, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in a response, a header, a log line or a metric, even if the upstream quotes it."""
    caplog.set_level(logging.DEBUG)
    client_key = "sk-client-very-secret"
    keyed = evolve(settings, client_api_keys=(client_key,), retries=1)
    upstream.handler = lambda _: refused(
        401, f"Incorrect API key: {UPSTREAM_KEY}", headers={"x-request-id": "up"}
    )
    seen: list[str] = []
    async with asked(keyed, authorization=f"Bearer {client_key}") as client:
        paths = ("/version", "/metrics", "/v1/models", "/healthz")
        seen += [(await client.get(path)).text for path in paths]
        for stream in (True, False):
            answer = await client.post("/v1/responses", json={**ASK, "stream": stream})
            seen += [answer.text, str(answer.headers)]
        upstream.handler = lambda _: streamed(
            [chat_chunk(delta={"content": "x"}), b'data: {"error": {"message": "no"}}\n\n']
        )
        seen.append((await client.post("/v1/responses", json={**ASK, "stream": True})).text)
    seen += [record.getMessage() + str(record.__dict__) for record in caplog.records]

    assert UPSTREAM_KEY not in "\n".join(seen)
    assert client_key not in "\n".join(seen)
    assert any("request" in text for text in seen)


async def test_every_request_is_logged_with_its_ids(
    settings: GatewaySettings, caplog: pytest.LogCaptureFixture
) -> None:
    """A line names the caller, the upstream, and the outcome."""
    caplog.set_level(logging.INFO, "llmcore.bridge")
    async with asked(settings) as client:
        answer = await client.post(
            "/v1/responses", json=ASK, headers={"x-client-request-id": "mine"}
        )

    facts: Any = next(r.__dict__["facts"] for r in caplog.records if r.getMessage() == "request")
    assert facts["status"] == 200
    assert facts["response_id"] == answer.json()["id"]
    assert (facts["provider"], facts["model"]) == ("openai-compatible", "m-1")
    assert facts["client_request_id"] == "mine"


# -- Faults of ours


async def test_internal_error_is_a_500_without_details(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the rest, under the same request id."""

    async def broken(*_: object) -> None:
        raise RuntimeError("inside story")

    monkeypatch.setattr(ModelNames, "all", broken)
    async with asked(settings) as client:
        answer = await client.get("/v1/models")

    assert answer.status_code == 500
    assert "inside story" not in answer.text
    assert answer.headers["x-request-id"].startswith("req_")
    assert "inside story" in caplog.text


async def test_a_stored_conversation_that_cannot_be_read_is_logged_and_not_found(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator learns why; the client sends the whole conversation."""
    read = SqliteResponseStore.get

    async def damaged(store: SqliteResponseStore, response_id: str) -> Any:
        record = await read(store, response_id)
        return None if record is None else evolve(record, conversation={"of": "another form"})

    async with asked(settings) as client:
        first = (await client.post("/v1/responses", json=ASK)).json()
        monkeypatch.setattr(SqliteResponseStore, "get", damaged)
        answer = await client.post(
            "/v1/responses", json={**ASK, "previous_response_id": first["id"]}
        )

    assert answer.json()["error"]["code"] == "previous_response_not_found"
    logged: Any = next(r for r in caplog.records if r.getMessage() == "conversation_unreadable")
    assert logged.__dict__["facts"]["response_id"] == first["id"]


async def test_a_fault_of_the_store_fails_the_response(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a stream it is the last event, of a whole response it is a 503."""

    async def broken(*_: object) -> None:
        raise RuntimeError("inside story")

    monkeypatch.setattr(SqliteResponseStore, "put", broken)
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": True})
        whole = await client.post("/v1/responses", json=ASK)

    assert events_of(answer.content)[-1]["type"] == "response.failed"
    assert whole.status_code == 503
    assert "inside story" not in answer.text + whole.text


@pytest.mark.parametrize("late", [False, True])
async def test_a_fault_in_a_stream_has_an_end(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Before the first event a 500, after it a failed response."""
    step = ResponsesWriter.feed

    def broken(self: ResponsesWriter, event: LLMEvent) -> Any:
        now = isinstance(event, Finish if late else TextStart)
        if now:
            raise RuntimeError("inside story")
        return step(self, event)

    monkeypatch.setattr(ResponsesWriter, "feed", broken)
    upstream.handler = lambda _: streamed(chat_stream(["a", "b"], pause=0.1))
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json={**ASK, "stream": True})

    assert "inside story" not in answer.text
    if late:
        events = events_of(answer.content)
        assert events[-1]["type"] == "response.failed"
        assert violations(events) == []
    else:
        assert answer.status_code == 500


async def test_a_response_that_is_stopped_while_it_is_stored_has_an_end(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was said, and that it failed."""
    upstream.handler = lambda _: streamed(chat_stream(pause=0.1))
    storing = anyio.Event()
    sent_: list[Any] = []

    async def endless(*_: object) -> None:
        storing.set()
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        sent_.append(message)

    body = iter([{"type": "http.request", "body": json.dumps({**ASK, "stream": True}).encode()}])

    async def receive() -> Any:
        for message in body:
            return message
        return await anyio.sleep_forever()

    monkeypatch.setattr(SqliteResponseStore, "put", endless)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "query_string": b""}
    service = Service.from_settings(settings)
    app: Any = make_app(service)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app, {**scope, "headers": headers}, receive, send)
        await storing.wait()
        tasks.cancel_scope.cancel()
    await service.aclose()

    events = events_of(b"".join(message.get("body", b"") for message in sent_))
    assert events[-1]["type"] == "response.failed"
    assert violations(events) == []
    assert "shutting down" in events[-1]["response"]["error"]["message"]
    assert sent_[-1]["more_body"] is False
    told = service.metrics.exposition().decode()
    assert 'responses_total{outcome="failed",provider="openai-compatible"} 1.0' in told


async def test_a_registered_tool_type_is_read_and_written(
    upstream: Loopback, settings: GatewaySettings, tmp_path: Path
) -> None:
    """A file names it; the model sees a function, the client an item of that type."""
    path = tmp_path / "tools.json"
    path.write_text('[{"type": "lookup", "description": "d", "parameters": {"type": "object"}}]')
    upstream.handler = lambda _: streamed(tool_script(("call_1", "lookup", '{"q": 1}')))
    body = {**ASK, "tools": [{"type": "lookup"}]}
    async with asked(evolve(settings, tools_path=path)) as client:
        response = (await client.post("/v1/responses", json=body)).json()

    assert sent(upstream)["tools"][0]["function"]["name"] == "lookup"
    assert response["output"][0]["type"] == "lookup_call"
