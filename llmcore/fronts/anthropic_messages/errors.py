"""Errors in Anthropic's form: the body of a refused request, and the event that ends a stream.

    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"},
     "request_id": "req_1"}

Source: https://platform.claude.com/docs/en/api/errors, read November 2026. Clients match words of
the message, so an upstream's own stay in it.
"""

import re
from collections.abc import Mapping
from typing import Final

from llmcore.fronts.errors import CONTEXT_LENGTH, NO_QUOTA, FrontError
from llmcore.protocols.anthropic_messages.names import THREAD_NOT_FOUND
from llmcore.schema.json import JsonObject

_OVERLOADED: Final = "server_is_overloaded"
_BY_CODE: Final[Mapping[str | None, int]] = {NO_QUOTA: 402, _OVERLOADED: 529}
"""Statuses that only this API has, by the code of the error."""
_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_SERVER: Final = 500

_KNOWN_WORDS: Final = re.compile(
    r"prompt is too long|input length and `max_tokens` exceed context limit", re.IGNORECASE
)
"""Anthropic's own message for a prompt that is too long: Claude Code then shortens it."""


def envelope(error: FrontError) -> JsonObject:
    """Return the body of an error response, which is also the event inside a stream."""
    status = status_of(error)
    other = "api_error" if status >= _SERVER else "invalid_request_error"
    details = {"details": {"error_code": error.code}} if error.code == THREAD_NOT_FOUND else {}
    return {
        "type": "error",
        "error": {"type": _TYPES.get(status, other), "message": _message(error), **details},
        "request_id": error.request_id or error.upstream_request_id,
    }


def status_of(error: FrontError) -> int:
    """Return the status of an error response."""
    return _BY_CODE.get(error.code, error.status)


def _message(error: FrontError) -> str:
    """Return the message; for a prompt that is too long, in the words that clients look for.

    Claude Code shortens a prompt that is too long by itself, and else lowers `max_tokens`.
    """
    if error.code != CONTEXT_LENGTH or _KNOWN_WORDS.search(error.message):
        return error.message
    actual, limit, own = error.actual_tokens, error.limit_tokens, error.input_tokens
    if actual is None or limit is None:
        return f"prompt is too long: {error.message}"
    if own is not None and own < limit:
        numbers = f"{own} + {actual - own} > {limit}"
        return f"input length and `max_tokens` exceed context limit: {numbers} ({error.message})"
    return f"prompt is too long: {own or actual} tokens > {limit} maximum ({error.message})"
