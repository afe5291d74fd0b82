"""Requests and responses that pass as they came, where both sides speak the same API."""

import json
from typing import Any

import httpx
import pytest
from attrs import evolve

from llmcore.bridge.configuration.reading import settings_of
from llmcore.bridge.http.app import make_app
from llmcore.bridge.model_map import model_map_from
from llmcore.bridge.service import Service
from llmcore.protocols import openai_chat, openai_responses
from llmcore.routes.route import Route
from llmcore.testing import scripted
from tests.support.servers.front_gateways import gateway, served, service_for
from tests.support.servers.loopback import Answer, Handler, Received, serve
from tests.support.wire.matrix import (
    ANTHROPIC,
    COLUMNS,
    COMPATIBLE,
    GEMINI,
    KEY,
    OPENAI,
    Column,
    Counts,
    Refused,
    Said,
    playing,
)

SAID = Said(text="Grüße, it rains 🙂.", cities=("Oslo",), counts=Counts(read=8))
UNKNOWN = {"from_tomorrow": {"b": 1, "a": [1.5, None]}}
"""A field that no version of the gateway has heard of."""
REQUESTS: dict[str, tuple[Column, str, dict[str, Any]]] = {
    "openai-responses": (
        OPENAI,
        "/v1/responses",
        {"model": "fast", "input": "Hi", "store": False, **UNKNOWN},
    ),
    "openai-chat": (
        COMPATIBLE,
        "/v1/chat/completions",
        {"model": "fast", "messages": [{"role": "user", "content": "Hi", "x": 1}], **UNKNOWN},
    ),
    "anthropic-messages": (
        ANTHROPIC,
        "/v1/messages?beta=true",
        {
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "system": [{"type": "text", "text": "Be brief."}],
            "model": ANTHROPIC.model_id,
            "max_tokens": 90,
            **UNKNOWN,
        },
    ),
    "gemini": (
        GEMINI,
        "/v1beta/models/fast:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **UNKNOWN},
    ),
}
STREAMED = "/v1beta/models/fast:streamGenerateContent?alt=sse"
fronts = pytest.mark.parametrize("front", list(REQUESTS))
streaming = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def asked(front: str, *, stream: bool) -> tuple[Column, str, dict[str, Any]]:
    """Return the upstream, the path and the body of a request."""
    column, path, body = REQUESTS[front]
    if front == "gemini":
        return column, STREAMED if stream else path, body
    asks_usage = {"stream_options": {"include_usage": True}} if front == "openai-chat" else {}
    return column, path, {**body, "stream": True, **asks_usage} if stream else body


@fronts
@streaming
def test_the_body_goes_up_and_the_bytes_come_down_as_they_came(front: str, stream: bool) -> None:
    """In the order of the client's keys, with what only the two of them understand."""
    column, path, body = asked(front, stream=stream)
    document = column.whole(SAID)
    sent = column.streamed(document) if stream else json.dumps(document).encode()
    kind = column.stream_type if stream else "application/json"

    def handler(_received: Received) -> Answer:
        return Answer([sent[:200], sent[200:]], headers={"content-type": kind})

    with serve(handler) as server:
        service = service_for(
            column.model_at(server.url), model_map_from({"models": {"fast": "up/m"}}, "up")
        )
        with served(service) as url:
            answer = httpx.post(url + path, json=body)
        counted = service.metrics.exposition().decode()
    up = json.loads(server.received[0].body)

    assert answer.content == sent
    assert answer.headers["content-type"].startswith(kind)
    named = {"model": body["model"]} if "model" in up else {}
    assert json.dumps({**up, **named}) == json.dumps(body)
    assert up.get("model", column.model_id) == column.model_id
    assert f'tokens_total{{kind="input",provider="up"}} {SAID.counts.input}.0' in counted
    assert 'responses_total{outcome="completed",provider="up"} 1.0' in counted


