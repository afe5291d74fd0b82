"""Azure: models of OpenAI and others, deployed in a resource of the user.

Documents, read November 2026:
https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle (the v1 API),
https://learn.microsoft.com/azure/foundry/openai/reference (dated versions),
https://learn.microsoft.com/azure/foundry/openai/how-to/managed-identity (Entra tokens).
Key: AZURE_OPENAI_API_KEY. Resource: AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_RESOURCE_NAME.

The model of a request is the name of a deployment. Two shapes of the API:

    v1      https://RESOURCE.openai.azure.com/openai/v1/responses       the deployment in the body
    dated   .../openai/deployments/DEPLOYMENT/chat/completions?api-version=2024-10-21
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from llmcore.protocols import openai_chat, openai_responses
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.routes.auth import Auth, Fetch, choose_auth
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import BaseUrlOf, Endpoint, EndpointContext
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model

PROVIDER: Final = "azure"
V1: Final = "v1"
AUTH: Final = Auth.env("AZURE_OPENAI_API_KEY", header="api-key", prefix="")
"""How to sign where no key, auth or token provider was given."""
ENDPOINT_VARIABLE: Final = "AZURE_OPENAI_ENDPOINT"
RESOURCE_VARIABLE: Final = "AZURE_OPENAI_RESOURCE_NAME"

_RESOURCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
_SHOWN: Final = re.compile(
    r"/(openai(/v1|/deployments(/[^/]+)?)?|models)(/chat/completions|/responses)?$"
)


@frozen(init=False)
class Azure(ConfigurableProvider):
    """A resource on Azure: `Azure(resource_name="...").responses("my-deployment")` is a model.

    The key is `api_key`, or else that of AZURE_OPENAI_API_KEY. Documents:
    https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle.
    """

    chat_route: Route[ChatBody]
    """The route of Chat Completions."""
    responses_route: Route[ResponsesBody]
    """The route of the Responses API."""

    def __init__(
        self,
        *,
        resource_name: str | None = None,
        base_url: str | None = None,
        api_version: str = V1,
        api_key: str | None = None,
        token_provider: Fetch | None = None,
        auth: Auth | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure the resource called `resource_name`, or the one at `base_url`: not both.

        Without either, it is that of AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_RESOURCE_NAME when a
        request is prepared. `base_url` is the endpoint that the portal shows, of Azure OpenAI or
        Foundry, or a gateway's. `api_version` is `v1` or a date such as `2024-10-21`.

        `api_key` goes out as `api-key`. `token_provider` returns a Microsoft Entra token for the
        scope `https://cognitiveservices.azure.com/.default` and is awaited for each request.
        """
        where = _place(resource_name, base_url, dated=_is_dated(api_version))
        version_query = {} if api_version == V1 else {"api-version": api_version}
        chat = Route.make(
            id="azure-chat",
            provider=PROVIDER,
            protocol=openai_chat.protocol,
            endpoint=Endpoint.path(
                deployment_path if version_query else "/chat/completions",
                base_url=where,
                query={**version_query, **(query or {})},
            ),
            auth=_auth(api_key, auth, token_provider),
            defaults=with_headers(defaults, headers),
        )
        responses = beside(chat, "/responses", "azure-responses", openai_responses.protocol)
        self._set_fields(chat_route=chat, responses_route=responses)

    def chat(self, deployment: str) -> Model[ChatBody]:
        """Return the model of *deployment*, reached over Chat Completions."""
        return self.chat_route.model(deployment)

    def responses(self, deployment: str) -> Model[ResponsesBody]:
        """Return the model of *deployment*, reached over Responses."""
        return self.responses_route.model(deployment)

    def model(self, deployment: str) -> Model:
        """Return the model of *deployment*, reached over Responses."""
        return self.responses(deployment)


def deployment_path(context: EndpointContext) -> str:
    """Return the path of a chat call in a dated version, which names the deployment."""
    return f"/deployments/{quote(context.model_id, safe='')}/chat/completions"


def _auth(api_key: str | None, auth: Auth | None, token_provider: Fetch | None) -> Auth:
    if token_provider is not None:
        if api_key is not None or auth is not None:
            raise ConfigurationError("give either token_provider or api_key or auth, and not two")
        return Auth.token(token_provider)
    of_key = partial(Auth.header, "api-key")
    return choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=AUTH)


def _is_dated(api_version: str) -> bool:
    if api_version == V1 or _DATED.fullmatch(api_version):
        return api_version != V1
    raise ConfigurationError(
        f"api_version {api_version!r} is not a version: give 'v1', or a date such as '2024-10-21'",
        provider=PROVIDER,
    )


# -- where the resource is


def _place(resource_name: str | None, base_url: str | None, *, dated: bool) -> str | BaseUrlOf:
    if resource_name is not None and base_url is not None:
        message = "give either resource_name or base_url, and not both"
        raise ConfigurationError(message, provider=PROVIDER)
    if resource_name is not None:
        return _below(_address(resource_name, "resource_name"), dated=dated)
    if base_url is not None:
        return _below(base_url, dated=dated)
    return partial(_place_in, dated=dated)


def _place_in(environ: Mapping[str, str], *, dated: bool) -> str:
    endpoint = environ.get(ENDPOINT_VARIABLE, "").strip()
    if endpoint:
        try:
            return _below(endpoint, dated=dated)
        except ConfigurationError as error:
            message = f"{error.message} (from {ENDPOINT_VARIABLE})"
            raise ConfigurationError(message, provider=PROVIDER, cause=error) from error
    name = environ.get(RESOURCE_VARIABLE, "").strip()
    if name:
        return _below(_address(name, RESOURCE_VARIABLE), dated=dated)
    raise ConfigurationError(
        "no Azure resource: configure the provider with resource_name=... or base_url=..., "
        f"or set {ENDPOINT_VARIABLE} or {RESOURCE_VARIABLE}",
        provider=PROVIDER,
    )


def _address(name: str, source: str) -> str:
    if _RESOURCE.fullmatch(name):
        return f"https://{name}.openai.azure.com"
    message = f"{source} {name!r} is not the name of a resource, such as the RESOURCE of "
    message += "https://RESOURCE.openai.azure.com; a whole URL is a base_url"
    raise ConfigurationError(message, provider=PROVIDER)


def _below(base_url: str, *, dated: bool) -> str:
    """Return the URL that operations are below, for any URL that Azure shows of a resource.

    Those are its endpoint, `.../openai`, `.../openai/v1`, Foundry's `.../models`, a deployment's
    and its operation's. The URL of a gateway, which has another path, is not changed.
    """
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    shown = _SHOWN.search(path)
    if shown or not path:
        root = path[: shown.start()] if shown else path
        path = f"{root}/openai" if dated else f"{root}/openai/{V1}"
    return checked_base_url(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")))
