"""The sources and citations in the contract's content blocks, and how its fields are declared.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/citations
(indices count from 0, pages from 1; ends are exclusive),
https://platform.claude.com/docs/en/build-with-claude/vision,
https://platform.claude.com/docs/en/build-with-claude/pdf-support and
https://platform.claude.com/docs/en/build-with-claude/files.
"""

from typing import Any, ClassVar, Literal, TypeAlias, Union

from attrs import Attribute, field

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, plain_object

# -- fields


_ALWAYS = "always"


def always(default: Any) -> Any:
    """Declare a field that is written also when it is at *default*."""
    return field(default=default, metadata={_ALWAYS: True})


def is_always_written(attribute: "Attribute[Any]") -> bool:
    """Return whether *attribute* was declared by `always`."""
    return bool(attribute.metadata.get(_ALWAYS))


@frozen
class Raw:
    """An object of a type that is not modelled here, or must stay as it came: kept whole."""

    data: JsonObject = field(converter=plain_object)


@frozen
class CacheControl:
    """The end of a prefix to cache; five minutes if `ttl` is not given."""

    type: ClassVar[str] = "ephemeral"
    ttl: Literal["5m", "1h"] | None = None


# -- citations


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


# -- sources


@frozen
class Base64Source:
    """The bytes themselves, in base64."""

    type: ClassVar[str] = "base64"
    media_type: str
    data: str


@frozen
class UrlSource:
    """An address that the provider fetches."""

    type: ClassVar[str] = "url"
    url: str


@frozen
class FileSource:
    """A file that was uploaded before."""

    type: ClassVar[str] = "file"
    file_id: str


@frozen
class PlainTextSource:
    """A document of plain text."""

    type: ClassVar[str] = "text"
    media_type: str
    data: str


ImageSource: TypeAlias = Union[Base64Source, UrlSource, FileSource]
"""Exactly one of the three."""
