"""Groq's compound systems: the tools that the server ran by itself.

Source: https://console.groq.com/docs/compound (`executed_tools`), read November 2026.
"""

from typing import Any

from llmcore.protocols.loose_json import dicts, integer, mapping, string
from llmcore.protocols.openai_chat.content import announce
from llmcore.protocols.openai_chat.names import METADATA_KEY
from llmcore.protocols.openai_chat.state import Chunk, State, close_segment
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, ToolCall, ToolResult
from llmcore.schema.json import JsonValue


def on_executed_tools(state: State, delta: Chunk, _choice: Chunk, events: list[LLMEvent]) -> State:
    """Report the tools in *delta*, and the pages they found.

    A tool may come twice: when it starts, and again with its output.
    """
    for number, tool in enumerate(dicts(delta.get("executed_tools"))):
        state = close_segment(state, events)
        index = integer(tool.get("index"))
        id_ = f"executed_{number if index is None else index}"
        name = string(tool.get("name")) or string(tool.get("type")) or "tool"
        if id_ not in state.calls.executed:
            events.append(ToolCall(id_, name, _arguments(tool), provider_executed=True))
            executed = state.calls.executed | {id_}
            state = changed(state, calls=changed(state.calls, executed=executed))
        if tool.get("output") is not None:
            events.append(
                ToolResult(
                    id_,
                    tool["output"],
                    name=name,
                    provider_executed=True,
                    provider_metadata={METADATA_KEY: {"executed_tool": tool}},
                )
            )
        for result in dicts(mapping(tool.get("search_results")).get("results")):
            state = announce(state, result.get("url"), result.get("title"), events)
    return state


def _arguments(tool: Chunk) -> JsonValue:
    arguments: Any = tool.get("arguments")
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments or {}
