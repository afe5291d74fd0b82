"""The kept parts of a response: its conversation, its answer, and its input in pages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from llmcore.bridge.errors import invalid
from llmcore.bridge.fronts.opaque_state import ShownPart, needs_state, sealed_state
from llmcore.bridge.fronts.tool_registry import ToolEntry
from llmcore.bridge.state.signer import Sealer
from llmcore.folds import response
from llmcore.protocols.call_ids import OPENAI_RESPONSES, fit
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message, Origin

# -- conversations


@frozen(kw_only=True)
class Conversation:
    """All that was said up to a response, that response included."""

    model: str
    """The model's name as the client said it."""
    messages: tuple[Message, ...]
    tools: tuple[ToolEntry, ...] = field(default=())
    """The client's tools that the calls of the messages mean."""

    def to_json(self) -> JsonValue:
        """Return the conversation as JSON data, for a store."""
        return to_json(self)

    @classmethod
    def from_json(cls, data: JsonValue) -> "Conversation":
        """Return the conversation that *data* spells; InvalidRequestError if it spells none."""
        return from_json(cls, data)


# -- pages


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


# -- parts of an answer


def shown_part(event: LLMEvent) -> ContentPart | None:
    """Return the part that *event* is on its own, as the client sees it; None for other events.

    Call ids are those that the client sees. Log probabilities are left out: nothing reads them
    again.
    """
    match response.part_of(event):
        case TextPart() as part if part.logprobs:
            return evolve(part, logprobs=())
        case ToolCallPart() as part:
            return evolve(part, id=shown_call_id(part.id))
        case ToolResultPart() as part:
            return evolve(part, tool_call_id=shown_call_id(part.tool_call_id))
        case part:
            return part


def shown_call_id(call_id: str) -> str:
    """Return *call_id* in a length that every client takes."""
    return fit(call_id, OPENAI_RESPONSES)


class AnswerRecord:
    """The parts of an answer in their order, and which of them are sealed already."""

    def __init__(self, response_id: str, sealer: Sealer, *, sealing: bool) -> None:
        self.origin = Origin(provider="", model="")
        self._response_id = response_id
        self._sealer = sealer
        self._sealing = sealing
        self._parts: list[ContentPart] = []
        self._unsealed: list[ShownPart] = []

    def add(self, shown: ShownPart) -> None:
        """Add the next parts."""
        self._parts.extend(shown.parts)
        self._unsealed.append(shown)

    def show(self, part: ContentPart | None, as_read_by_client: ContentPart | None = None) -> None:
        """Add one part that the client sees as *as_read_by_client*, or not at all."""
        if part is not None:
            self.add(ShownPart(parts=(part,), as_read_by_client=as_read_by_client))

    @property
    def message(self) -> Message:
        """The answer as a message."""
        return Message.assistant(tuple(self._parts), origin=self.origin)

    @property
    def needs_opaque_item(self) -> bool:
        """Whether something is still to be sealed that a client's echo would not bring back."""
        return self._sealing and any(map(needs_state, self._unsealed))

    def seal(self) -> Mapping[str, Any]:
        """Return `encrypted_content` for all that is not sealed yet; empty if it is not kept."""
        if not self._sealing:
            return {}
        unsealed, self._unsealed = self._unsealed, []
        text = sealed_state(
            unsealed, origin=self.origin, response_id=self._response_id, sealer=self._sealer
        )
        return {"encrypted_content": text}
