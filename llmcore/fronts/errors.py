"""Errors of requests: an HTTP status, and fields that every API has a form for.

Types and codes are those of https://developers.openai.com/api/docs/guides/error-codes, read
November 2026, which other APIs' fronts translate.
"""

import re
from collections.abc import Mapping
from functools import partial
from math import ceil
from typing import Final

from attrs import asdict, field

from llmcore.protocols.failures.limits import input_and_output
from llmcore.schema import errors
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.native_json import object_or_empty, str_or_none

INVALID_REQUEST: Final = "invalid_request_error"
SERVER_ERROR: Final = "server_error"

MAX_MESSAGE: Final = 2000
"""Characters of a message; a client's own values in it are as long as the client likes."""
_MAX_PARAM: Final = 300


def _message(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


def _param(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MAX_PARAM else f"{text[:_MAX_PARAM]}..."


@frozen(kw_only=True, auto_exc=False)
class FrontError(Exception):
    """A request that cannot be answered."""

    status: int
    message: str = field(converter=_message)
    """Shortened to `MAX_MESSAGE`."""
    type: str = INVALID_REQUEST
    code: str | None = None
    param: str | None = field(default=None, converter=_param)
    """The field of the request that is at fault."""
    retry_after: float | None = None
    """Seconds to wait, where waiting helps."""
    request_id: str | None = None
    """The server's own id of the request, for APIs whose errors name it."""
    upstream_request_id: str | None = None
    """The upstream provider's id of the request, for a response header."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of the response."""
    actual_tokens: int | None = None
    """Of a prompt that is too long: its tokens, where the upstream counted them."""
    limit_tokens: int | None = None
    """Of a prompt that is too long: the tokens that the model takes."""
    input_tokens: int | None = None
    """Of a prompt that is too long with the output that was allowed: its own tokens, which are a
    part of `actual_tokens`, where the upstream stated both."""

    def __str__(self) -> str:
        return f"{self.message} ({self.status}, {self.code or self.type})"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), **asdict(self)), ()


# -- of requests


def invalid(message: str, param: str | None = None, code: str | None = None) -> FrontError:
    """Return the error of an invalid request, 400."""
    return FrontError(status=400, message=message, param=param, code=code)


def method_not_allowed(path: str, method: str, *taken: str) -> FrontError:
    """Return the error of a request whose path takes only other methods, 405."""
    methods = ", ".join(taken)
    return FrontError(
        status=405,
        message=f"{path[:200]} does not take {method}; it takes {methods}",
        code="method_not_allowed",
        headers=(("allow", methods),),
    )


def forbidden(message: str, code: str) -> FrontError:
    """Return the error of a request that its caller may not make, 403."""
    return FrontError(status=403, message=message, type="permission_error", code=code)


def rate_limited(message: str, retry_after: float) -> FrontError:
    """Return the error of a request that comes too soon, 429."""
    return FrontError(
        status=429,
        message=message,
        type="rate_limit_error",
        code=RATE_LIMIT,
        retry_after=retry_after,
    )


def overloaded(message: str) -> FrontError:
    """Return the error of a request that there is no room for now, 503."""
    return FrontError(
        status=503,
        message=message,
        type=SERVER_ERROR,
        code="server_is_overloaded",
        retry_after=1,
    )


_STORE_IS_GONE: Final = "the response store cannot be reached; try again, or send store: false"


def state_unavailable(message: str = _STORE_IS_GONE) -> FrontError:
    """Return the error of a request that needs a store while it cannot be reached, 503."""
    return FrontError(
        status=503,
        message=message,
        type=SERVER_ERROR,
        code="state_unavailable",
        retry_after=1,
    )


# -- of upstreams

CONTEXT_LENGTH: Final = "context_length_exceeded"
NO_QUOTA: Final = "insufficient_quota"
RATE_LIMIT: Final = "rate_limit_exceeded"

_BY_CLASS: Final[Mapping[type[LLMError], tuple[int, str, str | None]]] = {
    errors.AuthenticationError: (502, SERVER_ERROR, "upstream_authentication_failed"),
    errors.AccessDeniedError: (403, "permission_error", "upstream_access_denied"),
    errors.NotFoundError: (404, INVALID_REQUEST, "model_not_found"),
    errors.ContextLengthError: (400, INVALID_REQUEST, CONTEXT_LENGTH),
    errors.ContentFilterError: (400, INVALID_REQUEST, "content_filter"),
    errors.QuotaExceededError: (429, NO_QUOTA, NO_QUOTA),
    errors.RateLimitError: (429, "rate_limit_error", RATE_LIMIT),
    errors.OverloadedError: (503, SERVER_ERROR, "server_is_overloaded"),
    errors.ServerError: (502, SERVER_ERROR, SERVER_ERROR),
    errors.InvalidRequestError: (400, INVALID_REQUEST, None),
    errors.UnsupportedToolChoiceError: (400, INVALID_REQUEST, "unsupported_tool_choice"),
    errors.RequestTimeoutError: (504, SERVER_ERROR, "upstream_timeout"),
    errors.AbortError: (499, INVALID_REQUEST, "request_cancelled"),
    errors.NetworkError: (502, SERVER_ERROR, "upstream_unreachable"),
    errors.StreamError: (502, SERVER_ERROR, "upstream_stream_error"),
    errors.ConfigurationError: (500, SERVER_ERROR, "bridge_misconfigured"),
    errors.ProviderError: (502, SERVER_ERROR, "upstream_error"),
    LLMError: (502, SERVER_ERROR, "upstream_error"),
}
"""Status, type and code by the nearest class. An upstream that refuses the *gateway's* key is a
502: on a 401, clients would ask their user to log in again."""
_UNAVAILABLE: Final = (503, SERVER_ERROR, "upstream_unavailable")
_TIMED_OUT: Final = _BY_CLASS[errors.RequestTimeoutError]
_BY_UPSTREAM_STATUS: Final[Mapping[int | None, tuple[int, str, str | None]]] = {
    503: _UNAVAILABLE,
    504: _TIMED_OUT,
    409: (409, "conflict_error", "conflict"),
}
"""Of errors without a more specific class, by the upstream's status: clients wait longer for a
server that is unavailable than for one that failed."""


