"""Tools that a conversation makes available, or withdraws, after its beginning.

    {"type": "tool_result", ..., "content": [{"type": "tool_reference", "tool_name": "read"}]}
    {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}
    {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": ...}}}
    {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "read"}}

The first is what a search of the client's own found; the others are blocks of system messages, or
are in the `tool_changes` of a compaction of the messages that had them.
Sources, read November 2026:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
https://pypi.org/project/anthropic/2.14.0/ (`types/beta/beta_tool_change_*_param.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import field

from llmcore.fronts.reading import Fields
from llmcore.protocols.anthropic_messages.names import COMPACTION, Block
from llmcore.schema.frozen import frozen
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none

_ADDITION: Final = "tool_addition"
_REMOVAL: Final = "tool_removal"
_CHANGING: Final = ("tool_result", _ADDITION, _REMOVAL)
"""The types of blocks that change tools; the result of a search has a list as its content."""


@frozen(kw_only=True)
class ToolChanges:
    """The tools that a conversation has made available, and those that it has withdrawn."""

    available: tuple[str, ...] = ()
    """The names of tools that were made available, in the order of their first mention."""
    withdrawn: frozenset[str] = frozenset()
    """The names of tools that were withdrawn since."""
    definitions: Mapping[str, tuple[Fields, str]] = field(factory=dict)
    """Tools that the messages define, with their places, by name."""


def tool_changes(messages: Iterable[Fields]) -> ToolChanges:
    """Return the changes that native *messages* make."""
    available: dict[str, None] = {}
    withdrawn: set[str] = set()
    definitions: dict[str, tuple[Fields, str]] = {}
    for block, path in _blocks(messages):
        name = changed_tool(block)
        if name is None:
            available |= dict.fromkeys(_found(block))
            continue
        if block["type"] == _REMOVAL:
            withdrawn.add(name)
            continue
        available[name] = None
        withdrawn.discard(name)
        definition = object_or_empty(block["tool"]).get("definition")
        if isinstance(definition, dict):
            definitions[name] = (definition, f"{path}.tool.definition")
    return ToolChanges(
        available=tuple(available), withdrawn=frozenset(withdrawn), definitions=definitions
    )


def _blocks(messages: Iterable[Fields]) -> Iterable[tuple[Block, str]]:
    """Yield the blocks of *messages* that may change tools, with their places.

    Among them are the changes that a summary repeats.
    """
    for index, native in enumerate(messages):
        for place, block in enumerate(objects(native.get("content"))):
            kind = block.get("type")
            if kind == COMPACTION:
                for number, change in enumerate(objects(block.get("tool_changes"))):
                    yield change, f"messages[{index}].content[{place}].tool_changes[{number}]"
            elif kind in _CHANGING and not isinstance(block.get("content"), str):
                yield block, f"messages[{index}].content[{place}]"


def changed_tool(block: Block) -> str | None:
    """Return the name of the tool that *block* adds or removes.

    None for other blocks, and for tools of an MCP server, which only Anthropic knows.
    """
    tool: Mapping[str, Any] = object_or_empty(block.get("tool"))
    kind = block.get("type")
    if kind in (_ADDITION, _REMOVAL) and tool.get("type") == "tool_reference":
        return str_or_none(tool.get("name"))
    if kind == _ADDITION and tool.get("type") == "tool_definition":
        return str_or_none(object_or_empty(tool.get("definition")).get("name"))
    return None


def change_as_text(block: Block) -> str | None:
    """Return what *block* tells a model whose API has no such blocks; None for other blocks."""
    if block.get("type") == "tool_reference":
        return f"The tool {str_or_empty(block.get('tool_name'))} is available now."
    name = changed_tool(block)
    if name is None:
        return None
    news = "is available now" if block["type"] == _ADDITION else "is no longer available"
    return f"The tool {name} {news}."


def _found(block: Block) -> Iterable[str]:
    """Yield the names of the tools that a search among tools found."""
    if block.get("type") == "tool_result":
        for item in objects(block.get("content")):
            name = str_or_none(item.get("tool_name"))
            if name is not None:
                yield name
