"""OpenAI Responses: lowering the conversation to input items.

Source: https://developers.openai.com/api/reference/resources/responses/methods/create (`input`),
read November 2026. Messages of the model are lowered in `replay_grouping`, parts and results of
tools in `parts`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from llmcore.protocols.caching import mark_breakpoint
from llmcore.protocols.history import (
    ITEM_FIELDS,
    HistoryPolicy,
    LoweringTarget,
    native_provider_ids,
    refused_file,
    repair,
)
from llmcore.protocols.lowering import matches_model
from llmcore.protocols.openai_responses.models import ResponsesDialect
from llmcore.protocols.openai_responses.names import CALL_IDS, METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.openai_responses.parts import content_of, lower_part, lower_result
from llmcore.protocols.openai_responses.replay_grouping import ReplayRules, lower_response
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    ProviderPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, str_or_empty
from llmcore.schema.request import LLMRequest


class ResponsesTarget(LoweringTarget, frozen=True, kw_only=True):
    """The request's facts that lowering its messages needs."""

    dialect: ResponsesDialect
    stateless: bool
    """Whether the provider does not store anything, so that items must bring all they need."""
    breakpoints: bool = False
    """Whether the model takes breakpoints of the prompt cache."""
    agents: bool = False
    """Whether the model may have several agents."""


def target_of(
    request: LLMRequest, options: JsonObject, dialect: ResponsesDialect, *, stateless: bool
) -> ResponsesTarget:
    """Return the context for the messages of *request*.

    A request that continues what the provider stored never sends an item's id: the
    provider refuses items that it has already.
    """
    continues = bool(options.get("previous_response_id") or options.get("conversation"))
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        citations=True,
        call_ids=CALL_IDS,
        empty_text="drop_empty",
        empty_user_text=True,
        item_ids=not continues,
        continues_stored=continues,
        refused=lambda part, own: refused_file(part, own) if type(part) is AudioPart else None,
    )
    return ResponsesTarget(
        dialect=dialect,
        policy=policy,
        keys=native_provider_ids(request, METADATA_KEY, PROTOCOL_ID),
        stateless=stateless,
        breakpoints=matches_model(dialect.breakpoint_models, request.model_id),
        agents=has_agents(options),
    )


def has_agents(options: JsonObject) -> bool:
    """Return whether a request with the native *options* lets the model have several agents."""
    return object_or_empty(options.get("multi_agent")).get("enabled") is True


def lower_messages(
    request: LLMRequest, context: ResponsesTarget, diagnostics: Diagnostics
) -> tuple[str, list[NativeObject]]:
    """Return the body's `instructions` and `input`."""
    repaired = repair(request.messages, context.policy)
    repaired.report_to(diagnostics)
    calls = _native_calls(repaired.messages)
    texts = (part.text for part in (*request.system, *repaired.system))
    items: list[NativeObject] = []
    sent_ids: set[str] = set()
    for path, message in zip(repaired.paths, repaired.messages, strict=True):
        here = diagnostics.at(path)
        if message.name:
            here.at("name").unsupported("the Responses API accepts no names")
        if message.role == "assistant":
            rules = ReplayRules(
                trusts=context.policy.item_ids,
                readable=context.policy.keeps_opaque(message.origin),
                stored=not context.stateless,
                ids=context.dialect.item_ids,
                data_without_id=context.dialect.data_without_id,
                keys=context.keys,
                agents=context.agents,
                sent_ids=sent_ids,
            )
            items += lower_response(message, rules, here)
        else:
            items += _lower_input_message(message, context, calls, here)
    return "\n\n".join(filter(None, texts)), items


def _native_calls(messages: Sequence[Message]) -> Mapping[str, NativeObject]:
    """Return the facts of calls that results need, by call id: a built-in's item, the caller."""
    natives: dict[str, NativeObject] = {}
    for message in messages:
        for part in message.content:
            if isinstance(part, ToolCallPart):
                metadata = object_or_empty(part.provider_metadata.get(METADATA_KEY))
                item = metadata.get("item")
                natives[part.id] = item if isinstance(item, dict) else metadata
    return natives


def _lower_input_message(
    message: Message,
    context: ResponsesTarget,
    calls: Mapping[str, NativeObject],
    diagnostics: Diagnostics,
) -> list[NativeObject]:
    """Return a user's, a system's or a tool's message as items.

    Results and native items are by themselves; the parts between them become messages.
    """
    role = "user" if message.role == "tool" else message.role
    items: list[NativeObject] = []
    content: list[NativeObject] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        item = _lower_item(part, context, calls, here)
        if item is None:
            natives = lower_part(part, context.keys, here)
            mark_breakpoint(natives, part, here, taken=context.breakpoints)
            content += natives
            continue
        items += _message(role, content)
        items.append(item)
        content = []
    items += _message(role, content)
    metadata = message.provider_metadata.get(METADATA_KEY)
    unread = object_or_empty(metadata.get(ITEM_FIELDS)) if metadata else {}
    if unread:
        return [{**item, **unread} if item["type"] == "message" else item for item in items]
    return items


def _lower_item(
    part: ContentPart,
    context: ResponsesTarget,
    calls: Mapping[str, NativeObject],
    diagnostics: Diagnostics,
) -> NativeObject | None:
    """Return *part* as an item of its own; None for a part of a message's content."""
    match part:
        case ToolResultPart():
            call = calls.get(part.tool_call_id)
            native = lower_result(part, call, context.keys, diagnostics)
            return _marked_output(native, part, context, diagnostics)
        case ProviderPart(provider=provider, data=dict() as data) if provider in context.keys:
            is_content = str_or_empty(data.get("type")).startswith("input_")
            return None if is_content else dict(data)
        case _:
            return None


def _marked_output(
    native: NativeObject, part: ToolResultPart, context: ResponsesTarget, diagnostics: Diagnostics
) -> NativeObject:
    """Return the output item of *part*, whose end is the end of a cached prefix if it is marked."""
    output = native.get("output")
    if cache_ttl(part) is None or native.get("type") not in _OUTPUTS_OF_PARTS or not output:
        return native
    parts = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
    mark_breakpoint(parts, part, diagnostics, taken=context.breakpoints)
    return {**native, "output": parts} if context.breakpoints else native


_OUTPUTS_OF_PARTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def _message(role: str, content: list[NativeObject]) -> list[NativeObject]:
    if not content:
        return []
    return [{"type": "message", "role": role, "content": content_of(content)}]
