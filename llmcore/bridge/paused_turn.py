"""Turns that the tools of an upstream pause, and that their client cannot continue.

After a pause the message is sent back, and the next call continues the turn. To the client the
calls are one response. Its usage is that of all calls, each of which counts its prompt. A turn that
cannot be continued ends with what there is of it.
"""

from collections.abc import Sequence

from llmcore.bridge.upstream_call import UpstreamCall, refused_try
from llmcore.client.long_response import CUT_SHORT
from llmcore.folds.grammar import has_content
from llmcore.protocols.protocol import MOST_PAUSES, is_paused
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
)
from llmcore.schema.response import LLMResponse


class ContinuedTurn:
    """The events of a call and of those that continue it, as the events of one response."""

    def __init__(self, call: UpstreamCall) -> None:
        self._call = call
        self._paused: list[LLMResponse] = []
        """The responses that were paused."""
        self._ends: Sequence[StepFinish | Finish] = ()
        """The events that end the turn, until the call that continues it has content."""

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; the last batch ends with a terminal event."""
        while True:
            if batch := await self._within_turn(await self._call.next_batch()):
                return batch

    async def _within_turn(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        """Return *batch* as a part of the whole turn, which may be none of it."""
        last = batch[-1]
        if self._paused:
            if self._ends and (failure := plain_failure(batch)):
                return _cut_short(self._ends, f"its continuation failed: {failure.message}")
            self._ends = ()
            within = (e for e in batch if not isinstance(e, StreamStart | StepStart))
            batch = list(map(self._with_all_usage, within))
        if not isinstance(last, Finish) or not is_paused(response := self._call.response):
            return batch
        ends = [event for event in batch if isinstance(event, StepFinish | Finish)]
        batch = [event for event in batch if not isinstance(event, StepFinish | Finish)]
        self._call.removed += last.diagnostics
        if len(self._paused) >= MOST_PAUSES:
            return [*batch, *_cut_short(ends, f"it has been continued {MOST_PAUSES} times")]
        if refusal := await refused_try(self._call, response):
            return [*batch, *_cut_short(ends, refusal.message)]
        self._paused.append(response)
        self._ends = ends
        await self._call.go_on(response)
        return batch

    def _with_all_usage(self, event: LLMEvent) -> LLMEvent:
        """Return *event*, an end with the usage of the paused responses too."""
        if not isinstance(event, StepFinish | Finish) or event.usage is None:
            return event
        paused = (response.usage for response in self._paused)
        return with_fields(event, usage=sum(paused, event.usage))


def _cut_short(ends: Sequence[StepFinish | Finish], why: str) -> Sequence[LLMEvent]:
    """Return *ends*, of a turn that its upstream has paused, as those of a response cut off."""
    message = f"the upstream paused, and the turn is not continued: {why}"
    note = Diagnostic(CUT_SHORT, "finish_reason", action="noted", message=message)
    reason = FinishReason("length")  # without the upstream's word, by which the turn can go on
    return [
        with_fields(end, finish_reason=reason, diagnostics=(note,))
        if isinstance(end, Finish)
        else with_fields(end, finish_reason=reason)
        for end in ends
    ]


def plain_failure(batch: Sequence[LLMEvent]) -> LLMError | None:
    """Return the error of a call that failed before any content; None for other batches."""
    if not isinstance(last := batch[-1], ErrorEvent):
        return None
    return None if has_content(batch) else last.error
