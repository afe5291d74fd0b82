"""Gemini: what a later chunk needs to know.

`State` has three fields only, because each chunk restates the usage and a citation needs the
text it counts in: these two change with every chunk, by one small value. All else, `Answer`,
changes on transitions.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from attrs import field, frozen

from llmcore.protocols.answering import PersistentList, StreamContext, to_list
from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.schema.changed import changed
from llmcore.schema.events import File, LLMEvent, ReasoningEnd, ReasoningStart, TextStart
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata

Chunk: TypeAlias = dict[str, Any]
"""A decoded `GenerateContentResponse`, or a piece of one."""

Mode = Literal["", "text", "reasoning", "audio"]
"""The kind of the open segment; empty where none is open."""


@frozen
class Text:
    """A text that has been said. Its end waits for what it cites, which comes last."""

    id: str
    text: str
    own: JsonObject


@frozen(kw_only=True)
class OpenCall:
    """A function call whose arguments come in pieces."""

    id: str
    name: str
    own: JsonObject
    pieces: PersistentList | None = None


@frozen(kw_only=True)
class Answer:
    """What has been said so far, and of the response as a whole. The last word counts."""

    context: StreamContext
    started: bool = False
    response_id: str | None = None
    mode: Mode = ""
    segment: str = ""
    """The open segment's id."""
    segments: int = 0
    """How many were opened; files count too."""
    audio_type: str = ""
    """The MIME type of the sound that comes in pieces."""
    texts: tuple[Text, ...] = ()
    calls: int = 0
    """How many functions the caller is to run."""
    ids: frozenset[str] = frozenset()
    """Ids of all calls, the service's own included."""
    running: str | None = None
    """The service's own tool that has no result yet."""
    call: OpenCall | None = None
    reason: str | None = None
    blocked: str | None = None
    """Why the prompt was not answered at all."""
    groundings: tuple[Chunk, ...] = ()
    quotations: tuple[Chunk, ...] = ()
    sources: frozenset[str] = frozenset()
    """What was announced."""
    metadata: JsonObject = field(factory=dict)
    raw: JsonValue = None


class State(msgspec.Struct, frozen=True):
    """What a later chunk needs to know. A Struct, because there is a new one for each token."""

    answer: Answer
    usage: Chunk | None = None
    """The service's own usage object, as it was last said."""
    said: PersistentList | None = None
    """Pieces of the open text, or sound."""


def change(state: State, **fields: Any) -> State:
    """Return *state* with *fields* of its answer changed."""
    return State(changed(state.answer, **fields), state.usage, state.said)


def metadata_of(own: Mapping[str, Any]) -> ProviderMetadata:
    """Return what a part carried besides its content, as the neutral part carries it home."""
    return {METADATA_KEY: own} if own else {}


# -- segments


def open_segment(state: State, mode: Mode, events: list[LLMEvent]) -> State:
    """Return *state* inside a segment of *mode*, closing another one before."""
    if state.answer.mode == mode:
        return state
    state = close_segment(state, events)
    number = state.answer.segments
    id_ = f"{mode}_{number}"
    if mode == "reasoning":
        events.append(ReasoningStart(id_))
    elif mode == "text":
        events.append(TextStart(id_))
    return change(state, mode=mode, segment=id_, segments=number + 1)


def close_segment(
    state: State, events: list[LLMEvent], own: Mapping[str, Any] | None = None
) -> State:
    """Return *state* outside any segment; *own* is what the closed one carries home."""
    answer, own = state.answer, own or {}
    match answer.mode:
        case "":
            return state
        case "reasoning":
            signature = own.get("thoughtSignature")
            events.append(
                ReasoningEnd(
                    answer.segment,
                    signature=signature if isinstance(signature, str) else None,
                    provider_metadata=metadata_of(own),
                )
            )
            return change(state, mode="")
        case "audio":
            data = b"".join(to_list(state.said))
            file = File(
                id=answer.segment,
                media_type=answer.audio_type,
                data=data,
                provider_metadata=metadata_of(own),
            )
            events.append(file)
            return State(changed(answer, mode=""), state.usage)
        case "text":
            said = Text(answer.segment, "".join(to_list(state.said)), own)
            return State(changed(answer, mode="", texts=(*answer.texts, said)), state.usage)
