"""OpenAI Responses: the input of each kind of call, as JSON.

Functions come with JSON text, freeform tools with bare text. The built-in tools have fields of
their own, and three of them stream one as bare text: the code, the commands, the diff. Here
that field comes last or alone, so that the JSON can be written while the text arrives.
"""

from collections.abc import Sequence
from typing import Any, Final

from llmcore.protocols.native_json import object_or_empty, str_or_none
from llmcore.protocols.openai_responses.names import NativeObject
from llmcore.schema import json
from llmcore.schema.json import JsonValue


def input_text(native: NativeObject) -> str:
    """Return the input of the call that *native* is, as the text that its events spell."""
    kind = native.get("type")
    if kind in ("function_call", "mcp_call", "custom_tool_call"):
        value = native.get("input" if kind == "custom_tool_call" else "arguments")
        return written(value)
    if kind == "apply_patch_call":
        return spelled(diff_last(native))
    return spelled(_fields(native))


def written(value: Any) -> str:
    """Return input as text; some servers send the object itself."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value).decode()


def spelled(value: JsonValue) -> str:
    """Return *value* as JSON text."""
    return json.dumps(value).decode()


_ACTION: Final = ("action", "actions", "pending_safety_checks")


def _fields(native: NativeObject) -> JsonValue:
    match native.get("type"):
        case "code_interpreter_call" if "code" in native:
            return {"code": native.get("code") or ""}
        case "program":
            return {"code": native.get("code") or ""}
        case "shell_call":
            return commands_first(object_or_empty(native.get("action")))
        case "local_shell_call":
            return object_or_empty(native.get("action"))
        case "computer_call":
            return {name: native[name] for name in _ACTION if native.get(name)}
        case "file_search_call":
            return {"queries": native.get("queries") or []}
        case "mcp_list_tools":
            return {"server_label": native.get("server_label")}
        case "mcp_approval_request":
            asked = {"server_label": native.get("server_label"), "name": native.get("name")}
            return {**asked, "arguments": _parsed(native.get("arguments"))}
        case "web_search_call" if isinstance(native.get("action"), dict):
            return {name: value for name, value in native["action"].items() if name != "sources"}
        case _:
            return _parsed(native.get("arguments")) or {}


def _parsed(arguments: Any) -> JsonValue:
    """Return arguments as JSON, whether they came as text or as what they spell."""
    if not isinstance(arguments, str):
        value: JsonValue = arguments
        return value
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return {"arguments": arguments}


# -- texts that are streamed bare


def commands_first(action: NativeObject) -> NativeObject:
    """Return a shell's action, what is streamed of it first."""
    commands = action.get("commands")
    rest = {name: value for name, value in action.items() if name != "commands"}
    return {"commands": commands if isinstance(commands, list) else [], **rest}


def diff_last(native: NativeObject) -> NativeObject:
    """Return a patch's operation, what is streamed of it last; nothing streams a deletion."""
    operation = object_or_empty(native.get("operation"))
    rest = {name: value for name, value in operation.items() if name != "diff"}
    diff = str_or_none(operation.get("diff"))
    return rest if diff is None else {**rest, "diff": diff}


def opening(native: NativeObject) -> str:
    """Return the JSON before the text that a call streams."""
    match native.get("type"):
        case "shell_call":
            return '{"commands":["'
        case "apply_patch_call":
            operation = {k: v for k, v in diff_last(native).items() if k != "diff"}
            return f'{spelled(operation)[:-1]}{"," if operation else ""}"diff":"'
        case _:
            return '{"code":"'


CLOSINGS: Final = {"shell_call": '"]}', "apply_patch_call": '"}', "code_interpreter_call": '"}'}
"""What ends the JSON, where the server does not say the whole."""


def is_said(native: NativeObject) -> bool:
    """Return whether *native* holds the text that it streams bare."""
    return bool(bare_texts(native))


def bare_texts(native: NativeObject) -> list[str]:
    """Return the texts of *native* that are streamed bare: its commands, its diff or its code."""
    match native.get("type"):
        case "shell_call":
            commands = object_or_empty(native.get("action")).get("commands")
            found = commands if isinstance(commands, list) else []
        case "apply_patch_call":
            found = [object_or_empty(native.get("operation")).get("diff")]
        case _:
            found = [native.get("code")]
    return [text for text in found if isinstance(text, str) and text]


def with_bare_texts(native: NativeObject, texts: Sequence[str]) -> NativeObject:
    """Return *native* with *texts* in place of those that it streams bare."""
    match native.get("type"):
        case "shell_call":
            return {
                **native,
                "action": {**object_or_empty(native.get("action")), "commands": list(texts)},
            }
        case "apply_patch_call":
            operation = {**object_or_empty(native.get("operation")), "diff": "".join(texts)}
            return {**native, "operation": operation}
        case _:
            return {**native, "code": "".join(texts)}


def escaped(text: str) -> str:
    """Return *text* as it stands inside a JSON string."""
    return json.dumps(text).decode()[1:-1]
