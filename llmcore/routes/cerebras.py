"""Cerebras.

Documents, read November 2026: https://inference-docs.cerebras.ai/api-reference/chat-completions,
https://inference-docs.cerebras.ai/capabilities/image-inputs,
https://pypi.org/project/cerebras-cloud-sdk/1.91.0/ (`types/chat`). Key: CEREBRAS_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    image_urls=False,
    strict_schemas=True,
    prompt_cache_key=True,
    unsupported=COMPATIBLE.unsupported | {"top_k", "prompt_cache_retention"},
    reasoning_field="reasoning",
    reasoning_replay="accepted",
)


@frozen
class Cerebras(ChatProvider):
    """Cerebras, configured."""

    profile = Profile(
        id="cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variables=("CEREBRAS_API_KEY",),
        dialect=DIALECT,
    )
