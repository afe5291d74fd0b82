"""From events to the chunks of a stream, and to the completion that they add up to.

Sources, read November 2026: https://developers.openai.com/api/reference/resources/chat, and how the
`openai` package adds chunks up (`lib.streaming._deltas`): strings are joined and entries of lists
are found by their `index`, so that names, ids and kinds must come once.

Calls are written as they come, each under its index. Texts, refusals and thinking have one field
each, so that segments of one kind are put one after another.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import Event, FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.openai_chat.calls import CallWriter
from llmcore.fronts.openai_chat.carrier import SHOWN_IDS, ResponseParts, ThinkingWriter
from llmcore.fronts.openai_chat.chunks import ChunkWriter, usage_of
from llmcore.fronts.openai_chat.content import (
    annotations_of,
    native_audio,
    native_image,
    native_logprobs,
)
from llmcore.fronts.openai_chat.request import ReadChatRequest
from llmcore.fronts.openai_forms import envelope, service_tier, tier_of
from llmcore.fronts.response_record import ResponseRecord, shown_part
from llmcore.fronts.segment_order import SegmentOrder
from llmcore.protocols.openai_chat.names import FINISH_REASONS, METADATA_KEY
from llmcore.schema.content import ContentPart, ToolCallPart
from llmcore.schema.errors import LLMError
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
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonObject, JsonValue, object_or_empty, str_or_none

_WORDS: Final[Mapping[str, str]] = {
    **{kind: word for word, kind in reversed([*FINISH_REASONS.items()])},
    "other": "stop",
}
"""`finish_reason` by our kinds: of several words, OpenAI's own."""
_MESSAGE: Final = "choices[0].message"


