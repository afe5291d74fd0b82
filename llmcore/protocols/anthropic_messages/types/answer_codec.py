"""JSON in for answers: whole ones, and the events of streamed ones."""

from typing import Any, cast

from llmcore.protocols.anthropic_messages.types.codec import structured
from llmcore.protocols.anthropic_messages.types.events import StreamEvent
from llmcore.protocols.anthropic_messages.types.response import Response
from llmcore.schema.errors import StreamError
from llmcore.schema.json import JsonValue


def read_response(data: JsonValue) -> Response:
    """Return the response that *data* spells; StreamError if it spells none."""
    response: Response = structured(Response, data, StreamError)
    return response


def read_event(data: JsonValue) -> StreamEvent:
    """Return the stream event that *data* spells; StreamError if it spells none."""
    event: StreamEvent = structured(cast("Any", StreamEvent), data, StreamError)
    return event
