"""The types of fields in requests that are seldom there, by their names.

Most fields are read with their type, by `reading.read_field`. Those listed here are read further
down, where a value of another type counts as none, so that it would be lost without a word.
Sources, read November 2026: the types of the packages `openai`, `anthropic` and `google-genai`.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from llmcore.fronts.reading import Fields, read_field, read_objects

Kinds: TypeAlias = Mapping[str, type[Any] | None]
"""Types by the names of fields; None is a list of objects."""


def check_types(fields: Fields, kinds: Kinds, path: str) -> None:
    """Raise FrontError, naming its place below *path*, for a field of another type than its own.

    Empty lists, objects and texts are as good as none: some languages write one for another.
    """
    if kinds.keys().isdisjoint(fields):  # nearly always
        return
    for name, value in fields.items():
        if name not in kinds or type(value) is kinds[name] or value in (None, [], {}, ""):
            continue
        kind = kinds[name]
        if kind is None:
            read_objects(fields, name, f"{path}.")
        else:
            read_field(fields, name, kind, f"{path}.")


OF_CHAT_MESSAGES: Final[Kinds] = {
    "annotations": None,
    "audio": dict,
    "extra_content": dict,
    "function_call": dict,
    "images": None,
    "name": str,
    "reasoning": str,
    "reasoning_content": str,
    "reasoning_details": None,
    "refusal": str,
    "thinking_blocks": None,
}
OF_CHAT_CALLS: Final[Kinds] = {"custom": dict, "function": dict, "type": str}
OF_CHAT_PARTS: Final[Kinds] = {"annotations": None}
OF_RESPONSES_PARTS: Final[Kinds] = {
    "annotations": None,
    "file_data": str,
    "file_id": str,
    "file_url": str,
    "filename": str,
    "logprobs": None,
    "refusal": str,
}
OF_ITEMS: Final[Kinds] = {
    "acknowledged_safety_checks": None,
    "encrypted_content": str,
    "environment": dict,
    "max_output_length": int,
    "name": str,
    "namespace": str,
    "server_label": str,
    "summary": None,
}
OF_RESPONSES_TOOLS: Final[Kinds] = {
    "authorization": str,
    "defer_loading": bool,
    "description": str,
    "filters": dict,
    "format": dict,
    "output_schema": dict,
    "server_description": str,
    "server_label": str,
    "server_url": str,
    "user_location": dict,
}
OF_ENVIRONMENTS: Final[Kinds] = {"skills": None, "type": str}
OF_BLOCKS: Final[Kinds] = {"thinking": str, "transformations": dict}
OF_HOSTED_BLOCKS: Final[Kinds] = {"id": str, "input": dict, "name": str, "tool_use_id": str}
OF_MESSAGES_TOOLS: Final[Kinds] = {
    "configs": dict,
    "default_config": dict,
    "defer_loading": bool,
    "description": str,
    "display_height_px": int,
    "display_width_px": int,
    "eager_input_streaming": bool,
    "name": str,
}
OF_SERVERS: Final[Kinds] = {"authorization_token": str, "name": str, "type": str, "url": str}
OF_GEMINI_PARTS: Final[Kinds] = {
    "codeExecutionResult": dict,
    "executableCode": dict,
    "text": str,
    "thought": bool,
    "thoughtSignature": str,
    "videoMetadata": dict,
}
OF_GEMINI_CALLS: Final[Kinds] = {"args": dict, "id": str, "name": str, "willContinue": bool}
