"""The text of a message as the Responses API shows it: annotations and log probabilities.

Source: https://developers.openai.com/api/reference/resources/responses (`output_text`), read
November 2026.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from llmcore.protocols.notes import Notes
from llmcore.schema.content import Citation, TokenLogprob

_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "url_citation": frozenset({"url", "title", "start_index", "end_index"}),
    "file_citation": frozenset({"file_id", "filename", "index"}),
    "container_file_citation": frozenset(
        {"container_id", "file_id", "filename", "start_index", "end_index"}
    ),
    "file_path": frozenset({"file_id", "index"}),
}
"""Annotations by type, and what each must have; some servers leave fields out."""


def text_part(
    text: str, annotations: Iterable[Any] = (), logprobs: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return a part of a message's content."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": list(annotations),
        "logprobs": list(logprobs),
    }


def refusal_part(text: str) -> dict[str, Any]:
    """Return a part that says why the model does not answer."""
    return {"type": "refusal", "refusal": text}


# -- annotations


def annotations_of(
    citations: Iterable[Citation], text: str, path: str, notes: Notes
) -> list[dict[str, Any]]:
    """Return what *text* cites, as annotations; what has no such form is named in a Diagnostic."""
    found: list[dict[str, Any]] = []
    for citation in citations:
        annotation = _annotation(citation, text)
        if annotation is None:
            why = "a citation that names neither a page nor a file has no form here"
            notes.dropped("citation-dropped", path, why)
        else:
            found.append(annotation)
    return found


def _annotation(citation: Citation, text: str) -> dict[str, Any] | None:
    native: Mapping[str, Any] = citation.provider_metadata.get("openai", {})
    needed = _NATIVE.get(str(native.get("type")))
    if needed is not None and all(native.get(name) is not None for name in needed):
        return dict(native)
    if citation.url is not None:
        return {
            "type": "url_citation",
            "url": citation.url,
            "title": citation.title or citation.url,
            "start_index": citation.start_index or 0,
            # a provider that names no stretch means the whole part
            "end_index": len(text) if citation.end_index is None else citation.end_index,
        }
    name = citation.document_id or citation.title
    if name is None:
        return None
    return {
        "type": "file_citation",
        "file_id": citation.document_id or name,
        "filename": citation.title or name,
        "index": citation.start_index or 0,
    }


# -- log probabilities


def logprobs_of(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """Return log probabilities as a whole text has them."""
    return [
        {**_with_bytes(one), "top_logprobs": [_with_bytes(other) for other in one.top]}
        for one in tokens
    ]


def delta_logprobs(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """Return log probabilities as events have them."""
    return [{**_bare(one), "top_logprobs": [_bare(other) for other in one.top]} for one in tokens]


def _bare(one: TokenLogprob) -> dict[str, Any]:
    return {"token": one.token, "logprob": one.logprob}


def _with_bytes(one: TokenLogprob) -> dict[str, Any]:
    return {**_bare(one), "bytes": list(one.token.encode("utf-8", "replace"))}
