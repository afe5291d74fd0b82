"""Unary protocols: calls that one JSON document answers, such as embedding and listing.

The counterpart of `Protocol` for operations other than generation. It is pure as well: it builds
the native request of a value, and reads the document that answers it.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from attrs import field, frozen

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.json import JsonObject, JsonValue

Asked = TypeVar("Asked")
"""The value of a request, such as an `EmbeddingRequest`."""
Answer_co = TypeVar("Answer_co", covariant=True)
"""The value that the answer is read as."""


@frozen(kw_only=True)
class NativeRequest:
    """A native request, relative to the base URL of the API."""

    path: str
    """The path below the base URL, beginning with a slash."""
    method: str = "POST"
    body: JsonObject | None = None
    """The JSON body; None for a request without one, or with `content`."""
    content: bytes = b""
    """A body that is not JSON."""
    content_type: str = "application/json"
    query: Mapping[str, str] = field(factory=dict)
    headers: Mapping[str, str] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""


@frozen(kw_only=True)
class NativeAnswer:
    """A native answer with a status of success."""

    document: JsonValue
    """The JSON body; None if there was none."""
    headers: Mapping[str, str] = field(factory=dict)
    """The headers by their names in lower case."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Those of the request."""


@frozen(kw_only=True)
class UnaryProtocol(Generic[Asked, Answer_co]):
    """Builds the requests of one operation of an API, and reads its answers."""

    id: str
    """Such as `openai-embeddings`."""
    build: Callable[[Asked], NativeRequest]
    """Raises InvalidRequestError for what the API cannot do."""
    read: Callable[[NativeAnswer, Asked], Answer_co]
    """Raises StreamError for a document of another shape."""
    lines: bool = False
    """Whether the answer is JSON lines, which are read as a list."""
