"""OpenAI Chat Completions: the state of an answer that is being read.

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
State changes on these transitions and not on deltas. It is nested so that a change copies few
fields.
"""

from collections.abc import Mapping
from typing import Final, Literal

from attrs import field, frozen

from llmcore.protocols.answering import StreamContext
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.names import METADATA_KEY, merge_details, proof_in
from llmcore.protocols.openai_chat.snapshots import Arguments
from llmcore.protocols.persistent import PersistentList, to_list
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.events import LLMEvent, ReasoningEnd, ReasoningStart, TextEnd, TextStart
from llmcore.schema.json import JsonObject, JsonValue

MAX_PENDING: Final = 128
"""More calls without a name than this are an error."""

Mode = Literal["", "text", "refusal", "reasoning"]
"""The kind of the open segment; empty where none is open."""


@frozen(kw_only=True)
class ChatStreamContext(StreamContext):
    """The request's facts that reading its answer needs. Never changes."""

    dialect: ChatDialect
    constrained: bool = False
    """Whether the answer's text is a tool call in JSON."""
    audio_type: str = "audio/wav"
    """The MIME type of spoken answers."""


@frozen(kw_only=True)
class ChatCall:
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


@frozen(kw_only=True)
class Pending:
    """A tool call whose name has not come yet."""

    id: str | None = None
    index: int | None = None
    custom: bool = False
    pieces: PersistentList | None = None
    """Its arguments so far."""
    extra: JsonObject = field(factory=dict)


@frozen(kw_only=True)
class Calls:
    """The tool calls of the answer so far."""

    calls: Mapping[str, ChatCall] = field(factory=dict)
    """By their own ids, in the order they began."""
    by_wire_id: Mapping[str, ChatCall] = field(factory=dict)
    """The last call that had an id of the server's."""
    by_index: Mapping[int, ChatCall] = field(factory=dict)
    """The last call that had an index."""
    current: ChatCall | None = None
    """The call that had the last fragment."""
    pending: tuple[Pending, ...] = ()
    """At most `MAX_PENDING`, since they are searched."""
    freeform: PersistentList | None = None
    """Pieces of freeform inputs that are wrapped in JSON: (call id, text)."""
    extras: Mapping[str, JsonObject] = field(factory=dict)
    """The `extra_content` that must go back with a call, by its id."""
    arguments: Mapping[str, Arguments] = field(factory=dict)
    """How the arguments of a call come, by its id; absent before the first of them."""
    texts: Mapping[str, str] = field(factory=dict)
    """The whole input of a call, by its id, where a whole message repeated it."""
    executed: Mapping[str, None] = field(factory=dict)
    """Ids of the calls that the provider ran."""


@frozen(kw_only=True)
class ChatInfo:
    """Facts of the response as a whole, as the last chunk had them."""

    started: bool = False
    response_id: str | None = None
    reason: str | None = None
    final_usage_seen: bool = False
    """Whether the final usage came, which OpenAI sends only at the end of a whole answer."""
    done: bool = False
    """Whether the end sentinel came."""
    usage: JsonObject | None = None
    """The server's usage object: each field as the last chunk had it."""
    sources: Mapping[str, None] = field(factory=dict)
    """URLs for which a `Source` was emitted."""
    extra: JsonObject = field(factory=dict)
    """The `extra_content` that must go back with the message."""
    metadata: JsonObject = field(factory=dict)
    raw: JsonValue = None


@frozen(kw_only=True)
class ChatState:
    """The state of an answer that is being read."""

    context: ChatStreamContext
    mode: Mode = ""
    segment: str = ""
    """The open segment's id."""
    fast_field: str = ""
    """The delta's field that continues the open segment or call on the per-token path; or empty."""
    segments: int = 0
    """How many were opened; files are counted too."""
    texts: int = 0
    """How many of them were text."""
    text: str = ""
    """The whole text of the open text segment, where a whole message repeated it."""
    fields: Mapping[str, None] = field(factory=dict)
    """The fields that deltas had, which a whole message after them repeats."""
    refused: bool = False
    citations: PersistentList | None = None
    signature: PersistentList | None = None
    """Its pieces."""
    details: PersistentList | None = None
    """Pieces of `reasoning_details` of the open segment."""
    partial_tag: str = ""
    """Text that may be the beginning of a think tag."""
    buffered: PersistentList | None = None
    """Pieces of audio, and of text that stands for a tool call."""
    calls: Calls = Calls()
    info: ChatInfo = ChatInfo()


# -- segments


def open_segment(
    state: ChatState, mode: Mode, events: list[LLMEvent], fast_field: str = ""
) -> ChatState:
    """Return *state* inside a segment of *mode*, after closing another one.

    *fast_field* is the field of a delta whose text alone continues it.
    """
    if state.mode == mode:
        return state if state.fast_field == fast_field else changed(state, fast_field=fast_field)
    state = close_segment(state, events)
    id_ = f"{mode}_{state.segments}"
    if mode == "reasoning":
        events.append(ReasoningStart(id_))
    else:
        events.append(TextStart(id_, refusal=mode == "refusal"))
    texts = state.texts + (mode == "text")
    return changed(
        state,
        mode=mode,
        segment=id_,
        segments=state.segments + 1,
        texts=texts,
        fast_field=fast_field,
    )


def close_segment(state: ChatState, events: list[LLMEvent]) -> ChatState:
    """Return *state* outside any segment."""
    if not state.mode:
        return state
    if state.mode == "reasoning":
        details = merge_details(to_list(state.details), whole=state.info.raw is not None)
        metadata = {METADATA_KEY: {"reasoning_details": details}} if details else {}
        events.append(
            ReasoningEnd(
                state.segment,
                signature="".join(to_list(state.signature)) or proof_in(details, "signature"),
                encrypted=proof_in(details, "data"),
                provider_metadata=metadata,
            )
        )
        return changed(state, mode="", fast_field="", details=None, signature=None)
    events.append(TextEnd(state.segment, state.text, citations=tuple(to_list(state.citations))))
    return changed(state, mode="", fast_field="", text="", citations=None)
