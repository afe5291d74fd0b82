"""Whether arguments are of the kinds that a function's annotations state.

Asked about calls that failed, and about the arguments of classes that are made rarely, so
that an argument of a wrong kind is named by an error that states what to give. Classes of this
package and of others exclude only what cannot be meant, such as texts, numbers, containers, classes
and coroutines, since another class may do the same.
"""

import builtins
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    SupportsFloat,
    SupportsIndex,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

_TEXTS: Final = (str, bytes, bytearray, memoryview)
_NUMBERS: Final[Mapping[object, type]] = {int: SupportsIndex, float: SupportsFloat}
_WORDS: Final[Mapping[object, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    bytes: "bytes",
    dict: "a dict",
    Mapping: "a dict",
    Callable: "a function",
    NoneType: "None",
}
_SEVERAL: Final = (Collection, Iterable, Sequence, frozenset, list, set, tuple)
_STRICT: Final = frozenset({"builtins", "collections", "datetime", "os", "pathlib", "ssl", "types"})
"""Packages whose classes are meant as such: another class is not taken for one of theirs."""
_JSON: Final = "llmcore.schema.json"
"""Its classes stand for JSON, and have no instances."""
_UNCHECKED: Final = (Any, object, inspect.Parameter.empty)


def wrong_kind(
    function: Callable[..., Any],
    args: Sequence[object],
    settings: Mapping[str, object],
    *,
    items: bool = True,
) -> str:
    """Return what is wrong with the first argument whose kind its annotation excludes.

    Such as `path must be text or a path, not an int`; empty if all may be meant. *args* are without
    `self` or `cls`. With *items*, those of lists and dicts count, too: a class may take more of
    them than it states, such as numbers as values of headers.
    """
    for name, kind, value in _arguments(function, args, settings):
        if not may_be(value, kind, items=items):
            return f"{name} must be {described(kind)}, not {_shown(value, kind)}"
    return ""


def may_be(value: object, kind: object, *, items: bool = True) -> bool:
    """Return whether *value*, and its *items*, may be meant as one of the type *kind*."""
    origin = get_origin(kind)
    match origin:
        case None:
            return _may_be_class(value, kind)
        case _ if origin is Union or origin is UnionType:
            return any(may_be(value, one, items=items) for one in get_args(kind))
        case _ if origin is Literal:
            return value in get_args(kind) or isinstance(value, str)  # words have own checks
        case _ if origin is Annotated:
            return may_be(value, get_args(kind)[0], items=items)
        case _ if origin is type:
            return isinstance(value, type)
    if not _may_be_class(value, origin):
        return False
    arguments = get_args(kind)
    if not items or (origin is tuple and arguments[-1] is not Ellipsis):
        return True
    if isinstance(value, dict) and len(arguments) == len(("key", "value")):
        pairs = (zip(item, arguments, strict=True) for item in value.items())
        return all(may_be(one, of) for pair in pairs for one, of in pair)
    if origin not in _SEVERAL or not isinstance(value, list | tuple | set):
        return True  # a generator is read only once
    return all(may_be(item, arguments[0]) for item in value)


def described(kind: object) -> str:
    """Return words for the type *kind*, such as `a list of texts, or None`."""
    if kind in _WORDS:
        return _WORDS[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return described(arguments[0])
    if origin is Union or origin is UnionType:
        words = dict.fromkeys(described(one) for one in arguments)
        *others, last = sorted(words, key="None".__eq__)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    cls = origin or kind
    if cls in _WORDS:
        return _WORDS[cls]
    if not isinstance(cls, type):
        return "what its annotation states"
    if cls.__module__ == _JSON:
        return _WORDS[Mapping]
    if hasattr(cls, "__fspath__"):
        return "a path"
    if cls in _SEVERAL:
        return "a list of texts" if arguments[:1] == (str,) else "a list"
    return with_article(cls.__name__)


def with_article(name: str) -> str:
    """Return the *name* of a class with its article: `a Message`, `an Image`, `an LLMRequest`."""
    return f"{'an' if name[0] in 'aeioAEIO' or name.startswith('LLM') else 'a'} {name}"


def _may_be_class(value: object, cls: object) -> bool:
    if cls is None:
        return value is None
    if cls in _UNCHECKED or not isinstance(cls, type):
        return True
    if cls.__module__ == _JSON:
        return cls.__name__ == "JsonValue" or isinstance(value, Mapping)
    if cls in _NUMBERS:
        return isinstance(value, _NUMBERS[cls]) and not isinstance(value, _TEXTS)
    if cls is bytes:
        return isinstance(value, bytes | bytearray | memoryview)
    if cls in _SEVERAL:
        return isinstance(value, Iterable) and not isinstance(value, (*_TEXTS, Mapping, type))
    if _is_checkable(cls) and isinstance(value, cls):
        return True
    if _package(cls) in _STRICT:
        return False
    if "__call__" in vars(cls):  # a protocol of functions
        return callable(value)
    home = _package(type(value))
    return home not in _STRICT or (home != "builtins" and not _is_checkable(cls))


def _package(cls: type) -> str:
    """Return the package of *cls*; empty for mock objects, which may be meant as anything."""
    return "" if cls.__module__ == "unittest.mock" else cls.__module__.partition(".")[0]


@cache
def _is_checkable(cls: type) -> bool:
    try:
        isinstance(None, cls)
    except TypeError:  # a protocol that is not checked at run time
        return False
    return True


def _shown(value: object, kind: object) -> str:
    from llmcore.schema.hints import shown_kind  # which imports this module

    if inspect.iscoroutine(value):
        value.close()
        return "a coroutine: await it first"
    if isinstance(value, type):
        return f"{shown_kind(value)}: write {value.__name__}(...)"
    if isinstance(value, list | tuple | set) and value:
        return f"{shown_kind(value)} with {shown_kind(next(iter(value)))}"
    if isinstance(value, dict) and value:
        key, item = next(iter(value.items()))
        return f"a dict of {shown_kind(key)} to {shown_kind(item)}"
    return shown_kind(value)


def _arguments(
    function: Callable[..., Any], args: Sequence[object], settings: Mapping[str, object]
) -> Iterator[tuple[str, object, object]]:
    by_position, by_name = _kinds(function)
    for (name, kind), value in zip(by_position, args, strict=False):
        yield name, kind, value
    for name, value in settings.items():
        if name in by_name:
            yield name, by_name[name], value


@cache
def _kinds(
    function: Callable[..., Any],
) -> tuple[Sequence[tuple[str, object]], Mapping[str, object]]:
    """Return the types of what *function* takes by position, and by name."""
    original = inspect.unwrap(function)
    names = getattr(original, "__globals__", {})
    annotations = {name: _evaluated(kind, names) for name, kind in original.__annotations__.items()}
    by_position: list[tuple[str, object]] = []
    by_name = {name: kind for one in annotations.values() for name, kind in _settings(one).items()}
    for item in inspect.signature(function).parameters.values():
        kind = annotations.get(item.name, by_name.get(item.name, item.annotation))
        if item.kind is item.VAR_KEYWORD:
            continue
        if item.kind is item.VAR_POSITIONAL:
            by_position += [(item.name, kind)] * _MANY
        else:
            if item.default is None:
                kind = Union[kind, None]
            by_name[item.name] = kind
            if item.kind is not item.KEYWORD_ONLY:
                by_position.append((item.name, kind))
    if by_position and by_position[0][0] in ("self", "cls"):
        del by_position[0]
    return by_position, by_name


_MANY: Final = 20
"""So many arguments of `*models` are checked."""


def _evaluated(annotation: object, names: Mapping[str, object]) -> object:
    """Return an annotation as a type, with Any for names that exist only for type checkers."""
    if not isinstance(annotation, str | ForwardRef):
        return annotation
    holder = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(holder, {}, _Names(names))["it"]
    except (TypeError, AttributeError):  # Any in place of a name does not fit
        return Any


class _Names(dict[str, object]):
    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, Any)


def _settings(kind: object) -> Mapping[str, object]:
    """Return the types of the keys of `**settings: Unpack[Settings]`."""
    if get_origin(kind) is not Unpack:
        return {}
    (cls,) = get_args(kind)
    names = vars(inspect.getmodule(cls))
    annotations = cls.__annotations__.items()
    return {
        name: _evaluated(getattr(one, "__forward_arg__", one), names) for name, one in annotations
    }
