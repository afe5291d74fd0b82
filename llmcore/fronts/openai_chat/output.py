"""The content of a completion, as chunks and as its message.

Calls are written as they come, each under its index. Texts, refusals and thinking have one field
each, so that segments of one kind are put one after another.
"""

from collections.abc import Sequence
from typing import Any, Final

from llmcore.fronts.front import Event, ResponseIdentity, Upstream
from llmcore.fronts.openai_chat.calls import CallWriter
from llmcore.fronts.openai_chat.carrier import SHOWN_IDS, ResponseParts, ThinkingWriter
from llmcore.fronts.openai_chat.chunks import ChunkWriter
from llmcore.fronts.openai_chat.content import (
    annotations_of,
    native_audio,
    native_image,
    native_logprobs,
)
from llmcore.fronts.openai_chat.request import ReadChatRequest
from llmcore.fronts.output import OutputWriter
from llmcore.fronts.response_record import shown_part
from llmcore.fronts.segment_order import SegmentOrder
from llmcore.schema import events
from llmcore.schema.content import ContentPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty

_MESSAGE: Final = "choices[0].message"


class ChatOutput(OutputWriter):
    """Writes the content of one completion."""

    has_one_order = False

    def __init__(
        self, info: ResponseIdentity, request: ReadChatRequest, upstream: Upstream
    ) -> None:
        super().__init__(info, upstream)
        client, place = request.client, upstream.policy.chat_reasoning
        self.chunks = ChunkWriter(info, self.events, client, usage_place=request.usage_place)
        self._created_at = info.created_at
        self._parts = ResponseParts(self.record)
        self._texts = _TextWriter(
            self.chunks, self._parts, self.diagnostics, logprobs=request.shows_logprobs
        )
        self._thinking = ThinkingWriter(
            self.chunks,
            self._parts,
            place if place == "none" else client.thinking or place,
            shown=request.shows_thinking,
        )
        self._calls = CallWriter(
            self.chunks,
            self.diagnostics,
            custom_tools=request.custom_tools,
            legacy=request.legacy,
            whole=client.whole_calls,
        )
        self._thinking_order = SegmentOrder()
        self._sources: list[events.Source] = []
        self._images: list[JsonObject] = []
        self._audio: JsonObject | None = None

    def delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        """Return the chunks of more text."""
        if kind != "text" or not self._texts.more_of_live(event):
            return None
        made = self.events.copy()
        self.events.clear()
        return made

    def end_step(self) -> None:
        """Write all that waits for the end of another segment."""
        self._texts.end_step()
        for ordered in self._thinking_order.end():
            self._write_thinking(ordered)

    def _on_text_start(self, event: events.TextStart | events.TextDelta | events.TextEnd) -> None:
        self._texts.add(event)

    _on_text_delta = _on_text_end = _on_text_start

    # -- thinking

    def _on_reasoning_start(self, event: events.ReasoningStart) -> None:
        self._parts.begin(("reasoning", event.id))
        self._on_reasoning_delta(event)

    def _on_reasoning_delta(
        self, event: events.ReasoningStart | events.ReasoningDelta | events.ReasoningEnd
    ) -> None:
        for ordered in self._thinking_order.add(event):
            self._write_thinking(ordered)

    _on_reasoning_end = _on_reasoning_delta

    def _write_thinking(self, event: events.LLMEvent) -> None:
        if isinstance(event, events.ReasoningDelta):
            self._thinking.more(event)
        elif isinstance(event, events.ReasoningEnd):
            kept = event.text or event.signature or event.encrypted or event.provider_metadata
            self._parts.end(("reasoning", event.id), _shown(event) if kept else None)
            self._thinking.end(event)

    # -- calls, and events by themselves

    def _on_tool_input_start(self, event: events.ToolInputStart) -> None:
        self._parts.begin(("tool", event.id))
        if not event.provider_executed:
            self.called = True
            self._texts.write_annotations()
            self._calls.begin(event, SHOWN_IDS.fit(event.id))

    def _on_tool_input_delta(self, event: events.ToolInputDelta) -> None:
        self._calls.more(event)

    def _on_tool_call(self, event: events.ToolCall) -> None:
        part = _shown(event)
        self._parts.end(("tool", event.id), part)
        if isinstance(part, ToolCallPart):
            self._calls.end(event.id, part, event.raw_arguments)

    def _on_tool_result(self, event: events.ToolResult) -> None:
        if event.provider_executed:
            self._parts.add(_shown(event))

    def _on_provider_event(self, event: events.ProviderEvent) -> None:
        if event.replay:
            self._parts.add(_shown(event))

    def _on_file(self, event: events.File) -> None:
        image = native_image(event)
        audio = native_audio(event, self._created_at) if image is None else None
        if image is not None:
            self.chunks.write({"images": [{"index": len(self._images), **image}]})
            self._images.append(image)
            self._parts.add(_shown(event))
        elif audio is not None and self._audio is None:
            self.chunks.write({"audio": audio})
            self._audio = audio
        else:
            why = "Chat Completions cannot represent it"
            self.diagnostics.at(_MESSAGE).left_out(
                f"a file ({event.media_type or 'of any type'})", why
            )

    def _on_source(self, event: events.Source) -> None:
        self._sources.append(event)

    # -- the whole message

    def end(self) -> None:
        """Write what follows the content: citations while their text is the last, then state."""
        self._texts.write_annotations()
        self._thinking.finish()

    def message(self) -> JsonObject:
        """Return the message, always with `content` and `refusal`; other fields if needed."""
        annotations = self._texts.annotations
        texts = self._texts.fields()
        return {
            "role": "assistant",
            **texts,
            **self._thinking.fields(texts["content"]),
            **self._calls.fields(),
            **({"annotations": annotations} if annotations else {}),
            **({"images": self._images} if self._images else {}),
            **({"audio": self._audio} if self._audio else {}),
        }

    def logprobs(self) -> JsonValue:
        """Return the log probabilities of the message."""
        found = self._texts.logprobs
        return {"content": None, "refusal": None, **found} if found else None

    def found_pages(self) -> dict[str, JsonValue]:
        """Return the pages that no text cites as a field beside the choices, as Perplexity's.

        Source: https://docs.perplexity.ai/api-reference (`search_results`)
        """
        cited = {
            object_or_empty(annotation["url_citation"]).get("url")
            for annotation in self._texts.annotations
        }
        pages: list[JsonValue] = []
        for source in self._sources:
            if source.url is None:
                why = "only pages of the web have a place in Chat Completions"
                self.diagnostics.at("search_results").dropped("source-dropped", why)
            elif source.url not in cited:
                pages.append({"title": source.title, "url": source.url})
        return {"search_results": pages} if pages else {}


