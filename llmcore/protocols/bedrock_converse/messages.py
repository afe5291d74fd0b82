"""Bedrock Converse: lowering the conversation.

Sources, read November 2026, below https://docs.aws.amazon.com/bedrock/latest/APIReference/:
API_runtime_Message.html (documents need text beside them), API_runtime_ReasoningTextBlock.html
(reasoning goes back unmodified, with its signature).

User and assistant take turns; the results of an answer's tool calls come first in the user's
next turn. Each message's blocks stand in the order of its parts. Reasoning goes back where it
is signed or encrypted; the service refuses it otherwise ("User messages cannot contain reasoning
content").
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from attrs import frozen

from llmcore.protocols.bedrock_converse.models import ModelRules
from llmcore.protocols.bedrock_converse.parts import (
    Block,
    Target,
    lower_executed,
    lower_part,
    lower_result,
    lower_said_text,
)
from llmcore.protocols.bedrock_converse.tools import cache_point
from llmcore.protocols.call_ids import BEDROCK
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
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

DOCUMENT_TEXT: Final = "Attached documents:"
"""What the user says with documents that came without a word."""


@frozen(kw_only=True)
class Lowered:
    """A conversation as the body has it."""

    system: list[Block]
    messages: list[dict[str, Any]]


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
        call_ids=BEDROCK,
        alternate=True,
        starts_with_user=True,
        system_messages="demote",
        empty_text="drop_blank",
        reasoning="signed",
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
    messages = [
        _lower_message(message, path, target, notes)
        for message, path in zip(repaired.messages, repaired.paths, strict=True)
    ]
    system = [
        *_lower_system(request.system, "system", notes),
        *_lower_system(repaired.system, "messages", notes),
        *({"text": text} for text in instructions),
    ]
    messages = _joined(messages)
    if target.rules.family == "claude" and messages:
        _settle_end(messages, target, repaired.paths[-1], notes)
    return Lowered(system=system, messages=messages)


def _lower_system(parts: Iterable[TextPart], path: str, notes: Notes) -> list[Block]:
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        if part.text.strip():
            blocks.append({"text": part.text})
        elif part.text:
            notes.dropped("empty-text", f"{path}[{index}]", "the text is empty")
        _mark(part, blocks)
    return blocks


def _mark(part: ContentPart, blocks: list[Block]) -> None:
    """Add the cache point that the caller put after *part*."""
    ttl = cache_ttl(part)
    if ttl is not None:
        blocks.append(cache_point(ttl))


def _lower_message(message: Message, path: str, target: Target, notes: Notes) -> dict[str, Any]:
    if message.name:
        notes.dropped("unsupported-parameter", f"{path}.name", "the API takes no names")
    said = message.role == "assistant"
    blocks: list[Block] = []
    for index, part in enumerate(message.content):
        where = f"{path}.content[{index}]"
        if said:
            _lower_said(part, where, blocks, target, notes)
        elif isinstance(part, ToolResultPart):
            blocks.append(lower_result(part, where, target, notes))
        else:
            blocks.append(lower_part(part, where, target, notes))
        _mark(part, blocks)
    if not said:
        blocks = _with_words(blocks, path, notes)
    return {"role": "assistant" if said else "user", "content": blocks}


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *messages* without those that say nothing, and neighbours of one role as one."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += message["content"]
        elif message["content"]:
            joined.append(message)
    return joined


def _with_words(blocks: list[Block], path: str, notes: Notes) -> list[Block]:
    """Return *blocks* with a text first, if there are documents and no word about them."""
    if not any("document" in block for block in blocks) or any("text" in b for b in blocks):
        return blocks
    why = f"documents need a text beside them: {DOCUMENT_TEXT!r} is sent"
    notes.added("document-text-added", path, why)
    results = [block for block in blocks if "toolResult" in block]
    rest = [block for block in blocks if "toolResult" not in block]
    return [*results, {"text": DOCUMENT_TEXT}, *rest]


# -- what the model said


def _lower_said(
    part: ContentPart, path: str, blocks: list[Block], target: Target, notes: Notes
) -> None:
    match part:
        case ReasoningPart():
            blocks.append(_lower_reasoning(part))
        case TextPart():
            blocks.append(lower_said_text(part, path, target, notes))
        case RefusalPart(text=text):
            blocks.append({"text": text})
        case ToolCallPart() | ToolResultPart() if part.provider_executed:
            native = lower_executed(part, part.provider_metadata.get(target.metadata_key, {}))
            if native is None:
                notes.left_out(path, "a tool run by another provider", "the API cannot say it")
            else:
                blocks.append(native)
        case ToolCallPart():
            blocks.append(_lower_call(part, path, notes))
        case ProviderPart():
            blocks.append(lower_part(part, path, target, notes))
        case ImagePart() | DocumentPart() | AudioPart() | ToolResultPart():
            notes.left_out(path, "a file", "assistant messages hold none")


def _lower_reasoning(part: ReasoningPart) -> Block:
    """Return reasoning exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return {"reasoningContent": {"redactedContent": part.encrypted}}
    said: Block = {"text": part.text}
    if part.signature is not None:
        said["signature"] = part.signature
    return {"reasoningContent": {"reasoningText": said}}


def _lower_call(call: ToolCallPart, path: str, notes: Notes) -> Block:
    return {
        "toolUse": {
            "toolUseId": call.id,
            "name": call.name,
            "input": object_arguments(call, path, notes),
        }
    }


# -- a beginning of the answer


def _settle_end(messages: list[dict[str, Any]], target: Target, path: str, notes: Notes) -> None:
    """Make *messages* end as Claude takes it where its own words come last.

    Older models refuse white space at their end ("final assistant content cannot end with
    trailing whitespace"), newer ones refuse such words.
    """
    content = messages[-1]["content"]
    index = len(content) - 1 - ("cachePoint" in content[-1])
    if messages[-1]["role"] != "assistant" or not isinstance(content[index].get("text"), str):
        return
    if target.rules.claude.prefill:
        content[index] = {"text": content[index]["text"].rstrip()}
    else:
        note_last_word(path, notes)
        messages.append({"role": "user", "content": [{"text": LAST_WORD}]})
