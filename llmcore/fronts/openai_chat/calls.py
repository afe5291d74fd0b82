r"""Writes the calls that the client runs as they arrive, each under its index.

    {"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                     "function": {"name": "weather", "arguments": ""}}]}
    {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}
    {"function_call": {"name": "weather", "arguments": ""}}        the form before tools

`id`, `type` and `name` come once: clients join strings. Calls of freeform tools have the type
`custom` for clients that listed such a tool, and are functions of one string for others: streams of
OpenAI's own have the type, and its documents, and the SDKs made from them, lack it there
(https://github.com/openai/openai-openapi/issues/576). Source:
https://developers.openai.com/api/reference/resources/chat (streaming events), read November 2026.
"""

from collections.abc import Container
from operator import attrgetter
from typing import Any, Final

from attrs import define

from llmcore.fronts.openai_chat.chunks import ChunkWriter
from llmcore.protocols.tools import FREEFORM_FIELD, freeform_arguments
from llmcore.schema import json
from llmcore.schema.content import ToolCallKind, ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import ToolInputDelta, ToolInputStart

_OPENING: Final = f'{{"{FREEFORM_FIELD}":"'
_CLOSING: Final = '"}'


@define
class _Call:
    """A call that is not complete."""

    id: str
    name: str
    index: int
    kind: ToolCallKind
    wraps: bool
    """Whether a freeform input is written as the arguments of a function."""
    text: str = ""
    """The whole input, once it has ended."""
    written: bool = False
    """Whether any of its input was written."""

    def named(self, text: str) -> dict[str, Any]:
        """Return the tool's name with *text* as its input."""
        return {"name": self.name, self.field: text}

    @property
    def field(self) -> str:
        """The name of the field that holds the input."""
        return "input" if self.kind == "custom" else "arguments"


class CallWriter:
    """Writes the calls of one response."""

    def __init__(
        self,
        chunks: ChunkWriter,
        diagnostics: Diagnostics,
        *,
        custom_tools: Container[str],
        legacy: bool,
        whole: bool = False,
    ) -> None:
        self._chunks = chunks
        self._diagnostics = diagnostics
        self._custom_tools = custom_tools
        self._legacy = legacy
        self._whole = whole and not legacy
        self._written = 0
        """How many calls were written, if each is in one chunk."""
        self._calls: dict[str, _Call] = {}

    def begin(self, event: ToolInputStart, shown_id: str) -> None:
        """Write the head of a call."""
        wraps = event.kind == "custom" and (self._legacy or event.name not in self._custom_tools)
        kind = "function" if wraps else event.kind
        call = _Call(shown_id, event.name, len(self._calls), kind, wraps)
        self._calls[event.id] = call
        if self._whole:
            return
        if not self._legacy:
            head = {"index": call.index, "id": shown_id, "type": kind, kind: call.named("")}
            self._chunks.write({"tool_calls": [head]})
        elif not call.index:
            self._chunks.write({"function_call": call.named("")})
        else:
            why = "a client that lists functions, and not tools, takes one call"
            self._diagnostics.at(f"choices[0].message.tool_calls[{call.index}]").left_out(
                "a call", why
            )
        if wraps:
            self._write(call, _OPENING)

    def more(self, event: ToolInputDelta) -> None:
        """Write more of an input."""
        call = self._calls.get(event.id)
        if call is not None and event.text and not self._whole:
            self._write(call, _escaped(event.text) if call.wraps else event.text)

    def _write(self, call: _Call, text: str) -> None:
        call.written = call.written or bool(text.strip())
        if not self._legacy:
            entry = {"index": call.index, call.kind: {call.field: text}}
            self._chunks.write({"tool_calls": [entry]})
        elif not call.index:
            self._chunks.write({"function_call": {call.field: text}})

    def end(self, id_: str, part: ToolCallPart, text: str | None) -> None:
        """End a call whose input was *text*; no arguments are an empty object."""
        call = self._calls.get(id_)
        if call is None:
            return
        call.text = part.arguments_text if text is None or not text.strip() else text
        if call.wraps:
            call.text = json.dumps(freeform_arguments(part.arguments_text)).decode()
        if self._whole:
            # numbered in the order of their ends, which is that of the chunks
            call.index, self._written = self._written, self._written + 1
            self._chunks.write({"tool_calls": [{"index": call.index, **_native(call)}]})
        elif call.wraps:
            self._write(call, _CLOSING)
        elif not call.written and call.kind == "function":
            self._write(call, "{}")

    def fields(self) -> dict[str, Any]:
        """Return the fields of the whole message; none without calls, as clients expect."""
        calls = list(self._calls.values())
        if self._whole:
            calls.sort(key=attrgetter("index"))
        if not calls:
            return {}
        if self._legacy:
            return {"function_call": calls[0].named(calls[0].text)}
        return {"tool_calls": [_native(call) for call in calls]}


def _native(call: _Call) -> dict[str, Any]:
    """Return a whole call."""
    return {"id": call.id, "type": call.kind, call.kind: call.named(call.text)}


def _escaped(text: str) -> str:
    """Return *text* as it is between the quotes of JSON."""
    return json.dumps(text).decode()[1:-1]