@streaming
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_clients_of_messages_get_the_name_that_they_asked_for(*, stream: bool, size: int) -> None:
    """Claude Code drops thinking of a response whose model is another; all else passes as it came.

    A text that quotes the upstream's name keeps it.
    """
    said = evolve(SAID, text=f'{{"type":"message","model":"{ANTHROPIC.model_id}"}}', thinking="Hm.")
    document = ANTHROPIC.whole(said)
    sent = ANTHROPIC.streamed(document) if stream else json.dumps(document).encode()
    kind = ANTHROPIC.stream_type if stream else "application/json"
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    body = {**REQUESTS["anthropic-messages"][2], "model": "fast", "stream": stream}

    with serve(lambda _: Answer(pieces, headers={"content-type": kind})) as server:
        names = model_map_from({"models": {"fast": "up/m"}}, "up")
        with served(service_for(ANTHROPIC.model_at(server.url), names)) as url:
            answer = httpx.post(f"{url}/v1/messages", json=body)

    if not stream:
        assert answer.json() == {**document, "model": "fast"}
        return
    (first, rest), (begun, same) = (content.split(b"\n\n", 1) for content in (answer.content, sent))
    event, own = (json.loads(frame.partition(b"data: ")[2]) for frame in (first, begun))
    assert event == {**own, "message": {**own["message"], "model": "fast"}}
    assert first.startswith(b"event: message_start\ndata: {")
    assert rest == same


def test_a_completion_that_its_server_wraps_reaches_clients_without_the_wrapper() -> None:
    plain = COMPATIBLE.whole(SAID)
    wrapped = json.dumps({"success": True, "data": plain}).encode()

    def handler(_received: Received) -> Answer:
        return Answer([wrapped], headers={"content-type": "application/json"})

    with serve(handler) as server, gateway(COMPATIBLE.model_at(server.url)) as url:
        answer = httpx.post(url + REQUESTS["openai-chat"][1], json=REQUESTS["openai-chat"][2])

    assert answer.json() == plain


CHUNKS = (
    b'data: {"id":"c","choices":[],"prompt_filter_results":[]}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"b"}}],"usage":null}\n\n',
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\n',
)
USAGE = (
    b'data: {"id":"c","choices": [ ],"usage":{"prompt_tokens":70,"completion_tokens":9,'
    b'"total_tokens":79}}\n\n'
)
DONE = b"data: [DONE]\n\n"


