"""The rules of a stream's sequence, executable.

    message_start                                                       once, or the same again
      content_block_start  content_block_delta*  content_block_stop     any number of blocks
    message_delta+
    message_stop                                                        or error, anywhere

The tolerant check admits what SDKs accumulate beyond that: blocks in `message_start`, whose
stops may be missing, and a stop reason in it, after which `message_delta` may be missing.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026.
"""

from collections.abc import Iterable

from llmcore.protocols.anthropic_messages.contract import response as events
from llmcore.protocols.anthropic_messages.contract.response import MessagesResponse, MessagesUsage
from llmcore.schema.errors import StreamError

_FITTING: dict[str, frozenset[str]] = {
    "text": frozenset({"text_delta", "citations_delta"}),
    "thinking": frozenset({"thinking_delta", "signature_delta"}),
    "tool_use": frozenset({"input_json_delta"}),
    "server_tool_use": frozenset({"input_json_delta"}),
    "mcp_tool_use": frozenset({"input_json_delta"}),
}
"""Which deltas a block of a type takes; other types of blocks take any."""


def check_sequence(stream: Iterable[events.StreamEvent], *, tolerant: bool = False) -> None:
    """Raise StreamError at the first event that breaks the rules, or if the end is missing."""
    checker = SequenceChecker(tolerant=tolerant)
    for event in stream:
        checker.check(event)
    checker.end()


class SequenceChecker:
    """Follows one stream, event by event."""

    def __init__(self, *, tolerant: bool = False) -> None:
        self._tolerant = tolerant
        self._message: MessagesResponse | None = None
        self._open: dict[int, str] = {}
        self._given: set[int] = set()
        """Open blocks that `message_start` brought."""
        self._seen: set[int] = set()
        self._output = 0
        self._finished = False
        self._stated = False
        """Whether `message_start` said why the message stopped."""
        self._ended = False
        self._position = 0

    def check(self, event: events.StreamEvent) -> None:
        """Take the next event; StreamError if it may not stand here."""
        if self._ended:
            raise self._fault(event, "nothing may follow the end of the stream")
        if self._message is None and not isinstance(
            event, events.MessageStartEvent | events.PingEvent | events.ErrorResponse
        ):
            raise self._fault(event, "message_start comes first")
        self._take(event)
        self._position += 1

    def end(self) -> None:
        """Say that no more events come; StreamError if the answer was not whole."""
        if not self._ended:
            raise StreamError("the stream ended before message_stop")

    def _take(self, event: events.StreamEvent) -> None:
        match event:
            case events.ContentBlockDeltaEvent():
                self._delta(event)
            case events.ContentBlockStartEvent():
                self._start(event)
            case events.ContentBlockStopEvent():
                if self._open.pop(event.index, None) is None:
                    raise self._fault(event, f"block {event.index} is not open")
            case events.MessageStartEvent():
                self._begin(event)
            case events.MessageDeltaEvent():
                self._finish(event)
            case events.MessageStopEvent():
                if not (self._finished or self._stated):
                    raise self._fault(event, "message_delta comes before it")
                self._ended = True
            case events.ErrorResponse():
                self._ended = True
            case events.PingEvent():
                pass

    def _begin(self, event: events.MessageStartEvent) -> None:
        message = self._message
        if message is not None and (message.id, message.model) != (
            event.message.id,
            event.message.model,
        ):
            raise self._fault(event, f"message {message.id} of {message.model} has started already")
        if message is None:
            self._take_given(event)
        self._message = event.message
        self._count(event, event.message.usage)

    def _take_given(self, event: events.MessageStartEvent) -> None:
        content = event.message.content
        if content and not self._tolerant:
            raise self._fault(event, "content comes in blocks of its own")
        for index, block in enumerate(content):
            self._seen.add(index)
            self._given.add(index)
            self._open[index] = getattr(block, "type", "")
        self._stated = self._tolerant and event.message.stop_reason is not None

    def _start(self, event: events.ContentBlockStartEvent) -> None:
        if self._finished:
            raise self._fault(event, "no block may follow message_delta")
        if event.index in self._seen:
            raise self._fault(event, f"block {event.index} has started already")
        self._seen.add(event.index)
        self._open[event.index] = getattr(event.content_block, "type", "")

    def _delta(self, event: events.ContentBlockDeltaEvent) -> None:
        kind = self._open.get(event.index)
        if kind is None:
            raise self._fault(event, f"block {event.index} is not open")
        if event.delta.type not in _FITTING.get(kind, {event.delta.type}):
            raise self._fault(event, f"a {kind} block takes no {event.delta.type}")

    def _finish(self, event: events.MessageDeltaEvent) -> None:
        if unfinished := sorted(self._open.keys() - self._given):
            raise self._fault(event, f"blocks are still open: {unfinished}")
        self._finished = True
        self._count(event, event.usage)

    def _count(self, event: events.StreamEvent, usage: MessagesUsage | None) -> None:
        """Check that the output only grows: each count is of the whole answer so far.

        Input counts may fall, where the provider shortened the conversation on the way.
        """
        output = usage.output_tokens if usage is not None else None
        if output is None:
            return
        if output < self._output:
            raise self._fault(event, f"output_tokens fell to {output}; counts are cumulative")
        self._output = output

    def _fault(self, event: events.StreamEvent, why: str) -> StreamError:
        return StreamError(f"event {self._position} ({event.type}) is out of place: {why}")
