r"""Calls that the client runs, and their results: items for it, functions for the upstream.

    {"type": "function_call", "call_id": "call_1", "name": "weather",
     "arguments": "{\"city\":\"Riga\"}"}
    {"type": "function_call_output", "call_id": "call_1", "output": "19 C"}
    {"type": "shell_call", "call_id": "call_2", "action": {"commands": ["ls"], "timeout_ms": 5}}

Sources, read November 2026: https://developers.openai.com/api/docs/guides/function-calling,
.../tools-apply-patch, .../tools-shell, .../tools-local-shell, .../tools-tool-search.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from llmcore.fronts import reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_ENVIRONMENTS, check_types
from llmcore.fronts.openai_responses.content import read_output
from llmcore.fronts.policy import RegisteredTool
from llmcore.fronts.tool_registry import ToolEntry, ToolKind, ToolRegistry, function_name
from llmcore.protocols.history import ITEM_FIELDS
from llmcore.protocols.openai_responses import names
from llmcore.protocols.openai_responses.call_inputs import input_text
from llmcore.protocols.openai_responses.calls import is_client_run
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import (
    JsonValue,
    ProviderMetadata,
    json_or_text,
    parse_arguments,
    text_or_json,
)
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none

# -- calls

Item = dict[str, Any]

CALL_TYPES: Final[Mapping[str, ToolKind]] = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "apply_patch_call": "apply_patch",
    "shell_call": "shell",
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
}
"""The kind of tool that an item calls, by its type; a registered tool's is `<type>_call`."""
_BUILT_IN: Final = frozenset({"apply_patch", "shell", "local_shell"})
_OF_EITHER: Final = frozenset({"custom_tool_call", "shell_call"})
"""Calls that the client or the provider runs."""
_ID_PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg",
    "reasoning": "rs",
    "compaction": "cmp",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "apply_patch_call": "apc",
    "computer_call": "cu",
    "local_shell_call": "lsh",
    "shell_call": "sh",
    "shell_call_output": "sho",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "code_interpreter_call": "ci",
    "file_search_call": "fs",
    "image_generation_call": "ig",
    "mcp_approval_request": "mcpr",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "program": "cm",
    "program_output": "cmo",
    "web_search_call": "ws",
    "registered_call": "rtc",
}
"""The prefixes of items' ids; OpenAI's server rejects an id with another prefix."""


def id_prefix(type_: str) -> str:
    """Return the prefix of the ids of items of *type_*."""
    return _ID_PREFIXES.get(type_, "item")


def call_type(kind: ToolKind) -> str:
    """Return the type of the items of calls of a kind of tool; a registered tool's is its own."""
    return "custom_tool_call" if kind == "custom" else f"{kind}_call"


# -- from the upstream's call to the client's item


def call_item(
    entry: ToolEntry | None,
    *,
    item_id: str,
    call_id: str,
    name: str,
    text: str,
    status: str = "completed",
) -> Item | None:
    """Return the item of a call whose function got the input *text*.

    A function that represents no tool of the client's is a function call under its own name.
    None for input that the tool's item cannot hold.
    """
    entry = entry or ToolEntry(upstream=name, kind="function", name=name)
    ids: Item = {"id": item_id, "call_id": call_id}
    space = {} if entry.namespace is None else {"namespace": entry.namespace}
    match entry.kind:
        case "function":
            named = {"type": "function_call", **ids, "name": entry.name, **space}
            return {**named, "arguments": text, "status": status}
        case "custom":
            named = {"type": "custom_tool_call", **ids, "name": entry.name, **space}
            return {**named, "input": text, "status": status}
        case "registered":
            return {
                "type": f"{entry.name}_call", **ids, "arguments": text, "status": status,
            }  # fmt: skip
        case kind:
            fields = _FIELDS[kind](object_or_empty(parse_arguments(text)[0]))
            return None if fields is None else {"type": f"{kind}_call", **ids, **fields}


def _apply_patch(arguments: Mapping[str, Any]) -> Item | None:
    """Return the operation; models also write it without the object around it."""
    given = object_or_empty(arguments.get("operation")) or arguments
    kind, path, diff = given.get("type"), str_or_none(given.get("path")), given.get("diff")
    if kind not in ("create_file", "update_file", "delete_file") or path is None:
        return None
    operation: Item = {"type": kind, "path": path}
    if kind != "delete_file":
        operation["diff"] = str_or_empty(diff)
    return {"operation": operation, "status": "completed"}


