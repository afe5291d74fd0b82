"""Anthropic Messages: how much the model is to think, and thinking that is sent back.

Source: https://platform.claude.com/docs/en/build-with-claude/thinking, read November 2026; the
rules of each model are in `llmcore.protocols.claude`.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve

from llmcore.protocols.anthropic_messages.names import Block, MessageParam
from llmcore.protocols.claude import (
    DEFAULT_MAX_TOKENS,
    ClaudeRules,
    Thinking,
    has_budget,
    lower_thinking,
    without_excluded_budget,
)
from llmcore.protocols.diagnostics import Notes
from llmcore.schema.content import ReasoningPart
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest

_TYPES = ("thinking", "redacted_thinking")


def lower_reasoning(
    request: LLMRequest, options: JsonObject, rules: ClaudeRules, notes: Notes
) -> Thinking:
    """Return how much to think; what the caller's own `thinking` says replaces the rest."""
    limit = request.generation.max_tokens
    lowered = lower_thinking(request.reasoning, limit, rules, notes)
    native = options.get("thinking")
    if "thinking" in options and native is None:  # effort alone: nothing excludes sampling
        return evolve(lowered, thinking=None)
    if not isinstance(native, Mapping) or not isinstance(native.get("type"), str):
        return lowered
    budget = native.get("budget_tokens")
    if not has_budget(native):
        return evolve(lowered, thinking=native)
    if not isinstance(budget, int):
        return lowered
    if limit is None:
        lowered = evolve(lowered, max_tokens=max(lowered.max_tokens, budget + DEFAULT_MAX_TOKENS))
    return evolve(lowered, thinking=native)


def without_excluded_thinking(
    thinking: JsonObject | None,
    choice: JsonObject | None,
    messages: Sequence[MessageParam],
    notes: Notes,
) -> JsonObject | None:
    """Return *thinking* unless a forced tool call or the turn under way excludes a budget."""
    return without_excluded_budget(
        thinking,
        forced_call=choice is not None and choice.get("type") in ("any", "tool"),
        continues=_continues_without_thinking(messages),
        notes=notes,
    )


def _continues_without_thinking(messages: Sequence[MessageParam]) -> bool:
    """Return whether tool results answer a turn that does not begin with thinking."""
    if len(messages) < 2 or not messages[-2]["content"]:
        return False
    if not any(block.get("type") == "tool_result" for block in messages[-1]["content"]):
        return False
    return messages[-2]["content"][0].get("type") not in _TYPES


def lower_reasoning_part(part: ReasoningPart) -> Block:
    """Return thinking exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return {"type": "redacted_thinking", "data": part.encrypted}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}
