"""From events to a Responses stream, and to the response it adds up to.

    {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", ...}}
    {"type": "response.output_text.delta", "sequence_number": 4, "item_id": "msg_1",
     "output_index": 0, "content_index": 0, "delta": "Hel", "logprobs": []}
    {"type": "response.completed", "sequence_number": 9, "response": {"status": "completed", ...}}

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026. A response that is not streamed is the snapshot at the end of the same fold.

The state is a private builder that lives as long as one response: texts are joined once, and an
event of a segment that goes on costs one dict.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.fronts.errors import SERVER_ERROR
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import Event, FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.openai_responses.calls import is_of_model
from llmcore.fronts.openai_responses.compaction import compaction_item
from llmcore.fronts.openai_responses.errors import error_fields, response_error
from llmcore.fronts.openai_responses.events import EventWriter, ResponseFrame, Sources
from llmcore.fronts.openai_responses.items import (
    MessageItem,
    OpenItem,
    ReasoningItem,
    native_item,
    show_file,
    show_item,
    show_native,
)
from llmcore.fronts.openai_responses.output_calls import CallItem, HostedItem
from llmcore.fronts.openai_responses.request import ReadResponsesRequest
from llmcore.fronts.openai_responses.state import Record, StoredConversation
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.summaries import Summary, summary_message
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import (
    File,
    Finish,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    StepFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonObject, object_or_empty, str_or_none
from llmcore.schema.messages import Message

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesWriter(FrontWriter):
    """Writes one response, event by event."""

    _marks_commentary = True

    def __init__(
        self, info: ResponseIdentity, request: ReadResponsesRequest, upstream: Upstream
    ) -> None:
        super().__init__(request)
        self._request = request
        self._id = info.id
        self._policy = upstream.policy
        self._sealer = upstream.sealer
        self._show_state = request.shows_state
        sealing = self._show_state or request.store
        self._record = ResponseRecord(info, upstream, sealing=sealing)
        self._writer = EventWriter(self._events, upstream.new_id, self._record, self._diagnostics)
        self._summary = Summary() if request.compacts else None
        if self._summary is not None:
            self._before = self._summary.read
        self._item: OpenItem | None = None
        self._text_start: TextStart | None = None
        self._input_text = ""
        self._provider = ""
        self._same_api = False
        self._frame = ResponseFrame(info, request.echo)
        self._sources = Sources()
        self._begun = False
        self.response: JsonObject = self._frame.response("in_progress", ())
        """The response object, which is complete once the terminal event is written."""

    # -- what a server calls

    def start(self) -> list[Event]:
        """Return the events that begin the response, once its model is known."""
        if self._frame.model:
            self._begin()
        return self._take()

    def conversation(self) -> StoredConversation:
        """Return the conversation up to this response, to be kept under its id."""
        request, model = self._request, self._frame.model
        if self._summary is not None:
            return StoredConversation(model=model, messages=(summary_message(self._summary.text),))
        message = self._record.message
        return StoredConversation(
            model=model,
            messages=(*request.messages, *([message] if message.content else ())),
            tools=request.registry.entries,
        )

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Keep *messages*, which the upstream could read, as the conversation up to here."""
        self._request = evolve(self._request, messages=messages)

    def failed_instead(self, event: Event, message: str) -> Sequence[Event]:
        """Return the events of a failed response in place of *event*, which ended the stream."""
        error = {"code": SERVER_ERROR, "message": message}
        failed = {
            **self.response,
            "status": "failed",
            "error": error,
            "incomplete_details": None,
        }
        number = event["sequence_number"]
        return [
            {"type": "error", "sequence_number": number, **error_fields(error)},
            {"type": "response.failed", "sequence_number": number + 1, "response": failed},
        ]

    def whole(self) -> JsonObject:
        """Return the response object, once it has ended."""
        return self.response

    def record(self, owner: str) -> Record:
        """Return the record of the ended response, to be stored for *owner*."""
        failed = self.error is not None
        return Record(
            id=self._id,
            owner=owner,
            response=self.response,
            input_items=self._request.input_items,
            conversation=None if failed else self.conversation().to_json(),
            items={} if failed else {str(item["id"]): item for item in self._writer.stored},
        )

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The state of the whole response: some clients send calls back without the reasoning."""
        return {} if self.error is not None else self._record.sealed_calls()

    @property
    def outcome(self) -> str:
        """The response's status."""
        return str(self.response.get("status"))

    # -- deltas: the per-token path

    def _delta_of_live(self, kind: str, event: Any) -> list[Event] | None:
        if not event.text:
            return []
        item = self._item
        if self._order.live != (kind, event.id) or item is None or self._text_start is not None:
            return None
        writer = self._writer
        made: Event | None
        if kind == "reasoning":
            if not isinstance(item, ReasoningItem) or not item.open:
                return None
            made = item.delta(event)
        else:
            made = item.delta(event) if isinstance(item, MessageItem | CallItem) else None
        if made is None:
            return []
        made["sequence_number"] = writer.sequence
        writer.sequence += 1
        return [made]

    # -- items

    def _close_item(self, status: str = "completed") -> None:
        item, self._item = self._item, None
        if item is not None:
            item.close(status)

    def _message(self, start: TextStart) -> MessageItem:
        native = object_or_empty(start.provider_metadata.get(METADATA_KEY))
        if isinstance(self._item, MessageItem) and self._item.has(native):
            return self._item
        self._close_item()
        shows = bool(self._request.request.generation.logprobs)
        item = self._item = MessageItem(self._writer, native, logprobs=shows)
        return item

    def _reasoning(self) -> ReasoningItem:
        if isinstance(self._item, ReasoningItem):
            return self._item
        self._close_item()
        item = self._item = ReasoningItem(
            self._writer, in_summary=self._in_summary(), show_state=self._show_state
        )
        return item

    def _in_summary(self) -> bool:
        if self._policy.reasoning_text != "auto":
            return self._policy.reasoning_text == "summary"
        reasoning = self._request.request.reasoning
        return reasoning is not None and reasoning.summary not in (None, "none")

    # -- text

    def _on_text_start(self, event: TextStart) -> None:
        self._text_start = event  # a part is shown once it has text

    def _on_text_delta(self, event: TextDelta) -> None:
        if self._text_start is not None:
            self._message(self._text_start).start(self._text_start)
            self._text_start = None
        if isinstance(self._item, MessageItem):
            self._writer.add(self._item.delta(event))

    def _on_text_end(self, event: TextEnd) -> None:
        if event.citations:
            self._sources.cite(event.citations)
        start, self._text_start = self._text_start, None
        if start is None and isinstance(self._item, MessageItem):
            self._item.end(event)
        elif event.provider_metadata:
            if isinstance(self._item, HostedItem):
                self._close_item()  # it waited for a result; its parts come first
            self._record.show(self._record.part_of(event))

    # -- reasoning

    def _on_reasoning_start(self, event: ReasoningStart) -> None:
        part_type = str_or_none(
            object_or_empty(event.provider_metadata.get(METADATA_KEY)).get("part")
        )
        item = self._reasoning()
        if self._policy.reasoning_text == "auto" and part_type is not None:
            item.place(in_summary=part_type == "summary_text")
        else:
            item.place(in_summary=self._in_summary())

    def _on_reasoning_delta(self, event: ReasoningDelta) -> None:
        item = self._reasoning()
        item.begin()
        self._writer.add(item.delta(event))

    def _on_reasoning_end(self, event: ReasoningEnd) -> None:
        self._reasoning().end(event)

    # -- calls

    def _on_tool_input_start(self, event: ToolInputStart) -> None:
        self._close_item()
        if event.provider_executed:
            self._item = HostedItem(self._writer, self._provider)
            return
        registry, registered = self._request.registry, self._policy.registered_tools
        self._item = CallItem(event, registry, registered, self._writer)

    def _on_tool_input_delta(self, event: ToolInputDelta) -> None:
        if isinstance(self._item, CallItem):
            made = self._item.delta(event)
            if made is not None:
                self._writer.add(made)

    def _on_tool_input_end(self, event: ToolInputEnd) -> None:
        self._input_text = event.text

    def _on_tool_call(self, event: ToolCall) -> None:
        if isinstance(self._item, CallItem):
            self._item.call(event, self._input_text)
            self._item = None
        elif isinstance(self._item, HostedItem):
            self._item.call(event)

    def _on_tool_result(self, event: ToolResult) -> None:
        if not event.provider_executed:
            return
        native = native_item(event)
        if native:  # a result that is an item of its own
            self._close_item()
            self._show_native(native, event)
        elif isinstance(self._item, HostedItem) and self._item.is_result(event):
            self._item.result(event)
            self._close_item()
        else:
            self._close_item()
            self._record.show(self._record.part_of(event))

    # -- events by themselves

    def _on_file(self, event: File) -> None:
        if isinstance(self._item, HostedItem) and self._item.draws:
            self._item.file(event)
            return
        self._close_item()
        show_file(event, self._writer)

    def _on_provider_event(self, event: ProviderEvent) -> None:
        part = self._record.part_of(event)
        if part is not None:  # else it is a notification
            self._close_item()
            native = object_or_empty(event.data) if self._same_api else {}
            if str_or_none(native.get("type")):
                self._show_native(native, event)
            else:
                self._record.show(part)  # made by another API: it is kept unseen

    def _show_native(self, item: Mapping[str, Any], event: LLMEvent) -> None:
        show_native(item, self._record.part_of(event), self._writer)

    def _show_summary(self, summary: str) -> None:
        if summary:
            item = compaction_item(self._writer.new_id("cmp"), summary, self._sealer)
            show_item(item, self._writer)
        else:
            self._fail(StreamError("the upstream wrote no summary"))

    def _on_source(self, event: Source) -> None:
        self._sources.add(event)

    # -- the frame

    def _begin(self) -> None:
        self._begun = True
        self._writer.write("response.created", response=self.response)
        self._writer.write("response.in_progress", response=self.response)

    def _on_stream_start(self, event: StreamStart) -> None:
        self._provider = event.provider
        self._same_api = event.protocol == PROTOCOL_ID
        self._record.origin = self._begin_response(event)
        if not self._begun:
            self._frame.model = event.model
            self.response = self._frame.response("in_progress", ())
            self._begin()

    def _on_step_finish(self, event: StepFinish) -> None:
        super()._on_step_finish(event)
        if self._summary is not None:
            self._show_summary(self._summary.text)
        cut = self._incomplete(event.finish_reason)
        self._close_item("incomplete" if cut else "completed")
        if self._record.needs_opaque_item and not self._stores_rest():
            self._reasoning()
            self._close_item()

    def _stores_rest(self) -> bool:
        """Keep the state since the last reasoning with the last item, if only the store has state.

        Some clients show each reasoning item, also one without text.
        """
        stored = self._writer.stored
        if self._show_state or not stored or not is_of_model(stored[-1]):
            return False
        stored[-1] = {**stored[-1], **self._record.seal()}
        return True

    def _end_response(self, event: Finish) -> None:
        self._frame.finish(event, self._diagnostics, same_api=self._same_api)
        self._sources.note(self._diagnostics)
        reason = event.finish_reason
        incomplete = self._incomplete(reason)
        if reason.reason == "error":
            self._fail_by_reason(event)
        elif incomplete is not None:
            self._end("incomplete", incomplete_details={"reason": incomplete})
        else:
            if reason.reason == "other":
                self._note_reason("status", reason)
            self._end("completed")

    def _incomplete(self, reason: FinishReason) -> str | None:
        """Return why the response is incomplete; None for a complete one, such as a refusal."""
        return _INCOMPLETE.get(finish_kind(reason, called=False))

    def _write_failure(self, error: LLMError) -> None:
        self._item = None  # what is not whole must not be taken for a response
        if not self._begun:
            self._begin()
        failure = response_error(error)
        self._writer.write("error", **error_fields(failure))
        self._end("failed", error=failure)

    def _end(self, status: str, **fields: Any) -> None:
        if not self._begun:
            self._begin()
        self.response = self._frame.response(status, self._writer.output, self.usage, **fields)
        self._writer.write(f"response.{status}", response=self.response)
        self.ended = True
