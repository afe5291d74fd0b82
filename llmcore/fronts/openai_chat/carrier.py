"""Thinking, and state that clients cannot see, in fields that OpenAI's own API does not have.

    {"reasoning_content": "Need two files.", "reasoning_details": [{"type": "reasoning.text",
     "text": "Need two files.", "index": 0, "format": "unknown",
     "id": "openbridge-v1"}]}
    {"reasoning_details": [{"type": "reasoning.text", "signature": "ob1.AbCd", "index": 0}]}
    {"reasoning_details": [{"type": "reasoning.encrypted", "data": "ob1.EfGh", "index": 1,
     "format": "unknown"}]}

`reasoning_content` is what most clients show (DeepSeek's name). Of `reasoning_details`, a client
joins the pieces of one index and sends all entries back unchanged. What is sealed in them is the
recipe of the response up to there (`opaque_state`), which gives the parts back in their order.
Sources, read November 2026: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.fronts.opaque_state import (
    EchoedHostedItem,
    ResponseState,
    ShownPart,
    Unsealer,
    needs_state,
    part_key,
    restore,
)
from llmcore.fronts.openai_chat.chunks import ChunkWriter
from llmcore.fronts.openai_clients import ThinkingPlace
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.sealer import PREFIX, Sealer, seal_in
from llmcore.protocols.tools import CallIdRule
from llmcore.schema.content import (
    ContentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import ReasoningDelta, ReasoningEnd
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Origin
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

_OWN: Final[Mapping[str, str]] = {"format": "unknown", "id": "openbridge-v1"}
"""Fields of our entries. OpenRouter's clients drop entries of a `format` that they do not know, and
`unknown` is one that they do; entries of this `id` are the gateway's."""

SHOWN_IDS: Final = CallIdRule(r"[a-zA-Z0-9_-]+", 40)
"""Ids of calls that every API takes: a conversation may continue with any of them."""

Key: TypeAlias = tuple[str, str]
"""The kind of a segment, and its id."""


# -- writing


def shown_as(part: ContentPart) -> ShownPart:
    """Return *part* with what the client's echo of it will be read as."""
    match part:
        case TextPart() | RefusalPart():
            seen: ContentPart | None = _seen_text(part) if part.text else None
        case ToolCallPart(provider_executed=False) | ImagePart():
            seen = evolve(part, provider_metadata={})
        case _:
            seen = None
    return ShownPart(parts=(part,), as_read_by_client=seen)


def _seen_text(part: TextPart | RefusalPart) -> ContentPart:
    if not isinstance(part, TextPart):
        return RefusalPart(part.text)
    if not (part.citations or part.logprobs or part.provider_metadata):
        return part  # an echo has all of it
    visible = [
        citation for citation in part.citations if citation.url and not citation.provider_metadata
    ]
    return TextPart(part.text, citations=tuple(visible))


class ResponseParts:
    """Puts the parts of one response in the order in which they began, and seals them in turn.

    A private builder that lives as long as the response.
    """

    def __init__(self, record: ResponseRecord) -> None:
        self.record = record
        """The parts that no open segment precedes."""
        self._begun: dict[Key, ShownPart | None] = {}
        self._sealed = 0

    def begin(self, key: Key) -> None:
        """Keep the place of a segment."""
        self._begun[key] = None

    def add(self, part: ContentPart | None) -> None:
        """Add a part that arrives complete."""
        self.end(("whole", str(len(self.record.shown) + len(self._begun))), part)

    def end(self, key: Key, part: ContentPart | None) -> None:
        """Put *part* into its place; None removes a segment without content."""
        if part is None:
            self._begun.pop(key, None)
        else:
            self._begun[key] = shown_as(part)
        self._advance()

    def _advance(self) -> None:
        """Move parts that no open segment precedes into the record."""
        for key, shown in list(self._begun.items()):
            if shown is None:
                return
            self.record.add(shown)
            del self._begun[key]

    def seal(self) -> str | None:
        """Return the recipe of all unsealed parts; None if the client's echo is enough."""
        parts = self.record.shown[self._sealed :]
        thinks = any(isinstance(shown.parts[0], ReasoningPart) for shown in parts)
        if not any(map(_needs_state, parts)) and _in_order(parts) and not (self._sealed and thinks):
            return None  # beside sealed thinking, none is read from what the client shows
        after, self._sealed = self._sealed, len(self.record.shown)
        return self.record.sealed_from(after, after=after)


