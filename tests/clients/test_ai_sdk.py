"""npm's `ai` with each of its providers against `openbridge serve`."""

from typing import Any

import pytest

from tests.support.programs.client_programs import scene
from tests.support.servers.bridge_process import Gateway
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import CITIES, SIGNATURES

PROVIDERS = ["openai", "open-responses"]
"""Those that speak Responses."""
OTHERS = ["openai-chat", "openai-compatible", "anthropic", "google"]
TEXT = 'That is: {"weather":"Oslo: sunny"}{"weather":"Rome: sunny"}'

both = pytest.mark.parametrize("provider", PROVIDERS)
every = pytest.mark.parametrize("provider", [*PROVIDERS, *OTHERS])


def ask(bridge: Bridge, name: str, provider: str = "openai") -> Any:
    return scene("ai_sdk", name, bridge.url, PROVIDER=provider)


def sent(bridge: Bridge, index: int = -1) -> Any:
    return bridge.upstream.received[index].json


def signatures(bridge: Bridge) -> list[str]:
    """Return the signatures that the last request brought back to the upstream."""
    return [
        detail["signature"]
        for message in sent(bridge)["messages"]
        for detail in message.get("reasoning_details", ())
        if "signature" in detail
    ]


@every
def test_generate_text_returns_the_upstreams_text(bridge: Bridge, provider: str) -> None:
    """`generateText`, instructions included."""
    made = ask(bridge, "create", provider)

    assert (made["text"], made["reason"]) == ("Hello", "stop")
    assert made["usage"]["totalTokens"] == 5
    assert [one["role"] for one in sent(bridge)["messages"]] == ["system", "user"]


@every
def test_stream_text_passes_the_checks_of_the_package(bridge: Bridge, provider: str) -> None:
    """`streamText`; its checks of every event pass."""
    made = ask(bridge, "stream", provider)

    assert (made["deltas"], made["text"], made["reason"]) == ("Hello", "Hello", "stop")
    assert made["types"].count("text-delta") == 2


@every
def test_output_object_sends_its_schema(bridge: Bridge, provider: str) -> None:
    """`Output.object` becomes a schema that the upstream holds to.

    For models whose names are not Claude's, the package for Anthropic forces a call instead.
    """
    assert ask(bridge, "object", provider) == {"object": {"yes": True}}
    body = sent(bridge)
    if provider == "anthropic":
        assert body["tool_choice"] == "required"
        assert [one["function"]["name"] for one in body["tools"]] == ["json"]
    else:
        assert body["response_format"]["type"] == "json_schema"


@pytest.mark.recorded_as("ai_sdk_tools", "@ai-sdk/openai")
def test_tool_loop_refers_to_stored_items_and_returns_thinking(bridge: Bridge) -> None:
    """As the package does it by itself: it refers to stored items, and thinking goes back."""
    made = ask(bridge, "tools")

    assert (made["called"], made["text"]) == (list(CITIES), TEXT)
    assert signatures(bridge) == list(SIGNATURES)


@pytest.mark.recorded_as("ai_sdk_tools_without_store", "@ai-sdk/openai")
def test_tool_loop_without_store_carries_encrypted_thinking(bridge: Bridge) -> None:
    """`store: false`: the thinking travels encrypted."""
    made = ask(bridge, "tools_without_store")

    assert (made["called"], made["text"]) == (list(CITIES), TEXT)
    assert signatures(bridge) == list(SIGNATURES)


@pytest.mark.recorded_as("open_responses_tools", "@ai-sdk/open-responses")
def test_tools_of_open_responses(bridge: Bridge) -> None:
    """It sends everything again, and asks for nothing encrypted."""
    made = ask(bridge, "tools", "open-responses")

    assert (made["called"], made["text"]) == (list(CITIES), TEXT)


@pytest.mark.parametrize("provider", OTHERS)
@pytest.mark.parametrize("name", ["tools", "tools_streamed"])
def test_tools_of_other_apis(bridge: Bridge, provider: str, name: str) -> None:
    """Chat, Messages and generateContent, whole and streamed; each wraps results in its own way."""
    made = ask(bridge, name, provider)

    assert made["called"] == list(CITIES)
    assert made["text"].startswith("That is: ")
    assert all(f'"weather":"{city}: sunny"' in made["text"] for city in CITIES)


@pytest.mark.parametrize(
    ("provider", "shown"),
    [("openai", "tool-input-delta"), ("open-responses", "reasoning-delta")],
)
def test_streamed_tool_loop_completes_over_three_turns(
    bridge: Bridge, provider: str, shown: str
) -> None:
    """Over three turns; one package shows arguments in pieces, the other bare thinking."""
    made = ask(bridge, "tools_streamed", provider)

    assert (made["called"], made["text"]) == (list(CITIES), TEXT)
    assert {shown, "text-delta", "tool-result"} <= set(made["types"])


def test_thinking_is_streamed_as_a_summary(bridge: Bridge) -> None:
    """If the request asks for a summary, `@ai-sdk/openai` shows it while it comes."""
    made = ask(bridge, "reasoning_streamed")

    assert made["thoughts"] == "Oslo next.Rome next."
    assert signatures(bridge) == list(SIGNATURES)


@pytest.mark.recorded_as("ai_sdk_options", "@ai-sdk/openai")
def test_all_options_of_the_package_are_accepted(bridge: Bridge) -> None:
    """Every option that the package has a name for is taken."""
    assert ask(bridge, "many_options") == {"text": "Hello"}


def test_previous_response_id_continues_the_conversation(bridge: Bridge) -> None:
    """`previousResponseId` brings the conversation."""
    assert ask(bridge, "previous_response") == {"first": "Hello", "second": "Hello"}
    roles = [one["role"] for one in sent(bridge)["messages"]]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("provider", "words"),
    # the second reads words only of errors whose `param` is a string, which OpenAI's are not
    [("openai", "as you wish"), ("open-responses", "Too Many Requests")],
)
def test_upstream_errors_keep_status_and_message(bridge: Bridge, provider: str, words: str) -> None:
    """The upstream's status and words arrive."""
    failed = ask(bridge, "errors", provider)

    assert {name: one["status"] for name, one in failed.items()} == {"limited": 429, "broken": 502}
    assert words in failed["limited"]["message"]


@both
@pytest.mark.parametrize("name", ["create", "stream"])
def test_the_local_model_talks(local: Gateway, provider: str, name: str) -> None:
    """With nothing configured but the embedded model."""
    made = scene("ai_sdk", name, local.url, model="smollm2", PROVIDER=provider)

    assert made["text"]
    assert made["reason"] in ("stop", "length")


@both
def test_the_local_model_keeps_to_a_schema(local: Gateway, provider: str) -> None:
    """`Output.object` on the embedded model."""
    made = scene("ai_sdk", "object", local.url, model="smollm2", PROVIDER=provider)

    assert isinstance(made["object"]["yes"], bool)
