"""Content of messages: blocks read as parts, and citations written.

    {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR..."}}
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "..."}}

Source: https://platform.claude.com/docs/en/api/messages/create (`ContentBlockParam`), read November
2026. Blocks without a form among the parts go to a Messages upstream as they came; for others, text
describes what they hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from llmcore.fronts.anthropic_messages.tool_changes import change_as_text
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_BLOCKS, check_types
from llmcore.fronts.reading import (
    Fields,
    cache_ttl_of,
    decoded,
    own_file,
    read_field,
    read_objects,
    remote,
    report_unknown,
    report_unknown_inside,
    required,
    text_part,
)
from llmcore.protocols.anthropic_messages.content import read_citation
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, Block
from llmcore.schema.content import (
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
    ToolOutputPart,
    cached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.schema.native_json import object_or_empty, objects

# -- reading

_ALWAYS: Final = frozenset({"cache_control", "type"})
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "document": _ALWAYS | {"citations", "context", "source", "title"},
    "image": _ALWAYS | {"source", "transformations"},
    "redacted_thinking": _ALWAYS | {"data"},
    "search_result": _ALWAYS | {"citations", "content", "source", "title"},
    "text": _ALWAYS | {"citations", "text"},
    "thinking": _ALWAYS | {"signature", "thinking"},
    "tool_addition": _ALWAYS | {"tool"},
    "tool_reference": _ALWAYS | {"tool_name"},
    "tool_removal": _ALWAYS | {"tool"},
    "tool_result": _ALWAYS | {"content", "is_error", "tool_use_id", "toolset_name"},
    "tool_use": _ALWAYS | {"caller", "id", "input", "name", "toolset_name"},
}
"""Fields of blocks, by their types."""
_OF_SOURCE: Final = frozenset({"content", "data", "file_id", "media_type", "type", "url"})
_OF_CITATIONS: Final = {"citations": frozenset({"enabled"})}


@frozen(kw_only=True)
class ContentReader:
    """Reads the blocks of one request."""

    native: bool
    """Whether the upstream speaks the Messages API too."""
    diagnostics: Diagnostics

    def read_content(
        self, holder: Fields, path: str, name: str = "content"
    ) -> tuple[ContentPart, ...]:
        """Return the parts of a field of *holder*: a text, or a list of blocks."""
        return tuple(
            part
            for block, place in content_blocks(holder, path, name)
            for part in self.read_block(block, place)
        )

    def read_block(self, block: Block, path: str) -> tuple[ContentPart, ...]:
        """Return the parts of one block, the last of them with its cache mark."""
        self.check_fields(block, path)
        parts = self._read_parts(block, path)
        if not parts or isinstance(parts[-1], ProviderPart):
            return parts  # a native block keeps its own mark
        ttl = cache_ttl_of(block, self.diagnostics.at(path))
        return parts if ttl is None else (*parts[:-1], cached(parts[-1], ttl=ttl))

    def read_output(self, holder: Fields, path: str) -> JsonValue | tuple[ToolOutputPart, ...]:
        """Return the `content` of a tool's result: a text as it is, or parts."""
        content = holder.get("content")
        if content is None or isinstance(content, str):
            return content or ""
        return cast("tuple[ToolOutputPart, ...]", self.read_content(holder, path))

    def check_fields(self, block: Block, path: str) -> None:
        """Report the fields of *block* that are not read."""
        check_types(block, OF_BLOCKS, path)
        known = _FIELDS.get(str(block.get("type")))
        if known is not None:  # a block of another kind goes up whole, or is left out whole
            report_unknown(block, known, self.diagnostics, path)

    def _read_parts(self, block: Block, path: str) -> tuple[ContentPart, ...]:
        match block.get("type"):
            case "text":
                return (self._text(block, path),)
            case "image":
                return (self._image(block, path),)
            case "document":
                return self._document(block, path)
            case "search_result" if not self.native:
                report_unknown_inside(block, _OF_CITATIONS, self.diagnostics.at(path))
                for index, text in enumerate(read_objects(block, "content", f"{path}.")):
                    self.check_fields(text, f"{path}.content[{index}]")
                    text_block(text, f"{path}.content[{index}]")
                return (_search_result(block, path),)
            case str(kind):
                news = None if self.native else change_as_text(block)
                return self._opaque(block, kind, path) if news is None else (TextPart(news),)
            case _:
                raise invalid(f"{path}.type: Field required", f"{path}.type", "missing_field")

    def _text(self, block: Block, path: str) -> TextPart:
        """Return a text that is not the model's, whose citations only Anthropic takes."""
        part = text_block(block, path)
        if self.native or not part.citations:
            return part
        why = "the upstream takes those of its own responses alone"
        self.diagnostics.at(f"{path}.citations").left_out("what the text cites", why)
        return TextPart(part.text)

    def _image(self, block: Block, path: str) -> ImagePart:
        source = required(block, "source", dict, f"{path}.")
        report_unknown(source, _OF_SOURCE, self.diagnostics, f"{path}.source")
        how = object_or_empty(block.get("transformations"))
        if how and not self.native:
            why = "the upstream transforms images as it sees fit"
            self.diagnostics.at(f"{path}.transformations").unsupported(why)
        metadata = {METADATA_KEY: {"transformations": how}} if how else {}
        return ImagePart(**self._media(source, f"{path}.source"), provider_metadata=metadata)

    def _document(self, block: Block, path: str) -> tuple[ContentPart, ...]:
        source = required(block, "source", dict, f"{path}.")
        where = f"{path}.source"
        if not self.native or source.get("type") != "content":
            report_unknown(source, _OF_SOURCE, self.diagnostics, where)
            report_unknown_inside(block, _OF_CITATIONS, self.diagnostics.at(path))
        about: dict[str, Any] = {
            "title": read_field(block, "title", str, f"{path}."),
            "context": read_field(block, "context", str, f"{path}."),
            "citations": _are_cited(block, path),
        }
        match source.get("type"):
            case "text":
                text = required(source, "data", str, f"{where}.")
                read_field(source, "media_type", str, f"{where}.")
                return (_text_document(text, about),)
            case "content" if self.native:
                return (ProviderPart(METADATA_KEY, block),)
            case "content":
                inner = self.read_content(source, where)
                text = "\n\n".join(part.text for part in inner if isinstance(part, TextPart))
                rest = [part for part in inner if not isinstance(part, TextPart)]
                if rest and not text:
                    headings = [TextPart(about[n]) for n in ("title", "context") if about[n]]
                    return (*headings, *rest)
                return (_text_document(text, about), *rest)
            case _:
                return (DocumentPart(**self._media(source, where), **about),)

    def _media(self, source: Fields, path: str) -> dict[str, Any]:
        """Return the fields of a part whose source contains its data or refers to it."""
        match source.get("type"):
            case "base64":
                data = required(source, "data", str, f"{path}.")
                return {
                    "data": decoded(data, f"{path}.data"),
                    "media_type": read_field(source, "media_type", str, f"{path}."),
                }
            case "url":
                return {"url": remote(required(source, "url", str, f"{path}."), f"{path}.url")}
            case "file":
                file_id = required(source, "file_id", str, f"{path}.")
                return {"file_id": own_file(file_id, path, known=self.native)}
            case kind:
                raise invalid(f"{path} has the unknown type {kind!r}.", f"{path}.type")

    def _opaque(self, block: Block, kind: str, path: str) -> tuple[ContentPart, ...]:
        if self.native:
            return (ProviderPart(METADATA_KEY, block),)
        self.diagnostics.at(path).left_out(
            f"a block of the type {kind}", "the upstream's API has no such content"
        )
        return ()


