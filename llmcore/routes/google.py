"""Google: the Gemini API. The provider's id is `google`; some know it as `gemini`.

Documents, read November 2026: https://ai.google.dev/api (the base URL, the key's header),
https://ai.google.dev/gemini-api/docs/api-key.
Key: GEMINI_API_KEY or GOOGLE_API_KEY.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from llmcore.protocols import gemini
from llmcore.protocols.gemini import GeminiBody
from llmcore.routes.auth import Auth, choose_auth
from llmcore.routes.base_url import BaseUrlVariable, checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import Endpoint, EndpointContext
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model

PROVIDER: Final = "google"
API_VERSION: Final = "v1beta"
BASE_URL: Final = f"https://generativelanguage.googleapis.com/{API_VERSION}"

AUTH: Final = Auth.env("GEMINI_API_KEY", "GOOGLE_API_KEY", header="x-goog-api-key", prefix="")
"""How to sign without `api_key` and `auth`. Google's libraries have the opposite order."""


@frozen(init=False)
class Google(ConfigurableProvider):
    """The Gemini API: `Google().model("gemini-3-flash-preview")` is a model.

    The key is `api_key`, or else that of GEMINI_API_KEY or GOOGLE_API_KEY. Documents:
    https://ai.google.dev/api.
    """

    route: Route[GeminiBody]
    """The route of all models."""

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
        """Configure the Gemini API; everything has a default.

        `api_key` is short for `auth=Auth.header("x-goog-api-key", api_key)`: give one of the two.
        Without either, it is GEMINI_API_KEY or GOOGLE_API_KEY when a request is prepared. A
        `base_url` without a path gets `/v1beta`; without one it is that of GEMINI_BASE_URL, if set.
        """
        where = (
            BaseUrlVariable("GEMINI_BASE_URL", BASE_URL, _versioned)
            if base_url is None
            else _versioned(base_url)
        )
        of_key = partial(Auth.header, "x-goog-api-key")
        self._set_fields(
            route=Route.make(
                id="google-generate-content",
                provider=PROVIDER,
                protocol=gemini.protocol,
                endpoint=Endpoint.path(generate_path, base_url=where, query=query),
                auth=choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=AUTH),
                defaults=with_headers(defaults, headers),
            )
        )

    def model(self, model_id: str) -> Model[GeminiBody]:
        """Return the model *model_id*: `gemini-...`, or a resource such as `tunedModels/...`."""
        return self.route.model(model_id)


def generate_path(context: EndpointContext, below: str = "") -> str:
    """Return the path of a call, which names the model and whether the response is streamed.

    *below* is the parent of models that are not named by a whole resource.
    """
    model = context.model_id
    name = quote(model if "/" in model else f"{below}models/{model}", safe="/@")
    verb = "streamGenerateContent?alt=sse" if context.streaming else "generateContent"
    return f"/{name}:{verb}"


def _versioned(base_url: str) -> str:
    """Return *base_url* checked, with the API's version if it has no path."""
    base_url = checked_base_url(base_url)
    parts = urlsplit(base_url)
    if parts.path:
        return base_url
    return urlunsplit((parts.scheme, parts.netloc, f"/{API_VERSION}", parts.query, ""))
