"""Errors at the end of a command: the text that is printed, and the exit code."""

from typing import Final

from llmcore.schema import errors
from llmcore.sessions.contract.errors import ContractError

EXIT_CODES: Final[tuple[tuple[type[errors.LLMError], int], ...]] = (
    (errors.AuthenticationError, 3),
    (errors.AccessDeniedError, 3),
    (errors.RateLimitError, 4),
    (errors.QuotaExceededError, 4),
    (errors.ContextLengthError, 5),
    (errors.NotFoundError, 5),
    (errors.InvalidRequestError, 5),
    (errors.UnsupportedToolChoiceError, 5),
    (errors.ContentFilterError, 6),
    (errors.RequestTimeoutError, 7),
    (errors.NetworkError, 7),
    (errors.StreamError, 7),
    (errors.ServerError, 8),
    (errors.ConfigurationError, 9),
    (ContractError, 5),
)
"""The first matching class decides; other errors are 1. 2 is wrong usage, 130 is Ctrl-C."""


def exit_code(error: errors.LLMError) -> int:
    """Return the exit code of *error*."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def explain(error: errors.LLMError) -> str:
    """Return *error* as text, with the time until a retry and the request's id if known."""
    text = f"{type(error).__name__}: {error}"
    if error.retry_after is not None:
        text += f" — try again in {error.retry_after:g} s"
    if error.request_id:
        text += f" [request {error.request_id}]"
    return text
