"""Anthropic Messages: turns in which code, or a tool of the provider's, waits for results.

    assistant  server_tool_use srv_1 (code_execution), tool_use toolu_1 with `caller` srv_1
    user       tool_result toolu_1, and nothing else
    assistant  code_execution_tool_result srv_1, text

Sources, read November 2026: https://platform.claude.com/docs/en/agents-and-tools/tool-use/
programmatic-tool-calling#message-formatting-restrictions ("your response message must contain only
`tool_result` blocks", whose content "must be a string or `text` blocks"), and .../handle-tool-calls
(the same while a tool of the provider's has no result).
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from attrs import evolve

from llmcore.protocols.anthropic_messages.names import METADATA_KEY
from llmcore.protocols.lowering import omitted_text
from llmcore.protocols.media import noun_of
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty

# -- the turn under way


def turn_under_way(messages: Sequence[Message]) -> list[Message]:
    """Return the responses and results of the unfinished turn, the last one first.

    Empty if the last turn is complete, and the user has begun a new one.
    """
    end = len(messages)
    while end and messages[end - 1].role not in _OF_TURN:
        end -= 1
    begin = end
    while begin and messages[begin - 1].role in _OF_TURN:
        begin -= 1
    turn = [*reversed(messages[begin:end])]
    if turn and end < len(messages) and not (turn[0].role == "tool" or turn[0].tool_calls):
        return []
    return turn


_OF_TURN: Final = ("assistant", "tool")


def _executed(
    messages: Iterable[Message], kind: type[ToolCallPart] | type[ToolResultPart]
) -> set[str]:
    """Return the ids of the calls of the provider's tools, or of those that have a result."""
    return {
        part.id if isinstance(part, ToolCallPart) else part.tool_call_id
        for message in messages
        if message.role == "assistant"
        for part in message.content
        if isinstance(part, kind) and part.provider_executed
    }


# -- calls of the provider's tools that were cut off


def without_unfinished(messages: Sequence[Message], diagnostics: Diagnostics) -> list[Message]:
    """Return *messages* without calls of the provider's tools that were cut off before a result.

    The API refuses them, except in the unfinished turn, in which the tool may still run.
    """
    unfinished = _executed(messages, ToolCallPart)
    if unfinished:
        unfinished -= _executed(messages, ToolResultPart)
    if unfinished:
        unfinished -= _executed(turn_under_way(messages), ToolCallPart)
    if not unfinished:
        return list(messages)
    return [
        _without(unfinished, message, diagnostics.at(f"messages[{index}]"))
        for index, message in enumerate(messages)
    ]


def _without(ids: set[str], message: Message, diagnostics: Diagnostics) -> Message:
    kept: list[ContentPart] = []
    for index, part in enumerate(message.content):
        if isinstance(part, ToolCallPart) and part.provider_executed and part.id in ids:
            why = f"the call of {part.name} was cut off before its result"
            diagnostics.at(f"content[{index}]").dropped("hosted-tool-dropped", why)
        else:
            kept.append(part)
    same = len(kept) == len(message.content)
    return message if same else evolve(message, content=tuple(kept))


# -- results that code waits for are by themselves

_Held: TypeAlias = list[tuple[Diagnostics, tuple[ContentPart, ...]]]
"""The other parts beside such results, with the diagnostics of their messages."""


def with_results_alone(
    messages: Sequence[Message], paths: Sequence[str], diagnostics: Diagnostics
) -> list[Message]:
    """Return *messages* with nothing beside results that code, or a tool, waits for.

    Other parts of such a message move to the next message of the user that answers no such wait.
    Without one they are left out: the API would refuse the request, or end the turn.
    """
    held: _Held = []
    running: set[str] = set()
    by_code: set[str] = set()
    placed: list[Message] = []
    for message, path in zip(messages, paths, strict=True):
        if message.role == "assistant":
            running |= _executed([message], ToolCallPart)
            running -= _executed([message], ToolResultPart)
            by_code = {call.id for call in message.tool_calls if _is_by_code(call)}
        waits = bool(running or by_code)
        if message.role in ("user", "tool") and (waits or held):
            placed.append(_placed(message, by_code, held, diagnostics.at(path), waits=waits))
        else:
            placed.append(message)
    for place, _ in held:
        why = "the API takes results alone while code or a tool waits; send it in a later message"
        place.left_out("what is not a result", why)
    return placed


def _is_by_code(call: ToolCallPart) -> bool:
    """Return whether code that the provider runs made *call*, and not the model itself."""
    caller = object_or_empty(call.provider_metadata.get(METADATA_KEY, {}).get("caller"))
    return bool(caller) and caller.get("type") != "direct"


def _placed(
    message: Message, by_code: set[str], held: _Held, diagnostics: Diagnostics, *, waits: bool
) -> Message:
    """Return a message of the user without parts that must come later, which are added to *held*.

    Where nothing *waits* for its results, it has the parts that were held before.
    """
    results: list[ContentPart] = []
    others: list[ContentPart] = []
    for index, part in enumerate(message.content):
        if not isinstance(part, ToolResultPart):
            others.append(part)
        elif part.tool_call_id in by_code:
            results.append(_as_text(part, diagnostics.part(index, part)))
        else:
            results.append(part)
    if waits and results:
        held += [(diagnostics, tuple(others))] if others else []
        return evolve(message, content=tuple(results))
    for place, _ in held:
        why = "results that code or a tool waits for must be alone; it follows in a later message"
        place.changed("reordered-content", why)
    waited = [part for _, parts in held for part in parts]
    held.clear()
    return evolve(message, content=(*results, *waited, *others))


def _as_text(part: ToolResultPart, diagnostics: Diagnostics) -> ToolResultPart:
    """Return a result for code, in which a short text replaces what code cannot read."""
    if all(isinstance(item, TextPart) for item in part.parts):
        return part
    items = [
        item
        if isinstance(item, TextPart)
        else TextPart(omitted_text(noun_of(item), _TEXT_ALONE, diagnostics.at(f"content[{index}]")))
        for index, item in enumerate(part.parts)
    ]
    return evolve(part, content=tuple(items))


_TEXT_ALONE: Final = "code reads results that are text"
