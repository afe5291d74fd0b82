"""From events to a Responses stream, and to the response it adds up to.

    {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", ...}}
    {"type": "response.output_text.delta", "sequence_number": 4, "item_id": "msg_1",
     "output_index": 0, "content_index": 0, "delta": "Hel", "logprobs": []}
    {"type": "response.completed", "sequence_number": 9, "response": {"status": "completed", ...}}

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026. A response that is not streamed is the snapshot at the end of the same fold.
"""

from collections.abc import Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.fronts.errors import SERVER_ERROR
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import Event, FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.openai_forms import RESPONSES_TIERS
from llmcore.fronts.openai_responses.compaction import compaction_item
from llmcore.fronts.openai_responses.errors import error_fields, response_error
from llmcore.fronts.openai_responses.events import STATED, ResponseFrame
from llmcore.fronts.openai_responses.items import show_item
from llmcore.fronts.openai_responses.output import ResponsesOutput
from llmcore.fronts.openai_responses.request import ReadResponsesRequest
from llmcore.fronts.openai_responses.state import Record, StoredConversation
from llmcore.fronts.summaries import Summary, summary_message
from llmcore.protocols.openai_responses.names import PROTOCOL_ID
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import Finish, FinishReason, StepFinish, StreamStart
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesWriter(FrontWriter):
    """Writes one response."""

    _marks_commentary = True
    _protocol_id = PROTOCOL_ID
    _tiers = RESPONSES_TIERS
    _own_facts = frozenset({*STATED, "input_transformations"})

    def __init__(
        self, info: ResponseIdentity, request: ReadResponsesRequest, upstream: Upstream
    ) -> None:
        self._output = ResponsesOutput(info, request, upstream)
        super().__init__(request, self._output)
        self._writer = self._output.writer
        self._request = request
        self._id = info.id
        self._sealer = upstream.sealer
        self._summary = Summary() if request.compacts else None
        if self._summary is not None:
            self._before = self._summary.read
        self._frame = ResponseFrame(info, request.echo)
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
        message = self._output.record.message
        return StoredConversation(
            model=model,
            messages=(*request.messages, *([message] if message.content else ())),
            tools=request.registry.entries,
        )

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Keep *messages* as the conversation up to here, to be stored with the response."""
        self._request = evolve(self._request, messages=messages)

    def failed_instead(self, event: Event, message: str) -> Sequence[Event]:
        """Return the events of a failed response in place of *event*."""
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
    def outcome(self) -> str:
        """The response's status."""
        return str(self.response.get("status"))

    # -- the frame

    def _begin(self) -> None:
        self._begun = True
        self._writer.write("response.created", response=self.response)
        self._writer.write("response.in_progress", response=self.response)

    def _begin_response(self, event: StreamStart) -> None:
        if not self._begun:
            self._frame.model = event.model
            self.response = self._frame.response("in_progress", ())
            self._begin()

    def _end_step(self, event: StepFinish) -> None:
        if self._summary is not None:
            self._show_summary(self._summary.text)
        cut = self._incomplete(event.finish_reason)
        self._output.close_item("incomplete" if cut else "completed")

    def _show_summary(self, summary: str) -> None:
        if summary:
            item = compaction_item(self._writer.new_id("cmp"), summary, self._sealer)
            show_item(item, self._writer)
        else:
            self._fail(StreamError("the upstream wrote no summary"))

    def _end_response(self, event: Finish) -> None:
        self._output.end(event)
        self._frame.finish(event, self._diagnostics, same_api=self._output.same_api)
        self._output.sources.note(self._diagnostics)
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
        self._output.item = None  # what is not whole must not be taken for a response
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
