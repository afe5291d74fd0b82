"""Transport: how a route's requests travel, as data. The client interprets it.

HTTP is the default. A route that needs something else carries another value here, with the
same protocol and endpoint.
"""

from pathlib import Path
from typing import TypeAlias, Union

from attrs import field, frozen, validators


@frozen(kw_only=True)
class Http:
    """Plain HTTP requests over the client's shared connection pool."""

    http2: bool = False


@frozen(kw_only=True)
class Embedded:
    """HTTP to llama.cpp's own server, which the client starts on first use and stops."""

    model_path: Path | None = None
    """A GGUF file; None is the small model that `llmcore local install` puts in place."""
    context_tokens: int = 4096
    threads: int = 1
    parallel: int = 1


@frozen(kw_only=True)
class WebSocket:
    """WebSockets that stay open over several requests; HTTP where none can be had.

    A socket carries one answer at a time and serves the conversation it remembers.
    """

    max_connections: int = field(default=8, validator=validators.gt(0))
    """How many sockets may be open at once in one event loop; further requests wait."""
    max_age_s: float = field(default=55 * 60.0, validator=validators.gt(0))
    """Older sockets take no further request. OpenAI closes them after 60 minutes."""
    max_message_bytes: int = field(default=64 * 1024 * 1024, validator=validators.gt(0))
    """A larger message from the server is a StreamError."""
    compression: bool = True
    """Whether to offer permessage-deflate (RFC 7692)."""


TransportSpec: TypeAlias = Union[Http, Embedded, WebSocket]
