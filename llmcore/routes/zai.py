"""Z.ai, which makes GLM. The coding plan is `base_url="https://api.z.ai/api/coding/paas/v4"`.

Documents, read November 2026: https://docs.z.ai/api-reference/llm/chat-completion,
https://docs.z.ai/guides/capabilities/thinking-mode,
https://docs.z.ai/guides/capabilities/function-calling. Key: ZAI_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    names=False,
    videos=True,
    strict_tools=False,
    parallel_tool_calls=False,
    tool_choice_modes=frozenset({"auto"}),  # "only supports `auto`"
    response_formats=frozenset({"json"}),
    unsupported=COMPATIBLE.unsupported
    | {"top_k", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"},
    stream_usage=False,  # unknown; the last chunk always says the usage
    reasoning_effort="thinking",
    reasoning_by_model=((r"glm-(5\.[2-9]|[6-9]).*", "thinking_effort"),),
    reasoning_replay="accepted",  # "should be explicitly preserved and returned" with tool results
)


@frozen
class ZAI(ChatProvider):
    """Z.ai, configured."""

    profile = Profile(
        id="zai",
        base_url="https://api.z.ai/api/paas/v4",
        key_variables=("ZAI_API_KEY",),
        dialect=DIALECT,
    )
