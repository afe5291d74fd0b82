"""JSON in for answers: whole ones, and the events of streamed ones."""

from typing import Any, cast

from llmcore.protocols.anthropic_messages.types.codec import structured
from llmcore.protocols.anthropic_messages.types.events import StreamEvent
from llmcore.protocols.anthropic_messages.types.response import Response
from llmcore.schema.errors import StreamError
from llmcore.schema.json import JsonValue


def read_response(data: JsonValue, *, tolerant: bool = False) -> Response:
    """Return the response that *data* is; StreamError if it is not one."""
    response: Response = structured(Response, data, StreamError, tolerant=tolerant)
    return response


def read_event(data: JsonValue, *, tolerant: bool = False) -> StreamEvent:
    """Return the stream event that *data* is; StreamError if it is not one."""
    kind = cast("Any", StreamEvent)
    event: StreamEvent = structured(kind, data, StreamError, tolerant=tolerant)
    return event
