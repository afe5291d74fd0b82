"""Bedrock Converse: citations, read and sent back.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html, read
November 2026. Their positions are in the cited document, not in the text, so they stay in the
native form.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from llmcore.protocols.citations import native_citations
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.protocols.notes import Notes
from llmcore.schema.content import Citation


def read(native: Mapping[str, Any], metadata_key: str) -> Citation:
    """Return a native citation; its native form goes back with it."""
    source = string(native.get("source"))
    source_url = source if source is not None and "://" in source else None
    quoted = [string(item.get("text")) for item in dicts(native.get("sourceContent"))]
    return Citation(
        url=web_url(native) or source_url,
        title=string(native.get("title")),
        cited_text="".join(filter(None, quoted)) or None,
        document_id=None if source_url else source,
        provider_metadata={metadata_key: native},
    )


def web_url(native: Mapping[str, Any]) -> str | None:
    """Return the page that a citation names; None if it names a document of the request."""
    return string(mapping(mapping(native.get("location")).get("web")).get("url"))


def lower_citations(
    citations: Iterable[Citation], path: str, metadata_key: str, notes: Notes
) -> list[dict[str, Any]]:
    """Return citations in their native form; those that have none are left out."""
    return [dict(native) for native in native_citations(citations, path, metadata_key, notes)]
