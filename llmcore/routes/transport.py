"""Transport: how a route's requests travel, as data. The client interprets it.

HTTP is the default. A route that needs something else carries another value here, with the
same protocol and endpoint.
"""

from pathlib import Path
from typing import TypeAlias, Union

from attrs import frozen


@frozen(kw_only=True)
class Http:
    """Plain HTTP requests over the client's shared connection pool."""

    http2: bool = False


@frozen(kw_only=True)
class EmbeddedServer:
    """HTTP to llama.cpp's own server, which the client starts on first use and stops."""

    model_path: Path | None = None
    """A GGUF file; None is the small model that `llmcore local install` puts in place."""
    context_tokens: int = 4096
    threads: int = 1
    parallel: int = 1


TransportSpec: TypeAlias = Union[Http, EmbeddedServer]
