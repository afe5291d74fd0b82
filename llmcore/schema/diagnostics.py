"""Diagnostics: reports of what a conversion lost, changed or added."""

from typing import Literal

from attrs import field, frozen

from llmcore.schema.display import readable

DiagnosticAction = Literal["dropped", "changed", "added", "noted"]


@readable
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
