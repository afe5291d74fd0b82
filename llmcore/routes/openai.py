"""OpenAI: Chat Completions and Responses.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/authentication
(organization and project), https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/api-reference/responses,
https://developers.openai.com/api/docs/guides/deployment-checklist (what models take).
Key: OPENAI_API_KEY.
"""

from collections.abc import Mapping
from typing import Final

from llmcore.protocols import openai_responses
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.openai_chat.models import OPENAI
from llmcore.protocols.openai_responses import ResponsesBody
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import Profile
from llmcore.routes.defaults import RouteDefaults, checked_headers
from llmcore.routes.provider import ConfigurableProvider
from llmcore.routes.route import Route, beside
from llmcore.routes.transport_spec import WebSocket
from llmcore.schema.frozen import frozen
from llmcore.schema.json import present
from llmcore.schema.model import Model

PROFILE: Final = Profile.of_listed(
    "openai",
    base_url="https://api.openai.com/v1",
    dialect=OPENAI,
)


@frozen(init=False)
class OpenAI(ConfigurableProvider):
    """OpenAI's APIs: `OpenAI().responses("gpt-5.2")` and `OpenAI().chat("gpt-5.2")` are models.

    The key is `api_key`, or else that of OPENAI_API_KEY. With `base_url`, `chat` reaches a server
    with OpenAI's API. Documents: https://platform.openai.com/docs/api-reference.
    """

    chat_route: Route[ChatBody]
    """The route of Chat Completions."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> None:
        """Configure OpenAI; everything has a default.

        `api_key` is short for `auth=Auth.bearer(api_key)`: give one of the two. Without
        either, the key is that of OPENAI_API_KEY when a request is prepared, and the base URL that
        of OPENAI_BASE_URL, if it is set.
        """
        account = {"openai-organization": organization, "openai-project": project}
        account_headers = present(account)
        self._set_fields(
            chat_route=PROFILE.route(
                api_key=api_key,
                auth=auth,
                base_url=base_url,
                headers={**account_headers, **checked_headers(headers)},
                query=query,
                defaults=defaults,
            )
        )

    @property
    def responses_route(self) -> Route[ResponsesBody]:
        """The route to `POST /responses`, with the same configuration."""
        protocol = openai_responses.protocol
        return beside(self.chat_route, "/responses", protocol.id, protocol)

    def chat(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, reached over Chat Completions."""
        return self.chat_route.model(model_id)

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses."""
        return self.responses_route.model(model_id)

    def responses_websocket(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses on WebSockets that stay open.

        Each turn of a conversation brings only what is new. Needs the extra `websocket`.
        """
        route = self.responses_route.with_(id="openai-responses-websocket", transport=WebSocket())
        return route.model(model_id)

    def model(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses."""
        return self.responses(model_id)
