"""llama.cpp's own server, `llama-server`.

Document, read November 2026:
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md. Key, where the server
asks for one: LLAMA_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    audio_formats=frozenset({"wav", "mp3", "flac"}),
    strict_tools=False,
    named_tool_choice="required",  # an object is read as `auto`
    reasoning_replay="accepted",
)


@frozen
class LlamaCpp(ChatProvider):
    """A llama.cpp server, configured."""

    profile = Profile(
        id="llamacpp",
        base_url="http://localhost:8080/v1",
        key_variables=("LLAMA_API_KEY",),
        needs_key=False,
        dialect=DIALECT,
    )
