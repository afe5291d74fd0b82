"""OpenAI Chat Completions: the state of a response that is being read.

At most one segment of text, refusal or thinking is open (`State.mode`); calls are open beside it,
until the end. What a delta's fields do:

    field                      no segment         same segment   another segment     a call
    content                    open text          emit           close, open text    open text
    refusal                    open refusal       emit           close, open         open refusal
    reasoning_content, ...     open thinking      emit           close, open         open thinking
    tool_calls, a new one      begin              -              close, begin        begin
    tool_calls, a known one    emit               -              emit                emit
    finish_reason              keep: no later chunk takes the per-token path

At the end (`halt`) the open segment closes, then all calls end in the order they began.
State changes on these transitions and not on deltas. It is nested: a change copies few fields.
"""

import json as standard_json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.names import (
    METADATA_KEY,
    THINKING_PARTS,
    are_thinking_blocks,
    merge_details,
    proof_in,
)
from llmcore.protocols.response_parts import Events, StreamContext
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.events import ReasoningDelta, ReasoningEnd, ReasoningStart, TextEnd, TextStart
from llmcore.schema.json import JsonObject, JsonValue, NativeObject, json_or_text
from llmcore.schema.persistent import PersistentList, to_list

MAX_PENDING: Final = 128
"""More calls without a whole name than this are an error."""

Mode = Literal["", "text", "refusal", "reasoning"]
"""The kind of the open segment; empty where none is open."""


class ChatStreamContext(StreamContext, frozen=True, kw_only=True):
    """The request's facts that reading its response needs. Never changes."""

    dialect: ChatDialect
    constrained: bool = False
    """Whether the response's text is a tool call in JSON."""
    tools: frozenset[str] = frozenset()
    """The names of the request's functions and freeform tools."""
    several_choices: bool = False
    """Whether several choices were asked for."""
    think_tag: str = ""
    """The name of the tag around the model's thinking in the text, if it writes one."""
    audio_type: str = "audio/wav"
    """The MIME type of spoken responses."""


Form = Literal["open", "deltas", "snapshots", "rest"]
"""The form of fragments; `rest` is new text after snapshots."""
Held = Literal["held"]
"""The form of a fragment that is held back until the next one, or the end, decides."""


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a call so far, until it is certain how the server sends them."""

    form: Form | Held = "open"
    """`held` is a whole object after deltas."""
    first: str = ""
    """The first fragment: how both readings begin."""
    text: str = ""
    """All fragments joined that are not emitted; of snapshots, the last one."""
    last: str = ""
    """The last fragment."""


class Thoughts(msgspec.Struct, frozen=True, kw_only=True):
    """The thinking of a segment so far, until it is certain how the server sends it."""

    form: Form | Held = "open"
    """`held` is a fragment that may be new text or a snapshot."""
    first: str = ""
    """The first fragment, which was emitted."""
    text: str = ""
    """The last fragment, while that is open; of snapshots, the last one."""


class ChatCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call under way."""

    id: str
    """Unique in this response: the server's id, or a generated one."""
    wire_id: str | None
    """The id as the server sent it."""
    index: int | None
    name: str
    kind: ToolCallKind = "function"
    whole: str | None = None
    """The arguments, if the first fragment had a whole object; no others may follow."""
    freeform: bool = False


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call whose name has not come yet, or may be incomplete."""

    id: str | None = None
    name: str = ""
    """The beginning of its name; empty before it came."""
    index: int | None = None
    custom: bool = False
    pieces: PersistentList | None = None
    """Its arguments so far."""
    extra: JsonObject = {}


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """The tool calls of the response so far."""

    calls: Mapping[str, ChatCall] = {}
    """Calls by their own ids, in the order in which they began."""
    by_wire_id: Mapping[str | None, ChatCall] = {}
    """The last call that had an id of the server's, or none."""
    by_index: Mapping[int | None, ChatCall] = {}
    """The last call that had an index, or none."""
    current: ChatCall | None = None
    """The call that had the last fragment."""
    pending: tuple[Pending, ...] = ()
    """Calls without a whole name: at most `MAX_PENDING`, since they are searched."""
    freeform: PersistentList | None = None
    """Pieces of freeform inputs that are wrapped in JSON: (call id, text)."""
    extras: Mapping[str, JsonObject] = {}
    """The fields that must go back with a call, by its id."""
    arguments: Mapping[str, Arguments] = {}
    """How the arguments of a call come, by its id; absent before the first of them."""
    texts: Mapping[str, str] = {}
    """The whole input of a call, by its id, where a whole message repeated it."""
    executed: Mapping[str, None] = {}
    """Ids of the calls that the provider ran."""
    cleaned: Mapping[str, None] = {}
    """Names of tools that came with marks around them."""

    @property
    def unnumbered(self) -> ChatCall | None:
        """The current call; if it has an index, the one that began without one, if any.

        Servers in Go leave out the number 0: https://github.com/looplj/axonhub/pull/251.
        """
        numbered = self.current is not None and self.current.index is not None
        return self.by_index.get(None, self.current) if numbered else self.current


class SeveralMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of a response that has several, because the provider ran tools itself."""

    index: int | None = None
    """The open message's number, where the server states it."""
    role: str = ""
    """The open message's role."""
    call_id: str | None = None
    """The call whose result the open message is."""
    result: PersistentList | None = None
    """Pieces of that result."""
    held: Mapping[int, NativeObject] = {}
    """Fragments of calls that may still get a result, by their numbers."""
    numbers: Mapping[str, PersistentList] = {}
    """The numbers of the fragments that name a call, by its id."""
    fragments: int = 0
    """How many fragments of calls have come."""


Shape: TypeAlias = tuple[tuple[str, ...], ...]
"""The fields of chunks so far, in their order, those of their choices, and those of deltas."""
MAX_FIELDS: Final = 32
"""Chunks, choices and deltas with more fields than this are not read on the per-token path."""


def with_fields(shape: Shape, *parts: NativeObject) -> Shape:
    """Return *shape* with the fields of a chunk, its choice and the delta, if there are few."""
    if all(all(map(names.__contains__, part)) for names, part in zip(shape, parts, strict=True)):
        return shape
    return tuple(
        names if len(names) > MAX_FIELDS else (*names, *(n for n in part if n not in names))
        for names, part in zip(shape, parts, strict=True)
    )


class ChatInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of the response as a whole, as the last chunk had them."""

    started: bool = False
    response_id: str | None = None
    reason: str | None = None
    final_usage_seen: bool = False
    """Whether the final usage came, which OpenAI sends only at the end of a whole response."""
    done: bool = False
    """Whether the end sentinel came."""
    usage: JsonObject | None = None
    """The server's usage object: each field as the last chunk had it."""
    sources: Mapping[str, None] = {}
    """URLs for which a `Source` was emitted."""
    extra: JsonObject = {}
    """The fields that must go back with the message."""
    encrypted: PersistentList | None = None
    """Pieces of `encrypted_content`, which is one of them."""
    metadata: JsonObject = {}
    shape: Shape = ((), (), ())
    raw: JsonValue = None


class ChatState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a response that is being read."""

    context: ChatStreamContext
    choice: int | None = None
    """The number of the choice that is the response, among several: the first one that came."""
    mode: Mode = ""
    segment: str = ""
    """The open segment's id."""
    fast_field: str = ""
    """The delta's field that continues the open segment or call on the per-token path; or empty."""
    segments: int = 0
    """How many segments were opened; files are counted too."""
    texts: int = 0
    """How many of the segments were text."""
    text: str = ""
    """The whole text of the open text segment, where a whole message repeated it."""
    fields: Mapping[str, None] = {}
    """The fields that deltas had, which a whole message after them repeats."""
    citations: PersistentList | None = None
    lost_places: bool = False
    """Whether positions of citations were left out."""
    signature: PersistentList | None = None
    """The pieces of the signature of the open segment."""
    details: PersistentList | None = None
    """Pieces of `reasoning_details` of the open segment."""
    thoughts: Thoughts = Thoughts()
    """How the thinking beside them comes."""
    plain_field: str = ""
    """The field of the thinking of the open segment that came without them."""
    tag: str = ""
    """The name of the tag in which the open thinking is, if it came as text."""
    partial_tag: str = ""
    """Text that may be the beginning of a think tag."""
    buffered: PersistentList | None = None
    """Pieces of audio, and of text that represents a tool call."""
    calls: Calls = Calls()
    messages: SeveralMessages | None = None
    """The messages of the response, if it has several."""
    info: ChatInfo = ChatInfo()


# -- segments


def open_segment(state: ChatState, mode: Mode, events: Events, fast_field: str = "") -> ChatState:
    """Return *state* inside a segment of *mode*, after closing another one.

    *fast_field* is the field of a delta whose text alone continues it.
    """
    if state.mode == mode:
        return state if state.fast_field == fast_field else replace(state, fast_field=fast_field)
    state = close_segment(state, events)
    id_ = f"{mode}_{state.segments}"
    if mode == "reasoning":
        events.append(ReasoningStart(id_))
    else:
        events.append(TextStart(id_, refusal=mode == "refusal"))
    texts = state.texts + (mode == "text")
    return replace(
        state,
        mode=mode,
        segment=id_,
        segments=state.segments + 1,
        texts=texts,
        fast_field=fast_field,
    )


