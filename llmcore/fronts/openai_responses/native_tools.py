"""Tools that are not functions: the API's built-in ones, and hosted ones.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/tools-apply-patch,
.../tools-shell, .../tools-local-shell, .../tools-tool-search, .../tools-computer-use. The calls'
items are in `calls`.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from llmcore.fronts.errors import invalid
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.tool_registry import ToolKind
from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.native_json import object_or_empty, str_or_none
from llmcore.protocols.openai_responses.names import HOSTED_KINDS, METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.registry import protocol_by_id
from llmcore.schema.tools import HostedTool, HostedToolKind

# -- built-in tools as functions


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_COUNT: Final[dict[str, Any]] = {"type": "integer"}
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
    name: str = ""
    """The function's name, where it is not the type of the tool."""
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


def _hosted(name: str, description: str, *required: str, **properties: dict[str, Any]) -> Builtin:
    return Builtin(
        kind="function",
        name=name,
        description=description,
        parameters=_object(required, **properties),
    )


HOSTED_AS_FUNCTIONS: Final[Mapping[HostedToolKind, Builtin]] = {
    "web_search": _hosted(
        "web_search", "Searches the web and returns what it finds.", "query", query=_TEXT
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
    "image_generation": _hosted("image_generation", "Draws a picture.", "prompt", prompt=_TEXT),
    "computer_use": _hosted(
        "computer",
        "Acts on a screen and returns a picture of it.",
        "type",
        type={
            "type": "string",
            "enum": [
                "click",
                "double_click",
                "drag",
                "keypress",
                "move",
                "screenshot",
                "scroll",
                "type",
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
}
"""Functions in place of tools that a provider runs, by the kind of tool."""


# -- hosted tools


def is_hosted(type_: str) -> bool:
    """Return whether *type_* is a tool that a provider runs."""
    return type_ in HOSTED_KINDS


def kind_of(type_: str) -> HostedToolKind:
    """Return the kind of a hosted tool; `raw` for one that other providers do not have."""
    return HOSTED_KINDS.get(type_, "raw")


def offer_hosted(
    native: Mapping[str, Any],
    path: str,
    protocol_id: str | None,
    policy: TranslationPolicy,
    notes: Notes,
) -> HostedTool | None:
    """Return a hosted tool as the upstream has it; None, with a Diagnostic, if it is left out.

    FrontError where the policy wants it.
    """
    type_ = str(native.get("type"))
    kind = kind_of(type_)
    if policy.hosted_tools == "drop":
        notes.dropped("hosted-tool-dropped", path, f"the bridge leaves out {type_} tools")
        return None
    if protocol_id == PROTOCOL_ID:
        return HostedTool.raw(METADATA_KEY, native)
    if protocol_id and kind in protocol_by_id(protocol_id).hosted_kinds:
        return _LOWER[kind](native, path, notes)
    if policy.hosted_tools == "error":
        raise invalid(
            f"The upstream has no {type_} tool. Leave it out, or offer a function instead.",
            path,
            "unsupported_tool",
        )
    notes.dropped("hosted-tool-dropped", path, f"the upstream has no {type_} tool")
    return None


def _rest(native: Mapping[str, Any], known: set[str], path: str, notes: Notes) -> None:
    """Name the options that have no word at other providers."""
    for name, value in native.items():
        if name not in known | {"type"} and value is not None:
            why = f"the upstream's tool has no {name}"
            notes.dropped("unsupported-parameter", f"{path}.{name}", why)


def _web_search(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    _rest(native, {"filters", "user_location"}, path, notes)
    domains = object_or_empty(native.get("filters")).get("allowed_domains")
    place = {
        k: v for k, v in object_or_empty(native.get("user_location")).items() if v and k != "type"
    }
    return HostedTool.web_search(
        allowed_domains=tuple(map(str, domains)) if isinstance(domains, list) else (),
        user_location=place or None,
    )


def _code_execution(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    container = native.get("container")
    if isinstance(container, str) or set(object_or_empty(container)) - {"type"}:
        why = "the upstream runs code in a container of its own"
        notes.dropped("unsupported-parameter", f"{path}.container", why)
    return HostedTool.code_execution()


def _mcp(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    known = {"server_label", "server_url", "authorization", "allowed_tools", "require_approval"}
    _rest(native, known, path, notes)
    if native.get("require_approval") not in (None, "never"):
        raise invalid(
            "The upstream calls MCP tools without asking: set require_approval to never.",
            f"{path}.require_approval",
        )
    allowed = native.get("allowed_tools")
    names = object_or_empty(allowed).get("tool_names") if isinstance(allowed, dict) else allowed
    return HostedTool.mcp(
        server_label=str_or_none(native.get("server_label")) or "mcp",
        server_url=str_or_none(native.get("server_url")),
        authorization=str_or_none(native.get("authorization")),
        allowed_tools=tuple(map(str, names)) if isinstance(names, list) else (),
    )


_LOWER: Final = {"web_search": _web_search, "code_execution": _code_execution, "mcp": _mcp}
