"""Framing: cuts the bytes of a response into frames.

Whatever the framing, a frame is a pair of name and payload, so a protocol does not depend on
how its frames were sent. The meaning of the name depends on the framing:

- server-sent events: the `event` field, empty where there is none
- newline-delimited JSON, JSON array: always empty
- AWS event stream: the event type, or `exception:<type>`, or `error:<code>`

A framing cuts; it neither parses the payload nor decides whether the response is whole.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from attrs import field, validators

from llmcore.routes.aws_event_stream import EventStreamDecoder
from llmcore.routes.json_array import JsonArrayDecoder
from llmcore.routes.ndjson import NdjsonDecoder
from llmcore.routes.sse import SseDecoder
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue, json_or_text

Frame = tuple[str, bytes]
"""Name and payload. A plain tuple: one is built per token."""

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""The default limit: enough for a generated image in base64."""


class FrameDecoder(Protocol):
    """Cuts the bytes of one response. Each response gets a decoder of its own."""

    def feed(self, chunk: bytes) -> Sequence[Frame]:
        """Return the frames that *chunk* completes, in order.

        Raises StreamError for bytes that break the framing. Frames that were whole before them are
        not lost: they are returned, and the next call raises. So neither the frames nor the error
        depend on where the network cuts the body.
        """
        ...

    def close(self) -> Sequence[Frame]:
        """Return what is left at the end of the bytes.

        Raises StreamError for a frame that was cut off, where the framing can tell.
        """
        ...


@frozen(kw_only=True)
class Framing:
    """A format in which a response body is split into frames."""

    id: str
    """The name of the framing, such as `sse`."""
    content_types: tuple[str, ...]
    """The media types, lower case and without parameters, that announce it."""
    decoder: Callable[[int], FrameDecoder]
    """Makes the decoder of one response, given `max_frame_bytes`."""
    named: bool = False
    """Whether a frame's kind is in its name, and not in its payload too."""
    max_frame_bytes: int = field(default=MAX_FRAME_BYTES, validator=validators.gt(0))
    """A frame over this many bytes is a StreamError, even while it is incomplete."""

    def new_decoder(self) -> FrameDecoder:
        """Return a decoder for one response."""
        return self.decoder(self.max_frame_bytes)

    def native(self, frame: Frame) -> JsonValue:
        """Return *frame* as the JSON that it holds, or as text where it holds none.

        A frame whose kind is only in its name, as in an AWS event stream, is an object of that
        one name.
        """
        name, payload = frame
        value = json_or_text(payload)
        return {name: value} if self.named and name else value

    @classmethod
    def sse(cls, max_frame_bytes: int = MAX_FRAME_BYTES) -> "Framing":
        """Server-sent events (WHATWG HTML, 9.2)."""
        return cls(
            id="sse",
            content_types=("text/event-stream",),
            decoder=SseDecoder,
            max_frame_bytes=max_frame_bytes,
        )

    @classmethod
    def ndjson(cls, max_frame_bytes: int = MAX_FRAME_BYTES) -> "Framing":
        """Newline-delimited JSON, also known as JSON Lines."""
        return cls(
            id="ndjson",
            content_types=(
                "application/x-ndjson",
                "application/ndjson",
                "application/jsonl",
                "application/x-jsonlines",
            ),
            decoder=NdjsonDecoder,
            max_frame_bytes=max_frame_bytes,
        )

    @classmethod
    def json_array(cls, max_frame_bytes: int = MAX_FRAME_BYTES) -> "Framing":
        """One JSON array whose elements arrive over time, as Gemini sends without `alt=sse`."""
        return cls(
            id="json-array",
            content_types=("application/json",),
            decoder=JsonArrayDecoder,
            max_frame_bytes=max_frame_bytes,
        )

    @classmethod
    def aws_event_stream(cls, max_frame_bytes: int = MAX_FRAME_BYTES) -> "Framing":
        """Binary messages with checksums, as Bedrock's `converse-stream` sends."""
        return cls(
            id="aws-event-stream",
            content_types=("application/vnd.amazon.eventstream",),
            decoder=EventStreamDecoder,
            named=True,
            max_frame_bytes=max_frame_bytes,
        )


_OF_LINES: Final = Framing.ndjson().content_types


def media_type_in(headers: Mapping[str, str]) -> str:
    """Return the media type of a body, in lower case and without parameters; empty if unknown."""
    content_type = headers.get("content-type")
    if content_type is None:
        content_type = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
    return content_type.partition(";")[0].strip().lower()


def is_streamed(framing: Framing, headers: Mapping[str, str], *, requested: bool) -> bool:
    """Return whether a body is to be read as a stream.

    Servers answer a request for a stream with one JSON document when they do not stream,
    or when something went wrong before it began; a proxy may answer with a web page. Some stream
    whatever they are asked for.
    """
    media_type = media_type_in(headers)
    if not requested:
        return media_type in framing.content_types and not media_type.endswith("json")
    if not media_type or media_type in framing.content_types or media_type in _OF_LINES:
        return True
    return not media_type.endswith(("json", "html"))
