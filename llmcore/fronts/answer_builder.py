"""The base of the writers of all fronts: errors, usage and diagnostics of an answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, get_args

from llmcore.fronts.front import Event
from llmcore.schema.diagnostics import Diagnostic, Notes
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, FinishReason, LLMEvent, StreamStart
from llmcore.schema.messages import Origin
from llmcore.schema.usage import Usage


class AnswerBuilder:
    """The base of a front's `AnswerWriter`, which handles the events of its answer.

    The method `_on_<type>` handles events of that type, such as `_on_text_delta`. Events of types
    without one write nothing.
    """

    _handlers: ClassVar[Mapping[type, Callable[[Any, Any], None]]]

    def __init_subclass__(cls) -> None:
        names = {kind: f"_on_{kind.type.name.lower()}" for kind in get_args(LLMEvent)}
        cls._handlers = {
            kind: getattr(cls, name) for kind, name in names.items() if hasattr(cls, name)
        }

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._notes = Notes()
        self._reported = list(diagnostics)
        self.usage: Usage | None = None
        """Tokens, as far as the upstream has counted them."""
        self.error: LLMError | None = None
        """Why the answer failed, if it did."""
        self.ended = False
        """Whether the last event was written: nothing comes after it."""

    def start(self) -> Sequence[Event]:
        """Return no events: the first one states the model, which the upstream's start names."""
        return ()

    def close(self, error: LLMError | None = None) -> Sequence[Event]:
        """Return the events that end an answer whose events stopped before their end."""
        if not self.ended:
            self._fail(error or StreamError("the upstream's answer ended before it was complete"))
        return self._take()

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything lost, changed or invented, from the request to the last event."""
        return (*self._reported, *self._notes.entries)

    def _take(self) -> Sequence[Event]:
        """Return the events that were written since the last call."""
        raise NotImplementedError

    def _handle(self, event: LLMEvent) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(self, event)

    def _begin_answer(self, event: StreamStart) -> Origin:
        """Report what sending the request lost; return the origin of the answer."""
        self._reported += event.diagnostics
        return Origin(provider=event.provider, model=event.model, protocol=event.protocol)

    # -- failures

    def _on_error(self, event: ErrorEvent) -> None:
        self._fail(event.error)

    def _fail_by_reason(self, reason: FinishReason) -> None:
        """End an answer whose upstream gives an error as its reason to stop."""
        raw = reason.raw or "no reason"
        self._fail(StreamError(f"the upstream ended the answer with an error ({raw})"))

    def _fail(self, error: LLMError) -> None:
        self.error = error
        counted = error.partial.usage if error.partial else None
        if counted is not None and not counted.estimated:
            self.usage = counted
        self._write_failure(error)
        self.ended = True

    def _write_failure(self, error: LLMError) -> None:
        """Write the events of an answer that failed."""
        raise NotImplementedError
