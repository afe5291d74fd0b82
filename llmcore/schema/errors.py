"""The error hierarchy.

    LLMError
    ├── ProviderError            the provider answered with an error
    │   ├── AuthenticationError    401, or no key to send
    │   ├── AccessDeniedError      403
    │   ├── NotFoundError          404: no such model or endpoint
    │   ├── InvalidRequestError    400, 422, or a request that cannot be sent
    │   ├── ContextLengthError     413: more tokens than the context window
    │   ├── ContentFilterError     rejected for its content
    │   ├── QuotaExceededError     no credit or quota left
    │   ├── RateLimitError         429 (retryable)
    │   └── ServerError            5xx (retryable)
    │       └── OverloadedError      529, or a message to that effect
    ├── RequestTimeoutError      a time limit expired (retryable)
    ├── AbortError               the caller's abort signal
    ├── NetworkError             no connection, or it broke (retryable)
    ├── StreamError              an incomplete or invalid response (retryable)
    ├── InvalidToolCallError     arguments that do not match the tool's schema
    ├── NoObjectGeneratedError   the response has no object of the requested shape
    ├── UnsupportedToolChoiceError
    └── ConfigurationError       a setting is missing or contradicts another

Results carry these errors in `Failure`; the raising API raises them. They can be pickled, compare
by value, and never contain a secret.
"""

from errno import ENAMETOOLONG
from typing import TYPE_CHECKING, ClassVar, Final, cast

from attrs import Factory, define, field, fields_dict

if TYPE_CHECKING:
    from llmcore.schema.json import JsonValue
    from llmcore.schema.response import LLMResponse
    from llmcore.schema.usage import RateLimitInfo


_RAW_LEVELS = 100


def _shallow(value: "JsonValue", levels: int = _RAW_LEVELS) -> "JsonValue":
    """Return *value* cut at *levels*, since deeper JSON cannot be written or compared safely."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {key: _shallow(item, levels - 1) for key, item in value.items()}
    return [_shallow(item, levels - 1) for item in value]


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class LLMError(Exception):
    """Base class of all errors."""

    retryable_by_default: ClassVar[bool] = False

    message: str = field(kw_only=False)
    """A sentence for people."""
    provider: str | None = None
    """The provider's id."""
    status_code: int | None = None
    """The HTTP status, if there was a response."""
    error_code: str | None = None
    """The provider's own code or type of the error."""
    retryable: bool = field(
        default=Factory(lambda error: type(error).retryable_by_default, takes_self=True)
    )
    """Whether the same request may succeed later."""
    retry_after: float | None = None
    """Seconds to wait before a retry, as the server asked."""
    rate_limit: "RateLimitInfo | None" = None
    """The limits, their remainders and resets from the response's headers."""
    request_id: str | None = None
    """The provider's id of this request, for its support."""
    partial: "LLMResponse | None" = None
    """The part of the response that arrived before the error."""
    raw: "JsonValue" = field(default=None, converter=_shallow)
    """The error body as the provider sent it, cut below 100 levels."""
    hint: str | None = None
    """Advice, such as the address to check; shown after the message."""
    cause: BaseException | None = None
    """The exception of another library that caused this one."""

    def __attrs_post_init__(self) -> None:
        if self.cause is not None:
            self.__cause__ = self.cause

    if not TYPE_CHECKING:  # type checkers report wrong attributes by themselves

        def __getattr__(self, name: str) -> object:
            """Raise AttributeError with the field that is meant by *name* in other libraries."""
            from llmcore.schema.hints import no_attribute  # which needs this module

            raise no_attribute(self, name, type(self), _NAMES_OF_OTHERS)

    def __str__(self) -> str:
        facts = [str(fact) for fact in (self.provider, self.status_code, self.error_code) if fact]
        text = f"{self.message}{self.hint or ''}"
        return f"{text} ({', '.join(facts)})" if facts else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash((type(self), self.message, self.status_code))

    def __reduce__(self) -> tuple[object, ...]:
        state = {**self._values(), "cause": _portable(self.cause)}
        return _restore, (type(self), state, list(getattr(self, "__notes__", ())))

    def _values(self) -> dict[str, object]:
        """Return all fields except the cause, which cannot be compared by value."""
        return {name: getattr(self, name) for name in fields_dict(type(self)) if name != "cause"}


_NAMES_OF_OTHERS: Final = {
    **dict.fromkeys(("code", "type", "reason"), "write `.error_code`"),
    **dict.fromkeys(("status", "http_status", "statusCode"), "write `.status_code`"),
    **dict.fromkeys(("body", "data", "details"), "write `.raw`"),
    "response": "write `.status_code` or `.raw`; `.partial` is the part of it that arrived",
    "is_retryable": "write `.retryable`",
    "llm_provider": "write `.provider`",
    "model": "it is that of the request",
}
"""Attributes of other libraries' errors, with what to write instead."""


