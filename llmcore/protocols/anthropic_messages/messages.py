"""Anthropic Messages: lowering the conversation.

Sources, read November 2026:
https://platform.claude.com/docs/en/build-with-claude/working-with-messages,
https://platform.claude.com/docs/en/build-with-claude/thinking (what must come back unchanged),
https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback (what must not),
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.

User and assistant take turns; the results of a message's tool calls come first in the user's
next turn. Each message's blocks are in the order of its parts.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, cast

import msgspec
from attrs import evolve
from msgspec.structs import replace

from llmcore.protocols.anthropic_messages.names import (
    CALL_IDS,
    FALLBACK,
    METADATA_KEY,
    PROTOCOL_ID,
    RESULT_SUFFIX,
    Block,
    MessageParam,
    is_thinking,
)
from llmcore.protocols.anthropic_messages.parts import (
    MessagesTarget,
    lower_call,
    lower_executed,
    lower_part,
    lower_reasoning_part,
    lower_result,
    lower_text,
    marked,
)
from llmcore.protocols.anthropic_messages.turns import with_results_alone, without_unfinished
from llmcore.protocols.caching import cache_mark
from llmcore.protocols.claude import Citing, ClaudeRules, fix_trailing_assistant
from llmcore.protocols.history import HistoryPolicy, Refused, is_question, refused_file, repair
from llmcore.protocols.lowering import tagged_text
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
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest


class MessagesPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The body's `system` and `messages`."""

    system: list[Block]
    messages: list[MessageParam]


def target_of(
    request: LLMRequest, rules: ClaudeRules, keys: frozenset[str], citations: Citing
) -> MessagesTarget:
    """Return what the messages of *request* are lowered for."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        citations=True,
        call_ids=CALL_IDS,
        alternate=True,
        system_messages="keep" if rules.system_messages else "demote",
        empty_text="drop_blank",
        reasoning="any" if rules.unsigned_thinking else "signed",
        reasoning_may_end_turn=False,
        refused=_refused,
    )
    return MessagesTarget(rules=rules, policy=policy, keys=keys, citations=citations)


def _refused(part: ContentPart, own: bool) -> Refused:
    """Refuse files, and the provider's explanation of why it stopped the response."""
    if isinstance(part, RefusalPart) and "stop_details" in part.provider_metadata.get(
        METADATA_KEY, {}
    ):
        return "why a response was stopped", "it is not text of the model"
    return refused_file(part, own)


def lower_messages(
    request: LLMRequest,
    target: MessagesTarget,
    instructions: Sequence[str],
    diagnostics: Diagnostics,
) -> MessagesPrompt:
    """Return the body's `system` and `messages`; *instructions* of our own end the former."""
    if is_question(request.messages):  # there is nothing of what other conversations may hold
        asked = _lower_message(request.messages[0], {}, target, diagnostics.at("messages[0]"))
        system = _whole_system(request, (), (), instructions, diagnostics)
        return MessagesPrompt(system=system, messages=[{"role": "user", "content": asked.content}])
    spoken = [_with_origin(message, target) for message in request.messages]
    repaired = repair(without_unfinished(spoken, diagnostics), target.policy)
    repaired.report_to(diagnostics)
    spoken = with_results_alone(repaired.messages, repaired.paths, diagnostics)
    toolsets = dict(_toolsets(spoken))
    declined = _Declined()
    drafts: list[_Draft] = []
    for message, path in zip(spoken, repaired.paths, strict=True):
        here = diagnostics.at(path)
        kept = declined.removed_from(message, target, here)
        drafts.append(_lower_message(kept, toolsets, target, here))
    leading, messages = _place_system_messages(drafts)
    system = _whole_system(request, repaired.system, leading, instructions, diagnostics)
    if messages:
        fix_trailing_assistant(
            messages,
            target.rules,
            diagnostics.at(repaired.paths[-1]),
            is_thinking=is_thinking,
            text_type={"type": "text"},
        )
    return MessagesPrompt(system=system, messages=messages)


