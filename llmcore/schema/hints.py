"""Errors of wrong names, types and calls that state what to write instead.

Python's own errors name the wrong attribute or argument alone. With these decorators they also
state the nearest right one, or what is written for the name that another library uses.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from llmcore.foreign_names import hint_table
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.kinds import with_article, wrong_kind
from llmcore.tracebacks import is_wrong_call, remove_own_frames, wrong_call

if TYPE_CHECKING:
    from attrs import Attribute

_T = TypeVar("_T")


def shown_kind(value: object) -> str:
    """Return what *value* is, for errors of a wrong type: `an int`, `None`, `the class Person`.

    A type that is defined elsewhere is named with its module, `a numpy.ndarray`, since its name
    alone may be that of one of llmcore's.
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value)
    own = kind.__module__ == "builtins" or kind.__module__.startswith("llmcore.")
    name = kind.__name__ if own else f"{kind.__module__}.{kind.__qualname__}"
    return with_article(name)


def is_text(_holder: object, attribute: "Attribute[str]", value: object) -> None:
    """Raise InvalidRequestError if *value*, that of the field *attribute*, is not text."""
    if not isinstance(value, str):
        raise InvalidRequestError(f"{attribute.name} must be text, not {shown_kind(value)}")


def nearest(name: str, names: Sequence[str]) -> str:
    """Return the question whether the nearest of *names* is meant; empty if none is near."""
    if name.startswith("_"):  # asked for by protocols such as those of pickle and of notebooks
        return ""
    from difflib import get_close_matches  # hardly ever needed

    longer = [one for one in names if one.startswith(name)] if len(name) >= _SHORTENED else []
    near = get_close_matches(name, longer, 1, 0) or get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else ""


_SHORTENED: Final = 3
"""So many characters at the beginning of a name are taken for that name, cut short."""


def hint_for(unknown: str, known: Sequence[str], instead: Mapping[str, str]) -> str:
    """Return what to write for the argument *unknown*, of which *instead* may state it.

    *instead* has an argument that is meant, which counts if it is *known*, or a sentence. `topP`
    is looked up as `top_p`. Empty if nothing is near.
    """
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", unknown).lower()
    meant = instead.get(unknown) or (snake if snake in known else instead.get(snake, ""))
    if meant in known:
        return f"did you mean {meant!r}?"
    return meant if meant and not meant.isidentifier() else nearest(unknown, known)


def end_at_call(error: BaseException) -> None:
    """Remove the frames of this package from an error that states what the caller is to change.

    Any other error, such as one of a bug, keeps its frames.
    """
    if isinstance(error, LLMError) or is_wrong_call(error):
        remove_own_frames(error)


def json_hints(name: str) -> dict[str, str]:
    """Return hints for the methods by which values of other libraries are written as JSON."""
    methods = ("model_dump", "model_dump_json", "to_dict", "dict", "json")
    return dict.fromkeys(methods, f"its JSON is `to_json({name})`, from llmcore.schema.codec")


def with_hints(table: str = "", **instead: str) -> Callable[[type[_T]], type[_T]]:
    """Have AttributeErrors of a class state what to write *instead* of other libraries' names.

    *table* has more of them, for `hint_table`. Of other names they state the nearest attribute.
    With Python 3.11, reading an attribute that exists costs more; `with_names_of_others` is for
    classes where that matters.
    """
    instead |= hint_table(table)

    def decorate(cls: type[_T]) -> type[_T]:
        def __getattr__(self: object, name: str) -> Any:  # noqa: N807  (set on the class)
            raise no_attribute(self, name, type(self), instead)

        setattr(cls, "__getattr__", __getattr__)  # noqa: B010  (type checkers must not see it)
        return _not_subscriptable(cls, instead)

    return decorate


def with_names_of_others(table: str = "", **instead: str) -> Callable[[type[_T]], type[_T]]:
    """Do what `with_hints` does for the names of *table* and *instead* alone, without a cost.

    Each is an attribute of the class that raises AttributeError, and is not listed by `dir`.
    """
    instead |= hint_table(table)

    def decorate(cls: type[_T]) -> type[_T]:
        for name, hint in instead.items():
            setattr(cls, name, _Foreign(name, hint))
        setattr(cls, "__dir__", _own_names)  # noqa: B010  (mypy refuses the assignment)
        return _not_subscriptable(cls, instead)

    return decorate


def _not_subscriptable(cls: type[_T], instead: Mapping[str, str]) -> type[_T]:
    """Have the TypeErrors of `value["text"]`, for values that are dicts elsewhere, state a hint."""

    def __getitem__(self: object, key: object) -> NoReturn:  # noqa: N807  (set on the class)
        fault = f"{type(self).__name__} values have attributes instead of keys and items"
        own = isinstance(key, str) and not key.startswith("_") and key in dir(self)
        hint = f"write `.{key}`" if own else instead.get(str(key), "")
        if key == 0:  # `for ... in value`, or `dict(value)`, by web frameworks and others
            parts = [instead.get("content"), instead.get("to_dict")]
            if parts[1]:
                name = type(self).__name__
                parts.append(f"FastAPI writes it if the endpoint is annotated `-> {name}`")
            hint = "; ".join(filter(None, parts))
        raise TypeError(f"{fault}: {hint}" if hint else fault)

    if not hasattr(cls, "__getitem__"):
        setattr(cls, "__getitem__", __getitem__)  # noqa: B010  (type checkers must not see it)
    return cls


