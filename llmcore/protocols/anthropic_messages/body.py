"""Anthropic Messages: building the request body.

Source: https://platform.claude.com/docs/en/api/messages/create, read November 2026; for the header
of beta features https://platform.claude.com/docs/en/api/beta-headers.

Provider options are laid over the body by their native names. Some are ours: `auto_cache` (False
for no automatic breakpoints), `structured_output` (`"native"` or `"tool"`), and `beta_headers`,
`beta_features` or `betas`, which name features beside those that the body certainly needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from attrs import evolve
from msgspec.structs import replace

from llmcore.protocols import claude
from llmcore.protocols.anthropic_messages import names
from llmcore.protocols.anthropic_messages.caching import place_breakpoints
from llmcore.protocols.anthropic_messages.messages import lower_messages, target_of
from llmcore.protocols.anthropic_messages.models import RulesOf, plan_format, rules_of
from llmcore.protocols.anthropic_messages.names import (
    METADATA_KEY,
    PROTOCOL_ID,
    MessageParam,
    MessagesBody,
)
from llmcore.protocols.anthropic_messages.tools import (
    UNENFORCED,
    format_choice,
    function_tool,
    lower_tools,
)
from llmcore.protocols.anthropic_messages.turns import turn_under_way
from llmcore.protocols.caching import note_cache_options
from llmcore.protocols.claude import DEFAULT_MAX_TOKENS, ClaudeRules, Thinking
from llmcore.protocols.claude_tools import fit_format, fit_properties
from llmcore.protocols.forced_format import lower_format, with_description
from llmcore.protocols.history import HistoryPolicy, native_provider_ids
from llmcore.protocols.lowering import check_least, is_unset, lower_service_tier, note_missing
from llmcore.protocols.protocol import Built
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import JsonObject, plain_object, present, without
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

COUNTED: Final = (
    *("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"),
    *("cache_control", "speed", "mcp_servers", "context_management", "compaction"),
)
"""The fields of the body that `POST /v1/messages/count_tokens` accepts."""

_BETA_OPTIONS: Final = ("beta_headers", "beta_features", "betas")
_OURS: Final = frozenset({"auto_cache", "structured_output", "stream", *_BETA_OPTIONS})
"""Provider options that are not fields of the body."""


def from_request(
    request: LLMRequest,
    stream: bool,
    *,
    rules_of: RulesOf = rules_of,
    system_messages: bool = True,
    service_tiers: Mapping[str, str] = names.SERVICE_TIERS,
) -> Result[Built[MessagesBody], LLMError]:
    """Build the body of *request*; streamed and whole ones differ only in `stream`.

    Without *system_messages* no instructions are among the messages, whatever the model takes;
    *service_tiers* are the platform's words for tiers.
    """
    diagnostics = Diagnostics()
    rules = rules_of(request.model_id)
    if rules.system_messages and not system_messages:
        rules = evolve(rules, system_messages=False)
    try:
        options = request.options_for(METADATA_KEY, request.provider_id)
        body, betas = _lower(request, options, rules, service_tiers, stream, diagnostics)
        named = _named_betas(options) if options else ()
        features = ",".join(dict.fromkeys((*betas, *named)))
    except LLMError as error:
        return Failure(error)
    headers = {_BETA_HEADER: features} if features else {}
    return Success(Built(cast("MessagesBody", body), tuple(diagnostics.entries), headers=headers))


def _lower(
    request: LLMRequest,
    options: JsonObject,
    rules: ClaudeRules,
    tiers: Mapping[str, str],
    stream: bool,
    diagnostics: Diagnostics,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body, and the beta features that it certainly needs."""
    request = fit_properties(request, diagnostics)
    keys = native_provider_ids(request, METADATA_KEY, PROTOCOL_ID)
    tools = lower_tools(request, rules, keys, diagnostics)
    reasoning = lower_reasoning(request, options, rules, diagnostics)
    lowered_format = lower_format(
        request,
        fit_format(plan_format(request, rules), diagnostics),
        may_force=not claude.has_budget(reasoning.thinking),
        unenforced=UNENFORCED,
        diagnostics=diagnostics,
    )
    citing = claude.citing(request.messages, refused=lowered_format.schema is not None)
    target = target_of(request, rules, keys, citing)
    prompt = lower_messages(request, target, lowered_format.instructions, diagnostics)
    metadata = _lower_metadata(request, diagnostics)
    choice = format_choice(lowered_format, request) or tools.choice
    thinking = without_excluded_thinking(reasoning.thinking, choice, prompt.messages, diagnostics)
    if "enabled" in rules.thinking and not claude.is_thinking(thinking):
        claude.drop_thinking_at_end(prompt.messages, diagnostics, is_thinking=names.is_thinking)
    schema, enforced = lowered_format.schema, None
    if schema is not None and request.response_format is not None:
        described = with_description(schema, request.response_format)
        enforced = {"type": "json_schema", "schema": described}
    fields: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": reasoning.max_tokens,
        "stream": stream or None,
        **lower_generation(request, rules, thinking, diagnostics),
        "thinking": thinking,
        "output_config": present({"format": enforced, "effort": reasoning.effort}) or None,
        "metadata": metadata,
        "service_tier": lower_service_tier(request, tiers, diagnostics),
        "tool_choice": choice,
        "tools": [*tools.tools, *lowered_format.tools(function_tool)] or None,
        "system": prompt.system or None,
        "mcp_servers": tools.servers or None,
        "container": _lower_container(request, options, target.policy),
        "messages": prompt.messages,
    }
    body = _with_options(present(fields), options)
    note_cache_options(request, diagnostics)
    automatic = options.get("auto_cache") is not False
    cached = place_breakpoints(body, request.cache, automatic=automatic, diagnostics=diagnostics)
    return body, (*_betas_of(body, cached=cached), *tools.betas)


