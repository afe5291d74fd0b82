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

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from llmcore.fronts.anthropic_messages.blocks import (
    BlockWriter,
    OpenBlock,
    OpenText,
    OpenThinking,
    OpenToolUse,
)
from llmcore.fronts.anthropic_messages.carrier import StateCarrier
from llmcore.fronts.anthropic_messages.compaction import STOP_REASON, compaction_block
from llmcore.fronts.anthropic_messages.content import write_citations
from llmcore.fronts.anthropic_messages.errors import envelope
from llmcore.fronts.anthropic_messages.finish import (
    container_fields,
    is_explanation,
    starting_usage,
    stop_fields,
    usage_fields,
)
from llmcore.fronts.anthropic_messages.hosted import (
    FoundPages,
    hosted_call,
    hosted_result,
    read_hosted,
)
from llmcore.fronts.anthropic_messages.models import completed_by
from llmcore.fronts.anthropic_messages.request import ReadMessagesRequest
from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import Event, FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.opaque_state import call_key
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.summaries import Summary
from llmcore.protocols.anthropic_messages.names import CALL_IDS, METADATA_KEY, Block
from llmcore.schema.changed import changed
from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import (
    File,
    Finish,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    Source,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonObject, object_or_empty, present, str_or_none

_CUT: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Finish reasons of an incomplete response."""


class MessagesWriter(FrontWriter):
    """Writes one response, event by event."""

    def __init__(
        self, info: ResponseIdentity, request: ReadMessagesRequest, upstream: Upstream
    ) -> None:
        super().__init__(request)
        self._info = info
        self._request = request
        self._blocks = BlockWriter(self._events)
        self._record = ResponseRecord(info, upstream)
        self._state = StateCarrier(self._record)
        self._summary = Summary() if request.compacts else None
        if self._summary is not None:
            self._before = self._summary.read
        self._block: OpenBlock | None = None
        self._text_start: TextStart | None = None
        self._ids: dict[str, str] = {}
        self._hosted: dict[str, Block] = {}
        self._pages = FoundPages()
        self._start: StreamStart | None = None
        self._message: dict[str, Any] = {}

    # -- what the server reads

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The state of the response: some clients send no thinking back, or only a part of it."""
        return {} if self.error is not None else self._state.sealed_calls()

    def whole(self) -> JsonObject:
        """Return the message, once the response has ended without an error."""
        content = self._blocks.content
        model = completed_by(content) or self._message["model"]
        return {**self._message, "model": model, "content": content}

    # -- deltas: the per-token path

    def _delta_of_live(self, kind: str, event: Any) -> list[Event] | None:
        if not event.text:
            return []
        block = self._block
        if block is None or self._text_start is not None or self._order.live != (kind, event.id):
            return None
        if block.kind != kind or block.held:
            return None
        return [block.delta(event.text)]

    # -- text

    def _on_text_start(self, event: TextStart) -> None:
        self._text_start = event  # a block is shown once it has text

    def _on_text_delta(self, event: TextDelta) -> None:
        if self._text_start is not None:
            if is_explanation(self._text_start):
                return
            self._text_start = None
            if self._request.takes_state and (self._state.hidden or self._state.text_says_more):
                self._write_state()
            self._open(OpenText(self._blocks.index))
        if isinstance(self._block, OpenText) and event.text:
            self._blocks.write(self._block.delta(event.text))

    def _on_text_end(self, event: TextEnd) -> None:
        start, self._text_start = self._text_start, None
        if start is not None or not isinstance(self._block, OpenText):
            if event.provider_metadata and not is_explanation(event):
                self._state.add_with_text(self._record.part_of(event))
            return
        path = f"content[{self._blocks.index}]"
        citations = write_citations(event.citations, self._diagnostics.at(path))
        self._pages.add_citations(event.citations, citations)
        self._blocks.end_text(event.text, citations)
        self._block = None
        # a refusal comes back as text, and its citations as they are shown
        echoed = TextPart(event.text, citations=event.citations)
        native = event.provider_metadata
        self._state.show(changed(echoed, provider_metadata=native) if native else echoed, echoed)

    # -- thinking

    def _on_reasoning_delta(self, event: ReasoningDelta) -> None:
        if not self._request.shows_thinking or not event.text:
            return
        if not isinstance(self._block, OpenThinking):
            self._open(OpenThinking(self._blocks.index))
        if isinstance(self._block, OpenThinking):
            self._blocks.write(self._block.delta(event.text))

    def _on_reasoning_end(self, event: ReasoningEnd) -> None:
        empty = not (event.text or event.signature or event.encrypted)
        if empty and not event.provider_metadata:
            return  # an item's id alone is enough for the provider that keeps the item
        self._state.add_thinking(self._record.part_of(event))
        if not self._request.takes_state:
            self._state.hidden = True
            return
        if self._block is None and self._blocks.ends_with_text:
            self._state.text_says_more = True
            return
        state = self._state.seal_thinking()
        shown = event.text if self._request.shows_thinking else ""
        if isinstance(self._block, OpenThinking):
            self._blocks.end_thinking(shown, state)
            self._block = None
        elif self._request.shows_thinking:
            self._blocks.whole({"type": "redacted_thinking", "data": state})
        else:
            self._open(OpenThinking(self._blocks.index))
            self._blocks.end_thinking("", state)
            self._block = None

    # -- calls of the client's tools

    def _on_tool_input_start(self, event: ToolInputStart) -> None:
        if event.provider_executed:
            return
        call_id = self._ids[event.id] = self._call_id(event.id)
        freeform = event.kind == "custom"
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
        index = self._blocks.index
        self._open(OpenToolUse(index, call_id, event.name, freeform=freeform, native=native))

    def _call_id(self, given: str) -> str:
        """Return an id that the API accepts and that is unique in the conversation."""
        call_id = CALL_IDS.fit(given)
        taken = {*self._request.call_ids, *self._ids.values()}
        if call_id not in taken:
            return call_id
        return CALL_IDS.fit(f"{call_id}/{self._info.id}/{len(self._ids)}")

    def _on_tool_input_delta(self, event: ToolInputDelta) -> None:
        if isinstance(self._block, OpenToolUse) and event.text:
            made = self._block.more(event.text)
            if made is not None:
                self._blocks.write(made)

    def _on_tool_call(self, event: ToolCall) -> None:
        if event.provider_executed:
            self._hosted_call(event)
            return
        if not isinstance(self._block, OpenToolUse):
            return
        block, self._block = self._block, None
        read = ToolCallPart(block.id, event.name, self._blocks.end_tool_use(block, event))
        self._state.add_call(call_key(read))
        part = self._record.part_of(event)
        if isinstance(part, ToolCallPart):
            self._state.show(changed(part, id=block.id), read)

    # -- tools that the provider runs

    def _hosted_call(self, event: ToolCall) -> None:
        block = hosted_call(event)
        if block is None:
            self._not_shown(f"a call of {event.name}", event)
            return
        self._hosted[event.id] = block
        if block["name"] == "web_search":
            self._pages.add_search(event)
        self._blocks.server_call(block)
        self._state.show(self._record.part_of(event), read_hosted(block, {}))

    def _on_tool_result(self, event: ToolResult) -> None:
        if not event.provider_executed:
            return
        call = self._hosted.get(event.tool_call_id)
        block = hosted_result(event, call)
        if block is None:
            self._not_shown(f"what {event.name or 'a tool'} returned", event)
            return
        self._pages.add_result(event)
        self._blocks.whole(block)
        names = {} if call is None else {str(call["id"]): str(call["name"])}
        self._state.show(self._record.part_of(event), read_hosted(block, names))

    def _not_shown(self, what: str, event: LLMEvent) -> None:
        why = f"the API has no form for {what}; it stays in the conversation"
        self._diagnostics.at(f"content[{self._blocks.index}]").changed("content-not-shown", why)
        self._state.show(self._record.part_of(event), None)

    # -- events by themselves

    def _on_file(self, event: File) -> None:
        self._not_shown(f"a file of the type {event.media_type}", event)

    def _on_provider_event(self, event: ProviderEvent) -> None:
        part = self._record.part_of(event)
        if part is None:  # a notification
            return
        native = object_or_empty(event.data)
        if event.provider == METADATA_KEY and str_or_none(native.get("type")) is not None:
            self._blocks.whole(native)
            self._state.show(part, part)
        else:
            self._state.show(part, None)

    def _on_source(self, event: Source) -> None:
        if event.url is not None and event.kind == "url":
            self._pages.add(event.url, event.title)

    # -- sealed state

    def _open(self, block: OpenBlock) -> None:
        self._block = block
        self._blocks.write(block.start())

    def _write_state(self) -> None:
        """Write a block that carries the state of the parts since the last one that did."""
        self._blocks.whole({"type": "redacted_thinking", "data": self._state.seal_apart()})

    def _carry_rest(self) -> None:
        """Write the state of the last parts.

        Claude Code takes the last block for its result, so that a text at the end stays the last
        one unless a file or a tool of the provider follows it. OpenAI and Google require state of
        the steps of a tool loop, not of texts that end one.
        """
        hidden, in_text = self._state.hidden, self._state.text_says_more
        if in_text and not (hidden or self._ids):
            why = "a block after the text would carry it, and clients take the last block's text"
            self._diagnostics.at("content").dropped("opaque-data-dropped", why)
        elif hidden or in_text:
            if self._request.takes_state or self._ids:
                self._write_state()
            else:
                why = "thinking is off: no block carries what the upstream would need of this"
                self._diagnostics.at("content").dropped("opaque-data-dropped", why)
        self._state.end()

    # -- the frame

    def _on_stream_start(self, event: StreamStart) -> None:
        if self._start is not None:
            return
        self._start = event
        self._record.origin = self._begin_response(event)
        self._message = {
            "id": self._info.id,
            "type": "message",
            "role": "assistant",
            "model": self._info.model or event.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": starting_usage(event.usage, self._request.estimated_input),
        }
        self._blocks.write({"type": "message_start", "message": dict(self._message)})

    def _end_response(self, event: Finish) -> None:
        reason = event.finish_reason
        if finish_kind(reason, called=bool(self._ids)) == "error":
            self._fail_by_reason(event)
            return
        if self._start is None:
            self._fail(StreamError("the upstream's response has no beginning"))
            return
        self._show_found(event)
        self._carry_rest()
        self._end(reason, event)

    def _show_found(self, event: Finish) -> None:
        """Show the cited pages as results of a search, unless a search has shown them."""
        if not (self._request.searches or self._pages.searches):
            for url in self._pages.uncited:
                why = f"no text cites the source {url}, and no search was asked for"
                self._diagnostics.at("content").dropped("source-dropped", why)
        elif shown := self._pages.search(f"{self._info.id}_sources", event):
            call, result = shown
            self._blocks.server_call(call)
            self._blocks.whole(result)

    def _end(self, reason: FinishReason, event: Finish) -> None:
        native = event.provider_metadata.get(METADATA_KEY, {})
        sequences = self._request.request.generation.stop
        stop = stop_fields(event, native, sequences, called=bool(self._ids))
        if self._summary is not None:
            stop = self._show_summary(self._summary.text, stop)
        if reason.reason == "other" and stop["stop_reason"] == "end_turn":
            self._note_reason("stop_reason", reason)
        usage = usage_fields(self.usage, self._start, searches=self._pages.searches)
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