def streamed_chat(handler: Handler, **fields: Any) -> tuple[httpx.Response, list[Any], str]:
    """Return the answer to a streamed Chat request, the bodies that went up, and the metrics."""
    body = {"model": "fast", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with serve(handler) as server:
        service = service_for(
            COMPATIBLE.model_at(server.url), model_map_from({"models": {"fast": "up/m"}}, "up")
        )
        with served(service) as url:
            answer = httpx.post(f"{url}/v1/chat/completions", json=body | fields)
        metrics = service.metrics.exposition().decode()
    return answer, [one.json for one in server.received], metrics


@pytest.mark.parametrize("size", [1, 7, 100, 10_000], ids=lambda size: f"reads of {size} bytes")
def test_the_usage_of_a_chat_stream_is_counted_and_not_sent_to_a_client_that_did_not_request_it(
    size: int,
) -> None:
    """The chunk with it has no choices, which other clients do not expect."""
    sent = b"".join((*CHUNKS, USAGE, DONE))

    def handler(_received: Received) -> Answer:
        parts = [sent[at : at + size] for at in range(0, len(sent), size)]
        return Answer(parts, headers={"content-type": "text/event-stream"})

    answer, (up,), metrics = streamed_chat(handler, stream_options={"include_obfuscation": False})

    assert up["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert answer.content == b"".join((*CHUNKS, DONE))
    assert 'tokens_total{kind="input",provider="up"} 70.0' in metrics
    assert 'tokens_total{kind="output",provider="up"} 9.0' in metrics


def test_the_usage_of_a_chat_stream_is_sent_to_a_client_that_requests_it_as_of_openrouter() -> None:
    """The gateway adds OpenAI's option for it: an upstream may not have the other one."""
    sent = b"".join((*CHUNKS, USAGE, DONE))

    def handler(_received: Received) -> Answer:
        return Answer([sent], headers={"content-type": "text/event-stream"})

    answer, (up,), _metrics = streamed_chat(handler, usage={"include": True})

    assert up["stream_options"] == {"include_usage": True}
    assert answer.content == sent


def test_an_upstream_that_rejects_stream_options_gets_the_request_without_them() -> None:
    def handler(received: Received) -> Answer:
        body: Any = received.json
        if "stream_options" in body:
            error = {"message": "Unrecognized request argument supplied: stream_options"}
            data = json.dumps({"error": error | {"type": "invalid_request_error"}}).encode()
            return Answer([data], 400, {"content-type": "application/json"}, len(data))
        return Answer([*CHUNKS, DONE], headers={"content-type": "text/event-stream"})

    answer, up, _ = streamed_chat(handler)

    assert answer.content == b"".join((*CHUNKS, DONE))
    assert ["stream_options" in body for body in up] == [True, False]


@fronts
@streaming
def test_an_error_of_the_upstream_keeps_its_body(front: str, stream: bool) -> None:
    """With its status, and how long to wait."""
    column, path, body = asked(front, stream=stream)
    refused = Refused(status=429, headers={"retry-after": "7", "x-should-retry": "false"})
    with playing(column, refused) as scene, gateway(scene.model) as url:
        answer = httpx.post(url + path, json=body)

    assert answer.status_code == 429
    assert answer.json() == column.errors[429][0]
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-should-retry"] == "false"


@fronts
@pytest.mark.parametrize(("status", "shown"), [(401, 502), (403, 403)])
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_refusal_of_the_gateways_key_is_not_the_clients(
    front: str, status: int, shown: int, relay: bool
) -> None:
    """Clients would ask their user to log in again; and a key that is quoted back is not shown.

    With a 403 an upstream may deny access to one model.
    """
    column, path, body = asked(front, stream=False)

    def handler(_received: Received) -> Answer:
        data = json.dumps({"error": {"message": f"bad key {KEY}", "type": "auth"}}).encode()
        return Answer([data], status, {"content-type": "application/json"}, len(data))

    with serve(handler) as server, gateway(column.model_at(server.url), relay=relay) as url:
        answer = httpx.post(url + path, json=body)

    assert answer.status_code == shown
    assert answer.headers["x-should-retry"] == "false"
    assert KEY not in answer.text


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({}, 200),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1"}, 200),
        ({"ANTHROPIC_BASE_URL": "https://proxy.example"}, 404),
    ],
    ids=["anthropic", "its own address", "another server"],
)
@pytest.mark.anyio
async def test_a_thread_goes_on_only_at_a_server_that_keeps_it(
    variables: dict[str, str], status: int
) -> None:
    """Others ignore the field, and the model would see nothing but the last message."""
    keys = {"OPENBRIDGE_UPSTREAM": "anthropic", "ANTHROPIC_API_KEY": "k"}
    memory = {"OPENBRIDGE_STATE_BACKEND": "memory"}
    settings = settings_of({**keys, **memory, **variables}, None)
    network = scripted(ANTHROPIC.whole(SAID))
    service = Service.from_settings(settings, transport=network)
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    body = {**REQUESTS["anthropic-messages"][2], "thread": thread}
    transport = httpx.ASGITransport(app=make_app(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post("/v1/messages", json=body)
    await service.aclose()

    assert answer.status_code == status, answer.text
    assert len(network.requests) == (status == 200)
    assert status == 200 or answer.json()["error"]["details"] == {"error_code": "thread_not_found"}


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_betas_reach_an_upstream_of_the_same_api(path: str) -> None:
    """The header, both times that it came, and `?beta=true`."""

    def handler(received: Received) -> Answer:
        counted = b'{"input_tokens": 3}'
        data = counted if "count" in received.path else json.dumps(ANTHROPIC.whole(SAID)).encode()
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    headers = [("anthropic-beta", "one-1,two-2"), ("anthropic-beta", "three-3")]
    with serve(handler) as server, gateway(ANTHROPIC.model_at(server.url)) as url:
        body = REQUESTS["anthropic-messages"][2]
        answer = httpx.post(f"{url}{path}?beta=true", json=body, headers=headers)
    (received,) = server.received

    assert answer.status_code == 200
    assert received.path == f"{path}?beta=true"
    assert {"one-1", "two-2", "three-3"} <= set(received.headers["anthropic-beta"].split(","))


_BETAS = "one-1,two-2,three-3"


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Unexpected value(s) `two-2` for the `anthropic-beta` header.", {"one-1", "three-3"}),
        ("invalid beta flag", set()),
    ],
)
@pytest.mark.parametrize("relay", [True, False])
@streaming
def test_features_that_an_upstream_refuses_are_left_out_in_one_more_try(
    words: str, kept: set[str], relay: bool, stream: bool
) -> None:
    """Those that the refusal names, else all of the client's; the response's headers name them."""

    def handler(received: Received) -> Answer:
        named = set(received.headers.get("anthropic-beta", "").split(","))
        if "two-2" in named:
            error = {"type": "invalid_request_error", "message": words}
            data = json.dumps({"type": "error", "error": error}).encode()
            return Answer(
                [data],
                status=400,
                headers={"content-type": "application/json"},
                length=len(data),
            )
        document = ANTHROPIC.whole(SAID)
        data = ANTHROPIC.streamed(document) if stream else json.dumps(document).encode()
        kind = ANTHROPIC.stream_type if stream else "application/json"
        return Answer([data], headers={"content-type": kind})

    body = {**REQUESTS["anthropic-messages"][2], "stream": stream}
    with serve(handler) as server, gateway(ANTHROPIC.model_at(server.url), relay=relay) as url:
        answer = httpx.post(f"{url}/v1/messages", json=body, headers={"anthropic-beta": _BETAS})
    refused, taken = server.received

    assert answer.status_code == 200
    assert set(_BETAS.split(",")) <= set(refused.headers["anthropic-beta"].split(","))
    sent = set(taken.headers.get("anthropic-beta", "").split(","))
    assert sent & set(_BETAS.split(",")) == kept
    assert "anthropic-beta" in str(answer.headers)


