"""Anthropic Messages: building the request body.

Source: https://platform.claude.com/docs/en/api/messages/create, read November 2026.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from attrs import evolve, fields_dict

from llmcore.protocols.anthropic_messages import betas, types
from llmcore.protocols.anthropic_messages.answer_format import Format, lower_format
from llmcore.protocols.anthropic_messages.caching import place_breakpoints
from llmcore.protocols.anthropic_messages.messages import lower_messages, target_of
from llmcore.protocols.anthropic_messages.models import ModelRules, rules_of
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID, MessagesBody
from llmcore.protocols.anthropic_messages.thinking import (
    DEFAULT_MAX_TOKENS,
    Reasoning,
    lower_reasoning,
)
from llmcore.protocols.anthropic_messages.tools import Lowered, lower_tools
from llmcore.protocols.anthropic_messages.types import blocks
from llmcore.protocols.anthropic_messages.types import request as native
from llmcore.protocols.anthropic_messages.types import tools as native_tools
from llmcore.protocols.message_target import native_keys
from llmcore.protocols.notes import Notes
from llmcore.protocols.protocol import Built
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import JsonObject, canonical
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

COUNTED: Final = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""What `POST /v1/messages/count_tokens` takes of the body."""

Body = types.Request

_OURS: Final = frozenset({"auto_cache", "structured_output", *betas.OPTION_NAMES})
"""Provider options that are for us, and no fields of the body."""


def from_request(
    request: LLMRequest, stream: bool, *, system_messages: bool = True
) -> Result[Built[MessagesBody], LLMError]:
    """Build the body of *request*; streamed and whole ones differ only in `stream`.

    Without *system_messages* no instructions stand among the messages, whatever the model takes.
    """
    notes = Notes()
    rules = rules_of(request.model_id)
    rules = evolve(rules, system_messages=rules.system_messages and system_messages)
    try:
        built = _lower(request, rules, stream, notes)
    except LLMError as error:
        return Failure(error)
    return Success(built)


def _lower(
    request: LLMRequest, rules: ModelRules, stream: bool, notes: Notes
) -> Built[MessagesBody]:
    options = request.options_for(METADATA_KEY, request.provider_id)
    tools = lower_tools(request, rules, _keys(request), notes)
    reasoning = lower_reasoning(request.reasoning, request.generation.max_tokens, rules, notes)
    reasoning = _asked_natively(reasoning, request, options)
    answer = lower_format(request, METADATA_KEY, reasoning.thinking, notes)
    body = _lower_conversation(
        request, rules, tools=tools, answer=answer, reasoning=reasoning, notes=notes
    )
    body = _with_thinking(body, reasoning, notes)
    body = evolve(body, **lower_generation(request, rules, body.thinking, notes))
    body = with_options(body, {k: v for k, v in options.items() if k not in _OURS})
    body = evolve(body, stream=True if stream else None)
    body = _with_caching(body, request, options, notes)
    headers = betas.headers(body, tools.betas, options)
    native = cast("MessagesBody", types.write(body))
    return Built(native, tuple(notes.entries), headers=headers)


def _keys(request: LLMRequest) -> frozenset[str]:
    """Return the ids under which native parts and tools are this API's own."""
    return native_keys(request, METADATA_KEY, PROTOCOL_ID)


def _lower_conversation(
    request: LLMRequest,
    rules: ModelRules,
    *,
    tools: Lowered,
    answer: Format,
    reasoning: Reasoning,
    notes: Notes,
) -> Body:
    """Return the body with all but thinking, sampling and caching."""
    target = target_of(
        request,
        rules,
        protocol=PROTOCOL_ID,
        metadata_key=METADATA_KEY,
        citations=answer.format is None,
    )
    said = lower_messages(request, target, answer.instructions, notes)
    return Body(
        model=request.model_id,
        max_tokens=reasoning.max_tokens,
        output_config=_output_config(answer, reasoning),
        metadata=_metadata(request, notes),
        extra_fields=tools.fields,
        tool_choice=answer.tool_choice or tools.choice,
        tools=(*tools.tools, *answer.tools) or None,
        system=said.system or None,
        messages=said.messages,
    )


def _with_caching(body: Body, request: LLMRequest, options: JsonObject, notes: Notes) -> Body:
    for name in ("key", "retention"):
        if getattr(request.cache, name) is not None:
            notes.dropped("unsupported-parameter", f"cache.{name}", f"the API has no cache {name}")
    automatic = options.get("auto_cache") is not False
    return place_breakpoints(body, request.cache, automatic=automatic, notes=notes)


def _output_config(answer: Format, reasoning: Reasoning) -> native.OutputConfig | None:
    if answer.format is None and reasoning.effort is None:
        return None
    return native.OutputConfig(format=answer.format, effort=reasoning.effort)


def _metadata(request: LLMRequest, notes: Notes) -> native.Metadata | None:
    for name in request.metadata:
        if name != "user_id":
            why = "the API takes only user_id"
            notes.dropped("unsupported-parameter", f"metadata.{name}", why)
    user_id = request.metadata.get("user_id")
    return None if user_id is None else native.Metadata(user_id)


# -- thinking beside other wishes


