"""GitHub Copilot: the models of a Copilot subscription. The provider's id is `github-copilot`.

The API has no public reference. Its sources, read November 2026: the source of the
editor's own extension (https://github.com/microsoft/vscode-copilot-chat: headers, endpoints,
token), https://github.com/anomalyco/opencode (the endpoints that lists of models name, headers of
Messages), https://github.com/caozhiyuan/copilot-api/pull/103 (beta features that are refused),
https://github.com/ericc-ch/copilot-api/issues/155 (images by URL are refused),
https://github.com/BerriAI/litellm/issues/30071 (ids of items change in every event),
https://github.com/github/gh-aw-firewall/issues/8350 (freeform tools are refused).
Credentials: the login that `llmcore login github-copilot` keeps, or the token in
GITHUB_COPILOT_TOKEN. A GitHub token is exchanged for a short-lived one of Copilot's, which also
states where the account's API is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from attrs import evolve

from llmcore.protocols import anthropic_messages, openai_chat, openai_responses
from llmcore.protocols.anthropic_messages import MessagesBody
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.protocols.protocol import Built, Protocol, with_bodies
from llmcore.routes.anthropic import BETA_HEADER, needed_betas
from llmcore.routes.anthropic import VERSION as MESSAGES_VERSION
from llmcore.routes.auth import Auth, AuthContext, CredentialSource, Fetch
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.defaults import RouteDefaults, with_headers
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.github_credentials import (
    EDITOR_HEADERS,
    GITHUB_API_URL,
    LOGIN_COMMAND,
    PROVIDER,
    CopilotAccess,
    CopilotLogin,
    is_github_token,
)
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside, layered
from llmcore.schema.content import ContentPart, ImagePart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AuthenticationError, ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import without
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result

BASE_URL: Final = "https://api.githubcopilot.com"

CHAT: Final = evolve(
    COMPATIBLE,
    image_urls=False,  # "external image URLs are not supported"
    parallel_tool_calls=False,
    reasoning_field="reasoning_text",  # with `reasoning_opaque`, as the editor's extension does
    reasoning_replay="accepted",
)
RESPONSES: Final = evolve(openai_responses.COMPATIBLE, item_ids="reasoning")
_INTENT: Final = {"openai-intent": "conversation-edits"}
_RESPONSES_MODELS: Final = re.compile(r"gpt-([5-9]|[12]\d)(?!\d|-mini)")
_MESSAGES_PATH: Final = "/v1/messages"
_INTERLEAVED: Final = {BETA_HEADER: "interleaved-thinking-2025-05-14"}
"""The feature of thinking between tool calls, for models with a thinking budget."""
_MEMORY: Final = ("previous_response_id", "conversation", "background")
"""Options of the Responses API that need stored responses; Copilot stores none."""


# -- signing


def _auth_of(source: Fetch | CredentialSource, *, moves: bool) -> Auth:
    """Sign with the token that *source* fetches; with *moves*, at the address that it names."""

    def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
        if not context.token:
            message = f"not logged in to GitHub Copilot: run `{LOGIN_COMMAND}`"
            return Failure(AuthenticationError(message))
        access = CopilotAccess.from_token(context.token)
        if moves and access.base_url:
            path = request.url.removeprefix(BASE_URL)
            request = evolve(request, url=access.base_url.rstrip("/") + path)
        return Auth.bearer(access.token).sign(request, context)

    return Auth(id=PROVIDER, sign=sign, fetch=source)


# -- what goes with each request


def initiator(messages: Sequence[Message]) -> Literal["user", "agent"]:
    """Return the initiator: the user if the last message is theirs, else an agent.

    Instructions in the conversation do not count.
    """
    roles = [message.role for message in messages if message.role not in ("system", "developer")]
    return "agent" if roles and roles[-1] != "user" else "user"


def has_images(messages: Sequence[Message]) -> bool:
    """Return whether an image is in any of *messages*, or in what a tool returned."""
    return any(_is_image(part) for message in messages for part in message.content)


def _is_image(part: ContentPart) -> bool:
    if isinstance(part, ToolResultPart):
        return any(isinstance(inner, ImagePart) for inner in part.parts)
    return isinstance(part, ImagePart)


def _of_copilot(protocol: Protocol[Any, Any, Any]) -> Protocol[Any, Any, Any]:
    """Return *protocol* with Copilot's headers, and without references to stored responses."""
    inner = protocol.body.build

    def build(request: LLMRequest, streaming: bool) -> Result[Built[Any], LLMError]:
        headers: dict[str, str] = {"x-initiator": initiator(request.messages)}
        if has_images(request.messages):
            headers["copilot-vision-request"] = "true"
        without_memory, diagnostics = _without_memory(request)

        def finish(built: Built[Any]) -> Built[Any]:
            return evolve(
                built,
                headers={**built.headers, **headers},
                diagnostics=(*diagnostics, *built.diagnostics),
            )

        return inner(without_memory, streaming).map(finish)

    return evolve(protocol, body=evolve(protocol.body, build=build))


