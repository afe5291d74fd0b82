"""Frozen attrs classes that cost less than those of `attrs.frozen`.

    @frozen(kw_only=True)
    class Usage:
        input_tokens: int | None = None

*To make a value*: attrs sets each field of a frozen value by a call with the field's name, which
takes ten times as long as an assignment. Here the constructor begins with `__class__` set to the
thawed class of `changed`, which has the same layout, assigns the fields, and ends with `__class__`
set back. Hooks of attrs do this for the first values of a class. Then its constructor is compiled
again, with both assignments in place of the calls of the hooks.

*To make a class*: attrs writes and compiles methods that compare, hash and print each class, which
takes a third of the time of an import. Here all classes share those of `display`; values print
without their defaults and hash with JSON in them.

Fields, checks, converters and hooks are those of attrs, and so is the class of the error of an
assignment, whose message states what to write.
"""

import inspect
import linecache
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs.exceptions import FrozenInstanceError

from llmcore.schema.changed import thawed
from llmcore.schema.display import equal, hashed, rich_repr, short_repr

__all__ = ["frozen"]

_FEWEST: Final = 3
"""With fewer fields, the two changes of the class cost more than they save."""
_FIRST: Final = 200
"""So many values of a class are made before its constructor is compiled again."""
_set_class: Final = object.__dict__["__class__"].__set__

if TYPE_CHECKING:
    from attrs import frozen  # so that type checkers know the fields
else:

    def frozen(kind: type | None = None, /, **settings: Any) -> Any:
        """Return the frozen attrs class of *kind*."""
        if kind is None:
            return lambda kind: frozen(kind, **settings)
        if issubclass(kind, BaseException):  # whose traceback can be assigned
            return attrs.frozen(kind, **settings)
        shared = {
            name: method
            for setting, methods in _SHARED.items()
            if settings.get(setting, True) and methods.keys().isdisjoint(vars(kind))
            for name, method in methods.items()
        }
        settings |= dict.fromkeys(_SHARED, False)
        if len(inspect.get_annotations(kind)) < _FEWEST and not any(map(attrs.has, kind.__bases__)):
            return _refusing(_with(shared, attrs.frozen(kind, **settings)))
        kind.__attrs_pre_init__ = _thaw
        kind.__attrs_post_init__ = _after(getattr(kind, "__attrs_post_init__", _freeze))
        made = _with(shared, attrs.define(kind, on_setattr=attrs.setters.NO_OP, **settings))
        _KINDS[_refusing(made)] = _Kind(_source_of(made))
        return made


def _with(methods: Mapping[str, Callable[..., Any]], made: Any) -> Any:
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _refusing(made: Any) -> Any:
    made.__setattr__ = made.__delattr__ = _refuse
    return made


_SHARED = {
    "eq": {"__eq__": equal, "__hash__": hashed},
    "repr": {"__repr__": short_repr, "__rich_repr__": rich_repr},
}


class _Kind:
    """The thawed class of a frozen one, and how often its constructor may still run as it is."""

    __slots__ = ("left", "source", "thawed")

    def __init__(self, source: str) -> None:
        self.source = source
        """The source of its constructor, which attrs wrote; empty once it was compiled again."""
        self.thawed: type | None = None
        """Its thawed class, which is made with the first value."""
        self.left = _FIRST
        """How many values its constructor makes before it is compiled again."""


_KINDS: dict[type, _Kind] = {}
_FROZEN: dict[type, type] = {}
"""For each thawed class its frozen one."""
_HOOKS: dict[Callable[[Any], None], Callable[[Any], None]] = {}
"""For each hook that first freezes the value, the hook of the class."""


def _thaw(value: object) -> None:
    kind = type(value)
    known = _KINDS.get(kind)
    if known is None:  # a subclass that attrs itself has frozen
        return
    thawed_kind = known.thawed or _thawed_class(kind, known)
    left = known.left = known.left - 1
    if left == 0:
        _compile_again(kind, thawed_kind, known.source)
        known.source = ""
    _set_class(value, thawed_kind)


_thaw.__signature__ = inspect.signature(_thaw)  # type: ignore[attr-defined]
"""attrs asks for it with each class; working it out again takes 40 microseconds."""


def _freeze(value: Any) -> None:
    kind = _FROZEN.get(type(value))
    if kind is not None:
        value.__class__ = kind


def _after(hook: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that freezes a value, and then calls the *hook* of its class."""
    if hook is _freeze:
        return hook

    def freeze(value: Any) -> None:
        _freeze(value)
        hook(value)

    _HOOKS[freeze] = _HOOKS.get(hook, hook)
    return freeze


def _thawed_class(kind: type, known: _Kind) -> type:
    made: Any = thawed(kind)
    known.thawed, _FROZEN[made] = made, kind
    return made  # type: ignore[no-any-return]


# -- constructors without calls of hooks

_BEGIN: Final = "    self.__attrs_pre_init__()\n"
_END: Final = "    self.__attrs_post_init__()\n"
_THAW: Final = "    if __type(self) is __kind: __set_class(self, __thawed)\n"
_FREEZE: Final = "    if __type(self) is __thawed: self.__class__ = __kind\n"


def _source_of(kind: Any) -> str:
    """Return the source of the constructor of *kind*, which attrs wrote.

    It is kept apart from the cache of lines, which programs clear, the gateway among them.
    """
    return "".join(linecache.getlines(kind.__init__.__code__.co_filename))


def _compile_again(kind: Any, thawed_kind: type, source: str) -> None:
    """Compile the *source* of the constructor of *kind* with both changes of the class in it.

    It stays the same function, which decorators may hold. One that attrs wrote in a form that is
    not known here stays as it is.
    """
    made: FunctionType = inspect.unwrap(kind.__init__)
    if source.count(_BEGIN) != 1 or not source.endswith(_END):
        return
    hook = _HOOKS.get(kind.__attrs_post_init__)
    end = _FREEZE if hook is None else f"{_FREEZE[:-1]}\n    __hook(self)\n"
    source = source.replace(_BEGIN, _THAW).replace(_END, end)
    module = compile(source, made.__code__.co_filename, "exec", dont_inherit=True)
    made.__globals__.update(
        __type=type, __kind=kind, __thawed=thawed_kind, __set_class=_set_class, __hook=hook
    )
    made.__code__ = next(code for code in module.co_consts if isinstance(code, CodeType))


def _refuse(value: Any, name: str, *_new: object) -> None:
    error = FrozenInstanceError()
    changes = f"{name}=..." if name in attrs.fields_dict(type(value)) else "..."
    message = f"{type(value).__name__} values are frozen: write evolve(value, {changes})"
    AttributeError.__init__(error, message)  # attrs' own takes no message
    raise error
