"""Pages of a list, as the API's listings give them."""

import re
from collections.abc import Mapping, Sequence

from llmcore.bridge.errors import invalid
from llmcore.schema.json import JsonObject, JsonValue

_PAGE = 20
_MAX_PAGE = 100


def page(items: Sequence[JsonObject], query: Mapping[str, str]) -> JsonObject:
    """Return the page of *items* that *query* asks for, newest first unless `order=asc`.

    Raises BridgeError for values that make no sense.
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
            raise invalid(f"after names {after[:80]!r}, which is no input item of it", "after")
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
