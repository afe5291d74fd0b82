"""The result of an operation that can fail: either a `Success` or a `Failure`.

    match await client.generate(request):
        case Success(response):
            print(response.text)
        case Failure(error):
            print(error)

A closed union of two frozen classes, so that type checkers prove such a match exhaustive and infer
the types of `response` and `error`. Inside the library, results are composed (`map`, `bind`, `alt`)
or matched on; `unwrap` is for code that prefers exceptions.
"""

from collections.abc import Callable
from typing import Final, Generic, NoReturn, Self, TypeAlias, TypeVar

import msgspec

from llmcore.schema.hints import with_names_of_others

_T = TypeVar("_T")
_E = TypeVar("_E")
_T_co = TypeVar("_T_co", covariant=True)
_E_co = TypeVar("_E_co", covariant=True)
_U = TypeVar("_U")


_OF_A_RESULT: Final = (
    "it is a Result: match it with `case Success(value)` and `case Failure(error)`, or call "
    "`.unwrap()`, which raises the error of a failure"
)
_with_hints: Final = with_names_of_others(
    **dict.fromkeys(("text", "result", "output", "message", "response", "content"), _OF_A_RESULT),
    **dict.fromkeys(("is_success", "is_ok", "ok"), "write `isinstance(result, Success)`"),
)


@_with_hints
class Success(msgspec.Struct, Generic[_T_co], frozen=True):
    """A success and its value: `case Success(value)` in a `match`."""

    value: _T_co
    """The value."""

    def map(self, change: Callable[[_T_co], _U]) -> "Success[_U]":
        """Return a success with `change(value)`."""
        return Success(change(self.value))

    def bind(self, step: Callable[[_T_co], _U]) -> _U:
        """Return `step(value)`, which is a result itself."""
        return step(self.value)

    def alt(self, change: Callable[..., object]) -> Self:
        """Return this success unchanged."""
        return self

    def value_or(self, default: object) -> _T_co:
        """Return the value."""
        return self.value

    def unwrap(self) -> _T_co:
        """Return the value."""
        return self.value

    def failure(self) -> NoReturn:
        """Raise TypeError: there is no error."""
        raise TypeError(f"not a failure: {self!r}")

    def __repr__(self) -> str:
        return f"Success({self.value!r})"


@_with_hints
class Failure(msgspec.Struct, Generic[_E_co], frozen=True):
    """A failure and its error: `case Failure(error)` in a `match`."""

    error: _E_co
    """The error."""

    def map(self, change: Callable[..., object]) -> Self:
        """Return this failure unchanged."""
        return self

    def bind(self, step: Callable[..., object]) -> Self:
        """Return this failure unchanged."""
        return self

    def alt(self, change: Callable[[_E_co], _U]) -> "Failure[_U]":
        """Return a failure with `change(error)`."""
        return Failure(change(self.error))

    def value_or(self, default: _U) -> _U:
        """Return *default*."""
        return default

    def unwrap(self) -> NoReturn:
        """Raise the error."""
        if isinstance(self.error, BaseException):
            raise self.error
        raise TypeError(f"not a success: {self!r}")

    def failure(self) -> _E_co:
        """Return the error."""
        return self.error

    def __repr__(self) -> str:
        return f"Failure({self.error!r})"


Result: TypeAlias = Success[_T] | Failure[_E]
"""Either a `Success` or a `Failure`."""