def test_the_sdk_of_one_provider_gets_what_it_reads_from_the_server_of_another() -> None:
    """Mistral's reads a call of a stream only if it comes in one chunk."""
    said = Said(cities=("Oslo",))
    body = {
        "model": "fast",
        "stream": True,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "weather"}}],
    }
    with playing(COMPATIBLE, said) as scene, gateway(scene.model) as url:
        answer = httpx.post(
            f"{url}/v1/chat/completions",
            json=body,
            headers={"user-agent": "mistral-client-python/3.7.0"},
        )

    assert answer.text.count('"tool_calls":[') == 1


@fronts
def test_a_half_frame_is_never_sent(front: str) -> None:
    """Complete frames arrive, then an error in a frame of its own."""
    column, path, body = asked(front, stream=True)
    whole = column.streamed(column.whole(Said(text="It rains in Bergen, as it always does.")))
    cut = whole[: len(whole) * 6 // 10]

    def handler(_received: Received) -> Answer:
        return Answer([cut], headers={"content-type": column.stream_type})

    with serve(handler) as server, gateway(column.model_at(server.url)) as url:
        answer = httpx.post(url + path, json=body)
    frames = [frame for frame in answer.content.replace(b"\r", b"").split(b"\n\n") if frame.strip()]

    for frame in frames:
        data = [line.removeprefix(b"data: ") for line in frame.split(b"\n") if b"{" in line]
        assert all(json.loads(line) for line in data)
    assert b"error" in frames[-1]


def test_policies_and_state_of_the_gateway_are_not_passed_by() -> None:
    """Stored responses, and policies on tools, are the gateway's work."""
    body = {"model": "m", "input": "Hi"}
    with playing(OPENAI, SAID) as scene:
        for fields, settings in (({}, {}), ({"store": False}, {"hosted_tools": "drop"})):
            with gateway(scene.model, **settings) as url:
                answer = httpx.post(f"{url}/v1/responses", json={**body, **fields})
            assert answer.json()["id"] != OPENAI.whole(SAID)["id"]


@pytest.mark.parametrize(("provider", "passes"), [("openai", True), ("acme", False)])
def test_a_compaction_passes_to_servers_that_make_it(provider: str, passes: bool) -> None:
    """Another server gets a request for a summary, which becomes the item that the client needs."""
    items = [{"role": "user", "content": "Hi"}, {"type": "compaction_trigger"}]
    body = {"model": "m", "input": items, "store": False}
    with playing(OPENAI, SAID) as scene, gateway(evolve(scene.model, provider=provider)) as url:
        answer = httpx.post(url + "/v1/responses", json=body).json()

    assert (scene.bodies[0]["input"] == items) == passes
    assert ([item["type"] for item in answer["output"]] == ["compaction"]) == (not passes)


def sent_with(column: Column, protocol: Any, path: str, body: dict[str, Any]) -> Any:
    """Return the body that an upstream, whose route has *protocol*, gets for a client's *body*."""
    with playing(column, SAID) as scene:
        route = scene.model.route
        assert isinstance(route, Route)
        model = evolve(scene.model, route=route.with_(protocol=protocol))
        with gateway(model) as url:
            answer = httpx.post(url + path, json=body)
    (sent,) = scene.bodies

    assert answer.status_code == 200
    return sent


FREEFORM = {"type": "custom", "name": "patch"}
NAMESPACE = {"type": "namespace", "name": "mail", "tools": [{"type": "function", "name": "send"}]}
HI = {"role": "user", "content": "Hi"}
OFFERED = {"type": "additional_tools", "role": "developer", "tools": [FREEFORM]}
CALLED = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "x"}
FOUND = {"type": "custom_tool_call_output", "call_id": "c", "output": "y"}


