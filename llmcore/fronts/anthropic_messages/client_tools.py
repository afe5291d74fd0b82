"""Tools that Anthropic defines and the client runs, as functions for other upstreams.

Claude has learned their parameters; another model gets them as a schema. Calls come back under
the tool's own name, so the client runs them as usual. Sources, read November 2026:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/bash-tool,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts.reading import Fields
from llmcore.fronts.tools_as_functions import object_schema
from llmcore.schema.native_json import str_or_none
from llmcore.schema.tools import ToolDefinition

_TEXT: Final = {"type": "string"}
_LINE: Final = {"type": "integer"}
_PAIR: Final = {"type": "array", "items": _LINE, "minItems": 2, "maxItems": 2}


def _commands(*names: str, **properties: Any) -> dict[str, Any]:
    return object_schema(
        ("command",), command={"type": "string", "enum": list(names)}, **properties
    )


_EDITS: Final[dict[str, Any]] = {
    "path": _TEXT,
    "file_text": {**_TEXT, "description": "The whole file, for create."},
    "old_str": {**_TEXT, "description": "The text to replace, which stands in the file once."},
    "new_str": _TEXT,
    "insert_line": {**_LINE, "description": "The line to insert after; 0 is the beginning."},
    "insert_text": _TEXT,
    "view_range": {**_PAIR, "description": "First and last line, for view."},
}
_ACTIONS: Final = (
    "key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click",
    "double_click", "triple_click", "left_mouse_down", "left_mouse_up", "hold_key", "scroll",
    "wait", "screenshot", "cursor_position", "zoom",
)  # fmt: skip

_TOOLS: Final[Mapping[str, tuple[str, str, dict[str, Any]]]] = {
    "bash_": (
        "bash",
        "Runs a command in a bash session that stays open between calls.",
        object_schema((), command=_TEXT, restart={"type": "boolean"}),
    ),
    "text_editor_": (
        "str_replace_based_edit_tool",
        "Views, creates and edits text files.",
        _commands("view", "create", "str_replace", "insert", **_EDITS),
    ),
    "memory_": (
        "memory",
        "Keeps notes as files below /memories, between conversations.",
        _commands(
            "view",
            "create",
            "str_replace",
            "insert",
            "delete",
            "rename",
            **_EDITS,
            old_path=_TEXT,
            new_path=_TEXT,
        ),
    ),
    "computer_2": (
        "computer",
        "Acts on a screen, and returns an image of it.",
        object_schema(
            ("action",),
            action={"type": "string", "enum": list(_ACTIONS)},
            coordinate=_PAIR,
            start_coordinate=_PAIR,
            text=_TEXT,
            duration={"type": "number"},
            scroll_direction={"type": "string", "enum": ["up", "down", "left", "right"]},
            scroll_amount=_LINE,
            region={"type": "array", "items": _LINE, "minItems": 4, "maxItems": 4},
        ),
    ),
}
"""Name, description and parameters, by the beginning of the type."""


def client_tool(type_: str, native: Fields) -> ToolDefinition | None:
    """Return the function for a tool of *type_*; None for a type that is not of this kind."""
    for start, (name, description, parameters) in _TOOLS.items():
        if type_.startswith(start):
            words = description
            width, height = native.get("display_width_px"), native.get("display_height_px")
            if width and height:
                words = f"{words} The screen has {width} x {height} pixels."
            return ToolDefinition(str_or_none(native.get("name")) or name, words, parameters)
    return None