def _lower_metadata(request: LLMRequest, diagnostics: Diagnostics) -> JsonObject | None:
    for name in request.metadata:
        if name != "user_id":
            diagnostics.at(f"metadata.{name}").unsupported("the API accepts only user_id")
    user_id = request.metadata.get("user_id")
    return None if user_id is None else {"user_id": user_id}


def _lower_container(
    request: LLMRequest, options: JsonObject, policy: HistoryPolicy
) -> str | JsonObject | None:
    """Return the container in which code of the turn under way waits for the caller's results.

    The API refuses the results without it ("container_id is required when there are pending tool
    uses generated by code execution"). Source: https://platform.claude.com/docs/en/
    agents-and-tools/tool-use/programmatic-tool-calling#container-lifecycle.
    """
    given = options.get("container")
    if given is not None and not (isinstance(given, Mapping) and given.get("id") is None):
        return None
    container = next(_containers(request.messages, policy), None)
    return {"id": container} if container is not None and given is not None else container


def _containers(messages: Sequence[Message], policy: HistoryPolicy) -> Iterator[str]:
    """Yield the ids of the containers of the turn under way, the last one first."""
    for message in turn_under_way(messages):
        container = message.provider_metadata.get(METADATA_KEY, {}).get("container")
        id_ = container.get("id") if isinstance(container, Mapping) else None
        if isinstance(id_, str) and policy.same_api(message.origin):
            yield id_


# -- parameters


