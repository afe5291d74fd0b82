"""Everything that can go wrong, as one tree.

    LLMError
    ├── ProviderError            a provider said no
    │   ├── AuthenticationError    401, or no key to send
    │   ├── AccessDeniedError      403
    │   ├── NotFoundError          404: no such model or endpoint
    │   ├── InvalidRequestError    400, 422, or a value nobody could send
    │   ├── ContextLengthError     413: more tokens than the model takes
    │   ├── ContentFilterError     refused for its content
    │   ├── QuotaExceededError     no credit left
    │   ├── RateLimitError         429 (retryable)
    │   └── ServerError            5xx (retryable)
    │       └── OverloadedError      529, or so in words
    ├── RequestTimeoutError      a time limit ran out (retryable)
    ├── AbortError               the caller's abort signal
    ├── NetworkError             no connection, or it broke (retryable)
    ├── StreamError              bytes that do not add up to an answer (retryable)
    ├── InvalidToolCallError     arguments that do not fit the tool
    ├── NoObjectGeneratedError   no object of the wanted shape came back
    ├── UnsupportedToolChoiceError
    └── ConfigurationError       something is missing or contradicts itself

The same values are the `Failure` of the Result-typed client and what the raising API
raises. They pickle, compare by value, and never hold a secret.
"""

from typing import TYPE_CHECKING, ClassVar

from attrs import Factory, define, field, fields_dict

if TYPE_CHECKING:
    from llmcore.schema.json import JsonValue
    from llmcore.schema.response import LLMResponse


def _class_default(error: "LLMError") -> bool:
    return type(error).retryable_by_default


_RAW_LEVELS = 100


def _shallow(value: "JsonValue", levels: int = _RAW_LEVELS) -> "JsonValue":
    """Return *value*, cut where a server nested it so deeply that nothing else could read it."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {key: _shallow(item, levels - 1) for key, item in value.items()}
    return [_shallow(item, levels - 1) for item in value]


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class LLMError(Exception):
    """Base of all errors; catches every one of them."""

    retryable_by_default: ClassVar[bool] = False

    message: str = field(kw_only=False)
    provider: str | None = None
    """Which provider, by id."""
    status_code: int | None = None
    """The HTTP status, where there was one."""
    error_code: str | None = None
    """The provider's own code or type for it."""
    retryable: bool = field(default=Factory(_class_default, takes_self=True))
    """Whether the same request may succeed later."""
    retry_after: float | None = None
    """Seconds the server asks us to wait."""
    request_id: str | None = None
    """The provider's id for this request; quote it to their support."""
    partial: "LLMResponse | None" = None
    """What had arrived before the error."""
    raw: "JsonValue" = field(default=None, converter=_shallow)
    """The error body as it came, down to 100 levels."""
    cause: BaseException | None = None
    """The foreign exception this one was made from."""

    def __attrs_post_init__(self) -> None:
        if self.cause is not None:
            self.__cause__ = self.cause

    def __str__(self) -> str:
        facts = [str(fact) for fact in (self.provider, self.status_code, self.error_code) if fact]
        return f"{self.message} ({', '.join(facts)})" if facts else self.message

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
        """Return every field but the cause, which is for debugging and has no value equality."""
        return {name: getattr(self, name) for name in fields_dict(type(self)) if name != "cause"}


def _portable(cause: BaseException | None) -> BaseException | None:
    """Return *cause* in a form that pickles: foreign exceptions keep their text only."""
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
    """An error of an unknown kind may be a passing one: one retry too many costs less."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong or expired."""

    retryable_by_default = False


class AccessDeniedError(ProviderError):
    """The key is good, but not for this."""

    retryable_by_default = False


class NotFoundError(ProviderError):
    """No such model, deployment or endpoint."""

    retryable_by_default = False


class InvalidRequestError(ProviderError):
    """The request makes no sense to the provider, or to us before it was sent."""

    retryable_by_default = False


class RateLimitError(ProviderError):
    """Too many requests or tokens; see `retry_after`."""


class ServerError(ProviderError):
    """The provider broke."""


class OverloadedError(ServerError):
    """The provider has no capacity right now."""


class ContentFilterError(ProviderError):
    """The provider refused the content."""

    retryable_by_default = False


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class ContextLengthError(ProviderError):
    """Input and output do not fit the model's context window."""

    retryable_by_default = False

    limit_tokens: int | None = None
    """The window, where the provider said it."""
    actual_tokens: int | None = None
    """What was asked for, where the provider said it."""


class QuotaExceededError(ProviderError):
    """The account has no credit or quota left: waiting does not help."""

    retryable_by_default = False


class RequestTimeoutError(LLMError):
    """A time limit ran out, ours or (status 408) the server's."""

    retryable_by_default = True


class AbortError(LLMError):
    """The caller aborted the call."""


class NetworkError(LLMError):
    """No connection, or it broke."""

    retryable_by_default = True


class StreamError(LLMError):
    """The bytes that came are not a whole, valid answer."""

    retryable_by_default = True


class InvalidToolCallError(LLMError):
    """The model's arguments do not fit the tool's parameters."""


class NoObjectGeneratedError(LLMError):
    """No object of the wanted shape came back; `partial` is the paid response."""

    @property
    def response(self) -> "LLMResponse | None":
        """The whole response that held no such object."""
        return self.partial


class UnsupportedToolChoiceError(LLMError):
    """The provider cannot do the wanted tool choice."""


class ConfigurationError(LLMError):
    """Something is missing from the configuration, or contradicts itself."""


def error_types() -> dict[str, type[LLMError]]:
    """Return every error class by its name, `LLMError` included."""
    found: dict[str, type[LLMError]] = {}
    queue: list[type[LLMError]] = [LLMError]
    while queue:
        kind = queue.pop()
        found[kind.__name__] = kind
        queue.extend(kind.__subclasses__())
    return found
