"""A class of `frozen` behaves as one that attrs has frozen."""

import contextlib
import copy
import inspect
import linecache
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pytest
from attrs import evolve, field
from attrs.exceptions import FrozenInstanceError

from llmcore.schema.frozen import _FIRST, frozen


def _listed(values: Any) -> tuple[int, ...]:
    return tuple(values)


@frozen(kw_only=True)
class _Plain:
    a: int
    b: int = 2
    c: Any = field(factory=tuple, converter=_listed)


@frozen(kw_only=True)
class _Checked(_Plain):
    d: int = field(default=4, validator=attrs.validators.ge(0))

    def __attrs_post_init__(self) -> None:
        if type(self) is not _Checked or self.a < 0:
            raise ValueError(f"a is {self.a}, of a {type(self).__name__}")


@attrs.frozen(kw_only=True)
class _OfAttrs(_Plain):
    e: int = 5


@frozen(eq=False)
class _ByIdentity:
    a: int
    b: int
    c: int


@frozen
class _Few:
    a: int


MAKES: tuple[Callable[[], Any], ...] = (
    lambda: _Plain(a=1, c=(3,)),
    lambda: _Checked(a=1, c=(3,)),
    lambda: _OfAttrs(a=1, c=(3,)),
    lambda: _Few(1),
)


@pytest.fixture(params=("first", "later"), autouse=True)
def _values_before(request: pytest.FixtureRequest) -> None:
    """Run each test with the first values of its classes, and with later ones.

    After many values, the constructor of a class is another one.
    """
    if request.param == "later":
        makes: tuple[Callable[[], Any], ...] = (*MAKES, lambda: _ByIdentity(1, 2, 3))
        for make in makes:
            for _ in range(_FIRST):
                make()


@pytest.mark.parametrize("make", MAKES)
def test_values_are_equal_hashed_copied_and_pickled_by_their_fields(
    make: Callable[[], Any],
) -> None:
    """Neither the first value of a class nor a later one differs."""
    one, other = make(), make()

    assert type(one) is type(other)
    assert (one, hash(one), repr(one)) == (other, hash(other), repr(other))
    assert one == copy.deepcopy(one) == pickle.loads(pickle.dumps(one))
    assert evolve(one, a=7) != one
    assert attrs.asdict(evolve(one, a=7)) == {**attrs.asdict(one), "a": 7}
    assert type(msgspec.convert({"a": 1}, type(one))) is type(one)


@pytest.mark.parametrize("make", [*MAKES, lambda: _ByIdentity(1, 2, 3)])
def test_a_field_cannot_be_assigned_or_deleted(make: Callable[[], Any]) -> None:
    """The class of the error is that of attrs."""
    value = make()

    with pytest.raises(FrozenInstanceError):
        value.a = 2
    with pytest.raises(FrozenInstanceError):
        del value.a
    assert value.a == 1


@pytest.mark.parametrize("make", [lambda: _Plain(a=1, c=(3,)), lambda: _Few(1)])
def test_the_error_of_an_assignment_states_what_to_write(make: Callable[[], Any]) -> None:
    for name, shown in (("a", "a=..."), ("other", "...")):
        with pytest.raises(FrozenInstanceError) as raised:
            setattr(make(), name, 2)
        expected = f"{type(make()).__name__} values are frozen: write evolve(value, {shown})"
        assert str(raised.value) == expected


def test_converters_validators_and_hooks_run() -> None:
    """In the order of attrs, the hook on a value that is complete."""
    assert _Plain(a=1, c=[3, 4]).c == (3, 4)
    with pytest.raises(ValueError, match="must be >= 0"):
        _Checked(a=-1, d=-1)
    with pytest.raises(ValueError, match="a is -1, of a _Checked"):
        _Checked(a=-1)
    with pytest.raises(TypeError):
        _Plain()  # type: ignore[call-arg]


def test_the_constructor_of_a_class_with_many_values_calls_no_hook_of_attrs() -> None:
    """It is the function that attrs made, with the same signature, and a subclass has its own."""
    made, signature = _Checked.__init__, inspect.signature(_Checked)
    for _ in range(_FIRST):
        _Checked(a=1)

    assert made is _Checked.__init__
    assert not {"__attrs_pre_init__", "__attrs_post_init__"} & {*made.__code__.co_names}
    assert inspect.signature(_Checked) == signature
    assert "__attrs_pre_init__" in _OfAttrs.__init__.__code__.co_names
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'a'"):
        _Checked()  # type: ignore[call-arg]


def test_the_constructor_is_compiled_again_where_the_cache_of_lines_was_cleared() -> None:
    """As the gateway clears it when it starts."""

    @frozen
    class Late:
        a: int
        b: int
        c: int = 3

    linecache.clearcache()
    for _ in range(_FIRST):
        Late(1, 2)

    assert "__attrs_pre_init__" not in Late.__init__.__code__.co_names
    assert (Late(1, 2).c, Late(1, 2)) == (3, Late(1, 2, 3))


def test_without_equality_values_are_told_apart_by_identity() -> None:
    """As with attrs."""
    one, other = _ByIdentity(1, 2, 3), _ByIdentity(1, 2, 3)

    assert one != other
    assert len({one, other}) == 2


@frozen(kw_only=True)
class _Error(Exception):
    a: int
    b: int
    c: int


def test_an_exception_can_be_raised_again_by_a_context_manager() -> None:
    """Python sets the traceback and the cause of an error that is under way."""
    error = _Error(a=1, b=2, c=3)

    with pytest.raises(_Error), contextlib.suppress(ValueError):
        raise error from ValueError("a")
    assert error.with_traceback(None).__cause__ is not None
    with pytest.raises(FrozenInstanceError):
        error.a = 2  # type: ignore[misc]
