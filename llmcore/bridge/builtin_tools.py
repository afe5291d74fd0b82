"""The built-in tools that a client runs itself, as functions for a model that knows none of them.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/tools-apply-patch,
.../tools-shell, .../tools-local-shell, .../tools-tool-search. The calls' items are in
`call_items`.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from llmcore.bridge.tool_registry import ToolKind

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_MILLISECONDS: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "Milliseconds after which the command is stopped.",
}


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


@frozen(kw_only=True)
class Builtin:
    """A built-in tool as a function."""

    kind: ToolKind
    description: str
    parameters: dict[str, Any]


_OPERATION: Final = _object(
    ("type", "path"),
    type={"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
    path={"type": "string", "description": "The file, relative to the working directory."},
    diff={
        "type": "string",
        "description": "Of create_file and update_file: hunks in the V4A format. A hunk begins "
        "with a line `@@` (and, where it helps, the enclosing definition); then come lines that "
        "begin with a space (context), `-` (removed) or `+` (added). A new file has only `+` "
        "lines.",
    },
)

BUILTIN: Final[Mapping[str, Builtin]] = {
    "apply_patch": Builtin(
        kind="apply_patch",
        description="Creates, updates or deletes one file. Call it once for each file.",
        parameters=_object(("operation",), operation=_OPERATION),
    ),
    "shell": Builtin(
        kind="shell",
        description="Runs shell commands and returns what they print.",
        parameters=_object(
            ("commands",),
            commands={**_TEXTS, "description": "Commands, each one a whole shell command line."},
            timeout_ms=_MILLISECONDS,
            max_output_length={"type": "integer", "description": "Characters of output at most."},
        ),
    ),
    "local_shell": Builtin(
        kind="local_shell",
        description="Runs one command and returns what it prints.",
        parameters=_object(
            ("command",),
            command={**_TEXTS, "description": "The program and its arguments."},
            timeout_ms=_MILLISECONDS,
            working_directory=_TEXT,
            env={"type": "object", "additionalProperties": {"type": "string"}},
            user=_TEXT,
        ),
    ),
    "tool_search": Builtin(
        kind="tool_search",
        description="Finds more tools; those that it finds can be called afterwards.",
        parameters=_object(("query",), query=_TEXT),
    ),
}
"""By the type that a client lists in `tools`."""
