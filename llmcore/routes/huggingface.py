"""Hugging Face's Inference Providers router. A model's id may end in `:provider`.

Documents, read November 2026:
https://huggingface.co/docs/inference-providers/tasks/chat-completion,
https://pypi.org/project/huggingface-hub/2.4.0/ (`chat_completion`). Key: HF_TOKEN.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    strict_tools=False,
    parallel_tool_calls=False,
    strict_schemas=True,
    unsupported=COMPATIBLE.unsupported | {"top_k"},
    # No document states a parameter; those of the provider behind go by `provider_options`.
    reasoning_effort="none",
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
