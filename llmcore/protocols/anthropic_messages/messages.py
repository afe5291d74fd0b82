"""Anthropic Messages: lowering the conversation.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/working-with-messages,
https://platform.claude.com/docs/en/build-with-claude/thinking (what must come back unchanged),
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.

User and assistant take turns; the results of an answer's tool calls come first in the
user's next turn. Each message's blocks stand in the order of its parts.
"""

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from llmcore.protocols.anthropic_messages.models import ModelRules
from llmcore.protocols.anthropic_messages.parts import (
    Target,
    lower_executed,
    lower_part,
    lower_result,
    lower_text,
    mark_of,
)
from llmcore.protocols.anthropic_messages.seating import Turn, seat
from llmcore.protocols.anthropic_messages.tools import cache_mark
from llmcore.protocols.anthropic_messages.types import Message as NativeMessage
from llmcore.protocols.anthropic_messages.types import blocks
from llmcore.protocols.call_ids import ANTHROPIC
from llmcore.protocols.freeform import object_arguments
from llmcore.protocols.history import HistoryPolicy, repair
from llmcore.protocols.message_target import native_keys
from llmcore.protocols.notes import Notes
from llmcore.protocols.prefill import LAST_WORD, note_last_word
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest


@frozen(kw_only=True)
class Lowered:
    """A conversation as the body has it."""

    system: tuple[blocks.TextBlock, ...]
    messages: tuple[NativeMessage, ...]


def target_of(
    request: LLMRequest,
    rules: ModelRules,
    *,
    protocol: str,
    metadata_key: str,
    citations: bool,
) -> Target:
    """Return whom the messages of *request* are lowered for."""
    policy = HistoryPolicy(
        protocol=protocol,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=metadata_key,
        call_ids=ANTHROPIC,
        alternate=True,
        starts_with_user=True,
        system_messages="keep" if rules.system_messages else "demote",
        empty_text="drop_blank",
        reasoning="any" if rules.unsigned_thinking else "signed",
        reasoning_may_end_turn=False,
    )
    return Target(
        rules=rules,
        policy=policy,
        keys=native_keys(request, metadata_key, protocol),
        citations=citations,
    )


def lower_messages(
    request: LLMRequest, target: Target, instructions: Sequence[str], notes: Notes
) -> Lowered:
    """Return the body's `system` and `messages`; *instructions* of our own end the former."""
    repaired = repair(request.messages, target.policy)
    notes.extend(repaired.diagnostics)
    toolsets = dict(_toolsets(repaired.messages, target))
    turns = [
        _lower_message(message, path, toolsets, target, notes)
        for message, path in zip(repaired.messages, repaired.paths, strict=True)
    ]
    leading, seated = seat(turns, notes)
    texts = [
        *_lower_system(request.system, "system", target, notes),
        *_lower_system(repaired.system, "messages", target, notes),
        *leading,
        *map(blocks.TextBlock, instructions),
    ]
    if seated:
        _settle_end(seated, target, repaired.paths[-1], notes)
    return Lowered(system=tuple(texts), messages=tuple(seated))


def _lower_system(
    parts: Iterable[TextPart], path: str, target: Target, notes: Notes
) -> list[blocks.TextBlock]:
    return [
        lower_text(part, f"{path}[{index}]", target, notes)
        for index, part in enumerate(parts)
        if part.text.strip()
    ]


def _lower_message(
    message: Message, path: str, toolsets: dict[str, str], target: Target, notes: Notes
) -> Turn:
    if message.name:
        notes.dropped("unsupported-parameter", f"{path}.name", "the API takes no names")
    lowered: list[blocks.ContentBlock] = []
    for index, part in enumerate(message.content):
        where = f"{path}.content[{index}]"
        if message.role == "assistant":
            _lower_said(part, where, lowered, target, notes)
        elif isinstance(part, ToolResultPart):
            toolset = toolsets.get(part.tool_call_id)
            lowered.append(lower_result(part, toolset, where, target, notes))
        else:
            lowered.append(lower_part(part, where, target, notes))
    if message.role in ("system", "developer"):
        return Turn("system", tuple(lowered), path)
    return Turn("assistant" if message.role == "assistant" else "user", tuple(lowered), path)