def lower_generation(
    request: LLMRequest, rules: ClaudeRules, thinking: JsonObject | None, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Return sampling and stop sequences."""
    options = request.generation
    if is_unset(options):
        return {}
    check_least(options, names.LEAST)
    parameters = names.PARAMETERS.items()
    fields: dict[str, Any] = {native: getattr(options, name) for name, native in parameters}
    fields["temperature"] = claude.at_most_one("temperature", options.temperature, diagnostics)
    note_missing(options, names.MISSING_PARAMETERS, diagnostics)
    thinks = claude.is_thinking(thinking)
    for name, why in claude.refused_sampling(fields, rules, thinks=thinks).items():
        diagnostics.at(f"generation.{name}").unsupported(why)
        fields[name] = None
    fields["stop_sequences"] = _stop_sequences(options.stop, diagnostics) or None
    return fields


def _stop_sequences(stop: tuple[str, ...], diagnostics: Diagnostics) -> list[str]:
    for index, text in enumerate(stop):
        if not text.strip():
            why = "the API refuses stop sequences of white space"
            diagnostics.at(f"generation.stop[{index}]").unsupported(why)
    return [text for text in stop if text.strip()]


# -- the caller's native fields

_REQUIRED: Final[Mapping[str, type]] = {"model": str, "max_tokens": int, "messages": list}


def _with_options(body: dict[str, Any], options: JsonObject) -> dict[str, Any]:
    """Return *body*, in which the messages are last, with the caller's native fields before them.

    All before the messages then stays the same from turn to turn, byte for byte. The caller's
    values are copied: breakpoints are placed in them.
    """
    native = without(options, *_OURS) if options else None
    if not native:
        return body
    body = dict(merge_json(body, plain_object(native)))
    for name, kind in _REQUIRED.items():
        if name not in body:
            raise InvalidRequestError(f"provider_options.{METADATA_KEY}.{name} cannot be removed")
        if not isinstance(body[name], kind):
            raise InvalidRequestError(
                f"provider_options.{METADATA_KEY}.{name} is not a {kind.__name__}"
            )
    messages = body.pop("messages")
    return {**body, "messages": messages}


# -- beta features

_BETA_HEADER: Final = "anthropic-beta"
_PROMPT_CACHING: Final = "prompt-caching-2024-07-31"
_SERVER_SIDE_FALLBACK: Final = "server-side-fallback-2026-07-01"
_BETA_BY_FIELD: Final = {
    "mcp_servers": "mcp-client-2025-11-20",
    "context_management": "context-management-2025-06-27",
    "compaction": "compact-2026-09-04",
    "fallbacks": _SERVER_SIDE_FALLBACK,
    "fallback_credit_token": "fallback-credit-2026-07-01",
    "billing_policy": "user-profiles-billing-2026-10-01",
    "thread": "message-threads-2026-08-12",
    "speed": "fast-mode-2026-02-01",
}
_BETA_BY_SETTING: Final = {
    ("output_config", "task_budget"): "task-budgets-2026-03-13",
    ("thinking", "block_binding"): "thinking-binding-controls-2026-08-01",
}
_BETA_BY_EDIT: Final = {"compact_20260112": "compact-2026-01-12"}
_BETA_BY_BLOCK: Final = {
    names.FALLBACK: _SERVER_SIDE_FALLBACK,
    "tool_addition": "mid-conversation-tool-changes-2026-07-01",
    "tool_removal": "mid-conversation-tool-changes-2026-07-01",
}
_INLINE_TOOLS: Final = "inline-tools-2026-09-15"
_INLINE_MCP_TOOLS: Final = "mcp-client-2026-09-15"
_THINKING_UPDATES: Final = "thinking-display-updates-2026-08-18"


def _betas_of(body: Mapping[str, Any], *, cached: bool) -> Iterator[str]:
    if cached:
        yield _PROMPT_CACHING
    if not _FIELDS_OF_BETAS.isdisjoint(body):
        yield from _betas_of_fields(body)
    for message in objects(body["messages"]):
        for block in objects(message.get("content")):
            kind = block.get("type")
            if isinstance(kind, str) and kind in _BETA_BY_BLOCK:
                yield from _betas_of_block(kind, block)


def _betas_of_fields(body: Mapping[str, Any]) -> Iterator[str]:
    for name, beta in _BETA_BY_FIELD.items():
        if body.get(name):
            yield beta
    for (name, setting), beta in _BETA_BY_SETTING.items():
        if object_or_empty(body.get(name)).get(setting) is not None:
            yield beta
    if object_or_empty(body.get("thinking")).get("display") == "updates":
        yield _THINKING_UPDATES
    for edit in objects(object_or_empty(body.get("context_management")).get("edits")):
        kind = edit.get("type")
        if isinstance(kind, str) and kind in _BETA_BY_EDIT:
            yield _BETA_BY_EDIT[kind]


_FIELDS_OF_BETAS: Final = frozenset({*_BETA_BY_FIELD, *(name for name, _ in _BETA_BY_SETTING)})
"""The fields in which `_betas_of_fields` looks."""


def _betas_of_block(kind: str, block: Mapping[str, Any]) -> Iterator[str]:
    yield _BETA_BY_BLOCK[kind]
    tool = object_or_empty(block.get("tool"))
    if tool.get("type") == "tool_definition":
        yield _INLINE_TOOLS
        if object_or_empty(tool.get("definition")).get("type") == "mcp_toolset":
            yield _INLINE_MCP_TOOLS


def _named_betas(options: JsonObject) -> Iterator[str]:
    """Yield the features that the caller names."""
    for name in _BETA_OPTIONS:
        given = options.get(name)
        items = [given] if isinstance(given, str) else given or []
        for item in items if isinstance(items, list | tuple) else [items]:
            if not isinstance(item, str):
                raise InvalidRequestError(
                    f"provider_options {name} is a list of names, not {item!r}"
                )
            yield from filter(None, (part.strip() for part in item.split(",")))


# -- how much to think


def lower_reasoning(
    request: LLMRequest, options: JsonObject, rules: ClaudeRules, diagnostics: Diagnostics
) -> Thinking:
    """Return the settings of thinking; the caller's own `thinking` takes precedence.

    Source: https://platform.claude.com/docs/en/build-with-claude/thinking, read November 2026.
    """
    limit = request.generation.max_tokens
    lowered = claude.lower_thinking(request.reasoning, limit, rules, diagnostics)
    native = options.get("thinking")
    if "thinking" in options and native is None:  # effort alone: nothing excludes sampling
        return replace(lowered, thinking=None)
    if not isinstance(native, Mapping) or not isinstance(native.get("type"), str):
        return lowered
    budget = native.get("budget_tokens")
    if not claude.has_budget(native):
        return replace(lowered, thinking=native)
    if not isinstance(budget, int):
        return lowered
    if limit is None:
        lowered = replace(lowered, max_tokens=max(lowered.max_tokens, budget + DEFAULT_MAX_TOKENS))
    return replace(lowered, thinking=native)


def without_excluded_thinking(
    thinking: JsonObject | None,
    choice: JsonObject | None,
    messages: Sequence[MessageParam],
    diagnostics: Diagnostics,
) -> JsonObject | None:
    """Return *thinking* unless a forced tool call or the turn under way excludes a budget."""
    return claude.without_excluded_budget(
        thinking,
        forced_call=choice is not None and choice.get("type") in ("any", "tool"),
        continues=claude.continues_without_thinking(
            messages,
            is_thinking=names.is_thinking,
            is_result=lambda block: block.get("type") == "tool_result",
        ),
        diagnostics=diagnostics,
    )
