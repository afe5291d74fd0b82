"""A cassette: recorded exchanges as values.

`llmcore.testing.cassette_file` is their JSON, `recorder` makes them, `player` serves them.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Literal, Self, TypeAlias, Union

from attrs import field, validators

from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen
from llmcore.testing.recorded_headers import request_headers, visible_url


class CassetteError(Exception):
    """A cassette cannot be read or written, or contradicts itself.

    Not an LLMError, which would become the outcome of a call: the test itself is wrong.
    """


@frozen(kw_only=True)
class Recorded:
    """The server that exchanges were recorded from; the recorder fills in what is None."""

    server: str | None = None
    """The host of the server, or its program, such as `llama.cpp`."""
    version: str | None = None
    """The version of the server or its API."""
    model: str | None = None
    """The model that responded."""


@frozen(kw_only=True)
class Authored:
    """The origin of exchanges that were not recorded but written by hand after a document."""

    source: str = field(validator=validators.min_len(1))
    """The document they follow, with the date it was read."""


Origin: TypeAlias = Union[Recorded, Authored]


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(tags)


@frozen(kw_only=True)
class Metadata:
    """The description of a cassette."""

    name: str
    """Also its path below the cassette directory, without `.json`."""
    provider: str | None = None
    """The provider's id."""
    protocol: str | None = None
    """The protocol of the exchanges."""
    tags: tuple[str, ...] = field(default=(), converter=_tags)
    """Labels for selecting the cassettes that a test runs over."""
    origin: Origin = Recorded()
    """Where the exchanges come from."""


@frozen(kw_only=True)
class RecordedRequest:
    """A request as cassettes store and compare it: nothing in it identifies the sender."""

    method: str
    """The HTTP method."""
    url: str
    """The URL, without credentials."""
    headers: Mapping[str, str] = field(factory=dict)
    """The headers that are compared."""
    body: bytes = b""
    """The body."""

    @classmethod
    def of(cls, request: HttpRequest, headers: Iterable[str] = ()) -> Self:
        """Return the part of *request* to store; *headers* names more headers of it."""
        return cls(
            method=request.method.upper(),
            url=visible_url(request),
            headers=request_headers(request, headers),
            body=request.body,
        )


@frozen
class Chunk:
    """One piece of a body, as the network delivered it."""

    size: int = field(validator=validators.ge(0))
    """The size in bytes."""
    delay_ms: float = field(default=0.0, validator=validators.ge(0))
    """Milliseconds since the previous piece, or since the headers."""


def _adds_up(response: "RecordedResponse", _attribute: object, chunks: tuple[Chunk, ...]) -> None:
    total = sum(chunk.size for chunk in chunks)
    if chunks and total != len(response.body):
        raise CassetteError(f"the chunks have {total} bytes, the body has {len(response.body)}")


@frozen(kw_only=True)
class RecordedResponse:
    """A recorded response, as far as it was received.

    A body that ended well has neither `failure` nor `abandoned`.
    """

    status: int = field(default=200, validator=[validators.ge(100), validators.lt(1000)])
    """The HTTP status."""
    headers: Mapping[str, str] = field(factory=dict)
    """The headers, as far as they are recorded."""
    body: bytes = b""
    """The body, as far as it was received."""
    delay_ms: float = field(default=0.0, validator=validators.ge(0))
    """Milliseconds from the request to the headers."""
    chunks: tuple[Chunk, ...] = field(default=(), validator=_adds_up)
    """The pieces in which the network delivered the body; empty if they are not known."""
    failure: LLMError | None = None
    """The error that ended the body early."""
    abandoned: bool = False
    """Whether the caller stopped reading before the body ended."""

    def pieces(self) -> list[tuple[bytes, float]]:
        """Return the body in the pieces it came in, each with its delay in milliseconds."""
        if not self.chunks:
            return [(self.body, 0.0)] if self.body else []
        edges = pairwise(accumulate((chunk.size for chunk in self.chunks), initial=0))
        return [
            (self.body[start:end], chunk.delay_ms)
            for (start, end), chunk in zip(edges, self.chunks, strict=True)
        ]


@frozen(kw_only=True)
class NoResponse:
    """No response came: the connection failed, or the caller left before the headers."""

    failure: LLMError | None = None
    """Why there was no response; None if the caller left."""
    delay_ms: float = field(default=0.0, validator=validators.ge(0))
    """Milliseconds from the request to the failure."""


@frozen(kw_only=True)
class Interaction:
    """One request and its response."""

    kind: Literal["http"] = "http"
    """The transport of the exchange."""
    request: RecordedRequest
    """The request."""
    response: RecordedResponse | NoResponse
    """The response, or why there is none."""


@frozen(kw_only=True)
class SocketMessage:
    """One text message over a WebSocket."""

    direction: Literal["client", "server"]
    """The side that sent it."""
    text: str
    """The message."""
    delay_ms: float = field(default=0.0, validator=validators.ge(0))
    """Milliseconds since the previous message, or since the socket was opened."""


def _messages(messages: Iterable[SocketMessage]) -> tuple[SocketMessage, ...]:
    return tuple(messages)


@frozen(kw_only=True)
class WebSocketInteraction:
    """One WebSocket and what went over it, in order."""

    kind: Literal["websocket"] = "websocket"
    """The transport of the exchange."""
    request: RecordedRequest
    """The handshake."""
    messages: tuple[SocketMessage, ...] = field(default=(), converter=_messages)
    """The messages of both sides, in order."""
    failure: LLMError | None = None
    """The error that broke the socket; without messages, the reason why it could not be opened."""


AnyInteraction: TypeAlias = Union[Interaction, WebSocketInteraction]


def _interactions(interactions: Iterable[AnyInteraction]) -> tuple[AnyInteraction, ...]:
    return tuple(interactions)


@frozen(kw_only=True)
class Cassette:
    """Exchanges in the order in which their requests were sent, or their sockets opened."""

    metadata: Metadata
    """The description."""
    interactions: tuple[AnyInteraction, ...] = field(default=(), converter=_interactions)
    """The exchanges."""
