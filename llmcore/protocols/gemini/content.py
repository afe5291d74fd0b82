"""Gemini: reading text, thoughts, media, sources and citations.

Sources, read November 2026: https://ai.google.dev/api/caching#Part,
https://ai.google.dev/gemini-api/docs/thought-signatures (a part with a signature goes back apart
from parts without one; the last piece of a text that is streamed can have it),
https://ai.google.dev/gemini-api/docs/google-search and .../url-context (grounding),
https://ai.google.dev/api/generate-content#Segment (indexes count bytes of UTF-8 in the text of the
response). Parts, as they come:

    {"text": "Let me think.", "thought": true, "thoughtSignature": "c2ln"}
    {"text": "Paris"}
    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0..."}}
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

from llmcore.protocols.gemini.names import METADATA_KEY, QUOTATIONS, SIGNED_FROM
from llmcore.protocols.gemini.state import (
    GeminiState,
    Text,
    change,
    close_segment,
    metadata_of,
    open_segment,
)
from llmcore.protocols.response_parts import Events, announce
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation, TokenLogprob
from llmcore.schema.events import File, ProviderEvent, ReasoningDelta, TextDelta
from llmcore.schema.frozen import frozen
from llmcore.schema.json import NativeObject, present
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import (
    float_or_none,
    int_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)
from llmcore.schema.persistent import PersistentList, to_list

# -- text and thoughts

_PLAIN_TEXT: Final = frozenset({"text", "thought"})


def on_text(
    state: GeminiState,
    part: NativeObject,
    logprobs: tuple[TokenLogprob, ...],
    events: Events,
    *,
    may_continue: bool,
) -> GeminiState:
    """Emit a delta of text or reasoning, in the open segment or in a new one.

    A text with a signature ends the open text if it *may_continue* the part before it, which came
    in another chunk. Otherwise it is a separate text.
    """
    native = {} if _PLAIN_TEXT.issuperset(part) else present(part, but=_PLAIN_TEXT)
    text = str_or_empty(part.get("text"))
    if not native and not text:
        return state
    thinking = part.get("thought") is True
    beside = present(native, but=("thoughtSignature",)) if native else {}
    if may_continue and text and native and not (beside or thinking) and state.info.mode == "text":
        native[SIGNED_FROM] = sum(map(len, to_list(state.pieces)))
    elif native:
        state = close_segment(state, events)
    state = open_segment(state, "reasoning" if thinking else "text", events, beside)
    if text and thinking:
        events.append(ReasoningDelta(state.info.segment, text))
    elif text:
        events.append(TextDelta(state.info.segment, text, logprobs))
        state = GeminiState(state.info, state.usage, PersistentList(text, state.pieces))
    return close_segment(state, events, native) if native else state


# -- media


def on_media(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the `File` of inline data. Raw audio comes in pieces, which become one file."""
    blob = object_or_empty(part.get("inlineData"))
    media_type, data = str_or_none(blob.get("mimeType")), decode_base64(blob.get("data"))
    native = present(part, but=("inlineData",))
    more = present(blob, but=("mimeType", "data"))
    native |= {"inlineData": more} if more else {}
    if data is None:
        return on_unknown(state, part, events)
    if not native and media_type is not None and media_type.lower().startswith(_RAW_SOUND):
        return _on_sound(state, media_type, data, events)
    return _on_file(state, File(id="", media_type=media_type, data=data), native, events)


_RAW_SOUND: Final = ("audio/l16", "audio/pcm")
"""Samples without a header: pieces in a row are one recording."""


def _on_sound(state: GeminiState, media_type: str, data: bytes, events: Events) -> GeminiState:
    if state.info.mode == "audio" and state.info.audio_type != media_type:
        state = close_segment(state, events)
    state = change(open_segment(state, "audio", events), audio_type=media_type)
    return GeminiState(state.info, state.usage, PersistentList(data, state.pieces))


