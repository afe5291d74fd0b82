"""Together AI. Dedicated models are at `base_url="https://api-inference.together.ai/v1"`.

Documents, read November 2026: https://docs.together.ai/reference/chat-completions (as the types
of the `together` package state it), https://docs.together.ai/docs/inference/chat/reasoning,
https://docs.together.ai/docs/inference/function-calling/single-call,
https://docs.together.ai/docs/inference/responses-api (addresses). Key: TOGETHER_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    videos=True,
    audio_formats=frozenset({"wav"}),
    strict_tools=False,
    parallel_tool_calls=False,
    strict_schemas=True,
    logprob_count=True,  # "an integer between 0 and 20"
    stream_usage=True,  # not in the documents
    reasoning_effort="effort_or_off",
    reasoning_replay="accepted",
)


@frozen
class Together(ChatProvider):
    """Together AI, configured."""

    profile = Profile(
        id="together",
        base_url="https://api.together.ai/v1",
        key_variables=("TOGETHER_API_KEY",),
        dialect=DIALECT,
    )
