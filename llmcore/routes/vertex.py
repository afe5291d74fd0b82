"""Vertex AI on Google Cloud: Gemini, Claude, Mistral, other partners' models, and open models.

Documents, read November 2026:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations (hosts),
https://cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/
vertex-ai-express-mode-api-reference (keys),
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis,
https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/partner-models/mistral,
.../partner-models/grok/responses, .../partner-models/meta/muse-spark-1-3,
.../partner-models/openai/responses,
https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai and
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
Credentials: those that google-auth finds (GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth
application-default login`, metadata servers), for which the `vertex` extra is installed.
Project: GOOGLE_CLOUD_PROJECT. Location: GOOGLE_CLOUD_LOCATION, else `global`.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

from attrs import evolve

from llmcore.protocols import anthropic_messages, gemini, openai_chat, openai_responses
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.gemini import GeminiBody
from llmcore.protocols.openai_chat import COMPATIBLE, ChatBody
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.protocols.protocol import Built, Protocol, with_bodies
from llmcore.protocols.unary import VERTEX_MODELS
from llmcore.routes import xai
from llmcore.routes.auth import Auth, GoogleCredentials, choose_auth
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import BaseUrlOf, Endpoint, EndpointContext
from llmcore.routes.google import generate_path
from llmcore.routes.mistral import Mistral
from llmcore.routes.openai_compatible import GOOGLE
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import without
from llmcore.schema.model import Model

PROVIDER: Final = "vertex"
PROJECT_VARIABLE: Final = "GOOGLE_CLOUD_PROJECT"
LOCATION_VARIABLE: Final = "GOOGLE_CLOUD_LOCATION"
EXPRESS_URL: Final = "https://aiplatform.googleapis.com/v1"
CLAUDE_VERSION: Final = "vertex-2023-10-16"

_MULTI_REGIONS: Final = frozenset({"us", "eu"})
_CHAT: Final = openai_chat.make(evolve(COMPATIBLE, signed_calls=GOOGLE.signed_calls))
_GROK: Final = openai_chat.make(
    # "Grok reasoning models don't support reasoning_effort", where xAI's own API refuses it, too:
    # .../vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
    evolve(xai.DIALECT, max_tokens_field="max_tokens", service_tiers=())
)
_RESOURCES: Final = frozenset({"endpoints", "models", "projects", "publishers", "tunedModels"})
"""The first segments of the resource names of Gemini models."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.:-]*")
_MISTRAL_NAMES: Final = ("mistral", "codestral")
_OVER_RESPONSES: Final = re.compile(r"meta/muse-.*|openai/(?!gpt-oss).*")
"""Partners' models that have no other API than Responses."""
_gemini_path: Final = partial(generate_path, below=VERTEX_MODELS)


