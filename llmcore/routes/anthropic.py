"""Anthropic, and servers that speak its Messages API.

Documents, read November 2026: https://platform.claude.com/docs/en/api/overview (headers),
https://platform.claude.com/docs/en/api/versioning,
https://platform.claude.com/docs/en/api/beta-headers.
Key: ANTHROPIC_API_KEY, sent as `x-api-key`; or ANTHROPIC_AUTH_TOKEN, sent as a bearer token, as
gateways and OAuth require it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from attrs import evolve

from llmcore.protocols import anthropic_messages
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.protocol import Built
from llmcore.routes.auth import Auth, choose_auth
from llmcore.routes.base_url import BaseUrlVariable, checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.openai_compatible import checked_name
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import without
from llmcore.schema.model import Model

PROVIDER: Final = "anthropic"
BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"
"""The API version. The latest, `2026-10-21`, rejects sampling parameters for all models."""

BETA_HEADER: Final = "anthropic-beta"
_NOT_BETA: Final = frozenset({"prompt-caching-2024-07-31"})
"""Features that other platforms have without their names, which they may reject: "invalid beta
flag" (Bedrock), "unsupported beta header(s)" (Copilot)."""

AUTH: Final = Auth.first_of(
    Auth.env("ANTHROPIC_API_KEY", header="x-api-key", prefix=""),
    Auth.env("ANTHROPIC_AUTH_TOKEN"),
)
"""How to sign where neither `api_key` nor `auth` was given."""


@frozen(init=False)
class Anthropic(ConfigurableProvider):
    """Anthropic's Messages API: `Anthropic().model("claude-sonnet-4-6")` is a model.

    The key is `api_key`, or else that of ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. Documents:
    https://platform.claude.com/docs/en/api/overview.
    """

    route: Route[MessagesBody]
    """The route of all models."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        version: str = VERSION,
        betas: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure Anthropic; everything has a default.

        `api_key` is short for `auth=Auth.header("x-api-key", api_key)`: give one of the two.
        Without either, it is ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN when a request is prepared,
        and the base URL is that of ANTHROPIC_BASE_URL, if it is set.
        `betas` are the beta features of every request; those that a body needs are added.
        """
        self._set_fields(
            route=_route(
                PROVIDER,
                base_url=BaseUrlVariable("ANTHROPIC_BASE_URL", BASE_URL, _without_version)
                if base_url is None
                else base_url,
                auth=_chosen(api_key, auth, AUTH),
                version=version,
                betas=betas,
                headers=headers,
                query=query,
                defaults=defaults,
            )
        )

    def model(self, model_id: str) -> Model[MessagesBody]:
        """Return the model *model_id*, reached over Messages."""
        return self.route.model(model_id)


@frozen(init=False)
class AnthropicCompatible(ConfigurableProvider):
    """A configured server that speaks Messages."""

    route: Route[MessagesBody]
    """The route of all models."""

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str | None = None,
        auth: Auth | None = None,
        version: str = VERSION,
        betas: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure the server at *base_url*, to which `/v1/messages` is added, as *name*.

        `api_key` goes out as `x-api-key`; for a server that requires a bearer token give
        `auth=Auth.bearer(...)`. With neither, requests are not signed.
        """
        self._set_fields(
            route=_route(
                checked_name(name),
                base_url=base_url,
                auth=_chosen(api_key, auth, Auth.none()),
                version=version,
                betas=betas,
                headers=headers,
                query=query,
                defaults=defaults,
            )
        )

    def model(self, model_id: str) -> Model[MessagesBody]:
        """Return the model *model_id*."""
        return self.route.model(model_id)


# -- beta features, for other platforms of Claude


def needed_betas(built: Built[MessagesBody]) -> Built[MessagesBody]:
    """Return *built* without the names of features that Bedrock and Copilot have anyway."""
    betas = [name for name in betas_of(built) if name not in _NOT_BETA]
    others = without(built.headers, BETA_HEADER)
    return evolve(built, headers={**others, **({BETA_HEADER: ",".join(betas)} if betas else {})})


def betas_of(built: Built[MessagesBody]) -> list[str]:
    """Return the beta features that *built* names."""
    return [name for name in built.headers.get(BETA_HEADER, "").split(",") if name]


def _chosen(api_key: str | None, auth: Auth | None, fallback: Auth) -> Auth:
    of_key = partial(Auth.header, "x-api-key")
    return choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=fallback)


def _route(
    provider: str,
    *,
    base_url: str | BaseUrlVariable,
    auth: Auth,
    version: str,
    betas: Sequence[str],
    headers: Mapping[str, str] | None,
    query: Mapping[str, str] | None,
    defaults: RouteDefaults | None,
) -> Route[MessagesBody]:
    if isinstance(betas, str):
        raise ConfigurationError(f"betas is a list of names: give betas=[{betas!r}]")
    below = with_headers(defaults, headers, {"anthropic-version": version})
    if betas:
        named = [v for name, v in below.headers.items() if name.lower() == BETA_HEADER]
        others = {k: v for k, v in below.headers.items() if k.lower() != BETA_HEADER}
        all_betas = ",".join([*betas, *named])
        below = evolve(below, headers={**others, BETA_HEADER: all_betas})
    where = checked_base_url(base_url) if isinstance(base_url, str) else base_url
    versioned = isinstance(where, str) and urlsplit(where).path.endswith("/v1")
    path = "/messages" if versioned else "/v1/messages"
    return Route.make(
        id=f"{provider}-messages",
        provider=provider,
        protocol=anthropic_messages.protocol,
        endpoint=Endpoint.path(path, base_url=where, query=query),
        auth=auth,
        defaults=below,
    )


def _without_version(base_url: str) -> str:
    """Return *base_url* checked and without `/v1` at the end of its path, which the path has."""
    parts = urlsplit(checked_base_url(base_url))
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1")))
