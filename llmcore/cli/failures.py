"""Errors at the end of a command: the text that is printed, and the exit code."""

from typing import Final

from llmcore.schema import errors
from llmcore.sessions.contract.errors import ContractError


class UsageError(errors.InvalidRequestError):
    """The options of a command are invalid, or contradict each other."""


EXIT_CODES: Final[tuple[tuple[type[errors.LLMError], int], ...]] = (
    (UsageError, 2),
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
"""The exit code of an error is that of the first class it belongs to, or else 1.

Ctrl-C is 130, as in shells.
"""


def exit_code(error: errors.LLMError) -> int:
    """Return the exit code of *error*."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def _remedy(error: errors.LLMError) -> str:
    """Return what to do in the shell."""
    if isinstance(error, errors.AuthenticationError) and error.status_code == 401:
        from llmcore.client.environment import provider_entries  # what has failed has loaded it

        entry = provider_entries().get(error.provider or "")
        if entry is not None and entry.key_variables:
            names = " or ".join(entry.key_variables)
            return f" — check {names}, or store a key with `llmcore keys set {entry.id}`"
    if "OpenAI(...).chat(model)" in error.message:
        return " — here: write -m openai-chat:MODEL"
    return ""


def explain(error: errors.LLMError) -> str:
    """Return *error* as text, with what to do, if more is known than it states itself.

    That is the variable of a key that was refused, the time until a retry, and the request's id.
    """
    if isinstance(error, UsageError):
        return f"error: {error.message}"
    text = f"{type(error).__name__}: {error}{_remedy(error)}"
    if error.retry_after:
        text += f" — try again in {error.retry_after:g} s"
    if error.request_id:
        text += f" [request {error.request_id}]"
    return text
