"""Ollama, on this machine or, as `base_url="https://ollama.com/v1"` with a key, in its cloud.

Documents, read November 2026: https://docs.ollama.com/api/openai-compatibility,
https://github.com/ollama/ollama/blob/main/openai/openai.go.
Key, where one is needed: OLLAMA_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    names=False,  # of tools only
    image_urls=False,
    strict_tools=False,
    parallel_tool_calls=False,
    # There is no `tool_choice`, but answers can be held to a schema, that of a call too.
    tool_choice_modes=frozenset({"auto", "required", "named"}),
    constrained_tools=True,
    unsupported=COMPATIBLE.unsupported | {"top_k"},
    reasoning_field="reasoning",
    reasoning_replay="accepted",
)


@frozen
class Ollama(ChatProvider):
    """An Ollama server, configured."""

    profile = Profile(
        id="ollama",
        base_url="http://localhost:11434/v1",
        key_variables=("OLLAMA_API_KEY",),
        needs_key=False,
        dialect=DIALECT,
    )
