"""DeepInfra.

Documents, read November 2026: https://docs.deepinfra.com/chat/overview, .../chat/tool-calling,
.../chat/structured-outputs, .../chat/reasoning, .../chat/log-probs,
.../chat/prompt-cache-retention and .../api-reference/openai-chat-completions-1.
Key: DEEPINFRA_API_KEY, or DEEPINFRA_TOKEN.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    strict_tools=False,
    parallel_tool_calls=False,
    tool_choice_modes=frozenset({"auto", "none"}),  # the only ones listed as supported
    strict_schemas=True,
    prompt_cache_key=True,
    unsupported=COMPATIBLE.unsupported  # log probabilities: only from their native API
    | {"logprobs", "top_logprobs", "prompt_cache_retention"},
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
