"""Errors in Google's form: `google.rpc.Status`, as a response and inside a stream.

Sources, read November 2026: https://google.aip.dev/193 (the form, and details by type),
https://cloud.google.com/apis/design/errors (status codes),
https://ai.google.dev/gemini-api/docs/troubleshooting.

    {"error": {"code": 429, "message": "...", "status": "RESOURCE_EXHAUSTED",
               "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo",
                            "retryDelay": "12s"}]}}

A `QuotaFailure` is never invented: Gemini CLI gives a model up for the day when it reads one.
"""

from collections.abc import Mapping
from typing import Final

from llmcore.fronts.errors import CONTEXT_LENGTH, FrontError
from llmcore.schema.json import JsonObject

_STATUSES: Final[Mapping[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "RESOURCE_EXHAUSTED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
_SERVER_ERRORS: Final = 500
_TYPE: Final = "type.googleapis.com/google.rpc."
_OVERLOADED: Final = 529
"""Anthropic's status, which Google's clients do not know."""
_TOO_LONG: Final = "exceeds the maximum number of tokens"
"""The words by which clients recognise a prompt that is too long."""


def envelope(error: FrontError) -> JsonObject:
    """Return the body of an error response, which is also the error inside a stream."""
    status = status_of(error)
    other = "INTERNAL" if status >= _SERVER_ERRORS else "INVALID_ARGUMENT"
    details = _details(error)
    return {
        "error": {
            "code": status,
            "message": _message(error),
            "status": _STATUSES.get(status, other),
            **({"details": details} if details else {}),
        }
    }


def status_of(error: FrontError) -> int:
    """Return the status of an error response."""
    return 503 if error.status == _OVERLOADED else error.status


def _message(error: FrontError) -> str:
    """Return the message, with Google's words for a prompt that is too long before it."""
    if error.code != CONTEXT_LENGTH or _TOO_LONG in error.message:
        return error.message
    actual, limit = error.input_tokens or error.actual_tokens, error.limit_tokens
    if actual is None or limit is None or actual <= limit:
        return f"The input token count {_TOO_LONG} allowed. {error.message}"
    return f"The input token count ({actual}) {_TOO_LONG} allowed ({limit}). {error.message}"


def _details(error: FrontError) -> list[JsonObject]:
    details: list[JsonObject] = []
    if error.code is not None:
        info = {"reason": error.code.upper(), "domain": "gateway"}
        details.append({"@type": f"{_TYPE}ErrorInfo", **info})
    if error.param is not None:
        violation = {"field": error.param, "description": error.message}
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]})
    if error.retry_after is not None:
        seconds = f"{error.retry_after:.3f}".rstrip("0").rstrip(".")  # a Duration: `12s`, `1.5s`
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{seconds}s"})
    return details
