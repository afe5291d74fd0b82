"""Tools that are not functions, as the functions that represent them at other upstreams.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/tools-apply-patch,
.../tools-shell, .../tools-local-shell, .../tools-tool-search, .../tools-computer-use.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.policy import HostedToolPolicy
from llmcore.fronts.tool_registry import ToolKind
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.tools import HostedTool, HostedToolKind, ToolDefinition, ToolSpec

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_COUNT: Final[dict[str, Any]] = {"type": "integer"}
_MILLISECONDS: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "Milliseconds after which the command is stopped.",
}


def object_schema(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object with *properties*."""
    return {"type": "object", "properties": properties, "required": list(required)}


@frozen(kw_only=True)
class Builtin:
    """A built-in tool as a function."""

    kind: ToolKind
    name: str = ""
    """The function's name, where it is not the type of the tool."""
    description: str
    parameters: dict[str, Any]


_OPERATION: Final = object_schema(
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
        parameters=object_schema(("operation",), operation=_OPERATION),
    ),
    "shell": Builtin(
        kind="shell",
        description="Runs shell commands and returns what they print.",
        parameters=object_schema(
            ("commands",),
            commands={**_TEXTS, "description": "Commands, each one a whole shell command line."},
            timeout_ms=_MILLISECONDS,
            max_output_length={"type": "integer", "description": "Characters of output at most."},
        ),
    ),
    "local_shell": Builtin(
        kind="local_shell",
        description="Runs one command and returns what it prints.",
        parameters=object_schema(
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
        parameters=object_schema(("query",), query=_TEXT),
    ),
}
"""By the type that a client lists in `tools`."""


def _hosted(name: str, description: str, *required: str, **properties: dict[str, Any]) -> Builtin:
    return Builtin(
        kind="function",
        name=name,
        description=description,
        parameters=object_schema(required, **properties),
    )


HOSTED_AS_FUNCTIONS: Final[Mapping[HostedToolKind, Builtin]] = {
    "web_search": _hosted(
        "web_search", "Searches the web and returns what it finds.", "query", query=_TEXT
    ),
    "web_fetch": _hosted(
        "web_fetch",
        "Fetches a page or a document of the web and returns its text.",
        "url",
        url={
            "type": "string",
            "description": "The whole address, beginning with https:// or http://.",
        },
    ),
    "file_search": _hosted(
        "file_search",
        "Searches the files that belong to this conversation.",
        "queries",
        queries=_TEXTS,
    ),
    "code_execution": _hosted(
        "code_interpreter", "Runs Python code and returns what it prints.", "code", code=_TEXT
    ),
    "image_generation": _hosted("image_generation", "Generates an image.", "prompt", prompt=_TEXT),
    "computer_use": _hosted(
        "computer",
        "Acts on a screen and returns an image of it.",
        "type",
        type={
            "type": "string",
            "enum": [
                "click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type",
                "wait",
            ],
        },
        x=_COUNT,
        y=_COUNT,
        scroll_x=_COUNT,
        scroll_y=_COUNT,
        button=_TEXT,
        keys=_TEXTS,
        text=_TEXT,
        path={
            "type": "array",
            "items": {"type": "object", "properties": {"x": _COUNT, "y": _COUNT}},
        },
    ),
    "mcp": _hosted(
        "mcp",
        "Calls a tool of an MCP server.",
        "tool",
        "arguments",
        tool=_TEXT,
        arguments={"type": "object"},
    ),
}  # fmt: skip
"""Functions in place of tools that a provider runs, by the kind of tool."""


def offered_hosted(
    what: str,
    kind: HostedToolKind,
    upstream: Upstream,
    diagnostics: Diagnostics,
    *,
    same_api: bool,
    own: Callable[[], ToolSpec | None],
    lowered: Callable[[], HostedTool | None],
    name: str | None = None,
) -> ToolSpec | None:
    """Return a tool that its provider runs, as *upstream* gets it; None if it is left out.

    An upstream of the *same_api* as the client's gets *own*; one that has tools of the same *kind*
    gets *lowered*, unless that is None. By the policy, no tool is offered, or a function in its
    place, with *name*. *what* names the tool in a FrontError and in diagnostics.
    """
    policy, protocol_id = upstream.policy.hosted_tools, upstream.protocol_id
    if policy == "drop":
        diagnostics.dropped("hosted-tool-dropped", f"by its settings, the gateway offers no {what}")
        return None
    if policy == "function" and kind in HOSTED_AS_FUNCTIONS:
        return function_instead(kind, diagnostics, name=name)
    if same_api:
        return own()
    if protocol_id and kind in protocol_by_id(protocol_id).hosted_kinds:
        tool = lowered()
        if tool is not None:
            return tool
    refuse_or_report(what, policy, diagnostics)
    return None


def report_repeated(tool: ToolSpec, offered: Iterable[ToolSpec], diagnostics: Diagnostics) -> bool:
    """Return whether *offered* has the same tool of the provider's as *tool*, and report it.

    A client may list several versions of a tool, for which another provider has one.
    """
    if not isinstance(tool, HostedTool) or tool.kind in ("raw", "mcp"):
        return False
    if not any(isinstance(other, HostedTool) and other.kind == tool.kind for other in offered):
        return False
    why = f"the upstream has one {tool.kind} tool, which is offered already"
    diagnostics.dropped("hosted-tool-dropped", why)
    return True


def function_instead(
    kind: HostedToolKind, diagnostics: Diagnostics, *, name: str | None = None
) -> ToolDefinition:
    """Return the function that the client runs in place of a provider's tool, and report it."""
    function = HOSTED_AS_FUNCTIONS[kind]
    name = name or function.name
    diagnostics.changed("hosted-tool-as-function", f"{name} is the client's to run")
    return ToolDefinition(name, function.description, function.parameters)


def refuse_or_report(what: str, policy: HostedToolPolicy, diagnostics: Diagnostics) -> None:
    """Report that the upstream has no *what*; FrontError if the policy is to refuse it."""
    if policy == "error":
        raise invalid(
            f"The upstream has no {what}. Leave it out, or offer a function instead.",
            diagnostics.path,
            "unsupported_tool",
        )
    diagnostics.dropped("hosted-tool-dropped", f"the upstream has no {what}")
