"""Every provider of OpenAI's API: what it sends. How it is configured: `test_native_facades.py`."""

from importlib import import_module
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.routes.chat_provider import ChatProvider
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.providers import PROVIDERS, ProviderEntry
from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ResponseFormat
from llmcore.schema.request import request
from tests.support.wire.prepared import SECRET, WEATHER, prepare, shown

MODELS = {
    "openai": "gpt-5.2",
    "mistral": "mistral-medium-latest",
    "deepseek": "deepseek-v4-flash",
    "xai": "grok-4.6",
    "moonshot": "kimi-k2.6",
    "zai": "glm-5.2",
    "perplexity": "sonar-reasoning-pro",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "groq": "openai/gpt-oss-120b",
    "together": "zai-org/GLM-5.3",
    "fireworks": "accounts/fireworks/models/kimi-k2p6",
    "cerebras": "gpt-oss-120b",
    "baseten": "zai-org/GLM-5.3",
    "deepinfra": "zai-org/GLM-5.3",
    "huggingface": "openai/gpt-oss-120b:cerebras",
    "ollama": "gpt-oss:20b",
    "vllm": "Qwen/Qwen3-8B",
    "lmstudio": "openai/gpt-oss-20b",
    "llamacpp": "any",
    "local": "smollm2-135m-instruct",
}
OF_THEIR_OWN = {
    "anthropic",
    "google",
    "azure",
    "bedrock",
    "cloudflare-ai-gateway",
    "cloudflare-workers-ai",
    "github-copilot",
    "vertex",
}
"""Providers with another API or another way to sign: see `test_every_facade.py`."""
COMPATIBLE = [entry for entry in PROVIDERS if entry.id not in OF_THEIR_OWN]

everyone = pytest.mark.parametrize("entry", COMPATIBLE, ids=lambda entry: entry.id)


def chat_model(entry: ProviderEntry, **settings: Any) -> Model:
    """Return the provider's example model, over Chat Completions."""
    facade: Any = entry.load()(**settings)
    model: Model = facade.chat(MODELS[entry.id])
    return model


def keyed(entry: ProviderEntry) -> dict[str, Any]:
    """Return what `configure` takes to sign."""
    return {} if entry.id == "local" else {"api_key": SECRET}


# -- what is sent


@everyone
def test_text_request_equals_the_snapshot(
    entry: ProviderEntry, snapshot: SnapshotAssertion
) -> None:
    """Instructions, a question, limits and sampling, whole."""
    asked = request(
        model=chat_model(entry, **keyed(entry)),
        system="Be brief.",
        messages=[
            Message.user("Hello.", name="Ada"),
            Message.assistant("Hello, Ada."),
            Message.developer("Answer in rhymes."),
            Message.user("How are you?"),
        ],
        generation=GenerationOptions(
            max_tokens=64, temperature=0.5, top_p=0.9, top_k=40, seed=7, stop="END",
            presence_penalty=0.1, logprobs=True, top_logprobs=2,
        ),
        cache=CachePolicy(key="ada"),
    )  # fmt: skip

    assert shown(prepare(asked)) == snapshot


@everyone
def test_streamed_tools_request_equals_the_snapshot(
    entry: ProviderEntry, snapshot: SnapshotAssertion
) -> None:
    """A tool loop of a thinking model, streamed."""
    model = chat_model(entry, **keyed(entry))
    said = Message.assistant(
        ReasoningPart("I must look."),
        ToolCallPart("call_0123456789abcdef", "get_weather", {"city": "Oslo"}),
        origin=Origin(provider=entry.id, model=model.id, protocol="openai-chat"),
    )
    asked = request(
        model=model,
        messages=[
            Message.user("Weather in Oslo?"),
            said,
            Message.tool("call_0123456789abcdef", {"celsius": 4}, name="get_weather"),
        ],
        tools=[WEATHER],
        parallel_tool_calls=False,
        reasoning_effort="low",
    )

    assert shown(prepare(asked, streaming=True)) == snapshot


@everyone
def test_a_response_in_a_schema(entry: ProviderEntry, snapshot: SnapshotAssertion) -> None:
    """The format is enforced, or described in the prompt where the server does not enforce it."""
    asked = request(
        model=chat_model(entry, **keyed(entry)),
        prompt="The capital of Norway?",
        response_format=ResponseFormat.json_schema(WEATHER.parameters, name="city"),
    )

    assert shown(prepare(asked)) == snapshot


def test_compatible_server_needs_a_name_and_an_address_only(snapshot: SnapshotAssertion) -> None:
    """Requests to a server of which only name and address are known."""
    acme = OpenAICompatible.configure(name="acme", base_url="https://acme.example/v1/")
    asked = request(
        model=acme.model("acme-1"),
        system="Be brief.",
        prompt="Weather in Oslo?",
        tools=[WEATHER],
        max_tokens=64,
        reasoning_effort="low",
    )

    assert shown(prepare(asked, streaming=True)) == snapshot


# -- configuration


@everyone
def test_the_class_of_the_table_has_its_id_and_names_its_variables(entry: ProviderEntry) -> None:
    home, _, name = entry.home.partition(":")
    module = import_module(home)
    kind = getattr(module, name)
    profile = kind.profile if issubclass(kind, ChatProvider) else module.PROFILE

    assert kind.__module__ == home
    assert profile.id == entry.id
    assert kind.__doc__
    assert entry.docs.startswith("https://")
    documented = f"{module.__doc__} {kind.__doc__}"
    assert all(variable in documented for variable in entry.key_variables)


@pytest.mark.parametrize(
    "entry", [entry for entry in COMPATIBLE if not entry.needs_key], ids=lambda entry: entry.id
)
def test_self_hosted_servers_need_no_key_but_take_one(entry: ProviderEntry) -> None:
    """From the environment, or given."""
    bare = prepare(request(model=chat_model(entry), prompt="Hi"))

    assert "authorization" not in bare.http.headers
    for variable in entry.key_variables:
        ready = prepare(request(model=chat_model(entry), prompt="Hi"), environ={variable: SECRET})
        assert ready.http.headers["authorization"] == f"Bearer {SECRET}"
