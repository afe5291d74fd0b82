"""Bedrock Converse: how much the model is to think.

Converse has no field for it that all models take; each model takes its own in
`additionalModelRequestFields`. Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html and
claude-messages-extended-thinking.html (`thinking`, `output_config.effort`),
https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
(`reasoningConfig`), and OpenAI's gpt-oss (`reasoning_effort`).
"""

from typing import Any, Final

from attrs import field, frozen

from llmcore.protocols.anthropic_messages import thinking as anthropic
from llmcore.protocols.anthropic_messages import types
from llmcore.protocols.bedrock_converse.models import ModelRules
from llmcore.protocols.notes import Notes
from llmcore.schema.options import ReasoningOptions

_LEVELS: Final = ("low", "medium", "high")
_NEAREST: Final = {"minimal": "low", "xhigh": "high", "max": "high"}


@frozen(kw_only=True)
class Reasoning:
    """How much to think, in the model's own form."""

    fields: dict[str, Any] = field(factory=dict[str, Any])
    """Fields of `additionalModelRequestFields`."""

    @property
    def claude_thinks(self) -> bool:
        """Whether Claude's thinking is on, which excludes other settings."""
        thinking = self.fields.get("thinking")
        return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")

    @property
    def has_budget(self) -> bool:
        """Whether Claude's thinking is on with a budget, which excludes still more."""
        thinking = self.fields.get("thinking")
        return isinstance(thinking, dict) and thinking.get("type") == "enabled"

    @property
    def nova_unlimited(self) -> bool:
        """Whether a Nova model thinks as hard as it can, beside which no limits may stand."""
        config = self.fields.get("reasoningConfig")
        return isinstance(config, dict) and config.get("maxReasoningEffort") == "high"


def lower_reasoning(
    wanted: ReasoningOptions | None, max_tokens: int | None, rules: ModelRules, notes: Notes
) -> Reasoning:
    """Return how much to think; *max_tokens* is the request's limit, thinking included."""
    if wanted is None:
        return Reasoning()
    if rules.family == "claude":
        return Reasoning(fields=_claude(wanted, max_tokens, rules, notes))
    if rules.family == "nova" and rules.thinks:
        return Reasoning(fields=_nova(wanted, notes))
    if rules.family == "gpt-oss":
        return Reasoning(fields=_gpt_oss(wanted, notes))
    if wanted.effort != "none" or wanted.budget_tokens is not None:
        why = (
            "no field is documented for the model: name its own in "
            "provider_options.bedrock.additionalModelRequestFields"
        )
        notes.dropped("unsupported-parameter", "reasoning", why)
    return Reasoning()


def _claude(
    wanted: ReasoningOptions, max_tokens: int | None, rules: ModelRules, notes: Notes
) -> dict[str, Any]:
    lowered = anthropic.lower_reasoning(wanted, max_tokens, rules.claude, notes)
    fields: dict[str, Any] = {}
    if lowered.thinking is not None:
        fields["thinking"] = types.write(lowered.thinking)
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
        why = "the model always thinks: it is asked to think as little as it can"
        notes.changed("reasoning-not-off", "reasoning.effort", why)
        return {"reasoning_effort": "low"}
    effort = _level(wanted, notes)
    return {} if effort is None else {"reasoning_effort": effort}


def _level(wanted: ReasoningOptions, notes: Notes) -> str | None:
    """Return the level that the model has for the wanted effort."""
    if wanted.budget_tokens is not None:
        why = "the model takes an effort, not a number of tokens"
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
