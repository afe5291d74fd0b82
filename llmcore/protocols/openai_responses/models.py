"""OpenAI Responses: where servers differ, as data.

A dialect is chosen per deployment; the protocol does not know which provider it is used for. The
defaults are OpenAI's own.
"""

import re
from typing import Final, Literal

from attrs import evolve

from llmcore.protocols import lowering
from llmcore.protocols.caching import OPENAI_BREAKPOINT_MODELS
from llmcore.schema.frozen import frozen

SAMPLING: Final = frozenset({"temperature", "top_p", "top_logprobs"})


@frozen(kw_only=True)
class ResponsesDialect:
    """The differences of one family of servers."""

    unsupported: frozenset[str] = frozenset()
    """Parameters, by their native names, that the server rejects."""
    item_ids: Literal["all", "reasoning"] = "all"
    """Which items of earlier responses go back with their ids: all of them, or only reasoning,
    whose encrypted content is bound to its id, where ids are good for one connection only."""
    data_without_id: bool = False
    """Whether encrypted reasoning is taken without its id, where the items after it have none."""
    custom_tools: bool = True
    """Whether freeform tools (`type: custom`) exist; if not, they are functions of one string."""
    plain_models: str = ""
    """Models (a pattern, searched in the id) that do not reason and reject
    `include: ["reasoning.encrypted_content"]`."""
    fixed_sampling: lowering.FixedSampling = lowering.FixedSampling()
    """Models that reject sampling parameters."""
    efforts: lowering.Efforts = ()
    """The efforts of reasoning that models accept."""
    never_concise: str = ""
    """Models (a pattern for the whole id) that reject the `summary` of reasoning `concise`."""
    breakpoint_models: str = ""
    """Models that take `prompt_cache_breakpoint` on the parts of messages."""

    def takes_concise(self, model: str) -> bool:
        """Return whether *model* accepts a concise summary of reasoning."""
        return not lowering.matches_model(self.never_concise, model)

    def encrypts_reasoning(self, model: str) -> bool:
        """Return whether *model* can be asked for encrypted reasoning."""
        return not (self.plain_models and re.search(self.plain_models, model))


OPENAI = ResponsesDialect(
    # https://github.com/vercel/ai/pull/12869
    data_without_id=True,
    # "Encrypted content is not supported with this model":
    # https://github.com/pydantic/pydantic-ai/issues/2865 and 3326; an unknown name may reason
    plain_models=r"(^|[^a-z0-9])(gpt-3|gpt-4|chatgpt-|gpt-5-chat)",
    fixed_sampling=lowering.OPENAI_FIXED_SAMPLING,
    efforts=lowering.OPENAI_EFFORTS,
    # "supported for computer-use-preview models and all reasoning models after gpt-5": the `openai`
    # package (`types/shared/reasoning`); https://github.com/openai/codex/issues/2376
    never_concise=r"o[134](-.*)?|gpt-5(-(mini|nano|pro|codex).*|-\d.*)?",
    breakpoint_models=OPENAI_BREAKPOINT_MODELS,
)
COMPATIBLE = evolve(OPENAI, custom_tools=False, data_without_id=False)
"""Most servers that imitate the API: they refuse freeform tools, or leave them out.

Sources: https://github.com/ggml-org/llama.cpp/issues/20156, https://github.com/openai/codex/issues/16397
(Fireworks), https://github.com/router-for-me/CLIProxyAPI/issues/5753 (MiniMax).
"""
