"""Continues a response that was cut with another model.

    first model    StreamStart StepStart TextStart TextDelta("The sum") ErrorEvent
    second model   StreamStart StepStart TextStart TextDelta(" is 4.") TextEnd StepFinish Finish

    delivered      StreamStart StepStart TextStart TextDelta("The sum") TextEnd
                   StepStart(continues) TextStart TextDelta(" is 4.") TextEnd StepFinish Finish

The second model gets the text so far as the beginning of its own response, where it continues one
("prefill"), or with the instruction to continue it. Reasoning goes with it only if it is signed and
by the same model. Inputs of tools are delivered when they are complete, so that one that was cut
leaves no trace. If the second model begins with a repetition of the text so far, that is left out.
A response that is cut after a complete call ends with the call, which can be run: no other model
continues it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from attrs import evolve

from llmcore.client.cost import total_cost, with_cost
from llmcore.client.middleware.outcome import CallOutcome, failure_before_response
from llmcore.client.middleware.rest_request import Attempt
from llmcore.client.middleware.target import ModelChoice
from llmcore.folds.grammar import has_content
from llmcore.folds.parts import without_opaque
from llmcore.folds.response import Accumulator
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

FELL_BACK: Final = "model-fallback"
"""The code of the Diagnostic of a response from another model."""

CONTINUED: Final = "response-continued"
"""The code of the Diagnostic of a response that was cut."""

_TOOL_INPUT = (ToolInputStart, ToolInputDelta, ToolInputEnd, ToolCall)


class ContinuedResponse:
    """The events of a response that other models continue where it is cut."""

    def __init__(
        self,
        first: Attempt,
        attempts: Callable[[LLMResponse, LLMError], Iterator[Attempt] | None],
        limit: int,
    ) -> None:
        """Read *first*; after a cut, the rest from one of *attempts*, at most *limit* times.

        *attempts* is called with the response so far and the error; None means that it is final.
        """
        self.accumulator = Accumulator()
        self._stream = first.stream
        self._current = first
        self._attempts = attempts
        self._left = limit
        self._began = False
        self._closed = False
        self._start: StreamStart | None = None
        """The start of the model that continues, with the diagnostics of the change."""
        self._repetition: _Repetition | None = None
        """Of the model that continues; None while the first one answers."""
        self._diagnostics: tuple[Diagnostic, ...] = ()
        self._open: dict[tuple[str, str], list[str]] = {}
        """The texts of open segments that were delivered."""
        self._refusals: set[str] = set()
        self._held: list[LLMEvent] = []
        """The events since an input of a tool began that is not complete."""
        self._inputs: set[str] = set()
        self._usage: Usage | None = None
        """The usage of the models that were cut."""
        self._costs: list[float | None] = []

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events; after a cut those of another model."""
        while batch := await self._stream.next_batch():
            events = [new for event in batch for new in await self._next(event)]
            if events or self._closed:
                return events
        return ()

    async def aclose(self) -> None:
        """Close the stream of the model that answers."""
        self._closed = True
        await self._stream.aclose()

    def priced(self, response: LLMResponse) -> LLMResponse:
        """Return the complete *response* with the cost of all models that wrote it."""
        return changed(response, cost=total_cost(self._costs))

    async def _next(self, event: LLMEvent) -> Sequence[LLMEvent]:
        if isinstance(event, ErrorEvent):
            return await self._cut(event)
        if isinstance(event, Finish):
            ended = await self._stream.result()
            self._costs.append(ended.map(lambda response: response.cost).value_or(None))
            return self._passed([with_fields(event, usage=self._added(event.usage))])
        return [new for ready in self._in_place(event) for new in self._hold(ready)]

    # -- the frame of a model that continues

    def _in_place(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """Return *event* as one of the whole response."""
        if isinstance(event, StepFinish):
            return (with_fields(event, usage=self._added(event.usage)),)
        if self._repetition is None:
            return (event,)
        if isinstance(event, StreamStart):
            diagnostics = (*self._diagnostics, *event.diagnostics)
            self._start = evolve(event, diagnostics=diagnostics)
            return ()
        if isinstance(event, StepStart):
            return (with_fields(event, start=self._start, continues=True),)
        if isinstance(event, TextDelta):
            return self._repetition.feed(event)
        if isinstance(event, TextEnd):
            return self._repetition.finish(event)
        return (event,)

    def _added(self, usage: Usage | None) -> Usage | None:
        """Return *usage* with that of the models that were cut."""
        if self._usage is None:
            return usage
        own = self._stream.partial_response.usage if usage is None else usage
        total = self._usage + own
        stated = self._usage.cost_usd is not None and own.cost_usd is not None
        return total if stated else evolve(total, cost_usd=None)

    # -- inputs of tools, held back until they are complete

    def _hold(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """Return the events that can be delivered after *event* has come."""
        if isinstance(event, ToolInputStart):
            self._inputs.add(event.id)
        self._held.append(event)
        if isinstance(event, ToolCall):
            self._inputs.discard(event.id)
        if self._inputs:
            return ()
        held, self._held = self._held, []
        return self._passed(held)

    def _passed(self, events: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        """Return *events*, which are delivered now."""
        self._began = self._began or has_content(events)
        for event in events:
            self.accumulator.feed(event)
            match event:
                case TextStart() | ReasoningStart():
                    kind = "text" if isinstance(event, TextStart) else "reasoning"
                    self._open[kind, event.id] = []
                    if isinstance(event, TextStart) and event.refusal:
                        self._refusals.add(event.id)
                case TextDelta():
                    self._open.setdefault(("text", event.id), []).append(event.text)
                case ReasoningDelta():
                    self._open.setdefault(("reasoning", event.id), []).append(event.text)
                case TextEnd() | ReasoningEnd():
                    kind = "text" if isinstance(event, TextEnd) else "reasoning"
                    self._open.pop((kind, event.id), None)
        return events

    # -- a cut

    async def _cut(self, event: ErrorEvent) -> Sequence[LLMEvent]:
        """Return the last events of a model that was cut; afterwards another one is read."""
        held, self._held = self._held, []
        open_inputs, self._inputs = self._inputs, set()
        complete = [earlier for earlier in held if not _is_input_of(earlier, open_inputs)]
        events = list(self._passed(complete))
        if self._left and self._began:
            partial = self.accumulator.partial
            attempts = self._attempts(partial, event.error)
            if attempts is not None and partial.tool_calls:
                return [*events, *self._ended_with_calls(event.error)]
            if attempts is not None and await self._continued(attempts, partial, event.error):
                return [*events, *self._ends()]
        if self._repetition is not None:
            event.error.partial = self.accumulator.partial
        unfinished = [earlier for earlier in held if _is_input_of(earlier, open_inputs)]
        return [*events, *self._passed([*unfinished, event])]

    async def _continued(
        self, attempts: Iterator[Attempt], partial: LLMResponse, error: LLMError
    ) -> bool:
        """Return whether one of *attempts* begins to answer; it is read from now on."""
        cut = self._current
        failures: list[Diagnostic] = []
        for attempt in attempts:
            self._stream = attempt.stream
            failure = await failure_before_response(attempt.stream)
            if self._closed or failure is None:
                self._count(cut)
                self._left -= 1
                self._current, self._repetition = attempt, _Repetition(attempt)
                self._diagnostics = (_note(cut.target, attempt.target, error, partial), *failures)
                return True
            await attempt.stream.aclose()
            failures.append(failed_attempt(attempt.target, failure))
        for note in failures:
            error.add_note(note.message)
        return False

    def _count(self, cut: Attempt) -> None:
        """Add the tokens and the cost of the model that was cut, estimated where unknown."""
        partial = cut.stream.partial_response
        usage = CallOutcome(response=partial).usage_of(cut.request) or partial.usage
        self._usage = usage if self._usage is None else self._usage + usage
        counted = changed(partial, usage=usage)
        self._costs.append(with_cost(counted, cut.target.models, cut.target.model).cost)

    def _ends(self) -> Sequence[LLMEvent]:
        """Return the ends of the segments that are open."""
        ends: list[LLMEvent] = []
        for (kind, id_), chunks in self._open.items():
            text = "".join(chunks)
            if kind == "text":
                ends.append(TextEnd(id_, text, refusal=id_ in self._refusals))
            else:
                ends.append(ReasoningEnd(id_, text))
        return self._passed(ends)

    def _ended_with_calls(self, error: LLMError) -> Sequence[LLMEvent]:
        """Return the end of a response that was cut after complete calls."""
        self._count(self._current)
        reason = FinishReason("tool_calls")
        target = self._current.target
        where = f"{target.provider}/{target.model}"
        why = f"{where} was cut after complete calls of tools ({type(error).__name__}: {error})"
        note = Diagnostic(CONTINUED, "content", action="noted", message=f"{why}: it ends with them")
        usage = self._usage
        finish = Finish(finish_reason=reason, usage=usage, diagnostics=(note,))
        return [
            *self._ends(),
            *self._passed([StepFinish(finish_reason=reason, usage=usage), finish]),
        ]


class _Repetition:
    """Removes from the rest of a response what it repeats of its beginning.

    The rest may begin with an echo, which is all of the text so far, and with an overlap, which is
    the white space at the end of that text:

        so far      "The sum "
        the rest    "The sum is 4."  ->  "is 4."
    """

    def __init__(self, attempt: Attempt) -> None:
        self._echo = attempt.echo
        self._overlap = attempt.overlap if attempt.echo or attempt.prefilled else ""
        self._prefilled = attempt.prefilled
        self._heard: list[TextDelta] = []
        """The deltas that are the beginning of an echo so far."""
        self._matched = 0
        """The characters of the echo that they have."""
        self._removed = 0
        """The characters that were left out of the open text."""

    def feed(self, event: TextDelta) -> Sequence[TextDelta]:
        """Return *event* without what it repeats; hold it while that is unknown."""
        if not self._echo:
            return self._without_overlap(event) if self._overlap else (event,)
        expected = self._echo[self._matched : self._matched + len(event.text)]
        self._heard.append(event)
        self._matched += len(expected)
        if not event.text.startswith(expected):
            return self._without_echo(complete=False)
        return self._without_echo(complete=True) if self._matched == len(self._echo) else ()

    def finish(self, event: TextEnd) -> Sequence[TextDelta | TextEnd]:
        """Return the end of a text, after the deltas that were held; texts after it may repeat."""
        held = self._without_echo(complete=False) if self._heard else ()
        removed, self._removed, self._echo, self._overlap = self._removed, 0, "", ""
        return (*held, with_fields(event, text=event.text[removed:]))

    def _without_echo(self, *, complete: bool) -> Sequence[TextDelta]:
        """Return the deltas that were held, without the echo if they have all of it."""
        uncut = len(self._echo) if complete else 0
        if not complete and not self._prefilled:
            self._overlap = ""
        heard, self._heard, self._echo = self._heard, [], ""
        deltas: list[TextDelta] = []
        for delta in heard:
            cut = min(uncut, len(delta.text))
            uncut -= cut
            self._removed += cut
            if cut < len(delta.text):
                deltas += self.feed(with_fields(delta, text=delta.text[cut:]))
        return deltas

    def _without_overlap(self, event: TextDelta) -> Sequence[TextDelta]:
        pairs = zip(event.text, self._overlap, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._removed += same
        self._overlap = self._overlap[same:] if same == len(event.text) else ""
        rest = event.text[same:]
        return (with_fields(event, text=rest),) if rest else ()


def _is_input_of(event: LLMEvent, ids: set[str]) -> bool:
    return isinstance(event, _TOOL_INPUT) and event.id in ids


def failed_attempt(target: ModelChoice, error: LLMError) -> Diagnostic:
    """Return what is reported of a model that failed before it answered."""
    message = shown_failure(target, error, ", so another model was called")
    return Diagnostic(FELL_BACK, "model", action="changed", message=message)


def shown_failure(target: ModelChoice, error: LLMError, consequence: str = "") -> str:
    """Return which model failed, and why."""
    where = f"{target.provider}/{target.model}" if target.provider else target.model
    return f"{where} failed{consequence}: {type(error).__name__}: {error}"


def _note(
    target: ModelChoice, other: ModelChoice, error: LLMError, partial: LLMResponse
) -> Diagnostic:
    message = (
        f"{target.provider}/{target.model} was cut ({type(error).__name__}: {error}), and "
        f"{other.provider}/{other.model} continued its response; what only the first can read, "
        "such as signatures, is left out"
    )
    path = f"content[{len(without_opaque(partial.message.content))}]"
    return Diagnostic(CONTINUED, path, action="changed", message=message)