def close_segment(state: ChatState, events: Events) -> ChatState:
    """Return *state* outside any segment."""
    if not state.mode:
        return state
    if state.mode == "reasoning":
        held = state.thoughts.text if state.thoughts.form == "held" else ""
        if held:
            events.append(ReasoningDelta(state.segment, held))
        details = merge_details(to_list(state.details), whole=state.info.raw is not None)
        if are_thinking_blocks(details):
            state = _with_blocks(state, details)
            metadata = {}
        else:
            fields = _replay_fields(state, details)
            metadata = {METADATA_KEY: fields} if fields else {}
        events.append(
            ReasoningEnd(
                state.segment,
                signature="".join(to_list(state.signature)) or proof_in(details, "signature"),
                encrypted=proof_in(details, "data"),
                provider_metadata=metadata,
            )
        )
        state = replace(state, details=None, signature=None, thoughts=Thoughts())
        state = replace(state, plain_field="", tag="")
        return replace(state, mode="", fast_field="")
    if state.texts > 1:
        state = _without_places(state)
    events.append(TextEnd(state.segment, state.text, citations=tuple(to_list(state.citations))))
    return replace(state, mode="", fast_field="", text="", citations=None)


def _without_places(state: ChatState) -> ChatState:
    """Return *state* without the positions of its citations, which count in earlier texts, too."""
    cited = to_list(state.citations)
    if all(one.start_index is None and one.end_index is None for one in cited):
        return state
    citations: PersistentList | None = None
    for one in cited:
        citations = PersistentList(changed(one, start_index=None, end_index=None), citations)
    return replace(state, citations=citations, lost_places=True)


def close_last_segment(state: ChatState, events: Events) -> ChatState:
    """Return *state* outside any segment, after the last one.

    Citations that came after the end of their text, as where a call began in between, are on a text
    without words, and so without positions.
    """
    state = close_segment(state, events)
    if state.citations is None:
        return state
    state = _without_places(open_segment(state, "text", events))
    events.append(TextEnd(state.segment, citations=tuple(to_list(state.citations))))
    return replace(state, mode="", citations=None)


def _replay_fields(state: ChatState, details: list[JsonValue]) -> JsonObject:
    """Return what replaying the open thinking needs: its blocks, and the field of other thinking.

    The usual field is stated only beside blocks.
    """
    dialect, field = state.context.dialect, state.plain_field
    if field in THINKING_PARTS:
        return {"reasoning_field": field} if dialect.reasoning_replay == "own" else {}
    usual = field == dialect.reasoning_field and not details
    stated = bool(field) and not usual and dialect.reasoning_replay == "own"
    fields: JsonObject = {"reasoning_field": field} if stated else {}
    return {**fields, "reasoning_details": details} if details else fields


def _with_blocks(state: ChatState, blocks: list[JsonValue]) -> ChatState:
    """Return *state* with *blocks* among the fields that must go back with the message."""
    extra = state.info.extra
    earlier = extra.get("thinking_blocks")
    joined = [*(earlier if isinstance(earlier, list) else ()), *blocks]
    return replace(state, info=replace(state.info, extra={**extra, "thinking_blocks": joined}))


# -- arguments that a server repeats from their beginning in every fragment
#
# By the API a fragment holds what is new; servers such as Baidu Qianfan send all so far again:
#
#     {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}
#     {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":\"Oslo\"}"}}]}
#
# The fragments decide, not the name of the server: the same server has both forms. Fragments that
# each begin with the one before are snapshots once they cannot be deltas, because joined they do
# not begin a JSON object. Where both readings are possible, as of an object that holds one with the
# same beginning, they are held back until a later fragment decides, or the end: arguments that
# joined are an object are deltas.
#
# Other servers repeat the arguments once, after their deltas. A delta that is a whole object cannot
# be the last one, since the object around it would stay open; it is held back until another comes.
# Sources, read November 2026: https://github.com/NousResearch/hermes-agent/issues/35592,
# https://github.com/langchain-ai/langgraphjs/issues/2570,
# https://github.com/vercel/ai/issues/12052, https://github.com/elizaOS/eliza/pull/16973,
# https://github.com/anomalyco/opencode/pull/17339.

_UNDECIDED: Final = 1000
"""After so many characters that may be either, fragments are deltas: each is parsed with all."""