@frozen(init=False)
class Vertex(ConfigurableProvider):
    """Vertex AI: `Vertex(project="p", location="europe-west4").model("gemini-3-pro-preview")`.

    `model` selects the API by the model's name. Credentials are Google's default ones, a key file
    or `api_key`. Documents: https://docs.cloud.google.com/vertex-ai/generative-ai/docs.
    """

    gemini_route: Route[GeminiBody]
    """The route of Gemini models."""
    claude_route: Route
    """The route of Claude models."""
    mistral_route: Route[ChatBody]
    """The route of Mistral's models."""
    chat_route: Route[ChatBody]
    """The route of open models, such as Llama, DeepSeek and Qwen, and of Grok."""

    def __init__(
        self,
        *,
        project: str | None = None,
        location: str | None = None,
        api_key: str | None = None,
        service_account_file: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure Vertex AI; everything has a default.

        Without `project` and `location` they are GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION
        (or `global`) when a request is prepared. `api_key` is a key of express mode, which has
        neither; `service_account_file` is the path of a key file: give one of these two or
        `auth`. A `base_url` replaces all before `/publishers`.
        """
        if api_key is not None and (project is not None or location is not None):
            raise ConfigurationError("api_key is for express mode, without project and location")
        own_url = None if base_url is None else checked_base_url(base_url)
        place = partial(_place, project, location, express=api_key is not None)
        route = Route.make(
            id="vertex-gemini",
            provider=PROVIDER,
            protocol=gemini.make(gemini.VERTEX),
            endpoint=Endpoint.path(
                _gemini_path,
                base_url=own_url or place(),
                query=query,
            ),
            auth=_auth(api_key, auth, service_account_file),
            defaults=with_headers(defaults, headers),
        )
        claude = beside(route, partial(predict_path, "anthropic"), "vertex-claude", _CLAUDE)
        mistral = beside(route, partial(predict_path, "mistralai"), "vertex-mistral", _MISTRAL)
        in_region = own_url or place(regions="us-central1 or europe-west4")
        mistral = mistral.with_(endpoint=evolve(mistral.endpoint, base_url=in_region))
        chat = beside(route, "/endpoints/openapi/chat/completions", "vertex-chat", _CHAT)
        self._set_fields(
            gemini_route=route, claude_route=claude, mistral_route=mistral, chat_route=chat
        )

    def gemini(self, model_id: str) -> Model[GeminiBody]:
        """Return the Gemini model *model_id*, or the one at an endpoint (`endpoints/123`)."""
        return self.gemini_route.model(model_id)

    def claude(self, model_id: str) -> Model:
        """Return the Claude model *model_id*, reached over Messages."""
        return self.claude_route.model(model_id)

    def mistral(self, model_id: str) -> Model[ChatBody]:
        """Return the Mistral model *model_id* (`mistral-medium-3`), over Chat Completions.

        A version (`codestral@2405`) is sent in the path alone. Mistral's models are in regions
        and not at `global`: requests without a location are a ConfigurationError.
        """
        return self.mistral_route.model(model_id.removeprefix("mistralai/"))

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, with its publisher, reached over Chat Completions.

        It serves open models (`meta/llama-...-maas`), Grok (`xai/grok-4.3`, at `global`) and
        Gemini (`google/gemini-3.6-flash`).
        """
        is_grok = model_id.startswith("xai/")
        route = self.chat_route.with_(protocol=_GROK) if is_grok else self.chat_route
        return route.model(model_id)

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the partner's model *model_id*, with its publisher, reached over Responses.

        They are those of OpenAI (`openai/gpt-6-luna`), Meta (`meta/muse-spark-1.3`) and xAI
        (`xai/grok-4.3`), at `global` (OpenAI's at `us`, too). Raises ConfigurationError for an
        id without publisher.
        """
        publisher, _, name = model_id.partition("/")
        if not name:
            raise ConfigurationError(f"write model {model_id!r} with its publisher: 'openai/...'")
        target, protocol = f"/publishers/{quote(publisher, safe='')}/v1/responses", _RESPONSES
        if publisher == "xai":
            target, protocol = "/endpoints/openapi/responses", _uncounted(xai.grok_responses(name))
        return beside(self.chat_route, target, "vertex-responses", protocol).model(model_id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, reached over the API that it has.

        It is a Claude or a Mistral model by its name, that of the publisher it is named with
        (`deepseek-ai/deepseek-v3.1-maas`), or else a Gemini model.
        """
        publisher, slash, _ = model_id.partition("/")
        if publisher == "mistralai" or model_id.startswith(_MISTRAL_NAMES):
            return self.mistral(model_id)
        if _OVER_RESPONSES.fullmatch(model_id):
            return self.responses(model_id)
        if slash and publisher not in _RESOURCES:
            return self.chat(model_id)
        return (self.claude if model_id.startswith("claude") else self.gemini)(model_id)


def predict_path(publisher: str, context: EndpointContext) -> str:
    """Return the path of a call to a partner's model in the partner's own API."""
    verb = "streamRawPredict" if context.streaming else "rawPredict"
    return f"/publishers/{publisher}/models/{quote(context.model_id, safe='@')}:{verb}"


# -- bodies as Vertex takes them

_Body = TypeVar("_Body")


def _uncounted(protocol: Protocol[_Body, Any, Any]) -> Protocol[_Body, Any, Any]:
    return evolve(protocol, count_tokens=None)  # no document has an endpoint that counts


def _claude_body(built: Built[MessagesBody]) -> Built[MessagesBody]:
    """Return the body without the model, which the path names, and with the version."""
    native = without(built.body, "model")
    body = cast("MessagesBody", {"anthropic_version": CLAUDE_VERSION, **native})
    return evolve(built, body=body)


def _mistral_body(built: Built[ChatBody]) -> Built[ChatBody]:
    """Return the body without the model's version."""
    name = built.body["model"].partition("@")[0]
    return evolve(built, body=cast("ChatBody", {**built.body, "model": name}))


def _responses_body(built: Built[ResponsesBody]) -> Built[ResponsesBody]:
    """Return the body without the model's publisher, which the path names."""
    name = built.body["model"].partition("/")[2]
    return evolve(built, body=cast("ResponsesBody", {**built.body, "model": name}))


_CLAUDE: Final = with_bodies(
    # mid-conversation system messages: "available on the Claude API and Claude Platform on AWS"
    anthropic_messages.make(system_messages=False, service_tiers={}),
    _claude_body,
)
_MISTRAL: Final = with_bodies(
    openai_chat.make(
        # the parameters that https://github.com/mistralai/client-python sends there
        # (packages/mistralai_gcp, ChatCompletionRequest)
        evolve(
            Mistral.profile.dialect,
            prompt_cache_key=False,
            audio_formats=frozenset(),
            files=False,
            reasoning_effort="none",
            reasoning_replay="forbidden",
        )
    ),
    _mistral_body,
)
_RESPONSES: Final = _uncounted(with_bodies(openai_responses.protocol, _responses_body))


def _auth(api_key: str | None, auth: Auth | None, service_account_file: str | None) -> Auth:
    source = GoogleCredentials(service_account_file=service_account_file)
    if service_account_file is not None and (api_key is not None or auth is not None):
        raise ConfigurationError("give either service_account_file or api_key or auth, not two")
    of_key = partial(Auth.header, "x-goog-api-key")
    return choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=Auth.token(source))


# -- project and location


def _place(
    project: str | None, location: str | None, *, express: bool, regions: str = ""
) -> str | BaseUrlOf:
    if express:
        return EXPRESS_URL
    for name, value in (("project", project), ("location", location)):
        if value is not None:
            _checked(value, name)
    return partial(_below_project, project, location, regions)


def _below_project(
    project: str | None, location: str | None, regions: str, environ: Mapping[str, str]
) -> str:
    project = project or environ.get(PROJECT_VARIABLE, "").strip()
    if not project:
        raise ConfigurationError(
            f"no project: set {PROJECT_VARIABLE}, or configure the provider with project=..."
        )
    location = location or environ.get(LOCATION_VARIABLE, "").strip()
    if regions and not location:
        raise ConfigurationError(
            f"no location, and these models are not at 'global': set {LOCATION_VARIABLE}, or "
            f"configure the provider with location=..., such as {regions}"
        )
    location = location or "global"
    _checked(project, PROJECT_VARIABLE)
    _checked(location, LOCATION_VARIABLE)
    return f"https://{_host(location)}/v1/projects/{project}/locations/{location}"


def _host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


def _checked(value: str, source: str) -> None:
    if not _NAME.fullmatch(value):
        raise ConfigurationError(
            f"{source} {value!r} is not a valid name: lower-case letters, digits and '-'"
        )
