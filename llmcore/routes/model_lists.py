"""The routes of the lists of models that providers have."""

from typing import Any, Final, TypeAlias

from llmcore.protocols.protocol import Page, PageRequest
from llmcore.protocols.unary import LiveModel, paged
from llmcore.routes.route import Route
from llmcore.routes.unary import UnaryRoute, rebased
from llmcore.schema.errors import ConfigurationError

ModelLists: TypeAlias = UnaryRoute[PageRequest, Page[LiveModel]]

_OPENAI: Final = paged("openai-models", "/models")
_GEMINI: Final = paged("gemini-models", "/models", size="pageSize", mark="pageToken")
_BEDROCK: Final = paged("bedrock-models", "/foundation-models")
_COHERE: Final = paged("cohere-models", "/v1/models", size="page_size", mark="page_token")


def model_list_route(route: Route[Any]) -> ModelLists:
    """Return the route to the list of models, beside a generating *route* and configured alike.

    ConfigurationError for providers without a list of the models that an account can call.
    """
    if route.provider == "vertex" or route.provider.startswith("cloudflare"):
        message = f"the provider {route.provider!r} has no list of the models that can be called"
        raise ConfigurationError(message, provider=route.provider)
    if route.provider == "cohere":
        return UnaryRoute.beside(route, _COHERE)
    match route.protocol.id:
        case "anthropic-messages":
            path = messages_path(route, "/models")
            protocol = paged("anthropic-models", path, size="limit", mark="after_id")
            return UnaryRoute.beside(route, protocol)
        case "gemini":
            return UnaryRoute.beside(route, _GEMINI)
        case "bedrock-converse":
            control = rebased(route, lambda url: url.replace("://bedrock-runtime.", "://bedrock."))
            return UnaryRoute.beside(route, _BEDROCK, control)
        case _:
            return UnaryRoute.beside(route, _OPENAI)


def messages_path(route: Route[Any], path: str) -> str:
    """Return *path* where the Messages API of *route* has it: below `/v1`, once."""
    target = route.endpoint.target
    prefix = target.removesuffix("/messages") if isinstance(target, str) else ""
    return prefix + path
