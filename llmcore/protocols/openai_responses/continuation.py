"""OpenAI Responses: going on where the server stopped, on a socket or after a cut.

The server behind a WebSocket keeps the last response that completed, also with `store: false`. A
request that begins with this response's input and output sends only its new items, and its id:

    1st   {"type": "response.create", "model": "m", "input": [user 1], ...}
          -> response.completed, resp_1, output: [reasoning, call]
    2nd   {"type": "response.create", "model": "m", "input": [user 1, reasoning, call, result], ...}
          is sent as {..., "previous_response_id": "resp_1", "input": [result]}

Sources, read November 2026: https://developers.openai.com/api/docs/guides/websocket-mode,
https://learn.microsoft.com/azure/foundry/openai/how-to/websockets,
https://docs.x.ai/developers/advanced-api-usage/websocket-mode.

A background response whose stream was cut can be streamed again, from the event after a
`sequence_number`, if it was created with `background` and `stream`. The events that `resume`
requests continue the same state, so that the response is the one that would have come without the
cut. Source: https://developers.openai.com/api/docs/guides/background ("Streaming a background
response"), read November 2026.
"""

from typing import Final, Self
from urllib.parse import quote

from attrs import field, frozen

from llmcore.protocols.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.chain import fingerprints
from llmcore.protocols.openai_responses.names import (
    METADATA_KEY,
    TERMINAL_EVENTS,
    NativeObject,
)
from llmcore.protocols.openai_responses.state import ResponsesState
from llmcore.protocols.protocol import ResumeRequest
from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata

_TRANSPORT_FIELDS: Final = ("stream", "background")
"""Fields of the body about its transport, which have no meaning on a socket."""


@frozen(kw_only=True)
class RemoteHistory:
    """The conversation that the server behind a socket remembers."""

    response_id: str
    model: JsonValue
    items: tuple[bytes, ...] = field(repr=False)
    """The fingerprints of all items, those of its own answer included."""


@frozen(kw_only=True)
class SocketRequest:
    """A request to be sent over a socket."""

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
        """Whether an answer is wanted; if not, the server only gets ready (`generate`)."""
        return self.body.get("generate") is not False

    def complete(self) -> bytes:
        """Return the message with all items."""
        return json.dumps({"type": "response.create", **self.body})

    def continues(self, history: RemoteHistory | None) -> bool:
        """Return whether the input is all of *history* and at least one new item."""
        if history is None or self.body.get("model") != history.model:
            return False
        known = len(history.items)
        return len(self.items) > known and self.items[:known] == history.items

    def continuation(self, history: RemoteHistory) -> bytes:
        """Return the message with the items that *history* has not."""
        new = objects(self.body["input"])[len(history.items) :]
        linked = {**self.body, "previous_response_id": history.response_id, "input": new}
        return json.dumps({"type": "response.create", **linked})

    def shares_beginning(self, history: RemoteHistory | None) -> bool:
        """Return whether this may be the conversation of *history*, with an item changed in it."""
        return history is not None and bool(self.items) and self.items[:1] == history.items[:1]

    def history_after(self, event: NativeObject) -> RemoteHistory | None:
        """Return what the server remembers after *event* ended the answer; None for nothing."""
        response = object_or_empty(event.get("response"))
        response_id, output = str_or_none(response.get("id")), objects(response.get("output"))
        completed = event.get("type") == "response.completed" and response_id is not None
        if not completed or not self.items or not (output or not self.generates):
            return None
        items = self.items + fingerprints(output)
        return RemoteHistory(
            response_id=str(response_id), model=self.body.get("model"), items=items
        )


# -- messages of the server

_MARKS: Final = (*(name.encode() for name in TERMINAL_EVENTS - {"error"}), b'"error"')


def terminal_event(message: bytes) -> NativeObject | None:
    """Return the event in *message* if it ends an answer.

    Most messages are recognized by a search for bytes and not parsed. One that is not JSON
    does not end anything: it is an error where it is decoded.
    """
    if not any(mark in message for mark in _MARKS):
        return None
    try:
        event = json.loads(message)
    except ValueError:
        return None
    return event if isinstance(event, dict) and event.get("type") in TERMINAL_EVENTS else None


def error_code(event: NativeObject | None) -> str | None:
    """Return the code of an error event; None for another event."""
    if event is None or event.get("type") != "error":
        return None
    inner = object_or_empty(event.get("error"))
    return str_or_none(inner.get("code")) or str_or_none(event.get("code"))


# -- background responses


def cursor(state: ResponsesState, event: NativeObject) -> ProviderMetadata:
    """Return the place to resume at after *event*, the last one; empty if there is none.

    It belongs into the metadata of a cut answer: `{"openai": {"resume": {"response_id": "resp_1",
    "sequence_number": 7}}}`.
    """
    info = state.info
    if not info.background or info.response_id is None or info.ended:
        return {}
    number = int_or_none(event.get("sequence_number"))
    place = {"response_id": info.response_id, "sequence_number": number}
    return {METADATA_KEY: {"resume": place}}


def resume(metadata: ProviderMetadata) -> ResumeRequest:
    """Return the request that resumes at the cursor in *metadata*.

    Without a sequence number the stream begins anew. InvalidRequestError if there is no cursor.
    """
    place = object_or_empty(object_or_empty(metadata.get(METADATA_KEY)).get("resume"))
    response_id = str_or_none(place.get("response_id"))
    if response_id is None:
        raise InvalidRequestError(
            "there is no response to resume: only those asked for with background=true "
            "and stream=true can be"
        )
    query = {"stream": "true"}
    number = int_or_none(place.get("sequence_number"))
    if number is not None:
        query["starting_after"] = str(number)
    return ResumeRequest(path=f"responses/{quote(response_id, safe='')}", query=query)