class ChatWriter(FrontWriter):
    """Writes one completion."""

    _has_one_order = False

    def __init__(
        self, info: ResponseIdentity, request: ReadChatRequest, upstream: Upstream
    ) -> None:
        super().__init__(request)
        self._created_at = info.created_at
        self._request = request
        self._record = ResponseRecord(info, upstream)
        self._parts = ResponseParts(self._record)
        self._chunks = ChunkWriter(info, self._events, includes_usage=request.includes_usage)
        self._calls = CallWriter(
            self._chunks,
            self._diagnostics,
            custom_tools=request.custom_tools,
            legacy=request.legacy,
        )
        self._thinking = ThinkingWriter(
            self._chunks,
            self._parts,
            upstream.policy.chat_reasoning,
            shown=request.shows_thinking,
        )
        self._orders = {name: SegmentOrder() for name in ("content", "refusal", "reasoning")}
        self._field: dict[str, str] = {}
        """The field in which a segment of text is written, by its id."""
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._logprobs: dict[str, list[JsonObject]] = {}
        self._annotations: list[JsonObject] = []
        self._sources: list[Source] = []
        self._images: list[JsonObject] = []
        self._audio: JsonObject | None = None
        self._reason = ""

    # -- what a server calls

    def _delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        field = self._field.get(event.id, "content")
        if self._orders[field].live != ("text", event.id) or kind != "text":
            return None
        self._more_text(event, field)
        return self._take()

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The state of the response by the id of each of its calls, for a server to keep.

        Clients that drop what they do not know send the ids back and not the state.
        """
        return self._record.sealed_calls(key=lambda call: call.id)

    def whole(self) -> JsonObject:
        """Return the completion, once the response has ended without an error."""
        usage = usage_of(self.usage)
        logprobs = {"content": None, "refusal": None, **self._logprobs}
        choice: JsonObject = {
            "index": 0,
            "message": self._message(),
            "logprobs": logprobs if self._logprobs else None,
            "finish_reason": self._reason,
        }
        return {
            **self._chunks.head("chat.completion"),
            "choices": [choice],
            **({} if usage is None else {"usage": usage}),
            **self._chunks.fields,
        }

    def _message(self) -> JsonObject:
        """Return the message, always with `content` and `refusal`; other fields if needed."""
        texts = {name: "".join(pieces) or None for name, pieces in self._texts.items()}
        return {
            "role": "assistant",
            **texts,
            **self._thinking.fields(),
            **self._calls.fields(),
            **({"annotations": self._annotations} if self._annotations else {}),
            **({"images": self._images} if self._images else {}),
            **({"audio": self._audio} if self._audio else {}),
        }

    # -- texts and refusals

    def _on_text_start(self, event: TextStart) -> None:
        self._parts.begin(("text", event.id))
        self._field[event.id] = "refusal" if event.refusal else "content"
        self._on_text_delta(event)

    def _on_text_delta(self, event: TextStart | TextDelta | TextEnd) -> None:
        field = self._field.get(event.id, "content")
        for ordered in self._orders[field].add(event):
            self._write_text(ordered, field)

    _on_text_end = _on_text_delta

    def _write_text(self, event: LLMEvent, field: str) -> None:
        if isinstance(event, TextDelta):
            self._more_text(event, field)
        elif isinstance(event, TextEnd):
            self._end_text(event, field)

    def _more_text(self, event: TextDelta, field: str) -> None:
        logprobs = None
        if event.logprobs and self._request.shows_logprobs:
            read = native_logprobs(event.logprobs)
            logprobs = {"content": None, "refusal": None, field: read}
        if event.text or logprobs:
            self._chunks.write({field: event.text}, logprobs)

    def _end_text(self, event: TextEnd, field: str) -> None:
        texts = self._texts[field]
        start = sum(map(len, texts))
        self._annotations += annotations_of(event.citations, event.text, start, self._diagnostics)
        texts.append(event.text)
        if event.logprobs and self._request.shows_logprobs:
            self._logprobs.setdefault(field, []).extend(native_logprobs(event.logprobs))
        kept = event.text or event.provider_metadata
        self._parts.end(("text", event.id), _shown(event) if kept else None)

    # -- thinking

    def _on_reasoning_start(self, event: ReasoningStart) -> None:
        self._parts.begin(("reasoning", event.id))
        self._on_reasoning_delta(event)

    def _on_reasoning_delta(self, event: ReasoningStart | ReasoningDelta | ReasoningEnd) -> None:
        for ordered in self._orders["reasoning"].add(event):
            self._write_thinking(ordered)

    _on_reasoning_end = _on_reasoning_delta

    def _write_thinking(self, event: LLMEvent) -> None:
        if isinstance(event, ReasoningDelta):
            self._thinking.more(event)
        elif isinstance(event, ReasoningEnd):
            kept = event.text or event.signature or event.encrypted or event.provider_metadata
            self._parts.end(("reasoning", event.id), _shown(event) if kept else None)
            self._thinking.end(event)

    # -- calls, and events by themselves

    def _on_tool_input_start(self, event: ToolInputStart) -> None:
        self._parts.begin(("tool", event.id))
        if not event.provider_executed:
            self._calls.begin(event, SHOWN_IDS.fit(event.id))

    def _on_tool_input_delta(self, event: ToolInputDelta) -> None:
        self._calls.more(event)

    def _on_tool_call(self, event: ToolCall) -> None:
        part = _shown(event)
        self._parts.end(("tool", event.id), part)
        if isinstance(part, ToolCallPart):
            self._calls.end(event.id, part, event.raw_arguments)

    def _on_tool_result(self, event: ToolResult) -> None:
        if event.provider_executed:
            self._parts.add(_shown(event))

    def _on_provider_event(self, event: ProviderEvent) -> None:
        if event.replay:
            self._parts.add(_shown(event))

    def _on_file(self, event: File) -> None:
        image = native_image(event)
        audio = native_audio(event, self._created_at) if image is None else None
        if image is not None:
            self._chunks.write({"images": [{"index": len(self._images), **image}]})
            self._images.append(image)
            self._parts.add(_shown(event))
        elif audio is not None and self._audio is None:
            self._chunks.write({"audio": audio})
            self._audio = audio
        else:
            why = "Chat Completions cannot represent it"
            self._diagnostics.at(_MESSAGE).left_out(
                f"a file ({event.media_type or 'of any type'})", why
            )

    def _on_source(self, event: Source) -> None:
        self._sources.append(event)

    # -- the frame

    def _on_stream_start(self, event: StreamStart) -> None:
        self._record.origin = self._begin_response(event)
        self._chunks.model = self._chunks.model or event.model
        if tier := tier_of(event.usage):
            self._chunks.fields["service_tier"] = tier

    def _on_step_finish(self, event: StepFinish) -> None:
        for name, order in self._orders.items():
            for ordered in order.end():
                if name == "reasoning":
                    self._write_thinking(ordered)
                else:
                    self._write_text(ordered, name)
        super()._on_step_finish(event)

    def _end_response(self, event: Finish) -> None:
        kind = finish_kind(event.finish_reason, called=bool(self._calls))
        if kind == "error":
            self._fail_by_reason(event)
            return
        self._reason = self._word(kind, event.finish_reason)
        if self._annotations:  # while their text is the last: sealed state ends it
            self._chunks.write({"annotations": self._annotations})
        self._thinking.finish()
        self._chunks.fields |= _known_fields(event)
        self._write_sources()
        self._chunks.finish(self._reason)
        self._chunks.write_usage(self.usage)
        self._cut = self._reason in ("length", "content_filter")
        self.ended = True

    def _word(self, kind: str, reason: FinishReason) -> str:
        """Return `finish_reason`."""
        if kind == "other":
            self._note_reason("choices[0].finish_reason", reason)
        if kind == "tool_calls" and self._request.legacy:
            return "function_call"
        return _WORDS[kind]

    def _write_sources(self) -> None:
        """Write the pages that no text cites beside the choices, as Perplexity has them.

        Source: https://docs.perplexity.ai/api-reference (`search_results`)
        """
        cited = {
            object_or_empty(annotation["url_citation"]).get("url")
            for annotation in self._annotations
        }
        pages: list[JsonValue] = []
        for source in self._sources:
            if source.url is None:
                why = "only pages of the web have a place in Chat Completions"
                self._diagnostics.at("search_results").dropped("source-dropped", why)
            elif source.url not in cited:
                pages.append({"title": source.title, "url": source.url})
        if pages:
            self._chunks.fields["search_results"] = pages

    def _write_failure(self, error: LLMError) -> None:
        self._chunks.fail(envelope(from_llm_error(error)))


def _shown(event: LLMEvent) -> ContentPart | None:
    return shown_part(event, SHOWN_IDS)


def _known_fields(event: Finish) -> dict[str, JsonValue]:
    """Return the fields of a completion that only OpenAI has, where the upstream sent them."""
    native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
    tier = service_tier(event)
    build = str_or_none(native.get("system_fingerprint"))
    moderation = _moderation(object_or_empty(native.get("moderation")))
    return {
        **({"service_tier": tier} if tier else {}),
        **({} if build is None else {"system_fingerprint": build}),
        **({"moderation": moderation} if moderation.keys() == {"input", "output"} else {}),
    }


def _moderation(native: JsonObject) -> dict[str, JsonValue]:
    """Return what was found of the input and the output: here it is a list, in Responses it is not.

    Responses: {"type": "moderation_result", "model": "omni-moderation", "flagged": false, ...}
    here: {"type": "moderation_results", "model": "omni-moderation", "results": [{...}]}
    """
    results = {name: object_or_empty(value) for name, value in native.items()}
    return {
        name: {"type": "moderation_results", "model": value.get("model"), "results": [value]}
        if value.get("type") == "moderation_result"
        else value
        for name, value in results.items()
    }
