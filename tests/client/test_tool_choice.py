"""Which tool choices a model accepts."""

import pytest

from llmcore import (
    AmazonBedrock,
    Anthropic,
    Client,
    ConfigurationError,
    Google,
    Model,
    Ollama,
    OpenAI,
)
from llmcore.catalog.model_info import ModelInfo
from llmcore.routes.chat_providers import ZAI, DeepInfra
from llmcore.routes.route import ToolChoiceMode

ALL: tuple[ToolChoiceMode, ...] = ("auto", "none", "required", "named")
BEDROCK = AmazonBedrock.configure(region="us-east-1")


@pytest.mark.parametrize(
    ("model", "modes"),
    [
        (OpenAI.configure(api_key="k").responses("gpt-5.2"), ALL),
        (OpenAI.configure(api_key="k").chat("gpt-5.2"), ALL),
        (Anthropic.configure(api_key="k").model("claude-opus-4-6"), ALL),
        (Anthropic.configure(api_key="k").model("claude-opus-5-5"), ("auto", "none")),
        (Google.configure(api_key="k").model("gemini-3-pro-preview"), ALL),
        (ZAI.configure(api_key="k").model("glm-4.6"), ("auto", "none")),
        (DeepInfra.configure(api_key="k").model("any"), ("auto", "none")),
        (Ollama.configure().model("any"), ALL),
        (BEDROCK.model("amazon.nova-lite-v1:0"), ALL),
        (BEDROCK.model("anthropic.claude-opus-5-5"), ("auto", "none")),
    ],
)
def test_modes_are_those_that_the_api_takes(
    model: Model, modes: tuple[ToolChoiceMode, ...]
) -> None:
    """The protocol that would build the request decides, so the two cannot differ."""
    client = Client()

    assert tuple(mode for mode in ALL if client.supports_tool_choice(mode, model)) == modes


def test_the_catalog_may_know_of_fewer() -> None:
    """A model that is listed with some modes takes no others."""
    limited = ModelInfo(
        id="gpt-5.2", provider="openai", display_name="", tool_choice_modes=("auto",)
    )
    model = OpenAI.configure(api_key="k").chat("gpt-5.2")

    client = Client(models=[limited])

    assert client.supports_tool_choice("auto", model)
    assert not client.supports_tool_choice("required", model)
    assert Client().supports_tool_choice("required", model)


def test_plain_ids_are_resolved() -> None:
    """As those of requests are, with the same errors."""
    client = Client(providers={"openai": OpenAI.configure(api_key="k")}, default_provider="openai")

    assert client.supports_tool_choice("required", "gpt-5.2")
    assert client.supports_tool_choice("named", "gpt-5.2", provider="openai")
    with pytest.raises(ConfigurationError, match="mars"):
        client.supports_tool_choice("auto", "gpt-5.2", provider="mars")
