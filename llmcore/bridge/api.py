"""One API that clients speak, as the gateway serves it.

It has operations and a form for errors, without HTTP. An operation returns a JSON object,
or a `SentResponse` for a response that a model is yet to give. Admission, bodies, streams and logs
are the gateway's, the same for all operations.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from llmcore.bridge.accounts.issued_key import IssuedKey
from llmcore.bridge.response_run import ErrorForm, SentResponse
from llmcore.client.large_requests import LARGE_REQUEST_VALUES, holds_much
from llmcore.fronts.front import ClientRequest
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

LARGEST_SMALL_BODY: Final = 2 * LARGE_REQUEST_VALUES
"""The most bytes of which is known, without looking, that they do not hold many values."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The client of a request, as far as it is known."""

    owner: str
    """Whose the stored responses are: a digest of the key, never the key. The owner that an issued
    key was given is in `key.limits`."""
    counted_as: str
    """The name under which the rate of requests is counted."""
    key: IssuedKey | None = None
    """The issued key that was sent; None for a configured one, and without keys."""
    name: str = ""
    """The name of a client of the configuration file; an issued key's is in `key.limits`."""
    is_admin: bool = False
    """Whether the admin key was sent, which is for managing keys alone."""

    @property
    def label(self) -> str:
        """The id of an issued key, or a client's name, else a digest: for spend, metrics, logs."""
        return self.name or self.owner if self.key is None else self.key.id

    def allows(self, model: str) -> bool:
        """Return whether the caller may use *model*, by the name that clients write."""
        return self.key is None or self.key.limits.allows(model)


class OperationRequest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One request for an operation."""

    caller: Caller
    request: ClientRequest
    """As the client sent it, without its credentials; the body is empty for operations that take
    none."""
    path: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The parameters that the path holds."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that the gateway has changed in it."""
    body_bytes: int = LARGEST_SMALL_BODY + 1
    """The size of the body, where that is known."""

    @cached_property
    def is_large(self) -> bool:
        """Whether reading the body takes more than a few milliseconds."""
        return self.body_bytes > LARGEST_SMALL_BODY and holds_much(self.request.body)

    @property
    def body(self) -> JsonObject:
        """The request's body."""
        return self.request.body

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the URL."""
        return self.request.query

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers by their names in lower case."""
        return self.request.headers


@frozen(kw_only=True)
class Outcome:
    """A JSON object as an operation's response, and the diagnostics of it."""

    body: JsonObject
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen(kw_only=True)
class Operation:
    """One method of one path."""

    name: str
    """The label `route` of metrics, and `openbridge.operation` of traces."""
    method: str
    path: str
    """As Starlette writes paths, such as `/responses/{response_id}`."""
    handle: Callable[[OperationRequest], Awaitable[JsonObject | Outcome | SentResponse]]
    """Raises FrontError."""
    takes_body: bool = False
    """Whether a JSON object is read, and the request counts as one under way."""
    for_admin: bool = False
    """Whether only the holder of the admin key is admitted."""


def posted(
    name: str,
    path: str,
    handle: Callable[[OperationRequest], Awaitable[JsonObject | Outcome | SentResponse]],
) -> Operation:
    """Return the operation *name*, for which clients post a JSON object to *path*."""
    return Operation(name=name, method="POST", path=path, handle=handle, takes_body=True)


@frozen(kw_only=True)
class Api:
    """The operations of one API."""

    id: str
    """The id of the protocol that its clients speak."""
    prefixes: tuple[str, ...]
    """The prefixes of URLs; each path is served below each prefix."""
    operations: Sequence[Operation]
    error_form: Callable[[ClientRequest], ErrorForm]
    """Returns the form of errors for a request that speaks this API, as `Apis.of` finds out, on any
    path."""
