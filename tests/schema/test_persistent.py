"""Lists and maps that grow without being copied: `llmcore/schema/persistent.py`."""

import gc
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.persistent import (
    PersistentList,
    from_list,
    to_list,
    with_entries,
    with_entry,
    without_entry,
)


@given(st.lists(st.integers()))
def test_values_come_back_oldest_first(values: list[int]) -> None:
    """In the order in which they were added."""
    assert to_list(from_list(values)) == values
    assert to_list(PersistentList(7, from_list(values))) == [*values, 7]


class Colliding(str):
    """A key whose hash many others have."""

    __slots__ = ()

    def __hash__(self) -> int:
        return len(self) % 2


KEYS = st.one_of(
    st.integers(-3, 60),
    st.sampled_from([1 << 60, -(1 << 60), 16, 256, 4096]),
    st.text("ab", max_size=5),
    st.text("ab", max_size=4).map(Colliding),
)


@given(st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers())), max_size=200))
def test_map_is_as_a_dict_in_which_the_same_was_put_and_removed(
    changes: list[tuple[int | str, int | None]],
) -> None:
    """None removes a key. Every map that was there before stays as it was."""
    entries: Mapping[int | str, int] = {number: number for number in range(1000, 1030)}
    expected = dict(entries)
    kept: list[tuple[Mapping[int | str, int], dict[int | str, int]]] = []
    for key, value in changes:
        kept.append((entries, dict(expected)))
        if value is not None:
            entries, expected[key] = with_entry(entries, key, value), value
        elif key in expected:
            entries = without_entry(entries, key)
            del expected[key]
    for before, as_it_was in (*kept, (entries, expected)):
        assert list(before.items()) == list(as_it_was.items())
        assert len(before) == len(as_it_was)
        assert all(before.get(key) == as_it_was.get(key) for key, _ in changes)


def test_key_that_a_large_map_has_not_is_a_key_error() -> None:
    """As of a dict."""
    entries = with_entries({}, dict.fromkeys(range(100), ""))

    with pytest.raises(KeyError):
        entries[100]


def test_entry_of_a_large_map_makes_few_new_nodes() -> None:
    """However many entries there are."""
    entries: Mapping[int, None] = with_entries({}, dict.fromkeys(range(5000)))
    before = {id(node) for node in _nodes(entries)}
    after = [node for node in _nodes(with_entry(entries, 5000, None)) if id(node) not in before]

    assert sum(len(gc.get_referents(node)) for node in after) < 150


def _nodes(value: object) -> list[object]:
    below = [one for one in gc.get_referents(value) if isinstance(one, tuple | dict)]
    return [value, *(node for one in below for node in _nodes(one))]
