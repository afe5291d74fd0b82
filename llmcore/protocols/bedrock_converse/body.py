"""Bedrock Converse: building the request body.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, read
November 2026. The model and the choice between a stream and a whole answer stand in the path
(`paths`), so both have the same body.

Provider options are laid over the body by their native names: `guardrailConfig`,
`additionalModelRequestFields`, `additionalModelResponseFieldPaths`, `performanceConfig`,
`promptVariables`, `requestMetadata`, `serviceTier` and what may come. Three are for us:
`base_model` (which model an ARN stands for), `auto_cache` (False for no cache points of ours) and
`structured_output` (`"native"` or `"tool"`).
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from llmcore.protocols.bedrock_converse.answer_format import Format, base_model, lower_format
from llmcore.protocols.bedrock_converse.caching import place_points
from llmcore.protocols.bedrock_converse.messages import lower_messages, target_of
from llmcore.protocols.bedrock_converse.models import ModelRules, rules_of
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, PROTOCOL_ID, ConverseBody
from llmcore.protocols.bedrock_converse.reasoning import Reasoning, lower_reasoning
from llmcore.protocols.bedrock_converse.tools import Lowered, lower_tools, stub_tools
from llmcore.protocols.building import build
from llmcore.protocols.message_target import native_keys
from llmcore.protocols.notes import Notes
from llmcore.protocols.protocol import Built
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

Body: TypeAlias = dict[str, Any]
"""A native body, its keys in a fixed order."""

_OURS: Final = frozenset({"base_model", "auto_cache", "structured_output", "modelId"})
"""Provider options that are no fields of the body."""


def from_request(request: LLMRequest, stream: bool) -> Result[Built[ConverseBody], LLMError]:
    """Build the body of *request*; it is the same for a stream."""
    return build(lambda notes: cast("ConverseBody", _lower(request, stream, notes)))


def _lower(request: LLMRequest, stream: bool, notes: Notes) -> Body:
    options = request.options_for(METADATA_KEY, request.provider_id)
    rules = rules_of(base_model(request, METADATA_KEY))
    keys = native_keys(request, METADATA_KEY, PROTOCOL_ID)
    tools = lower_tools(request, rules, keys, notes)
    limit = request.generation.max_tokens
    reasoning = _fitting(lower_reasoning(request.reasoning, limit, rules, notes), tools, notes)
    answer = lower_format(
        request, METADATA_KEY, rules, has_budget=reasoning.has_budget, notes=notes
    )
    lists = _lower_conversation(request, rules, tools, answer, notes)
    reasoning = _continuing(reasoning, lists["messages"], notes)
    automatic = options.get("auto_cache") is not False
    place_points(lists, request.cache, rules, automatic=automatic, notes=notes)
    _note_caching(request, notes)
    asked = _asked_natively(reasoning, options)
    body = _assemble(request, rules, lists, tools, answer, reasoning, asked, notes)
    return _with_options(body, options, stream, notes)


def _lower_conversation(
    request: LLMRequest, rules: ModelRules, tools: Lowered, answer: Format, notes: Notes
) -> dict[str, list[dict[str, Any]]]:
    """Return the body's lists: tools, system and messages."""
    target = target_of(
        request,
        rules,
        protocol=PROTOCOL_ID,
        metadata_key=METADATA_KEY,
        citations=answer.text_format is None,
    )
    said = lower_messages(request, target, answer.instructions, notes)
    offered = [*tools.tools, *([answer.tool] if answer.tool else [])]
    offered += stub_tools(said.messages, offered, notes)
    return {"tools": offered, "system": said.system, "messages": said.messages}


def _assemble(
    request: LLMRequest,
    rules: ModelRules,
    lists: Mapping[str, list[dict[str, Any]]],
    tools: Lowered,
    answer: Format,
    reasoning: Reasoning,
    asked: Reasoning,
    notes: Notes,
) -> Body:
    """Return the body without the caller's native fields; *asked* knows of thinking in them."""
    inference, additional = lower_generation(request, rules, asked, notes)
    choice = answer.tool_choice or tools.choice
    tool_config: Body = {"tools": lists["tools"]} if lists["tools"] else {}
    if tool_config and choice:
        tool_config["toolChoice"] = choice
    body: Body = {
        "messages": lists["messages"],
        "system": lists["system"],
        "inferenceConfig": inference,
        "toolConfig": tool_config,
        "outputConfig": {"textFormat": answer.text_format} if answer.text_format else {},
        "additionalModelRequestFields": {**reasoning.fields, **additional, **tools.fields},
        "requestMetadata": _metadata(request, notes),
    }
    return {name: value for name, value in body.items() if value}


def _note_caching(request: LLMRequest, notes: Notes) -> None:
    for name in ("key", "retention"):
        if getattr(request.cache, name) is not None:
            notes.dropped("unsupported-parameter", f"cache.{name}", f"the API has no cache {name}")


# -- thinking beside other wishes


def _asked_natively(reasoning: Reasoning, options: JsonObject) -> Reasoning:
    """Return *reasoning*, or what the caller's own fields say, for what depends on it."""
    own = options.get("additionalModelRequestFields")
    if not isinstance(own, Mapping):
        return reasoning
    named = {k: own[k] for k in ("thinking", "reasoningConfig") if k in own}
    return Reasoning(fields={**reasoning.fields, **named})


def _fitting(reasoning: Reasoning, tools: Lowered, notes: Notes) -> Reasoning:
    """Return *reasoning* without a budget that a demanded tool call excludes."""
    if not reasoning.has_budget or tools.choice is None:
        return reasoning
    why = "the model does not think where it must call a tool"
    notes.dropped("unsupported-parameter", "reasoning", why)
    return Reasoning()


