"""`POST /responses/compact`: a conversation made short by a call of its own.

It is asked as a response whose input ends with a `compaction_trigger`, and answered in a form of
its own: what users said, as they said it, and the `compaction` item that stands for all else.
Source: https://developers.openai.com/api/reference/resources/responses/methods/compact, read
November 2026.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.bridge.errors import SERVER_ERROR, BridgeError, invalid
from llmcore.bridge.responses.compaction import ITEM, TRIGGER, is_summary, wants_compaction
from llmcore.bridge.responses.input_items import NewId
from llmcore.bridge.responses.translate import Translation
from llmcore.protocols.loose_json import dicts
from llmcore.protocols.notes import Notes
from llmcore.protocols.openai_responses.parts import lower_part
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message

Item = dict[str, Any]

_NO_USAGE: Final[JsonObject] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}
"""The form has no way to leave it out."""


def as_response_request(body: JsonObject) -> JsonObject:
    """Return the request for a response that asks what *body* does. Nothing of it is stored."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    if not isinstance(items, list):
        raise invalid("input must be a text or a list of items.", "input")
    trigger = [] if wants_compaction(dicts(items[-1:])) else [{"type": TRIGGER}]
    return {**body, "input": [*items, *trigger], "store": False, "stream": False}


def user_items(translation: Translation, new_id: NewId, notes: Notes) -> list[Item]:
    """Return what users said in the whole conversation; summaries of it are none."""
    before = [
        _user_item(message, new_id("msg"), notes)
        for message in translation.before
        if message.role == "user" and not is_summary(message)
    ]
    said = [item for item in translation.input_items if _is_of_user(item)]
    return [*before, *({**item, "status": "completed"} for item in said)]


def _user_item(message: Message, item_id: str, notes: Notes) -> Item:
    content = [
        native
        for part in message.content
        for native in lower_part(part, "previous_response_id", frozenset(), notes)
    ]
    item: Item = {"id": item_id, "type": "message", "status": "completed", "role": "user"}
    return {**item, "content": content}


def _is_of_user(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "message" and item.get("role") == "user"


def compacted(response: JsonObject, said: Sequence[Item]) -> JsonObject:
    """Return the answer, *said* first; BridgeError without a whole summary."""
    made = [item for item in dicts(response.get("output")) if item.get("type") == ITEM]
    if response.get("status") != "completed" or not made:
        raise BridgeError(
            status=502,
            message="the upstream wrote no whole summary; try again, with more max_output_tokens",
            type=SERVER_ERROR,
            code="compaction_incomplete",
        )
    return {
        "id": response["id"],
        "object": "response.compaction",
        "created_at": response["created_at"],
        "output": [*said, *made],
        "usage": response.get("usage") or _NO_USAGE,
    }
