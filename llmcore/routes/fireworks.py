"""Fireworks AI.

Documents, read November 2026: https://docs.fireworks.ai/guides/reasoning,
https://pypi.org/project/fireworks-ai/1.2.30/ (`types/chat`), made from the API reference. Fields it
does not know are errors ("Extra inputs are not permitted"). Key: FIREWORKS_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    names=False,
    videos=True,
    stream_usage=False,  # no such field; the last chunk always says the usage
    prompt_cache_key=True,
    unsupported=frozenset({"verbosity", "prompt_cache_retention"}),
    reasoning_replay="accepted",
)


@frozen
class Fireworks(ChatProvider):
    """Fireworks AI, configured."""

    profile = Profile(
        id="fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        dialect=DIALECT,
    )
