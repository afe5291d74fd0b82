"""From `Message` to entries and back, without any loss.

What the parts of an entry cannot express (signatures, encrypted reasoning, citations, native data,
documents, the origin) is in `meta.llmcore`, so that `to_messages(to_entries(messages))` is
*messages*, and a stored conversation can continue on any provider:

- `message`: fields of the message besides its content; `role` if the contract has another
- `content`: the layout of `part_layout`
- `group`: [index, count] where one message became several entries, as one of several tool
  results does
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from attrs import evolve

from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import (
    ContentPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import JsonObject, JsonValue, parse_arguments
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage
from llmcore.sessions.contract.assembly import call_errors_meta, response_meta
from llmcore.sessions.contract.delta_fold import contract_usage
from llmcore.sessions.contract.entries import (
    PARTS_OF_ROLE,
    EntryPart,
    EntryRole,
    EntryToolCall,
    MessageEntry,
)
from llmcore.sessions.contract.errors import MalformedError
from llmcore.sessions.part_layout import CallNames, Layout, lay_out, restore
from llmcore.sessions.store import checked_entries

_KEY = "llmcore"
_ROLE_OF: dict[str, EntryRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


@with_call_hints()
def to_entries(
    messages: Iterable[Message],
    *,
    run_id: str,
    timestamp: str,
    after: Iterable[MessageEntry] = (),
    meta: JsonObject | None = None,
) -> tuple[MessageEntry, ...]:
    """Return *messages* as the next entries of a run; each gets *meta* besides its own.

    Give the entries that the run has already as *after*: a call id that they use is replaced
    in the new ones (providers number calls from the start in each response, and in a run they
    are unique), and results go to the latest call of their id. Raises MalformedError as
    `to_messages` does.
    """
    names = _names_after(after)
    return tuple(
        entry
        for message in messages
        for entry in _entries(message, run_id, timestamp, names, meta or {})
    )


def response_entries(
    response: LLMResponse, *, run_id: str, timestamp: str, after: Iterable[MessageEntry] = ()
) -> tuple[MessageEntry, ...]:
    """Return the response as the next entries of a run, with model, usage and finish reason."""
    usage = None if response.usage == Usage() else contract_usage(response.usage)
    request_id = response.request_id or response.id
    meta = response_meta(response.model, request_id, response.finish_reason.reason, usage)
    return to_entries(
        [response.message], run_id=run_id, timestamp=timestamp, after=after, meta=meta
    )


@with_call_hints()
def to_messages(entries: Iterable[MessageEntry]) -> tuple[Message, ...]:
    """Convert *entries* to messages; entries of other programs are read by their parts alone.

    Raises MalformedError for a `meta.llmcore` that does not fit its entry, InvalidRequestError for
    what is not an entry.
    """
    return tuple(map(_message, _groups(checked_entries(entries))))


# -- from messages


def _entries(
    message: Message, run_id: str, timestamp: str, names: CallNames, meta: JsonObject
) -> Iterator[MessageEntry]:
    pieces = _pieces(message)
    message_fields = _fields_besides_content(message, pieces[0].role)
    for index, piece in enumerate(pieces):
        laid_out = lay_out(piece.content, PARTS_OF_ROLE[piece.role], names)
        mark: dict[str, JsonValue] = {}
        if message_fields and not index:
            mark["message"] = message_fields
        if laid_out.layout is not None:
            mark["content"] = laid_out.layout
        if len(pieces) > 1:
            mark["group"] = [index, len(pieces)]
        broken = _broken_calls(piece.content, laid_out.parts)
        yield MessageEntry(
            run_id=run_id,
            role=piece.role,
            parts=laid_out.parts,
            timestamp=timestamp,
            meta={**meta, **call_errors_meta(broken), **({_KEY: mark} if mark else {})},
        )


def _broken_calls(
    content: Sequence[ContentPart], parts: Sequence[EntryPart]
) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each function call without an object of arguments, and what is wrong."""
    calls = [
        part for part in content if isinstance(part, ToolCallPart) and not part.provider_executed
    ]
    entries = [part for part in parts if isinstance(part, EntryToolCall)]
    for call, entry_call in zip(calls, entries, strict=False):  # other roles have no such entries
        if call.kind == "function" and not call.is_valid:
            yield entry_call.tool_call_id, parse_arguments(call.arguments_text)[1]


