"""The blocks of a message: the open one, and those that are complete.

    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}

A tool's input is passed on as the model writes it, once it begins as an object. Other forms (a JSON
text that holds the object, nothing at all, a freeform tool's text) are written when they are whole,
because clients parse the pieces as one object.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jiter

from llmcore.fronts.anthropic_messages.compaction import streamed_compaction
from llmcore.fronts.front import Event
from llmcore.protocols.anthropic_messages.names import COMPACTION, Block
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import ToolCall
from llmcore.schema.json import JsonValue, plain_json, text_or_json


def _delta(index: int, **delta: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


class OpenBlock:
    """A block that is not complete."""

    kind: ClassVar[str]
    """The kind of segment that it shows."""
    _empty: ClassVar[Block]
    _delta: ClassVar[tuple[str, str]]
    """The type of its deltas, and their field."""
    held = False
    """Whether its content is buffered."""

    def __init__(self, index: int) -> None:
        self._index = index

    def start(self) -> Event:
        """Return the event that opens the block."""
        return _started(self._index, dict(self._empty))

    def delta(self, text: str) -> Event:
        """Return the event of more content: the per-token path."""
        type_, field = self._delta
        delta = {"type": type_, field: text}
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


class OpenText(OpenBlock):
    """An open block of text."""

    kind = "text"
    _empty: ClassVar[Block] = {"type": "text", "text": ""}
    _delta = ("text_delta", "text")


class OpenThinking(OpenBlock):
    """An open block of thinking."""

    kind = "reasoning"
    _empty: ClassVar[Block] = {"type": "thinking", "thinking": "", "signature": ""}
    _delta = ("thinking_delta", "thinking")


class OpenToolUse(OpenBlock):
    """A call whose input is not complete: it is buffered until its first character, or its end."""

    kind = "tool"
    _delta = ("input_json_delta", "partial_json")

    def __init__(
        self, index: int, id_: str, name: str, *, freeform: bool, native: Mapping[str, Any]
    ) -> None:
        """Begin a call; *native* holds its further fields from an upstream of the same API."""
        super().__init__(index)
        self.id = id_
        self.name = name
        self.own = native
        self._freeform = freeform
        self._spaces = ""
        self.held = True
        self._waits = freeform

    def start(self) -> Event:
        """Return the event that opens the block."""
        block = {"type": "tool_use", "id": self.id, "name": self.name, "input": {}}
        return _started(self._index, {**block, **self.own})

    def more(self, text: str) -> Event | None:
        """Return the event of more input; None while it is buffered."""
        if not self.held:
            return self.delta(text)
        if self._waits:
            return None
        self._spaces += text
        head = self._spaces.lstrip()
        if not head:
            return None
        if head[0] != "{":
            self._waits = True
            return None
        self.held = False
        return self.delta(self._spaces)


def _started(index: int, block: Block) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


class BlockWriter:
    """Adds to the events of one message, and collects its blocks as they end."""

    def __init__(self, events: list[Event]) -> None:
        self.content: list[Block] = []
        """Blocks that are complete."""
        self._events = events

    @property
    def index(self) -> int:
        """The number of the open block, or else of the next."""
        return len(self.content)

    @property
    def ends_with_text(self) -> bool:
        """Whether the last complete block is a text."""
        return bool(self.content) and self.content[-1]["type"] == "text"

    def write(self, event: Event) -> None:
        """Add an event."""
        self._events.append(event)

    def _stop(self, block: Block) -> None:
        self.write({"type": "content_block_stop", "index": self.index})
        self.content.append(block)

    def end_text(self, text: str, citations: Sequence[Block]) -> None:
        """End the open text."""
        for citation in citations:
            self.write(_delta(self.index, type="citations_delta", citation=citation))
        cited = {"citations": list(citations)} if citations else {}
        self._stop({"type": "text", "text": text, **cited})

    def end_thinking(self, text: str, signature: str) -> None:
        """End the open thinking with its signature."""
        self.write(_delta(self.index, type="signature_delta", signature=signature))
        self._stop({"type": "thinking", "thinking": text, "signature": signature})

    def end_tool_use(self, block: OpenToolUse, call: ToolCall) -> Mapping[str, Any]:
        """End the open call; return its input, which is an object whatever the model wrote."""
        arguments = call.arguments
        if call.kind == "function" and isinstance(arguments, str):
            arguments = _object_so_far(arguments)
        if call.kind == "custom" or not isinstance(arguments, Mapping):
            arguments = freeform_arguments(text_or_json(call.arguments))
        if block.held and arguments:
            self.write(block.delta(json.dumps(arguments).decode()))
        shown = {"id": block.id, "name": block.name, "input": dict(arguments)}
        self._stop({"type": "tool_use", **shown, **block.own})
        return arguments

    def redacted(self, data: str) -> None:
        """Write a block that only carries *data*."""
        self.whole({"type": "redacted_thinking", "data": data})

    def server_call(self, block: Block) -> None:
        """Write a call of a tool that the provider ran."""
        self.write(_started(self.index, {**block, "input": {}}))
        if block["input"]:
            text = json.dumps(block["input"]).decode()
            self.write(_delta(self.index, type="input_json_delta", partial_json=text))
        self._stop(block)

    def whole(self, block: Block) -> None:
        """Write a block that comes complete."""
        if block.get("type") == COMPACTION:
            begun, delta = streamed_compaction(block)
            self.write(_started(self.index, begun))
            self.write(_delta(self.index, **delta))
        else:
            self.write(_started(self.index, dict(block)))
        self._stop(dict(block))


def _object_so_far(text: str) -> JsonValue:
    """Return the object that the beginning of its JSON makes, as the SDKs read that of a stream.

    Source: the `anthropic` package, 2.14.0 (`lib/streaming/_messages.accumulate_event`).
    """
    data = text.encode("utf-8", "replace")
    try:
        return plain_json(jiter.from_json(data, partial_mode=True), "input")
    except (ValueError, InvalidRequestError):  # also for infinite numbers
        return None
