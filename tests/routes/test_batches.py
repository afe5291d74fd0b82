"""Which providers have batches."""

import pytest
from attrs import evolve

from llmcore.protocols.batches import GEMINI, MISTRAL, OPENAI, BatchProtocol
from llmcore.routes.google import Google
from llmcore.routes.mistral import Mistral
from llmcore.routes.openai import OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.route import Route
from llmcore.routes.unary import batch_protocol
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.model import Model

CHAT = OpenAI.configure(api_key="k").chat("m")


@pytest.mark.parametrize(
    ("model", "batches"),
    [
        (CHAT, OPENAI),
        (OpenAI.configure(api_key="k").responses("m"), OPENAI),
        (OpenAICompatible.configure(name="acme", base_url="https://h/v1").model("m"), OPENAI),
        (Google.configure(api_key="k").model("m"), GEMINI),
        (Mistral.configure(api_key="k").model("m"), MISTRAL),
    ],
    ids=["openai-chat", "openai-responses", "compatible", "google", "mistral"],
)
def test_batches_are_those_of_the_provider_or_its_protocol(
    model: Model, batches: BatchProtocol
) -> None:
    assert isinstance(model.route, Route)
    assert batch_protocol(model.route) is batches


@pytest.mark.parametrize(
    "provider",
    [
        "azure",
        "vertex",
        "openrouter",
        "github-copilot",
        "local",
        "fireworks",
        "perplexity",
        "together",
        "cloudflare-workers-ai",
    ],
)
def test_a_provider_without_batches_is_refused_although_its_protocol_has_them(
    provider: str,
) -> None:
    assert isinstance(CHAT.route, Route)
    with pytest.raises(ConfigurationError, match=f"of '{provider}': run the requests with"):
        batch_protocol(evolve(CHAT.route, provider=provider))
