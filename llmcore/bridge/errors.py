"""Errors in OpenAI's form: what a client of the bridge reads when a request fails.

Source: https://developers.openai.com/api/docs/guides/error-codes, read November 2026.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from attrs import asdict, frozen

from llmcore.schema import errors
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject

INVALID_REQUEST: Final = "invalid_request_error"
SERVER_ERROR: Final = "server_error"


@frozen(kw_only=True, auto_exc=False)
class BridgeError(Exception):
    """Why a request has no answer: an HTTP status, and OpenAI's words for it."""

    status: int
    message: str
    type: str = INVALID_REQUEST
    code: str | None = None
    param: str | None = None
    """The field of the request that is at fault."""
    retry_after: float | None = None
    """Seconds to wait, where waiting helps."""
    upstream_request_id: str | None = None
    """The upstream provider's id of the request, for a response header."""

    def __str__(self) -> str:
        return f"{self.message} ({self.status}, {self.code or self.type})"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), **asdict(self)), ()


def envelope(error: BridgeError) -> JsonObject:
    """Return the body of an error response."""
    return {
        "error": {
            "message": error.message,
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    }


# -- of requests


def invalid(message: str, param: str | None = None, code: str | None = None) -> BridgeError:
    """Return the error of a request that makes no sense, 400."""
    return BridgeError(status=400, message=message, param=param, code=code)


def overloaded(message: str) -> BridgeError:
    """Return the error of a request that there is no room for now, 503."""
    return BridgeError(
        status=503,
        message=message,
        type=SERVER_ERROR,
        code="server_is_overloaded",
        retry_after=1,
    )


def previous_response_not_found(response_id: str) -> BridgeError:
    """Return the error of a request that continues what is not stored, 400."""
    return BridgeError(
        status=400,
        message=f"Previous response with id '{response_id}' not found. Responses are kept only "
        "for a time, and not at all with store: false; send the whole conversation as input.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def response_not_found(response_id: str) -> BridgeError:
    """Return the error of a response that is not stored, 404."""
    return BridgeError(status=404, message=f"Response with id '{response_id}' not found.")


def item_not_found(item_id: str) -> BridgeError:
    """Return the error of a reference to an item that is not stored, 404."""
    return BridgeError(
        status=404,
        message=f"Item with id '{item_id}' not found. Items are kept only for a time, and not "
        "at all with store: false; send the item itself instead of a reference.",
        param="input",
    )


# -- of upstreams

CONTEXT_LENGTH: Final = "context_length_exceeded"
NO_QUOTA: Final = "insufficient_quota"
RATE_LIMIT: Final = "rate_limit_exceeded"

_FORMS: Final[Mapping[type[LLMError], tuple[int, str, str | None]]] = {
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
"""Status, type and code by the nearest class. An upstream that refuses *our* key is no fault of
the client's, whose own key was good: clients would ask their user to log in again."""


def from_llm_error(error: LLMError) -> BridgeError:
    """Return what a client is told of an upstream's error."""
    kind = next(kind for kind in type(error).__mro__ if kind in _FORMS)
    status, type_, code = _FORMS[kind]
    return BridgeError(
        status=status,
        message=error.message,
        type=type_,
        code=code or error.error_code,
        retry_after=error.retry_after,
        upstream_request_id=error.request_id,
    )


_IN_RESPONSE: Final[Mapping[str, str]] = {
    CONTEXT_LENGTH: CONTEXT_LENGTH,
    NO_QUOTA: NO_QUOTA,
    RATE_LIMIT: RATE_LIMIT,
}


def response_error(error: LLMError) -> JsonObject:
    """Return `error` of a response that failed after it began.

    Of the codes, clients read those of too long a context, no quota and rate limits; all other
    upstream failures are `server_error`, and requests it refuses `invalid_prompt`.
    """
    told = from_llm_error(error)
    other = "invalid_prompt" if told.type == INVALID_REQUEST else SERVER_ERROR
    return {"code": _IN_RESPONSE.get(told.code or "", other), "message": told.message}