_INSTEAD: Final[Mapping[type[LLMError], str]] = {
    errors.AuthenticationError: (
        "the upstream did not accept the key of the gateway; the gateway's log has the reason"
    ),
    errors.NetworkError: "the upstream cannot be reached, or the connection to it broke",
}
"""Messages in place of those that name addresses, or quote an HTTP library or parts of a key."""
_OWN_NAMES: Final = re.compile(r"\barn:aws[\w-]*:[\w-]*:[\w-]*:\d{12}:[\w+=,.@:/-]*\w")
"""Names of the gateway's account, users and roles at Amazon, which its refusals quote."""
_LIMITS_OF_TRANSPORTS: Final = frozenset({"connect", "pool", "read", "write"})
"""Codes of time limits whose messages are an HTTP library's."""


def from_llm_error(error: LLMError) -> FrontError:
    """Return the error of a request whose upstream failed with *error*.

    Its message is the provider's. Messages about the gateway's own connections and keys,
    which are meant for its operator, are replaced; its cause, or its log, has them.
    """
    status, type_, code = _status_type_code(error)
    too_long = error if isinstance(error, errors.ContextLengthError) else None
    counts = input_and_output(error.message) if too_long else None
    return FrontError(
        status=status,
        message=_client_message(error),
        type=type_,
        code=code or error.error_code,
        param=_upstreams_param(error),
        retry_after=error.retry_after,
        upstream_request_id=error.request_id,
        actual_tokens=too_long.actual_tokens if too_long else None,
        limit_tokens=too_long.limit_tokens if too_long else None,
        input_tokens=counts[0] if counts else None,
    )


def _upstreams_param(error: LLMError) -> str | None:
    """Return the field that is at fault, as an upstream of OpenAI's API names it."""
    if not isinstance(error, errors.InvalidRequestError):
        return None
    body = object_or_empty(error.raw)
    fields = body.get("error", body)
    return str_or_none(object_or_empty(fields).get("param"))


def _client_message(error: LLMError) -> str:
    """Return the message of *error* for a client."""
    timed_out = isinstance(error, errors.RequestTimeoutError) and error.status_code is None
    if timed_out and error.error_code in _LIMITS_OF_TRANSPORTS:
        return f"the upstream did not answer in time ({error.error_code})"
    if isinstance(error, errors.StreamError) and error.cause is not None:
        return "the response of the upstream cannot be read"
    own = (_INSTEAD[kind] for kind in type(error).__mro__ if kind in _INSTEAD)
    return _OWN_NAMES.sub("arn:[of the gateway]", next(own, error.message))


def _status_type_code(error: LLMError) -> tuple[int, str, str | None]:
    """Return the status, the type and the code of an upstream's error."""
    kind = next(kind for kind in type(error).__mro__ if kind in _BY_CLASS)
    if kind is errors.ConfigurationError and error.error_code == errors.UNSUPPORTED_OPERATION:
        return _BY_CLASS[errors.InvalidRequestError]
    if kind in (errors.ServerError, errors.ProviderError):
        return _BY_UPSTREAM_STATUS.get(error.status_code, _BY_CLASS[kind])
    return _BY_CLASS[kind]


# -- trying again

_WORTH_A_RETRY: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_FUTILE: Final = frozenset(
    {
        NO_QUOTA,
        "upstream_authentication_failed",
        "upstream_access_denied",
        "bridge_misconfigured",
    }
)
"""Codes of errors that the same request would get again."""


def retry_headers(error: FrontError) -> dict[str, str]:
    """Return the headers by which the vendors' SDKs decide whether, and when, to try again.

    Sources: the `openai` and `anthropic` packages, `_base_client` (`x-should-retry`,
    `retry-after-ms` before `retry-after`).
    """
    again = error.status in _WORTH_A_RETRY and error.code not in _FUTILE
    headers = {"x-should-retry": "true" if again else "false"}
    if error.retry_after is not None:
        headers["retry-after"] = str(max(1, ceil(error.retry_after)))
        if error.retry_after % 1:  # whole seconds would be too long
            headers["retry-after-ms"] = str(ceil(error.retry_after * 1000))
    return headers
