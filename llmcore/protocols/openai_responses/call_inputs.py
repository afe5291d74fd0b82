"""OpenAI Responses: the input of each type of call, as the JSON text that its events carry.

Functions come with JSON text, freeform tools with plain text. Items of built-in tools have fields
of their own:

    {"type": "shell_call", "action": {"commands": ["ls"], "timeout_ms": 5}, ...}
                                                       -> {"commands":["ls"],"timeout_ms":5}
    {"type": "code_interpreter_call", "code": "1+1", ...}
                                                       -> {"code":"1+1"}

Three of them stream one field as plain text: the code, the commands, the diff. In the JSON this
field comes last or first, so that it can be emitted while the text arrives: `opening`, then the
text escaped, then `CLOSINGS`.
"""

from collections.abc import Sequence
from typing import Any, Final

from llmcore.protocols.openai_responses.names import NAMED_CALLS
from llmcore.schema import json
from llmcore.schema.json import JsonValue, NativeObject, text_or_json_or_empty, without
from llmcore.schema.native_json import object_or_empty, str_or_none


def input_text(native: NativeObject) -> str:
    """Return the input of the call *native* as text."""
    type_ = native.get("type")
    if type_ in NAMED_CALLS:
        return text_or_json_or_empty(native.get(input_field(str(type_))))
    if type_ == "apply_patch_call":
        return _dumps(_diff_last(native))
    return _dumps(_fields(native))


def input_field(type_: str) -> str:
    """Return the field that holds the input of a call that names its tool."""
    return "input" if type_ == "custom_tool_call" else "arguments"


def _dumps(value: JsonValue) -> str:
    return json.dumps(value).decode()


_ACTION: Final = ("action", "actions", "pending_safety_checks")


def _fields(native: NativeObject) -> JsonValue:
    match native.get("type"):
        case "code_interpreter_call" if "code" in native:
            return {"code": native.get("code") or ""}
        case "program":
            return {"code": native.get("code") or ""}
        case "shell_call":
            action = object_or_empty(native.get("action"))
            commands = action.get("commands")
            given = commands if isinstance(commands, list) else []
            return {"commands": given, **without(action, "commands")}
        case "local_shell_call":
            return object_or_empty(native.get("action"))
        case "computer_call":
            return {name: native[name] for name in _ACTION if native.get(name)}
        case "file_search_call":
            return {"queries": native.get("queries") or []}
        case "mcp_list_tools":
            return {"server_label": native.get("server_label")}
        case "mcp_approval_request":
            tool = {"server_label": native.get("server_label"), "name": native.get("name")}
            return {**tool, "arguments": _parsed(native.get("arguments"))}
        case "web_search_call" if isinstance(native.get("action"), dict):
            return without(native["action"], "sources")
        case _:
            return _parsed(native.get("arguments")) or {}


def _parsed(arguments: Any) -> JsonValue:
    """Return arguments as JSON, whether they came as JSON text or as a value."""
    if not isinstance(arguments, str):
        value: JsonValue = arguments
        return value
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return {"arguments": arguments}


# -- fields that are streamed as plain text


def _diff_last(native: NativeObject) -> NativeObject:
    """Return a patch's operation with its diff last; the deletion of a file has no diff."""
    operation = object_or_empty(native.get("operation"))
    rest = without(operation, "diff")
    diff = str_or_none(operation.get("diff"))
    return rest if diff is None else {**rest, "diff": diff}


def opening(native: NativeObject) -> str:
    """Return the JSON before the plain text."""
    match native.get("type"):
        case "shell_call":
            return '{"commands":["'
        case "apply_patch_call":
            operation = without(object_or_empty(native.get("operation")), "diff")
            return f'{_dumps(operation)[:-1]}{"," if operation else ""}"diff":"'
        case _:
            return '{"code":"'


CLOSINGS: Final = {"shell_call": '"]}', "apply_patch_call": '"}', "code_interpreter_call": '"}'}
"""The JSON after the plain text, where the server does not send the whole."""


def plain_texts(native: NativeObject) -> list[str]:
    """Return the texts of *native* that are streamed plain: its commands, its diff or its code."""
    match native.get("type"):
        case "shell_call":
            commands = object_or_empty(native.get("action")).get("commands")
            inputs = commands if isinstance(commands, list) else []
        case "apply_patch_call":
            inputs = [object_or_empty(native.get("operation")).get("diff")]
        case _:
            inputs = [native.get("code")]
    return [text for text in inputs if isinstance(text, str) and text]


def with_plain_texts(native: NativeObject, texts: Sequence[str]) -> NativeObject:
    """Return *native* with *texts* in place of those that it streams plain."""
    match native.get("type"):
        case "shell_call":
            action = {**object_or_empty(native.get("action")), "commands": list(texts)}
            return {**native, "action": action}
        case "apply_patch_call":
            operation = {**object_or_empty(native.get("operation")), "diff": "".join(texts)}
            return {**native, "operation": operation}
        case _:
            return {**native, "code": "".join(texts)}


def escaped(text: str) -> str:
    """Return *text* as it is inside a JSON string."""
    return _dumps(text)[1:-1]
