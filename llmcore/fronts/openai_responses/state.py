"""The stored parts of a response: its conversation, the response itself, its input in pages."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from attrs import field

from llmcore.fronts.errors import invalid
from llmcore.fronts.openai_responses.calls import is_of_model, is_output
from llmcore.fronts.tool_registry import ToolEntry
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.messages import Message
from llmcore.schema.native_json import objects, str_or_none

# -- conversations


@frozen(kw_only=True)
class StoredConversation:
    """The conversation up to and including a response."""

    model: str
    """The model's name as the client wrote it."""
    messages: tuple[Message, ...]
    tools: tuple[ToolEntry, ...] = field(default=())
    """The client's tools that the messages' calls refer to."""

    def to_json(self) -> JsonValue:
        """Return the conversation as JSON data, for a store."""
        return to_json(self)

    @classmethod
    def from_json(cls, data: JsonValue) -> "StoredConversation":
        """Read a conversation from JSON *data*; InvalidRequestError if it is not valid."""
        return from_json(cls, data)


# -- what a server keeps

SEALED: Final = "encrypted_content"
"""The field of the sealed state: of reasoning, and of the last item of a stored response."""

FindItem: TypeAlias = Callable[[str], JsonObject | None]
"""Returns the item of an id, with its sealed state; None if it is not stored."""


@frozen(kw_only=True)
class StoredContext:
    """The stored responses and items that one request refers to."""

    previous: StoredConversation | None = None
    """The conversation up to `previous_response_id`."""
    find_item: FindItem = lambda _name: None


NOTHING_STORED: Final = StoredContext()
"""The context of a server that stores nothing."""

# -- what a request refers to


class References(msgspec.Struct, frozen=True, kw_only=True):
    """The references of a request, to be fetched before it is translated."""

    previous_response_id: str | None = None
    items: tuple[str, ...] = ()
    """Ids of items that must be found."""
    hints: tuple[str, ...] = ()
    """Items that came without their state, which is taken from the store where it is kept."""
    ends: tuple[str, ...] = ()
    """The last items of responses, with their state unless it is the state of reasoning."""


def required_references(body: JsonObject) -> References:
    """Return the references in *body*, which may be malformed."""
    items = objects(body.get("input"))
    names = [(item, name) for item in items if (name := str_or_none(item.get("id"))) is not None]
    referred = [name for item, name in names if is_reference(item)]
    thoughts = [(item, name) for item, name in names if item.get("type") == "reasoning"]
    bare = [name for item, name in thoughts if not item.get(SEALED)]
    last = frozenset() if body.get("store") is False else _last_of_responses(items)
    return References(
        previous_response_id=str_or_none(body.get("previous_response_id")),
        items=tuple(dict.fromkeys(referred)),
        hints=tuple(dict.fromkeys(bare)),
        ends=tuple(dict.fromkeys(name for item, name in names if id(item) in last)),
    )


def is_reference(item: Mapping[str, Any]) -> bool:
    """Return whether *item* only refers to another item; the type may be missing."""
    return item.get("type") == "item_reference" or item.keys() == {"id"}


def _last_of_responses(items: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """Return the `id` of the last of each series of items that the model wrote."""
    following = [*items[1:], {}]
    return frozenset(
        id(item)
        for item, next_item in zip(items, following, strict=False)
        if is_of_model(item) and not is_of_model(next_item)
    )


# -- items of a request


def repeated_items(
    items: Sequence[Mapping[str, Any]],
    before: Sequence[Message],
    read_call: Callable[[Mapping[str, Any]], ToolCallPart | None],
) -> frozenset[int]:
    """Return the indexes of those *items* that repeat the stored conversation *before* them.

    They are calls with the id, the tool and the arguments of a stored one, and all items before
    them but instructions, other calls and results: what came before a stored call is stored too.
    *read_call* returns an item as a call.
    """
    stored = {
        part.id: _tool_and_arguments(part)
        for message in before
        for part in message.content
        if isinstance(part, ToolCallPart)
    }
    found: set[int] = set()
    leading: list[int] = []
    for index, item in enumerate(items if stored else ()):
        call = read_call(item)
        if call is None:
            if not is_output(item) and item.get("role") not in ("system", "developer"):
                leading.append(index)
        elif stored.get(call.id) == _tool_and_arguments(call):
            found.update(leading, (index,))
            leading.clear()
    return frozenset(found)


def _tool_and_arguments(call: ToolCallPart) -> tuple[str, str, JsonValue]:
    return call.kind, call.name, call.arguments


def calls_before_results(
    items: Sequence[Mapping[str, Any]], kept_state: Callable[[Mapping[str, Any]], str | None]
) -> Sequence[int]:
    """Return the indexes of *items* in their order, all calls of one response before its results.

    *kept_state* returns the state that a server kept of the response that an item is a call of.
    Some clients send each call with its result behind it (pipecat).
    """
    seals = [kept_state(item) for item in items]
    order: list[int] = []
    moved: set[int] = set()
    for index, sealed in enumerate(seals):
        if index in moved:
            continue
        order.append(index)
        for later in range(index + 1, len(items) if sealed is not None else 0):
            if seals[later] == sealed:
                order.append(later)
                moved.add(later)
            elif not is_output(items[later]):
                break
    return order


def shown_items(items: tuple[dict[str, Any], ...]) -> tuple[JsonObject, ...]:
    """Return *items* in the form that lists of input items have."""
    return tuple(_shown(item) for item in items)


def _shown(item: dict[str, Any]) -> JsonObject:
    if is_of_model(item):
        item = without(item, SEALED)
    if item["type"] != "message" or not isinstance(item.get("content"), str):
        return item
    assistant = item.get("role") == "assistant"
    part: dict[str, Any] = {"type": "output_text" if assistant else "input_text"}
    part["text"] = item["content"]
    return {**item, "content": [{**part, "annotations": []} if assistant else part]}


# -- pages

_PAGE = 20
_MAX_PAGE = 100


def page(items: Sequence[JsonObject], query: Mapping[str, str]) -> JsonObject:
    """Return the page of *items* that *query* asks for, newest first unless `order=asc`.

    Raises FrontError for invalid values.
    """
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise invalid(f"order is {order[:40]!r}, neither asc nor desc", "order")
    limit = _limit(query.get("limit", str(_PAGE)))
    ordered = list(items) if order == "asc" else list(reversed(items))
    after = query.get("after")
    if after:
        places = [number for number, item in enumerate(ordered) if item.get("id") == after]
        if not places:
            raise invalid(f"after names {after[:80]!r}, which is not an input item of it", "after")
        ordered = ordered[places[0] + 1 :]
    shown = ordered[:limit]
    ids: list[JsonValue] = [item.get("id") for item in shown]
    return {
        "object": "list",
        "data": shown,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
        "has_more": len(ordered) > limit,
    }


def _limit(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= _MAX_PAGE:
        raise invalid(f"limit is {text[:40]!r}, not a number from 1 to {_MAX_PAGE}", "limit")
    return int(text)


# -- what is stored


@frozen(kw_only=True)
class Record:
    """A stored response, with the conversation that later requests continue."""

    id: str
    owner: str
    """The only caller that can read it."""
    response: JsonObject
    """The response object as the client got it."""
    input_items: tuple[JsonObject, ...] = ()
    conversation: JsonValue = None
    """The conversation, in its own codec's JSON; None if nothing can continue from it."""
    items: Mapping[str, JsonObject] = field(factory=dict)
    """Items that later requests may refer to, by id; kept beside the record, not in it."""