def _own_names(self: object) -> list[str]:
    return _without_foreign(object.__dir__(self), type(self))


def _without_foreign(names: Iterable[str], cls: type) -> list[str]:
    return [
        name for name in names if not isinstance(inspect.getattr_static(cls, name, None), _Foreign)
    ]


@frozen
class _Foreign:
    """The attribute *name* that a class does not have: reading it raises an error with *hint*."""

    name: str
    hint: str

    def __get__(self, value: object, cls: type) -> NoReturn:
        raise no_attribute(cls if value is None else value, self.name, cls, {self.name: self.hint})


class Hinted(type):
    """The type of classes whose own wrong attributes, such as `Message.human`, are explained.

    Attributes of their instances cost nothing more, unlike those of `with_hints`.
    """

    _instead: Mapping[str, str] = {}
    """Hints by the names of other libraries; each class may have its own."""

    def __dir__(cls) -> list[str]:
        """Return the attributes without those of other libraries, which `_Foreign` explains."""
        return _without_foreign(type.__dir__(cls), cls)

    if not TYPE_CHECKING:  # type checkers report wrong attributes by themselves

        def __getattr__(cls, name: str) -> Any:
            """Raise AttributeError with a hint."""
            raise no_attribute(cls, name, cls, cls._instead)


class Elsewhere:
    """An attribute that other libraries have at *path*: its use raises an error with a hint."""

    def __init__(self, path: str, hint: str) -> None:
        self._error = f"there is no {path}: {hint}"

    def __repr__(self) -> str:
        return f"<{self._error}>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(self._error, name=name, obj=self)

    def __call__(self, *_args: object, **_settings: object) -> NoReturn:
        """Raise AttributeError with a hint."""
        raise AttributeError(self._error)


def no_attribute(value: object, name: str, cls: type, instead: Mapping[str, str]) -> AttributeError:
    """Return the error of reading the attribute *name*, which *value* of *cls* does not have."""
    hint = instead.get(name, "")
    if not hint and not name.startswith("_"):  # attrs asks each class for several such names
        hint = nearest(name, dir(cls))
    owner = f"type object {cls.__name__!r}" if value is cls else f"{cls.__name__!r} object"
    message = f"{owner} has no attribute {name!r}"
    return AttributeError(f"{message}: {hint}" if hint else message, name=name, obj=value)


def with_call_hints(positional: str = "", **instead: str) -> Callable[[_T], _T]:
    """Have the TypeErrors of wrong calls of a class or a function state what to write.

    *instead* has, for arguments of other libraries, the argument that is meant or what to do.
    *positional* is what to do about too many arguments without a name, where naming them is not
    enough. A correct call costs one more call. Coroutine functions have
    `llmcore.client.call_hints`.

        >>> from llmcore import CostBudget
        >>> CostBudget(1.0)
        Traceback (most recent call last):
        TypeError: CostBudget() takes its arguments by name: write CostBudget(usd=...)
    """
    return _explaining(CallHints(positional, instead))


def with_checked_arguments(positional: str = "", **instead: str) -> Callable[[type[_T]], type[_T]]:
    """Do what `with_call_hints` does for a class, and check arguments by their annotations.

    That comes after the class's own checks. For classes that are made rarely, and use their
    arguments later.
    """
    return _explaining(CallHints(positional, instead, checks_kinds=True))


def _explaining(hints: "CallHints") -> Callable[[_T], _T]:
    def decorate(callee: _T) -> _T:
        if isinstance(callee, type):
            callee.__init__ = _explained(callee.__init__, hints)  # type: ignore[misc]
            return callee
        return _explained(callee, hints)  # type: ignore[arg-type,return-value]

    return decorate


@frozen
class CallHints:
    """The hints on wrong calls of one class or function."""

    positional: str = ""
    """The hint on too many arguments without a name; empty: they are to be named."""
    instead: Mapping[str, str] = {}
    """An argument or a sentence, by the names that other libraries have."""
    checks_kinds: bool = False
    """Whether arguments are checked by their annotations."""


def _explained(function: Callable[..., Any], hints: CallHints) -> Callable[..., Any]:
    """Return *function* with explained errors of its arguments; others are raised as they are."""

    @wraps(function)
    def called(*args: Any, **settings: Any) -> Any:
        try:
            result = function(*args, **settings)
        except EXPLAINED as error:
            explained = explained_error(error, function, args, settings, hints)
            if explained is None:
                raise
            raise explained from None
        if hints.checks_kinds:
            fault = wrong_kind(function, args[1:], settings, items=False)
            if fault:
                raise wrong_call(f"{_called(function, args)}(): {fault}")
        return result

    return called


