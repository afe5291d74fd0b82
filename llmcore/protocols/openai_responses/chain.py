"""OpenAI Responses: items compared by digests, and stored responses continued by their ids.

A response that the provider stores can be continued over HTTP by any later request:
`provider_options={"openai": {"previous_response_id": "auto"}}`. The message of such a response
keeps its id and a digest of the items up to its end (`chain_link`):

    {"openai": {"response": {"id": "resp_1", "digest": "5f3c..."}}}

A later request whose input begins with these items sends only those after them (`continued`).
Source: https://developers.openai.com/api/docs/guides/conversation-state, read November 2026.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.history import HistoryPolicy
from llmcore.protocols.native_json import json_or_text, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.names import METADATA_KEY, PREVIOUS_NOT_FOUND, NativeObject
from llmcore.schema import json
from llmcore.schema.errors import LLMError, NotFoundError
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata
from llmcore.schema.messages import Message
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
        compared["arguments"] = _parsed(item.get("arguments"))
    return compared


def _text(content: JsonValue) -> JsonValue:
    """Return the text of an answer; citations and probabilities do not go back."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in objects(content))


def _parsed(arguments: JsonValue) -> JsonValue:
    return json_or_text(arguments) if isinstance(arguments, str) else arguments


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
    found = [before]
    for fingerprint in fingerprints(items):
        found.append(hashlib.sha256(found[-1] + fingerprint).digest())
    return found


def chain_link(input_digest: bytes | None, response: NativeObject) -> ProviderMetadata:
    """Return the metadata by which later requests continue *response*; empty if none can."""
    output, response_id = objects(response.get("output")), str_or_none(response.get("id"))
    completed = response.get("status") == "completed"
    if input_digest is None or response_id is None or not completed or not output:
        return {}
    digest = digests(output, input_digest)[-1].hex()
    return {METADATA_KEY: {_LINK: {"id": response_id, "digest": digest}}}


def continued(
    items: Sequence[NativeObject], messages: Sequence[Message], policy: HistoryPolicy, notes: Notes
) -> JsonObject:
    """Return `previous_response_id` and the `input` after that response; empty if there is none.

    *items* are the input in full, and *messages* are those that it was made of.
    """
    answers = [one for one in messages if one.role == "assistant" and one.origin is not None]
    links = [
        object_or_empty(object_or_empty(one.provider_metadata.get(METADATA_KEY)).get(_LINK))
        for one in answers
        if policy.keeps_opaque(one.origin)
    ]
    ends = {digest.hex(): count for count, digest in enumerate(digests(items[:-1]))}
    for link in reversed(links):
        count = ends.get(str(link.get("digest")))
        if count is not None:
            return {"previous_response_id": link["id"], "input": items[count:]}
    if answers:
        _note_whole("no stored response of this provider has the conversation's beginning", notes)
    return {}


def _note_whole(why: str, notes: Notes) -> None:
    notes.noted("response-chain", "messages", f"{why}: the whole conversation is sent")


def note_lost(options: JsonObject, notes: Notes) -> bool:
    """Return whether the server has lost the stored response, and record it."""
    lost = options.get("previous_response_id") == _LOST
    if lost:
        _note_whole("the server no longer has the response to continue", notes)
    return lost


def without_lost_response(request: LLMRequest, error: LLMError) -> LLMRequest | None:
    """Return *request* for a server that has lost the response to continue; None after others."""
    lost = error.error_code == PREVIOUS_NOT_FOUND or (
        isinstance(error, NotFoundError) and "previous" in error.message.lower()
    )
    found = [
        name
        for name, fields in request.provider_options.items()
        if fields.get("previous_response_id") == CHAIN
    ]
    if not (lost and found):
        return None
    changed_options = {
        name: {**request.provider_options[name], "previous_response_id": _LOST} for name in found
    }
    return evolve(request, provider_options={**request.provider_options, **changed_options})
