"""Baseten's Model APIs; a dedicated deployment is another `base_url`.

Documents, read November 2026: https://docs.baseten.co/reference/inference-api/chat-completions and
its `llm-openapi-spec.json`, https://docs.baseten.co/inference/model-apis/reasoning.
Key: BASETEN_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(COMPATIBLE, audio_formats=frozenset({"wav", "mp3"}))


@frozen
class Baseten(ChatProvider):
    """Baseten, configured."""

    profile = Profile(
        id="baseten",
        base_url="https://inference.baseten.co/v1",
        key_variables=("BASETEN_API_KEY",),
        dialect=DIALECT,
    )
