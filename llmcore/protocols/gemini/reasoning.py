"""Gemini: lowering how much to think, and whether to show it.

Source: https://ai.google.dev/gemini-api/docs/thinking, read November 2026. Models from 3 on take a
`thinkingLevel`, 2.5 a `thinkingBudget`, and never both. What an effort is in tokens on 2.5 says
https://ai.google.dev/gemini-api/docs/openai (thinking).
"""

from typing import Final

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.models import LEVELS, GeminiRules
from llmcore.protocols.gemini.names import NativeObject
from llmcore.schema.options import ReasoningOptions
from llmcore.schema.request import LLMRequest

_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TOKENS: Final = {"minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}
_AUTOMATIC: Final = -1
"""The budget by which the model decides itself."""


def lower_reasoning(request: LLMRequest, rules: GeminiRules, notes: Notes) -> NativeObject:
    """Return `thinkingConfig`; empty where the request has no reasoning options."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    if rules.thinking == "none":
        notes.dropped("unsupported-parameter", "reasoning", "the model does not think")
        return {}
    lower = _lower_level if rules.thinking == "level" else _lower_budget
    config = lower(wanted, rules, notes)
    if wanted.summary is not None:
        config["includeThoughts"] = wanted.summary != "none"
    if wanted.summary in ("concise", "detailed"):
        why = "thoughts are summarised in one way only"
        notes.changed("unsupported-parameter", "reasoning.summary", why)
    return config


def _lower_level(wanted: ReasoningOptions, rules: GeminiRules, notes: Notes) -> NativeObject:
    if wanted.effort is None:
        if wanted.budget_tokens is None:
            return {}
        if rules.takes_budget:
            return {"thinkingBudget": wanted.budget_tokens}
        why = "the model accepts an effort, not a number of tokens"
        notes.dropped("unsupported-parameter", "reasoning.budget_tokens", why)
        return {}
    if wanted.budget_tokens is not None:
        why = "the model accepts a level or a budget: the effort is sent"
        notes.dropped("unsupported-parameter", "reasoning.budget_tokens", why)
    level = _level(wanted.effort, rules)
    if wanted.effort in _EFFORTS and level != wanted.effort.upper():
        why = f"the model has no such level; {level} is the nearest"
        notes.changed("unsupported-parameter", "reasoning.effort", why)
    return {"thinkingLevel": level}


def _level(effort: str, rules: GeminiRules) -> str:
    """Return the model's level for *effort*: the next above it, or its highest."""
    if effort not in _EFFORTS:
        return effort.upper()
    wanted = max(_EFFORTS.index(effort) - 1, 0)
    enough = (level for level in rules.levels if LEVELS.index(level) >= wanted)
    return next(enough, rules.levels[-1])


def _lower_budget(wanted: ReasoningOptions, rules: GeminiRules, notes: Notes) -> NativeObject:
    least, most = rules.budgets
    if wanted.budget_tokens is not None:
        asked, path = wanted.budget_tokens, "reasoning.budget_tokens"
        if wanted.effort is not None:
            why = "the model accepts a token budget, and budget_tokens is set too"
            notes.dropped("unsupported-parameter", "reasoning.effort", why)
    elif wanted.effort is not None:
        path = "reasoning.effort"
        asked = 0 if wanted.effort == "none" else _TOKENS.get(wanted.effort, most)
        if wanted.effort not in _EFFORTS:
            notes.changed("unsupported-parameter", path, "not a word the model has a budget for")
            asked = _AUTOMATIC
    else:
        return {}
    budget = _within(asked, least, most, off=not rules.thinks_always)
    if budget != asked:
        why = f"the model thinks between {least} and {most} tokens: {budget} is sent"
        notes.changed("unsupported-parameter", path, why)
    return {"thinkingBudget": budget}


def _within(asked: int, least: int, most: int, *, off: bool) -> int:
    if asked == _AUTOMATIC or (asked == 0 and off):
        return asked
    return min(max(asked, least), most)
