"""Mistral AI, over Chat Completions, or Responses, which are in public preview."""

from typing import Final

from attrs import evolve

from llmcore.protocols import openai_responses
from llmcore.protocols.lowering import Efforts
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.protocols.openai_responses import ResponsesBody, ResponsesDialect
from llmcore.protocols.tools import CallIdRule
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.routes.route import beside
from llmcore.schema.model import Model

MISTRAL_CALL_IDS: Final = CallIdRule(r"[a-zA-Z0-9]{9}", 9)
"""The API's own words: `must be a-z, A-Z, 0-9, with a length of 9`."""
_EFFORTS: Final[Efforts] = (
    (r"mistral-large-4.*", ("low", "medium", "high")),
    (r"zai-glm-(5(-3.*)?|latest)", ("low", "high", "max")),
    (r"mistral-(small|medium|vibe).*|magistral.*|(zai-)?glm-5-2", ("none", "high")),
    # 422: https://github.com/NousResearch/hermes-agent/issues/11243
    (r"(code|dev|mini)stral.*|(open|pixtral)-.*|mistral-(nemo|large-2[45]).*", ()),
)

_RESPONSES: Final = openai_responses.make(
    ResponsesDialect(
        custom_tools=False,  # "client-executed functions" only
        # not among the parameters of the reference; reasoning is in plain text
        unsupported=frozenset(
            {"include", "prompt_cache_options", "prompt_cache_retention"}
            | {"safety_identifier", "service_tier"}
        ),
        efforts=_EFFORTS,
    )
)


class Mistral(ChatProvider):
    """Mistral AI.

    Documents: https://docs.mistral.ai/studio/conversations/reasoning,
    https://docs.mistral.ai/studio/audio/speech_to_text/offline_transcription,
    https://pypi.org/project/mistralai/3.7.0/ (`client/models`),
    https://pypi.org/project/mistral-common/1.13.1/ (`validator`: call ids, order of roles).
    Fields it does not know are errors ("Extra inputs are not permitted"). Key: MISTRAL_API_KEY.
    """

    profile = Profile.of_listed(
        "mistral",
        base_url="https://api.mistral.ai/v1",
        dialect=evolve(
            COMPATIBLE,
            system_messages="demote",  # none may follow an assistant or tool message
            names=False,
            call_ids=MISTRAL_CALL_IDS,
            audio_formats=frozenset({"wav", "mp3", "flac", "m4a", "ogg"}),
            files=True,
            file_urls=True,
            media_in_text=True,
            efforts=_EFFORTS,
            prefill_field="prefix",  # without it, an assistant message must not be the last one
            tool_result_images=True,
            strict_schemas=True,
            seed_field="random_seed",
            stream_usage=False,  # unknown; the last chunk always states the usage
            prompt_cache_key=True,
            unsupported=frozenset({"verbosity", "prompt_cache_retention"}),
            service_tiers=(("auto", "auto"), ("default", "standard_only")),
            reasoning_field="content",
            reasoning_replay="accepted",
        ),
    )

    def responses(self, model_id: str) -> Model[ResponsesBody]:
        """Return the model *model_id*, reached over Responses, which Mistral does not store.

        Documents: https://docs.mistral.ai/api/endpoint/responses,
        https://docs.mistral.ai/studio/conversations/responses.
        """
        route = beside(self.chat_route, "/responses", "mistral-responses", _RESPONSES)
        return route.model(model_id)
