"""OpenAI Chat Completions: the per-token path.

Most chunks of an answer only continue what is open. Those are read without building the whole
chunk: of its fields, only the ones that could say more are looked at. `step` would give the same
event, at several times the cost.
"""

from typing import Any, Final

import msgspec

from llmcore.protocols.openai_chat.state import State
from llmcore.protocols.protocol import Frame
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta, ToolInputDelta


class _Choice(msgspec.Struct):
    delta: dict[str, Any]
    message: Any = None
    index: Any = None
    finish_reason: Any = None
    logprobs: Any = None
    usage: Any = None
    error: Any = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice]
    usage: Any = None
    error: Any = None
    citations: Any = None
    search_results: Any = None
    x_groq: Any = None


_FIRST: Final = (0, None)
_read: Final = msgspec.json.Decoder(_Chunk).decode


def continued(state: State, frame: Frame) -> LLMEvent | None:
    """Return the delta of a chunk that only continues what is open; None for any other."""
    hot = state.hot
    name, data = frame
    if not hot or name == "error":
        return None
    try:
        chunk = _read(data)
        (choice,) = chunk.choices
        delta = choice.delta
        value = delta[hot]
        if not value or choice.finish_reason or choice.index not in _FIRST:
            return None
        if chunk.usage is not None or choice.usage is not None:
            return None
        if choice.logprobs or choice.message:
            return None
        if len(delta) > 1:
            for key, other in delta.items():
                if other and key not in (hot, "role"):
                    return None
        if chunk.error or chunk.citations or chunk.search_results or chunk.x_groq or choice.error:
            return None
        if hot == "tool_calls":
            return _arguments(state, value)
        if type(value) is not str:
            return None
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, RecursionError):
        return None
    kind = TextDelta if hot == "content" else ReasoningDelta
    return kind(state.segment, value)


def _arguments(state: State, fragments: Any) -> LLMEvent | None:
    """Return the delta of one fragment that only continues the current call."""
    (fragment,) = fragments
    call = state.calls.current
    function = fragment["function"]
    text = function["arguments"]
    if call is None or type(text) is not str or not text or fragment.get("index") != call.index:
        return None
    id_, name = fragment.get("id"), function.get("name")
    if (id_ and id_ != call.wire_id) or (name and (name != call.name or not id_)):
        return None
    return ToolInputDelta(call.id, text)
