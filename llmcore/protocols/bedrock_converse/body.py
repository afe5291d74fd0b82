"""Bedrock Converse: building the request body.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, read
November 2026. The model and the choice between a stream and a whole response are in the path
(`models.converse_path`), so both have the same body.

Provider options are laid over the body by their native names: `guardrailConfig`,
`additionalModelRequestFields`, `additionalModelResponseFieldPaths`, `performanceConfig`,
`projectIdentifier`, `promptVariables`, `requestMetadata`, `serviceTier` and what may come. Three
are for us: `base_model` (which model an ARN represents), `auto_cache` (False for no cache points of
ours) and `structured_output` (`"native"` or `"tool"`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from llmcore.protocols import claude, lowering
from llmcore.protocols.bedrock_converse import names
from llmcore.protocols.bedrock_converse.caching import place_points
from llmcore.protocols.bedrock_converse.messages import lower_messages, target_of
from llmcore.protocols.bedrock_converse.models import (
    ConverseRules,
    base_model,
    is_claude,
    plan_format,
    rules_of,
)
from llmcore.protocols.bedrock_converse.names import (
    METADATA_KEY,
    PROTOCOL_ID,
    ConverseBody,
    ConverseMessage,
)
from llmcore.protocols.bedrock_converse.tools import (
    UNENFORCED,
    format_choice,
    function_tool,
    lower_tools,
    stub_tools,
    text_format,
)
from llmcore.protocols.caching import note_cache_options
from llmcore.protocols.claude_tools import fit_format, fit_properties
from llmcore.protocols.forced_format import lower_format
from llmcore.protocols.history import model_family, native_provider_ids
from llmcore.protocols.protocol import Built, collect_diagnostics
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject, present, without
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.options import ReasoningOptions, merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

COUNTED: Final = ("messages", "system", "toolConfig", "additionalModelRequestFields")
"""The fields of the body that `CountTokens` takes:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html, read
November 2026."""

_OURS: Final = frozenset({"base_model", "auto_cache", "structured_output", "modelId"})
"""Provider options that are not fields of the body."""


def from_request(request: LLMRequest, stream: bool) -> Result[Built[ConverseBody], LLMError]:
    """Build the body of *request*; it is the same for a stream."""
    return collect_diagnostics(
        lambda diagnostics: cast("ConverseBody", _lower(request, stream, diagnostics))
    )


def _lower(request: LLMRequest, stream: bool, diagnostics: Diagnostics) -> dict[str, Any]:
    options = request.options_for(METADATA_KEY, request.provider_id)
    rules = rules_of(base_model(request))
    planned = plan_format(request)
    if is_claude(request):
        request = fit_properties(request, diagnostics)
        planned = fit_format(planned, diagnostics)
    tools = lower_tools(
        request, rules, native_provider_ids(request, METADATA_KEY, PROTOCOL_ID), diagnostics
    )
    reasoning = lower_reasoning(request, rules, diagnostics)
    forced = tools.choice is not None
    reasoning = reasoning.without_excluded(forced_call=forced, messages=(), diagnostics=diagnostics)
    lowered_format = lower_format(
        request,
        planned,
        may_force=not reasoning.has_budget,
        unenforced=UNENFORCED,
        diagnostics=diagnostics,
    )
    of_claude = request.messages if rules.family == "claude" else ()
    target = target_of(
        request, rules, claude.citing(of_claude, refused=lowered_format.schema is not None)
    )
    prompt = lower_messages(request, target, lowered_format.instructions, diagnostics)
    offered = [*tools.tools, *lowered_format.tools(function_tool)]
    offered += stub_tools(prompt.messages, offered, diagnostics)
    reasoning = reasoning.without_excluded(
        forced_call=False, messages=prompt.messages, diagnostics=diagnostics
    )
    thinks = reasoning.with_native(options).claude_thinks
    if rules.family == "claude" and "enabled" in rules.claude_rules.thinking and not thinks:
        claude.drop_thinking_at_end(prompt.messages, diagnostics, is_thinking=names.is_thinking)
    lists = {"tools": offered, "system": prompt.system, "messages": prompt.messages}
    automatic = options.get("auto_cache") is not False
    place_points(lists, request.cache, rules, automatic=automatic, diagnostics=diagnostics)
    note_cache_options(request, diagnostics)
    inference, model_fields = lower_generation(
        request, rules, reasoning.with_native(options), diagnostics
    )
    tool_config: dict[str, Any] = {"tools": offered} if offered else {}
    choice = format_choice(lowered_format, rules) or tools.choice
    if tool_config and choice:
        tool_config["toolChoice"] = choice
    tier = lowering.lower_service_tier(request, names.SERVICE_TIERS, diagnostics)
    body: dict[str, Any] = {
        "messages": prompt.messages,
        "system": prompt.system,
        "inferenceConfig": inference,
        "toolConfig": tool_config,
        "outputConfig": text_format(lowered_format, request.response_format),
        "additionalModelRequestFields": {**reasoning.fields, **model_fields, **tools.fields},
        "requestMetadata": _metadata(request, diagnostics),
        "serviceTier": {"type": tier} if tier else {},
    }
    filled = {name: value for name, value in body.items() if value}
    return _with_options(filled, options, stream, diagnostics)


# -- how much to think

_LEVELS: Final = ("low", "medium", "high")


class ConverseReasoning(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of reasoning, in the model's own fields."""

    fields: dict[str, Any] = {}
    """Fields of `additionalModelRequestFields`."""

    @property
    def claude_thinks(self) -> bool:
        """Whether Claude's thinking is on, which excludes other settings."""
        return claude.is_thinking(object_or_empty(self.fields.get("thinking")))

    @property
    def has_budget(self) -> bool:
        """Whether Claude's thinking is on with a budget, which excludes still more."""
        return claude.has_budget(object_or_empty(self.fields.get("thinking")))

    @property
    def nova_unlimited(self) -> bool:
        """Whether a Nova model thinks as hard as it can, beside which it takes no limits."""
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
        self, *, forced_call: bool, messages: Sequence[ConverseMessage], diagnostics: Diagnostics
    ) -> "ConverseReasoning":
        """Return the reasoning, or none where the rest of the request excludes a budget."""
        if not self.has_budget:
            return self
        thinking = claude.without_excluded_budget(
            self.fields["thinking"],
            forced_call=forced_call,
            continues=claude.continues_without_thinking(
                messages,
                is_thinking=names.is_thinking,
                is_result=lambda block: "toolResult" in block,
            ),
            diagnostics=diagnostics,
        )
        return self if thinking is not None else ConverseReasoning()