def on_file_uri(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the `File` of a URI."""
    data = object_or_empty(part.get("fileData"))
    uri = str_or_none(data.get("fileUri"))
    if uri is None:
        return on_unknown(state, part, events)
    native = present(part, but=("fileData",))
    more = present(data, but=("mimeType", "fileUri"))
    native |= {"fileData": more} if more else {}
    file = File(id="", media_type=str_or_none(data.get("mimeType")), url=uri)
    return _on_file(state, file, native, events)


def _on_file(state: GeminiState, file: File, native: NativeObject, events: Events) -> GeminiState:
    state = close_segment(state, events)
    number = state.info.segments
    events.append(
        File(
            id=f"file_{number}",
            media_type=file.media_type,
            data=file.data,
            url=file.url,
            provider_metadata=metadata_of(native),
        )
    )
    return change(state, segments=number + 1)


# -- anything else


def on_unknown(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit a part of an unknown kind as a `ProviderEvent` that is sent back unchanged."""
    state = close_segment(state, events)
    provider = state.info.context.provider or METADATA_KEY
    events.append(ProviderEvent(provider, part, replay=True))
    return state


# -- log probabilities


def read_logprobs(candidate: NativeObject) -> tuple[TokenLogprob, ...]:
    """Return the log probabilities of a candidate's tokens, with the likeliest at each place."""
    if "logprobsResult" not in candidate:
        return ()
    result = object_or_empty(candidate["logprobsResult"])
    chosen, tops = objects(result.get("chosenCandidates")), objects(result.get("topCandidates"))
    tokens: list[TokenLogprob] = []
    for index, token in enumerate(chosen):
        top = objects(tops[index].get("candidates")) if index < len(tops) else []
        others = tuple(_logprob(other) for other in top if _probability(other) is not None)
        if _probability(token) is not None:
            tokens.append(_logprob(token, others))
    return tuple(tokens)


def _logprob(token: NativeObject, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
    text, id_ = str(token.get("token") or ""), int_or_none(token.get("tokenId"))
    return TokenLogprob(token=text, logprob=float(token["logProbability"]), top=top, id=id_)


def _probability(token: NativeObject) -> float | None:
    return float_or_none(token.get("logProbability"))


# -- sources


def on_grounding(state: GeminiState, candidate: NativeObject, events: Events) -> GeminiState:
    """Emit a `Source` for each source of *candidate*; keep its citations for the end."""
    if _EVIDENCE.isdisjoint(candidate):
        return state
    grounding = object_or_empty(candidate.get("groundingMetadata"))
    if grounding:
        state = change(state, groundings=PersistentList(grounding, state.info.groundings))
        for chunk in objects(grounding.get("groundingChunks")):
            state = _announce(state, _origin(chunk), events)
    for page in objects(object_or_empty(candidate.get("urlContextMetadata")).get("urlMetadata")):
        if page.get("urlRetrievalStatus") in ("URL_RETRIEVAL_STATUS_SUCCESS", None):
            state = _announce(state, _Origin(url=str_or_none(page.get("retrievedUrl"))), events)
    quoted = object_or_empty(candidate.get("citationMetadata"))
    for quotation in (entry for name in QUOTATIONS for entry in objects(quoted.get(name))):
        state = _announce(state, _quoted(quotation), events)
        state = change(state, quotations=PersistentList(quotation, state.info.quotations))
    return state


_EVIDENCE: Final = frozenset({"groundingMetadata", "urlContextMetadata", "citationMetadata"})
"""The fields of a candidate that have sources and citations."""


@frozen(kw_only=True)
class _Origin:
    """The page or document that a piece of evidence comes from."""

    url: str | None = None
    title: str | None = None
    document: str | None = None
    text: str | None = None

    @property
    def key(self) -> str | None:
        return self.url or self.document or self.title


def _origin(chunk: NativeObject) -> _Origin:
    """Return the origin of a grounding chunk: a page, an image, a place or a stored document."""
    stored = object_or_empty(chunk.get("retrievedContext"))
    held = stored or object_or_empty(chunk.get("web") or chunk.get("maps") or chunk.get("image"))
    document = str_or_none(stored.get("documentName")) or str_or_none(stored.get("fileSearchStore"))
    return _Origin(
        url=str_or_none(held.get("uri")) or str_or_none(held.get("sourceUri")),
        title=str_or_none(held.get("title")),
        document=document or str_or_none(held.get("placeId")),
        text=str_or_none(held.get("text")),
    )


def _quoted(quotation: NativeObject) -> _Origin:
    return _Origin(url=str_or_none(quotation.get("uri")), title=str_or_none(quotation.get("title")))


def _announce(state: GeminiState, origin: _Origin, events: Events) -> GeminiState:
    """Emit a `Source`, once for each origin."""
    before, url = state.info.sources, origin.url
    sources = announce(before, origin.key, events, url=url, title=origin.title)
    return state if sources is before else change(state, sources=sources)


# -- citations


def cite(
    texts: Sequence[Text], groundings: Sequence[NativeObject], quotations: Sequence[NativeObject]
) -> list[tuple[Citation, ...]]:
    """Return the citations of each of *texts*, without duplicates.

    A citation without a usable position belongs to the last text, without indexes.
    """
    if not texts or not (groundings or quotations):
        return [()] * len(texts)
    cited: list[dict[str, Citation]] = [{} for _ in texts]
    full = _FullText("".join(text.text for text in texts))
    ends = list(accumulate(len(text.text) for text in texts))
    for support, citation in _supports(groundings, quotations):
        index, placed = _placed(ends, full.span(support), citation)
        cited[index].setdefault(repr(placed), placed)
    return [tuple(citations.values()) for citations in cited]


def _supports(
    groundings: Iterable[NativeObject], quotations: Iterable[NativeObject]
) -> list[tuple[NativeObject, Citation]]:
    """Return each cited segment of the response, paired with each of its citations.

    Its chunks are beside it, or came before it.
    """
    supported: list[tuple[NativeObject, Citation]] = []
    chunks: list[NativeObject] = []
    for grounding in groundings:
        chunks = objects(grounding.get("groundingChunks")) or chunks
        for support in objects(grounding.get("groundingSupports")):
            segment = object_or_empty(support.get("segment"))
            supported += [(segment, citation) for citation in _citations(support, chunks)]
    return supported + [(quotation, _citation(_quoted(quotation))) for quotation in quotations]


def _citations(support: NativeObject, chunks: list[NativeObject]) -> list[Citation]:
    indices = support.get("groundingChunkIndices")
    scores = support.get("confidenceScores")
    citations: list[Citation] = []
    for number, index in enumerate(indices if isinstance(indices, list) else []):
        if int_or_none(index) is None or not 0 <= index < len(chunks):
            continue
        score = scores[number] if isinstance(scores, list) and number < len(scores) else None
        citations.append(_citation(_origin(chunks[index]), score))
    return citations


def _citation(origin: _Origin, score: Any = None) -> Citation:
    return Citation(
        url=origin.url,
        title=origin.title,
        cited_text=origin.text,
        document_id=origin.document,
        provider_metadata={} if score is None else {METADATA_KEY: {"confidenceScore": score}},
    )


class _FullText:
    """The text of the response, in which the service counts bytes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = text.encode("utf-8", "surrogatepass")

    def span(self, segment: NativeObject) -> tuple[int, int] | None:
        """Return the range of characters of *segment*; None if it has no usable position."""
        start = int_or_none(segment.get("startIndex")) or 0
        end = int_or_none(segment.get("endIndex"))
        words = str_or_none(segment.get("text"))
        if end is not None and 0 <= start <= end <= len(self._data):
            first, last = self._character(start), self._character(end)
            if words is None or self._text[first:last] == words:
                return first, last
        if words is None or (found := self._text.find(words)) < 0:
            return None
        return found, found + len(words)

    def _character(self, offset: int) -> int:
        if len(self._data) == len(self._text):
            return offset
        return len(self._data[:offset].decode("utf-8", "replace"))


def _placed(
    ends: Sequence[int], span: tuple[int, int] | None, citation: Citation
) -> tuple[int, Citation]:
    """Return the index of the text in which *span* begins, and *citation* placed in it.

    *ends* are the places in the response where its texts end.
    """
    if span is None:
        return len(ends) - 1, citation
    index = min(bisect_right(ends, span[0]), len(ends) - 1)
    before = ends[index - 1] if index else 0
    start, end = span[0] - before, min(span[1], ends[index]) - before
    return index, changed(citation, start_index=start, end_index=end)
