"""DeepInfra.

Document, read November 2026: https://docs.deepinfra.com/chat/overview and the API page of any
model, such as https://deepinfra.com/deepseek-ai/DeepSeek-R1/api. Key: DEEPINFRA_API_KEY, or
DEEPINFRA_TOKEN.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    strict_tools=False,
    parallel_tool_calls=False,
    tool_choice_modes=frozenset({"auto", "none"}),  # "a particular function ... not supported"
)


@frozen
class DeepInfra(ChatProvider):
    """DeepInfra, configured."""

    profile = Profile(
        id="deepinfra",
        base_url="https://api.deepinfra.com/v1/openai",
        key_variables=("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"),
        dialect=DIALECT,
    )