class _TextWriter:
    """Writes the texts and refusals of one message, with citations and log probabilities."""

    def __init__(
        self, chunks: ChunkWriter, parts: ResponseParts, diagnostics: Diagnostics, *, logprobs: bool
    ) -> None:
        self._chunks = chunks
        self._parts = parts
        self._diagnostics = diagnostics
        self._shows_logprobs = logprobs
        self._orders = {"content": SegmentOrder(), "refusal": SegmentOrder()}
        self._field: dict[str, str] = {}
        """The field in which a segment is written, by its id."""
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self.annotations: list[JsonObject] = []
        self._annotated = 0
        self.logprobs: dict[str, list[JsonObject]] = {}

    def more_of_live(self, event: events.TextDelta) -> bool:
        """Write more of the segment whose deltas pass; return whether it is this one's."""
        field = self._field.get(event.id, "content")
        if self._orders[field].live != ("text", event.id):
            return False
        if event.logprobs:
            self._more(event, field)
        elif event.text:
            self._chunks.write({field: event.text})
        return True

    def add(self, event: events.TextStart | events.TextDelta | events.TextEnd) -> None:
        """Write what can be written of a field now that *event* came."""
        if isinstance(event, events.TextStart):
            self._parts.begin(("text", event.id))
            self._field[event.id] = "refusal" if event.refusal else "content"
        field = self._field.get(event.id, "content")
        self._write(self._orders[field].add(event), field)

    def end_step(self) -> None:
        """Write all that waits for the end of another segment."""
        for field, order in self._orders.items():
            self._write(order.end(), field)

    def _write(self, ordered: Sequence[events.LLMEvent], field: str) -> None:
        for event in ordered:
            if isinstance(event, events.TextDelta):
                self._more(event, field)
            elif isinstance(event, events.TextEnd):
                self._end(event, field)

    def _more(self, event: events.TextDelta, field: str) -> None:
        logprobs = None
        if event.logprobs and self._shows_logprobs:
            read = native_logprobs(event.logprobs)
            logprobs = {"content": None, "refusal": None, field: read}
        if event.text or logprobs:
            self._chunks.write({field: event.text}, logprobs)

    def _end(self, event: events.TextEnd, field: str) -> None:
        texts = self._texts[field]
        start = sum(map(len, texts))
        self.annotations += annotations_of(event.citations, event.text, start, self._diagnostics)
        texts.append(event.text)
        if event.logprobs and self._shows_logprobs:
            self.logprobs.setdefault(field, []).extend(native_logprobs(event.logprobs))
        kept = event.text or event.provider_metadata
        self._parts.end(("text", event.id), _shown(event) if kept else None)

    def write_annotations(self) -> None:
        """Write the citations of the texts so far, while their text is the last of the content.

        Clients that join lists need an index where there is more than one list of them.
        """
        first, entries = self._annotated, self.annotations[self._annotated :]
        if first:
            entries = [{"index": index, **one} for index, one in enumerate(entries, first)]
        if entries:
            self._chunks.write({"annotations": entries})
            self._annotated = len(self.annotations)

    def fields(self) -> dict[str, JsonValue]:
        """Return the texts of the whole message."""
        return {name: "".join(pieces) or None for name, pieces in self._texts.items()}


def _shown(event: events.LLMEvent) -> ContentPart | None:
    return shown_part(event, SHOWN_IDS)
