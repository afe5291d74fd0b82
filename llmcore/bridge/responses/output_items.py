"""Messages and reasoning as output items, written event by event.

One class for each way an item is streamed; those of calls are in `output_calls`. The fold opens
one, feeds it, and closes it before the next. Source, read November 2026:
https://developers.openai.com/api/reference/resources/responses/streaming-events.
"""

from typing import Any, Final, Protocol

from llmcore.bridge.responses.answer_record import AnswerRecord, part_of
from llmcore.bridge.responses.event_writer import EventWriter
from llmcore.bridge.responses.input_content import read_content
from llmcore.bridge.responses.output_text import (
    annotations_of,
    delta_logprobs,
    logprobs_of,
    refusal_part,
    text_part,
)
from llmcore.protocols.loose_json import mapping, string
from llmcore.protocols.notes import Notes
from llmcore.schema.events import (
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    TextEnd,
    TextStart,
)

Item = dict[str, Any]


class OpenItem(Protocol):
    """What every item can do."""

    def close(self, status: str) -> None:
        """End the item."""


class MessageItem:
    """Texts and refusals in a row: one message."""

    def __init__(
        self,
        item_id: str,
        writer: EventWriter,
        record: AnswerRecord,
        notes: Notes,
        *,
        logprobs: bool,
    ) -> None:
        self._id = item_id
        self._writer = writer
        self._record = record
        self._notes = notes
        self._logprobs = logprobs
        self._content: list[Item] = []
        self._refusal: bool | None = None
        self._phase: str | None = None
        writer.item_added(self._item("in_progress"))

    def _item(self, status: str) -> Item:
        item: Item = {"id": self._id, "type": "message", "status": status, "role": "assistant"}
        item["content"] = list(self._content)
        return {**item, "phase": self._phase} if self._phase else item

    def _place(self) -> dict[str, Any]:
        return {
            "item_id": self._id,
            "output_index": self._writer.index,
            "content_index": len(self._content),
        }

    def start(self, start: TextStart) -> None:
        """Begin a part."""
        self._refusal = start.refusal
        part = refusal_part("") if start.refusal else text_part("")
        self._writer.write("response.content_part.added", **self._place(), part=part)

    def delta(self, event: TextDelta) -> dict[str, Any]:
        """Return the event of more text, but for its number: the per-token path."""
        place = {
            "item_id": self._id,
            "output_index": self._writer.index,
            "content_index": len(self._content),
            "delta": event.text,
        }
        if self._refusal:
            return {"type": "response.refusal.delta", "sequence_number": 0, **place}
        place["logprobs"] = delta_logprobs(event.logprobs) if self._logprobs else []
        return {"type": "response.output_text.delta", "sequence_number": 0, **place}

    def end(self, event: TextEnd) -> None:
        """End the open part."""
        part = self._refused(event) if self._refusal else self._said(event)
        self._writer.write("response.content_part.done", **self._place(), part=part)
        self._content.append(part)
        self._refusal = None
        self._phase = self._phase or string(
            mapping(event.provider_metadata.get("openai")).get("phase")
        )
        self._record.show(part_of(event), read_content([part], "")[0])

    def _refused(self, event: TextEnd) -> Item:
        self._writer.write("response.refusal.done", **self._place(), refusal=event.text)
        return refusal_part(event.text)

    def _said(self, event: TextEnd) -> Item:
        place = self._place()
        path = f"output[{self._writer.index}].content[{len(self._content)}]"
        annotations = annotations_of(event.citations, event.text, path, self._notes)
        for number, annotation in enumerate(annotations):
            self._writer.write(
                "response.output_text.annotation.added",
                **place,
                annotation_index=number,
                annotation=annotation,
            )
        tokens = event.logprobs if self._logprobs else ()
        self._writer.write(
            "response.output_text.done", **place, text=event.text, logprobs=delta_logprobs(tokens)
        )
        return text_part(event.text, annotations, logprobs_of(tokens))

    def close(self, status: str) -> None:
        """End the message."""
        self._writer.item_done(self._item(status))


class ReasoningItem:
    """Segments of thinking in a row: one reasoning item, with the state that it seals."""

    def __init__(
        self,
        item_id: str,
        writer: EventWriter,
        record: AnswerRecord,
        *,
        in_summary: bool,
        show_state: bool,
    ) -> None:
        self._id = item_id
        self._writer = writer
        self._record = record
        self._in_summary = in_summary
        self._show_state = show_state
        self._texts: list[str] = []
        self.open = False
        """Whether a segment has said something and goes on."""
        kind = "reasoning_summary" if in_summary else "reasoning"
        self._delta_type: Final = f"response.{kind}_text.delta"
        self._done_type: Final = f"response.{kind}_text.done"
        self._around: Final = "reasoning_summary_part" if in_summary else "content_part"
        self._part_type: Final = "summary_text" if in_summary else "reasoning_text"
        writer.item_added(self._item({}))

    def _item(self, state: Any) -> Item:
        parts = [{"type": self._part_type, "text": text} for text in self._texts]
        shown: Item = {"summary": parts if self._in_summary else []}
        if parts and not self._in_summary:
            shown["content"] = parts
        return {"id": self._id, "type": "reasoning", **shown, **state}

    def _place(self) -> dict[str, Any]:
        index = "summary_index" if self._in_summary else "content_index"
        return {
            "item_id": self._id,
            "output_index": self._writer.index,
            index: len(self._texts),
        }

    def _part(self, which: str, text: str) -> None:
        """Say where a part begins or ends; clients that add up deltas need to be told."""
        part = {"type": self._part_type, "text": text}
        self._writer.write(f"response.{self._around}.{which}", **self._place(), part=part)

    def begin(self) -> None:
        """Begin a part, unless one is open."""
        if not self.open:
            self.open = True
            self._part("added", "")

    def delta(self, event: ReasoningDelta) -> dict[str, Any]:
        """Return the event of more thinking, but for its number: the per-token path."""
        return {
            "type": self._delta_type,
            "sequence_number": 0,
            **self._place(),
            "delta": event.text,
        }

    def end(self, event: ReasoningEnd) -> None:
        """End a segment; one that shows nothing is no part."""
        if self.open:
            self._writer.write(self._done_type, **self._place(), text=event.text)
            self._part("done", event.text)
            self._texts.append(event.text)
        self.open = False
        self._record.show(part_of(event))

    def close(self, status: str) -> None:
        """End the item, and seal what came so far."""
        state = self._record.seal()
        stored = self._item(state)
        self._writer.item_done(stored if self._show_state else self._item({}), stored)
