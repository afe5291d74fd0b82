"""Anthropic Messages: citations, read and sent back.

Source: https://platform.claude.com/docs/en/build-with-claude/citations, read November 2026. Their
positions are in the cited document, not in the text, so they stay in the native form.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from llmcore.protocols.anthropic_messages.types import read_citation
from llmcore.protocols.anthropic_messages.types.citations import TextCitation
from llmcore.protocols.citations import native_citations
from llmcore.protocols.loose_json import string
from llmcore.protocols.notes import Notes
from llmcore.schema.content import Citation


def read(native: Mapping[str, Any], metadata_key: str) -> Citation:
    """Return a native citation, of whatever kind; its native form goes back with it."""
    source = string(native.get("source"))
    source_url = source if source is not None and "://" in source else None
    return Citation(
        url=string(native.get("url")) or source_url,
        title=string(native.get("title")) or string(native.get("document_title")),
        cited_text=string(native.get("cited_text")),
        document_id=string(native.get("file_id")) or (None if source_url else source),
        provider_metadata={metadata_key: native},
    )


def lower_citations(
    citations: Iterable[Citation], path: str, metadata_key: str, notes: Notes
) -> tuple[TextCitation, ...]:
    """Return citations in their native form; those that have none are left out."""
    return tuple(map(read_citation, native_citations(citations, path, metadata_key, notes)))
