"""xAI, which makes Grok: Chat Completions and Responses.

Documents, read November 2026: https://docs.x.ai/developers/rest-api-reference/inference/chat,
https://docs.x.ai/developers/rest-api-reference/inference/responses,
https://docs.x.ai/developers/model-capabilities/text/reasoning,
https://docs.x.ai/docs/guides/chat (the order of roles). Key: XAI_API_KEY.
"""

import re
from typing import Final

from attrs import evolve

from llmcore.protocols import openai_responses
from llmcore.protocols.lowering import Efforts
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.protocols.openai_responses import ResponsesBody, ResponsesDialect, ResponsesState
from llmcore.protocols.protocol import Protocol
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.routes.route import beside
from llmcore.schema.json import NativeObject
from llmcore.schema.model import Model

_ALWAYS_THE_SAME = (
    r"(xai/)?(grok-[23](-(?!mini).*)?|grok-4(-0709|-latest|-fast.*|[-.]1.*)?"
    r"|grok-4\.20-(?!multi).*|grok-code.*|grok-build.*)"
)
"""Models without levels of reasoning: "does not support parameter reasoningEffort". Clouds put the
publisher before their names, and a point into the version."""

_EFFORTS: Final[Efforts] = (
    (r"(xai/)?grok-3-mini.*", ("low", "high")),
    (r"(xai/)?grok-4\.3.*", ("none", "low", "medium", "high")),
    (r"(xai/)?grok-4\.5.*", ("low", "medium", "high")),
    (r"(xai/)?grok-4\.(6|20-multi).*", ("low", "medium", "high", "xhigh")),
)
"""See the page of reasoning, and for the older ones
https://github.com/enricoros/big-AGI/issues/1104."""

DIALECT = evolve(
    COMPATIBLE,
    max_tokens_field="max_completion_tokens",
    system_messages="keep",  # "You can mix system, user, or assistant roles in any order"
    strict_tools=False,  # accepted for compatibility only
    unsupported=COMPATIBLE.unsupported  # the penalties: 400 from every current model
    | {"top_k", "presence_penalty", "frequency_penalty"},
    # https://docs.x.ai/developers/advanced-api-usage/priority-processing
    service_tiers=(("default", "default"), ("priority", "priority")),
    no_stop=r"(?!(xai/)?grok-4\.20.*-non-reasoning).*",  # "cannot be used with reasoning models"
    reasoning_by_model=((_ALWAYS_THE_SAME, "none"),),
    efforts=_EFFORTS,
)

RESPONSES = ResponsesDialect(
    custom_tools=False,  # https://github.com/router-for-me/CLIProxyAPI/issues/3704
    # accepted "for compatibility" only, or not at all: nothing comes of them
    unsupported=frozenset({"metadata", "prompt_cache_options", "prompt_cache_retention"}),
    efforts=_EFFORTS,
)


def grok_responses(model_id: str) -> Protocol[ResponsesBody, NativeObject, ResponsesState]:
    """Return the Responses protocol as the Grok model *model_id* takes it."""
    dialect = RESPONSES
    if re.fullmatch(_ALWAYS_THE_SAME, model_id):
        dialect = evolve(dialect, unsupported=dialect.unsupported | {"reasoning"})
    return openai_responses.make(dialect)


class XAI(ChatProvider):
    """xAI, configured."""

    profile = Profile.of_listed(
        "xai",
        base_url="https://api.x.ai/v1",
        dialect=DIALECT,
    )

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses."""
        id_ = f"{self.profile.id}-responses"
        route = beside(self.chat_route, "/responses", id_, grok_responses(model_id))
        return route.model(model_id)
