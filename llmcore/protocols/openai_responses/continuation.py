"""OpenAI Responses: continuing a response that the server keeps, over HTTP or on a socket.

A response that the provider stores can be continued over HTTP by any later request:
`provider_options={"openai": {"previous_response_id": "auto"}}`. The message of such a response
keeps its id and a digest of the items up to its end (`chain_link`):

    {"openai": {"response": {"id": "resp_1", "digest": "5f3c..."}}}

A later request whose input begins with these items sends only those after them (`continued`).

The server behind a WebSocket keeps the last response that completed, also with `store: false`. A
request that begins with this response's input and output sends only its new items, and its id:

    1st   {"type": "response.create", "model": "m", "input": [user 1], ...}
          -> response.completed, resp_1, output: [reasoning, call]
    2nd   {"type": "response.create", "model": "m", "input": [user 1, reasoning, call, result], ...}
          is sent as {..., "previous_response_id": "resp_1", "input": [result]}

Sources, read November 2026: https://developers.openai.com/api/docs/guides/conversation-state,
https://developers.openai.com/api/docs/guides/websocket-mode,
https://learn.microsoft.com/azure/foundry/openai/how-to/websockets,
https://docs.x.ai/developers/advanced-api-usage/websocket-mode.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Self

from attrs import evolve, field

from llmcore.protocols.history import HistoryPolicy
from llmcore.protocols.openai_responses.names import (
    METADATA_KEY,
    PREVIOUS_NOT_FOUND,
    TERMINAL_EVENTS,
)
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError, NotFoundError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    NativeObject,
    ProviderMetadata,
    json_or_text,
    without,
)
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.request import LLMRequest

# -- items
# An item that the server sent and the same item as it goes back differ in fields that have no
# meaning in an input. The others must be equal: a mistake here costs a request sent in full.

_NO_MEANING: Final = frozenset({"status", "created_by"})
_NAMELESS: Final = frozenset({"message", "function_call", "custom_tool_call"})
"""Items that may go back without their ids."""


def fingerprints(items: Sequence[NativeObject]) -> tuple[bytes, ...]:
    """Return a digest of each of *items*."""
    texts = (json.canonical(comparable_item(item)) for item in items)
    return tuple(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)


def comparable_item(item: NativeObject) -> JsonValue:
    """Return *item* in a form that is equal for one that came and the same one going back."""
    type_ = item.get("type")
    compared: NativeObject = {
        name: value
        for name, value in item.items()
        if value is not None
        and name not in _NO_MEANING
        and not (name == "id" and type_ in _NAMELESS)
    }
    if type_ == "message" and item.get("role") == "assistant":
        compared["content"] = _text(item.get("content"))
    elif type_ == "function_call":
        arguments = item.get("arguments")
        parsed = json_or_text(arguments) if isinstance(arguments, str) else arguments
        compared["arguments"] = parsed
    return compared


def _text(content: JsonValue) -> JsonValue:
    """Return the text of a response; citations and probabilities do not go back."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in objects(content))


# -- stored responses

CHAIN: Final = "auto"
"""The value of the option `previous_response_id` that continues stored responses."""
_LOST: Final = "lost"
"""Its value in the request that replaces one whose stored response the server has lost."""
_LINK: Final = "response"


def chains(options: JsonObject) -> bool:
    """Return whether responses are to be stored and continued by their ids."""
    return options.get("previous_response_id") in (CHAIN, _LOST)


def digests(items: Sequence[NativeObject], before: bytes = b"") -> list[bytes]:
    """Return *before*, the digest of earlier items, and that of all items up to each of *items*.

    The digest of no items is empty.
    """
    chained = [before]
    for fingerprint in fingerprints(items):
        chained.append(hashlib.sha256(chained[-1] + fingerprint).digest())
    return chained


def chain_link(input_digest: bytes | None, response: NativeObject) -> ProviderMetadata:
    """Return the metadata by which later requests continue *response*; empty if none can."""
    if input_digest is None or response.get("status") != "completed":
        return {}
    output, response_id = objects(response.get("output")), str_or_none(response.get("id"))
    if response_id is None or not output:
        return {}
    digest = digests(output, input_digest)[-1].hex()
    return {METADATA_KEY: {_LINK: {"id": response_id, "digest": digest}}}


