"""Sending citations back."""

from collections.abc import Iterable, Iterator

from llmcore.protocols.notes import Notes
from llmcore.schema.content import Citation
from llmcore.schema.json import JsonObject


def native_citations(
    citations: Iterable[Citation], path: str, metadata_key: str, notes: Notes
) -> Iterator[JsonObject]:
    """Yield citations in their native form; those that have none are left out."""
    for index, citation in enumerate(citations):
        native = citation.provider_metadata.get(metadata_key)
        if native:
            yield native
        else:
            notes.dropped(
                "unsupported-content",
                f"{path}.citations[{index}]",
                "only citations that the API made itself can be sent back",
            )
