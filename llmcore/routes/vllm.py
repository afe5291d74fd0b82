"""vLLM's own server.

Documents, read November 2026: https://docs.vllm.ai/en/latest/serving/openai_compatible_server/,
https://docs.vllm.ai/en/latest/features/reasoning_outputs/. Key, where the server asks for
one: VLLM_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    videos=True,
    audio_formats=frozenset({"wav", "mp3", "flac", "ogg"}),
    strict_tools=False,
    reasoning_field="reasoning",  # "reasoning used to be called reasoning_content"
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
