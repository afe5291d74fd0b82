"""JSON as Python values."""

import json as standard
import math
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import (
    MAX_DEPTH,
    JsonValue,
    canonical,
    dumps,
    loads,
    loads_exact,
    plain_json,
    plain_metadata,
    plain_object,
)
from tests.support.strategies.values import json_objects, json_values


def nested(levels: int) -> Any:
    """Build lists inside one another."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def scrambled(value: Any) -> None:
    """Empty every container in *value*."""
    children = list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for child in children:
            scrambled(child)
        value.clear()


# -- reading and writing


@given(json_values())
def test_what_is_written_reads_back(value: JsonValue) -> None:
    """Writing and reading lose nothing but the exactness of integers beyond 64 bits."""
    assert loads_exact(dumps(value).decode()) == value
    assert standard.loads(dumps(value)) == value


@given(st.text(), st.text())
def test_half_surrogate_pairs_survive(left: str, right: str) -> None:
    """Servers cut emoji in two, and each half is text too."""
    text = f"{left}\ud83d{right}"

    assert loads(dumps([text])) == standard.loads(standard.dumps([text]))


@given(st.binary(max_size=20) | st.text(max_size=20))
def test_reading_gives_a_value_or_a_value_error(data: bytes | str) -> None:
    """Nothing else escapes, whatever comes over the wire; and what is read can be kept."""
    try:
        value = loads(data)
    except ValueError:
        return
    assert plain_json(value) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", None),
        ("[Infinity, -Infinity, 1.5]", [None, None, 1.5]),
        ('{"a": 1e999}', {"a": None}),
        ('"\\ud83d"', "\ud83d"),
        (b'{"a": [true, null]}', {"a": [True, None]}),
        (b'{"wei": 123456789012345678901234567890}', {"wei": 123456789012345678901234567890}),
        (b"[NaN, -9223372036854775809]", [None, -9223372036854775809]),
        ("[" + "1" * 5000 + "]", [None]),
    ],
)
def test_reading_takes_what_servers_write(text: bytes | str, value: JsonValue) -> None:
    """Numbers that JSON lacks are None, as JavaScript writes them."""
    assert loads(text) == value


@pytest.mark.parametrize("text", ["", "{", '{"a":}', "[1,]", "nul", b"\xff", "[" * 100_000])
def test_reading_what_is_not_json_is_a_value_error(text: bytes | str) -> None:
    """Callers catch one exception, also for a document built to exhaust the stack."""
    with pytest.raises(ValueError):  # noqa: PT011  (the readers' texts differ)
        loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": NaN}', "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("1e999", "too large"),
        ('{"a": 1', "delimiter"),
        (standard.dumps(nested(MAX_DEPTH + 1)), "levels deep"),
        ("[" * 100_000, "deep"),
    ],
)
def test_exact_reader_refuses_what_is_not_plain_json(text: str, reason: str) -> None:
    """Nothing that `plain` would refuse later comes out of the exact reader."""
    with pytest.raises(ValueError, match=reason):
        loads_exact(text)


def test_exact_reading_keeps_every_digit() -> None:
    """An integer beyond 64 bits is an id to someone."""
    assert loads_exact("[123456789012345678901234567890]") == [123456789012345678901234567890]


def test_integers_beyond_64_bits_are_written_whole() -> None:
    """The fast writer refuses them; the other one steps in."""
    assert dumps([2**80]) == b"[1208925819614629174706176]"


@given(json_objects())
def test_canonical_text_does_not_depend_on_key_order(value: dict[str, JsonValue]) -> None:
    """Equal objects give equal text."""
    assert canonical(value) == canonical(dict(reversed(list(value.items()))))


# -- plain copies


@given(json_values())
def test_plain_copies_all_the_way_down(value: JsonValue) -> None:
    """Whatever happens to the original, the copy stays."""
    before = standard.dumps(value)
    copy = plain_json(value)

    scrambled(value)

    assert standard.dumps(copy) == before


def test_plain_makes_dicts_and_lists() -> None:
    """Other mappings and tuples become what JSON readers give."""
    copy = plain_json(MappingProxyType({"a": (1, [2], MappingProxyType({}))}))

    assert copy == {"a": [1, [2], {}]}
    assert type(copy) is dict


def test_plain_takes_kinds_of_text_and_numbers() -> None:
    """An enumeration of texts is text."""

    class Kind(StrEnum):
        FINISH = "finish"

    assert dumps(plain_json({"type": Kind.FINISH})) == b'{"type":"finish"}'


def circular() -> list[Any]:
    """Build a list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "value is nan"),
        ({"a": [1, math.inf]}, r"value\.a\[1\] is inf"),
        ({"a": {2: 3}}, r"value\.a has the key 2; JSON keys are strings"),
        ({None: 1}, "value has the key None"),
        ([b"x"], r"value\[0\] is a bytes"),
        ({"a": {1, 2}}, r"value\.a is a set"),
        (object(), "value is a object"),
        (nested(MAX_DEPTH + 1), f"more than {MAX_DEPTH} levels"),
        (circular(), f"more than {MAX_DEPTH} levels"),
    ],
)
def test_plain_json_error_names_the_value(value: object, message: str) -> None:
    """The error tells where to look."""
    with pytest.raises(InvalidRequestError, match=message):
        plain_json(value)


def test_nesting_up_to_max_depth_is_accepted() -> None:
    """The limit itself is allowed, for `plain` and for the exact reader."""
    assert plain_json(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    assert loads_exact(standard.dumps(nested(MAX_DEPTH))) == nested(MAX_DEPTH)


@pytest.mark.parametrize("value", [[], "text", 5, True])
def test_an_object_is_an_object(value: object) -> None:
    """Anything but a mapping is refused."""
    with pytest.raises(InvalidRequestError, match="value must be a JSON object"):
        plain_object(value)


def test_no_object_is_an_empty_one() -> None:
    """None means that there is nothing to say."""
    assert plain_object(None) == {}
    assert plain_metadata(None) == {}


def test_metadata_is_keyed_by_provider() -> None:
    """A provider's data is an object."""
    with pytest.raises(InvalidRequestError, match=r"provider_metadata\['acme'\]"):
        plain_metadata({"acme": "x"})


@pytest.mark.parametrize(
    "data", [{}, {"id": "a", "index": 0, "last": True, "more": None}, {"index": -(10**40)}]
)
def test_metadata_is_a_copy(data: dict[str, Any]) -> None:
    given = {"acme": data}
    made = plain_metadata(given)

    assert made == given
    assert made["acme"] is not data


@pytest.mark.parametrize(
    "value",
    [10**4300, -(10**5000), float("inf"), object()],
    ids=["large", "small", "inf", "object"],
)
def test_metadata_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match="acme"):
        plain_metadata({"acme": {"id": "a", "value": value}})


# -- what cannot be written


@pytest.mark.parametrize("write", [dumps, canonical, plain_json])
@pytest.mark.parametrize(
    "value", [10**4300, -(10**5000), {"a": [10**4300]}], ids=["positive", "negative", "inside"]
)
def test_integers_of_too_many_digits_are_a_typed_error(write: Any, value: Any) -> None:
    """Python itself refuses to write them, with a bare ValueError."""
    with pytest.raises(InvalidRequestError, match="digits"):
        write(value)


def test_the_largest_integers_are_written() -> None:
    """To the last digit, by every way."""
    largest = 10**4300 - 1

    assert plain_json({"a": largest}) == {"a": largest}
    assert loads(dumps([largest, -largest])) == [largest, -largest]