def content_blocks(holder: Fields, path: str, name: str = "content") -> list[tuple[Block, str]]:
    """Return the blocks of a field with their places; a text is one block of text."""
    content = holder.get(name)
    prefix = f"{path}." if path else ""
    if isinstance(content, str):
        return [({"type": "text", "text": content}, f"{prefix}{name}")]
    blocks = read_objects(holder, name, prefix)
    return [(block, f"{prefix}{name}[{index}]") for index, block in enumerate(blocks)]


def text_block(block: Block, path: str) -> TextPart:
    """Return a block of text with its citations, which keep their native form."""
    text, citations = required(block, "text", str, f"{path}."), block.get("citations")
    if not citations:
        return text_part(text)
    cited = read_objects(block, "citations", f"{path}.")
    return TextPart(text, citations=tuple(map(read_citation, cited)))


def _are_cited(block: Block, path: str) -> bool:
    """Return whether the model cites a document."""
    config = read_field(block, "citations", dict, f"{path}.") or {}
    return read_field(config, "enabled", bool, f"{path}.citations.") is True


def _text_document(text: str, about: Mapping[str, Any]) -> DocumentPart:
    return DocumentPart(data=text.encode("utf-8", "replace"), media_type="text/plain", **about)


def _search_result(block: Block, path: str) -> DocumentPart:
    """Return a result of the client's own search as a document."""
    text = "\n\n".join(str(item.get("text") or "") for item in objects(block.get("content")))
    about = {
        "title": read_field(block, "title", str, f"{path}."),
        "context": read_field(block, "source", str, f"{path}."),
        "citations": _are_cited(block, path),
    }
    return _text_document(text, about)


# -- citations, written

_QUOTED: Final = 150
"""The most characters of the cited text in a citation of a web page."""

_NATIVE: Final = {
    "char_location": ("cited_text", "document_index", "start_char_index", "end_char_index"),
    "page_location": ("cited_text", "document_index", "start_page_number", "end_page_number"),
    "content_block_location": (
        "cited_text",
        "document_index",
        "start_block_index",
        "end_block_index",
    ),
    "search_result_location": (
        "cited_text",
        "source",
        "search_result_index",
        "start_block_index",
        "end_block_index",
    ),
    "web_search_result_location": ("cited_text", "url", "encrypted_index"),
}
"""Citations by type, and the fields that each must have."""


def write_citations(
    citations: Sequence[Citation], diagnostics: Diagnostics
) -> list[dict[str, Any]]:
    """Return the citations of a text in native form; those that have none are reported.

    A citation that names a page becomes one of a web search, any other one of a search result.
    """
    written = list(_written(citations, diagnostics))
    placed = any(citation.start_index is not None for citation in citations)
    if placed and written:
        why = "citations here are of the whole block; where they stand in the text is lost"
        diagnostics.changed("citation-place-dropped", why)
    return written


def _written(citations: Iterable[Citation], diagnostics: Diagnostics) -> Iterable[dict[str, Any]]:
    for citation in citations:
        native = dict(citation.provider_metadata.get(METADATA_KEY, {}))
        needed = _NATIVE.get(str(native.get("type")))
        if needed is not None and all(native.get(name) is not None for name in needed):
            yield native
        elif citation.url is not None:
            yield {
                "type": "web_search_result_location",
                "url": citation.url,
                "title": citation.title,
                "encrypted_index": "",
                "cited_text": (citation.cited_text or "")[:_QUOTED],
            }
        elif (source := citation.document_id or citation.title) is not None:
            yield {
                "type": "search_result_location",
                "source": source,
                "title": citation.title,
                "cited_text": citation.cited_text or "",
                "search_result_index": 0,
                "start_block_index": 0,
                "end_block_index": 0,
            }
        else:
            why = "a citation that names neither a page nor a document has no form here"
            diagnostics.dropped("citation-dropped", why)