def _toolsets(messages: Iterable[Message], target: Target) -> Iterable[tuple[str, str]]:
    """Yield the ids of calls of a toolset's member, with the toolset: results must name it."""
    for message in messages:
        for call in message.tool_calls:
            name = call.provider_metadata.get(target.metadata_key, {}).get("toolset_name")
            if isinstance(name, str):
                yield call.id, name


# -- what the model said


def _lower_said(
    part: ContentPart,
    path: str,
    lowered: list[blocks.ContentBlock],
    target: Target,
    notes: Notes,
) -> None:
    match part:
        case ReasoningPart():
            lowered.append(_lower_reasoning(part))
            _move_mark(part, path, lowered, notes)
        case TextPart():
            lowered.append(lower_text(part, path, target, notes))
        case RefusalPart() if "stop_details" in part.provider_metadata.get(target.metadata_key, {}):
            notes.left_out(path, "why an answer was stopped", "the model did not say it")
        case RefusalPart(text=text):
            lowered.append(blocks.TextBlock(text, cache_control=mark_of(part)))
        case ToolCallPart() | ToolResultPart() if part.provider_executed:
            native = lower_executed(part, part.provider_metadata.get(target.metadata_key, {}))
            if native is None:
                notes.left_out(path, "a tool run by another provider", "the API cannot say it")
            else:
                lowered.append(native)
        case ToolCallPart():
            lowered.append(_lower_call(part, path, target, notes))
        case ProviderPart():
            lowered.append(lower_part(part, path, target, notes))
        case ImagePart() | DocumentPart() | AudioPart() | ToolResultPart():
            notes.left_out(path, "a file", "assistant messages hold none")


def _lower_reasoning(part: ReasoningPart) -> blocks.ThinkingBlock | blocks.RedactedThinkingBlock:
    """Return thinking exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return blocks.RedactedThinkingBlock(part.encrypted)
    return blocks.ThinkingBlock(part.text, part.signature or "")


def _move_mark(
    part: ReasoningPart, path: str, lowered: list[blocks.ContentBlock], notes: Notes
) -> None:
    """Put a cache mark that thinking cannot hold on the block before it."""
    ttl = cache_ttl(part)
    if ttl is None:
        return
    before = lowered[-2] if len(lowered) > 1 else None
    if isinstance(before, blocks.TextBlock | blocks.ToolUseBlock):
        lowered[-2] = evolve(before, cache_control=before.cache_control or cache_mark(ttl))
        notes.changed("cache-breakpoint-moved", path, "thinking holds no mark; it moved before it")
        return
    notes.dropped("cache-breakpoint-dropped", path, "thinking holds no cache mark")


def _lower_call(call: ToolCallPart, path: str, target: Target, notes: Notes) -> blocks.ToolUseBlock:
    own: JsonObject = call.provider_metadata.get(target.metadata_key, {})
    caller, toolset = own.get("caller"), own.get("toolset_name")
    return blocks.ToolUseBlock(
        id=call.id,
        name=call.name,
        input=object_arguments(call, path, notes),
        caller=caller if isinstance(caller, dict) else None,
        toolset_name=toolset if isinstance(toolset, str) else None,
        cache_control=mark_of(call),
    )


# -- a beginning of the answer


def _settle_end(messages: list[NativeMessage], target: Target, path: str, notes: Notes) -> None:
    """Make *messages* end as the model takes it where its own words come last.

    Older models refuse white space at their end ("final assistant content cannot end with
    trailing whitespace"), newer ones refuse such words. Tools that the API runs may go on.
    """
    last = messages[-1]
    block = last.content[-1]
    if last.role != "assistant" or not isinstance(block, blocks.TextBlock):
        return
    if target.rules.prefill:
        trimmed = evolve(block, text=block.text.rstrip())
        messages[-1] = evolve(last, content=(*last.content[:-1], trimmed))
    else:
        note_last_word(path, notes)
        messages.append(NativeMessage("user", (blocks.TextBlock(LAST_WORD),)))
