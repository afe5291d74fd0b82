"""Asking the user whether the calls of tools that need approval may run."""

import json
import re
import signal
import sys
from collections.abc import Sequence

from llmcore.cli.program import note, printable
from llmcore.generation.execution import AnyTool
from llmcore.generation.results import GenerateResult
from llmcore.generation.tool import Tool
from llmcore.schema.content import ToolCallPart


def calls_to_approve(
    result: GenerateResult[None], tools: Sequence[AnyTool]
) -> tuple[ToolCallPart, ...]:
    """Return the pending calls of *result* if all of them are of tools that need approval.

    Calls that wait for something else, such as a result that arrives later, cannot be continued
    here, nor can those beside them.
    """
    needing = {tool.name for tool in tools if isinstance(tool, Tool) and tool.needs_approval}
    calls = result.pending_calls
    return calls if all(call.name in needing for call in calls) else ()


_REORDERING = re.compile("[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that a terminal does not show, or that change the order in which it shows others."""


def _visible(text: str) -> str:
    """Return the JSON *text* with such characters escaped: what is shown must be what is run."""
    return _REORDERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def ask_for_approval(calls: Sequence[ToolCallPart]) -> dict[str, bool]:
    """Ask in the terminal about each of *calls*, and return the decisions by call id.

    Only `y` and `yes` approve. Without a terminal as standard input nothing is approved, and that
    is reported. Raises KeyboardInterrupt at Ctrl-C.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # an event loop waits for it
    try:
        return {call.id: _is_approved(call) for call in calls}
    finally:
        signal.signal(signal.SIGINT, before)


def _is_approved(call: ToolCallPart) -> bool:
    shown = f"{call.name}({_visible(json.dumps(call.arguments, ensure_ascii=False))})"
    if not sys.stdin.isatty():
        note(f"{shown} is refused: it needs approval, and standard input is not a terminal")
        return False
    sys.stderr.write(printable(f"run {shown}? [y/N] "))
    sys.stderr.flush()
    typed = ""
    try:
        typed = sys.stdin.readline()
    finally:
        if not typed.endswith("\n"):  # Ctrl-C, or Ctrl-D
            sys.stderr.write("\n")
    return typed.strip().lower() in ("y", "yes")
