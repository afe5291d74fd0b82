"""Groq.

Documents, read November 2026: https://console.groq.com/docs/reasoning,
https://pypi.org/project/groq/1.7.0/ (`types/chat`), made from the API reference. Key: GROQ_API_KEY.

Qwen models think in `<think>` tags, which stay text unless the request says
`provider_options={"groq": {"reasoning_format": "parsed"}}`.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    developer_role=True,
    names=False,  # in the SDK's types; 400 by the list of console.groq.com/docs/openai, as quoted
    unsupported=COMPATIBLE.unsupported
    | {"top_k", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"},
    reasoning_field="reasoning",
    reasoning_replay="accepted",
)


@frozen
class Groq(ChatProvider):
    """Groq, configured."""

    profile = Profile(
        id="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        dialect=DIALECT,
    )