def _whole_system(
    request: LLMRequest,
    lifted: Sequence[TextPart],
    leading: Sequence[Block],
    instructions: Sequence[str],
    diagnostics: Diagnostics,
) -> list[Block]:
    """Return the request's own texts, those of its messages, and ours."""
    if not (request.system or lifted or leading or instructions):
        return []
    return [
        *_lower_system(request.system, diagnostics.at("system")),
        *_lower_system(lifted, diagnostics.at("messages")),
        *leading,
        *({"type": "text", "text": text} for text in instructions),
    ]


def _lower_system(parts: Iterable[TextPart], diagnostics: Diagnostics) -> list[Block]:
    return [
        lower_text(part, diagnostics.at(f"[{index}]"))
        for index, part in enumerate(parts)
        if part.text.strip()
    ]


class _Draft(msgspec.Struct, frozen=True):
    """A message under construction."""

    role: Literal["user", "assistant", "system"]
    content: list[Block]
    diagnostics: Diagnostics


def _lower_message(
    message: Message, toolsets: dict[str, str], target: MessagesTarget, diagnostics: Diagnostics
) -> _Draft:
    if message.name:
        diagnostics.at("name").unsupported("the API accepts no names")
    content: list[Block] = []
    after_results: list[Block] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        if message.role == "assistant":
            _lower_assistant_part(part, content, target, here)
        elif isinstance(part, ToolResultPart):
            toolset = toolsets.get(part.tool_call_id)
            content.append(lower_result(part, toolset, target, here, after_results))
        else:
            after_results.append(lower_part(part, target, here))
    content += after_results
    if message.role in ("system", "developer"):
        return _Draft("system", content, diagnostics)
    return _Draft("assistant" if message.role == "assistant" else "user", content, diagnostics)


def _toolsets(messages: Iterable[Message]) -> Iterable[tuple[str, str]]:
    """Yield the ids of calls of a toolset's member, with the toolset: results must name it."""
    for message in messages:
        for call in message.tool_calls:
            name = call.provider_metadata.get(METADATA_KEY, {}).get("toolset_name")
            if isinstance(name, str):
                yield call.id, name


# -- responses that a fallback model completed


def _fallbacks(message: Message, target: MessagesTarget) -> list[int]:
    """Return where one model declined and the next continued: the indexes of `fallback` blocks."""
    return [
        index
        for index, part in enumerate(message.content)
        if type(part) is ProviderPart
        and part.provider in target.keys
        and object_or_empty(part.data).get("type") == FALLBACK
    ]


def _with_origin(message: Message, target: MessagesTarget) -> Message:
    """Return *message* as made by the target's model if that was asked, and another completed it.

    What the other one thought then is sent back: the API knows both by the `fallback` blocks.
    """
    policy, origin = target.policy, message.origin
    if origin is None or not policy.same_api(origin) or policy.keeps_opaque(origin):
        return message
    for index in _fallbacks(message, target):
        block = object_or_empty(cast("ProviderPart", message.content[index]).data)
        declined = evolve(origin, model=str(object_or_empty(block.get("from")).get("model")))
        if policy.keeps_opaque(declined):
            return evolve(message, origin=declined)
    return message


class _Declined:
    """Leaves out what the API refuses of models that declined: before the last `fallback` block.

    Their thinking, their calls of the caller's tools (with the results), and calls of the
    provider's tools that were cut off before a result. Their text stays, and the block itself.
    """

    def __init__(self) -> None:
        self._calls: set[str] = set()

    def removed_from(
        self, message: Message, target: MessagesTarget, diagnostics: Diagnostics
    ) -> Message:
        """Return the next message of the conversation without what was declined."""
        if message.role == "assistant":
            removed = self._declined_in(message, target)
        else:
            removed = {
                index
                for index, part in enumerate(message.content)
                if self._calls
                and isinstance(part, ToolResultPart)
                and part.tool_call_id in self._calls
            }
        for index in sorted(removed):
            what = "a part of a response that its model declined to complete"
            here = diagnostics.part(index, message.content[index])
            here.left_out(what, "the API refuses it")
        kept = [part for index, part in enumerate(message.content) if index not in removed]
        return evolve(message, content=tuple(kept)) if removed else message

    def _declined_in(self, message: Message, target: MessagesTarget) -> set[int]:
        """Return the indexes of the parts to leave out; remembers the caller's calls in them."""
        fallbacks = _fallbacks(message, target)
        if not fallbacks:
            return set()
        removed: set[int] = set()
        before = message.content[: fallbacks[-1]]
        answered = {part.tool_call_id for part in before if isinstance(part, ToolResultPart)}
        for index, part in enumerate(before):
            if isinstance(part, ReasoningPart):
                removed.add(index)
            elif isinstance(part, ToolCallPart) and part.id not in answered:
                removed.add(index)
                self._calls.add(part.id)
        return removed


