"""Vertex AI on Google Cloud: Gemini, Claude, and open models.

Documents, read November 2026:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations (hosts),
https://cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/
vertex-ai-express-mode-api-reference (keys),
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis,
https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai and
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
Credentials: those that google-auth finds (GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth
application-default login`, metadata servers), for which the `vertex` extra is installed.
Project: GOOGLE_CLOUD_PROJECT. Location: GOOGLE_CLOUD_LOCATION, else `global`.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final, cast
from urllib.parse import quote

from attrs import evolve, frozen

from llmcore.protocols import anthropic_messages, gemini, openai_chat
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.gemini import GeminiBody
from llmcore.protocols.openai_chat import COMPATIBLE, ChatBody
from llmcore.protocols.protocol import BodyBuilder, Built
from llmcore.routes.auth import Auth, GoogleCredentials, choose_auth
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.endpoint import BaseUrlOf, Endpoint, EndpointContext
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, RouteDefaults
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

PROVIDER: Final = "vertex"
PROJECT_VARIABLE: Final = "GOOGLE_CLOUD_PROJECT"
LOCATION_VARIABLE: Final = "GOOGLE_CLOUD_LOCATION"
EXPRESS_URL: Final = "https://aiplatform.googleapis.com/v1"
CLAUDE_VERSION: Final = "vertex-2023-10-16"

_MULTI_REGIONS: Final = frozenset({"us", "eu"})
_CHAT: Final = openai_chat.make(COMPATIBLE)
_RESOURCES: Final = frozenset({"endpoints", "models", "projects", "publishers", "tunedModels"})
"""The first segments of the resource names of Gemini models."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.:-]*")


@frozen(init=False)
class Vertex(ConfigurableProvider):
    """Vertex AI, configured."""

    gemini_route: Route[GeminiBody]
    """The route of Gemini models."""
    claude_route: Route
    """The route of Claude models."""
    chat_route: Route[ChatBody]
    """The route of open models, such as Llama, DeepSeek and Qwen."""

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
        `auth`. A `base_url` stands for all before `/publishers`.
        """
        if api_key is not None and (project is not None or location is not None):
            raise ConfigurationError("api_key is for express mode, without project and location")
        below = defaults or RouteDefaults()
        where = _place(project, location, express=api_key is not None)
        route = Route.make(
            id="vertex-gemini",
            provider=PROVIDER,
            protocol=gemini.make(gemini.VERTEX),
            endpoint=Endpoint.path(
                gemini_path,
                base_url=where if base_url is None else checked_base_url(base_url),
                query=query,
            ),
            auth=_auth(api_key, auth, service_account_file),
            defaults=evolve(below, headers={**below.headers, **(headers or {})}),
        )
        claude = route.with_(
            id="vertex-claude",
            protocol=_CLAUDE,
            endpoint=evolve(route.endpoint, target=claude_path),
        )
        chat = route.with_(
            id="vertex-chat",
            protocol=_CHAT,
            endpoint=evolve(route.endpoint, target="/endpoints/openapi/chat/completions"),
        )
        self._set_fields(gemini_route=route, claude_route=claude, chat_route=chat)

    def gemini(self, model_id: str) -> Model[GeminiBody]:
        """Return the Gemini model *model_id*, or the one at an endpoint (`endpoints/123`)."""
        return self.gemini_route.model(model_id)

    def claude(self, model_id: str) -> Model:
        """Return the Claude model *model_id*, reached over Messages."""
        return self.claude_route.model(model_id)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the open model *model_id* (`meta/llama-...`), reached over Chat Completions."""
        return self.chat_route.model(model_id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*: by its name Claude, an open model, or else Gemini.

        Those of another publisher than Google are open models: `deepseek-ai/deepseek-v3.1-maas`.
        """
        publisher, slash, _ = model_id.partition("/")
        if slash and publisher not in _RESOURCES:
            return self.chat(model_id)
        return (self.claude if model_id.startswith("claude") else self.gemini)(model_id)


def gemini_path(context: EndpointContext) -> str:
    """Return the path of a call to Gemini."""
    model = context.model_id
    name = quote(model if "/" in model else f"publishers/google/models/{model}", safe="/@")
    verb = "streamGenerateContent?alt=sse" if context.streaming else "generateContent"
    return f"/{name}:{verb}"


def claude_path(context: EndpointContext) -> str:
    """Return the path of a call to Claude."""
    verb = "streamRawPredict" if context.streaming else "rawPredict"
    return f"/publishers/anthropic/models/{quote(context.model_id, safe='@')}:{verb}"


# mid-conversation system messages: "available on the Claude API and Claude Platform on AWS" only
_MESSAGES: Final = anthropic_messages.make(system_messages=False, service_tiers=False)


def _build_claude(request: LLMRequest, streaming: bool) -> Result[Built[MessagesBody], LLMError]:
    """Build the body as Vertex takes it: the path names the model, the body the version."""
    return _MESSAGES.body.build(request, streaming).map(
        lambda built: evolve(built, body=_without_model(built.body))
    )


def _without_model(body: MessagesBody) -> MessagesBody:
    native = {name: value for name, value in body.items() if name != "model"}
    return cast("MessagesBody", {"anthropic_version": CLAUDE_VERSION, **native})


_CLAUDE: Final = evolve(_MESSAGES, body=BodyBuilder(build=_build_claude))


def _auth(api_key: str | None, auth: Auth | None, service_account_file: str | None) -> Auth:
    source = GoogleCredentials(service_account_file=service_account_file)
    if service_account_file is not None and (api_key is not None or auth is not None):
        raise ConfigurationError("give either service_account_file or api_key or auth, not two")
    of_key = partial(Auth.header, "x-goog-api-key")
    return choose_auth(api_key=api_key, auth=auth, of_key=of_key, fallback=Auth.token(source))


# -- project and location


def _place(project: str | None, location: str | None, *, express: bool) -> str | BaseUrlOf:
    if express:
        return EXPRESS_URL
    for name, value in (("project", project), ("location", location)):
        if value is not None:
            _checked(value, name)
    return partial(_below_project, project, location)


def _below_project(project: str | None, location: str | None, environ: Mapping[str, str]) -> str:
    project = project or environ.get(PROJECT_VARIABLE, "").strip()
    if not project:
        raise ConfigurationError(
            f"no project: set {PROJECT_VARIABLE}, or configure the provider with project=..."
        )
    location = location or environ.get(LOCATION_VARIABLE, "").strip() or "global"
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
