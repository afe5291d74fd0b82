"""The contract's content blocks.

Sources, read November 2026: https://platform.claude.com/docs/en/api/messages (`ContentBlockParam`,
`ContentBlock`) and https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback. A
block is exactly one of the classes here; one of another type is `Raw`.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import field

from llmcore.protocols.anthropic_messages.contract.sources import (
    Base64Source,
    CacheControl,
    CitationsConfig,
    FileSource,
    ImageSource,
    PlainTextSource,
    Raw,
    TextCitation,
    UrlSource,
    always,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue

# -- content


@frozen(kw_only=True)
class TextBlock:
    """A piece of text."""

    type: ClassVar[str] = "text"
    text: str = field(kw_only=False)
    citations: tuple[TextCitation, ...] | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class ImageBlock:
    """An image."""

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
    """A result of the caller's own search."""

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
    """A call of a tool that the caller is to run."""

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: JsonObject
    caller: JsonObject | None = None
    """The caller of the tool, if code that the provider runs can call tools too."""
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
"""The blocks that a tool result can contain."""


@frozen(kw_only=True)
class ToolResultBlock:
    """The result of a tool that the caller ran."""

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
    """The result of a remote MCP server's tool."""

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
    """The results of a web search."""

    type: ClassVar[str] = "web_search_tool_result"
    tool_use_id: str
    content: tuple[WebSearchResult, ...] | WebSearchToolResultError
    caller: JsonObject | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class _ServerToolResult:
    """Base of the results of the provider's tools, with native content."""

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
    """The output of executed code."""

    type: ClassVar[str] = "code_execution_tool_result"


@frozen(kw_only=True)
class BashCodeExecutionToolResultBlock(_ServerToolResult):
    """The output of a shell command in the sandbox."""

    type: ClassVar[str] = "bash_code_execution_tool_result"


@frozen(kw_only=True)
class TextEditorCodeExecutionToolResultBlock(_ServerToolResult):
    """The result of an edit in the sandbox."""

    type: ClassVar[str] = "text_editor_code_execution_tool_result"


@frozen(kw_only=True)
class ToolSearchToolResultBlock(_ServerToolResult):
    """Which tools a search for tools found."""

    type: ClassVar[str] = "tool_search_tool_result"


@frozen(kw_only=True)
class AdvisorToolResultBlock(_ServerToolResult):
    """The response of the advisor model."""

    type: ClassVar[str] = "advisor_tool_result"


@frozen
class ContainerUploadBlock:
    """A file for the sandbox."""

    type: ClassVar[str] = "container_upload"
    file_id: str
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class CompactionBlock:
    """A summary of the conversation before it; without content if the server could make none.

    It goes back as it came, with its signature and the changes of tools in what it represents.
    """

    type: ClassVar[str] = "compaction"
    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: tuple[JsonObject, ...] | None = None
    cache_control: CacheControl | None = None


@frozen
class ToolAdditionBlock:
    """Allows the model to call a tool from here on: a reference to the tool, or its definition."""

    type: ClassVar[str] = "tool_addition"
    tool: JsonObject
    cache_control: CacheControl | None = None


@frozen
class ToolRemovalBlock:
    """Forbids the model to call a tool from here on."""

    type: ClassVar[str] = "tool_removal"
    tool: JsonObject
    cache_control: CacheControl | None = None


@frozen
class McpToolListingBlock:
    """The tools that an MCP server listed while a response was made; they are not listed again."""

    type: ClassVar[str] = "mcp_tool_listing"
    mcp_server_name: str
    tools: tuple[JsonObject, ...]


@frozen(kw_only=True)
class FallbackBlock:
    """The place where the response of one model ends and that of another begins."""

    type: ClassVar[str] = "fallback"
    from_: JsonObject | None = None
    """The model that declined."""
    to: JsonObject
    """The model that continues."""
    trigger: JsonValue = None


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
"""The result of any of the provider's tools."""

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
    CompactionBlock,
    FallbackBlock,
    McpToolListingBlock,
    ToolAdditionBlock,
    ToolRemovalBlock,
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
    CompactionBlock,
    FallbackBlock,
    McpToolListingBlock,
    Raw,
]
"""Any block of a response."""
