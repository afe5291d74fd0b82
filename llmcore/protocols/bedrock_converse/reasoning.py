"""Bedrock Converse: how much the model is to think, and reasoning that is sent back.

Converse has no field for it that all models take; each model takes its own in
`additionalModelRequestFields`. Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html and
claude-messages-extended-thinking.html (`thinking`, `output_config.effort`),
https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
(`reasoningConfig`), and OpenAI's gpt-oss (`reasoning_effort`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen

from llmcore.protocols.bedrock_converse.models import ConverseRules
from llmcore.protocols.bedrock_converse.names import Block, ConverseMessage
from llmcore.protocols.claude import (
    has_budget,
    is_thinking,
    lower_thinking,
    without_excluded_budget,
)
from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.native_json import object_or_empty
from llmcore.schema.content import ReasoningPart
from llmcore.schema.json import JsonObject
from llmcore.schema.options import ReasoningOptions
from llmcore.schema.request import LLMRequest

_LEVELS: Final = ("low", "medium", "high")
_NEAREST: Final = {"minimal": "low", "xhigh": "high", "max": "high"}


@frozen(kw_only=True)
class ConverseReasoning:
    """How much to think, in the model's own form."""

    fields: dict[str, Any] = field(factory=dict[str, Any])
    """Fields of `additionalModelRequestFields`."""

    @property
    def claude_thinks(self) -> bool:
        """Whether Claude's thinking is on, which excludes other settings."""
        return is_thinking(object_or_empty(self.fields.get("thinking")))

    @property
    def has_budget(self) -> bool:
        """Whether Claude's thinking is on with a budget, which excludes still more."""
        return has_budget(object_or_empty(self.fields.get("thinking")))

    @property
    def nova_unlimited(self) -> bool:
        """Whether a Nova model thinks as hard as it can, beside which no limits may stand."""
        return (
            object_or_empty(self.fields.get("reasoningConfig")).get("maxReasoningEffort") == "high"
        )

    def with_native(self, options: JsonObject) -> "ConverseReasoning":
        """Return the reasoning with the caller's own fields, for what depends on it."""
        native = options.get("additionalModelRequestFields")
        if not isinstance(native, Mapping):
            return self
        named = {k: native[k] for k in ("thinking", "reasoningConfig") if k in native}
        return ConverseReasoning(fields={**self.fields, **named})

    def without_excluded(
        self, *, forced_call: bool, messages: Sequence[ConverseMessage], notes: Notes
    ) -> "ConverseReasoning":
        """Return the reasoning, or none where the rest of the request excludes a budget."""
        if not self.has_budget:
            return self
        thinking = without_excluded_budget(
            self.fields["thinking"],
            forced_call=forced_call,
            continues=_continues_without_thinking(messages),
            notes=notes,
        )
        return self if thinking is not None else ConverseReasoning()


def _continues_without_thinking(messages: Sequence[ConverseMessage]) -> bool:
    """Return whether tool results answer a turn that does not begin with reasoning."""
    if len(messages) < 2:
        return False
    results = any("toolResult" in block for block in messages[-1]["content"])
    return results and "reasoningContent" not in messages[-2]["content"][0]


def lower_reasoning(request: LLMRequest, rules: ConverseRules, notes: Notes) -> ConverseReasoning:
    """Return how much to think."""
    wanted, max_tokens = request.reasoning, request.generation.max_tokens
    if wanted is None:
        return ConverseReasoning()
    if rules.family == "claude":
        return ConverseReasoning(fields=_claude(wanted, max_tokens, rules, notes))
    if rules.family == "nova" and rules.thinks:
        return ConverseReasoning(fields=_nova(wanted, notes))
    if rules.family == "gpt-oss":
        return ConverseReasoning(fields=_gpt_oss(wanted, notes))
    if wanted.effort != "none" or wanted.budget_tokens is not None:
        why = (
            "no field is documented for the model: name its own in "
            "provider_options.bedrock.additionalModelRequestFields"
        )
        notes.dropped("unsupported-parameter", "reasoning", why)
    return ConverseReasoning()


def _claude(
    wanted: ReasoningOptions, max_tokens: int | None, rules: ConverseRules, notes: Notes
) -> dict[str, Any]:
    lowered = lower_thinking(wanted, max_tokens, rules.claude_rules, notes)
    fields: dict[str, Any] = {}
    if lowered.thinking is not None:
        fields["thinking"] = lowered.thinking
    if lowered.effort is not None:
        fields["output_config"] = {"effort": lowered.effort}
    return fields


def _nova(wanted: ReasoningOptions, notes: Notes) -> dict[str, Any]:
    if wanted.effort == "none":
        return {"reasoningConfig": {"type": "disabled"}}
    effort = _level(wanted, notes) or "medium"
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}


def _gpt_oss(wanted: ReasoningOptions, notes: Notes) -> dict[str, Any]:
    if wanted.effort == "none":
        why = "reasoning cannot be turned off for this model; the lowest effort is sent"
        notes.changed("reasoning-not-off", "reasoning.effort", why)
        return {"reasoning_effort": "low"}
    effort = _level(wanted, notes)
    return {} if effort is None else {"reasoning_effort": effort}


def _level(wanted: ReasoningOptions, notes: Notes) -> str | None:
    """Return the level that the model has for the wanted effort."""
    if wanted.budget_tokens is not None:
        why = "the model accepts an effort, not a number of tokens"
        notes.dropped("unsupported-parameter", "reasoning.budget_tokens", why)
    if wanted.summary is not None:
        why = "whether thinking is shown is the model's to decide"
        notes.dropped("unsupported-parameter", "reasoning.summary", why)
    effort = wanted.effort
    if effort is None or effort in _LEVELS:
        return effort
    nearest = _NEAREST.get(effort, effort)  # a word of the vendor's own goes as it is
    if nearest != effort:
        why = f"the model takes {', '.join(_LEVELS)}; {effort!r} became {nearest!r}"
        notes.changed("reasoning-effort-changed", "reasoning.effort", why)
    return nearest


def lower_reasoning_part(part: ReasoningPart) -> Block:
    """Return reasoning exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return {"reasoningContent": {"redactedContent": part.encrypted}}
    shown: Block = {"text": part.text}
    if part.signature is not None:
        shown["signature"] = part.signature
    return {"reasoningContent": {"reasoningText": shown}}
