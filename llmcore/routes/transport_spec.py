"""Transport: how the requests of a route are sent, and their time limits, as data.

HTTP is the default. A route that needs something else carries another value here, with the
same protocol and endpoint.
"""

import math
from pathlib import Path
from typing import TypeAlias, Union

from attrs import field, validators

from llmcore.schema.errors import ConfigurationError, RequestTimeoutError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.options import check_kind


@frozen(kw_only=True)
class Http:
    """Plain HTTP requests over the client's shared connection pool."""

    http2: bool = False
    """Whether HTTP/2 is offered to https servers."""


@frozen(kw_only=True)
class Embedded:
    """HTTP to llama.cpp's own server, which the client starts on first use and stops."""

    model_path: Path | None = None
    """A GGUF file; None is the small model that `llmcore local install` puts in place."""
    context_tokens: int = 4096
    """Prompt and response of one request together; llama.cpp rounds it up to a multiple of 256
    and down to what the model was trained for (SmolLM2: 8192)."""
    threads: int = 1
    """The number of compute threads. More than one is rarely faster, and slower on busy cores."""
    parallel: int = 1
    """The number of concurrent requests, each with its own context; further requests wait."""
    embeddings: bool = False
    """Whether the server embeds texts (the mean of its tokens' vectors); it then generates
    nothing."""


@frozen(kw_only=True)
class WebSocket:
    """Persistent WebSockets for several requests; HTTP if none can be opened.

    A socket carries one response at a time and serves the conversation it remembers.
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

# -- time limits


def _seconds(_instance: object, attribute: object, value: float | None) -> None:
    if value is None:
        return
    name = str(getattr(attribute, "name", "timeout"))
    check_kind(name, value, (int, float), "seconds, or None", ConfigurationError)
    if not value > 0:
        raise ConfigurationError(f"the time limit {name} must be more than 0 seconds, not {value}")


def _limit(default: float | None) -> float | None:
    limit: float | None = field(default=default, validator=validators.optional(_seconds))
    return limit


@with_call_hints(
    "write Timeouts(total=...), or timeout=... of a call",
    timeout="total",
    read="idle",
    request="total",
)
@frozen(kw_only=True)
class Timeouts:
    """Time limits, in seconds; None disables a limit.

    `first_event` and `idle` count events, not bytes: a server that only sends keep-alives
    has stalled. A limit that runs out is a RequestTimeoutError whose `error_code` is the
    limit's name and whose `partial` is the response so far.
    """

    connect: float | None = _limit(10.0)
    """Opening a connection, including TLS."""
    first_event: float | None = _limit(600.0)
    """From preparing the request to the first event (to the whole response, if not streamed)."""
    idle: float | None = _limit(300.0)
    """Between two events of a stream."""
    step: float | None = _limit(None)
    """One call of a model."""
    total: float | None = _limit(None)
    """A whole call, over all steps and retries."""
    tool: float | None = _limit(None)
    """One run of a tool."""

    def shortest(self, *names: str) -> tuple[str, float]:
        """Return which of the limits *names*, which begin together, expires first, and its seconds.

        Without any of them, the seconds are infinite; the first one counts among equals.
        """
        shortest, seconds = names[0], math.inf
        for name in names:
            limit: float | None = getattr(self, name)
            if limit is not None and limit < seconds:
                shortest, seconds = name, limit
        return shortest, seconds

    def expired(
        self, name: str, provider: str = "", cause: BaseException | None = None
    ) -> RequestTimeoutError:
        """Return the error for the limit *name*, such as `idle`, which expired.

        *cause* is the exception that showed it.
        """
        message = f"the time limit {name!r} of {getattr(self, name):g} seconds expired"
        return RequestTimeoutError(message, provider=provider, error_code=name, cause=cause)
