"""Cloudflare: models on Workers AI, and those of others through your own AI Gateway.

Documents, read November 2026:
https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility,
https://developers.cloudflare.com/ai-gateway/usage/chat-completion (one API for all upstreams: "will
continue to work", though deprecated for Workers AI's own URL, which takes `openai/...` too),
https://developers.cloudflare.com/ai-gateway/usage/providers (each upstream's own API),
https://developers.cloudflare.com/ai-gateway/configuration/authentication.
Account: CLOUDFLARE_ACCOUNT_ID. Key of Workers AI: CLOUDFLARE_API_TOKEN. Key of the gateway, if it
asks for one: CF_AIG_TOKEN.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from attrs import evolve

from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.auth import Auth, choose_auth
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.chat_provider import Profile
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import BaseUrlOf
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.model import Model

WORKERS_AI: Final = "cloudflare-workers-ai"
AI_GATEWAY: Final = "cloudflare-ai-gateway"
ACCOUNT_VARIABLE: Final = "CLOUDFLARE_ACCOUNT_ID"
GATEWAY_HEADER: Final = "cf-aig-authorization"

GATEWAY_AUTH: Final = Auth.first_of(Auth.env("CF_AIG_TOKEN", header=GATEWAY_HEADER), Auth.none())
"""A gateway asks for a key only if its owner has switched that on."""

UPSTREAMS: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "deepseek": "deepseek",
    "google": "google-ai-studio/v1beta",
    "groq": "groq",
    "mistral": "mistral/v1",
    "openai": "openai",
    "perplexity": "perplexity-ai",
    "xai": "grok/v1",
    WORKERS_AI: "workers-ai/v1",
}
"""The path in a gateway's URL that represents a provider's base URL."""

_WORKERS: Final = Profile.of_listed(
    WORKERS_AI,
    base_url="https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1",
    # a null beside calls is an error: https://github.com/we-promise/sure/pull/467
    dialect=evolve(COMPATIBLE, null_content=False),
)
_AI_GATEWAY: Final = Profile.of_listed(
    AI_GATEWAY, base_url="https://gateway.ai.cloudflare.com/v1/{account}/"
)
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9]+")
_GATEWAY: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@frozen(init=False)
class CloudflareWorkersAI(ConfigurableProvider):
    """Workers AI, configured."""

    chat_route: Route[ChatBody]
    """The route of all models."""

    def __init__(
        self,
        *,
        account_id: str | None = None,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure Workers AI; everything has a default.

        `api_key` is short for `auth=Auth.bearer(api_key)`: give one of the two. Without either, it
        is CLOUDFLARE_API_TOKEN when a request is prepared, as the account is
        CLOUDFLARE_ACCOUNT_ID. A `base_url` includes the account.
        """
        of_account = partial(_with_account, _WORKERS.base_url, _account(account_id))
        self._set_fields(
            chat_route=_WORKERS.route(
                api_key=api_key,
                auth=auth,
                base_url=of_account if base_url is None else base_url,
                headers=headers,
                query=query,
                defaults=defaults,
            )
        )

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, such as `@cf/openai/gpt-oss-120b`."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, such as `@cf/openai/gpt-oss-120b`."""
        return self.chat_route.model(model_id)


@frozen(init=False)
class CloudflareAIGateway(ConfigurableProvider):
    """An AI Gateway, configured."""

    chat_route: Route[ChatBody]
    """The route of all models."""
    gateway_auth: Auth
    """The credentials of the gateway itself."""
    base_url: str | BaseUrlOf
    """The gateway's address."""

    def __init__(
        self,
        *,
        account_id: str | None = None,
        gateway: str = "default",
        api_key: str | None = None,
        auth: Auth | None = None,
        upstream_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure the gateway called *gateway*; everything has a default.

        `api_key` is the gateway's own, sent as `cf-aig-authorization`; without it and `auth` it is
        CF_AIG_TOKEN, or none. `upstream_key` is the upstream's, for `chat`: leave it out where
        Cloudflare stores or bills it. A `base_url` includes the account and the gateway.
        """
        if not _GATEWAY.fullmatch(gateway):
            raise ConfigurationError(
                f"gateway {gateway!r} is not the name of a gateway: letters, digits, '-' and '_'"
            )
        of_key = partial(Auth.header, GATEWAY_HEADER, prefix="Bearer ")
        own_auth = choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=GATEWAY_AUTH)
        url = f"{_AI_GATEWAY.base_url}{gateway}"
        where: str | BaseUrlOf = partial(_with_account, url, _account(account_id))
        where = where if base_url is None else checked_base_url(base_url)
        both = (
            own_auth if upstream_key is None else Auth.all_of(own_auth, Auth.bearer(upstream_key))
        )
        route = _AI_GATEWAY.route(
            base_url=_below(where, "compat"),
            auth=both,
            headers=headers,
            query=query,
            defaults=defaults,
        )
        self._set_fields(chat_route=route, gateway_auth=own_auth, base_url=where)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, named with its upstream: `openai/gpt-5.2`."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, named with its upstream: `openai/gpt-5.2`."""
        return self.chat_route.model(model_id)

    @with_call_hints()
    def through(
        self, model: Model, *, upstream: str | None = None, stored_key: bool = False
    ) -> Model:
        """Return *model* of another provider, reached through the gateway in its own API.

            gateway.through(Anthropic().model("claude-sonnet-4-6"))

        With `stored_key` the provider's key is not sent: Cloudflare stores or bills it. `upstream`
        is the path in the URL for the provider's base URL, for providers that are not listed here.
        """
        route = model.route
        if not isinstance(route, Route):
            raise ConfigurationError(
                f"the model {model.id!r} has no route that could lead through the gateway"
            )
        path = upstream or UPSTREAMS.get(route.provider)
        if path is None:
            known = ", ".join(sorted(UPSTREAMS))
            raise ConfigurationError(
                f"which upstream is {route.provider!r}? Name it with upstream=... (known: {known})"
            )
        own_auth = self.gateway_auth
        return route.with_(
            id=f"{AI_GATEWAY}-{route.id}",
            endpoint=evolve(route.endpoint, base_url=_below(self.base_url, path)),
            auth=own_auth if stored_key else Auth.all_of(own_auth, route.auth),
            defaults=with_headers(route.defaults, self.chat_route.defaults.headers),
        ).model(model.id)


# -- where the account is


def _account(account_id: str | None) -> str | None:
    return None if account_id is None else _checked(account_id, "account_id")


def _checked(account_id: str, source: str) -> str:
    if _ACCOUNT.fullmatch(account_id):
        return account_id
    raise ConfigurationError(
        f"{source} {account_id!r} is not the id of an account: letters and digits"
    )


def _with_account(url: str, account_id: str | None, environ: Mapping[str, str]) -> str:
    if account_id is None:
        from_environ = environ.get(ACCOUNT_VARIABLE, "").strip()
        if not from_environ:
            raise ConfigurationError(
                f"no account: set {ACCOUNT_VARIABLE}, or configure the provider with account_id=..."
            )
        account_id = _checked(from_environ, ACCOUNT_VARIABLE)
    return url.replace("{account}", account_id)


def _below(base_url: str | BaseUrlOf, path: str) -> str | BaseUrlOf:
    """Return *base_url* with *path* behind it, its query kept."""
    if callable(base_url):
        return lambda environ: f"{base_url(environ)}/{path}"
    before, mark, query = base_url.partition("?")
    return f"{before.rstrip('/')}/{path}{mark}{query}"
