"""OpenAI Responses: reading annotations as citations and sources.

Source: https://developers.openai.com/api/reference/resources/responses (`annotations`), read
November 2026. The native annotation stays with the citation, for it goes back with the text.
"""

from typing import Any

from llmcore.protocols.loose_json import dicts, integer, string
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.openai_responses.state import Chunk, State
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation
from llmcore.schema.events import LLMEvent, Source


def read_citations(annotations: Any) -> tuple[Citation, ...]:
    """Return what a text cites."""
    return tuple(map(read_citation, dicts(annotations)))


def read_citation(annotation: Chunk) -> Citation:
    """Return one citation. A `file_citation` has a place, not a stretch of text."""
    place = integer(annotation.get("index")) if annotation.get("type") == "file_citation" else None
    start, end = integer(annotation.get("start_index")), integer(annotation.get("end_index"))
    return Citation(
        url=string(annotation.get("url")),
        title=string(annotation.get("title")) or string(annotation.get("filename")),
        document_id=string(annotation.get("file_id")),
        start_index=place if start is None else start,
        end_index=place if end is None else end,
        provider_metadata={METADATA_KEY: annotation},
    )


def announce_cited(state: State, citation: Citation, events: list[LLMEvent]) -> State:
    """Announce the page or the file that *citation* names."""
    if citation.url is not None:
        return announce(state, citation.url, citation.title, events)
    return announce_file(state, citation.document_id, citation.title, events)


def announce(state: State, url: Any, title: Any, events: list[LLMEvent]) -> State:
    """Announce a page that the answer rests on, once."""
    sources = state.envelope.sources
    if not isinstance(url, str) or not url or url in sources:
        return state
    events.append(Source(id=f"source_{len(sources)}", url=url, title=string(title)))
    return _announced(state, url)


def announce_file(state: State, file_id: Any, name: Any, events: list[LLMEvent]) -> State:
    """Announce a file that the answer rests on, once."""
    sources = state.envelope.sources
    if not isinstance(file_id, str) or not file_id or file_id in sources:
        return state
    events.append(
        Source(
            id=f"source_{len(sources)}",
            title=string(name),
            kind="document",
            provider_metadata={METADATA_KEY: {"file_id": file_id}},
        )
    )
    return _announced(state, file_id)


def _announced(state: State, key: str) -> State:
    sources = state.envelope.sources | {key}
    return changed(state, envelope=changed(state.envelope, sources=sources))
