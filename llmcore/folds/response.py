"""Collects events into a response."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final

from attrs import evolve

from llmcore.folds.parts import part_of, without_opaque
from llmcore.schema import json
from llmcore.schema.changed import copying
from llmcore.schema.content import ContentPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    SEGMENT_STARTS,
    DeltaEvent,
    ErrorEvent,
    File,
    Finish,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    ReasoningEnd,
    ReasoningStart,
    Source,
    StepFinish,
    StepStart,
    StreamStart,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import ProviderMetadata, plain_metadata
from llmcore.schema.messages import Message, Origin
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.usage import Usage, estimated_tokens, estimated_usage


@with_call_hints()
def collect(events: Iterable[LLMEvent]) -> Result[LLMResponse, LLMError]:
    """Fold the events of one step into its response.

    A list with an `ErrorEvent` returns its error, a list without a terminal event a StreamError.
    """
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.response()


_WHOLE: Final[Mapping[type, str]] = {TextEnd: "text", ReasoningEnd: "reasoning", ToolCall: "tool"}
"""The kinds of segments by the events that have the whole: a call follows the end of its input."""


class Accumulator:
    """Collects events one at a time, with the same result as `collect`."""

    def __init__(self) -> None:
        self._slots: dict[tuple[str, str | int], ContentPart | list[str] | None] = {}
        self._starts: dict[tuple[str, str | int], TextStart | ReasoningStart | ToolInputStart] = {}
        self._start: StreamStart | None = None
        self._sources: list[Source] = []
        self._usage: Usage | None = None
        self._counted: Usage | None = None
        """The tokens that the server has counted of a response that may not come to its end."""
        self._finish: Finish | None = None
        self._error: LLMError | None = None
        self._fault = ""
        self._diagnostics: list[Diagnostic] = []
        self._earlier: tuple[ContentPart, ...] = ()
        """The parts of models that were cut, which another model continues."""
        self._earlier_usage: Usage | None = None
        self._complete: LLMResponse | None = None
        """The response that `partial` returned after the end, until another event follows."""

    def __repr__(self) -> str:
        state = "ended" if self._finish is not None or self._error is not None else "open"
        return f"Accumulator({len(self._slots)} parts, {state})"

    def feed(self, event: LLMEvent) -> None:
        """Add the next event."""
        handler = self._HANDLERS.get(type(event))
        self._complete = None
        if handler is not None:
            handler(self, event)

    def feed_text(
        self, start: StreamStart, end: TextEnd, step_finish: StepFinish, finish: Finish
    ) -> None:
        """Add all events of a response that is one text, given those that it is made of."""
        self._complete = None
        self._start = start
        self._slots["text", end.id] = part_of(end)
        self._usage = step_finish.usage
        self._finish = finish

    def share_chunks(self, key: tuple[str, str], chunks: list[str]) -> None:
        """Use *chunks*, which the caller fills, as the text of the open segment *key*.

        Its deltas need not be processed here, so that their text is stored once.
        """
        self._slots[key] = chunks

    def keep_usage(self, counted: Usage | None) -> None:
        """Use the tokens that the server has *counted* so far, if the end does not come."""
        self._counted = counted

    def resume(self) -> None:
        """Forget the error that cut the stream, which the following events continue."""
        self._error = None

    @property
    def finished(self) -> bool:
        """Whether `Finish` was processed and no error."""
        return self._finish is not None and self._error is None

    @property
    def partial(self) -> LLMResponse:
        """The response made of the events so far. It contains complete tool calls only.

        Until `Finish`, and after an error, its finish reason is `other`. Usage that the provider
        did not state is estimated.
        """
        if self._finish is None or self._error is not None or self._fault:
            return self._build(finish=None, estimated=True)
        if self._complete is None:
            self._complete = self._build(self._finish, estimated=True)
        return self._complete

    def response(self) -> Result[LLMResponse, LLMError]:
        """Return the response of a finished stream; otherwise the error, with `partial` set."""
        if self._error is not None:
            return Failure(self._error)
        if self._finish is None or self._fault:
            return Failure(
                StreamError(
                    self._fault or "the stream ended before its end event",
                    provider=self._start.provider if self._start else None,
                    partial=self.partial,
                )
            )
        return Success(self._build(self._finish))

    # -- deltas: the per-token path

    def _delta(self, event: DeltaEvent) -> None:
        slot = self._slots.get((SEGMENT_DELTAS[type(event)], event.id))
        if type(slot) is list:
            slot.append(event.text)
        else:
            fault = f"{event.type} of {event.id!r} is out of order in the stream"
            self._fault = self._fault or fault

    # -- segments; each keeps the position of its start

    def _segment_start(self, event: TextStart | ReasoningStart | ToolInputStart) -> None:
        key = SEGMENT_STARTS[type(event)], event.id
        self._slots[key] = []
        self._starts[key] = event

    def _segment_end(self, event: TextEnd | ReasoningEnd | ToolCall) -> None:
        self._slots[_WHOLE[type(event)], event.id] = part_of(event)

    def _whole_part(self, event: ToolResult | ProviderEvent | File) -> None:
        part = part_of(event, None if self._start is None else self._start.provider or None)
        if part is not None:
            self._slots["part", len(self._slots)] = part
        elif isinstance(event, File):
            why = "a generated file has neither data nor an absolute URL nor a file id"
            place = f"files[{event.id}]"
            self._diagnostics.append(
                Diagnostic("file-without-content", place, action="dropped", message=why)
            )

    # -- stream and steps

    def _stream_start(self, event: StreamStart) -> None:
        self._start = event

    def _step_start(self, event: StepStart) -> None:
        if event.continues:
            self._continue(event)
        elif event.step:  # a response covers one step; the tool loop keeps earlier ones
            self._earlier, self._earlier_usage = (), None
            self._slots.clear()
            self._starts.clear()
            self._sources.clear()
            self._diagnostics.clear()
            self._usage = self._counted = None
            if event.start is not None:
                earlier = self._start.diagnostics if self._start is not None else ()
                self._start = evolve(event.start, diagnostics=(*earlier, *event.start.diagnostics))

    def _continue(self, event: StepStart) -> None:
        """Keep the response so far as a beginning: of the same model's, or of that of *event*."""
        start = self._start or StreamStart(provider="", model="")
        self._earlier_usage = self._estimate(start)
        self._counted = None
        parts, diagnostics = self._parts()
        self._earlier = tuple(parts)
        self._diagnostics.extend(diagnostics)
        self._slots.clear()
        self._starts.clear()
        if event.start is not None:  # another model, which cannot read all
            self._earlier = without_opaque(parts)
            diagnostics = [*start.diagnostics, *event.start.diagnostics]
            self._start = evolve(event.start, diagnostics=tuple(diagnostics))

    def _step_finish(self, event: StepFinish) -> None:
        self._usage = event.usage

    def _source(self, event: Source) -> None:
        self._sources.append(event)

    def _finished(self, event: Finish) -> None:
        self._finish = event

    def _failed(self, event: ErrorEvent) -> None:
        self._error = event.error

    _HANDLERS: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = {
        **dict.fromkeys(SEGMENT_DELTAS, _delta),
        **dict.fromkeys(SEGMENT_STARTS, _segment_start),
        **dict.fromkeys(_WHOLE, _segment_end),
        ToolResult: _whole_part,
        Source: _source,
        File: _whole_part,
        ProviderEvent: _whole_part,
        StreamStart: _stream_start,
        StepStart: _step_start,
        StepFinish: _step_finish,
        Finish: _finished,
        ErrorEvent: _failed,
    }

    # -- building

    def _build(self, finish: Finish | None, *, estimated: bool = False) -> LLMResponse:
        start = self._start or StreamStart(provider="", model="")
        model = (finish.model if finish else None) or start.model
        parts, unfinished = self._parts()
        diagnostics = [*start.diagnostics, *unfinished, *self._diagnostics]
        if finish is not None:
            diagnostics.extend(finish.diagnostics)
        message = _empty_message(start.provider, model, start.protocol)
        usage = self._usage or (finish.usage or start.usage if finish else None)
        if usage is None and estimated:
            usage = self._estimate(start)
        metadata = finish.message_metadata if finish else {}
        if parts or metadata:
            message = _with_content(message, tuple(parts), plain_metadata(metadata))
        return _made(
            _RESPONSE,
            start.id,
            start.provider,
            model,
            message,
            finish.finish_reason if finish else _UNFINISHED,
            usage or _NO_USAGE,
            tuple(diagnostics),
            tuple(self._sources),
            start.rate_limit,
            start.request_id,
            _merged(start.provider_metadata, finish.provider_metadata if finish else {}),
            finish.raw if finish else None,
        )

    def _parts(self) -> tuple[list[ContentPart], list[Diagnostic]]:
        """Return the parts so far, and what is reported of open segments."""
        parts = list(self._earlier)
        diagnostics: list[Diagnostic] = []
        for key, slot in self._slots.items():
            if isinstance(slot, list):
                unfinished = _unfinished(self._starts[key], "".join(slot))
                if isinstance(unfinished, Diagnostic):
                    diagnostics.append(unfinished)
                else:
                    parts.append(unfinished)
            elif slot is not None:
                parts.append(slot)
        return parts, diagnostics

    def _estimate(self, start: StreamStart) -> Usage | None:
        """Return an estimate of the tokens that a stream without usage has consumed.

        Providers bill for them, but report counts only at the end, and some servers never.
        """
        if self._start is None:
            return None
        counted = self._counted or start.usage or Usage()
        characters = sum(map(_characters, self._slots.values()))
        if self._counted is not None and not counted.estimated:
            estimate = counted
        else:
            estimate = estimated_usage(
                counted,
                input_tokens=counted.input_tokens,
                output_tokens=max(counted.output_tokens or 0, estimated_tokens(characters)),
            )
        return estimate if self._earlier_usage is None else self._earlier_usage + estimate


