"""The content of a response as chunks of one part each.

Text and thoughts may be cut anywhere, a function call is whole. A call whose arguments are not an
object may have been cut off: it is held until it is known what follows it.
"""

from collections.abc import Sequence
from typing import Any

from llmcore.fronts.front import Event, ResponseIdentity, Upstream
from llmcore.fronts.gemini.carrier import SignatureCarrier
from llmcore.fronts.gemini.content import Grounding, file_part, logprobs_result, read_media
from llmcore.fronts.gemini.request import ReadGeminiRequest
from llmcore.fronts.hosted_calls import executed_code, hosted_call_kind, search_queries
from llmcore.fronts.output import OutputWriter
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, ROLES
from llmcore.protocols.gemini.parts import merge_native
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema import events
from llmcore.schema.content import TextPart, TokenLogprob, ToolCallPart
from llmcore.schema.json import JsonObject, NativeObject, text_or_json
from llmcore.schema.native_json import object_or_empty, str_or_none


class GeminiOutput(OutputWriter):
    """Writes the content of one `GenerateContentResponse`."""

    def __init__(
        self, info: ResponseIdentity, request: ReadGeminiRequest, upstream: Upstream
    ) -> None:
        super().__init__(info, upstream)
        self.frame: NativeObject = {
            "usageMetadata": {"promptTokenCount": 0, "totalTokenCount": 0},
            "modelVersion": info.model,
            "responseId": info.id,
        }
        """The fields of each chunk beside its candidate."""
        self.grounding = Grounding()
        self.parts: list[NativeObject] = []
        """The parts of all chunks."""
        self.tokens: tuple[TokenLogprob, ...] = ()
        """Log probabilities of the texts."""
        self._state = SignatureCarrier(self.record)
        self._thoughts = request.include_thoughts
        self._beside: NativeObject = {}
        """Native fields that are written beside the next text."""
        self._held: events.ToolCall | None = None

    @property
    def native(self) -> bool:
        """Whether the upstream has the same API."""
        return self.record.origin.protocol == PROTOCOL_ID

    def delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        """Return the chunk of more text, or of more thoughts."""
        if kind == "tool" or self._beside or self.order.live != (kind, event.id):
            return None
        thinking = kind == "reasoning"
        text = event.text
        if not text or (thinking and not self._thoughts):
            return ()
        if not thinking and event.logprobs:
            return None
        part = {"text": text, "thought": True} if thinking else {"text": text}
        self.parts.append(part)
        if not thinking:
            self._state.pieces.append(text)
        content = {"role": "model", "parts": [part]}
        return ({"candidates": [{"content": content, "index": 0}], **self.frame},)

    def _write(self, part: NativeObject, **fields: Any) -> None:
        """Add a chunk with one part."""
        self.parts.append(part)
        content = {"role": ROLES["assistant"], "parts": [part]}
        candidate = {"content": content, "index": 0, **fields}
        self.events.append({"candidates": [candidate], **self.frame})

    def handle(self, event: events.LLMEvent) -> None:
        """Write *event*, after the call that it shows to be whole."""
        if self._held is not None and not isinstance(event, events.Source):
            self.end_held(cut=False)  # what another part follows was not cut off
        super().handle(event)

    # -- text and thoughts

    def _on_text_start(self, event: events.TextStart | events.ReasoningStart) -> None:
        self._beside = _native_fields(event, native=self.native)

    _on_reasoning_start = _on_text_start

    def _write_text(self, part: NativeObject, **fields: Any) -> None:
        beside, self._beside = self._beside, {}
        self._write({**part, **beside}, **fields)

    def _on_text_delta(self, event: events.TextDelta) -> None:
        if event.text or event.logprobs:
            self._state.pieces.append(event.text)
            self.tokens += event.logprobs
            tokens = {"logprobsResult": logprobs_result(event.logprobs)} if event.logprobs else {}
            self._write_text({"text": event.text}, **tokens)

    def _on_reasoning_delta(self, event: events.ReasoningDelta) -> None:
        if event.text and self._thoughts:
            self._write_text({"text": event.text, "thought": True})

    def _on_text_end(self, event: events.TextEnd) -> None:
        if self._beside:
            self._write_text({"text": ""})
        text = self._state.end_text(event)
        if text or event.citations:
            self.grounding.text(text, event.citations, self.diagnostics)

    def _on_reasoning_end(self, event: events.ReasoningEnd) -> None:
        if self._beside and self._thoughts:
            self._write_text({"text": "", "thought": True})
        self._beside = {}
        self._state.hide(event)

    # -- calls of the client's functions

    def _on_tool_call(self, event: events.ToolCall) -> None:
        if event.provider_executed:
            self._hosted_call(event)
        elif isinstance(event.arguments, dict):
            self._write_call(event, event.arguments)
        else:
            self._held = event  # it may have been cut off: what follows will tell

    def _write_call(self, event: events.ToolCall, arguments: JsonObject) -> None:
        self._state.end_run()
        self.called = True
        part = self.record.part_of(event)
        if not isinstance(part, ToolCallPart):
            return
        native = {"id": part.id, "name": part.name, "args": arguments}
        self.record.show(part, ToolCallPart(part.id, part.name, arguments))
        whole = merge_native({"functionCall": native}, _native_fields(event, native=self.native))
        self._write({**whole, **self._state.signature()})

    def end_held(self, *, cut: bool) -> None:
        """Write the call whose arguments are not an object, unless it was *cut* off."""
        event, self._held = self._held, None
        if event is None:
            return
        path = f"tool_calls[{event.id}]"
        if cut:
            why = f"the response was cut off inside a call of {event.name}, which must not be run"
            self.diagnostics.at(path).dropped("incomplete-tool-call", why)
            return
        if event.kind == "function":
            why = "arguments are an object: these are wrapped in one"
            self.diagnostics.at(path).changed("invalid-tool-arguments", why)
        self._write_call(event, freeform_arguments(text_or_json(event.arguments)))

    # -- tools that the provider ran

    def _hosted_call(self, event: events.ToolCall) -> None:
        self._state.hide(event)
        native, kind = _native_part(event), hosted_call_kind(event.name)
        if native:
            self._write(native)
        elif kind == "code_execution":
            code = {"language": "PYTHON", "code": executed_code(event)}
            self._write({"executableCode": code})
        elif kind == "web_search":
            self.grounding.search(search_queries(event))

    def _on_tool_result(self, event: events.ToolResult) -> None:
        self._state.hide(event)
        native = _native_part(event)
        if native:
            self._write(native)
        elif event.provider_executed and hosted_call_kind(event.name or "") == "code_execution":
            outcome = "OUTCOME_FAILED" if event.is_error else "OUTCOME_OK"
            result = {"outcome": outcome, "output": printed(event.content)}
            self._write({"codeExecutionResult": result})

    # -- events by themselves

    def _on_file(self, event: events.File) -> None:
        native, part = file_part(event, native=self.native), self.record.part_of(event)
        beside = _native_fields(event, native=self.native)
        draft = beside.get("thought") is True
        if native is None or part is None:
            why = "the API has no form for a file without bytes or an address"
            self.diagnostics.at(f"files[{event.id}]").dropped("file-dropped", why)
            self._state.hide(event)
            return
        native = merge_native(native, beside)
        if draft:  # clients send it back or not, as they do thoughts
            self._state.hide(event)
            if self._thoughts:
                self._write(native)
            return
        self._state.show(part, read_media(native, "parts", native=False))
        self._write({**native, **self._state.signature()})

    def _on_provider_event(self, event: events.ProviderEvent) -> None:
        self._state.hide(event)
        native = object_or_empty(event.data)
        if event.replay and self.native and "candidate" not in native:
            self._write(dict(native))

    def _on_source(self, event: events.Source) -> None:
        self.grounding.source(event)

    def end(self) -> NativeObject:
        """Return the last part, which carries the state that is not sealed yet."""
        self._state.end_run()
        signature = self._state.signature()
        tail = {"text": "", **signature}
        if signature:
            self.parts.append(tail)
        return tail


def _native_fields(event: events.LLMEvent, *, native: bool) -> NativeObject:
    """Return the fields that a Gemini upstream sent beside an event's content, and inside it.

    Without its signature, which the state holds, and the id of a call, which the client has.
    """
    if not native:
        return {}
    metadata = getattr(event, "provider_metadata", {})
    fields = dict(object_or_empty(metadata.get(METADATA_KEY)))
    fields.pop("thoughtSignature", None)
    called = dict(object_or_empty(fields.pop("functionCall", None)))
    called.pop("id", None)
    return {**fields, **({"functionCall": called} if called else {})}


def _native_part(event: events.ToolCall | events.ToolResult) -> NativeObject:
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
