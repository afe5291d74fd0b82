"""The order in which the events of a stream may come, checked by a subclass for each API."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from llmcore.schema.json import NativeObject


class GrammarChecker:
    """Checks the events of one stream, one by one. Each front has a subclass with its rules."""

    _unfinished: ClassVar[str]
    """The problem of a stream that stops before its end."""

    def __init__(self) -> None:
        self.ended = False
        """Whether the last event or an error came."""
        self._count = 0
        self._problems: list[str] = []

    @classmethod
    def violations(cls, events: Iterable[NativeObject], *, complete: bool = True) -> list[str]:
        """Return the violations of the grammar, in order; empty for a valid stream.

        With `complete=False` the stream may stop anywhere, as one that is still running does.
        """
        checker = cls()
        problems = [problem for event in events for problem in checker.feed(event)]
        return [*problems, *(checker.finish() if complete else ())]

    def feed(self, event: NativeObject) -> Sequence[str]:
        """Return the violations of the grammar by *event*."""
        self._problems = []
        self._expect(not self.ended, "comes after the end of the stream")
        self._check(event)
        kind = f" ({event['type']})" if "type" in event else ""
        number, self._count = self._count, self._count + 1
        return [f"event {number}{kind}: {problem}" for problem in self._problems]

    def finish(self) -> Sequence[str]:
        """Return what is missing at the end of the stream."""
        return () if self.ended else (self._unfinished,)

    def _check(self, event: NativeObject) -> None:
        raise NotImplementedError

    def _expect(self, holds: object, text: str) -> None:
        if not holds:
            self._problems.append(text)
