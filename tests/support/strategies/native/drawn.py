"""The record of a protocol that its laws are tested by; the modules beside this one fill it in."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import field, frozen
from hypothesis import strategies as st

from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.request import LLMRequest
from tests.support.wire.protocol import ProtocolWire

Answer = tuple[list[Any], Any]
"""One response in both forms: the native events of its stream, and its document."""

SCALARS: list[Any] = [None, "", "a", "{}", '{"a": 1}', 0, 1, -1, 1.5, True, [], {}]
"""Values that servers write where others belong."""

PINGS = (
    b":\n\n",
    b": ping - 2026\n\n",
    b"retry: 3000\n\n",
    b"id: 1\n\n",
    b"event: ping\ndata: \n\n",
    b"data:\n\n",
    b"\n\n",
)
"""Server-sent events without content."""


@frozen(kw_only=True, repr=False)
class DrawnResponses:
    """The responses of one protocol, drawn and on the wire."""

    wire: ProtocolWire
    asked: LLMRequest
    answers: st.SearchStrategy[Answer]
    frame: Callable[[Any], bytes]
    """The bytes of an event."""
    tail: bytes = b""
    """The bytes after the last event."""
    pings: Sequence[bytes] = PINGS
    """Bytes that may stand between any two events and change nothing."""
    messy_events: st.SearchStrategy[Any]
    """Events with anything anywhere."""
    messy_documents: st.SearchStrategy[Any]
    ends: Sequence[Any] = field(default=())
    """Events that end a stream."""

    def bytes_of(self, events: Sequence[Any]) -> bytes:
        """Return the stream of *events*."""
        return b"".join(map(self.frame, events)) + self.tail

    def streamed(self, *pieces: bytes) -> list[LLMEvent]:
        """Return what a stream in *pieces* amounts to; it always obeys the grammar."""
        return self.wire.streamed(pieces, self.asked)

    def whole(self, document: Any) -> list[LLMEvent]:
        """Return what a body that was not streamed amounts to; it always obeys the grammar."""
        return self.wire.whole(document, self.asked)


def sse_of(protocol: Any) -> ProtocolWire:
    """Return the wire of a protocol over server-sent events."""
    return ProtocolWire(protocol, Framing.sse(), "text/event-stream")
