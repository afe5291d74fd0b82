r"""OpenAI Chat Completions: arguments that a server repeats from their beginning in every fragment.

By the API a fragment holds what is new; servers such as Baidu Qianfan send all so far again:

    {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}
    {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":\"Oslo\"}"}}]}

The fragments decide, not the name of the server: the same server has both forms. Fragments that
each begin with the one before are snapshots once they cannot be deltas, because joined they do not
begin a JSON object. Where both readings are possible, as of an object that holds one with
the same beginning, they are held back until a later fragment decides, or the end: arguments that
joined are an object are deltas. Sources, read November 2026:
https://github.com/NousResearch/hermes-agent/issues/35592,
https://github.com/langchain-ai/langgraphjs/issues/2570, https://github.com/vercel/ai/issues/12052.
"""

import json as standard_json
from typing import Final, Literal

from attrs import frozen

from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic

Form = Literal["open", "deltas", "snapshots", "rest"]
"""How fragments come; `rest` is new text after snapshots."""

_UNDECIDED: Final = 1000
"""After so many characters that may be either, fragments are deltas: each is parsed with all."""


@frozen(kw_only=True)
class Arguments:
    """The arguments of a call so far, until it is certain how the server sends them."""

    form: Form = "open"
    first: str = ""
    """The first fragment: how both readings begin."""
    text: str = ""
    """All fragments joined, while that is open; of snapshots, the last one."""
    last: str = ""
    """The last fragment."""


DELTAS: Final = Arguments(form="deltas")


def add_fragment(so_far: Arguments, text: str) -> tuple[Arguments, str]:
    """Return the arguments with another fragment, and what can be emitted of them now."""
    match so_far.form:
        case "deltas" | "rest":
            return so_far, text
        case "snapshots":
            return _add_snapshot(so_far, text)
        case "open":
            return _add_undecided(so_far, text)


def _add_snapshot(so_far: Arguments, text: str) -> tuple[Arguments, str]:
    if text.startswith(so_far.text):
        return changed(so_far, text=text), text[len(so_far.text) :]
    return changed(so_far, form="rest", text=""), text


def _add_undecided(so_far: Arguments, text: str) -> tuple[Arguments, str]:
    if not so_far.first:
        begins = text.lstrip().startswith("{")
        return (changed(so_far, first=text, text=text, last=text) if begins else DELTAS), text
    if not text.startswith(so_far.last):
        return DELTAS, so_far.text[len(so_far.first) :] + text
    if may_continue(so_far.text, so_far.last):
        if len(so_far.text) > _UNDECIDED:
            return DELTAS, so_far.text[len(so_far.first) :] + text
        return changed(so_far, text=so_far.text + text, last=text), ""
    snapshots = changed(so_far, form="snapshots", text=text)
    return snapshots, text[len(so_far.first) :]


def repeats(so_far: Arguments, text: str) -> bool:
    """Return whether *text* is the next snapshot of arguments that are not complete."""
    known = so_far.last if so_far.form == "open" else so_far.text
    return bool(known) and text.startswith(known) and not is_object(known)


def end_arguments(so_far: Arguments) -> tuple[str, bool]:
    """Return what was held back, and whether the fragments were snapshots."""
    if so_far.form != "open" or so_far.text == so_far.first:
        return "", so_far.form in ("snapshots", "rest")
    if not is_object(so_far.text) and is_object(so_far.last):
        return so_far.last[len(so_far.first) :], True
    return so_far.text[len(so_far.first) :], False


def may_continue(text: str, more: str) -> bool:
    """Return whether *text* and *more*, the beginning of an object, can begin one JSON object."""
    joined = (text + more).rstrip()
    try:
        standard_json.loads(joined, strict=False)
    except standard_json.JSONDecodeError as error:
        return error.pos >= len(joined) or error.msg.startswith("Unterminated string")
    except RecursionError:
        return False
    return True


def is_object(text: str) -> bool:
    """Return whether *text* is a whole JSON object by itself."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def repeated(name: str) -> Diagnostic:
    """Return the report of arguments that came as snapshots."""
    return Diagnostic(
        "repeated-tool-arguments",
        name,
        action="changed",
        message="the server repeated the arguments in every fragment; they are read once",
    )
