"""From events to the chunks of a stream, and to the response that they add up to.

Source: https://ai.google.dev/api/generate-content#GenerateContentResponse, read November 2026.
Each chunk holds the next parts. Text and thoughts may be cut anywhere, a function call is whole,
the last chunk has the finish reason, the usage and the grounding. A response that is not streamed
has the same parts, texts in a row joined. Google sends `usageMetadata` in every chunk, and BAML
(0.226) skips one without it: before the last it has the count of the prompt, or nothing.

    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}],
     "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "modelVersion": "m",
     "responseId": "r1"}
    {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0,
                     "finishReason": "STOP"}],
     "usageMetadata": {...}, "modelVersion": "m", "responseId": "r1"}

What the client does not see is sealed (`carrier`): in the signature of the next function call, or
of an empty text in the last chunk; in a response that is not streamed, of the text that ends it.
The last chunk always has a part, because `google-genai` forgets a turn of a chat with a chunk that
has none (`chats._validate_response`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.front import Event, FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.gemini.carrier import TextRun, joined_texts
from llmcore.fronts.gemini.content import Grounding, file_part, logprobs_result, read_media
from llmcore.fronts.gemini.errors import envelope
from llmcore.fronts.gemini.finish import candidate_end, finish_reason, response_end, usage_metadata
from llmcore.fronts.gemini.request import ReadGeminiRequest
from llmcore.fronts.hosted_calls import executed_code, hosted_call_kind, search_queries
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.sealer import as_base64
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, ROLES
from llmcore.protocols.gemini.parts import merge_native
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema.content import TextPart, TokenLogprob, ToolCallPart
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    Finish,
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
    ToolResult,
)
from llmcore.schema.json import JsonObject, NativeObject, object_or_empty, str_or_none, text_or_json


class GeminiWriter(FrontWriter):
    """Writes one `GenerateContentResponse`, event by event."""

    def __init__(
        self, info: ResponseIdentity, request: ReadGeminiRequest, upstream: Upstream
    ) -> None:
        super().__init__(request)
        self._thoughts = request.include_thoughts
        self._frame: NativeObject = {
            "usageMetadata": {},
            "modelVersion": info.model,
            "responseId": info.id,
        }
        self._record = ResponseRecord(info, upstream)
        self._run = TextRun()
        self._beside: NativeObject = {}
        """Native fields that are written beside the next text."""
        self._grounding = Grounding()
        self._parts: list[NativeObject] = []
        self._tokens: tuple[TokenLogprob, ...] = ()
        self._held: ToolCall | None = None
        self._calls = 0
        self._native = False
        self._last: NativeObject = {}

    # -- what a server calls

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The state of the whole response: some clients send calls back without signatures."""
        return {} if self.error is not None else self._record.sealed_calls()

    def whole(self) -> JsonObject:
        """Return the response object, once it has ended without an error."""
        parts = joined_texts(self._parts) or [{"text": ""}]
        tokens = {"logprobsResult": logprobs_result(self._tokens)} if self._tokens else {}
        candidates = [
            {**candidate, "content": {"role": ROLES["assistant"], "parts": parts}, **tokens}
            for candidate in self._last.get("candidates", ())
        ]
        return {**self._last, **({"candidates": candidates} if candidates else {})}

    # -- chunks

    def _delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        if kind == "tool" or self._beside or self._order.live != (kind, event.id):
            return None
        thinking = kind == "reasoning"
        text = event.text
        if not text or (thinking and not self._thoughts):
            return ()
        if not thinking and event.logprobs:
            return None
        part = {"text": text, "thought": True} if thinking else {"text": text}
        self._parts.append(part)
        if not thinking:
            self._run.pieces.append(text)
        content = {"role": "model", "parts": [part]}
        return ({"candidates": [{"content": content, "index": 0}], **self._frame},)

    def _write(self, part: NativeObject, **fields: Any) -> None:
        """Add a chunk with one part."""
        self._parts.append(part)
        content = {"role": ROLES["assistant"], "parts": [part]}
        candidate = {"content": content, "index": 0, **fields}
        self._events.append({"candidates": [candidate], **self._frame})

    def _handle(self, event: LLMEvent) -> None:
        if self._held is not None and not isinstance(event, _NO_PARTS):
            self._end_held(cut=False)  # what another part follows was not cut off
        super()._handle(event)

    # -- text and thoughts

    def _on_text_start(self, event: TextStart | ReasoningStart) -> None:
        self._beside = self._native_fields(event)

    _on_reasoning_start = _on_text_start

    def _write_text(self, part: NativeObject, **fields: Any) -> None:
        beside, self._beside = self._beside, {}
        self._write({**part, **beside}, **fields)

    def _on_text_delta(self, event: TextDelta) -> None:
        if event.text or event.logprobs:
            self._run.pieces.append(event.text)
            self._tokens += event.logprobs
            tokens = {"logprobsResult": logprobs_result(event.logprobs)} if event.logprobs else {}
            self._write_text({"text": event.text}, **tokens)

    def _on_reasoning_delta(self, event: ReasoningDelta) -> None:
        if event.text and self._thoughts:
            self._write_text({"text": event.text, "thought": True})

    def _on_text_end(self, event: TextEnd) -> None:
        if self._beside:
            self._write_text({"text": ""})
        text = self._run.end_text(self._record.part_of(event))
        if text or event.citations:
            self._grounding.text(text, event.citations, self._diagnostics)

    def _on_reasoning_end(self, event: ReasoningEnd) -> None:
        if self._beside and self._thoughts:
            self._write_text({"text": "", "thought": True})
        self._beside = {}
        self._hide(event)

    def _hide(self, event: LLMEvent) -> None:
        """Keep the state that the client does not see, or does not send back unchanged."""
        part = self._record.part_of(event)
        if part is not None:
            self._run.hide(part)

    def _end_run(self) -> None:
        for shown in self._run.take():
            self._record.add(shown)

    # -- calls of the client's functions

    def _on_tool_call(self, event: ToolCall) -> None:
        if event.provider_executed:
            self._hosted_call(event)
        elif isinstance(event.arguments, dict):
            self._write_call(event, event.arguments)
        elif event.kind == "custom":
            self._write_call(event, freeform_arguments(str(event.arguments)))
        else:
            self._held = event  # it may have been cut off: what follows will tell

    def _write_call(self, event: ToolCall, arguments: JsonObject) -> None:
        self._end_run()
        self._calls += 1
        part = self._record.part_of(event)
        if not isinstance(part, ToolCallPart):
            return
        native = {"id": part.id, "name": part.name, "args": arguments}
        self._record.show(part, ToolCallPart(part.id, part.name, arguments))
        whole = merge_native({"functionCall": native}, self._native_fields(event))
        self._write({**whole, **self._signature()})

    def _native_fields(self, event: LLMEvent) -> NativeObject:
        """Return the fields that a Gemini upstream sent beside an event's content, and inside it.

        Without its signature, which the state holds, and the id of a call, which the client has.
        """
        if not self._native:
            return {}
        metadata = getattr(event, "provider_metadata", {})
        fields = dict(object_or_empty(metadata.get(METADATA_KEY)))
        fields.pop("thoughtSignature", None)
        called = dict(object_or_empty(fields.pop("functionCall", None)))
        called.pop("id", None)
        return {**fields, **({"functionCall": called} if called else {})}

    def _signature(self) -> NativeObject:
        """Return the signature that carries all that is not sealed yet; empty if all is seen."""
        if not self._record.needs_opaque_item:
            return {}
        return {"thoughtSignature": as_base64(self._record.seal()["encrypted_content"])}

    def _end_held(self, *, cut: bool) -> None:
        """Write the call whose arguments are not an object, unless it was *cut* off."""
        event, self._held = self._held, None
        if event is None:
            return
        path = f"tool_calls[{event.id}]"
        if cut:
            why = f"the response was cut off inside a call of {event.name}, which must not be run"
            self._diagnostics.at(path).dropped("incomplete-tool-call", why)
            return
        why = "arguments are an object: these are wrapped in one"
        self._diagnostics.at(path).changed("invalid-tool-arguments", why)
        self._write_call(event, freeform_arguments(text_or_json(event.arguments)))

    # -- tools that the provider ran

    def _hosted_call(self, event: ToolCall) -> None:
        self._hide(event)
        native, kind = _native_part(event), hosted_call_kind(event.name)
        if native:
            self._write(native)
        elif kind == "code_execution":
            code = {"language": "PYTHON", "code": executed_code(event)}
            self._write({"executableCode": code})
        elif kind == "web_search":
            self._grounding.search(search_queries(event))

    def _on_tool_result(self, event: ToolResult) -> None:
        self._hide(event)
        native = _native_part(event)
        if native:
            self._write(native)
        elif event.provider_executed and hosted_call_kind(event.name or "") == "code_execution":
            outcome = "OUTCOME_FAILED" if event.is_error else "OUTCOME_OK"
            result = {"outcome": outcome, "output": printed(event.content)}
            self._write({"codeExecutionResult": result})

    # -- events by themselves

    def _on_file(self, event: File) -> None:
        native, part = file_part(event, native=self._native), self._record.part_of(event)
        beside = self._native_fields(event)
        draft = beside.get("thought") is True
        if native is None or part is None:
            why = "the API has no form for a file without bytes or an address"
            self._diagnostics.at(f"files[{event.id}]").dropped("file-dropped", why)
            self._hide(event)
            return
        native = merge_native(native, beside)
        if draft:  # clients send it back or not, as they do thoughts
            self._hide(event)
            if self._thoughts:
                self._write(native)
            return
        self._end_run()
        self._record.show(part, read_media(native, "parts", native=False))
        self._write({**native, **self._signature()})

    def _on_provider_event(self, event: ProviderEvent) -> None:
        self._hide(event)
        native = object_or_empty(event.data)
        if event.replay and self._native and "candidate" not in native:
            self._write(dict(native))

    def _on_source(self, event: Source) -> None:
        self._grounding.source(event)

    # -- the frame

    def _on_stream_start(self, event: StreamStart) -> None:
        self._native = event.protocol == PROTOCOL_ID
        self._record.origin = self._begin_response(event)
        read = None if event.usage is None else event.usage.input_tokens
        counts = {} if read is None else {"promptTokenCount": read, "totalTokenCount": read}
        model = self._frame["modelVersion"] or event.model
        self._frame = {**self._frame, "usageMetadata": counts, "modelVersion": model}

    def _on_step_finish(self, event: StepFinish) -> None:
        super()._on_step_finish(event)
        self._end_held(cut=event.finish_reason.reason == "length")

    def _end_response(self, event: Finish) -> None:
        word = finish_reason(event.finish_reason, native=self._native, called=self._calls > 0)
        if word is None:
            self._fail_by_reason(event)
            return
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY)) if self._native else {}
        end = candidate_end(word, native, self._grounding.metadata())
        self._write_end(end, native)
        self._cut = event.finish_reason.reason in ("length", "content_filter")
        self.ended = True

    def _write_end(self, end: NativeObject, native: Mapping[str, Any]) -> None:
        """Write the last chunk: unsealed state, finish reason and usage."""
        self._end_run()
        signature = self._signature()
        tail = {"text": "", **signature}
        if signature:
            self._parts.append(tail)
        candidate = {"content": {"role": ROLES["assistant"], "parts": [tail]}, "index": 0, **end}
        feedback = native.get("promptFeedback")
        blocked = bool(object_or_empty(feedback).get("blockReason")) and not self._parts
        self._last = {
            **({} if blocked else {"candidates": [candidate]}),
            **response_end(native),
            **self._frame,
            "usageMetadata": usage_metadata(self.usage, native=self._native),
        }
        self._events.append(self._last)

    def _write_failure(self, error: LLMError) -> None:
        self._events.append(dict(envelope(from_llm_error(error))))


_NO_PARTS: Final = (Source, StepFinish, ErrorEvent)
"""Events that can follow a call that was cut off."""


def _native_part(event: ToolCall | ToolResult) -> NativeObject:
    """Return the part that a tool of Google's own came in; empty for others."""
    return object_or_empty(object_or_empty(event.provider_metadata.get(METADATA_KEY)).get("part"))


def printed(content: object) -> str:
    """Return the output of code that the provider ran."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "".join(map(printed, content))
    if isinstance(content, TextPart):
        return content.text
    fields = object_or_empty(content)
    texts = (str_or_none(fields.get(name)) for name in ("stdout", "stderr", "output", "logs"))
    return "".join(filter(None, texts))
