"""Compaction: a summary in place of a long conversation, on the client's request.

A request whose input ends with a `compaction_trigger` asks for one `compaction` item and not for a
response. OpenAI's server makes them itself. Other upstreams are asked for a summary, which the item
carries sealed; where the item comes back, the summary takes its place. `POST /responses/compact`
becomes such a request, and answered in a form of its own: the users' messages, unchanged, and the
item that represents all else. Sources, read November 2026:
https://developers.openai.com/api/reference/resources/responses,
https://developers.openai.com/api/reference/resources/responses/methods/compact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.errors import SERVER_ERROR, FrontError, invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.sealer import Sealer
from llmcore.fronts.summaries import is_summary
from llmcore.protocols.openai_responses.names import COMPACTING_PROVIDERS, PROTOCOL_ID
from llmcore.protocols.openai_responses.parts import lower_part
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none

# -- items

TRIGGER: Final = "compaction_trigger"
ITEM: Final = "compaction"
MARKER: Final = "context_compaction"
ITEMS: Final = frozenset({ITEM, MARKER, "compaction_summary"})
"""The types under which Codex sends such an item back, by its version; a marker may be without a
summary. Source: `ResponseItem` in its `codex-rs/protocol/src/models.rs`, read November 2026."""

_VERSION: Final = 1


def wants_compaction(items: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the input ends with a `compaction_trigger`."""
    return bool(items) and items[-1].get("type") == TRIGGER


def needs_summary(body: Mapping[str, Any], upstream: Upstream) -> bool:
    """Return whether *body* asks for a compaction that the upstream's server cannot make.

    Many servers of the Responses API do not know a `compaction_trigger`, and respond to the
    conversation instead. An upstream without a provider's id counts as OpenAI's.
    """
    given = body.get("input")
    if not isinstance(given, list) or not wants_compaction(objects(given[-1:])):
        return False
    native = upstream.provider is None or upstream.provider in COMPACTING_PROVIDERS
    return not (native and upstream.protocol_id == PROTOCOL_ID)


def compaction_item(item_id: str, summary: str, sealer: Sealer) -> dict[str, Any]:
    """Return the item that carries *summary*."""
    sealed = sealer.seal({"v": _VERSION, ITEM: summary})
    return {"id": item_id, "type": ITEM, "encrypted_content": sealed}


def carried_summary(item: Mapping[str, Any], sealer: Sealer) -> str | None:
    """Return the summary in a `compaction` item; None if it is damaged or another server's."""
    try:
        state = object_or_empty(sealer.unseal(str_or_empty(item.get("encrypted_content"))))
    except ValueError:
        return None
    return str_or_none(state.get(ITEM)) if state.get("v") == _VERSION else None


# -- POST /responses/compact


Item = dict[str, Any]

_NO_USAGE: Final[JsonObject] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}
"""The usage, which the form requires."""


def as_response_request(body: JsonObject) -> JsonObject:
    """Return a request of `POST /responses` that asks for the same as *body*, unstored."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    if not isinstance(items, list):
        raise invalid("input must be a text or a list of items.", "input")
    trigger = [] if wants_compaction(objects(items[-1:])) else [{"type": TRIGGER}]
    return {**body, "input": [*items, *trigger], "store": False, "stream": False}


def user_items(
    before: Iterable[Message],
    items: Iterable[JsonObject],
    new_id: Callable[[str], str],
    diagnostics: Diagnostics,
) -> list[Item]:
    """Return the users' messages in *before* and in the input's *items*, without summaries."""
    earlier = [
        _user_item(message, new_id("msg"), diagnostics)
        for message in before
        if message.role == "user" and not is_summary(message)
    ]
    messages = [i for i in items if (i.get("type"), i.get("role")) == ("message", "user")]
    return [*earlier, *({**item, "status": "completed"} for item in messages)]


def _user_item(message: Message, item_id: str, diagnostics: Diagnostics) -> Item:
    content = [
        native
        for part in message.content
        for native in lower_part(part, frozenset(), diagnostics.at("previous_response_id"))
    ]
    item: Item = {"id": item_id, "type": "message", "status": "completed", "role": "user"}
    return {**item, "content": content}


def compacted(response: JsonObject, messages: Sequence[Item]) -> JsonObject:
    """Return the response, *messages* first; FrontError without a whole summary."""
    made = [item for item in objects(response.get("output")) if item.get("type") == ITEM]
    if response.get("status") != "completed" or not made:
        raise FrontError(
            status=502,
            message="the upstream wrote no whole summary; try again, with more max_output_tokens",
            type=SERVER_ERROR,
            code="compaction_incomplete",
        )
    return {
        "id": response["id"],
        "object": "response.compaction",
        "created_at": response["created_at"],
        "output": [*messages, *made],
        "usage": response.get("usage") or _NO_USAGE,
    }
