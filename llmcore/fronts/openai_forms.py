"""The errors, models, bytes of tokens and tiers that Chat Completions and Responses share.

    {"error": {"message": "...", "type": "rate_limit_error", "param": null,
               "code": "rate_limit_exceeded"}}
    {"object": "list", "data": [{"id": "gpt-4.1", "object": "model", "created": 0,
                                 "owned_by": "openai"}]}

All fields of an error are always there; clients match `code`. Sources, read November 2026:
https://developers.openai.com/api/docs/guides/error-codes,
https://developers.openai.com/api/reference/resources/models.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from llmcore.fronts.errors import FrontError, retry_headers
from llmcore.fronts.front import FailureResponse, ListedModel
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.schema.content import TokenLogprob
from llmcore.schema.events import Finish
from llmcore.schema.json import JsonObject, object_or_empty, str_or_none


def envelope(error: FrontError) -> JsonObject:
    """Return the body of an error response."""
    return {
        "error": {
            "message": error.message,
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    }


def failure_response(error: FrontError) -> FailureResponse:
    """Return the response to a request that has no answer."""
    return FailureResponse(status=error.status, body=envelope(error), headers=retry_headers(error))


def token_bytes(token: TokenLogprob) -> bytes | None:
    """Return a token's bytes: the upstream's, else those of its text.

    None where the text is only a part of a character, which is not the token's own text.
    """
    if token.data is not None or "\N{REPLACEMENT CHARACTER}" in token.token:
        return token.data
    return token.token.encode("utf-8", "replace")


def model_list(models: Sequence[ListedModel], query: Mapping[str, str]) -> JsonObject:
    """Return a list of models; the API has no pages of it, and no other *query*."""
    return {"object": "list", "data": [listed_model(model) for model in models]}


def listed_model(model: ListedModel) -> JsonObject:
    """Return one model. OpenAI names no limits; vLLM calls the input's `max_model_len`.

    Source of that field: the `vllm` package, `entrypoints/openai/protocol` (`ModelCard`).
    """
    window = {} if model.max_input_tokens is None else {"max_model_len": model.max_input_tokens}
    return {
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": model.owner,
        **window,
    }


# -- the end user

END_USER: Final = frozenset({"safety_identifier", "user"})
"""Fields of a request that name its end user, for whom Anthropic's API has one field.

`user` is the older name: https://developers.openai.com/api/docs/guides/safety-best-practices.
"""

# -- the service tier

_TIERS: Final = frozenset({"auto", "default", "fast", "flex", "scale", "priority"})


def service_tier(event: Finish) -> str | None:
    """Return the tier that served an answer; None if it was not stated, or is none of OpenAI's."""
    tier = None if event.usage is None else event.usage.service_tier
    if tier is None:
        tier = str_or_none(
            object_or_empty(event.provider_metadata.get(METADATA_KEY)).get("service_tier")
        )
    return tier if tier in _TIERS else None