@frozen
class _Piece:
    """The content that becomes one entry."""

    role: EntryRole
    content: tuple[ContentPart, ...]


def _pieces(message: Message) -> tuple[_Piece, ...]:
    """Return a tool message's results each by itself; other messages are one piece."""
    if message.role != "tool":
        return (_Piece(_ROLE_OF[message.role], message.content),)
    pieces: list[_Piece] = []
    for are_results, parts in groupby(message.content, key=_is_result):
        if are_results:
            pieces.extend(_Piece("tool", (part,)) for part in parts)
        else:
            pieces.append(_Piece("user", tuple(parts)))
    return tuple(pieces) or (_Piece("user", ()),)


def _is_result(part: ContentPart) -> bool:
    return isinstance(part, ToolResultPart) and not part.provider_executed


def _fields_besides_content(message: Message, role: EntryRole) -> dict[str, JsonValue]:
    """Return the message's fields besides its content; its role if the entry's is another."""
    bare = cast("dict[str, JsonValue]", to_json(evolve(message, content=())))
    ignored = {"content"} | ({"role"} if message.role == role else set())
    return {name: value for name, value in bare.items() if name not in ignored}


def _names_after(after: Iterable[MessageEntry]) -> CallNames:
    """Return the ids in use after the entries *after*, by which new calls are named."""
    taken: set[str] = set()
    latest: dict[str, str] = {}

    def enter(native: str, unique: str) -> str:
        taken.add(unique)
        latest[native] = unique
        return unique

    def of_call(native: str) -> str:
        unique, number = native, 2
        while unique in taken:
            unique, number = f"{native}~{number}", number + 1
        return enter(native, unique)

    for entry in after:
        if entry.tool_calls:
            natives = _native_ids(entry)
            if len(natives) != len(entry.tool_calls):
                raise _misfit()
            for native, call in zip(natives, entry.tool_calls, strict=True):
                enter(native, call.tool_call_id)
    return CallNames(of_call, lambda native: latest.get(native, native))


def _native_ids(entry: MessageEntry) -> list[str]:
    """Return the ids that the provider gave the calls of *entry*."""
    calls = (part for part in _content(entry) if isinstance(part, ToolCallPart))
    return [call.id for call in calls if not call.provider_executed]


# -- to messages


def _groups(entries: Iterable[MessageEntry]) -> Iterator[Sequence[MessageEntry]]:
    """Group the entries that were one message; a run may be read from its middle."""
    group: list[MessageEntry] = []
    following: tuple[int, int] | None = None
    for entry in entries:
        index, count = _group_of(entry)
        if group and (index, count) != following:
            yield group
            group = []
        group.append(entry)
        following = (index + 1, count)
        if index + 1 >= count:
            yield group
            group = []
    if group:
        yield group


def _message(group: Sequence[MessageEntry]) -> Message:
    first = group[0]
    fields = _mark(first).get("message", {})
    if not isinstance(fields, Mapping):
        raise _misfit()
    role = "tool" if any(entry.role == "tool" for entry in group) else first.role
    content = tuple(part for entry in group for part in _content(entry))
    try:
        return evolve(from_json(Message, {"role": role, **fields, "content": []}), content=content)
    except InvalidRequestError as error:
        raise MalformedError(f"{_misfit().message} ({error.message})") from error


def _content(entry: MessageEntry) -> tuple[ContentPart, ...]:
    layout = _mark(entry).get("content")
    if layout is not None and not isinstance(layout, list):
        raise _misfit()
    parts = restore(entry.parts, cast("Layout", layout))
    if entry.role != "system":
        return parts
    return tuple(TextPart(part.text) if isinstance(part, ReasoningPart) else part for part in parts)


def _mark(entry: MessageEntry) -> Mapping[str, Any]:
    mark = entry.meta.get(_KEY, {})
    if not isinstance(mark, Mapping):
        raise _misfit()
    return mark


def _group_of(entry: MessageEntry) -> tuple[int, int]:
    """Return the entry's index in its message, and the message's number of entries."""
    group = _mark(entry).get("group", [0, 1])
    if not (isinstance(group, list) and len(group) == 2 and all(type(n) is int for n in group)):
        raise _misfit()
    return group[0], group[1]


def _misfit() -> MalformedError:
    return MalformedError("meta.llmcore is not as llmcore writes it: remove it, or restore it")
