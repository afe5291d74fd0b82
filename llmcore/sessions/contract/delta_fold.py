"""From events to the contract's deltas. Clock and ids are arguments: the fold is pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from attrs import evolve

from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    ReasoningDelta,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.usage import Usage
from llmcore.sessions.contract import deltas

Clock: TypeAlias = Callable[[], str]
"""Returns the present time as ISO 8601 text."""

Ids: TypeAlias = Callable[[], str]
"""Returns a new, unique id."""


def to_deltas(
    events: Iterable[LLMEvent], run_id: str, clock: Clock, ids: Ids, *, taken: Collection[str] = ()
) -> Iterator[deltas.MessageDelta]:
    """Yield the deltas of *events*, which are a response's as the client gives them.

    A tool loop's events give one stream of deltas per step, one after the other, with `seq`
    rising over all of them. A call id that the run has already (*taken*, or an earlier
    step's) is replaced by a new one. Events that break off give a stream without an end.
    """
    fold = DeltaFold(run_id, clock, ids, taken=taken)
    for event in events:
        yield from fold.feed(event)


class DeltaFold:
    """Makes deltas event by event; equal to `to_deltas` over the same events.

    Calls that the provider ran itself, sources, files and native events have no kind of
    delta: they are in the response, and in the entry that is made from it.

    Events of a call with `raw=True` bring their native frames: `provider_raw` of a frame's first
    delta has it.
    """

    def __init__(self, run_id: str, clock: Clock, ids: Ids, *, taken: Collection[str] = ()) -> None:
        self._run_id = run_id
        self._clock = clock
        self._ids = ids
        self._taken = set(taken)
        self._seq = 0
        self._call_ids: dict[str, str] = {}
        """The step's calls: the provider's id and the one in the deltas."""
        self._start: deltas.DeltaStart | None = None
        self._step: StepFinish | None = None
        self._open = False
        """Whether a stream of deltas is open."""
        self._native: JsonValue = None
        """The native frame of the deltas so far."""

    def __repr__(self) -> str:
        return f"DeltaFold({self._run_id!r}, {self._seq} deltas)"

    def feed(self, event: LLMEvent) -> Sequence[deltas.MessageDelta]:
        """Return the deltas of *event*: none, one or a few."""
        handler = self._HANDLERS.get(type(event))
        if handler is None:
            return ()
        native = event.native
        return [self._delta(payload, native) for payload in handler(self, event)]

    def _delta(self, payload: deltas.DeltaPayload, native: JsonValue) -> deltas.MessageDelta:
        self._seq += 1
        return deltas.MessageDelta(
            run_id=self._run_id,
            seq=self._seq,
            payload=payload,
            timestamp=self._clock(),
            provider_raw=None if native is None else self._raw(native),
        )

    def _raw(self, native: JsonValue) -> JsonObject | None:
        """Return *native* as an object; None if an earlier delta has it."""
        if native is self._native:
            return None
        self._native = native
        return native if isinstance(native, Mapping) else {"frame": native}

    # -- deltas: the per-token path

    def _text(self, event: TextDelta) -> Sequence[deltas.DeltaPayload]:
        return (deltas.DeltaText(event.text),) if event.text else ()

    def _reasoning(self, event: ReasoningDelta) -> Sequence[deltas.DeltaPayload]:
        return (deltas.DeltaThinking(event.text),) if event.text else ()

    def _tool_input(self, event: ToolInputDelta) -> Sequence[deltas.DeltaPayload]:
        call_id = self._call_ids.get(event.id)
        return (deltas.DeltaToolCallArgs(call_id, event.text),) if call_id and event.text else ()

    # -- tool calls

    def _tool_start(self, event: ToolInputStart) -> Sequence[deltas.DeltaPayload]:
        if event.provider_executed:
            return ()
        call_id = self._ids() if not event.id or event.id in self._taken else event.id
        self._taken.add(call_id)
        self._call_ids[event.id] = call_id
        return (deltas.DeltaToolCallStart(call_id, event.name),)

    def _tool_end(self, event: ToolInputEnd) -> Sequence[deltas.DeltaPayload]:
        call_id = self._call_ids.get(event.id)
        return (deltas.DeltaToolCallEnd(call_id),) if call_id else ()

    # -- the frame around them

    def _stream_start(self, event: StreamStart) -> Sequence[deltas.DeltaPayload]:
        return self._begin(self._start_of(event))

    def _step_start(self, event: StepStart) -> Sequence[deltas.DeltaPayload]:
        if not event.step or event.continues or self._start is None:
            return ()
        done = self._end_step()
        self._call_ids.clear()
        if event.start is None:
            return (*done, *self._begin(evolve(self._start, request_id=self._ids())))
        return (*done, *self._begin(self._start_of(event.start)))

    def _start_of(self, start: StreamStart) -> deltas.DeltaStart:
        return deltas.DeltaStart(start.model, start.request_id or start.id or self._ids())

    def _step_finish(self, event: StepFinish) -> Sequence[deltas.DeltaPayload]:
        self._step = event
        return ()

    def _tool_result(self, event: ToolResult) -> Sequence[deltas.DeltaPayload]:
        return () if event.provider_executed else self._end_step()

    def _finish(self, event: Finish) -> Sequence[deltas.DeltaPayload]:
        usage = self._step.usage if self._step and self._step.usage else event.usage
        return self._end(event.finish_reason, usage)

    def _error(self, event: ErrorEvent) -> Sequence[deltas.DeltaPayload]:
        error = event.error
        # The model of a response that never began is not known.
        start = self._begin(deltas.DeltaStart("", error.request_id or self._ids()))
        usage = error.partial.usage if error.partial else None
        failed = deltas.DeltaError(type(error).__name__, error.message, error.retryable)
        self._open, self._step = False, None
        return (*start, *_usage(usage), failed)

    def _begin(self, start: deltas.DeltaStart) -> Sequence[deltas.DeltaPayload]:
        """Begin a stream of deltas, unless one is open."""
        if self._open:
            return ()
        self._open = True
        self._start = start
        return (start,)

    def _end_step(self) -> Sequence[deltas.DeltaPayload]:
        """End the stream of a complete step; the tool loop continues."""
        step = self._step
        return () if step is None else self._end(step.finish_reason, step.usage)

    def _end(self, reason: FinishReason, usage: Usage | None) -> Sequence[deltas.DeltaPayload]:
        if not self._open:
            return ()
        self._open, self._step = False, None
        return (*_usage(usage), deltas.DeltaDone(reason.reason))

    _HANDLERS: ClassVar[Mapping[type, Callable[[Any, Any], Sequence[deltas.DeltaPayload]]]] = {
        TextDelta: _text,
        ReasoningDelta: _reasoning,
        ToolInputDelta: _tool_input,
        ToolInputStart: _tool_start,
        ToolInputEnd: _tool_end,
        StreamStart: _stream_start,
        StepStart: _step_start,
        StepFinish: _step_finish,
        ToolResult: _tool_result,
        Finish: _finish,
        ErrorEvent: _error,
    }


def _usage(usage: Usage | None) -> Sequence[deltas.DeltaPayload]:
    return () if usage is None else (contract_usage(usage),)


def contract_usage(usage: Usage) -> deltas.DeltaUsage:
    """Return *usage* as the contract counts it."""
    return deltas.DeltaUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cost=usage.cost_usd,
    )
