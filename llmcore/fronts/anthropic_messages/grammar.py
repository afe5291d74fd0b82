"""The grammar of a Messages stream, executable.

    message_start
      ( ping
      | content_block_start  content_block_delta*  content_block_stop )*
    message_delta+
    message_stop                                                        or error, anywhere

Blocks are numbered from 0 without a gap, and one is open at a time. A signature is the last delta
of its block; counts are whole numbers, and those of the output only grow. Readers
must accept more, such as blocks that are open at the same time: `SequenceChecker` of the contract
(`llmcore.protocols.anthropic_messages.contract`) has their rules. Source:
https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from llmcore.fronts.front import Event
from llmcore.fronts.grammar import GrammarChecker
from llmcore.protocols.anthropic_messages import names
from llmcore.schema.native_json import int_or_none, object_or_empty, str_or_none

_BEGINNINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    names.COMPACTION: {"content": None},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
}
"""The fields of a block before its deltas."""
_OF_MESSAGE: Final = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence")


class MessagesChecker(GrammarChecker):
    """Checks one stream of Messages."""

    _unfinished = "no message_stop, and no error"

    def __init__(self) -> None:
        super().__init__()
        self._started = False
        self._finished = False
        self._index = 0
        self._block: Mapping[str, Any] | None = None
        self._signed = False
        self._output = 0

    def _check(self, event: Event) -> None:
        kind = str(event.get("type"))
        first = self._started or kind in ("message_start", "error")
        self._expect(first, "message_start comes first")
        handler = self._HANDLERS.get(kind)
        if handler is None:
            self._expect(False, "is an event that the API does not have")
        else:
            handler(self, event)

    # -- the message

    def _start(self, event: Event) -> None:
        self._expect(not self._started, "the message has started already")
        self._started = True
        message = object_or_empty(event.get("message"))
        missing = [name for name in _OF_MESSAGE if name not in message]
        self._expect(not missing, f"the message lacks {', '.join(missing)}")
        self._expect(message.get("content") == [], "the message begins with content")
        usage = object_or_empty(message.get("usage"))
        for name in (names.INPUT_TOKENS, names.OUTPUT_TOKENS):
            self._expect(int_or_none(usage.get(name)) is not None, f"usage.{name} is not a number")
        self._output = int_or_none(usage.get(names.OUTPUT_TOKENS)) or 0

    def _change(self, event: Event) -> None:
        self._expect(self._block is None, "a block is still open")
        self._finished = True
        delta = object_or_empty(event.get("delta"))
        reason = delta.get("stop_reason")
        self._expect("stop_sequence" in delta, "stop_sequence is missing")
        self._expect(reason is None or reason in names.FINISH_REASONS, f"stop_reason is {reason!r}")
        usage = object_or_empty(event.get("usage"))
        output = int_or_none(usage.get(names.OUTPUT_TOKENS))
        self._expect(output is not None, f"usage.{names.OUTPUT_TOKENS} is not a number")
        self._expect((output or 0) >= self._output, f"{names.OUTPUT_TOKENS} fell")
        negative = [name for name, n in usage.items() if isinstance(n, int) and n < 0]
        self._expect(not negative, f"counts below 0: {', '.join(negative)}")

    def _stop(self, _event: Event) -> None:
        self._expect(self._finished, "message_delta comes before it")
        self.ended = True

    def _error(self, event: Event) -> None:
        error = object_or_empty(event.get("error"))
        is_complete = str_or_none(error.get("type")) and isinstance(error.get("message"), str)
        self._expect(is_complete, "the error lacks its type or its message")
        self.ended = True

    def _ping(self, _event: Event) -> None:
        """Accept a keep-alive."""

    # -- blocks

    def _block_start(self, event: Event) -> None:
        block = object_or_empty(event.get("content_block"))
        kind = str(block.get("type"))
        self._expect(not self._finished, "comes after message_delta")
        self._expect(self._block is None, "another block is open")
        self._expect(event.get("index") == self._index, f"index is {event.get('index')}")
        for name, value in _BEGINNINGS.get(kind, {}).items():
            self._expect(block.get(name) == value, f"{name} begins as {block.get(name)!r}")
        if kind in names.TOOL_CALL_TYPES:
            self._expect(str_or_none(block.get("id")), "the call has no id")
            self._expect(isinstance(block.get("name"), str), "the call has no name")
        self._block, self._signed = block, False

    def _block_delta(self, event: Event) -> None:
        delta = object_or_empty(event.get("delta"))
        kind, block = str(delta.get("type")), self._open(event)
        fields = names.BLOCK_DELTAS.get(str(block.get("type")), {})
        self._expect(kind in fields, f"a {block.get('type')} block takes no {kind}")
        self._expect(fields.get(kind, "type") in delta, f"the {kind} is empty")
        self._expect(not self._signed, "comes after the signature")
        self._signed = kind == "signature_delta"

    def _block_stop(self, event: Event) -> None:
        block = self._open(event)
        if block.get("type") == "thinking":
            self._expect(self._signed, "thinking ends without a signature")
        self._block = None
        self._index += 1

    def _open(self, event: Event) -> Mapping[str, Any]:
        self._expect(self._block is not None, "no block is open")
        self._expect(event.get("index") == self._index, "index is another block's")
        return self._block or {}

    _HANDLERS: ClassVar[Mapping[str, Callable[[Any, Event], None]]] = {
        "message_start": _start,
        "message_delta": _change,
        "message_stop": _stop,
        "content_block_start": _block_start,
        "content_block_delta": _block_delta,
        "content_block_stop": _block_stop,
        "ping": _ping,
        "error": _error,
    }


violations = MessagesChecker.violations