def lower_reasoning(
    request: LLMRequest, rules: ConverseRules, diagnostics: Diagnostics
) -> ConverseReasoning:
    """Return how much to think.

    Converse has no field for it that all models take; each model takes its own in
    `additionalModelRequestFields`. Sources, read November 2026:
    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html and
    claude-messages-extended-thinking.html (`thinking`, `output_config.effort`),
    https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
    (`reasoningConfig`), OpenAI's gpt-oss (`reasoning_effort`), and its other models
    (`reasoning.effort`): https://github.com/anomalyco/opencode/pull/48195.
    """
    reasoning, max_tokens = request.reasoning, request.generation.max_tokens
    if reasoning is None:
        return ConverseReasoning()
    if rules.family == "claude":
        return ConverseReasoning(fields=_claude(reasoning, max_tokens, rules, diagnostics))
    if rules.family == "nova" and rules.thinks:
        return ConverseReasoning(fields=_nova(reasoning, diagnostics))
    if rules.family == "gpt-oss":
        return ConverseReasoning(fields=_gpt_oss(reasoning, diagnostics))
    if rules.family == "gpt":
        return ConverseReasoning(fields=_gpt(request, reasoning, diagnostics))
    if reasoning.effort != "none" or reasoning.budget_tokens is not None:
        why = (
            "no field is documented for the model: name its own in "
            "provider_options.bedrock.additionalModelRequestFields"
        )
        diagnostics.at("reasoning").unsupported(why)
    return ConverseReasoning()


def _claude(
    reasoning: ReasoningOptions,
    max_tokens: int | None,
    rules: ConverseRules,
    diagnostics: Diagnostics,
) -> dict[str, Any]:
    lowered = claude.lower_thinking(reasoning, max_tokens, rules.claude_rules, diagnostics)
    fields: dict[str, Any] = {}
    if lowered.thinking is not None:
        fields["thinking"] = lowered.thinking
    if lowered.effort is not None:
        fields["output_config"] = {"effort": lowered.effort}
    return fields


def _nova(reasoning: ReasoningOptions, diagnostics: Diagnostics) -> dict[str, Any]:
    if reasoning.effort == "none":
        return {"reasoningConfig": {"type": "disabled"}}
    effort = _level(reasoning, diagnostics) or "medium"
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}


def _gpt_oss(reasoning: ReasoningOptions, diagnostics: Diagnostics) -> dict[str, Any]:
    if reasoning.effort == "none":
        why = "reasoning cannot be turned off for this model; the lowest effort is sent"
        diagnostics.at("reasoning.effort").changed("reasoning-not-off", why)
        return {"reasoning_effort": "low"}
    effort = _level(reasoning, diagnostics)
    return {} if effort is None else {"reasoning_effort": effort}


def _gpt(
    request: LLMRequest, reasoning: ReasoningOptions, diagnostics: Diagnostics
) -> dict[str, Any]:
    _note_amounts(reasoning, diagnostics)
    name = model_family(base_model(request))
    efforts = lowering.OPENAI_EFFORTS
    accepted = lowering.with_accepted_effort(request, efforts, diagnostics, name=name).reasoning
    effort = None if accepted is None else accepted.effort
    return {} if effort is None else {"reasoning": {"effort": effort}}


def _level(reasoning: ReasoningOptions, diagnostics: Diagnostics) -> str | None:
    """Return the level that the model has for the wanted effort."""
    _note_amounts(reasoning, diagnostics)
    effort = reasoning.effort
    return None if effort is None else lowering.accepted_effort(effort, _LEVELS, diagnostics)


