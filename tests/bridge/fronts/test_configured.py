"""Settings that apply to single fronts."""

from typing import Any

import anthropic
import httpx
import openai
import pytest
from attrs import evolve

from llmcore import Google, Model
from llmcore.bridge.configuration.settings import Limits
from llmcore.bridge.model_map import model_map_from
from llmcore.fronts.openai_chat.grammar import violations
from llmcore.routes.chat_providers import DeepSeek
from llmcore.schema import json
from tests.support.servers.front_gateways import MODEL, gateway, served, service_for
from tests.support.servers.loopback import DONE, Answer, Received, chat_chunk, serve
from tests.support.wire.chat import REASONING_FIELDS
from tests.support.wire.matrix import (
    ANTHROPIC,
    BEDROCK,
    COLUMNS,
    COMPATIBLE,
    GEMINI,
    Column,
    Counts,
    Refused,
    Said,
    playing,
)

columns = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.id)
QUESTION: dict[str, Any] = {"role": "user", "content": "Weather?"}
CHAT: Any = {"model": MODEL, "messages": [QUESTION]}


# -- several choices


@columns
def test_n_choices_are_as_many_calls(column: Column) -> None:
    """Streamed they are what they are whole, and tokens are those of all calls."""
    said = Said(text="It rains.", cities=("Oslo",), counts=Counts(read=8))
    with (
        playing(column, said) as scene,
        gateway(scene.model, relay=False, limits=Limits(max_choices=3)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
    ):
        whole = client.chat.completions.create(**CHAT, n=3)
        with client.chat.completions.stream(
            **CHAT, n=3, stream_options={"include_usage": True}
        ) as events:
            streamed = events.get_final_completion()

    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    for choice, again in zip(whole.choices, streamed.choices, strict=True):
        assert choice.message.content == again.message.content == said.text
        assert choice.finish_reason == again.finish_reason == "tool_calls"
        calls: Any = (choice.message.tool_calls, again.message.tool_calls)
        (call,), (same,) = calls
        assert json.loads(call.function.arguments) == json.loads(same.function.arguments)
    assert whole.usage is not None
    assert streamed.usage is not None
    for usage in (whole.usage, streamed.usage):
        assert usage.prompt_tokens == 3 * said.counts.input
        assert usage.completion_tokens == 3 * said.counts.output
    assert len(scene.server.received) == 6


def frames(body: str) -> list[Any]:
    """Return the chunks of a stream."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data")]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_each_choice_of_a_stream_keeps_the_grammar() -> None:
    """Their chunks share the head, the usage of all comes last and once, and seeds differ."""

    def numbered(received: Received) -> Answer:
        asked: Any = received.json
        text = f"Number {asked['seed']}."
        script = [chat_chunk(delta={"content": text}), chat_chunk(finish_reason="stop"), DONE]
        return Answer(script, headers={"content-type": "text/event-stream"})

    body = {**CHAT, "n": 3, "seed": 4, "stream": True, "stream_options": {"include_usage": True}}
    with (
        serve(numbered) as server,
        gateway(COMPATIBLE.model_at(server.url), relay=False, limits=Limits(max_choices=3)) as url,
    ):
        chunks = frames(httpx.post(f"{url}/v1/chat/completions", json=body).text)

    parts = [chunk for chunk in chunks if chunk["choices"]]
    for index in range(3):
        own = [
            {**chunk, "choices": [{**chunk["choices"][0], "index": 0}]}
            for chunk in parts
            if chunk["choices"][0]["index"] == index
        ]
        text = "".join(one["choices"][0]["delta"].get("content") or "" for one in own)
        assert violations(own) == []
        assert text == f"Number {4 + index}."
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    bodies: list[Any] = [one.json for one in server.received]
    assert sorted(body["seed"] for body in bodies) == [4, 5, 6]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_one_refused_choice_is_a_refusal_of_all(stream: bool) -> None:
    """With the upstream's status, as nothing was sent before."""
    with (
        playing(COMPATIBLE, Refused(status=429)) as scene,
        gateway(scene.model, relay=False, limits=Limits(max_choices=2)) as url,
    ):
        answer = httpx.post(f"{url}/v1/chat/completions", json={**CHAT, "n": 2, "stream": stream})

    assert answer.status_code == 429
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_a_choice_that_fails_within_a_stream_ends_it_once() -> None:
    """The other's text so far, then one error and no end mark."""
    error = b'data: {"error": {"message": "the machine caught fire", "code": 500}}\n\n'

    def second_fails(received: Received) -> Answer:
        asked: Any = received.json
        bad = asked["seed"] == 2
        rest: list[bytes | float] = (
            [error] if bad else [0.3, chat_chunk(finish_reason="stop"), DONE]
        )
        script = [chat_chunk(delta={"content": "It rains."}), 0.02, *rest]
        return Answer(script, headers={"content-type": "text/event-stream"})

    body = {**CHAT, "n": 2, "seed": 1, "stream": True}
    with (
        serve(second_fails) as server,
        gateway(COMPATIBLE.model_at(server.url), relay=False, limits=Limits(max_choices=2)) as url,
    ):
        text = httpx.post(f"{url}/v1/chat/completions", json=body).text

    assert text.count("It rains.") == 2
    assert text.count("caught fire") == 1
    assert "[DONE]" not in text


@pytest.mark.parametrize(("most", "n"), [(1, 2), (2, 3), (2, 0), (2, -1)])
def test_more_choices_than_configured_are_refused(most: int, n: int) -> None:
    """Before anything is sent, with the number that would be taken."""
    with (
        playing(COMPATIBLE, Said(text="x")) as scene,
        gateway(scene.model, relay=False, limits=Limits(max_choices=most)) as url,
    ):
        answer = httpx.post(f"{url}/v1/chat/completions", json={**CHAT, "n": n})

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "n"
    assert str(most) in answer.json()["error"]["message"]
    assert scene.server.received == []


# -- lists of models


def test_a_prefix_lets_claude_code_find_every_model() -> None:
    """Only in the list for clients of Messages; the names resolve on every front."""
    names = {"fast": "up/one", "claude-x": "up/two"}
    model_map = model_map_from({"models": names, "otherwise": "refuse"}, "up")
    with playing(COMPATIBLE, Said(text="It rains.")) as scene:
        service = service_for(scene.model, model_map, model_prefix="claude-via-")
        with served(service) as url, anthropic.Anthropic(base_url=url, api_key="k") as client:
            listed = [one.id for one in client.models.list()]
            found = client.models.retrieve("claude-via-fast")
            plain = httpx.get(f"{url}/v1/models").json()
            answer = client.messages.create(
                model="claude-via-fast",
                max_tokens=9,
                messages=[{"role": "user", "content": "Hi"}],
            )
            with pytest.raises(anthropic.NotFoundError):
                client.models.retrieve("claude-via-none")

    assert listed == ["claude-via-fast", "claude-x"]
    assert found.id == "claude-via-fast"
    assert [one["id"] for one in plain["data"]] == list(names)
    assert answer.model == "claude-via-fast"


# -- heartbeats


@pytest.mark.parametrize(
    ("front", "kinds", "beat"),
    [
        ("anthropic-messages", {}, b"event: ping\n"),
        ("anthropic-messages", {"anthropic-messages": "comment"}, b": keep-alive\n\n"),
        ("openai-chat", {}, b": keep-alive\n\n"),
        ("openai-chat", {"openai-chat": "blank"}, b"\n\n\n"),
        ("openai-chat", {"openai-chat": "none"}, None),
        ("openai-chat", {"gemini": "none"}, b": keep-alive\n\n"),
    ],
)
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_silent_stream_gets_the_heartbeat_that_is_configured(
    front: str, kinds: dict[str, str], beat: bytes | None, relay: bool
) -> None:
    """And the response after it."""
    script: list[bytes | float] = [chat_chunk(delta={"content": "It "}), 0.25]
    script += [chat_chunk(delta={"content": "rains."}), chat_chunk(finish_reason="stop"), DONE]

    def slow(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    path = "/v1/chat/completions" if front == "openai-chat" else "/v1/messages"
    body = {**CHAT, "max_tokens": 9, "stream": True}
    with (
        serve(slow) as server,
        gateway(
            COMPATIBLE.model_at(server.url),
            relay=relay,
            keep_alive_s=0.05,
            keep_alive_by_front=kinds,
        ) as url,
    ):
        sent = httpx.post(url + path, json=body).content

    if beat is None:
        assert b"keep-alive" not in sent
        assert b"\n\n\n" not in sent
    else:
        assert beat in sent
    assert b"rains." in sent


# -- the beginning of a response


NEWEST = evolve(
    GEMINI,
    model_at=lambda url: Google.configure(api_key="k", base_url=url).model("gemini-3.6-flash"),
    path=GEMINI.path.replace("gemini-3-flash-preview", "gemini-3.6-flash"),
)


@pytest.mark.parametrize("column", [ANTHROPIC, NEWEST], ids=lambda column: column.id)
@pytest.mark.parametrize("prefill", ["continue", "error"])
def test_a_prefill_is_continued_or_refused(column: Column, prefill: str) -> None:
    """Neither of these models continues a response; the words are those that clients look for."""
    messages = [QUESTION, {"role": "assistant", "content": "It"}]
    body = {"model": MODEL, "max_tokens": 9, "messages": messages}
    with (
        playing(column, Said(text=" rains.")) as scene,
        gateway(scene.model, relay=False, prefill=prefill) as url,
    ):
        answer = httpx.post(f"{url}/v1/messages", json=body)

    if prefill == "continue":
        assert answer.status_code == 200, answer.text
        assert "added last-message-added" in answer.headers["x-openbridge-diagnostics"]
        assert "(continue)" in json.dumps(scene.bodies[0]).decode()
        return
    assert answer.status_code == 400
    assert "does not support assistant message prefill" in answer.json()["error"]["message"]
    assert scene.server.received == []


def test_a_prefill_that_the_model_continues_is_not_refused() -> None:
    """The model behind Bedrock takes it as it is."""
    messages = [QUESTION, {"role": "assistant", "content": "It"}]
    body = {"model": MODEL, "max_tokens": 9, "messages": messages}
    with (
        playing(BEDROCK, Said(text=" rains.")) as scene,
        gateway(scene.model, prefill="error") as url,
    ):
        answer = httpx.post(f"{url}/v1/messages", json=body)

    assert answer.status_code == 200
    assert scene.bodies[0]["messages"][-1]["role"] == "assistant"


# -- reasoning


@pytest.mark.parametrize(("setting", "fields"), REASONING_FIELDS.items())
def test_reasoning_is_in_the_field_of_chat_that_is_configured(
    setting: str, fields: set[str]
) -> None:
    """Streamed as well as whole."""
    with (
        playing(ANTHROPIC, Said(thinking="Hm.", text="It rains.")) as scene,
        gateway(scene.model, chat_reasoning=setting) as url,
    ):
        whole = httpx.post(f"{url}/v1/chat/completions", json=CHAT)
        streamed = httpx.post(f"{url}/v1/chat/completions", json={**CHAT, "stream": True})

    named = {"reasoning_content", "reasoning"}
    chunks: list[Any] = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.text.split("\n")
        if line.startswith("data: {")
    ]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert named & whole.json()["choices"][0]["message"].keys() == fields
    assert named & {name for delta in deltas for name in delta} == fields


# -- structured output


def without_schemas(url: str) -> Model:
    """Return a model whose API holds it to JSON, but to no schema."""
    return DeepSeek.configure(api_key="k", base_url=f"{url}/v1").model("deepseek-chat")


@pytest.mark.parametrize(
    ("front", "status"),
    [
        ("gemini", 200),
        ("openai-chat", 400),
        ("openai-responses", 400),
        ("anthropic-messages", 400),
    ],
)
def test_structured_output_degrades_for_the_fronts_that_are_named(front: str, status: int) -> None:
    """The prompt contains the schema; other fronts refuse the request."""
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    asked: dict[str, tuple[str, Any]] = {
        "gemini": (
            f"/v1beta/models/{MODEL}:generateContent",
            {
                "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
                "generationConfig": {
                    "responseMimeType": "application/json",
                    "responseJsonSchema": schema,
                },
            },
        ),
        "openai-chat": (
            "/v1/chat/completions",
            {
                **CHAT,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": schema},
                },
            },
        ),
        "openai-responses": (
            "/v1/responses",
            {
                "model": MODEL,
                "input": "Hi",
                "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema}},
            },
        ),
        "anthropic-messages": (
            "/v1/messages",
            {**CHAT, "output_config": {"format": {"type": "json_schema", "schema": schema}}},
        ),
    }
    path, body = asked[front]
    said = Said(text='{"yes": true}')
    with (
        playing(COMPATIBLE, said) as scene,
        gateway(
            without_schemas(scene.server.url),
            relay=False,
            structured_output="error",
            structured_output_by_front={"gemini": "degrade"},
        ) as url,
    ):
        answer = httpx.post(url + path, json=body)

    assert answer.status_code == status, answer.text
    assert len(scene.server.received) == (status == 200)


def test_the_error_of_structured_output_names_the_field_of_geminis_clients() -> None:
    """One that can be left out alone."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
        },
    }
    with (
        playing(COMPATIBLE, Said(text="{}")) as scene,
        gateway(without_schemas(scene.server.url), relay=False, structured_output="error") as url,
    ):
        answer = httpx.post(f"{url}/v1beta/models/{MODEL}:generateContent", json=body)

    assert "Leave generationConfig.responseMimeType out" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/chat/completions", {**CHAT, "response_format": {"type": "json_object"}}),
        (
            "/v1/responses",
            {"model": MODEL, "input": "Hi", "text": {"format": {"type": "json_object"}}},
        ),
    ],
)
def test_json_without_a_schema_is_asked_for_in_words_where_there_is_no_mode_for_it(
    path: str, fields: dict[str, Any]
) -> None:
    """Claude has none, and many clients use it."""
    with (
        playing(ANTHROPIC, Said(text='{"yes": true}')) as scene,
        gateway(scene.model, relay=False, structured_output="error") as url,
    ):
        answer = httpx.post(url + path, json=fields)

    assert answer.status_code == 200
    assert b"JSON" in scene.server.received[0].body
    assert "response-format-in-words" in answer.headers["x-openbridge-diagnostics"]