def _continuing(reasoning: Reasoning, messages: list[dict[str, Any]], notes: Notes) -> Reasoning:
    """Return *reasoning* without a budget, if tool results answer a turn that began without.

    Claude then refuses to turn thinking on: "Expected `thinking` or `redacted_thinking`".
    """
    if not reasoning.has_budget or len(messages) < 2:
        return reasoning
    answered = any("toolResult" in block for block in messages[-1]["content"])
    first = messages[-2]["content"][0]
    if not answered or "reasoningContent" in first:
        return reasoning
    why = "the answer under way began without thinking, and must go on so"
    notes.dropped("unsupported-parameter", "reasoning", why)
    return Reasoning()


# -- parameters


def lower_generation(
    request: LLMRequest, rules: ModelRules, reasoning: Reasoning, notes: Notes
) -> tuple[Body, Body]:
    """Return `inferenceConfig`, and the fields that only this model takes."""
    options = request.generation
    fields: Body = {
        "max_tokens": options.max_tokens,
        "temperature": _at_most_one("temperature", options.temperature, notes),
        "top_p": _at_most_one("top_p", options.top_p, notes),
        "top_k": options.top_k,
    }
    for name in ("seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"):
        if getattr(options, name) is not None:
            why = f"the API has no {name}"
            notes.dropped("unsupported-parameter", f"generation.{name}", why)
    for name, why in _refused(fields, rules, reasoning).items():
        notes.dropped("unsupported-parameter", f"generation.{name}", why)
        fields[name] = None
    inference = {
        "maxTokens": fields["max_tokens"],
        "temperature": fields["temperature"],
        "topP": fields["top_p"],
        "stopSequences": _stop_sequences(options.stop, rules, notes) or None,
    }
    inference = {name: value for name, value in inference.items() if value is not None}
    return inference, _lower_top_k(fields["top_k"], rules, notes)


def _at_most_one(name: str, value: float | None, notes: Notes) -> float | None:
    if value is None or value <= 1:
        return value
    why = f"the API takes 0 to 1; {value} became 1"
    notes.changed("parameter-out-of-range", f"generation.{name}", why)
    return 1.0


def _refused(fields: Mapping[str, Any], rules: ModelRules, reasoning: Reasoning) -> dict[str, str]:
    """Return which of the parameters that are set the model refuses, and why."""
    given = [name for name, value in fields.items() if value is not None]
    if reasoning.nova_unlimited:
        why = "the model takes no limits and no sampling beside reasoning of high effort"
        return dict.fromkeys((n for n in given if n != "top_k"), why)
    sampling = [name for name in given if name != "max_tokens"]
    if rules.family != "claude":
        return {}
    if rules.claude.sampling == "none":
        why = "the model samples as it likes: effort is what it takes"
        return {name: why for name in sampling if fields[name] != 1 or name == "top_k"}
    if reasoning.claude_thinks:
        why = "the model takes it only without thinking"
        return {name: why for name in sampling if not _fits_thinking(name, fields[name])}
    if rules.claude.sampling == "one" and {"temperature", "top_p"} <= set(given):
        return {"top_p": "the model takes temperature or top_p, not both"}
    return {}


def _fits_thinking(name: str, value: float) -> bool:
    return (name == "temperature" and value == 1) or (name == "top_p" and value >= 0.95)


def _lower_top_k(top_k: int | None, rules: ModelRules, notes: Notes) -> Body:
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
            notes.dropped("unsupported-parameter", "generation.top_k", why)
            return {}


def _stop_sequences(stop: tuple[str, ...], rules: ModelRules, notes: Notes) -> list[str]:
    kept: list[str] = []
    for index, text in enumerate(stop):
        if text.strip() or (text and rules.family != "claude"):
            kept.append(text)
        else:
            why = "stop sequences of nothing, or for Claude of white space, are refused"
            notes.dropped("unsupported-parameter", f"generation.stop[{index}]", why)
    return kept


_MAX_METADATA: Final = 16
_METADATA_KEY: Final = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}")
_METADATA_VALUE: Final = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")


def _metadata(request: LLMRequest, notes: Notes) -> dict[str, str]:
    """Return `requestMetadata`, which takes few pairs of few characters."""
    kept: dict[str, str] = {}
    for name, value in request.metadata.items():
        if len(kept) == _MAX_METADATA:
            why = f"the API takes {_MAX_METADATA} pairs"
        elif not (_METADATA_KEY.fullmatch(name) and _METADATA_VALUE.fullmatch(value)):
            why = "the API takes letters, digits, white space and :_@$#=/+,-. up to 256 of them"
        else:
            kept[name] = value
            continue
        notes.dropped("unsupported-parameter", f"metadata.{name}", why)
    return kept


# -- the caller's native fields


def _with_options(body: Body, options: JsonObject, stream: bool, notes: Notes) -> Body:
    """Lay the caller's native fields over *body*."""
    native = {name: value for name, value in options.items() if name not in _OURS}
    merged = dict(merge_json(body, native))
    guardrail = merged.get("guardrailConfig")
    if not stream and isinstance(guardrail, dict) and "streamProcessingMode" in guardrail:
        merged["guardrailConfig"] = {
            name: value for name, value in guardrail.items() if name != "streamProcessingMode"
        }
        why = "only a stream takes it"
        notes.dropped("unsupported-parameter", "guardrailConfig.streamProcessingMode", why)
    return merged
