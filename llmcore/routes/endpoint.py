"""Endpoint: the URL of a request, made of base URL, path and query."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Self, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec
from attrs import field

from llmcore.routes.http_request import redacted_url, with_query
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.schema.json import JsonObject
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.secret_names import redacted


class EndpointContext(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a path may depend on."""

    model_id: str
    body: JsonObject
    streaming: bool
    environ: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the model alone: the environment may have keys, and the body is long."""
        return f"EndpointContext(model_id={self.model_id!r}, streaming={self.streaming})"


PathOf: TypeAlias = Callable[[EndpointContext], str]
BaseUrlOf: TypeAlias = Callable[[Mapping[str, str]], str]
"""Makes the base URL of the environment; ConfigurationError if that is not enough."""


def shown_base_url(base_url: "str | BaseUrlOf | None") -> str:
    """Return the repr of a base URL, without the credentials of its query."""
    return repr(redacted_url(base_url) if isinstance(base_url, str) else base_url)


@with_call_hints()
@frozen(kw_only=True)
class Endpoint:
    """Builds the URL of a call.

    The base URL may have a path and a query of its own (`.../v1?api-version=2`); both are
    kept. A route without a canonical URL has none until it is configured.
    """

    target: str | PathOf
    """The path below the base URL, or how to make it of model and body."""
    base_url: str | BaseUrlOf | None = field(default=None, repr=shown_base_url)
    """A function if it depends on the environment, such as a variable for the region."""
    query: Mapping[str, str] = field(factory=dict, repr=lambda query: repr(redacted(query)))
    """Query parameters of every request."""

    @classmethod
    def path(
        cls,
        path: str | PathOf,
        *,
        base_url: str | BaseUrlOf | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Self:
        """Build an endpoint of *path*, which starts with a slash, below *base_url*.

        Raises ConfigurationError for a *query* that is not a mapping.
        """
        if query is not None and not isinstance(query, Mapping):
            raise ConfigurationError(f"query must be a dict, not {shown_kind(query)}")
        return cls(target=path, base_url=base_url, query=query or {})

    def url(self, context: EndpointContext) -> Result[str, LLMError]:
        """Return the URL; ConfigurationError without a usable base URL."""
        try:
            base_url = self.base_url(context.environ) if callable(self.base_url) else self.base_url
        except ConfigurationError as error:
            return Failure(error)
        if not base_url:
            return Failure(ConfigurationError("no base URL: configure the provider with base_url"))
        path = self.target if isinstance(self.target, str) else self.target(context)
        if _has_dot_segment(path):
            message = f"the path {path[:200]!r} has a segment '.' or '..': an id holds none"
            return Failure(InvalidRequestError(message))
        whole = _joined_url(base_url, path)
        if whole is None:
            shown = base_url.partition("?")[0]  # what follows may hold a key
            message = f"base_url {shown!r} is not an http(s) URL such as https://host/v1"
            return Failure(ConfigurationError(message))
        return Success(with_query(whole, self.query))


@lru_cache(maxsize=256)
def _has_dot_segment(path: str) -> bool:
    """Return whether *path* has a segment `.` or `..`, which servers resolve to another path.

    Ids of models, files and responses are in paths, and may come from a program's own users.
    """
    return not {".", ".."}.isdisjoint(path.partition("?")[0].split("/"))


@lru_cache(maxsize=256)
def _joined_url(base_url: str, path: str) -> str | None:
    """Return the URL of *path* below *base_url*; None if that is not a URL of HTTP."""
    parts = urlsplit(base_url.strip())
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.netloc:
        return None
    path, _, query = path.partition("?")
    whole = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, parts.query, ""))
    return f"{whole}{'&' if parts.query else '?'}{query}" if query else whole
