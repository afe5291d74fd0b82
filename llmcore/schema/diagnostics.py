"""Diagnostics: reports of what a conversion lost, changed or added."""

from collections.abc import Iterable
from typing import Literal

import msgspec
from attrs import field

from llmcore.schema.frozen import frozen
from llmcore.schema.pydantic_hooks import for_pydantic

DiagnosticAction = Literal["dropped", "changed", "added", "noted"]


@for_pydantic
@frozen
class Diagnostic:
    """One loss, change, addition or note.

    `code` is stable and machine-readable (`"unsupported-parameter"`), `path` is the position in
    the request or response (`"messages[2].content[0].signature"`).
    """

    code: str
    """A stable code; `docs/diagnostics/` has a page for each."""
    path: str
    """The position in the request or response."""
    action: DiagnosticAction = field(kw_only=True)
    """One of dropped, changed, added and noted."""
    message: str = field(kw_only=True)
    """A sentence for people."""

    def __str__(self) -> str:
        return f"{self.path}: {self.action}: {self.message} [{self.code}]"


class Diagnostics(msgspec.Struct, eq=False):
    """The diagnostics of one body, at one position in it.

    Each method records at `path`; `at` returns the diagnostics of a position below it, which have
    the same `entries`. They live as long as the call that builds the body.
    """

    _place: str = ""
    _above: "Diagnostics | None" = None
    entries: list[Diagnostic] = []
    places: dict[int, str] = {}
    """The positions in the request of parts that are elsewhere now, by their `id()`."""

    @property
    def path(self) -> str:
        """The position in the request or response; "" is all of it.

        It is put together when something is recorded, which is seldom.
        """
        above = "" if self._above is None else self._above.path
        between = "." if above and not self._place.startswith("[") else ""
        return f"{above}{between}{self._place}"

    def at(self, place: str) -> "Diagnostics":
        """Return the diagnostics of *place* below `path`, such as `content[2]` or `[0]`."""
        return Diagnostics(place, self, self.entries, self.places)

    def part(self, index: int, part: object) -> "Diagnostics":
        """Return the diagnostics of *part*, the content's number *index* of the message at `path`.

        They are at its position in the request, if `places` has it.
        """
        place = self.places.get(id(part)) if self.places else None
        if place is None:
            return self.at(f"content[{index}]")
        top = self
        while top._above is not None:
            top = top._above
        return top.at(place)

    def dropped(self, code: str, message: str) -> None:
        """Record that the target will not see something."""
        self.entries.append(Diagnostic(code, self.path, action="dropped", message=message))

    def changed(self, code: str, message: str) -> None:
        """Record that the target will see something in another form or place."""
        self.entries.append(Diagnostic(code, self.path, action="changed", message=message))

    def added(self, code: str, message: str) -> None:
        """Record something that was added to the request."""
        self.entries.append(Diagnostic(code, self.path, action="added", message=message))

    def noted(self, code: str, message: str) -> None:
        """Record a difference that loses nothing."""
        self.entries.append(Diagnostic(code, self.path, action="noted", message=message))

    def unsupported(self, why: str) -> None:
        """Record a parameter that the target will not see."""
        self.dropped("unsupported-parameter", why)

    def left_out(self, what: str, why: str) -> None:
        """Record content that the target will not see."""
        self.dropped("unsupported-content", f"{what} was left out: {why}")

    def extend(self, entries: Iterable[Diagnostic]) -> None:
        """Add the diagnostics of a step before."""
        self.entries.extend(entries)