def continued(
    items: Sequence[NativeObject],
    messages: Sequence[Message],
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
) -> JsonObject:
    """Return `previous_response_id` and the `input` after that response; empty if there is none.

    *items* are the input in full, and *messages* are those that it was made of.
    """
    responses = [
        response
        for response in messages
        if response.role == "assistant" and response.origin is not None
    ]
    links = [
        object_or_empty(object_or_empty(response.provider_metadata.get(METADATA_KEY)).get(_LINK))
        for response in responses
        if policy.keeps_opaque(response.origin)
    ]
    ends = {digest.hex(): count for count, digest in enumerate(digests(items[:-1]))}
    for link in reversed(links):
        count = ends.get(str(link.get("digest")))
        if count is not None:
            return {"previous_response_id": link["id"], "input": items[count:]}
    if responses:
        _note_whole(
            "no stored response of this provider has the conversation's beginning", diagnostics
        )
    return {}


def _note_whole(why: str, diagnostics: Diagnostics) -> None:
    diagnostics.at("messages").noted("response-chain", f"{why}: the whole conversation is sent")


def note_lost(options: JsonObject, diagnostics: Diagnostics) -> bool:
    """Return whether the server has lost the stored response, and record it."""
    lost = options.get("previous_response_id") == _LOST
    if lost:
        _note_whole("the server no longer has the response to continue", diagnostics)
    return lost


def without_lost_response(request: LLMRequest, error: LLMError) -> LLMRequest | None:
    """Return *request* for a server that has lost the response to continue; None after others."""
    lost = error.error_code == PREVIOUS_NOT_FOUND or (
        isinstance(error, NotFoundError) and "previous" in error.message.lower()
    )
    providers = [
        name
        for name, fields in request.provider_options.items()
        if fields.get("previous_response_id") == CHAIN
    ]
    if not (lost and providers):
        return None
    changed_options = {
        name: {**request.provider_options[name], "previous_response_id": _LOST}
        for name in providers
    }
    return evolve(request, provider_options={**request.provider_options, **changed_options})


# -- a socket

_TRANSPORT_FIELDS: Final = ("stream", "background")
"""Fields of the body about its transport, which have no meaning on a socket."""


@frozen(kw_only=True)
class RemoteHistory:
    """The conversation that the server behind a socket remembers."""

    response_id: str
    model: JsonValue
    items: tuple[bytes, ...] = field(repr=False)
    """The fingerprints of all items, those of its own response included."""


@frozen(kw_only=True)
class SocketRequest:
    """A request to be sent over a socket."""

    body: JsonObject = field(repr=False)
    items: tuple[bytes, ...] = field(repr=False)
    """The fingerprints of its input; empty if the provider's store holds a part of it."""

    @classmethod
    def of(cls, body: JsonObject) -> Self:
        """Read the body of an HTTP request."""
        kept = without(body, *_TRANSPORT_FIELDS)
        items = body.get("input")
        stored = body.get("previous_response_id") or body.get("conversation")
        input_items = objects(items)
        known = isinstance(items, list) and len(input_items) == len(items) and not stored
        return cls(body=kept, items=fingerprints(input_items) if known else ())

    @property
    def generates(self) -> bool:
        """Whether a response is wanted; if not, the server only gets ready (`generate`)."""
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
        """Return what the server remembers after *event* ended the response; None for nothing."""
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
    """Return the event in *message* if it ends a response.

    Most messages are recognized by a search for bytes and not parsed. One that is not JSON
    does not end anything: it is an error where it is decoded.
    """
    if not any(mark in message for mark in _MARKS):
        return None
    event = json_or_text(message)
    ends = isinstance(event, dict) and str_or_none(event.get("type")) in TERMINAL_EVENTS
    return object_or_empty(event) if ends else None


def error_code(event: NativeObject | None) -> str | None:
    """Return the code of an error event; None for another event."""
    if event is None or event.get("type") != "error":
        return None
    inner = object_or_empty(event.get("error"))
    return str_or_none(inner.get("code")) or str_or_none(event.get("code"))