def _portable(cause: BaseException | None) -> BaseException | None:
    """Return *cause* in a form that can be pickled: other exceptions keep only their text."""
    if cause is None or isinstance(cause, LLMError):
        return cause
    return Exception(f"{type(cause).__name__}: {cause}")


def _restore(kind: type[LLMError], state: dict[str, object], notes: list[str]) -> LLMError:
    message = state.pop("message")
    error = kind(message, **state)  # type: ignore[arg-type]
    for note in notes:
        error.add_note(note)
    return error


class ProviderError(LLMError):
    """The provider answered with an error."""

    retryable_by_default = True
    """Errors of unknown kind are retried: they may be temporary."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong or expired."""

    retryable_by_default = False


class AccessDeniedError(ProviderError):
    """The key is valid, but lacks permission."""

    retryable_by_default = False


class NotFoundError(ProviderError):
    """The model, deployment or endpoint does not exist."""

    retryable_by_default = False


class InvalidRequestError(ProviderError):
    """The request is invalid: rejected by the provider, or by this library before sending."""

    retryable_by_default = False


class RateLimitError(ProviderError):
    """Too many requests or tokens; see `retry_after`."""


class ServerError(ProviderError):
    """The provider failed (status 5xx)."""


class OverloadedError(ServerError):
    """The provider has no capacity right now."""


class ContentFilterError(ProviderError):
    """The provider refused the content."""

    retryable_by_default = False


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class ContextLengthError(ProviderError):
    """Input and output exceed the model's context window."""

    retryable_by_default = False

    limit_tokens: int | None = None
    """The size of the context window, if the provider stated it."""
    actual_tokens: int | None = None
    """The number of tokens requested, if the provider stated it."""


class QuotaExceededError(ProviderError):
    """The account has no credit or quota left; waiting does not help."""

    retryable_by_default = False


class RequestTimeoutError(LLMError):
    """A time limit expired: the client's, or the server's (status 408)."""

    retryable_by_default = True


class AbortError(LLMError):
    """The caller aborted the call."""


class NetworkError(LLMError):
    """The connection failed or broke."""

    retryable_by_default = True


class StreamError(LLMError):
    """The response is incomplete or invalid."""

    retryable_by_default = True


class InvalidToolCallError(LLMError):
    """The model's arguments do not match the tool's parameters."""


class NoObjectGeneratedError(LLMError):
    """The response has no object of the requested shape; `partial` is that response."""

    @property
    def response(self) -> "LLMResponse":
        """The complete response, which has no such object."""
        return cast("LLMResponse", self.partial)  # every raised one has it


class UnsupportedToolChoiceError(LLMError):
    """The provider does not support the requested tool choice."""


class ConfigurationError(LLMError):
    """A setting is missing or invalid, or contradicts another."""


UNSUPPORTED_OPERATION: Final = "unsupported_operation"
"""The code of a `ConfigurationError` about an operation that a provider does not have."""


def missing_extra(
    requiring: str, extra: str, cause: ImportError | None = None
) -> ConfigurationError:
    """Return the error for *requiring*, which needs packages of *extra* that are not installed."""
    detail = "" if cause is None else f" ({cause})"
    return ConfigurationError(f"{requiring} requires: {install_extra(extra)}{detail}", cause=cause)


def install_extra(extra: str) -> str:
    """Return the command that installs *extra*, quoted so that all shells accept it."""
    return f"pip install 'llmcore-routes[{extra}]'"


def unreadable_file(source: object, error: Exception) -> InvalidRequestError:
    """Return the error for a file that *error* kept from being read, or for an impossible path."""
    shown, reason = str(source), getattr(error, "strerror", None) or error
    if getattr(error, "errno", None) == ENAMETOOLONG:  # a text that is not a path
        shown = f"{shown[:60]}... ({len(shown)} characters)"
        reason = f"{reason}; content in base64 is given as data=base64.b64decode(...)"
    return InvalidRequestError(f"cannot read {shown}: {reason}", cause=error)


def error_types() -> dict[str, type[LLMError]]:
    """Return all error classes by name, including `LLMError`."""
    types: dict[str, type[LLMError]] = {}
    queue: list[type[LLMError]] = [LLMError]
    while queue:
        kind = queue.pop()
        # A class with slots is made twice: the first one is listed before it until it is collected.
        types.setdefault(kind.__name__, kind)
        queue.extend(kind.__subclasses__())
    return types
