"""The input as a list of items: references resolved, types and ids filled in.

Source: https://developers.openai.com/api/reference/resources/responses/methods/create (`input`),
read November 2026.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import frozen

from llmcore.bridge.errors import invalid, item_not_found
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.json import JsonObject

FindItem = Callable[[str], JsonObject | None]
"""Returns the item of an id, with its sealed state; None if it is not kept."""
NewId = Callable[[str], str]
"""Returns a new id that begins with the prefix and `_`."""

_PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}


# -- what a request refers to


@frozen(kw_only=True)
class References:
    """What a request refers to, to be fetched before it is translated."""

    previous_response_id: str | None = None
    items: tuple[str, ...] = ()
    """Items that must be known."""
    hints: tuple[str, ...] = ()
    """Items that came without their state, which is taken from the store where it is kept."""


def required_references(body: JsonObject) -> References:
    """Return what *body*, which may be malformed, refers to."""
    items = dicts(body.get("input"))
    names = [(item, name) for item in items if (name := string(item.get("id"))) is not None]
    referred = [name for item, name in names if is_reference(item)]
    bare = [name for item, name in names if _lacks_state(item)]
    return References(
        previous_response_id=string(body.get("previous_response_id")),
        items=tuple(dict.fromkeys(referred)),
        hints=tuple(dict.fromkeys(bare)),
    )


def is_reference(item: Mapping[str, Any]) -> bool:
    """Return whether *item* only names another; the type may be left out."""
    return item.get("type") == "item_reference" or item.keys() == {"id"}


def _lacks_state(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


# -- the list


def read_items(
    value: object, find_item: FindItem, new_id: NewId, limit: int
) -> tuple[dict[str, Any], ...]:
    """Return the input's items, each with its type and an id.

    BridgeError for what is no list of items, for references to unknown items, and for more
    than *limit*.
    """
    if isinstance(value, str):
        part = {"type": "input_text", "text": value}
        return ({"id": new_id("msg"), "type": "message", "role": "user", "content": [part]},)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise invalid("input must be a text or a list of items.", "input")
    if len(value) > limit:
        raise invalid(f"input has {len(value)} items; at most {limit} are taken.", "input")
    return tuple(
        _read_item(item, f"input[{index}]", find_item, new_id) for index, item in enumerate(value)
    )


def _read_item(item: object, path: str, find_item: FindItem, new_id: NewId) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise invalid(f"{path} must be an object.", path)
    if is_reference(item):
        name = string(item.get("id")) or ""
        found = find_item(name)
        if found is None:
            raise item_not_found(name)
        return dict(found)
    kind = item.get("type") or ("message" if "role" in item else None)
    if not isinstance(kind, str):
        raise invalid(f"{path} has no type.", f"{path}.type")
    name = string(item.get("id")) or new_id(_PREFIXES.get(kind, "item"))
    whole = {**item, "id": name, "type": kind}
    return _with_state(whole, find_item) if _lacks_state(whole) else whole


def _with_state(item: dict[str, Any], find_item: FindItem) -> dict[str, Any]:
    """Return *item* with the state that was kept of it."""
    kept = mapping(find_item(item["id"]))
    if kept.get("type") != item["type"] or not kept.get("encrypted_content"):
        return item
    return {**item, "encrypted_content": kept["encrypted_content"]}


def shown_items(items: tuple[dict[str, Any], ...]) -> tuple[JsonObject, ...]:
    """Return *items* in the form that lists of input items have."""
    return tuple(_shown(item) for item in items)


def _shown(item: dict[str, Any]) -> JsonObject:
    if item["type"] != "message" or not isinstance(item.get("content"), str):
        return item
    assistant = item.get("role") == "assistant"
    part: dict[str, Any] = {"type": "output_text" if assistant else "input_text"}
    part["text"] = item["content"]
    return {**item, "content": [{**part, "annotations": []} if assistant else part]}
