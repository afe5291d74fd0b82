"""Where text came from.

Source: https://platform.claude.com/docs/en/build-with-claude/citations, read November 2026. Indices
count from 0, pages from 1; ends are exclusive.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import frozen

from llmcore.protocols.anthropic_messages.types.shapes import Raw


@frozen(kw_only=True)
class CharLocation:
    """Characters of a plain text document."""

    type: ClassVar[str] = "char_location"
    cited_text: str
    document_index: int
    document_title: str | None
    start_char_index: int
    end_char_index: int
    file_id: str | None = None


@frozen(kw_only=True)
class PageLocation:
    """Pages of a PDF."""

    type: ClassVar[str] = "page_location"
    cited_text: str
    document_index: int
    document_title: str | None
    start_page_number: int
    end_page_number: int
    file_id: str | None = None


@frozen(kw_only=True)
class ContentBlockLocation:
    """Blocks of a document that was given as blocks."""

    type: ClassVar[str] = "content_block_location"
    cited_text: str
    document_index: int
    document_title: str | None
    start_block_index: int
    end_block_index: int
    file_id: str | None = None


@frozen(kw_only=True)
class WebSearchResultLocation:
    """A page that web search found."""

    type: ClassVar[str] = "web_search_result_location"
    cited_text: str
    encrypted_index: str
    title: str | None
    url: str


@frozen(kw_only=True)
class SearchResultLocation:
    """Blocks of a search result that the caller gave."""

    type: ClassVar[str] = "search_result_location"
    cited_text: str
    search_result_index: int
    source: str
    title: str | None
    start_block_index: int
    end_block_index: int


TextCitation: TypeAlias = Union[
    CharLocation,
    PageLocation,
    ContentBlockLocation,
    WebSearchResultLocation,
    SearchResultLocation,
    Raw,
]
"""Any citation."""


@frozen
class CitationsConfig:
    """Whether a source is to be cited."""

    enabled: bool | None = None
