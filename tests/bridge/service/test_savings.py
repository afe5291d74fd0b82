"""The response cache, and marks for the upstream's cache of prompts: off unless configured."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import evolve

from llmcore import AmazonBedrock, Anthropic, Google, Model, OpenAI, OpenAICompatible
from llmcore.bridge import savings
from llmcore.bridge.configuration.reading import settings_from
from llmcore.bridge.configuration.settings import CacheSettings, GatewaySettings
from llmcore.bridge.savings import with_prompt_cache_marks
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.client.event_stream import EventStream
from llmcore.fronts.front import ClientRequest
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.events import (
    Finish,
    FinishReason,
    LLMEvent,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from tests.support.servers.bridge_service import (
    events_of,
    listening,
    refused,
    settings_for,
    sqlite_state,
    streamed,
    text_of,
    tool_script,
)
from tests.support.servers.front_gateways import gateway
from tests.support.servers.loopback import Answer, Loopback, Received, chat_stream, serve

ZERO = {"temperature": 0}
STOP = FinishReason("stop")
EVENTS: list[LLMEvent] = [
    StreamStart(provider="up", model="m"),
    TextStart("1"),
    TextDelta("1", "Hello"),
    TextEnd("1", "Hello"),
    Finish(finish_reason=STOP),
]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "responses": ("/responses", {"model": "m-1", "input": "Hi"}),
    "chat": (
        "/chat/completions",
        {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "messages": (
        "/messages",
        {"model": "m-1", "max_tokens": 90, "messages": [{"role": "user", "content": "Hi"}]},
    ),
}


@pytest.fixture
def counting(upstream: Loopback) -> Loopback:
    """Serve an upstream whose responses differ."""
    upstream.handler = lambda _: streamed(chat_stream([f"Answer {len(upstream.received)}"]))
    return upstream


def caching(url: str, **changes: Any) -> GatewaySettings:
    return settings_for(url, cache=CacheSettings(responses="all"), **changes)


def post(url: str, path: str = "/responses", **body: Any) -> httpx.Response:
    headers = body.pop("headers", {})
    given = {**REQUESTS["responses"][1], **body} if path == "/responses" else body
    return httpx.post(f"{url}{path}", json=given, headers=headers, timeout=30)


def answers(upstream: Loopback, url: str, *bodies: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the text of each response, and what its header shows of the cache."""
    found = [post(url, **body) for body in bodies]
    return [(text_of(answer.json()), answer.headers.get("x-openbridge-cache")) for answer in found]


# -- the response cache


def test_nothing_is_cached_unless_it_is_configured(
    counting: Loopback, settings: GatewaySettings
) -> None:
    with listening(settings) as url:
        assert answers(counting, url, ZERO, ZERO) == [("Answer 1", None), ("Answer 2", None)]


@pytest.mark.parametrize("name", list(REQUESTS))
@pytest.mark.parametrize("stream", [True, False])
def test_the_same_request_is_answered_without_the_upstream(
    counting: Loopback, name: str, stream: bool
) -> None:
    """Streamed or not: the response is kept as events, and written anew."""
    path, body = REQUESTS[name]
    with listening(caching(counting.url)) as url:
        first = httpx.post(f"{url}{path}", json={**body, "stream": not stream}, timeout=30)
        again = httpx.post(f"{url}{path}", json={**body, "stream": stream}, timeout=30)

    assert [one.headers["x-openbridge-cache"] for one in (first, again)] == ["miss", "hit"]
    assert len(counting.received) == 1
    assert "Answer 1" in again.text
    assert again.headers["content-type"].startswith("text/event-stream") is stream


