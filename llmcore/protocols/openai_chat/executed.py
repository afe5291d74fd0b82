"""OpenAI Chat Completions: calls of tools that the provider ran itself.

Groq lists them, each once when it starts and again with its output:

    {"delta": {"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": ""}]}}

Source, read November 2026: https://console.groq.com/docs/agentic-tooling.
"""

from msgspec.structs import replace

from llmcore.protocols.openai_chat.content import announce_page
from llmcore.protocols.openai_chat.names import METADATA_KEY, NativeObject
from llmcore.protocols.openai_chat.state import ChatState, close_segment
from llmcore.protocols.persistent import with_entry
from llmcore.schema.events import LLMEvent, ToolCall, ToolResult
from llmcore.schema.json import (
    JsonValue,
    int_or_none,
    json_or_text,
    object_or_empty,
    objects,
    str_or_none,
)


def on_executed_tools(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: list[LLMEvent]
) -> ChatState:
    """Emit the tools in *delta* that the provider ran, and the pages they found.

    A tool may come twice: when it starts, and again with its output.
    """
    for number, tool in enumerate(objects(delta.get("executed_tools"))):
        state = close_segment(state, events)
        index = int_or_none(tool.get("index"))
        id_ = f"executed_{number if index is None else index}"
        name = str_or_none(tool.get("name")) or str_or_none(tool.get("type")) or "tool"
        if id_ not in state.calls.executed:
            events.append(ToolCall(id_, name, _arguments(tool), provider_executed=True))
            executed = with_entry(state.calls.executed, id_, None)
            state = replace(state, calls=replace(state.calls, executed=executed))
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
        for result in objects(object_or_empty(tool.get("search_results")).get("results")):
            state = announce_page(state, result.get("url"), result.get("title"), events)
    return state


def _arguments(tool: NativeObject) -> JsonValue:
    arguments: JsonValue = tool.get("arguments") or {}
    return json_or_text(arguments) if isinstance(arguments, str) else arguments