def _without_memory(request: LLMRequest) -> tuple[LLMRequest, tuple[Diagnostic, ...]]:
    """Return *request* without options that refer to stored responses, and what was left out."""
    kept, diagnostics = {}, []
    for provider, options in request.provider_options.items():
        kept[provider] = without(options, *_MEMORY)
        for name in options.keys() & set(_MEMORY):
            path = f"provider_options.{provider}.{name}"
            why = f"GitHub Copilot stores no responses, so {name} was left out"
            diagnostics.append(
                Diagnostic("unsupported-parameter", path, action="dropped", message=why)
            )
    diagnostics.sort(key=lambda note: note.path)
    return (evolve(request, provider_options=kept) if diagnostics else request), tuple(diagnostics)


def _interleaved(built: Built[MessagesBody]) -> Built[MessagesBody]:
    """Return *built* with the beta features that Copilot takes.

    Copilot's own clients name a feature if they set a budget of thinking.
    """
    built = needed_betas(built)
    thinking = built.body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return built
    return evolve(built, headers=layered(_INTERLEAVED, built.headers))


_CHAT: Final = _of_copilot(openai_chat.make(CHAT))
_MESSAGES: Final = evolve(
    _of_copilot(
        with_bodies(anthropic_messages.make(system_messages=False, service_tiers={}), _interleaved)
    ),
    count_tokens=None,
)
_RESPONSES: Final = _of_copilot(openai_responses.make(RESPONSES))


# -- the facade


@frozen(init=False)
class GithubCopilot(ConfigurableProvider):
    """GitHub Copilot, configured."""

    chat_route: Route[ChatBody]
    """The route of Chat Completions."""

    def __init__(
        self,
        *,
        token: str | None = None,
        token_provider: Fetch | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        github_api_url: str = GITHUB_API_URL,
        integration_id: str = "vscode-chat",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure GitHub Copilot; everything has a default.

        `token` is GitHub's (`gho_...`, `ghu_...`), which is exchanged at `github_api_url`, or
        Copilot's own (`tid=...`), which is sent as it is; `token_provider` is awaited for a token
        of Copilot's before each request; give one of these two or `auth`. Without them it is
        GITHUB_COPILOT_TOKEN, or the login that `llmcore login github-copilot` keeps. Without
        `base_url` the exchanged token states where the API is.
        """
        editor_headers = {**EDITOR_HEADERS, **_INTENT, "copilot-integration-id": integration_id}
        self._set_fields(
            chat_route=Route.make(
                id=f"{PROVIDER}-chat",
                provider=PROVIDER,
                protocol=_CHAT,
                endpoint=Endpoint.path(
                    "/chat/completions",
                    base_url=BASE_URL if base_url is None else checked_base_url(base_url),
                    query=query,
                ),
                auth=_chosen_auth(
                    token,
                    token_provider,
                    auth,
                    api_url=checked_base_url(github_api_url),
                    moves=base_url is None,
                ),
                defaults=with_headers(defaults, headers, editor_headers),
            )
        )

    @property
    def responses_route(self) -> Route[ResponsesBody]:
        """The route to `POST /responses`, with the same configuration."""
        return beside(self.chat_route, "/responses", f"{PROVIDER}-responses", _RESPONSES)

    @property
    def messages_route(self) -> Route[MessagesBody]:
        """The route to `POST /v1/messages`, with the same configuration."""
        own = {"anthropic-version": MESSAGES_VERSION}
        route = beside(self.chat_route, _MESSAGES_PATH, f"{PROVIDER}-messages", _MESSAGES)
        return route.with_(defaults=with_headers(route.defaults, None, own))

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, reached over Chat Completions."""
        return self.chat_route.model(model_id)

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses."""
        return self.responses_route.model(model_id)

    def messages(self, model_id: str) -> Model[MessagesBody]:
        """Return the Claude model *model_id*, reached over Messages."""
        return self.messages_route.model(model_id)

    def model(self, model_id: str, *, endpoints: Sequence[str] = ()) -> Model:
        """Return the model *model_id*, over the API that serves it.

        Of the *endpoints* that `client.list_models` names for it, Messages is taken before
        Responses, and this before Chat Completions. Without them it is Responses for `gpt-5` and
        later, but for `gpt-5-mini`; Chat Completions for all others.
        """
        if _MESSAGES_PATH in endpoints:
            return self.messages(model_id)
        if endpoints:
            return (self.responses if "/responses" in endpoints else self.chat)(model_id)
        return (self.responses if _RESPONSES_MODELS.match(model_id) else self.chat)(model_id)


def _chosen_auth(
    token: str | None, token_provider: Fetch | None, auth: Auth | None, *, api_url: str, moves: bool
) -> Auth:
    if sum(given is not None for given in (token, token_provider, auth)) > 1:
        raise ConfigurationError("give either token or token_provider or auth, and not two of them")
    if auth is not None:
        return auth
    if token_provider is not None:
        return _auth_of(token_provider, moves=moves)
    if token is None:
        return _auth_of(CopilotLogin(api_url=api_url), moves=moves)
    if not token.strip():
        raise ConfigurationError(f"token is empty: give one, or run `{LOGIN_COMMAND}`")
    if is_github_token(token):
        return _auth_of(CopilotLogin(token=token, api_url=api_url), moves=moves)
    return Auth.bearer(token)
