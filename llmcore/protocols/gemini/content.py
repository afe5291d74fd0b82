"""Gemini: reading text, thoughts, pictures and sound.

Sources, read November 2026: https://ai.google.dev/api/caching#Part and
https://ai.google.dev/gemini-api/docs/thought-signatures, which says that a part with a signature
is never joined with one that has none, nor with another: such a part is a segment of its own.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.answering import PersistentList
from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.protocols.gemini.state import (
    Chunk,
    State,
    change,
    close_segment,
    metadata_of,
    open_segment,
)
from llmcore.protocols.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.content import TokenLogprob
from llmcore.schema.events import File, LLMEvent, ProviderEvent, ReasoningDelta, TextDelta

# -- text and thoughts


def on_text(
    state: State, part: Chunk, logprobs: tuple[TokenLogprob, ...], events: list[LLMEvent]
) -> State:
    """Take more text, or more of a thought."""
    own = without(part, "text", "thought")
    text = str_or_none(part.get("text")) or ""
    if not own and not text:
        return state
    if own:
        state = close_segment(state, events)
    thinking = part.get("thought") is True
    state = open_segment(state, "reasoning" if thinking else "text", events)
    if text and thinking:
        events.append(ReasoningDelta(state.answer.segment, text))
    elif text:
        events.append(TextDelta(state.answer.segment, text, logprobs))
        state = State(state.answer, state.usage, PersistentList(text, state.said))
    return close_segment(state, events, own) if own else state


def without(mapping: Mapping[str, Any], *names: str) -> Chunk:
    """Return the fields of *mapping* but for *names*, and but for those that say nothing."""
    return {name: item for name, item in mapping.items() if name not in names and item is not None}


# -- media


def on_media(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take a file that came inline. Raw sound comes in pieces, which are joined."""
    blob = object_or_empty(part.get("inlineData"))
    media_type, data = str_or_none(blob.get("mimeType")), _decoded(blob.get("data"))
    own = without(part, "inlineData")
    more = without(blob, "mimeType", "data")
    own |= {"inlineData": more} if more else {}
    if data is None:
        return on_unknown(state, part, events)
    if not own and media_type is not None and media_type.lower().startswith(_RAW_SOUND):
        return _on_sound(state, media_type, data, events)
    return _on_file(state, File(id="", media_type=media_type, data=data), own, events)


_RAW_SOUND: Final = ("audio/l16", "audio/pcm")
"""Samples without a header: pieces in a row are one sound."""


def _on_sound(state: State, media_type: str, data: bytes, events: list[LLMEvent]) -> State:
    if state.answer.mode == "audio" and state.answer.audio_type != media_type:
        state = close_segment(state, events)
    state = change(open_segment(state, "audio", events), audio_type=media_type)
    return State(state.answer, state.usage, PersistentList(data, state.said))


def on_file_uri(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take a file that stands elsewhere."""
    data = object_or_empty(part.get("fileData"))
    uri = str_or_none(data.get("fileUri"))
    if uri is None:
        return on_unknown(state, part, events)
    own = without(part, "fileData")
    more = without(data, "mimeType", "fileUri")
    own |= {"fileData": more} if more else {}
    file = File(id="", media_type=str_or_none(data.get("mimeType")), url=uri)
    return _on_file(state, file, own, events)


def _on_file(state: State, file: File, own: Chunk, events: list[LLMEvent]) -> State:
    state = close_segment(state, events)
    number = state.answer.segments
    events.append(
        File(
            id=f"file_{number}",
            media_type=file.media_type,
            data=file.data,
            url=file.url,
            provider_metadata=metadata_of(own),
        )
    )
    return change(state, segments=number + 1)


def _decoded(data: Any) -> bytes | None:
    """Return the bytes of base64 text, either alphabet, padded or not; None if it is none."""
    if not isinstance(data, str):
        return None
    text = data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


# -- anything else


def on_unknown(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Keep a part of an unknown kind, so that it goes back as it came."""
    state = close_segment(state, events)
    provider = state.answer.context.provider or METADATA_KEY
    events.append(ProviderEvent(provider, part, replay=True))
    return state


# -- log probabilities


def read_logprobs(candidate: Chunk) -> tuple[TokenLogprob, ...]:
    """Return the log probabilities of a candidate's tokens, with the likeliest at each place."""
    result = object_or_empty(candidate.get("logprobsResult"))
    chosen, tops = objects(result.get("chosenCandidates")), objects(result.get("topCandidates"))
    found: list[TokenLogprob] = []
    for index, token in enumerate(chosen):
        top = objects(tops[index].get("candidates")) if index < len(tops) else []
        others = tuple(_logprob(other) for other in top if _has_logprob(other))
        if _has_logprob(token):
            found.append(_logprob(token, others))
    return tuple(found)


def _logprob(token: Chunk, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
    probability = float(token["logProbability"])
    return TokenLogprob(token=str(token.get("token") or ""), logprob=probability, top=top)


def _has_logprob(token: Chunk) -> bool:
    value = token.get("logProbability")
    return isinstance(value, int | float) and not isinstance(value, bool)
