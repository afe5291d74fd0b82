"""OpenAI Chat Completions: what a later chunk needs to know.

State changes on transitions only: where a segment or a call begins, where the server says
something of the response as a whole. It is nested so that such a change copies few fields.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

from llmcore.protocols.answering import PersistentList, StreamContext, to_list
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.names import METADATA_KEY, merge_details, proof_in
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation, ToolCallKind
from llmcore.schema.events import LLMEvent, ReasoningEnd, ReasoningStart, TextEnd, TextStart
from llmcore.schema.json import JsonObject, JsonValue

Mode = Literal["", "text", "refusal", "reasoning"]
"""The kind of the open segment; empty where none is open."""


@frozen(kw_only=True)
class Context(StreamContext):
    """What the request says about its answer. Never changes."""

    dialect: ChatDialect
    constrained: bool = False
    """Whether the answer's text is a tool call in JSON."""
    audio_type: str = "audio/wav"
    """The format that spoken answers come in."""


@frozen(kw_only=True)
class Call:
    """A tool call under way."""

    id: str
    """Unique in this response: the server's id, or ours where it sent none of use."""
    wire_id: str | None
    """The id as the server sent it."""
    index: int | None
    name: str
    kind: ToolCallKind = "function"
    whole: str | None = None
    """The arguments, where the first fragment had a whole object; nothing may follow them."""
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

    calls: tuple[Call, ...] = ()
    current: Call | None = None
    """The call that had the last fragment."""
    pending: tuple[Pending, ...] = ()
    freeform: PersistentList | None = None
    """Pieces of freeform inputs that are wrapped in JSON: (call id, text)."""
    extras: Mapping[str, JsonObject] = field(factory=dict)
    """What must go back with a call, by its id."""
    texts: Mapping[str, str] = field(factory=dict)
    """The whole input of a call, by its id, where a whole message repeated it."""
    executed: frozenset[str] = frozenset()
    """Ids of the tools the provider ran by itself."""


@frozen(kw_only=True)
class Envelope:
    """What chunks say of the response as a whole. The last word counts."""

    started: bool = False
    response_id: str | None = None
    reason: str | None = None
    accounted: bool = False
    """Whether the final usage came, which OpenAI sends only at the end of a whole answer."""
    done: bool = False
    """Whether the end sentinel came."""
    usage: JsonObject | None = None
    """The server's own usage object, the fields of later ones laid over those before."""
    sources: frozenset[str] = frozenset()
    """Addresses that were announced."""
    extra: JsonObject = field(factory=dict)
    """What must go back with the message."""
    metadata: JsonObject = field(factory=dict)
    raw: JsonValue = None


@frozen(kw_only=True)
class State:
    """What a later chunk needs to know."""

    context: Context
    mode: Mode = ""
    segment: str = ""
    """The open segment's id."""
    hot: str = ""
    """The delta's field that continues what is open, for the per-token path; or empty."""
    segments: int = 0
    """How many were opened; files count too."""
    texts: int = 0
    """How many of them were text."""
    text: str = ""
    """The whole text of the open text segment, where a whole message repeated it."""
    fields: frozenset[str] = frozenset()
    """The fields that deltas had, which a whole message after them repeats."""
    refused: bool = False
    citations: tuple[Citation, ...] = ()
    signature: str = ""
    details: PersistentList | None = None
    """Pieces of `reasoning_details` of the open segment."""
    held: str = ""
    """The beginning of what may become a think tag."""
    gathered: PersistentList | None = None
    """Pieces of spoken sound, and of text that stands for a tool call."""
    calls: Calls = Calls()
    envelope: Envelope = Envelope()


# -- segments


def open_segment(state: State, mode: Mode, events: list[LLMEvent], hot: str = "") -> State:
    """Return *state* inside a segment of *mode*, closing another one before.

    *hot* is the field whose text alone continues it.
    """
    if state.mode == mode:
        return state if state.hot == hot else changed(state, hot=hot)
    state = close_segment(state, events)
    id_ = f"{mode}_{state.segments}"
    if mode == "reasoning":
        events.append(ReasoningStart(id_))
    else:
        events.append(TextStart(id_, refusal=mode == "refusal"))
    texts = state.texts + (mode == "text")
    return changed(state, mode=mode, segment=id_, segments=state.segments + 1, texts=texts, hot=hot)


def close_segment(state: State, events: list[LLMEvent]) -> State:
    """Return *state* outside any segment."""
    if not state.mode:
        return state
    if state.mode == "reasoning":
        details = merge_details(to_list(state.details), whole=state.envelope.raw is not None)
        metadata = {METADATA_KEY: {"reasoning_details": details}} if details else {}
        events.append(
            ReasoningEnd(
                state.segment,
                signature=state.signature or proof_in(details, "signature"),
                encrypted=proof_in(details, "data"),
                provider_metadata=metadata,
            )
        )
        return changed(state, mode="", hot="", details=None, signature="")
    events.append(TextEnd(state.segment, state.text, citations=state.citations))
    return changed(state, mode="", hot="", text="", citations=())
