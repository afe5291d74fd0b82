"""The batches of a provider, found by its generating route."""

from typing import Any, Final

from llmcore.protocols.batches import GEMINI, MISTRAL, OPENAI, BatchProtocol, anthropic_batches
from llmcore.routes.model_lists import messages_path
from llmcore.routes.route import Route
from llmcore.schema.errors import ConfigurationError

OPENAI_PATHS: Final = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
"""The path with which a batch names the API of its requests, by protocol id."""

_NONE: Final = ("azure", "vertex", "openrouter", "github-copilot", "local")


def batch_protocol(route: Route[Any]) -> BatchProtocol:
    """Return the batches of the provider of *route*; ConfigurationError if it has none."""
    if route.provider == "mistral":
        return MISTRAL
    if route.provider not in _NONE and not route.provider.startswith("cloudflare"):
        match route.protocol.id:
            case "anthropic-messages":
                return anthropic_batches(messages_path(route, "/messages/batches"))
            case "gemini":
                return GEMINI
            case protocol if protocol in OPENAI_PATHS:
                return OPENAI
    raise ConfigurationError(
        f"no batches are known for {route.protocol.id} of {route.provider!r}: run the requests "
        "with generate_many",
        provider=route.provider,
    )
