"""From events to a Messages stream, and to the message that it adds up to.

    {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {...}, ...}}
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}
    {"type": "content_block_stop", "index": 0}
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", ...}, "usage": {...}}
    {"type": "message_stop"}

Source: https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026. One
block is open at a time. State that the client cannot see is sealed in the `signature` of thinking,
or in the `data` of a `redacted_thinking` block. A response that fails ends with an error event; its
open block stays open, because clients run the tools of blocks that ended.

The writer is a private builder that lives as long as one response; a delta costs one dict.
"""

from typing import Any, Final

from attrs import evolve

from llmcore.fronts.anthropic_messages.compaction import STOP_REASON, compaction_block
from llmcore.fronts.anthropic_messages.errors import envelope
from llmcore.fronts.anthropic_messages.finish import (
    OWN_FACTS,
    TIERS,
    container_fields,
    starting_usage,
    stop_fields,
    usage_fields,
)
from llmcore.fronts.anthropic_messages.models import completed_by
from llmcore.fronts.anthropic_messages.output import MessagesOutput
from llmcore.fronts.anthropic_messages.request import ReadMessagesRequest
from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.summaries import Summary
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import Finish, StreamStart
from llmcore.schema.json import JsonObject, present

_CUT: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Finish reasons of an incomplete response."""


class MessagesWriter(FrontWriter):
    """Writes one message."""

    _protocol_id = PROTOCOL_ID
    _facts = frozenset({"finishMessage", "matched_stop", "promptFeedback", "stop_reason"})
    _tiers = TIERS
    _own_facts = OWN_FACTS

    def __init__(
        self, info: ResponseIdentity, request: ReadMessagesRequest, upstream: Upstream
    ) -> None:
        self._output = MessagesOutput(info, request, upstream)
        super().__init__(request, self._output)
        self._blocks = self._output.blocks
        self._info = info
        self._request = request
        self._summary = Summary() if request.compacts else None
        if self._summary is not None:
            self._before = self._summary.read
        self._start: StreamStart | None = None
        self._message: dict[str, Any] = {}

    def whole(self) -> JsonObject:
        """Return the message, once the response has ended without an error."""
        content = self._blocks.content
        model = completed_by(content) or self._message["model"]
        return {**self._message, "model": model, "content": content}

    def _begin_response(self, event: StreamStart) -> None:
        self._start = event
        self._message = {
            "id": self._info.id,
            "type": "message",
            "role": "assistant",
            "model": self._info.model or event.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": starting_usage(event, self._request.estimated_input),
        }
        self._blocks.write({"type": "message_start", "message": dict(self._message)})

    def _end_response(self, event: Finish) -> None:
        reason, output = event.finish_reason, self._output
        if finish_kind(reason, called=output.called) == "error":
            self._fail_by_reason(event)
            return
        if self._start is None:
            self._fail(StreamError("the upstream's response has no beginning"))
            return
        output.end(event)
        native = event.provider_metadata.get(METADATA_KEY, {})
        sequences = self._request.request.generation.stop
        stop = stop_fields(event, native, sequences, called=output.called)
        if self._summary is not None:
            stop = self._show_summary(self._summary.text, stop)
        if reason.reason == "other" and stop["stop_reason"] == "end_turn":
            self._note_reason("stop_reason", reason)
        usage = usage_fields(self.usage, self._start, searches=output.pages.searches)
        extras, outer = container_fields(native)
        begun = present({"diagnostics": native.get("diagnostics")})
        usage_of_all = {**self._message["usage"], **usage}
        self._message |= {**stop, **extras, **outer, **begun, "usage": usage_of_all}
        delta = {**stop, **extras}
        self._blocks.write({"type": "message_delta", "delta": delta, **outer, "usage": usage})
        self._blocks.write({"type": "message_stop"})
        self._cut = stop["stop_reason"] in _CUT
        self.ended = True

    def _show_summary(self, summary: str, stop: dict[str, Any]) -> dict[str, Any]:
        """Write the summary, unless it was cut off; return why the message ended."""
        whole = stop["stop_reason"] not in _CUT
        self._blocks.whole(compaction_block(summary if whole else ""))
        return {**stop, "stop_reason": STOP_REASON, "stop_sequence": None} if whole else stop

    def _write_failure(self, error: LLMError) -> None:
        failure = evolve(from_llm_error(error), request_id=self._info.request_id)
        self._blocks.write(dict(envelope(failure)))
