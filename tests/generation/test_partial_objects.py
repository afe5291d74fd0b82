"""Values that can be read of a JSON document while it arrives."""

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.generation import partial_objects
from llmcore.generation.partial_objects import EAGER, ElementScanner, PartialValue, contains
from llmcore.schema.json import JsonValue
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_values

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\\"[]{},1eu0'))
leaves = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | texts
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def spelled(draw: st.DrawFn, of: st.SearchStrategy[Any]) -> tuple[Any, list[str]]:
    """Return a value and its JSON text in pieces."""
    value = draw(of)
    indent, ascii_only = draw(st.sampled_from([None, 2])), draw(st.booleans())
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=30)))
    return value, pieces_of(text, cuts)


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def read_in(pieces: Sequence[str], opening: str = "{[") -> list[JsonValue]:
    """Return every value that is read, the last one at the end."""
    partial = PartialValue(opening)
    values = [partial.feed(piece) for piece in pieces]
    return [value for value in [*values, partial.read()] if value is not None]


@given(given_=spelled(st.lists(trees, max_size=4) | st.dictionaries(texts, trees, max_size=4)))
@costly
def test_values_only_grow_into_the_whole(given_: tuple[Any, list[str]]) -> None:
    """Each is contained in the next, and the last is the document."""
    whole, pieces = given_
    values = read_in(pieces)

    assert values[-1] == whole
    for smaller, larger in pairwise(values):
        assert contains(larger, smaller)


@given(given_=spelled(st.lists(trees, max_size=4)))
@costly
def test_every_prefix_can_be_read(given_: tuple[Any, list[str]]) -> None:
    """Character by character, nothing is taken back and nothing is refused."""
    _, pieces = given_
    text = "".join(pieces)[:EAGER]
    values = read_in(list(text))

    assert len(values) == len(text) + 1
    assert all(contains(b, a) for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 12', {}),
        ('{"a": 12,', {"a": 12}),
        ('{"a": 1.5e', {}),
        ('{"a": tr', {}),
        ('{"a": true', {}),
        ('{"a": true ', {"a": True}),
        ('{"a": "x', {"a": "x"}),
        ('{"a": "x\\u00e', {"a": "x"}),
        ('{"a": "\\ud83d', {"a": ""}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": [', {"a": []}),
        ("```json\n[1, 2", [1]),
        ("Hello", None),
        ("", None),
        ('{"a": NaN', None),
        ('{"a": 1, "a": 2,', None),
    ],
)
def test_a_partial_value_has_open_strings_but_only_complete_numbers(text: str, value: Any) -> None:
    """Strings as far as they go, numbers and names once they are complete."""
    partial = PartialValue()
    partial.feed(text)

    assert partial.read() == value


def test_text_before_the_document_is_skipped() -> None:
    """Also when it comes in pieces; the opening may be said to be one kind."""
    assert read_in(["Here", " [it]:", ' {"a"', ": 1}"], "{")[-1] == {"a": 1}


@pytest.mark.parametrize(
    ("larger", "smaller", "is_contained"),
    [
        ({"a": "xy", "b": 1}, {"a": "x"}, True),
        ([1, [2, 3]], [1, [2]], True),
        (["xy"], ["x"], True),
        ([2], [1], False),
        ([1], [1, 2], False),
        ({"b": 1}, {"a": 1}, False),
        (1, True, False),
        ({"a": None}, {"a": None}, True),
        ("x", ["x"], False),
        (["x"], "x", False),
        ([], {}, False),
    ],
)
def test_a_larger_value_contains_a_smaller_if_nothing_changed(
    larger: JsonValue, smaller: JsonValue, is_contained: bool
) -> None:
    """More properties, elements or characters; nothing changed."""
    assert contains(larger, smaller) is is_contained


def test_a_long_text_is_not_read_at_every_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is read is at most some 17 times the text, and 1 MB for its beginning."""
    read: list[int] = []
    whole = json.dumps({"items": [f"item number {n}" for n in range(20_000)]})
    original = partial_objects._partial

    def counting(text: str) -> JsonValue:
        read.append(len(text))
        return original(text)

    monkeypatch.setattr(partial_objects, "_partial", counting)
    values = read_in([whole[at : at + 4] for at in range(0, len(whole), 4)])

    assert values[-1] == json.loads(whole)
    assert sum(read) < 18 * len(whole) + EAGER * EAGER
    assert 100 < len(values) < 1000


# -- elements


def scanned(pieces: Sequence[str]) -> list[Any]:
    scanner = ElementScanner()
    for piece in pieces:
        scanner.feed(piece)
    return [json.loads(text) for text in scanner.found]


@given(given_=spelled(st.lists(trees, max_size=5)))
@costly
def test_elements_are_cut_however_the_text_is(given_: tuple[Any, list[str]]) -> None:
    """Any pieces give each element once, in order."""
    whole, pieces = given_

    assert scanned(pieces) == whole
    assert scanned(['{"value": ', *pieces, "} [1]"]) == whole


@given(values=st.lists(json_values(), min_size=1, max_size=3))
@costly
def test_an_element_is_found_as_soon_as_it_is_complete(values: list[JsonValue]) -> None:
    """The comma after it completes it; the last one waits for the bracket."""
    scanner = ElementScanner()
    scanner.feed("[")
    for value in values:
        before = len(scanner.found)
        scanner.feed(json.dumps(value))
        assert len(scanner.found) == before
        scanner.feed(",")
        assert len(scanner.found) == before + 1


def test_scanning_takes_linear_time() -> None:
    """A megabyte of small deltas, in one string, takes no time to speak of."""
    scanner = ElementScanner()
    begun = time.perf_counter()
    scanner.feed('["')
    for _ in range(100_000):
        scanner.feed("0123456789")
    scanner.feed('"]')

    assert len(scanner.found.popleft()) == 1_000_002
    assert time.perf_counter() - begun < 5
