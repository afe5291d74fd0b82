"""Perplexity's Sonar, which searches before it answers.

Documents, read November 2026: https://docs.perplexity.ai/api-reference/sonar-post (as the types of
the `perplexityai` package state it), https://docs.perplexity.ai/guides/chat-completions-guide,
https://docs.perplexity.ai/faq/faq. Key: PERPLEXITY_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
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
    think_tags=True,  # sonar-reasoning-pro writes its thinking so, before JSON as well
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
