"""Any server that speaks Chat Completions, or the Responses API, by name and base URL."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from attrs import evolve

from llmcore.protocols import openai_responses
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import COMPATIBLE, ChatDialect
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.routes import chat_providers, xai
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.openai import PROFILE as OPENAI
from llmcore.routes.openrouter import OpenRouter
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def checked_name(name: str) -> str:
    """Return *name*; ConfigurationError if it cannot be the name of a provider."""
    if _NAME.fullmatch(name):
        return name
    raise ConfigurationError(
        f"name {name!r} cannot be a provider's id: use letters, digits, '.', '_' and '-'"
    )


@frozen(init=False)
class OpenAICompatible(ConfigurableProvider):
    """A server with the Chat Completions API, or the Responses API.

    `OpenAICompatible(name="acme", base_url="https://llm.acme.example/v1").model("acme-large")` is a
    model. The key is `api_key`, or else that of the variable ACME_API_KEY, by the name.
    """

    chat_route: Route[ChatBody]
    """The route of all models."""

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str | None = None,
        auth: Auth | None = None,
        dialect: ChatDialect = COMPATIBLE,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure the server at *base_url* as the provider *name*.

        `dialect` states where it differs from the others; the default is that of the provider
        whose host the URL has, such as Groq's, or else what most of them take. With neither
        `api_key` nor `auth`, requests are not signed.
        """
        if dialect is COMPATIBLE:
            host = _host_of(base_url)
            is_google = _GOOGLE_HOST.fullmatch(host) is not None
            dialect = _dialects().get(host, GOOGLE if is_google else _UNKNOWN)
        profile = Profile(id=checked_name(name), base_url=base_url, dialect=dialect)
        self._set_fields(
            chat_route=profile.route(
                api_key=api_key, auth=auth, headers=headers, query=query, defaults=defaults
            )
        )

    @property
    def responses_route(self) -> Route[ResponsesBody]:
        """The route to `POST /responses`, with the same configuration."""
        chat = self.chat_route
        protocol = _RESPONSES.get(_host_of(str(chat.endpoint.base_url)), _COMPATIBLE)
        return beside(chat, "/responses", f"{chat.provider}-responses", protocol)

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over the Responses API."""
        route = self.responses_route
        if _host_of(str(route.endpoint.base_url)) == _host_of(xai.XAI.profile.base_url):
            route = route.with_(protocol=xai.grok_responses(model_id))
        return route.model(model_id)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*."""
        return self.chat_route.model(model_id)


_UNKNOWN: Final = evolve(
    COMPATIBLE,
    counts_tokens=True,  # it may be llama.cpp; others answer 404 to a count
    # Many models must get their thinking back beside calls, on every host: "The `reasoning_content`
    # in the thinking mode must be passed back to the API" (DeepSeek V4, MiMo), "reasoning_content
    # is missing in assistant tool call message" (Kimi).
    reasoning_replay="own",
)


GOOGLE: Final = evolve(
    _UNKNOWN,
    counts_tokens=False,
    # "Function call is missing a thought_signature in functionCall parts", since Gemini 3:
    # https://discuss.ai.google.dev/t/109823; aliases have no number
    signed_calls=r"(models/|google/)?gemini-(?![12]\.).*",
)
"""Gemini over Chat Completions: https://ai.google.dev/gemini-api/docs/openai, and Vertex AI's
`/endpoints/openapi`."""
_GOOGLE_HOST: Final = re.compile(
    r"generativelanguage\.googleapis\.com|([a-z0-9-]+-)?aiplatform(\.[a-z]+\.rep)?\.googleapis\.com"
)
_RESPONSES: Final = {"api.openai.com": openai_responses.protocol}
_COMPATIBLE: Final = openai_responses.make(openai_responses.COMPATIBLE)


def _host_of(base_url: str) -> str:
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:  # preparing a request raises the error
        return ""


@cache
def _dialects() -> Mapping[str, ChatDialect]:
    """Return the dialects of the known providers by their hosts."""
    facades = (
        item
        for item in vars(chat_providers).values()
        if isinstance(item, type) and issubclass(item, ChatProvider) and item is not ChatProvider
    )
    own = (OPENAI, OpenRouter.profile, xai.XAI.profile)
    profiles = (*own, *(facade.profile for facade in facades))
    return {_host_of(profile.base_url): profile.dialect for profile in profiles}
