"""The messages of clients, and the events of errors.

    -> {"type": "response.create", "model": "gpt-5.5", "store": false, "input": [...]}
    <- {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", ...}}
       ... the events of a stream, one message each ...
    -> {"type": "response.create", "model": "gpt-5.5", "previous_response_id": "resp_1", ...}
    <- {"type": "error", "status": 400, "error": {"type": "invalid_request_error",
        "code": "previous_response_not_found", "message": "...", "param": "previous_response_id"}}

The events of a message with a `stream_id` have the same one. Source:
https://developers.openai.com/api/docs/guides/websocket-mode, and the types of the `openai` package
(`responses_client_event`, `responses_server_event`), read November 2026.
"""

import re
from typing import Final

from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.front import FailureResponse
from llmcore.schema import json
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty

_STREAM_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_ENVELOPE: Final = frozenset({"type", "stream", "stream_id"})
"""Fields of a message that a request over HTTP does not have, or that state how it is answered."""


@frozen(kw_only=True)
class Create:
    """A request for a response."""

    body: JsonObject
    """The body that a request over HTTP would have."""
    lane: str | None
    """The `stream_id`; None is the lane without a name."""

    @property
    def previous(self) -> object:
        """The response that the request continues, if it is one."""
        return self.body.get("previous_response_id")

    @property
    def generates(self) -> bool:
        """Whether a response is wanted; if not, the connection only remembers the input."""
        options = object_or_empty(self.body.get("prompt_cache_options"))
        return self.body.get("generate") is not False and options.get("prewarm") is not True


def lane_of(message: JsonObject) -> str | None:
    """Return the `stream_id` of a message; FrontError if it is invalid."""
    lane = message.get("stream_id")
    if lane is None:
        return None
    if not isinstance(lane, str) or not _STREAM_ID.fullmatch(lane):
        raise invalid(
            "stream_id must have 1 to 256 letters, digits, underscores, hyphens and periods",
            "stream_id",
            "invalid_stream_id",
        )
    return lane


def read_create(message: JsonObject) -> Create:
    """Return the request in a message; FrontError if it is another message."""
    if message.get("type") != "response.create":
        raise invalid(
            f"there are no messages of the type {str(message.get('type'))[:80]!r} here: "
            "response.create is served",
            "type",
            "unknown_event_type",
        )
    if message.get("background"):
        raise invalid("background responses need POST /v1/responses", "background")
    body = {name: value for name, value in message.items() if name not in _ENVELOPE}
    return Create(body={**body, "stream": True}, lane=lane_of(message))


def steering_refused(message: JsonObject) -> JsonObject:
    """Return the event that refuses a `response.steer`: responses cannot be steered here."""
    return {
        "type": "response.steer.failed",
        "sequence_number": 0,
        "steer": {
            "input": message.get("input"),
            "previous_response_id": message.get("previous_response_id"),
        },
        "error": {
            "type": "invalid_request_error",
            "code": "steering_not_supported",
            "message": "this server does not steer responses under way",
        },
    }


def error_event(error: FrontError, failure: FailureResponse) -> JsonObject:
    """Return the event of an *error*, whose form over HTTP is *failure*.

    Its headers are where the `openai` package has them, in `error`, and where Codex reads them.
    """
    headers = {**dict(error.headers), **failure.headers}
    return {
        "type": "error",
        "status": failure.status,
        "error": {**object_or_empty(failure.body.get("error")), "headers": headers},
        "headers": headers,
    }


def in_lane(line: bytes, lane: str | None) -> str:
    """Return an event, which is a JSON object in *line*, as a message in *lane*."""
    if lane is None:
        return line.decode()
    return f'{{"stream_id":{json.dumps(lane).decode()},{line[1:].decode()}'