def _shell(arguments: Mapping[str, Any]) -> Item | None:
    commands = arguments.get("commands", arguments.get("command"))
    lines = [commands] if isinstance(commands, str) else commands
    if not _are_texts(lines):
        return None
    action = {"commands": lines, **_numbers(arguments, "timeout_ms", "max_output_length")}
    return {"action": action, "environment": {"type": "local"}, "status": "completed"}


def _local_shell(arguments: Mapping[str, Any]) -> Item | None:
    command = arguments.get("command")
    words = ["bash", "-lc", command] if isinstance(command, str) else command
    if not _are_texts(words):
        return None
    env = {name: str(value) for name, value in object_or_empty(arguments.get("env")).items()}
    texts = {
        name: value
        for name in ("working_directory", "user")
        if (value := str_or_none(arguments.get(name))) is not None
    }
    action = {"type": "exec", "command": words, "env": env, **_numbers(arguments, "timeout_ms")}
    return {"action": {**action, **texts}, "status": "completed"}


def _tool_search(arguments: Mapping[str, Any]) -> Item:
    return {"arguments": dict(arguments), "execution": "client", "status": "completed"}


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _numbers(arguments: Mapping[str, Any], *fields: str) -> Item:
    return {name: arguments[name] for name in fields if type(arguments.get(name)) is int}


_FIELDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Item | None]]] = {
    "apply_patch": _apply_patch,
    "shell": _shell,
    "local_shell": _local_shell,
    "tool_search": _tool_search,
}


# -- from the client's item to the upstream's call


def call_part(
    item: Mapping[str, Any], registry: ToolRegistry, registered: tuple[RegisteredTool, ...] = ()
) -> ToolCallPart | None:
    """Return *item* as a call; None if it is not a call that the client runs."""
    kind = _kind_of(item, registered)
    if kind is None:
        return None
    name = tool_name(item, kind)
    if name is None:
        return None
    if registry.native and kind in _BUILT_IN and registry.of_client(name) is None:
        return native_call(item)
    namespace = str_or_none(item.get("namespace"))
    entry = registry.of_client(name, namespace)
    metadata = _own_metadata(item, kind, entry) if registry.native else {}
    if entry is None and namespace == name:  # a function that was loaded on its own
        namespace, entry = None, registry.of_client(name)
    own = object_or_empty(metadata.get(METADATA_KEY))
    within = None if "namespace" in own else namespace
    upstream = entry.upstream if entry else function_name(name, within)
    by_id = str_or_none(item.get("id")) if kind in ("local_shell", "tool_search") else None
    call_id = str_or_none(item.get("call_id")) or by_id or ""
    as_is = registry.native if entry is None else entry.native
    if kind == "custom" and as_is:
        text = str(item.get("input") or "")
        return ToolCallPart(call_id, upstream, text, kind="custom", provider_metadata=metadata)
    arguments = _arguments(item, kind)
    if kind == "function" and not metadata:
        return reading.parsed_call(call_id, upstream, arguments)
    return ToolCallPart(call_id, upstream, arguments, provider_metadata=metadata)


def native_call(item: Mapping[str, Any]) -> ToolCallPart | None:
    """Return the call of a built-in tool that an upstream of the same API gets as it is.

    None for any other item.
    """
    type_, native = str(item.get("type")), dict(item)
    if type_ in names.NAMED_CALLS or not is_client_run(native):
        return None
    call_id = str_or_none(item.get("call_id")) or str_or_none(item.get("id")) or ""
    arguments = parse_arguments(input_text(native))[0]
    metadata = {METADATA_KEY: {"item": native}}
    return ToolCallPart(call_id, names.CALL_TOOLS[type_], arguments, provider_metadata=metadata)


def _own_metadata(
    item: Mapping[str, Any], kind: ToolKind, entry: ToolEntry | None
) -> ProviderMetadata:
    """Return what an upstream that speaks the API needs of a call besides its name and input."""
    if kind == "tool_search":
        native = {name: value for name, value in item.items() if name != "id"}
        return {METADATA_KEY: {"item": native}}
    fields = {name: item[name] for name in names.CALL_FIELDS if item.get(name)}
    if unread := names.unread_fields(item):
        fields[ITEM_FIELDS] = unread
    if entry is not None and entry.namespace is not None:
        fields.pop("namespace", None)
    return {METADATA_KEY: fields} if fields else {}


