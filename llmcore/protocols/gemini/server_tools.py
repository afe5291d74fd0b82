"""Gemini: reading the tools that the service ran itself.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/code-execution
(`executableCode`, `codeExecutionResult`) and https://ai.google.dev/gemini-api/docs/tool-combination
(`toolCall`, `toolResponse`). Each part is kept as it came, for it must go back so.
"""

from typing import Final

from llmcore.protocols.gemini.content import without
from llmcore.protocols.gemini.function_calls import take_id
from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.protocols.gemini.state import Chunk, State, change, close_segment
from llmcore.protocols.native_json import object_or_empty, str_or_none
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, ToolCall, ToolResult

CODE_EXECUTION: Final = "code_execution"


def on_code(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take code that the model wrote to be run."""
    code = object_or_empty(part.get("executableCode"))
    call = ToolCall(str_or_none(code.get("id")) or "", CODE_EXECUTION, without(code, "id"))
    return _on_call(state, part, call, events)


def on_code_result(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take what running the code gave."""
    given = object_or_empty(part.get("codeExecutionResult"))
    failed = given.get("outcome") not in ("OUTCOME_OK", None)
    id_ = str_or_none(given.get("id")) or ""
    result = ToolResult(id_, without(given, "id"), name=CODE_EXECUTION, is_error=failed)
    return _on_result(state, part, result, events)


def on_tool_call(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take a call of one of the service's other tools."""
    given = object_or_empty(part.get("toolCall"))
    call = ToolCall(
        str_or_none(given.get("id")) or "", _name(given), object_or_empty(given.get("args"))
    )
    return _on_call(state, part, call, events)


def on_tool_response(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take what such a tool returned."""
    given = object_or_empty(part.get("toolResponse"))
    id_ = str_or_none(given.get("id")) or ""
    result = ToolResult(id_, object_or_empty(given.get("response")), name=_name(given))
    return _on_result(state, part, result, events)


def _name(tool: Chunk) -> str:
    """Return the tool's type in lower case, such as `google_search_web`."""
    return (str_or_none(tool.get("toolType")) or "tool").lower()


def _on_call(state: State, part: Chunk, call: ToolCall, events: list[LLMEvent]) -> State:
    """Report *call*, under an id that no other has."""
    state, id_ = take_id(close_segment(state, events), call.id or None)
    metadata = {METADATA_KEY: {"part": part}}
    events.append(changed(call, id=id_, provider_executed=True, provider_metadata=metadata))
    return change(state, running=id_)


def _on_result(state: State, part: Chunk, result: ToolResult, events: list[LLMEvent]) -> State:
    """Report *result*, under the id of its call: the one it names, else the one that waits."""
    state = close_segment(state, events)
    id_ = result.tool_call_id
    if id_ not in state.answer.ids:
        id_ = state.answer.running or id_
    if not id_:
        state, id_ = take_id(state, None)
    metadata = {METADATA_KEY: {"part": part}}
    events.append(
        changed(result, tool_call_id=id_, provider_executed=True, provider_metadata=metadata)
    )
    return change(state, running=None)
