"""The event grammar as an executable check of event lists; the first events with content.

See `llmcore.schema.events` for the grammar in words.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from llmcore.folds.segments import SEGMENT_TEXT_CHANGED
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    SEGMENT_ENDS,
    SEGMENT_STARTS,
    ErrorEvent,
    Finish,
    LLMEvent,
    ProviderEvent,
    ReasoningEnd,
    StepFinish,
    StepStart,
    StreamStart,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import parse_arguments

_End: TypeAlias = TextEnd | ReasoningEnd | ToolInputEnd
_Problem: TypeAlias = Callable[[str], None]


def violations(events: Iterable[LLMEvent], *, complete: bool = True) -> list[str]:
    """Return the violations of the grammar, in order; empty for a valid list.

    With `complete=False` the list may end anywhere, such as that of a stream still running.
    """
    checker = _Checker()
    for index, event in enumerate(events):
        checker.check(index, event)
    if complete and not checker.ended:
        checker.problems.append("no terminal event: expected Finish or ErrorEvent at the end")
    return checker.problems


class _Checker:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.ended = False
        self._started = False
        self._step: int | None = None
        self._steps_done = 0
        self._open: dict[tuple[str, str], _Segment] = {}
        self._seen: set[tuple[str, str]] = set()
        self._awaited_call: tuple[ToolInputStart | None, ToolInputEnd] | None = None
        self._unfinished_errors: set[str] = set()
        self._changed = 0

    def check(self, index: int, event: LLMEvent) -> None:
        """Check one event against the events before it."""

        def problem(text: str) -> None:
            self.problems.append(f"event {index} ({event.type}): {text}")

        if self.ended:
            problem("comes after the terminal event")
        if not self._started and not isinstance(event, StreamStart | ErrorEvent):
            problem("comes before StreamStart")
        self._check_call(event, problem)
        self._frame(event, problem)
        self._segment(event, problem)

    def _check_call(self, event: LLMEvent, problem: _Problem) -> None:
        awaited, self._awaited_call = self._awaited_call, None
        if awaited is None:
            if isinstance(event, ToolCall):
                problem(f"{event.id!r} has no ToolInputEnd before it")
            return
        start, end = awaited
        if not isinstance(event, ToolCall) or event.id != end.id:
            problem(f"expected the ToolCall of {end.id!r}")
        elif start is not None and not _matches_input(event, start, end):
            problem(f"{event.id!r} differs from the call that its input encodes")

    def _frame(self, event: LLMEvent, problem: _Problem) -> None:
        match event:
            case StreamStart():
                if self._started:
                    problem("the stream has already started")
                self._started = True
            case StepStart(step=step, continues=True):
                self._continue_step(step, problem)
            case StepStart(step=step):
                self._start_step(step, problem)
            case StepFinish(step=step):
                self._finish_step(step, problem)
            case Finish():
                self._finish(event, problem)
            case ErrorEvent():
                self.ended = True
            case ToolError():  # the tool loop runs tools after the step
                self._unfinished_errors.add(event.tool_call_id)
            case ToolResult():
                self._unfinished_errors.discard(event.tool_call_id)
            case ProviderEvent():
                pass  # allowed anywhere
            case _ if self._step is None:
                problem("outside a step")
            case _:
                pass

    def _start_step(self, step: int, problem: _Problem) -> None:
        if self._step is not None:
            problem(f"step {self._step} has not finished")
        if step != self._steps_done:
            problem(f"step {step} where step {self._steps_done} was expected")
        self._step = step
        self._seen.clear()

    def _continue_step(self, step: int, problem: _Problem) -> None:
        if self._step != step:
            problem(f"step {step} is not open")
        if self._open:
            problem(f"segments still open: {sorted(self._open)}")
        self._seen.clear()

    def _finish_step(self, step: int, problem: _Problem) -> None:
        if self._step != step:
            problem(f"step {step} is not open")
        if self._open:
            problem(f"segments still open: {sorted(self._open)}")
        self._step = None
        self._steps_done += 1
        self._open.clear()

    def _segment(self, event: LLMEvent, problem: _Problem) -> None:
        kind = type(event)
        id_ = getattr(event, "id", "")
        if kind in SEGMENT_STARTS:
            key = SEGMENT_STARTS[kind], id_
            if key in self._seen:
                problem(f"{key} has already started")
            self._seen.add(key)
            self._open[key] = _Segment(event)
        elif kind in SEGMENT_DELTAS:
            key = SEGMENT_DELTAS[kind], id_
            if key not in self._open:
                problem(f"{key} is not open")
            self._open.setdefault(key, _Segment(None)).chunks.append(event.text)  # type: ignore[union-attr]
        elif kind in SEGMENT_ENDS:
            key = SEGMENT_ENDS[kind], id_
            if key not in self._open:
                problem(f"{key} is not open")
            segment = self._open.pop(key, _Segment(None))
            self._end(key, event, segment, problem)  # type: ignore[arg-type]

    def _end(
        self, key: tuple[str, str], event: _End, segment: "_Segment", problem: _Problem
    ) -> None:
        joined = "".join(segment.chunks)
        if joined and not event.text:
            problem(f"{key} ends without the text of its deltas")
        elif event.text.startswith(joined) and event.text != joined:
            problem(f"{key} ends with text that was in no delta: {event.text[len(joined) :]!r}")
        elif event.text != joined:
            self._changed += 1  # allowed if `Finish` has a Diagnostic for it
        begun_refusal = isinstance(segment.start, TextStart) and segment.start.refusal
        if isinstance(event, TextEnd) and begun_refusal and not event.refusal:
            problem(f"{key} began as a refusal")
        if isinstance(event, ToolInputEnd):
            start = segment.start if isinstance(segment.start, ToolInputStart) else None
            self._awaited_call = start, event

    def _finish(self, event: Finish, problem: _Problem) -> None:
        self.ended = True
        if self._step is not None:
            problem(f"step {self._step} has not finished")
        if not self._steps_done:
            problem("no step was run")
        if self._unfinished_errors:
            problem(f"no ToolResult followed the ToolError of {sorted(self._unfinished_errors)}")
        reported = [d for d in event.diagnostics if d.code == SEGMENT_TEXT_CHANGED]
        if self._changed > len(reported):
            problem("segments ended with texts other than their deltas, without a Diagnostic")


class _Segment:
    """An open segment: its start event (None if it was missing) and the texts of its deltas."""

    def __init__(self, start: LLMEvent | None) -> None:
        self.start = start
        self.chunks: list[str] = []


def _matches_input(call: ToolCall, start: ToolInputStart, end: ToolInputEnd) -> bool:
    """Return whether *call* is the call that the input between *start* and *end* encodes."""
    arguments = end.text if start.kind == "custom" else parse_arguments(end.text)[0]
    return (
        call.name == start.name
        and call.kind == start.kind
        and call.provider_executed == start.provider_executed
        and call.arguments in (arguments, end.text)
    )


# -- the first events with content


_WITHOUT_CONTENT: Final = frozenset({StreamStart, StepStart, ErrorEvent})


def has_content(events: Iterable[LLMEvent]) -> bool:
    """Return whether any of *events* is more than the start of a response or step, or an error."""
    return not _WITHOUT_CONTENT.issuperset(map(type, events))
