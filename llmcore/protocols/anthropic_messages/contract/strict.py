"""What the strict mode of the codec admits: the contract's own variants and values, no others.

The types model more than that: what later versions of the API added. Reading with
`tolerant=True` admits all of it, and keeps objects of unknown types as `Raw`.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.anthropic_messages.contract import blocks, request, response, tools
from llmcore.protocols.anthropic_messages.contract.blocks import Raw

LATER: Final[frozenset[type]] = frozenset(
    {
        Raw,
        blocks.ToolReferenceBlock,
        blocks.McpToolUseBlock,
        blocks.McpToolResultBlock,
        blocks.WebFetchToolResultBlock,
        blocks.CodeExecutionToolResultBlock,
        blocks.BashCodeExecutionToolResultBlock,
        blocks.TextEditorCodeExecutionToolResultBlock,
        blocks.ToolSearchToolResultBlock,
        blocks.AdvisorToolResultBlock,
        blocks.ContainerUploadBlock,
        response.CompactionDelta,
        request.ThinkingAdaptive,
        request.ThinkingBetweenTools,
        blocks.FileSource,
        tools.MemoryTool,
        tools.ComputerTool,
        tools.Toolset,
        tools.WebFetchTool,
        tools.CodeExecutionTool,
        tools.ToolSearchTool,
        tools.AdvisorTool,
        tools.McpToolset,
    }
)
"""Variants of unions that only the tolerant mode reads."""

STOP_REASONS: Final = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
)

_VALUES: Final[Mapping[type, Mapping[str, tuple[str, ...]]]] = {
    request.InputMessage: {"role": ("user", "assistant")},
    response.MessagesResponse: {"role": ("assistant",), "stop_reason": STOP_REASONS},
    response.MessageChange: {"stop_reason": STOP_REASONS},
    tools.BashTool: {"type": ("bash_20250124",)},
    tools.TextEditorTool: {
        "type": ("text_editor_20250124", "text_editor_20250429", "text_editor_20250728")
    },
    tools.WebSearchTool: {"type": ("web_search_20250305",)},
}
"""The values of fields that admit fewer than their type; null stays what it is."""

_REQUIRED: Final[Mapping[type, tuple[str, ...]]] = {response.MessagesResponse: ("role",)}
"""Fields that must be there although their type has a default."""


def check(kind: type, data: Mapping[str, Any]) -> None:
    """Raise ValueError if *data*, to be read as a *kind*, has what the contract does not admit."""
    for name in _REQUIRED.get(kind, ()):
        if name not in data:
            raise ValueError(f"required field missing: {name}")
    for name, admitted in _VALUES.get(kind, {}).items():
        value = data.get(name)
        if value is not None and value not in admitted:
            raise ValueError(f"{name} is {value!r}, not one of {', '.join(admitted)}")
