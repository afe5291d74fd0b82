"""The request body, with its tools and the choice among them.

Source: https://platform.claude.com/docs/en/api/messages/create, read November 2026.
Tools: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference, read November
2026. The provider's tools are versioned: a class is a family, its `type` the version.
"""

from typing import ClassVar, Literal, TypeAlias, Union

from attrs import field

from llmcore.protocols.anthropic_messages.contract.blocks import ContentBlock, TextBlock
from llmcore.protocols.anthropic_messages.contract.sources import (
    CacheControl,
    CitationsConfig,
    Raw,
    always,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, plain_object

# -- tools


@frozen(kw_only=True)
class ClientTool:
    """A tool of the caller's own. Its type, `custom`, is not written: it is the default."""

    name: str
    description: str | None = None
    input_schema: JsonObject
    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: tuple[str, ...] | None = None
    input_examples: tuple[JsonObject, ...] | None = None
    eager_input_streaming: bool | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class _BuiltIn:
    """The fields that all tools defined by the provider share."""

    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: tuple[str, ...] | None = None
    input_examples: tuple[JsonObject, ...] | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class BashTool(_BuiltIn):
    """A shell that the caller runs."""

    type: Literal["bash_20241022", "bash_20250124"] = always("bash_20250124")
    name: str = always("bash")


@frozen(kw_only=True)
class TextEditorTool(_BuiltIn):
    """Edits of files that the caller makes."""

    type: Literal[
        "text_editor_20241022",
        "text_editor_20250124",
        "text_editor_20250429",
        "text_editor_20250728",
    ] = always("text_editor_20250728")
    name: str = always("str_replace_based_edit_tool")
    max_characters: int | None = None


@frozen(kw_only=True)
class MemoryTool(_BuiltIn):
    """Notes that the caller keeps."""

    type: Literal["memory_20250818"] = always("memory_20250818")
    name: str = always("memory")


@frozen(kw_only=True)
class ComputerTool(_BuiltIn):
    """A screen and its mouse, moved by the caller: one tool with actions."""

    type: Literal["computer_20241022", "computer_20250124", "computer_20251124"] = always(
        "computer_20251124"
    )
    name: str = always("computer")
    display_width_px: int
    display_height_px: int
    display_number: int | None = None
    enable_zoom: bool | None = None


@frozen(kw_only=True)
class Toolset:
    """A family of tools that the caller runs, each called by its own name."""

    type: Literal["computer_toolset_20260801", "browser_toolset_20260801"] = always(
        "computer_toolset_20260801"
    )
    configs: JsonObject | None = None
    cache_control: CacheControl | None = None


@frozen(kw_only=True)
class WebSearchTool(_BuiltIn):
    """Searches the web."""

    type: Literal["web_search_20250305", "web_search_20260209", "web_search_20260318"] = always(
        "web_search_20250305"
    )
    name: str = always("web_search")
    max_uses: int | None = None
    allowed_domains: tuple[str, ...] | None = None
    blocked_domains: tuple[str, ...] | None = None
    user_location: JsonObject | None = None
    response_inclusion: str | None = None


@frozen(kw_only=True)
class WebFetchTool(_BuiltIn):
    """Reads web pages."""

    type: Literal[
        "web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"
    ] = always("web_fetch_20250910")
    name: str = always("web_fetch")
    max_uses: int | None = None
    allowed_domains: tuple[str, ...] | None = None
    blocked_domains: tuple[str, ...] | None = None
    citations: CitationsConfig | None = None
    max_content_tokens: int | None = None
    response_inclusion: str | None = None
    url_sources: JsonObject | None = None
    use_cache: bool | None = None


@frozen(kw_only=True)
class CodeExecutionTool(_BuiltIn):
    """Runs code in the provider's sandbox."""

    type: Literal[
        "code_execution_20250522",
        "code_execution_20250825",
        "code_execution_20260120",
        "code_execution_20260521",
    ] = always("code_execution_20250825")
    name: str = always("code_execution")


@frozen(kw_only=True)
class ToolSearchTool(_BuiltIn):
    """Search among tools that are not shown at first."""

    type: Literal[
        "tool_search_tool_bm25_20251119",
        "tool_search_tool_bm25",
        "tool_search_tool_regex_20251119",
        "tool_search_tool_regex",
    ] = always("tool_search_tool_bm25_20251119")
    name: str = always("tool_search_tool_bm25")


@frozen(kw_only=True)
class AdvisorTool(_BuiltIn):
    """Another model that the model may ask."""

    type: Literal["advisor_20260301"] = always("advisor_20260301")
    name: str = always("advisor")
    model: str
    caching: CacheControl | None = None
    max_tokens: int | None = None
    max_uses: int | None = None


@frozen(kw_only=True)
class McpToolset:
    """The tools of one of the request's MCP servers."""

    type: Literal["mcp_toolset"] = always("mcp_toolset")
    mcp_server_name: str
    default_config: JsonObject | None = None
    configs: JsonObject | None = None
    tools: tuple[JsonObject, ...] | None = None
    cache_control: CacheControl | None = None


AnyTool: TypeAlias = Union[
    ClientTool,
    BashTool,
    TextEditorTool,
    MemoryTool,
    ComputerTool,
    Toolset,
    WebSearchTool,
    WebFetchTool,
    CodeExecutionTool,
    ToolSearchTool,
    AdvisorTool,
    McpToolset,
    Raw,
]
"""Any tool definition; a later version than these is `Raw`."""


@frozen
class ToolChoiceAuto:
    """The model decides."""

    type: ClassVar[str] = "auto"
    disable_parallel_tool_use: bool | None = None


@frozen
class ToolChoiceAny:
    """The model must call a tool."""

    type: ClassVar[str] = "any"
    disable_parallel_tool_use: bool | None = None


@frozen
class ToolChoiceTool:
    """The model must call this tool."""

    type: ClassVar[str] = "tool"
    name: str
    disable_parallel_tool_use: bool | None = field(default=None, kw_only=True)


@frozen
class ToolChoiceNone:
    """The model may call no tool."""

    type: ClassVar[str] = "none"


ToolChoice: TypeAlias = Union[ToolChoiceAuto, ToolChoiceAny, ToolChoiceTool, ToolChoiceNone]
"""Exactly one of the four."""


# -- the body


@frozen
class InputMessage:
    """A turn: a string, or blocks.

    `system` is only taken by some models, and only after a user's turn.
    """

    role: Literal["user", "assistant", "system"]
    content: str | tuple[ContentBlock, ...]
    clear_at: str | None = field(default=None, kw_only=True)
    output_config: JsonObject | None = field(default=None, kw_only=True)


@frozen
class RequestMetadata:
    """The end user that the request is made for."""

    user_id: str | None = None


@frozen(kw_only=True)
class ThinkingEnabled:
    """Think with a budget: at least 1,024 tokens and fewer than `max_tokens`."""

    type: ClassVar[str] = "enabled"
    budget_tokens: int
    display: str | None = None
    block_binding: JsonObject | None = None


@frozen(kw_only=True)
class ThinkingAdaptive:
    """Think as much as the task needs."""

    type: ClassVar[str] = "adaptive"
    display: str | None = None
    block_binding: JsonObject | None = None


@frozen
class ThinkingBetweenTools:
    """Think between tool calls only."""

    type: ClassVar[str] = "between_tools"


@frozen
class ThinkingDisabled:
    """Do not think."""

    type: ClassVar[str] = "disabled"


Thinking: TypeAlias = Union[
    ThinkingEnabled, ThinkingDisabled, ThinkingBetweenTools, ThinkingAdaptive
]
"""Exactly one of the four."""


@frozen
class JsonFormat:
    """A JSON Schema that the response's text must match."""

    type: ClassVar[str] = "json_schema"
    schema: JsonObject


@frozen(kw_only=True)
class OutputConfig:
    """The response's format, and the effort put into it."""

    format: JsonFormat | None = None
    effort: str | None = None
    task_budget: JsonObject | None = None


@frozen(kw_only=True)
class MessagesRequest:
    """The body of `POST /v1/messages`.

    Top-level fields that are not modelled are kept in `extra_fields` and written back; a
    field that is set wins over one of the same name there.
    """

    model: str
    max_tokens: int
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    metadata: RequestMetadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    cache_control: CacheControl | None = None
    """Asks the provider to place a breakpoint on the last block by itself."""
    extra_fields: JsonObject = field(factory=dict, converter=plain_object)
    tool_choice: ToolChoice | None = None
    tools: tuple[AnyTool, ...] | None = None
    system: str | tuple[TextBlock, ...] | None = None
    messages: tuple[InputMessage, ...]
