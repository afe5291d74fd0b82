"""Moonshot AI, which makes Kimi. The platform in China is `base_url="https://api.moonshot.cn/v1"`.

Documents, read November 2026: https://platform.kimi.ai/docs/api/chat,
https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model,
https://platform.kimi.ai/docs/guide/use-kimi-vision-model. Key: MOONSHOT_API_KEY.
"""

from attrs import evolve, frozen

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.protocols.sampling import FixedSampling
from llmcore.routes.chat_provider import ChatProvider, Profile

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    image_urls=False,  # "URL-formatted images: Not supported"
    videos=True,
    parallel_tool_calls=False,
    named_tool_choice="required",  # a named one is never taken from a model that thinks
    strict_schemas=True,  # strict is its default, so a schema that is not says so
    prompt_cache_key=True,
    unsupported=COMPATIBLE.unsupported
    | {"top_k", "seed", "logprobs", "top_logprobs", "prompt_cache_retention"},
    fixed_sampling=FixedSampling(always=r"kimi-(k2\.\d|k[3-9]).*"),
    # "thinking is enabled but reasoning_content is missing in assistant tool call message"
    reasoning_replay="required",
    reasoning_effort="thinking",  # a switch; "cannot specify both 'thinking' and ..._effort"
    reasoning_by_model=((r"kimi-k[3-9].*", "reasoning_effort"), (r"moonshot-v1.*", "none")),
    forced_calls_stop_thinking=r"kimi-k2\.[56].*",
)


@frozen
class Moonshot(ChatProvider):
    """Moonshot AI, configured."""

    profile = Profile(
        id="moonshot",
        base_url="https://api.moonshot.ai/v1",
        key_variables=("MOONSHOT_API_KEY",),
        dialect=DIALECT,
    )
