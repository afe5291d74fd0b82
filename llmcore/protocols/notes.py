"""Collecting what building one body has to say."""

from collections.abc import Iterable

from llmcore.schema.diagnostics import Diagnostic


class Notes:
    """The diagnostics of one body. Lives as long as the call that builds it."""

    def __init__(self) -> None:
        self.entries: list[Diagnostic] = []

    def dropped(self, code: str, path: str, message: str) -> None:
        """Say what the target will not see."""
        self.entries.append(Diagnostic(code, path, action="dropped", message=message))

    def changed(self, code: str, path: str, message: str) -> None:
        """Say what the target will see in another form or place."""
        self.entries.append(Diagnostic(code, path, action="changed", message=message))

    def added(self, code: str, path: str, message: str) -> None:
        """Say what nobody said."""
        self.entries.append(Diagnostic(code, path, action="added", message=message))

    def noted(self, code: str, path: str, message: str) -> None:
        """Say what only looks different to the target."""
        self.entries.append(Diagnostic(code, path, action="noted", message=message))

    def left_out(self, path: str, what: str, why: str) -> None:
        """Say which content the target will not see."""
        self.dropped("unsupported-content", path, f"{what} was left out: {why}")

    def extend(self, entries: Iterable[Diagnostic]) -> None:
        """Take over what a step before had to say."""
        self.entries.extend(entries)
