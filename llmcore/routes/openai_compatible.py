"""Any server that speaks the Chat Completions API, by name and base URL."""

import re
from collections.abc import Mapping

from attrs import evolve, frozen

from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import COMPATIBLE, ChatDialect
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import Profile
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, RouteDefaults
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.model import Model

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def checked_name(name: str) -> str:
    """Return *name*, if a provider can be called so; ConfigurationError if not."""
    if _NAME.fullmatch(name):
        return name
    raise ConfigurationError(
        f"name {name!r} cannot be a provider's id: use letters, digits, '.', '_' and '-'"
    )


@frozen(init=False)
class OpenAICompatible(ConfigurableProvider):
    """A configured server that speaks Chat Completions."""

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

        `dialect` says where it differs from the others; the default is what most of them
        take. With neither `api_key` nor `auth`, requests are not signed.
        """
        if dialect is COMPATIBLE:  # it may be llama.cpp; other servers answer 404 to a count
            dialect = evolve(dialect, counts_tokens=True)
        profile = Profile(id=checked_name(name), base_url=base_url, dialect=dialect)
        self._set_fields(
            chat_route=profile.route(
                api_key=api_key, auth=auth, headers=headers, query=query, defaults=defaults
            )
        )

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*."""
        return self.chat_route.model(model_id)
