"""Parley: building the request body."""

from typing import cast

from llmcore.protocols.caching import note_cache_options
from llmcore.protocols.forced_format import format_in_words
from llmcore.protocols.lowering import note_missing
from llmcore.protocols.protocol import Built, collect_diagnostics
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import NativeObject
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from tests.support.parley.messages import lower_messages, target_of
from tests.support.parley.names import (
    METADATA_KEY,
    MISSING_PARAMETERS,
    PARAMETERS,
    ParleyBody,
    ParleyRules,
    rules_of,
)
from tests.support.parley.tools import lower_tools


def from_request(request: LLMRequest, stream: bool) -> Result[Built[ParleyBody], LLMError]:
    """Return the body of *request*; whether to *stream* makes no other difference."""
    return collect_diagnostics(
        lambda diagnostics: cast("ParleyBody", _lower(request, stream, diagnostics))
    )


def _lower(request: LLMRequest, stream: bool, diagnostics: Diagnostics) -> NativeObject:
    rules, turns = lower_messages(request, target_of(request), diagnostics)
    wanted = request.response_format
    if wanted is not None and wanted.type != "text":
        rules = (
            f"{rules}\n\n{format_in_words(wanted, 'the API has no formats', diagnostics)}".strip()
        )
    body: NativeObject = {
        "model": request.model_id,
        "turns": turns,
        **({"rules": rules} if rules else {}),
        **lower_tools(request, diagnostics),
        **lower_generation(request, diagnostics),
        **lower_reasoning(request, rules_of(request.model_id), diagnostics),
    }
    note_cache_options(request, diagnostics)
    if request.metadata:
        diagnostics.at("metadata").unsupported("the API takes no metadata")
    merged = merge_json(body, request.options_for(METADATA_KEY, request.provider_id))
    return {**merged, "live": stream}


# -- parameters


def lower_generation(request: LLMRequest, diagnostics: Diagnostics) -> NativeObject:
    """Return the limit of the response, the one parameter that the API has."""
    options = request.generation
    note_missing(options, MISSING_PARAMETERS, diagnostics)
    given = {native: getattr(options, name) for name, native in PARAMETERS.items()}
    return {name: value for name, value in given.items() if value is not None}


def lower_reasoning(
    request: LLMRequest, rules: ParleyRules, diagnostics: Diagnostics
) -> NativeObject:
    """Return `effort`."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    if not rules.thinks:
        diagnostics.at("reasoning").unsupported("the model does not think")
        return {}
    if wanted.budget_tokens is not None:
        why = "the API takes an effort, not a number of tokens"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
    if wanted.summary is not None:
        why = "the API always shows all thoughts"
        diagnostics.at("reasoning.summary").unsupported(why)
    return {} if wanted.effort is None else {"effort": wanted.effort}
