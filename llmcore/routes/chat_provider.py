"""The base of all providers of the Chat Completions API: a profile, and its configuration.

A provider is a `Profile`, which is data, on a class of a few lines:

    class Acme(ChatProvider):
        profile = Profile(
            id="acme", base_url="https://api.acme.ai/v1", key_variables=("ACME_API_KEY",)
        )

    model = Acme().model("acme-1")
"""

from collections.abc import Mapping
from typing import ClassVar

from attrs import field

from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import COMPATIBLE, ChatDialect
from llmcore.routes.auth import Auth, choose_auth
from llmcore.routes.base_url import BaseUrlVariable, checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import BaseUrlOf, Endpoint
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.providers import LISTED
from llmcore.routes.route import Route
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model


@frozen(kw_only=True)
class Profile:
    """A provider of the Chat Completions API: its address, keys and dialect."""

    id: str
    """The provider's id, as in `provider_options` and in `provider:model`."""
    base_url: str
    """The URL before `/chat/completions`."""
    base_url_variable: str | None = None
    """The environment variable that may hold another base URL."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set counts."""
    needs_key: bool = True
    """Whether a key is required."""
    dialect: ChatDialect = COMPATIBLE
    """How the server's API differs."""
    headers: Mapping[str, str] = field(factory=dict)
    """Headers of every request."""

    @classmethod
    def of_listed(cls, id: str, *, base_url: str, dialect: ChatDialect = COMPATIBLE) -> "Profile":
        """Return the profile of a provider in the table, which has its variables."""
        entry = LISTED[id]
        return cls(
            id=id,
            base_url=base_url,
            base_url_variable=entry.base_url_variable,
            key_variables=entry.key_variables,
            needs_key=entry.needs_key,
            dialect=dialect,
        )

    @property
    def auth(self) -> Auth:
        """How to sign where neither `api_key` nor `auth` was given."""
        if not self.key_variables:
            return Auth.none()
        from_environment = Auth.env(*self.key_variables)
        return from_environment if self.needs_key else Auth.first_of(from_environment, Auth.none())

    def route(
        self,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | BaseUrlOf | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> Route[ChatBody]:
        """Return the configured route; ConfigurationError for invalid arguments."""
        where: str | BaseUrlOf
        if base_url is None and self.base_url_variable is not None:
            where = BaseUrlVariable(self.base_url_variable, self.base_url)
        elif callable(base_url):
            where = base_url
        else:
            where = checked_base_url(self.base_url if base_url is None else base_url)
        return Route.make(
            id=f"{self.id}-chat",
            provider=self.id,
            protocol=openai_chat.make(self.dialect),
            endpoint=Endpoint.path("/chat/completions", base_url=where, query=query),
            auth=choose_auth(api_key=api_key, auth=auth, fallback=self.auth),
            defaults=with_headers(defaults, headers, self.headers),
        )


class ProfileProvider(ConfigurableProvider):
    """The base of facades that a profile describes, and that have one route."""

    __slots__ = ()
    profile: ClassVar[Profile]

    def __init__(
        self,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure the provider; everything has a default.

        `api_key` is short for `auth=Auth.bearer(api_key)`: give one of the two. Without either,
        the key is looked up in the environment when a request is prepared, and so is the base URL.
        """
        self._set_route(
            self.profile.route(
                api_key=api_key,
                auth=auth,
                base_url=base_url,
                headers=headers,
                query=query,
                defaults=defaults,
            )
        )

    def _set_route(self, route: Route[ChatBody]) -> None:
        """Set the field that holds the one route."""
        raise NotImplementedError


@frozen(init=False)
class ChatProvider(ProfileProvider):
    """A configured provider whose models are reached over one Chat Completions route."""

    chat_route: Route[ChatBody]
    """The route of all models."""

    def _set_route(self, route: Route[ChatBody]) -> None:
        self._set_fields(chat_route=route)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, reached over Chat Completions."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, reached over the provider's usual API."""
        return self.chat_route.model(model_id)
