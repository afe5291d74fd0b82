"""Parley: how much to think."""

from llmcore.protocols.diagnostics import Notes
from llmcore.schema.request import LLMRequest
from tests.support.parley.models import ParleyRules
from tests.support.parley.names import NativeObject


def lower_reasoning(request: LLMRequest, rules: ParleyRules, notes: Notes) -> NativeObject:
    """Return `effort`."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    if not rules.thinks:
        notes.dropped("unsupported-parameter", "reasoning", "the model does not think")
        return {}
    if wanted.budget_tokens is not None:
        why = "the API takes an effort, not a number of tokens"
        notes.dropped("unsupported-parameter", "reasoning.budget_tokens", why)
    if wanted.summary is not None:
        why = "the API always shows all thoughts"
        notes.dropped("unsupported-parameter", "reasoning.summary", why)
    return {} if wanted.effort is None else {"effort": wanted.effort}