EXPLAINED: Final = (LLMError, TypeError, AttributeError, LookupError, ValueError)
"""The errors in which a wrong call ends, besides others."""


def explained_error(
    error: Exception,
    function: Callable[..., Any],
    args: Sequence[object],
    settings: Mapping[str, object],
    hints: CallHints,
) -> TypeError | None:
    """Return what to raise in place of *error*, caught around a call of *function*.

    None if it was raised within the function, for another reason than an argument of another
    library or of another kind, or cannot be explained: *error* itself is raised then, as
    `end_at_call` leaves it.
    """
    traceback = error.__traceback__
    is_within = traceback is None or traceback.tb_next is not None
    foreign = any(name in hints.instead for name in settings)
    text = ""
    if isinstance(error, TypeError) and (foreign or not is_within):
        text = _explanation(_called(function, args), function, args, settings, hints)
    if not (text or isinstance(error, LLMError) or is_wrong_call(error)):
        fault = wrong_kind(function, _without_owner(function, args), settings)
        text = f"{_called(function, args)}(): {fault}" if fault else ""
    if text:
        return wrong_call(text)
    end_at_call(error)
    return None


def _called(function: Callable[..., Any], args: Sequence[object]) -> str:
    """Return what a caller names *function*: a class, a method or a function."""
    if function.__name__ == "__init__":
        return type(args[0]).__name__
    first = next(iter(inspect.signature(function).parameters), "")
    if args and first in ("self", "cls"):  # a class may have the methods of its base
        owner = args[0] if isinstance(args[0], type) else type(args[0])
        return f"{owner.__name__}.{function.__name__}"
    return function.__qualname__


def _without_owner(function: Callable[..., Any], args: Sequence[object]) -> Sequence[object]:
    """Return *args* without `self` or `cls`."""
    first = next(iter(inspect.signature(function).parameters), "")
    return args[1:] if first in ("self", "cls") else args


def _explanation(
    name: str,
    function: Callable[..., Any],
    args: Sequence[object],
    settings: Mapping[str, object],
    hints: CallHints,
) -> str:
    """Return what is wrong with a call of *function*, and what to write; empty if unknown."""
    parameters = list(inspect.signature(function).parameters.values())
    method = function.__name__
    if parameters and parameters[0].name == "self" and not (args and hasattr(args[0], method)):
        return f"{method}() was called on a class: write CLASS(...).{method}(...)"
    if parameters and parameters[0].name in ("self", "cls"):
        parameters, args = parameters[1:], args[1:]
    by_name = {item.name: item for item in parameters if item.kind not in _VARIADIC}
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters)
    foreign = [setting for setting in settings if setting not in by_name]
    unknown = next((item for item in foreign if not takes_any or item in hints.instead), None)
    if unknown is not None:
        return _of_unknown(name, unknown, tuple(by_name), hints)
    by_position = [item for item in by_name.values() if item.kind is not item.KEYWORD_ONLY]
    twice = next((item.name for item in by_position[: len(args)] if item.name in settings), None)
    if twice is not None:
        wanted = [item.name for item in by_position]
        return f"{name}() got {twice!r} twice: write {_example(name, wanted, len(wanted))}"
    if len(args) > len(by_position):
        return _of_surplus(name, by_name, by_position, len(args), hints)
    absent = [item for item in list(by_name)[len(args) :] if item not in settings]
    needed = [item for item in absent if by_name[item].default is inspect.Parameter.empty]
    if not needed:
        return ""
    example = _example(name, [item for item in by_name if item in needed or item not in absent])
    return f"{name}() needs {' and '.join(needed)}: write {example}"


def _of_unknown(name: str, unknown: str, known: tuple[str, ...], hints: CallHints) -> str:
    hint = hint_for(unknown, known, hints.instead) or f"it takes {', '.join(known) or 'none'}"
    return f"{name}() got an unexpected keyword argument {unknown!r}: {hint}"


_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _of_surplus(
    name: str,
    named: Mapping[str, inspect.Parameter],
    by_position: Sequence[inspect.Parameter],
    given: int,
    hints: CallHints,
) -> str:
    if not named:
        fault = f"{name}() takes no arguments"
        return f"{fault}: {hints.positional}" if hints.positional else fault
    count = len(by_position)
    taken = f"only {count} without {'its name' if count == 1 else 'their names'}"
    fault = f"{name}() takes {taken if count else 'its arguments by name'}"
    if hints.positional:
        return f"{fault}: {hints.positional}"
    others = [item for item in named.values() if item not in by_position]
    others.sort(key=lambda item: item.default is not inspect.Parameter.empty)  # needed ones first
    needed = sum(item.default is item.empty for item in (*by_position, *others))
    wanted = [item.name for item in (*by_position, *others)]
    return f"{fault}: write {_example(name, wanted[: max(given, needed)], count)}"


def _example(name: str, arguments: Sequence[str], by_position: int = 0) -> str:
    shown = [*arguments[:by_position], *(f"{item}=..." for item in arguments[by_position:])]
    return f"{name}({', '.join(shown)})"
