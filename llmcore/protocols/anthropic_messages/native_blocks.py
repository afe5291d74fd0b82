"""Anthropic Messages: putting a block together again that is kept in its native form."""

from collections.abc import Iterable, Mapping
from typing import Any

from llmcore.protocols.loose_json import mapping, string
from llmcore.schema import json
from llmcore.schema.json import JsonObject


def merged(block: JsonObject, deltas: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Return *block* with what its *deltas* said, so that nothing of them is lost.

    Text, thinking and input grow; citations are added; what any other delta says (a
    compaction's content, a signature) replaces what stood there.
    """
    native: dict[str, Any] = dict(block)
    grown: dict[str, list[str]] = {}
    for delta in deltas:
        match delta.get("type"):
            case "text_delta":
                grown.setdefault("text", []).append(string(delta.get("text")) or "")
            case "thinking_delta":
                grown.setdefault("thinking", []).append(string(delta.get("thinking")) or "")
            case "input_json_delta":
                grown.setdefault("input", []).append(string(delta.get("partial_json")) or "")
            case "citations_delta":
                native["citations"] = [*(native.get("citations") or ()), delta.get("citation")]
            case _:
                native.update({k: v for k, v in delta.items() if k != "type"})
    for name, pieces in grown.items():
        native[name] = _joined(name, native.get(name), "".join(pieces))
    return native


def _joined(name: str, before: object, text: str) -> object:
    if name != "input":
        return (before if isinstance(before, str) else "") + text
    try:
        found = mapping(json.loads(text))
    except ValueError:
        return text or before
    return {**mapping(before), **found}
