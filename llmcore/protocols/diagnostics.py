"""Collecting the diagnostics of one native body while it is built."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from llmcore.protocols.protocol import Built
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.result import Failure, Result, Success

_B = TypeVar("_B")


class Notes:
    """The diagnostics of one body. Lives as long as the call that builds it."""

    def __init__(self) -> None:
        self.entries: list[Diagnostic] = []

    def dropped(self, code: str, path: str, message: str) -> None:
        """Record that the target will not see something."""
        self.entries.append(Diagnostic(code, path, action="dropped", message=message))

    def changed(self, code: str, path: str, message: str) -> None:
        """Record that the target will see something in another form or place."""
        self.entries.append(Diagnostic(code, path, action="changed", message=message))

    def added(self, code: str, path: str, message: str) -> None:
        """Record something that was added to the request."""
        self.entries.append(Diagnostic(code, path, action="added", message=message))

    def noted(self, code: str, path: str, message: str) -> None:
        """Record a difference that loses nothing."""
        self.entries.append(Diagnostic(code, path, action="noted", message=message))

    def left_out(self, path: str, what: str, why: str) -> None:
        """Record content that the target will not see."""
        self.dropped("unsupported-content", path, f"{what} was left out: {why}")

    def extend(self, entries: Iterable[Diagnostic]) -> None:
        """Add the diagnostics of a step before."""
        self.entries.extend(entries)


def collect_diagnostics(lower: Callable[[Notes], _B]) -> Result[Built[_B], LLMError]:
    """Return the body that *lower* makes with its diagnostics, or the LLMError that it raises."""
    notes = Notes()
    try:
        body = lower(notes)
    except LLMError as error:
        return Failure(error)
    return Success(Built(body, tuple(notes.entries)))