def _unfinished(
    start: TextStart | ReasoningStart | ToolInputStart, text: str
) -> ContentPart | Diagnostic:
    """Return an open segment as a part; an incomplete tool call is only reported."""
    match start:
        case ReasoningStart():
            return ReasoningPart(text)
        case TextStart(refusal=refusal):
            return RefusalPart(text) if refusal else TextPart(text)
        case ToolInputStart(id=id_, name=name):
            why = f"the stream ended within a call of {name}: {text}"
            return Diagnostic(
                "incomplete-tool-call", f"tool_calls[{id_}]", action="dropped", message=why
            )


@lru_cache(maxsize=64)
def _empty_message(provider: str, model: str, protocol: str | None) -> Message:
    """Return the message of a response without content."""
    return Message(
        "assistant", (), origin=Origin(provider=provider, model=model, protocol=protocol)
    )


_UNFINISHED: Final = FinishReason("other")
_NO_USAGE: Final = Usage()
_RESPONSE: Final = LLMResponse(
    provider="", model="", message=Message("assistant", ()), finish_reason=_UNFINISHED
)
_made: Final = copying(
    LLMResponse,
    *("id", "provider", "model", "message", "finish_reason", "usage", "diagnostics", "sources"),
    *("rate_limit", "request_id", "provider_metadata", "raw"),
)
_with_content: Final = copying(Message, "content", "provider_metadata")


def _merged(first: ProviderMetadata, second: ProviderMetadata) -> ProviderMetadata:
    """Return both merged by provider; fields of *second* replace those of *first*."""
    if not (first or second):
        return {}
    return {
        provider: {**first.get(provider, {}), **second.get(provider, {})}
        for provider in (*first, *second)
    }


def _characters(slot: ContentPart | list[str] | None) -> int:
    """Return the number of characters in a slot, complete or not."""
    if isinstance(slot, list):
        return sum(map(len, slot))
    if isinstance(slot, TextPart | ReasoningPart | RefusalPart):
        return len(slot.text)
    if isinstance(slot, ToolCallPart):
        return len(json.dumps(slot.arguments))
    return 0