_ORDER: Final = (ReasoningPart, TextPart, RefusalPart, ImagePart, ToolCallPart)
"""The order in which the fields of a message are read."""


def _in_order(parts: Sequence[ShownPart]) -> bool:
    """Return whether the fields of a message give *parts* back: texts of one kind are joined."""
    kinds = [type(shown.parts[0]) for shown in parts]
    joined = [kind for kind in kinds if kind in (ReasoningPart, TextPart, RefusalPart)]
    ranks = [_ORDER.index(kind) for kind in kinds if kind in _ORDER]
    return ranks == sorted(ranks) and len(joined) == len(set(joined))


def _needs_state(shown: ShownPart) -> bool:
    """Return whether something must be sealed: thinking without a proof comes back as text."""
    part = shown.parts[0]
    if isinstance(part, ReasoningPart):
        return bool(part.signature or part.encrypted or part.provider_metadata)
    return needs_state(shown)


# -- reading

_EACH: Final = re.compile(rf"(?={re.escape(PREFIX)})")
"""The beginning of a seal; clients that join strings write several in a row."""


_CARRYING: Final = frozenset({"reasoning_details", "thinking_blocks"})
"""The fields of a message that seals are in, apart from its calls."""


def seals_in(native: Mapping[str, Any]) -> list[str]:
    """Return all seals that an assistant message carries, each once, in order."""
    if _CARRYING.isdisjoint(native) and not any(
        "extra_content" in call for call in objects(native.get("tool_calls"))
    ):
        return []  # nearly always
    seals = [seal for text in _carriers(native) for seal in _EACH.split(text)]
    return list(dict.fromkeys(seal for seal in seals if seal.startswith(PREFIX)))