def _asked_natively(reasoning: Reasoning, request: LLMRequest, options: JsonObject) -> Reasoning:
    """Return *reasoning*, or what the caller's own `thinking` says, for what depends on it."""
    if not options.get("thinking"):
        return reasoning
    try:
        thinking: native.Thinking = types.read_field("thinking", options["thinking"])
    except InvalidRequestError:
        return reasoning  # newer than our types: it goes as it is
    limit = reasoning.max_tokens
    if request.generation.max_tokens is None and isinstance(thinking, native.ThinkingEnabled):
        limit = max(limit, thinking.budget_tokens + DEFAULT_MAX_TOKENS)
    return evolve(reasoning, thinking=thinking, max_tokens=limit)


def _with_thinking(body: Body, reasoning: Reasoning, notes: Notes) -> Body:
    """Return *body* with thinking, unless something in it excludes a budget of thinking."""
    thinking = reasoning.thinking
    if not isinstance(thinking, native.ThinkingEnabled):
        return evolve(body, thinking=thinking)
    if isinstance(body.tool_choice, native_tools.ToolChoiceAny | native_tools.ToolChoiceTool):
        why = "the model does not think where it must call a tool"
    elif _continues_without_thinking(body):
        why = "the answer under way began without thinking, and must go on so"
    else:
        return evolve(body, thinking=thinking)
    notes.dropped("unsupported-parameter", "reasoning", why)
    return body


def _continues_without_thinking(body: Body) -> bool:
    """Return whether tool results answer a turn that does not begin with thinking.

    The API then refuses to turn thinking on: "Expected `thinking` or `redacted_thinking`".
    """
    if len(body.messages) < 2 or isinstance(body.messages[-2].content, str):
        return False
    results = body.messages[-1].content
    if not any(isinstance(block, blocks.ToolResultBlock) for block in results):
        return False
    first = body.messages[-2].content[0]
    return not isinstance(first, blocks.ThinkingBlock | blocks.RedactedThinkingBlock)


# -- parameters


def lower_generation(
    request: LLMRequest, rules: ModelRules, thinking: native.Thinking | None, notes: Notes
) -> dict[str, Any]:
    """Return sampling and stop sequences."""
    options = request.generation
    fields: dict[str, Any] = {
        "temperature": _temperature(options.temperature, notes),
        "top_p": options.top_p,
        "top_k": options.top_k,
    }
    for name in ("seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"):
        if getattr(options, name) is not None:
            why = f"the API has no {name}"
            notes.dropped("unsupported-parameter", f"generation.{name}", why)
    refused = _refused_sampling(fields, rules, thinking)
    for name, why in refused.items():
        notes.dropped("unsupported-parameter", f"generation.{name}", why)
        fields[name] = None
    fields["stop_sequences"] = _stop_sequences(options.stop, notes) or None
    return fields


def _temperature(temperature: float | None, notes: Notes) -> float | None:
    if temperature is None or temperature <= 1:
        return temperature
    why = f"the API takes 0 to 1; {temperature} became 1"
    notes.changed("parameter-out-of-range", "generation.temperature", why)
    return 1.0


def _refused_sampling(
    fields: Mapping[str, Any], rules: ModelRules, thinking: native.Thinking | None
) -> dict[str, str]:
    """Return which of the sampling parameters that are set the model refuses, and why."""
    given = [name for name, value in fields.items() if value is not None]
    if rules.sampling == "none":
        why = "the model samples as it likes: effort is what it takes"
        return {name: why for name in given if fields[name] != 1 or name == "top_k"}
    if isinstance(thinking, native.ThinkingEnabled | native.ThinkingAdaptive):
        why = "the model takes it only without thinking"
        return {name: why for name in given if not _fits_thinking(name, fields[name])}
    if rules.sampling == "one" and {"temperature", "top_p"} <= set(given):
        return {"top_p": "the model takes temperature or top_p, not both"}
    return {}


def _fits_thinking(name: str, value: float) -> bool:
    return (name == "temperature" and value == 1) or (name == "top_p" and value >= 0.95)


def _stop_sequences(stop: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
    for index, text in enumerate(stop):
        if not text.strip():
            why = "the API refuses stop sequences of white space"
            notes.dropped("unsupported-parameter", f"generation.stop[{index}]", why)
    return tuple(text for text in stop if text.strip())


# -- the caller's native fields


def with_options(body: Body, options: JsonObject) -> Body:
    """Lay the caller's native fields over *body*; only we know whether it is to be streamed.

    What the types cannot say exactly goes into the body as it was given.
    """
    known = fields_dict(Body).keys() - {"extra_fields"}
    changes: dict[str, Any] = {}
    extra = dict(body.extra_fields)
    for name, value in options.items():
        if name == "stream":
            continue
        if name not in known:
            extra = dict(merge_json(extra, {name: value}))
            continue
        exact, field = _field(body, name, value)
        changes[name] = field if exact else None
        if not exact:
            extra[name] = field
    return evolve(body, **changes, extra_fields=extra)


def _field(body: Body, name: str, value: Any) -> tuple[bool, Any]:
    """Return the field *name* with *value* laid over it, as our type where that says it all."""
    under = {name: types.write_field(name, getattr(body, name))}
    merged = merge_json({k: v for k, v in under.items() if v is not None}, {name: value})
    if name not in merged:
        if name in _REQUIRED:
            raise InvalidRequestError(f"provider_options.{METADATA_KEY}.{name} cannot be removed")
        return True, None
    try:
        field = types.read_field(name, merged[name])
    except InvalidRequestError:
        if name in _REQUIRED:
            raise
        return False, merged[name]
    exact = canonical(types.write_field(name, field)) == canonical(merged[name])
    return exact or name in _REQUIRED, field if exact or name in _REQUIRED else merged[name]


_REQUIRED: Final = frozenset({"model", "max_tokens", "messages"})