def test_a_response_from_the_cache_is_one_of_its_own(counting: Loopback) -> None:
    """It has its own id, is stored, and is continued like any other."""
    with listening(caching(counting.url)) as url:
        first, again = (post(url).json() for _ in range(2))
        found = httpx.get(f"{url}/responses/{again['id']}").json()
        more = post(url, input="More", previous_response_id=again["id"])

    assert first["id"] != again["id"]
    assert found == again
    assert more.headers["x-openbridge-cache"] == "miss"
    assert len(json.loads(counting.received[-1].body)["messages"]) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"input": "Ho"},
        {"temperature": 0.5},
        {"instructions": "Be brief."},
        {"max_output_tokens": 100},
        {"model": "m-2"},
        {"text": {"format": {"type": "json_object"}}},
        {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_request_is_sent(counting: Loopback, change: dict[str, Any]) -> None:
    settings = caching(counting.url, structured_output="degrade")
    with listening(settings) as url:
        found = [post(url), post(url, **change), post(url)]

    assert [one.headers["x-openbridge-cache"] for one in found] == ["miss", "miss", "hit"]


def test_callers_do_not_get_each_others_answers(counting: Loopback) -> None:
    settings = caching(counting.url, client_api_keys=("k1", "k2"))
    with listening(settings) as url:
        found = [
            post(url, headers={"authorization": f"Bearer {key}"}) for key in ("k1", "k2", "k1")
        ]

    assert [one.headers["x-openbridge-cache"] for one in found] == ["miss", "miss", "hit"]


def test_only_deterministic_requests_where_that_is_configured(counting: Loopback) -> None:
    settings = settings_for(counting.url, cache=CacheSettings(responses="deterministic"))
    with listening(settings) as url:
        found = answers(counting, url, {}, {}, ZERO, ZERO, {"temperature": 0.1})

    assert found == [
        ("Answer 1", None),
        ("Answer 2", None),
        ("Answer 3", "miss"),
        ("Answer 3", "hit"),
        ("Answer 4", None),
    ]


@pytest.mark.parametrize(
    ("header", "states"),
    [("no-store", ["miss", None, "hit"]), ("no-cache", ["miss", "miss", "hit"])],
)
def test_a_client_can_ask_for_a_new_answer(
    counting: Loopback, header: str, states: list[str | None]
) -> None:
    """`no-cache` takes the place of what is kept; `no-store` leaves it."""
    with listening(caching(counting.url)) as url:
        found = [post(url), post(url, headers={"cache-control": header}), post(url)]

    assert [one.headers.get("x-openbridge-cache") for one in found] == states
    kept = "Answer 1" if header == "no-store" else "Answer 2"
    assert [text_of(one.json()) for one in found] == ["Answer 1", "Answer 2", kept]


def test_answers_are_kept_for_their_time(counting: Loopback) -> None:
    cache = CacheSettings(responses="all", ttl_s=0.05)
    with listening(settings_for(counting.url, cache=cache)) as url:
        first = post(url)
        time.sleep(0.2)
        later = post(url)

    assert [one.headers["x-openbridge-cache"] for one in (first, later)] == ["miss", "miss"]


@pytest.mark.parametrize(
    "handler",
    [
        lambda _: refused(500, "no"),
        lambda _: streamed(chat_stream(["x"])[:1], cut=True),
    ],
    ids=["refused", "cut"],
)
def test_failures_are_not_kept(upstream: Loopback, handler: Callable[[Received], Answer]) -> None:
    with listening(caching(upstream.url)) as url:
        upstream.handler = handler
        failed = post(url)
        upstream.handler = lambda _: streamed(chat_stream())
        found = [post(url), post(url)]

    assert failed.status_code >= 500
    assert [one.headers["x-openbridge-cache"] for one in found] == ["miss", "hit"]


def test_calls_are_given_again_whole(upstream: Loopback) -> None:
    upstream.handler = lambda _: streamed(tool_script(("call_1", "f", '{"a": [1, "é"]}')))
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    with listening(caching(upstream.url)) as url:
        first, again = (events_of(post(url, tools=tools, stream=True).content) for _ in range(2))

    calls = [events[-1]["response"]["output"][0] for events in (first, again)]
    assert calls[0]["arguments"] == calls[1]["arguments"] == '{"a": [1, "é"]}'
    assert len(upstream.received) == 1


def test_gateways_of_one_store_share_the_cache(counting: Loopback, tmp_path: Path) -> None:
    settings = caching(counting.url, state=sqlite_state(tmp_path))
    with listening(settings) as one, listening(settings) as two:
        found = [post(one), post(two)]

    assert [each.headers["x-openbridge-cache"] for each in found] == ["miss", "hit"]


def test_what_would_pass_as_it_came_is_translated_where_it_may_be_cached(
    counting: Loopback,
) -> None:
    body = REQUESTS["chat"][1]
    settings = evolve(caching(counting.url), relay=True)
    with listening(settings) as url:
        found = [httpx.post(f"{url}/chat/completions", json=body) for _ in range(2)]

    assert [one.headers["x-openbridge-cache"] for one in found] == ["miss", "hit"]


def test_answers_from_the_cache_cost_nothing(counting: Loopback) -> None:
    """Neither in the metrics nor in the rows of spend."""

    def counted(url: str) -> list[str]:
        metrics = httpx.get(f"{url.removesuffix('/v1')}/metrics").text
        names = ("openbridge_tokens_total", "openbridge_key_tokens_total")
        return [line for line in metrics.splitlines() if line.startswith(names)]

    with listening(caching(counting.url)) as url:
        post(url)
        once = counted(url)
        for _ in range(3):
            post(url)
        again = counted(url)

    assert once == again != []
    assert len(counting.received) == 1


@pytest.mark.anyio
async def test_a_store_that_fails_fails_no_response() -> None:
    """Nor does kept data that is damaged."""

    class Away(SqliteResponseStore):
        async def value(self, name: str) -> bytes | None:
            raise StateUnavailableError("away")

        async def keep(self, name: str, value: bytes, ttl_s: float) -> None:
            raise StateUnavailableError("away")

    class Damaged(SqliteResponseStore):
        async def value(self, name: str) -> bytes | None:
            return b"damaged"

    bounds: dict[str, Any] = {"ttl_s": 60, "max_entries": 10, "max_bytes": 10**6}
    for store in (Away(None, **bounds), Damaged(None, **bounds)):
        cached = savings.CachedResponse(
            store=store, name=lambda: "n", ttl_s=60, large=False, is_fresh=False
        )
        stream = cached.through(lambda: EventStream.of(EVENTS))
        assert [event async for event in stream] == EVENTS
        assert cached.state == "miss"
        await store.aclose()


# -- marks for the cache of prompts

MESSAGES_BODY = REQUESTS["messages"][1]
MARKED_BODY = {
    **MESSAGES_BODY,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
}


ANTHROPIC = Anthropic.configure(api_key="k").model("claude-sonnet-5")
BEDROCK = AmazonBedrock.configure(region="us-east-1", api_key="k")
GEMINI = Google.configure(api_key="k").model("gemini-3-pro")
COMPATIBLE = OpenAICompatible.configure(name="up", base_url="http://up/v1", api_key="k").model("m")
OPENAI = OpenAI.configure(api_key="k")
CHAT_BODY, RESPONSES_BODY = REQUESTS["chat"][1], REQUESTS["responses"][1]


@pytest.mark.parametrize(
    ("front", "model", "body", "added"),
    [
        ("anthropic-messages", ANTHROPIC, MESSAGES_BODY, "cache_control"),
        (
            "anthropic-messages",
            BEDROCK.model("anthropic.claude-sonnet-4-5-20250929-v1:0"),
            MESSAGES_BODY,
            "cache_control",
        ),
        ("anthropic-messages", BEDROCK.model("meta.llama4-scout-v1:0"), MESSAGES_BODY, None),
        ("anthropic-messages", ANTHROPIC, MARKED_BODY, None),
        ("anthropic-messages", OPENAI.chat("m"), MESSAGES_BODY, None),
        ("openai-chat", OPENAI.chat("m"), CHAT_BODY, "prompt_cache_key"),
        ("openai-chat", OPENAI.responses("m"), CHAT_BODY, "prompt_cache_key"),
        ("openai-responses", OPENAI.chat("m"), RESPONSES_BODY, "prompt_cache_key"),
        ("openai-responses", OPENAI.responses("m"), RESPONSES_BODY, "prompt_cache_key"),
        ("openai-responses", OPENAI.chat("m"), {**RESPONSES_BODY, "prompt_cache_key": "x"}, None),
        ("openai-chat", COMPATIBLE, CHAT_BODY, None),
        ("openai-responses", COMPATIBLE, RESPONSES_BODY, None),
        ("openai-chat", ANTHROPIC, CHAT_BODY, None),
        ("gemini", GEMINI, {"contents": []}, None),
    ],
)
def test_marks_are_added_to_requests_that_have_none_for_models_that_take_them(
    front: str, model: Model, body: dict[str, Any], added: str | None
) -> None:
    asked = ClientRequest(body=body)
    made, notes = with_prompt_cache_marks(asked, front, model, "me")

    assert set(made.body) - set(body) == ({added} if added else set())
    assert [(note.action, note.path) for note in notes] == ([("added", added)] if added else [])
    assert with_prompt_cache_marks(made, front, model, "me") == (made, ())


def test_the_key_of_a_conversation_stays_and_differs_from_others() -> None:
    def key(body: dict[str, Any], owner: str = "me") -> object:
        asked = ClientRequest(body=body)
        made, _ = with_prompt_cache_marks(asked, "openai-chat", OPENAI.chat("m"), owner)
        return made.body["prompt_cache_key"]

    first = {"model": "m", "messages": [{"role": "system", "content": "S"}, {"role": "user"}]}
    later = {**first, "messages": [*first["messages"], {"role": "assistant"}, {"role": "user"}]}
    other = {**first, "messages": [{"role": "system", "content": "T"}, {"role": "user"}]}

    assert key(first) == key(later)
    assert len({str(key(first)), str(key(other)), str(key(first, "you"))}) == 3


@pytest.mark.parametrize("relay", [True, False])
@pytest.mark.parametrize("front", ["chat", "responses"])
def test_a_compatible_server_gets_no_key_and_nothing_is_reported(
    front: str, relay: bool, upstream: Loopback
) -> None:
    """Most of them would refuse the field, or drop it."""
    with serve(upstream.handler) as server:
        provider = OpenAICompatible.configure(name="up", base_url=f"{server.url}/v1", api_key="k")
        cache = CacheSettings(prompt_marks=True)
        with gateway(provider.model("m-1"), cache=cache, relay=relay) as url:
            answer = httpx.post(f"{url}/v1{REQUESTS[front][0]}", json=REQUESTS[front][1])
        sent: Any = server.received[0].json

    assert answer.status_code == 200
    assert "prompt_cache_key" not in sent
    assert "cache" not in answer.headers.get("x-openbridge-diagnostics", "")


@pytest.mark.parametrize("relay", [True, False])
@pytest.mark.parametrize("marks", [True, False])
def test_messages_reach_anthropic_with_a_mark(relay: bool, marks: bool) -> None:
    """Where that is configured; a header shows it."""
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    data = json.dumps(whole).encode()

    def handler(_received: Received) -> Answer:
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    with serve(handler) as upstream:
        model = Anthropic.configure(api_key="k", base_url=f"{upstream.url}/v1").model("claude")
        cache = CacheSettings(prompt_marks=marks)
        with gateway(model, cache=cache, relay=relay) as url:
            answer = httpx.post(f"{url}/v1/messages", json=MESSAGES_BODY)
    sent = upstream.received[0].body

    assert answer.status_code == 200, answer.text
    assert (b'"cache_control"' in sent) is marks
    shown = answer.headers.get("x-openbridge-diagnostics", "")
    assert ("added prompt-cache-mark cache_control" in shown) is marks


@pytest.mark.parametrize("relay", [True, False])
def test_conversations_reach_openai_with_a_key(relay: bool, upstream: Loopback) -> None:
    with serve(upstream.handler) as server:
        model = OpenAI.configure(api_key="k", base_url=f"{server.url}/v1").chat("m-1")
        cache = CacheSettings(prompt_marks=True)
        with gateway(model, cache=cache, relay=relay) as url:
            body = {**REQUESTS["chat"][1], "stream": True}
            answer = httpx.post(f"{url}/v1/chat/completions", json=body)
        sent: Any = server.received[0].json

    assert len(sent["prompt_cache_key"]) == 32
    assert "prompt-cache-mark" in answer.headers["x-openbridge-diagnostics"]


def test_settings_are_read_and_off_by_default() -> None:
    base = {"OPENAI_API_KEY": "k"}
    given = {
        "OPENBRIDGE_CACHE_RESPONSES": "deterministic",
        "OPENBRIDGE_CACHE_SECONDS": "60",
        "OPENBRIDGE_CACHE_PROMPT_MARKS": "true",
    }

    assert settings_from(base).cache == CacheSettings()
    assert settings_from({**base, **given}).cache == CacheSettings(
        responses="deterministic", ttl_s=60.0, prompt_marks=True
    )
    with pytest.raises(ConfigurationError, match="OPENBRIDGE_CACHE_RESPONSES"):
        settings_from({**base, "OPENBRIDGE_CACHE_RESPONSES": "some"})
