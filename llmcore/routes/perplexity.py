"""Perplexity's Sonar, which searches before it answers.

Document, read November 2026: https://docs.perplexity.ai/api-reference/sonar-post.
Key: PERPLEXITY_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.dialect import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    system_messages="lift",  # after the system messages, the two sides must take turns
    alternate=True,
    names=False,
    videos=True,
    named_tool_choice="required",  # tool_choice is one of none, auto, required
    response_formats=frozenset({"json_schema"}),
    unsupported=COMPATIBLE.unsupported | {"seed"},
    stream_usage=False,  # every chunk says the usage so far
)


@frozen
class Perplexity(ChatProvider):
    """Perplexity, configured."""

    profile = Profile(
        id="perplexity",
        base_url="https://api.perplexity.ai",
        key_variables=("PERPLEXITY_API_KEY",),
        dialect=DIALECT,
    )