# -- the assistant's parts


def _lower_assistant_part(
    part: ContentPart, content: list[Block], target: MessagesTarget, diagnostics: Diagnostics
) -> None:
    """Append the block of *part* to *content*, or report why it has none."""
    match part:
        case ReasoningPart():
            content.append(lower_reasoning_part(part))
            _move_mark(part, content, diagnostics)
        case TextPart():
            content.append(lower_text(part, diagnostics))
        case RefusalPart(text=text):
            content.append(marked({"type": "text", "text": text}, part))
        case ToolCallPart() | ToolResultPart() if part.provider_executed:
            native = lower_executed(part)
            if native is None:
                diagnostics.left_out("a tool run by another provider", "the API cannot express it")
            else:
                content.append(native)
        case ToolCallPart():
            content.append(lower_call(part, diagnostics))
        case ProviderPart():
            content.append(lower_part(part, target, diagnostics))


def _move_mark(part: ReasoningPart, content: list[Block], diagnostics: Diagnostics) -> None:
    """Put a cache mark that thinking cannot hold on the block before it."""
    ttl = cache_ttl(part)
    if ttl is None:
        return
    before = content[-2] if len(content) > 1 else {}
    if before.get("type") in ("text", "tool_use"):
        before.setdefault("cache_control", cache_mark(ttl))
        diagnostics.changed(
            "cache-breakpoint-moved",
            "thinking cannot have a cache mark; it was moved to the block before",
        )
        return
    diagnostics.dropped("cache-breakpoint-dropped", "thinking cannot have a cache mark")


# -- system messages


def _place_system_messages(drafts: list[_Draft]) -> tuple[list[Block], list[MessageParam]]:
    """Return the system texts that come first, and the rest as messages in a legal order.

    A system message may come after a user's turn (or a response that ends with the result of a
    tool of the provider's), and before a response or at the end. Elsewhere its text becomes the
    user's, in a tag.
    """
    drafts = [draft for draft in drafts if draft.content]
    leading: list[Block] = []
    while drafts and drafts[0].role == "system":
        leading += _texts(drafts[0])
        drafts = drafts[1:]
    turns = _joined(drafts)
    placed: list[_Draft] = []
    for index, draft in enumerate(turns):
        next_role = turns[index + 1].role if index + 1 < len(turns) else "assistant"
        legal = draft.role != "system" or (
            next_role == "assistant" and _takes_system_after(turns[index - 1])
        )
        placed.append(draft if legal else _as_user_text(draft))
    filled = [draft for draft in placed if draft.content]
    return leading, [
        {"role": message.role, "content": message.content} for message in _joined(filled)
    ]


def _joined(drafts: list[_Draft]) -> list[_Draft]:
    """Return *drafts* with neighbours of one role as one."""
    joined: list[_Draft] = []
    for draft in drafts:
        if joined and joined[-1].role == draft.role:
            joined[-1] = replace(joined[-1], content=[*joined[-1].content, *draft.content])
        else:
            joined.append(draft)
    return joined


def _takes_system_after(turn: _Draft) -> bool:
    """Return whether a system message may come after *turn*."""
    return turn.role == "user" or str(turn.content[-1].get("type")).endswith(RESULT_SUFFIX)


def _as_user_text(draft: _Draft) -> _Draft:
    why = "the API accepts no system message here; it is sent as user text in a <system> tag"
    draft.diagnostics.changed("system-message-demoted", why)
    texts = _texts(draft)
    tagged = [{**block, "text": tagged_text("system", block["text"])} for block in texts]
    return _Draft("user", tagged, draft.diagnostics)


def _texts(draft: _Draft) -> list[Block]:
    texts = [
        block
        for block in draft.content
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    if len(texts) < len(draft.content):
        why = "only the text of a system message can be moved"
        draft.diagnostics.dropped("unsupported-content", why)
    return texts
