"""Mistral AI.

Documents, read November 2026: https://docs.mistral.ai/inference/conversations/reasoning,
https://pypi.org/project/mistralai/3.7.0/ (`client/models`),
https://pypi.org/project/mistral-common/1.13.1/ (`validator`: call ids, order of roles). Fields it
does not know are errors ("Extra inputs are not permitted"). Key: MISTRAL_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.call_ids import MISTRAL
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    system_messages="demote",  # none may follow an assistant or tool message
    names=False,
    call_ids=MISTRAL,
    tool_result_images=True,
    strict_schemas=True,
    seed_field="random_seed",
    stream_usage=False,  # unknown; the last chunk always says the usage
    prompt_cache_key=True,
    unsupported=frozenset({"verbosity", "prompt_cache_retention"}),
    reasoning_field="content",
    reasoning_replay="accepted",
)


@frozen
class Mistral(ChatProvider):
    """Mistral AI, configured."""

    profile = Profile(
        id="mistral",
        base_url="https://api.mistral.ai/v1",
        key_variables=("MISTRAL_API_KEY",),
        dialect=DIALECT,
    )
