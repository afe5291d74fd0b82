"""Groq.

Documents, read November 2026: https://console.groq.com/docs/api-reference#chat-create,
https://console.groq.com/docs/openai (unsupported fields: 400),
https://console.groq.com/docs/reasoning. Key: GROQ_API_KEY.

Qwen models think in `<think>` tags, which stay text unless the request says
`provider_options={"groq": {"reasoning_format": "parsed"}}`.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    developer_role=True,
    names=False,
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
