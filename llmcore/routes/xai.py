"""xAI, which makes Grok.

Documents, read November 2026: https://docs.x.ai/developers/rest-api-reference/inference/chat,
https://docs.x.ai/developers/model-capabilities/text/reasoning. Key: XAI_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

_ALWAYS_THE_SAME = (
    r"grok-[23](-(?!mini).*)?|grok-4(-0709|-latest|-fast.*|-1.*)?"
    r"|grok-4\.20-(?!multi).*|grok-code.*"
)
"""Models whose thinking has no degrees: "does not support parameter reasoningEffort"."""

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    strict_tools=False,  # accepted for compatibility only
    unsupported=COMPATIBLE.unsupported  # 400 from every current model
    | {"top_k", "presence_penalty", "frequency_penalty", "stop"},
    reasoning_by_model=((_ALWAYS_THE_SAME, "none"),),
)


@frozen
class XAI(ChatProvider):
    """xAI, configured."""

    profile = Profile(
        id="xai",
        base_url="https://api.x.ai/v1",
        key_variables=("XAI_API_KEY",),
        dialect=DIALECT,
    )
