"""OpenRouter, a gateway to the models of others.

Documents, read November 2026:
https://openrouter.ai/docs/api/api-reference/chat/create-a-chat-completion,
https://openrouter.ai/docs/use-cases/reasoning-tokens,
https://openrouter.ai/docs/features/prompt-caching. Key: OPENROUTER_API_KEY.

Which providers may serve a request is
`provider_options={"openrouter": {"provider": {"order": [...]}}}`.
"""

from collections.abc import Mapping
from typing import Self

from attrs import frozen

from llmcore.protocols.openai_chat.dialect import ChatDialect
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.routes.route import RouteDefaults

DIALECT = ChatDialect(
    valid_arguments=True,
    audio_formats=frozenset({"wav", "mp3", "flac", "m4a", "ogg", "aiff", "aac", "pcm16", "pcm24"}),
    file_urls=True,
    videos=True,
    tool_result_images=True,
    custom_tools=False,
    unsupported=frozenset({"prompt_cache_retention"}),
    stream_usage=False,  # "has no effect. Full usage details are always included."
    reasoning_effort="reasoning",
    reasoning_field="reasoning_details",
    reasoning_replay="accepted",
    cache_control=True,
    auto_cache_models=r"~?anthropic/.*",
)


@frozen
class OpenRouter(ChatProvider):
    """OpenRouter, configured."""

    profile = Profile(
        id="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        dialect=DIALECT,
    )

    @classmethod
    def configure(
        cls,
        *,
        api_key: str | None = None,
        auth: Auth | None = None,
        base_url: str | None = None,
        app_url: str | None = None,
        app_title: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        defaults: RouteDefaults | None = None,
    ) -> Self:
        """Configure OpenRouter; `app_url` and `app_title` name your application in its rankings.

        Source: https://openrouter.ai/docs/app-attribution
        """
        named = {"http-referer": app_url, "x-openrouter-title": app_title}
        own = {name: value for name, value in named.items() if value is not None}
        return super().configure(
            api_key=api_key,
            auth=auth,
            base_url=base_url,
            headers={**own, **(headers or {})},
            query=query,
            defaults=defaults,
        )
