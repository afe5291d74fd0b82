"""Bedrock Converse: lowering the conversation.

Sources, read November 2026, below https://docs.aws.amazon.com/bedrock/latest/APIReference/:
API_runtime_Message.html (documents need text beside them), API_runtime_ReasoningTextBlock.html
(reasoning goes back unmodified, with its signature).

User and assistant take turns; the results of a message's tool calls come first in the user's
next turn. Each message's blocks are in the order of its parts. Reasoning goes back where it
is signed or encrypted; the service refuses it otherwise ("User messages cannot contain reasoning
content").
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from llmcore.protocols.bedrock_converse.caching import cache_point
from llmcore.protocols.bedrock_converse.models import ConverseRules
from llmcore.protocols.bedrock_converse.names import (
    CALL_IDS,
    METADATA_KEY,
    PROTOCOL_ID,
    Block,
    ConverseMessage,
    is_thinking,
)
from llmcore.protocols.bedrock_converse.parts import (
    ConverseTarget,
    lower_assistant_text,
    lower_call,
    lower_executed,
    lower_part,
    lower_reasoning_part,
    lower_result,
)
from llmcore.protocols.claude import Citing, fix_trailing_assistant
from llmcore.protocols.history import HistoryPolicy, native_provider_ids, refused_file, repair
from llmcore.schema.content import (
    ContentPart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

DOCUMENT_TEXT: Final = "Attached documents:"
"""The text of a message that has documents and no text, which the API rejects."""


class ConversePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The body's `system` and `messages`."""

    system: list[Block]
    messages: list[ConverseMessage]


def target_of(request: LLMRequest, rules: ConverseRules, citations: Citing) -> ConverseTarget:
    """Return what the messages of *request* are lowered for."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        citations=True,
        call_ids=CALL_IDS,
        alternate=True,
        starts_with_user=True,
        system_messages="demote",
        empty_text="drop_blank",
        reasoning="signed",
        reasoning_may_end_turn=False,
        refused=refused_file,
    )
    keys = native_provider_ids(request, METADATA_KEY, PROTOCOL_ID)
    return ConverseTarget(rules=rules, policy=policy, keys=keys, citations=citations)


def lower_messages(
    request: LLMRequest,
    target: ConverseTarget,
    instructions: Sequence[str],
    diagnostics: Diagnostics,
) -> ConversePrompt:
    """Return the body's `system` and `messages`; *instructions* of our own end the former."""
    repaired = repair(request.messages, target.policy)
    repaired.report_to(diagnostics)
    messages = [
        _lower_message(message, target, diagnostics.at(path))
        for message, path in zip(repaired.messages, repaired.paths, strict=True)
    ]
    system: list[Block] = []
    if request.system or repaired.system or instructions:
        system += _lower_system(request.system, diagnostics.at("system"))
        system += _lower_system(repaired.system, diagnostics.at("messages"))
        system += ({"text": text} for text in instructions)
    messages = _joined(messages)
    if messages:
        fix_trailing_assistant(
            messages,
            target.rules.claude_rules if target.rules.family == "claude" else None,
            diagnostics.at(repaired.paths[-1]),
            is_thinking=is_thinking,
            text_type={},
        )
    return ConversePrompt(system=system, messages=messages)


def _lower_system(parts: Iterable[TextPart], diagnostics: Diagnostics) -> list[Block]:
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        if part.text.strip():
            blocks.append({"text": part.text})
        elif part.text:
            diagnostics.at(f"[{index}]").dropped("empty-text", "the text is empty")
        _mark(part, blocks)
    return blocks


def _mark(part: ContentPart, blocks: list[Block]) -> None:
    """Add the cache point that the caller put after *part*."""
    ttl = cache_ttl(part)
    if ttl is not None:
        blocks.append(cache_point(ttl))


def _lower_message(
    message: Message, target: ConverseTarget, diagnostics: Diagnostics
) -> ConverseMessage:
    if message.name:
        diagnostics.at("name").unsupported("the API accepts no names")
    is_assistant = message.role == "assistant"
    blocks: list[Block] = []
    after_results: list[Block] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        if is_assistant:
            _lower_assistant_part(part, blocks, target, here)
            _mark(part, blocks)
        elif isinstance(part, ToolResultPart):
            blocks.append(lower_result(part, target, here, after_results))
            _mark(part, blocks)
        else:
            after_results.append(lower_part(part, target, here))
            _mark(part, after_results)
    blocks += after_results
    if not is_assistant:
        blocks = _with_document_text(blocks, diagnostics)
    return {"role": "assistant" if is_assistant else "user", "content": blocks}


def _joined(messages: list[ConverseMessage]) -> list[ConverseMessage]:
    """Return *messages* without empty ones, and neighbours of one role as one."""
    joined: list[ConverseMessage] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += message["content"]
        elif message["content"]:
            joined.append(message)
    return joined


def _with_document_text(blocks: list[Block], diagnostics: Diagnostics) -> list[Block]:
    """Return *blocks* with a text before documents, which need one."""
    if not any("document" in block for block in blocks) or any("text" in b for b in blocks):
        return blocks
    why = f"documents need a text beside them: {DOCUMENT_TEXT!r} is sent"
    diagnostics.added("document-text-added", why)
    results = [block for block in blocks if "toolResult" in block]
    rest = [block for block in blocks if "toolResult" not in block]
    return [*results, {"text": DOCUMENT_TEXT}, *rest]


# -- the assistant's parts


def _lower_assistant_part(
    part: ContentPart, blocks: list[Block], target: ConverseTarget, diagnostics: Diagnostics
) -> None:
    """Append the block of *part* to *blocks*, or report why it has none."""
    match part:
        case ReasoningPart():
            blocks.append(lower_reasoning_part(part))
        case TextPart():
            blocks.append(lower_assistant_text(part, diagnostics))
        case RefusalPart(text=text):
            blocks.append({"text": text})
        case ToolCallPart() | ToolResultPart() if part.provider_executed:
            native = lower_executed(part)
            if native is None:
                diagnostics.left_out("a tool run by another provider", "the API cannot express it")
            else:
                blocks.append(native)
        case ToolCallPart():
            blocks.append(lower_call(part, diagnostics))
        case ProviderPart():
            blocks.append(lower_part(part, target, diagnostics))
