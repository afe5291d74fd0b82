"""OpenAI Responses: what to send over a WebSocket whose server remembers the last answer.

A socket's server keeps the last response that ended well, also with `store: false`. A request
that begins with what this response was asked, followed by what it answered, needs to bring only
what is new, and the response's id.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/websocket-mode,
https://learn.microsoft.com/azure/foundry/openai/how-to/websockets,
https://docs.x.ai/developers/advanced-api-usage/websocket-mode.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Self

from attrs import field, frozen

from llmcore.protocols.native_json import object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.names import NativeObject
from llmcore.protocols.openai_responses.stream import terminal
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

PREVIOUS_NOT_FOUND: Final = "previous_response_not_found"
"""The server has forgotten the response that was to be continued; nothing was begun."""
TOO_OLD: Final = "websocket_connection_limit_reached"
"""The socket has reached its greatest age; nothing was begun."""

_TRANSPORT_FIELDS: Final = ("stream", "background")
"""Fields of the body that say how it travels, and have no meaning on a socket."""


@frozen(kw_only=True)
class Memory:
    """What the server behind a socket remembers."""

    response_id: str
    model: JsonValue
    items: tuple[bytes, ...] = field(repr=False)
    """The fingerprints of everything that was said, its own answer included."""


@frozen(kw_only=True)
class Turn:
    """A request on its way to some socket."""

    body: JsonObject = field(repr=False)
    items: tuple[bytes, ...] = field(repr=False)
    """The fingerprints of its input; empty if the provider's store holds a part of it."""

    @classmethod
    def of(cls, body: JsonObject) -> Self:
        """Read the body of an HTTP request."""
        kept = {name: value for name, value in body.items() if name not in _TRANSPORT_FIELDS}
        items = body.get("input")
        stored = body.get("previous_response_id") or body.get("conversation")
        found = objects(items)
        known = isinstance(items, list) and len(found) == len(items) and not stored
        return cls(body=kept, items=fingerprints(found) if known else ())

    @property
    def generates(self) -> bool:
        """Whether an answer is wanted; without one the server only gets ready (`generate`)."""
        return self.body.get("generate") is not False

    def whole(self) -> bytes:
        """Return the message that says everything."""
        return json.dumps({"type": "response.create", **self.body})

    def continues(self, memory: Memory | None) -> bool:
        """Return whether this goes on where *memory* ends, with something new."""
        if memory is None or self.body.get("model") != memory.model:
            return False
        known = len(memory.items)
        return len(self.items) > known and self.items[:known] == memory.items

    def rest(self, memory: Memory) -> bytes:
        """Return the message that says only what is new since *memory*."""
        items = self.body["input"]
        assert isinstance(items, list)  # noqa: S101  (or it would continue nothing)
        new = {"previous_response_id": memory.response_id, "input": items[len(memory.items) :]}
        return json.dumps({"type": "response.create", **self.body, **new})

    def shares_beginning(self, memory: Memory | None) -> bool:
        """Return whether this may be the conversation of *memory*, with something changed in it."""
        return memory is not None and bool(self.items) and self.items[:1] == memory.items[:1]

    def remembered(self, event: NativeObject) -> Memory | None:
        """Return what the server remembers after *event* ended the answer; None for nothing."""
        response = object_or_empty(event.get("response"))
        response_id, output = str_or_none(response.get("id")), objects(response.get("output"))
        ended_well = event.get("type") == "response.completed" and response_id is not None
        if not ended_well or not self.items or not (output or not self.generates):
            return None
        items = self.items + fingerprints(output)
        return Memory(response_id=str(response_id), model=self.body.get("model"), items=items)


# -- items ----------------------------------------------------------------------------------
# An item that the server sent and the same item as it goes back differ in what has no meaning
# in an input. What is left must be equal: a mistake here costs a request sent in full.

_NO_MEANING: Final = frozenset({"status", "created_by"})
_NAMELESS: Final = frozenset({"message", "function_call", "custom_tool_call"})
"""Items that may go back without their ids."""


def fingerprints(items: Sequence[NativeObject]) -> tuple[bytes, ...]:
    """Return a digest of what each of *items* says."""
    return tuple(
        hashlib.sha256(json.canonical(essence(item)).encode("utf-8", "surrogatepass")).digest()
        for item in items
    )


def essence(item: NativeObject) -> JsonValue:
    """Return what *item* says, equal for one that came and the same one going back."""
    kind = item.get("type")
    kept: NativeObject = {
        name: value
        for name, value in item.items()
        if value is not None
        and name not in _NO_MEANING
        and not (name == "id" and kind in _NAMELESS)
    }
    if kind == "message" and item.get("role") == "assistant":
        kept["content"] = _spoken(item.get("content"))
    elif kind == "function_call":
        kept["arguments"] = _parsed(item.get("arguments"))
    return kept


def _spoken(content: JsonValue) -> JsonValue:
    """Return the text of an answer; citations and probabilities are not said again."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in objects(content))


def _parsed(arguments: JsonValue) -> JsonValue:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


# -- messages of the server -----------------------------------------------------------------

_MARKS: Final = (
    b"response.completed",
    b"response.incomplete",
    b"response.failed",
    b"response.cancelled",
    b'"error"',
)


def ending(message: bytes) -> NativeObject | None:
    """Return the event in *message* if it ends an answer.

    Most messages are told by a glance and not parsed. One that is not JSON ends nothing: what
    it means is said where it is decoded.
    """
    if not any(mark in message for mark in _MARKS):
        return None
    try:
        event = json.loads(message)
    except ValueError:
        return None
    return event if isinstance(event, dict) and terminal(event) else None


def error_code(event: NativeObject | None) -> str | None:
    """Return the code of the error that *event* is, if it is one."""
    if event is None or event.get("type") != "error":
        return None
    return str_or_none(object_or_empty(event.get("error")).get("code")) or str_or_none(
        event.get("code")
    )