@pytest.mark.parametrize(
    ("fields", "passes"),
    [
        ({"tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}, True),
        ({"tools": [{"type": "web_search"}]}, True),
        ({"tools": [FREEFORM]}, False),
        ({"tools": [NAMESPACE]}, False),
        ({"input": [OFFERED, HI]}, False),
        ({"input": [HI, CALLED, FOUND]}, False),
    ],
    ids=["function", "hosted", "freeform", "namespace", "item with tools", "history"],
)
@pytest.mark.parametrize("knows", [True, False], ids=["openai", "another"])
def test_tools_that_an_upstream_lacks_become_functions(
    fields: dict[str, Any], passes: bool, knows: bool
) -> None:
    """A request with tools that only OpenAI's servers have is translated for others."""
    body = {"model": "m", "input": [HI], "store": False, **fields}
    dialect = openai_responses.OPENAI if knows else openai_responses.COMPATIBLE
    sent = sent_with(OPENAI, openai_responses.make(dialect), "/v1/responses", body)

    assert ((sent["input"], sent.get("tools")) == (body["input"], body.get("tools"))) == (
        passes or knows
    )
    if not (passes or knows):
        assert "custom" not in json.dumps(sent)
        assert "namespace" not in json.dumps(sent)


CHAT_FREEFORM = {"type": "custom", "custom": {"name": "patch"}}
CHAT_CALL = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "x"}}
CHAT_CALLED = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
CHAT_RESULT = {"role": "tool", "tool_call_id": "c", "content": "y"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [CHAT_FREEFORM]},
        {"tools": [CHAT_FREEFORM], "messages": [HI, CHAT_CALLED, CHAT_RESULT]},
        {"messages": [HI, CHAT_CALLED, CHAT_RESULT]},
    ],
    ids=["offered", "offered and called", "called"],
)
@pytest.mark.parametrize("knows", [True, False], ids=["openai", "another"])
def test_freeform_tools_of_chat_become_functions_where_the_server_lacks_them(
    fields: dict[str, Any], knows: bool
) -> None:
    body = {"model": "m", "messages": [HI], **fields}
    dialect = openai_chat.OPENAI if knows else openai_chat.COMPATIBLE
    sent = sent_with(COMPATIBLE, openai_chat.make(dialect), "/v1/chat/completions", body)

    assert ("custom" in json.dumps(sent)) == knows
    if knows:
        assert {**body, "model": sent["model"]} == sent


EARLIER = {"name": "f", "parameters": {"type": "object", "properties": {}}}
EARLIER_CALLED = {
    "role": "assistant",
    "content": None,
    "function_call": {"name": "f", "arguments": "{}"},
}
EARLIER_RESULT = {"role": "function", "name": "f", "content": "y"}


@pytest.mark.parametrize(
    "fields",
    [
        {"functions": [EARLIER], "function_call": "auto"},
        {"functions": [EARLIER], "messages": [HI, EARLIER_CALLED, EARLIER_RESULT]},
        {"messages": [HI, EARLIER_CALLED, EARLIER_RESULT]},
    ],
    ids=["offered", "offered and called", "called"],
)
@pytest.mark.parametrize("knows", [True, False], ids=["openai", "another"])
def test_functions_in_the_form_before_tools_become_tools_where_the_server_lacks_them(
    fields: dict[str, Any], knows: bool
) -> None:
    """Other servers than OpenAI's ignore them: the model would not know of its functions."""
    body = {"model": "m", "messages": [HI], **fields}
    dialect = openai_chat.OPENAI if knows else openai_chat.COMPATIBLE
    sent = sent_with(COMPATIBLE, openai_chat.make(dialect), "/v1/chat/completions", body)

    assert ("function_call" in json.dumps(sent)) == ("function_call" in json.dumps(body) and knows)
    assert ("functions" in sent, "tools" in sent) == (
        ("functions" in body, False) if knows else (False, "functions" in body)
    )


def test_all_columns_are_known() -> None:
    """Each front has an upstream of its own API."""
    assert {column.id for column, _, _ in REQUESTS.values()} == {
        column.id for column in COLUMNS if column.id != "bedrock"
    }
