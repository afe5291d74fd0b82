"""Counting and listing: requests beside those that generate."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.model_map import ModelMap, model_map_from
from llmcore.bridge.pools.providers import upstreams_from
from llmcore.bridge.upstream import Upstreams
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import AuthenticationError, ConfigurationError, RequestTimeoutError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.testing.script import ScriptedTransport, scripted

pytestmark = pytest.mark.anyio

KEYS = {
    "ANTHROPIC_API_KEY": "key-a",
    "OPENAI_API_KEY": "key-o",
    "GEMINI_API_KEY": "key-g",
    "OPENROUTER_API_KEY": "key-r",
    "LLAMACPP_BASE_URL": "http://llama/v1",
    "AWS_BEARER_TOKEN_BEDROCK": "key-b",
    "AWS_REGION": "us-east-1",
    "GOOGLE_CLOUD_PROJECT": "p",
}


def upstreams(provider: str, transport: ScriptedTransport) -> Upstreams:
    settings = GatewaySettings(upstream=provider, environ=KEYS)
    return upstreams_from(settings, ModelMap(upstream=provider), transport=transport)


def asking(found: Upstreams, provider: str) -> LLMRequest:
    model = found.client.providers[provider].model("m-1")
    return LLMRequest(model=model, messages=(Message.user("Hi"),))


@pytest.mark.parametrize(
    ("provider", "url", "answer", "key"),
    [
        (
            "anthropic",
            "https://api.anthropic.com/v1/messages/count_tokens",
            {"input_tokens": 7},
            "key-a",
        ),
        (
            "openai",
            "https://api.openai.com/v1/responses/input_tokens",
            {"input_tokens": 7},
            "key-o",
        ),
        (
            "google",
            "https://generativelanguage.googleapis.com/v1beta/models/m-1:countTokens",
            {"totalTokens": 7},
            "key-g",
        ),
        (
            "llamacpp",
            "http://llama/v1/chat/completions/input_tokens",
            {"input_tokens": 7},
            None,
        ),
        (
            "bedrock",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/m-1/count-tokens",
            {"inputTokens": 7},
            "key-b",
        ),
    ],
)
async def test_tokens_are_counted_over_each_protocols_own_path(
    provider: str, url: str, answer: Any, key: str | None
) -> None:
    """Each by its own path, signed as its other requests, without what only generation takes."""
    transport = scripted(answer)
    found = upstreams(provider, transport)

    assert (await found.count_tokens(asking(found, provider))).tokens == 7
    request = transport.requests[0]
    assert (request.method, request.url) == ("POST", url)
    assert key is None or any(key in value for value in request.headers.values())
    assert "max_tokens" not in json.loads(request.body)
    assert b"Hi" in request.body


@pytest.mark.parametrize("provider", ["openrouter"])
async def test_counting_without_an_endpoint_fails_before_any_request(provider: str) -> None:
    """Nothing is sent."""
    transport = scripted()
    found = upstreams(provider, transport)

    assert (await found.count_tokens(asking(found, provider))).estimated
    assert transport.requests == []


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("openrouter", "https://openrouter.ai/api/v1/models"),
        ("anthropic", "https://api.anthropic.com/v1/models?limit=1000"),
        ("openai", "https://api.openai.com/v1/models"),
    ],
)
async def test_models_are_listed_by_get_beside_the_generating_path(provider: str, url: str) -> None:
    """By a GET beside the path that generates; entries that are not models are skipped."""
    transport = scripted({"data": [{"id": "a"}, {"id": 3}, "b", {"id": "c"}]})
    found = upstreams(provider, transport)

    assert await found.models(provider) == ("a", "c")
    assert (transport.requests[0].method, transport.requests[0].url) == ("GET", url)
    assert transport.requests[0].body == b""


@pytest.mark.parametrize("provider", ["vertex"])
async def test_who_has_no_list(provider: str) -> None:
    """Nothing is sent."""
    assert await upstreams(provider, scripted()).models(provider) == ()


async def test_a_refusal_is_an_error_without_the_key() -> None:
    """Even where the upstream quotes it."""
    transport = scripted((401, {}, {"error": {"message": "wrong: key-o"}}))
    found = upstreams("openai", transport)

    with pytest.raises(AuthenticationError) as caught:
        await found.count_tokens(asking(found, "openai"))
    assert "key-o" not in str(caught.value)


async def test_an_upstream_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an error of the upstream's, not of ours."""
    monkeypatch.setattr("llmcore.bridge.upstream._TIMEOUTS", Timeouts(total=0.05))
    found = upstreams("openai", scripted([("{}", 60_000.0)]))

    with pytest.raises(RequestTimeoutError, match="time limit"):
        await found.count_tokens(asking(found, "openai"))


async def test_one_embedded_server_answers_counts_and_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client's own; a second one would load the model again."""
    started = 0
    transport = scripted({"data": [{"id": "a"}]}, {"input_tokens": 7})

    async def running(*_: object) -> Any:
        nonlocal started
        started += 1
        return transport, "http://embedded", "key"

    monkeypatch.setattr("llmcore.client.local.embedded.LocalServers.running", running)
    monkeypatch.setattr("llmcore.client.local.model_files.installed", lambda _: Path("model"))
    settings = GatewaySettings(upstream="local", environ={})
    found = upstreams_from(settings, ModelMap(upstream="local"))

    assert await found.models("local") == ("a",)
    assert (await found.count_tokens(asking(found, "local"))).tokens == 7
    assert {request.url.split("/")[2] for request in transport.requests} == {"embedded"}
    assert started == 2
    await found.aclose()


def test_every_provider_of_the_map_must_be_configured() -> None:
    """Not only the upstream: the first request would fail otherwise."""
    model_map = model_map_from({"models": {"x": "groq/y"}}, "openai")

    with pytest.raises(ConfigurationError, match="GROQ_API_KEY"):
        upstreams_from(GatewaySettings(upstream="openai", environ=KEYS), model_map)


def test_openrouter_takes_its_attribution() -> None:
    """The variables that name the application."""
    environ = {**KEYS, "OPENROUTER_HTTP_REFERER": "https://a", "OPENROUTER_X_TITLE": "A"}
    settings = evolve(GatewaySettings(), environ=environ)
    found = upstreams_from(settings, ModelMap(upstream="openrouter"), transport=scripted())
    prepared = found.client.prepare(asking(found, "openrouter")).unwrap()

    assert prepared.headers["http-referer"] == "https://a"
