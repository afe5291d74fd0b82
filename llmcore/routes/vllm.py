"""vLLM's own server.

Documents, read November 2026: https://docs.vllm.ai/en/latest/features/tool_calling/,
https://pypi.org/project/vllm/0.33.0/ (`entrypoints/openai/chat_completion/protocol.py`,
`renderers/chat_utils`). Key, where the server asks for one: VLLM_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    videos=True,
    audio_formats=frozenset({"wav", "mp3", "flac", "ogg"}),
    reasoning_field="reasoning",
    reasoning_replay="accepted",
)


@frozen
class VLLM(ChatProvider):
    """A vLLM server, configured."""

    profile = Profile(
        id="vllm",
        base_url="http://localhost:8000/v1",
        key_variables=("VLLM_API_KEY",),
        needs_key=False,
        dialect=DIALECT,
    )