def _note_amounts(reasoning: ReasoningOptions, diagnostics: Diagnostics) -> None:
    """Record what a model that takes an effort alone does not see."""
    if reasoning.budget_tokens is not None:
        why = "the model accepts an effort, not a number of tokens"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
    if reasoning.summary is not None:
        diagnostics.at("reasoning.summary").unsupported(
            "the model decides whether its thinking is shown"
        )


# -- parameters


def lower_generation(
    request: LLMRequest,
    rules: ConverseRules,
    reasoning: ConverseReasoning,
    diagnostics: Diagnostics,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `inferenceConfig`, and the fields that only this model takes."""
    options = request.generation
    if lowering.is_unset(options):
        return {}, {}
    lowering.check_least(options, names.LEAST)
    fields: dict[str, Any] = {
        "max_tokens": options.max_tokens,
        "temperature": claude.at_most_one("temperature", options.temperature, diagnostics),
        "top_p": claude.at_most_one("top_p", options.top_p, diagnostics),
        "top_k": options.top_k,
    }
    lowering.note_missing(options, names.MISSING_PARAMETERS, diagnostics)
    for name, why in _refused(fields, rules, reasoning).items():
        diagnostics.at(f"generation.{name}").unsupported(why)
        fields[name] = None
    inference = {native: fields[name] for name, native in names.PARAMETERS.items()}
    inference["stopSequences"] = _stop_sequences(options.stop, rules, diagnostics) or None
    inference = present(inference)
    return inference, _lower_top_k(fields["top_k"], rules, diagnostics)


def _refused(
    fields: Mapping[str, Any], rules: ConverseRules, reasoning: ConverseReasoning
) -> dict[str, str]:
    """Return which of the parameters that are set the model refuses, and why."""
    if reasoning.nova_unlimited:
        why = "with high reasoning effort the model accepts no limits and no sampling parameters"
        return {n: why for n, value in fields.items() if value is not None and n != "top_k"}
    sampling = without(fields, "max_tokens")
    if rules.family == "gpt":
        why = "OpenAI's models accept no sampling parameters over Converse"
        return {n: why for n in ("temperature", "top_p") if sampling[n] is not None}
    if rules.family != "claude":
        return {}
    return claude.refused_sampling(sampling, rules.claude_rules, thinks=reasoning.claude_thinks)


def _lower_top_k(
    top_k: int | None, rules: ConverseRules, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Return top_k under the name that the model's vendor gives it."""
    if top_k is None:
        return {}
    match rules.family:
        case "claude" | "mistral":
            return {"top_k": top_k}
        case "nova":
            return {"inferenceConfig": {"topK": top_k}}
        case "cohere":
            return {"k": top_k}
        case _:
            why = (
                "no field is documented for the model: name its own in "
                "provider_options.bedrock.additionalModelRequestFields"
            )
            diagnostics.at("generation.top_k").unsupported(why)
            return {}


def _stop_sequences(
    stop: tuple[str, ...], rules: ConverseRules, diagnostics: Diagnostics
) -> list[str]:
    kept: list[str] = []
    if stop and not rules.stop_sequences:
        diagnostics.at("generation.stop").unsupported("the model accepts no stop sequences")
        return []
    for index, text in enumerate(stop):
        if text.strip() or (text and rules.family != "claude"):
            kept.append(text)
        else:
            why = "empty stop sequences are refused, and by Claude those of white space alone"
            diagnostics.at(f"generation.stop[{index}]").unsupported(why)
    return kept


_MAX_METADATA: Final = 16
_METADATA_KEY: Final = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}")
_METADATA_VALUE: Final = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")


def _metadata(request: LLMRequest, diagnostics: Diagnostics) -> dict[str, str]:
    """Return `requestMetadata`, which takes few pairs of few characters."""
    kept: dict[str, str] = {}
    for name, value in request.metadata.items():
        if len(kept) == _MAX_METADATA:
            why = f"the API takes {_MAX_METADATA} pairs"
        elif not (_METADATA_KEY.fullmatch(name) and _METADATA_VALUE.fullmatch(value)):
            why = "the API accepts letters, digits, white space and :_@$#=/+,-. up to 256 of them"
        else:
            kept[name] = value
            continue
        diagnostics.at(f"metadata.{name}").unsupported(why)
    return kept


# -- the caller's native fields


def _with_options(
    body: dict[str, Any], options: JsonObject, stream: bool, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Lay the caller's native fields over *body*."""
    native = without(options, *_OURS)
    merged = dict(merge_json(body, native))
    guardrail = merged.get("guardrailConfig")
    if not stream and isinstance(guardrail, dict) and "streamProcessingMode" in guardrail:
        merged["guardrailConfig"] = without(guardrail, "streamProcessingMode")
        why = "it is only supported for streams"
        diagnostics.at("guardrailConfig.streamProcessingMode").unsupported(why)
    return merged
