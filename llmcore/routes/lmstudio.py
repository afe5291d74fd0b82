"""LM Studio's server.

Documents, read November 2026: https://lmstudio.ai/docs/developer/openai-compat/chat-completions,
.../openai-compat/tools, .../openai-compat/structured-output,
https://lmstudio.ai/docs/developer/api-changelog (`tool_choice`, `stream_options`); what it refuses:
https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670 (`tool_choice` as an object).
Key, where the server asks for one: LM_API_TOKEN.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    image_urls=False,  # "'url' field must be a base64 encoded image"
    strict_tools=False,
    parallel_tool_calls=False,
    named_tool_choice="required",
    response_formats=frozenset({"json_schema"}),  # "must be 'json_schema' or 'text'"
    unsupported=COMPATIBLE.unsupported | {"logprobs", "top_logprobs"},
    reasoning_effort="reasoning_effort",  # taken, but in the documents of Responses only
)


@frozen
class LMStudio(ChatProvider):
    """An LM Studio server, configured."""

    profile = Profile(
        id="lmstudio",
        base_url="http://localhost:1234/v1",
        key_variables=("LM_API_TOKEN",),
        needs_key=False,
        dialect=DIALECT,
    )
