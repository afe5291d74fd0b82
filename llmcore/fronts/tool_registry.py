"""Which function of the upstream represents which tool of the client, and its name.

The upstream sees functions only. An entry states what a function is on the client's side, so
that calls, their results and the tool choice can be translated in both directions.
"""

from collections.abc import Container, Iterable
from typing import Final, Literal

from attrs import evolve, field

from llmcore.protocols.openai_responses.names import TOOL_NAMES
from llmcore.protocols.tools import STRICTEST
from llmcore.schema.frozen import frozen

_RULE: Final = evolve(STRICTEST, reserved=TOOL_NAMES.reserved)
_DIGITS: Final = 8

ToolKind = Literal[
    "function", "custom", "apply_patch", "shell", "local_shell", "tool_search", "registered"
]
"""The kind of items that calls of a tool are on the client's side."""


@frozen(kw_only=True)
class ToolEntry:
    """A tool of the client, and the function that represents it."""

    upstream: str
    """The function's name at the upstream."""
    kind: ToolKind
    name: str
    """The tool's name on the client's side; of a `registered` tool its type."""
    namespace: str | None = None
    native: bool = False
    """Whether the upstream has freeform tools itself."""

    @property
    def identity(self) -> tuple[str, str | None]:
        """The client's name of the tool, within its namespace."""
        return self.name, self.namespace


@frozen
class ToolRegistry:
    """The tools of a conversation, latest definition of each name."""

    entries: tuple[ToolEntry, ...] = ()
    native: bool = field(default=False, kw_only=True)
    """Whether namespaces, and searches for tools that the client runs, go to the upstream as they
    are, so that calls within them are the upstream's own."""
    _by_upstream: dict[str, ToolEntry] = field(init=False, eq=False, repr=False)
    _by_identity: dict[tuple[str, str | None], ToolEntry] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        upstream = {entry.upstream: entry for entry in self.entries}
        identity = {entry.identity: entry for entry in self.entries}
        object.__setattr__(self, "_by_upstream", upstream)
        object.__setattr__(self, "_by_identity", identity)

    def of_upstream(self, name: str) -> ToolEntry | None:
        """Return the tool that the upstream's function *name* represents."""
        return self._by_upstream.get(name)

    def of_client(self, name: str, namespace: str | None = None) -> ToolEntry | None:
        """Return the tool that the client calls *name*."""
        return self._by_identity.get((name, namespace))

    def over(self, earlier: Iterable[ToolEntry]) -> "ToolRegistry":
        """Return a registry with *earlier* tools too, except those whose name is taken."""
        kept = [
            entry
            for entry in earlier
            if entry.upstream not in self._by_upstream and entry.identity not in self._by_identity
        ]
        return evolve(self, entries=(*kept, *self.entries)) if kept else self


def function_name(name: str, namespace: str | None = None, *, taken: Container[str] = ()) -> str:
    """Return the function's name for a tool, one that is not *taken*.

    The same name always gives the same result, so that prompt caches stay warm and calls of tools
    that are gone keep their names.
    """
    whole = name if namespace is None else f"{namespace}__{name}"
    fitted = _RULE.fit(whole)
    if fitted not in taken:
        return fitted
    mark = "" if namespace is None else f"{namespace}_\0"  # apart from the same words in one name
    return _RULE.fit(f"{mark}{name}\0", digits=_DIGITS)