def is_sealed(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry of `reasoning_details` or `thinking_blocks` is sealed state."""
    proof = str_or_none(entry.get("signature")) or str_or_none(entry.get("data")) or ""
    return seal_in(proof) is not None or entry.get("id") == _OWN["id"]


def thought_signature(call: Mapping[str, Any]) -> str | None:
    """Return the proof that Google's layer for OpenAI clients keeps with a call.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility)
    """
    google = object_or_empty(object_or_empty(call.get("extra_content")).get("google"))
    return str_or_none(google.get("thought_signature"))


def _carriers(native: Mapping[str, Any]) -> Iterator[str]:
    for name in ("reasoning_details", "thinking_blocks"):
        for entry in objects(native.get(name)):
            for field in ("signature", "data"):
                if text := str_or_none(entry.get(field)):
                    yield seal_in(text) or text
    for call in objects(native.get("tool_calls")):
        if text := thought_signature(call):
            yield text


class StateReader:
    """Reads the sealed state of one request."""

    def __init__(self, sealer: Sealer) -> None:
        self._unsealer = Unsealer(sealer)

    def restored(
        self, seals: Sequence[str], parts: Sequence[ContentPart], diagnostics: Diagnostics
    ) -> tuple[Origin, tuple[ContentPart, ...]] | None:
        """Return the origin of a response and all of its parts, in order.

        *parts* are those that the client shows. None if none of *seals* can be read, or if one is
        missing before another: Copilot CLI drops those that are signatures of thinking. OpenAI
        refuses the ids of items whose reasoning is missing.
        """
        read = (self._unsealer.unsealed(s, "the sealed state", diagnostics) for s in seals)
        states = list(filter(None, read))
        if not states:
            return None
        if _has_gap(states):
            if not any(isinstance(part, ToolCallPart) for part in parts):
                why = "a part of the response's state was not sent back"
                diagnostics.dropped("opaque-data-dropped", why)
            return None
        entries = tuple(entry for state in states for entry in state.entries)
        whole = evolve(states[0], entries=entries)
        echoes = [
            echo
            for part in parts
            if not isinstance(part, ReasoningPart)
            for echo in _cut(part, entries)
        ]
        rest, made = restore(whole, echoes, diagnostics)
        return whole.origin, (*made, *(e for e in rest if not isinstance(e, EchoedHostedItem)))

    def names(self, sealed: str, parts: Sequence[ContentPart]) -> bool:
        """Return whether *parts* are texts of the response whose state is *sealed*."""
        state = self._unsealer.unsealed(sealed, "the sealed state", Diagnostics())
        entries = () if state is None else state.entries
        keys = {str(entry.get("key")) for entry in entries}
        return all(part_key(piece) in keys for part in parts for piece in _cut(part, entries))


def _has_gap(states: Sequence[ResponseState]) -> bool:
    """Return whether a recipe is missing before one of *states*."""
    known = 0
    for state in states:
        if state.after > known:
            return True
        known = max(known, state.after + len(state.entries))
    return False


def _cut(part: ContentPart, entries: Sequence[Mapping[str, Any]]) -> Sequence[ContentPart]:
    """Return the texts that were joined into *part*, where it is unchanged."""
    if not isinstance(part, TextPart | RefusalPart):
        return (part,)
    kind, rest = type(part), part.text
    pieces: list[ContentPart] = []
    for entry in entries:
        key = str(entry.get("key"))
        if not key.startswith(f"{kind.__name__}:"):
            continue
        piece = kind(rest[: entry.get("chars", 0)])
        if part_key(piece) != key:
            return (part,)
        pieces.append(piece)
        rest = rest[len(piece.text) :]
    return (*pieces, kind(rest)) if rest else tuple(pieces)


# -- thinking


_FIELDS: Final[Mapping[ThinkingPlace, Sequence[str]]] = {
    "content": ("content",),
    "reasoning_content": ("reasoning_content",),
    "reasoning": ("reasoning",),
    "both": ("reasoning_content", "reasoning"),
    "none": (),
}


class ThinkingWriter:
    """Writes the thinking of one response, and the state that goes with it."""

    def __init__(
        self, chunks: ChunkWriter, parts: ResponseParts, place: ThinkingPlace, *, shown: bool
    ) -> None:
        self._chunks = chunks
        self._parts = parts
        self._fields = _FIELDS[place] if shown else ()
        self._in_content = place == "content"
        self._texts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._index: dict[str, int] = {}
        """The index of a segment in `reasoning_details`, by its id."""

    def more(self, event: ReasoningDelta) -> None:
        """Write more of a segment."""
        if not event.text or not self._fields:
            return
        if self._in_content:
            self._chunks.write(self._shown(event.text))
            return
        index = self._index.get(event.id)
        entry = {"type": "reasoning.text", "text": event.text, "index": index}
        if index is None:
            index = self._index[event.id] = len(self._details)
            # clients join the strings of an entry's pieces, so this one comes once
            entry |= {"index": index, **_OWN}
            self._details.append({})
        delta = self._shown(event.text)
        delta["reasoning_details"] = [entry]
        self._chunks.write(delta)

    def end(self, event: ReasoningEnd) -> None:
        """Write the state of a segment, and the unwritten state of all before it."""
        index = self._index.get(event.id)
        if self._fields and event.text:
            self._texts.append(event.text)
        if index is not None:
            entry = {"type": "reasoning.text", "text": event.text, "index": index, **_OWN}
            self._details[index] |= entry
        sealed = self._parts.seal()
        if sealed is None:
            return
        if index is None:
            self._write_state(sealed)
            return
        self._details[index]["signature"] = sealed
        entry = {"type": "reasoning.text", "signature": sealed, "index": index}
        self._chunks.write({"reasoning_details": [entry]})

    def finish(self) -> None:
        """Write all unwritten state."""
        sealed = self._parts.seal()
        if sealed is not None:
            self._write_state(sealed)

    def _write_state(self, sealed: str) -> None:
        index = len(self._details)
        entry: dict[str, Any] = {"type": "reasoning.encrypted", "data": sealed, "index": index}
        entry["format"] = _OWN["format"]
        self._details.append(entry)
        self._chunks.write({"reasoning_details": [entry]})

    def _shown(self, text: str) -> dict[str, Any]:
        if not self._in_content:
            return dict.fromkeys(self._fields, text)
        part = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return {"content": [part]}

    def fields(self, content: JsonValue) -> dict[str, Any]:
        """Return the fields of the whole message, whose text is *content*."""
        whole = self._shown("".join(self._texts)) if self._texts else {}
        if content and "content" in whole:
            whole["content"].append({"type": "text", "text": content})
        return {**whole, "reasoning_details": self._details} if self._details else whole
