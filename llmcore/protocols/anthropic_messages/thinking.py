"""Anthropic Messages: how much the model is to think.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/thinking,
https://platform.claude.com/docs/en/build-with-claude/extended-thinking (budgets),
https://platform.claude.com/docs/en/build-with-claude/effort.
"""

from typing import Final

from attrs import frozen

from llmcore.protocols.anthropic_messages.models import ModelRules
from llmcore.protocols.anthropic_messages.types import request as native
from llmcore.protocols.notes import Notes
from llmcore.schema.options import ReasoningOptions

DEFAULT_MAX_TOKENS: Final = 4096
_SMALLEST_BUDGET: Final = 1024
_BUDGETS: Final = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 24576,
    "max": 32000,
}
"""Tokens of thinking for an effort, where the model counts tokens instead."""


@frozen(kw_only=True)
class Reasoning:
    """How much to think, in the model's own form."""

    thinking: native.Thinking | None = None
    effort: str | None = None
    max_tokens: int
    """The request's limit, thinking included."""


def lower_reasoning(
    wanted: ReasoningOptions | None, max_tokens: int | None, rules: ModelRules, notes: Notes
) -> Reasoning:
    """Return how much to think, and the token limit that goes with it."""
    limit = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    if wanted is None:
        return Reasoning(max_tokens=limit)
    if wanted.effort == "none":
        return _lower_none(limit, rules, notes)
    effort = _lower_effort(wanted.effort, rules, notes)
    if "adaptive" in rules.thinking and not _takes_budget(wanted, rules):
        return Reasoning(
            thinking=native.ThinkingAdaptive(display=_display(wanted)),
            effort=effort if effort or wanted.budget_tokens is None else _budgeted(wanted, notes),
            max_tokens=limit,
        )
    if "enabled" not in rules.thinking:
        notes.dropped("unsupported-parameter", "reasoning", "the model does not think")
        return Reasoning(max_tokens=limit)
    return _with_budget(wanted, effort, max_tokens, rules, notes)


def _takes_budget(wanted: ReasoningOptions, rules: ModelRules) -> bool:
    return wanted.budget_tokens is not None and "enabled" in rules.thinking


def _lower_none(limit: int, rules: ModelRules, notes: Notes) -> Reasoning:
    if "disabled" in rules.thinking:
        return Reasoning(thinking=native.ThinkingDisabled(), max_tokens=limit)
    if not rules.thinking:
        return Reasoning(max_tokens=limit)
    least = "between_tools" if "between_tools" in rules.thinking else "always"
    notes.changed(
        "reasoning-not-off",
        "reasoning.effort",
        "the model always thinks: it is asked to think as little as it can",
    )
    thinking = native.ThinkingBetweenTools() if least == "between_tools" else None
    effort = rules.efforts[0] if rules.efforts else None
    return Reasoning(thinking=thinking, effort=effort, max_tokens=limit)


def _lower_effort(effort: str | None, rules: ModelRules, notes: Notes) -> str | None:
    """Return the level that the model has for *effort*; None if it has no levels."""
    if effort is None or not rules.efforts:
        return None
    if effort in rules.efforts or effort not in _BUDGETS:
        return effort  # a word of the provider's own goes as it is
    nearest = rules.efforts[0] if effort == "minimal" else _highest_below(effort, rules.efforts)
    notes.changed(
        "reasoning-effort-changed",
        "reasoning.effort",
        f"the model takes {', '.join(rules.efforts)}; {effort!r} became {nearest!r}",
    )
    return nearest


def _highest_below(effort: str, levels: tuple[str, ...]) -> str:
    order = list(_BUDGETS)
    return max((e for e in levels if order.index(e) < order.index(effort)), key=order.index)


def _budgeted(wanted: ReasoningOptions, notes: Notes) -> str | None:
    notes.dropped(
        "unsupported-parameter",
        "reasoning.budget_tokens",
        f"the model thinks as much as it needs; {wanted.budget_tokens} tokens cannot be its limit",
    )
    return None


def _display(wanted: ReasoningOptions) -> str | None:
    if wanted.summary is None:
        return None
    return "omitted" if wanted.summary == "none" else "summarized"


def _with_budget(
    wanted: ReasoningOptions,
    effort: str | None,
    max_tokens: int | None,
    rules: ModelRules,
    notes: Notes,
) -> Reasoning:
    """Return thinking with a budget, which must be smaller than the request's limit."""
    budget = wanted.budget_tokens
    if budget is None:
        word = wanted.effort or "medium"
        budget = _BUDGETS.get(word, _BUDGETS["medium"])
        if wanted.effort is not None and effort is None:
            why = f"the model counts tokens of thinking: {word!r} became {budget}"
            notes.changed("reasoning-effort-changed", "reasoning.effort", why)
    limit = budget + DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    fitting = min(max(budget, _SMALLEST_BUDGET), limit - 1)
    if fitting < _SMALLEST_BUDGET:
        why = f"max_tokens leaves no room: thinking takes more than {_SMALLEST_BUDGET}"
        notes.dropped("unsupported-parameter", "reasoning", why)
        return Reasoning(effort=effort, max_tokens=limit)
    if wanted.budget_tokens not in (None, fitting):
        why = f"{budget} became {fitting}, which is at least 1024 and below max_tokens"
        notes.changed("reasoning-budget-changed", "reasoning.budget_tokens", why)
    shown = _display(wanted) if "adaptive" in rules.thinking else None
    if wanted.summary == "none" and shown is None:
        why = "the model always shows its thinking"
        notes.dropped("unsupported-parameter", "reasoning.summary", why)
    thinking = native.ThinkingEnabled(budget_tokens=fitting, display=shown)
    return Reasoning(thinking=thinking, effort=effort, max_tokens=limit)
