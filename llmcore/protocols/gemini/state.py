"""Gemini: the state of a stream, and the segments it opens and closes.

`GeminiState` has three fields only, because each chunk restates the usage and a citation needs the
text it counts in: these two change with every chunk, by one small value. All else,
`GeminiInfo`, changes on transitions:

    mode           part                          events                        next mode
    ""             text                          TextStart, TextDelta          text
    ""             thought                       ReasoningStart, -Delta        reasoning
    ""             raw audio                     none                          audio
    any            the same kind, not signed     its delta (none for audio)    the same
    any            another kind, or signed       the end of the segment        as from ""

A `TextEnd` waits until the stream ends: only its last chunk states what the text cites. A call that
comes in pieces is open beside the mode; `calls.py` lists what ends it.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.protocols.response_parts import Events, StreamContext
from llmcore.schema.events import File, ReasoningEnd, ReasoningStart, TextStart
from llmcore.schema.json import JsonObject, JsonValue, NativeObject, ProviderMetadata
from llmcore.schema.persistent import PersistentList, to_list

Mode = Literal["", "text", "reasoning", "audio"]
"""The kind of the open segment; empty where none is open."""


class Text(msgspec.Struct, frozen=True):
    """A text segment that is complete but for its citations, which come last."""

    id: str
    text: str
    native: JsonObject
    """Native fields that are sent back with it."""


class OpenCall(msgspec.Struct, frozen=True, kw_only=True):
    """A function call whose arguments come in pieces."""

    id: str
    name: str
    native: JsonObject
    pieces: PersistentList | None = None


class GeminiInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The response so far, but for the open segment. Of a repeated field the last value counts."""

    context: StreamContext
    started: bool = False
    response_id: str | None = None
    mode: Mode = ""
    segment: str = ""
    """The open segment's id."""
    segments: int = 0
    """How many segments were opened; files count too."""
    audio_type: str = ""
    """The MIME type of the audio that comes in pieces."""
    texts: PersistentList | None = None
    """The complete texts."""
    calls: int = 0
    """How many function calls the caller has to run."""
    ids: Mapping[str, None] = {}
    """Ids of all calls, the service's own included."""
    running: str | None = None
    """The id of the service's own call that has no result yet."""
    call: OpenCall | None = None
    reason: str | None = None
    blocked: str | None = None
    """The reason why the prompt was blocked; a blocked prompt gets no response."""
    groundings: PersistentList | None = None
    quotations: PersistentList | None = None
    sources: Mapping[str, None] = {}
    """Keys of the sources for which a `Source` event was emitted."""
    metadata: JsonObject = {}
    raw: JsonValue = None


class GeminiState(msgspec.Struct, frozen=True):
    """The state of a stream. A Struct, because there is a new one for each token."""

    info: GeminiInfo
    usage: NativeObject | None = None
    """The latest `usageMetadata`."""
    pieces: PersistentList | None = None
    """Pieces of the open text, or audio."""


def change(state: GeminiState, **fields: Any) -> GeminiState:
    """Return *state* with *fields* of its `info` replaced."""
    return GeminiState(replace(state.info, **fields), state.usage, state.pieces)


def metadata_of(native: Mapping[str, Any]) -> ProviderMetadata:
    """Return the `provider_metadata` that holds the *native* fields of a part."""
    return {METADATA_KEY: native} if native else {}


# -- segments


def open_segment(
    state: GeminiState, mode: Mode, events: Events, native: Mapping[str, Any] | None = None
) -> GeminiState:
    """Return *state* inside a segment of *mode*, closing another one before.

    *native* are the fields beside the text of a segment that is one part.
    """
    if state.info.mode == mode:
        return state
    state = close_segment(state, events)
    number = state.info.segments
    id_ = f"{mode}_{number}"
    metadata = metadata_of(native or {})
    if mode == "reasoning":
        events.append(ReasoningStart(id_, provider_metadata=metadata))
    elif mode == "text":
        events.append(TextStart(id_, provider_metadata=metadata))
    return change(state, mode=mode, segment=id_, segments=number + 1)


def close_segment(
    state: GeminiState, events: Events, native: Mapping[str, Any] | None = None
) -> GeminiState:
    """Return *state* outside any segment; *native* fields are kept with the closed one."""
    info, native = state.info, native or {}
    match info.mode:
        case "":
            return state
        case "reasoning":
            signature = native.get("thoughtSignature")
            events.append(
                ReasoningEnd(
                    info.segment,
                    signature=signature if isinstance(signature, str) else None,
                    provider_metadata=metadata_of(native),
                )
            )
            return change(state, mode="")
        case "audio":
            data = b"".join(to_list(state.pieces))
            file = File(
                id=info.segment,
                media_type=info.audio_type,
                data=data,
                provider_metadata=metadata_of(native),
            )
            events.append(file)
            return GeminiState(replace(info, mode=""), state.usage)
        case "text":
            text = Text(info.segment, "".join(to_list(state.pieces)), native)
            return GeminiState(
                replace(info, mode="", texts=PersistentList(text, info.texts)), state.usage
            )
