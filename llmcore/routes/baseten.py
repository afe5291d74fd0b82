"""Baseten's Model APIs; a dedicated deployment is another `base_url`.

Document, read November 2026: https://docs.baseten.co/reference/inference-api/chat-completions.
Key: BASETEN_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(COMPATIBLE, strict_tools=False)


@frozen
class Baseten(ChatProvider):
    """Baseten, configured."""

    profile = Profile(
        id="baseten",
        base_url="https://inference.baseten.co/v1",
        key_variables=("BASETEN_API_KEY",),
        dialect=DIALECT,
    )