def report_own_fields(item: Mapping[str, Any], diagnostics: Diagnostics, *, native: bool) -> None:
    """Report the fields of a call, or of its output, that the upstream does not get.

    Servers of the API (*native*) get all but those of built-in tools that are offered as functions.
    """
    if not native:
        stated = (name for name in ("async", "caller") if item.get(name) is not False)
        reading.report_call_fields(item, stated, diagnostics)
    own = _OF_BUILT_IN.get(str(item.get("type")))
    if own is not None:
        for name in own & _OBJECTS:
            reading.read_field(item, name, dict, f"{diagnostics.path}.")
        reading.report_unknown(item, own | _OF_CALLS, diagnostics)
        reading.report_unknown_inside(item, _INSIDE, diagnostics)
    environment, path = object_or_empty(item.get("environment")), f"{diagnostics.path}.environment"
    check_types(environment, OF_ENVIRONMENTS, path)
    if environment.get("skills"):
        why = "the upstream's calls have no skills: the tool describes them"
        diagnostics.at("environment.skills").unsupported(why)


_OF_CALLS: Final = frozenset(
    {"call_id", "caller", "id", "status", "type", *names.OUTPUT_ONLY_FIELDS}
)
_OF_BUILT_IN: Final[Mapping[str, frozenset[str]]] = {
    "apply_patch_call": frozenset({"operation"}),
    "local_shell_call": frozenset({"action"}),
    "shell_call": frozenset({"action", "environment"}),
    "tool_search_call": frozenset({"arguments", "execution"}),
}
"""Fields of calls of built-in tools that are read, where the tools are offered as functions."""
_OBJECTS: Final = frozenset({"action", "environment", "operation"})
_INSIDE: Final = {"environment": frozenset({"skills", "type"})}


def tool_name(item: Mapping[str, Any], kind: ToolKind) -> str | None:
    """Return the client's name of the tool that *item* calls."""
    if kind in ("function", "custom"):
        return str_or_none(item.get("name"))
    return str(item["type"]).removesuffix("_call")


def _kind_of(item: Mapping[str, Any], registered: tuple[RegisteredTool, ...]) -> ToolKind | None:
    type_ = str(item.get("type"))
    if type_ == "tool_search_call" and _is_of_server(item):
        return None
    if type_ in _OF_EITHER and not is_client_run(dict(item)):
        return None
    if any(type_ == f"{tool.type}_call" for tool in registered):
        return "registered"
    return CALL_TYPES.get(type_)


def _arguments(item: Mapping[str, Any], kind: ToolKind) -> JsonValue:
    match kind:
        case "function" | "registered":
            return parse_arguments(text_or_json(item.get("arguments") or ""))[0]
        case "custom":
            return freeform_arguments(str(item.get("input") or ""))
        case "apply_patch":
            return {"operation": object_or_empty(item.get("operation"))}
        case "tool_search":
            arguments = item.get("arguments")
            return object_or_empty(
                json_or_text(arguments) if isinstance(arguments, str) else arguments
            )
        case _:
            action = object_or_empty(item.get("action"))
            return {
                name: value
                for name, value in action.items()
                if name != "type" and value not in (None, {})
            }


# -- results


def is_output(item: Mapping[str, Any]) -> bool:
    """Return whether *item* is the result of a tool that the client runs."""
    type_ = str(item.get("type"))
    if type_ == "tool_search_output":
        return not _is_of_server(item)
    return type_.endswith("_call_output")


def is_of_model(item: Mapping[str, Any]) -> bool:
    """Return whether *item* is a text or a call of the model."""
    type_ = str(item.get("type"))
    return item.get("role") == "assistant" or type_.endswith("_call")


def _is_of_server(item: Mapping[str, Any]) -> bool:
    """Return whether the server ran a search among tools: its items have no `call_id`."""
    execution = item.get("execution")
    return execution == "server" or (execution is None and item.get("call_id") is None)


