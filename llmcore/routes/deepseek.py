"""DeepSeek.

Documents, read November 2026: https://api-docs.deepseek.com/api/create-chat-completion,
https://api-docs.deepseek.com/guides/thinking_mode; for pictures, what
https://github.com/langgenius/dify-official-plugins/pull/3868 quotes of .../guides/vision.
Key: DEEPSEEK_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    response_formats=frozenset({"json"}),  # no json_schema: .../guides/json_mode
    strict_tools=False,  # only below https://api.deepseek.com/beta: .../guides/tool_calls
    parallel_tool_calls=False,
    unsupported=COMPATIBLE.unsupported
    | {"top_k", "seed", "presence_penalty", "frequency_penalty"},  # no longer listed, no effect
    # Models think unless told not to. Thinking that led to tool calls must come back with
    # every later request (400 if it does not), and no tool can be forced while they think.
    reasoning_effort="thinking_effort",
    reasoning_replay="required",
    forced_calls_stop_thinking=".*",
)


@frozen
class DeepSeek(ChatProvider):
    """DeepSeek, configured."""

    profile = Profile(
        id="deepseek",
        base_url="https://api.deepseek.com",
        key_variables=("DEEPSEEK_API_KEY",),
        dialect=DIALECT,
    )
