"""The events of a run: those of its steps, with the numbers of the run and one `StreamStart`."""

from collections.abc import Iterable, Sequence

from attrs import evolve

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import LLMEvent, StepFinish, StepStart, StreamStart

_FRAME = {StreamStart, StepStart, StepFinish}


class RunEvents:
    """Renumbers the events of steps.

    The `StreamStart` of a later step becomes the field `start` of its `StepStart`.
    """

    def __init__(self) -> None:
        self.early: Sequence[LLMEvent] = ()
        """Events of approved calls, emitted after the `StreamStart`."""
        self.diagnostics: list[Diagnostic] = []
        """The diagnostics of the run, for its `Finish`."""
        self._started = False
        self._start: StreamStart | None = None  # of a later step

    def renumbered(self, events: Iterable[LLMEvent], number: int) -> list[LLMEvent]:
        """Return the *events* of the step *number* as events of the run."""
        changed_events: list[LLMEvent] = []
        for event in events:
            if type(event) not in _FRAME:  # nearly all events: checked first
                changed_events.append(event)
            elif isinstance(event, StepStart) and event.continues and event.start is not None:
                self.diagnostics.extend(event.start.diagnostics)
                start = evolve(event.start, diagnostics=())
                changed_events.append(with_fields(event, step=number, start=start))
            elif isinstance(event, StepStart):
                changed_events.append(with_fields(event, step=number, start=self._start))
            elif isinstance(event, StepFinish):
                changed_events.append(with_fields(event, step=number))
            elif isinstance(event, StreamStart) and self._started:
                self.diagnostics.extend(event.diagnostics)
                self._start = evolve(event, diagnostics=())
            else:
                self._started = True
                changed_events += [event, *self.early]
        return changed_events
