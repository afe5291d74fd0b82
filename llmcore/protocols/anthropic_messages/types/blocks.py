"""Content blocks: what messages are made of, both ways.

Source: https://platform.claude.com/docs/en/api/messages (`ContentBlockParam`, `ContentBlock`), read
November 2026. A block is exactly one of the classes here; what is none of them is `Raw`.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.types.citations import CitationsConfig, TextCitation
from llmcore.protocols.anthropic_messages.types.shapes import CacheControl, Raw, always
from llmcore.protocols.anthropic_messages.types.sources import (
    Base64Source,
    FileSource,
    ImageSource,
    PlainTextSource,
    UrlSource,
)
from llmcore.schema.json import JsonObject, JsonValue

# -- what people and models say


@frozen(kw_only=True)
class TextBlock:
    """Words."""

    type: ClassVar[str] = "text"
    text: str = field(kw_only=False)
    citations: tuple[TextCitation, ...] | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class ImageBlock:
    """A picture."""

    type: ClassVar[str] = "image"
    source: ImageSource = field(kw_only=False)
    cache_control: CacheControl | None = None
    transformations: JsonObject | None = None


@frozen
class ContentSource:
    """A document given as text or as blocks, which are then what can be cited."""

    type: ClassVar[str] = "content"
    content: str | tuple[TextBlock | ImageBlock, ...]


DocumentSource: TypeAlias = Union[
    Base64Source, PlainTextSource, ContentSource, UrlSource, FileSource
]
"""Exactly one of the five."""


@frozen(kw_only=True)
class DocumentBlock:
    """A document."""

    type: ClassVar[str] = "document"
    source: DocumentSource = field(kw_only=False)
    title: str | None = None
    context: str | None = None
    citations: CitationsConfig | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class SearchResultBlock:
    """Something the caller's own search found."""

    type: ClassVar[str] = "search_result"
    source: str
    title: str
    content: tuple[TextBlock, ...]
    citations: CitationsConfig | None = None
    cache_control: CacheControl | None = None


@frozen
class ThinkingBlock:
    """The model's thinking; its text is empty where it is not shown, its signature never."""

    type: ClassVar[str] = "thinking"
    thinking: str
    signature: str = always("")


@frozen
class RedactedThinkingBlock:
    """Thinking that only the provider can read."""

    type: ClassVar[str] = "redacted_thinking"
    data: str


# -- the caller's tools


@frozen(kw_only=True)
class ToolUseBlock:
    """The model wants a tool run."""

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: JsonObject
    caller: JsonObject | None = None
    """Who called, where code that the provider runs can call tools too."""
    toolset_name: str | None = None
    cache_control: CacheControl | None = None


@frozen
class ToolReferenceBlock:
    """A tool that a search for tools found."""

    type: ClassVar[str] = "tool_reference"
    tool_name: str
    cache_control: CacheControl | None = None


ToolResultContent: TypeAlias = Union[
    TextBlock, ImageBlock, SearchResultBlock, DocumentBlock, ToolReferenceBlock, Raw
]
"""What a tool's result can hold."""


@frozen(kw_only=True)
class ToolResultBlock:
    """What the caller's tool returned."""

    type: ClassVar[str] = "tool_result"
    tool_use_id: str
    content: str | tuple[ToolResultContent, ...] | None = None
    is_error: bool | None = None
    toolset_name: str | None = None
    cache_control: CacheControl | None = None


# -- the provider's tools


@frozen(kw_only=True)
class ServerToolUseBlock:
    """The provider runs one of its own tools."""

    type: ClassVar[str] = "server_tool_use"
    id: str
    name: str
    input: JsonObject
    caller: JsonObject | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class McpToolUseBlock:
    """The provider calls a tool of a remote MCP server."""

    type: ClassVar[str] = "mcp_tool_use"
    id: str
    name: str
    server_name: str
    input: JsonObject
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class McpToolResultBlock:
    """What a remote MCP server's tool returned."""

    type: ClassVar[str] = "mcp_tool_result"
    tool_use_id: str
    content: str | tuple[TextBlock | Raw, ...] | None = None
    is_error: bool | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class WebSearchResult:
    """A page that web search found, its content only for the provider."""

    type: ClassVar[str] = "web_search_result"
    url: str
    title: str
    encrypted_content: str
    page_age: str | None = None


@frozen
class WebSearchToolResultError:
    """Why a web search failed."""

    type: ClassVar[str] = "web_search_tool_result_error"
    error_code: str


@frozen(kw_only=True)
class WebSearchToolResultBlock:
    """What web search found."""

    type: ClassVar[str] = "web_search_tool_result"
    tool_use_id: str
    content: tuple[WebSearchResult, ...] | WebSearchToolResultError
    caller: JsonObject | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class _ServerToolResult:
    """What one of the provider's tools returned, in its own form."""

    tool_use_id: str
    content: JsonValue
    caller: JsonObject | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class WebFetchToolResultBlock(_ServerToolResult):
    """A page that web fetch read."""

    type: ClassVar[str] = "web_fetch_tool_result"


@frozen(kw_only=True)
class CodeExecutionToolResultBlock(_ServerToolResult):
    """What code printed."""

    type: ClassVar[str] = "code_execution_tool_result"


@frozen(kw_only=True)
class BashCodeExecutionToolResultBlock(_ServerToolResult):
    """What a shell command in the sandbox printed."""

    type: ClassVar[str] = "bash_code_execution_tool_result"


@frozen(kw_only=True)
class TextEditorCodeExecutionToolResultBlock(_ServerToolResult):
    """What an edit in the sandbox did."""

    type: ClassVar[str] = "text_editor_code_execution_tool_result"


@frozen(kw_only=True)
class ToolSearchToolResultBlock(_ServerToolResult):
    """Which tools a search for tools found."""

    type: ClassVar[str] = "tool_search_tool_result"


@frozen(kw_only=True)
class AdvisorToolResultBlock(_ServerToolResult):
    """What the advisor model said."""

    type: ClassVar[str] = "advisor_tool_result"


@frozen
class ContainerUploadBlock:
    """A file for the sandbox."""

    type: ClassVar[str] = "container_upload"
    file_id: str
    cache_control: CacheControl | None = None


ServerToolResultBlock: TypeAlias = Union[
    WebSearchToolResultBlock,
    WebFetchToolResultBlock,
    CodeExecutionToolResultBlock,
    BashCodeExecutionToolResultBlock,
    TextEditorCodeExecutionToolResultBlock,
    ToolSearchToolResultBlock,
    AdvisorToolResultBlock,
    McpToolResultBlock,
]
"""What any of the provider's tools returned."""

ContentBlock: TypeAlias = Union[
    TextBlock,
    ImageBlock,
    DocumentBlock,
    SearchResultBlock,
    ThinkingBlock,
    RedactedThinkingBlock,
    ToolUseBlock,
    ToolResultBlock,
    ServerToolUseBlock,
    McpToolUseBlock,
    ServerToolResultBlock,
    ContainerUploadBlock,
    Raw,
]
"""Any block of a request."""

ResponseBlock: TypeAlias = Union[
    TextBlock,
    ThinkingBlock,
    RedactedThinkingBlock,
    ToolUseBlock,
    ServerToolUseBlock,
    McpToolUseBlock,
    ServerToolResultBlock,
    ContainerUploadBlock,
    Raw,
]
"""Any block of a response."""