def result_part(
    item: Mapping[str, Any],
    calls: Mapping[str, ToolCallPart],
    diagnostics: Diagnostics,
    *,
    protocol_id: str | None,
    native: bool,
) -> ToolResultPart:
    """Return the tool result in *item*; *calls* are those before it, by their ids.

    Where it is *native* to the upstream, tools that were found keep their whole definitions.

    FrontError for one that does not name the call that it answers.
    """
    # the one output that names the item, not the call
    by_id = item.get("type") == "local_shell_call_output"
    call_id = str_or_none(item.get("call_id")) or (str_or_none(item.get("id")) if by_id else None)
    if call_id is None:
        path = diagnostics.path
        raise invalid(f"{path}: a tool's output needs the call_id of its call.", f"{path}.call_id")
    call = calls.get(call_id)
    is_search = item.get("type") == "tool_search_output"
    checks = objects(item.get("acknowledged_safety_checks"))
    if checks and protocol_id != PROTOCOL_ID:
        why = "the upstream has no safety checks"
        diagnostics.at("acknowledged_safety_checks").unsupported(why)
    failed, kind = _failed(item), call.kind if call else "function"
    call_id, name = (call.id, call.name) if call else (call_id, None)
    whole_tools = {"tools": objects(item.get("tools"))}
    content = whole_tools if native and is_search else _content(item, protocol_id, diagnostics)
    own: dict[str, Any] = {"acknowledged_safety_checks": checks} if checks else {}
    unread = names.unread_fields(item)
    if protocol_id == PROTOCOL_ID:
        caller = object_or_empty(item.get("caller"))
        unread |= {"caller": caller} if caller else {}
        own |= {ITEM_FIELDS: unread} if unread else {}
    else:
        reading.report_unknown(unread, _ALSO_OF_CALLS, diagnostics)
    if isinstance(content, str) and kind == "function" and not failed and not own:
        return reading.text_result(call_id, content, name)
    part = ToolResultPart(
        call_id,
        content,
        name=name,
        is_error=failed,
        kind=kind,
        provider_metadata={METADATA_KEY: own} if own else {},
    )
    return reading.marked_at_end(part)


_ALSO_OF_CALLS: Final = frozenset({"name", "namespace"})
"""Fields of an output that its call has, too."""


def approval_result(
    item: Mapping[str, Any], calls: Mapping[str, ToolCallPart]
) -> ToolResultPart | None:
    """Return the response to the request of *calls* that *item* approves or refuses."""
    call = calls.get(str(item.get("approval_request_id")))
    if call is None:
        return None
    approval = {name: item[name] for name in ("approve", "reason") if item.get(name) is not None}
    return ToolResultPart(call.id, approval, name=call.name)


def _content(item: Mapping[str, Any], protocol_id: str | None, diagnostics: Diagnostics) -> Any:
    match item.get("type"):
        case "tool_search_output":
            return {"tools": [_found(tool) for tool in objects(item.get("tools"))]}
        case "apply_patch_call_output":
            return str_or_none(item.get("output")) or str(item.get("status") or "completed")
        case "computer_call_output":
            return _screenshot(item, protocol_id, diagnostics)
        case _:
            return read_output(item.get("output"), protocol_id, diagnostics.at("output"))


def _screenshot(item: Mapping[str, Any], protocol_id: str | None, diagnostics: Diagnostics) -> Any:
    """Return a screenshot; an upstream of the same API accepts nothing but an image.

    The reference lets it have an `image_url` and a `file_id`, for one image: the first is sent.
    """
    here = diagnostics.at("output")
    native = {k: v for k, v in object_or_empty(item.get("output")).items() if v is not None}
    reading.report_unknown(native, _OF_SCREENSHOT, here)
    has_image = "image_url" in native or "file_id" in native
    if "image_url" in native and native.pop("file_id", None) is not None:
        here.at("file_id").unsupported("the image_url is sent")
    if protocol_id == PROTOCOL_ID and not has_image and not _failed(item):
        words = "must be a computer_screenshot with an image_url or a file_id."
        raise invalid(f"{here.path} {words}", here.path)
    return read_output([native], protocol_id, here)


_OF_SCREENSHOT: Final = frozenset({"file_id", "image_url", "type"})


def _failed(item: Mapping[str, Any]) -> bool:
    return item.get("status") == "failed"


def _found(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a tool search for the model; the tools found are offered like others."""
    shown = {name: tool[name] for name in ("type", "name", "description") if tool.get(name)}
    inner = [_found(inner_tool) for inner_tool in objects(tool.get("tools"))]
    return {**shown, "tools": inner} if inner else shown