DELTAS: Final = Arguments(form="deltas")


def add_fragment(so_far: Arguments, text: str) -> tuple[Arguments, str]:
    """Return the arguments with another fragment, and what can be emitted of them now."""
    match so_far.form:
        case "deltas" if is_object(text):
            return replace(so_far, form="held", text=text, last=text), ""
        case "held" if text == so_far.last:
            return replace(so_far, text=so_far.text + text), ""
        case "held":
            return DELTAS, so_far.text + text
        case "deltas" | "rest":
            return so_far, text
        case "snapshots":
            return _add_snapshot(so_far, text)
        case "open":
            return _add_undecided(so_far, text)


_Fragments = TypeVar("_Fragments", Arguments, Thoughts)


def _add_snapshot(so_far: _Fragments, text: str) -> tuple[_Fragments, str]:
    if text.startswith(so_far.text):
        return replace(so_far, text=text), text[len(so_far.text) :]
    return replace(so_far, form="rest", text=""), text


def _add_undecided(so_far: Arguments, text: str) -> tuple[Arguments, str]:
    if not so_far.first:
        if not text.strip():  # white space before the arguments shows nothing
            return so_far, text
        begins = text.lstrip().startswith("{")
        return (replace(so_far, first=text, text=text, last=text) if begins else DELTAS), text
    if not text.startswith(so_far.last):
        return DELTAS, so_far.text[len(so_far.first) :] + text
    if may_continue(so_far.text, so_far.last):
        if len(so_far.text) > _UNDECIDED:
            return DELTAS, so_far.text[len(so_far.first) :] + text
        return replace(so_far, text=so_far.text + text, last=text), ""
    snapshots = replace(so_far, form="snapshots", text=text)
    return snapshots, text[len(so_far.first) :]


def repeats(so_far: Arguments, text: str) -> bool:
    """Return whether *text* is the next snapshot of arguments that are not complete."""
    known = so_far.last if so_far.form == "open" else so_far.text
    return bool(known) and text.startswith(known) and not is_object(known)


def end_arguments(so_far: Arguments) -> tuple[str, bool]:
    """Return what was held back and is new, and whether the arguments were repeated."""
    if so_far.form != "open" or so_far.text == so_far.first:
        return "", so_far.form in ("snapshots", "rest", "held")
    if not is_object(so_far.text) and is_object(so_far.last):
        return so_far.last[len(so_far.first) :], True
    return so_far.text[len(so_far.first) :], False


def may_continue(text: str, more: str) -> bool:
    """Return whether *text* and *more*, the beginning of an object, can begin one JSON object."""
    joined = (text + more).rstrip()
    try:
        standard_json.loads(joined, strict=False)
    except standard_json.JSONDecodeError as error:
        return error.pos >= len(joined) or error.msg.startswith("Unterminated string")
    except RecursionError:
        return False
    return True


def is_object(text: str) -> bool:
    """Return whether *text* is a whole JSON object by itself."""
    return text.lstrip().startswith("{") and isinstance(json_or_text(text), dict)


# -- thinking that a server repeats from its beginning
#
# By MiniMax's documents the text of `reasoning_details` is all of the thinking so far, and its
# server has sent both that and pieces:
#
#     {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "The user"}]}
#     {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "The user asks"}]}
#
# Fragments are snapshots if the second and the third begin with the one before, or the second
# with a longer one; a second that does so with a short one is held back for the third. Sources,
# read November 2026: https://platform.minimax.io/docs/api-reference/text-openai-api,
# https://github.com/MiniMax-AI/MiniMax-M2/issues/95.

_TELLING: Final = 16
"""A fragment of so many characters is not the beginning of the next one by chance."""


def add_thought(so_far: Thoughts, text: str) -> tuple[Thoughts, str]:
    """Return the thinking with another fragment, and what can be emitted of it now."""
    repeats = text.startswith(so_far.text) and len(text) > len(so_far.text)
    match so_far.form:
        case "snapshots":
            return _add_snapshot(so_far, text)
        case "open" if not so_far.first:
            return replace(so_far, first=text, text=text), text
        case "open" if repeats and len(so_far.text) < _TELLING:
            return replace(so_far, form="held", text=text), ""
        case "open" | "held" if repeats:
            return replace(so_far, form="snapshots", text=text), text[len(so_far.first) :]
        case "held":
            return replace(so_far, form="deltas", first="", text=""), so_far.text + text
        case "open":
            return replace(so_far, form="deltas", first="", text=""), text
        case _:
            return so_far, text
