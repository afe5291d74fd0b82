"""Hugging Face's Inference Providers router. A model's id may end in `:provider`.

Document, read November 2026:
https://huggingface.co/docs/inference-providers/tasks/chat-completion. Key: HF_TOKEN.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    strict_tools=False,
    parallel_tool_calls=False,
    strict_schemas=True,
    unsupported=COMPATIBLE.unsupported | {"top_k"},
)


@frozen
class HuggingFace(ChatProvider):
    """Hugging Face, configured."""

    profile = Profile(
        id="huggingface",
        base_url="https://router.huggingface.co/v1",
        key_variables=("HF_TOKEN",),
        dialect=DIALECT,
    )
