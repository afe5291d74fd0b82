"""Gemini: what the answer rests on, and which of its words cite it.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/google-search (grounding
metadata), https://ai.google.dev/gemini-api/docs/url-context, and
https://ai.google.dev/api/generate-content#Segment: indexes count bytes of UTF-8, in the text of
the answer.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

from attrs import frozen

from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.protocols.gemini.state import Chunk, State, Text, change
from llmcore.protocols.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation
from llmcore.schema.events import LLMEvent, Source

# -- sources


def on_grounding(state: State, candidate: Chunk, events: list[LLMEvent]) -> State:
    """Announce what *candidate* names as sources, and keep what its words cite."""
    grounding = object_or_empty(candidate.get("groundingMetadata"))
    if grounding:
        state = change(state, groundings=(*state.answer.groundings, grounding))
        for chunk in objects(grounding.get("groundingChunks")):
            state = _announce(state, _origin(chunk), events)
    for page in objects(object_or_empty(candidate.get("urlContextMetadata")).get("urlMetadata")):
        if page.get("urlRetrievalStatus") in ("URL_RETRIEVAL_STATUS_SUCCESS", None):
            state = _announce(state, _Origin(url=str_or_none(page.get("retrievedUrl"))), events)
    quoted = objects(object_or_empty(candidate.get("citationMetadata")).get("citations"))
    for quotation in quoted:
        state = _announce(state, _quoted(quotation), events)
    known = state.answer.quotations
    return change(state, quotations=(*known, *quoted)) if quoted else state


@frozen(kw_only=True)
class _Origin:
    """Where a piece of evidence is from."""

    url: str | None = None
    title: str | None = None
    document: str | None = None
    text: str | None = None

    @property
    def key(self) -> str | None:
        return self.url or self.document or self.title


def _origin(chunk: Chunk) -> _Origin:
    """Return where a grounding chunk is from: a page, a picture, a place or a stored document."""
    stored = object_or_empty(chunk.get("retrievedContext"))
    held = stored or object_or_empty(chunk.get("web") or chunk.get("maps") or chunk.get("image"))
    document = str_or_none(stored.get("documentName")) or str_or_none(stored.get("fileSearchStore"))
    return _Origin(
        url=str_or_none(held.get("uri")) or str_or_none(held.get("sourceUri")),
        title=str_or_none(held.get("title")),
        document=document or str_or_none(held.get("placeId")),
        text=str_or_none(held.get("text")),
    )


def _quoted(quotation: Chunk) -> _Origin:
    return _Origin(url=str_or_none(quotation.get("uri")), title=str_or_none(quotation.get("title")))


def _announce(state: State, origin: _Origin, events: list[LLMEvent]) -> State:
    """Announce a source, once."""
    sources = state.answer.sources
    if origin.key is None or origin.key in sources:
        return state
    events.append(
        Source(
            id=f"source_{len(sources)}",
            url=origin.url,
            title=origin.title,
            kind="document" if origin.url is None else "url",
        )
    )
    return change(state, sources=sources | {origin.key})


# -- citations


def cite(
    texts: tuple[Text, ...], groundings: tuple[Chunk, ...], quotations: tuple[Chunk, ...]
) -> list[tuple[Citation, ...]]:
    """Return the citations of each of *texts*, none twice.

    One whose place cannot be told stands at the last text, without indexes.
    """
    if not texts:
        return []
    cited: list[list[Citation]] = [[] for _ in texts]
    answer = _Whole("".join(text.text for text in texts))
    for support, citation in _supports(groundings, quotations):
        index, placed = _placed(texts, answer.span(support), citation)
        if placed not in cited[index]:
            cited[index].append(placed)
    return [tuple(citations) for citations in cited]


def _supports(
    groundings: tuple[Chunk, ...], quotations: tuple[Chunk, ...]
) -> list[tuple[Chunk, Citation]]:
    """Return each segment of the answer with each thing that it cites."""
    found: list[tuple[Chunk, Citation]] = []
    for grounding in groundings:
        chunks = objects(grounding.get("groundingChunks"))
        for support in objects(grounding.get("groundingSupports")):
            segment = object_or_empty(support.get("segment"))
            found += [(segment, citation) for citation in _citations(support, chunks)]
    return found + [(quotation, _quotation(quotation)) for quotation in quotations]


def _citations(support: Chunk, chunks: list[Chunk]) -> list[Citation]:
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


def _quotation(quotation: Chunk) -> Citation:
    return _citation(_quoted(quotation))


class _Whole:
    """The answer's text, in which the service counts bytes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = text.encode("utf-8", "surrogatepass")

    def span(self, segment: Chunk) -> tuple[int, int] | None:
        """Return the characters that *segment* means; None if that cannot be told."""
        start, end = (
            int_or_none(segment.get("startIndex")) or 0,
            int_or_none(segment.get("endIndex")),
        )
        words = str_or_none(segment.get("text"))
        if end is not None and 0 <= start <= end <= len(self._data):
            first, last = self._character(start), self._character(end)
            if words is None or self._text[first:last] == words:
                return first, last
        if words is None or (found := self._text.find(words)) < 0:
            return None
        return found, found + len(words)

    def _character(self, offset: int) -> int:
        return len(self._data[:offset].decode("utf-8", "replace"))


def _placed(
    texts: tuple[Text, ...], span: tuple[int, int] | None, citation: Citation
) -> tuple[int, Citation]:
    """Return which text holds the beginning of *span*, and *citation* placed in it."""
    if span is None:
        return len(texts) - 1, citation
    ends = list(accumulate(len(text.text) for text in texts))
    index = min(bisect_right(ends, span[0]), len(texts) - 1)
    before = ends[index - 1] if index else 0
    start, end = span[0] - before, min(span[1], ends[index]) - before
    return index, changed(citation, start_index=start, end_index=end)
