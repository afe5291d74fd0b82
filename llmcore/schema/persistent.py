"""Persistent values for the state of responses: a list and a map that grow without being copied.

A step of a stream machine returns a new state and leaves the old one as it was. What grows with
the response (calls, parts, citations, sources) must then not be copied at each step, or a response
of many parts costs the square of their number.

A map begins as a `dict`, which is copied while it is small; nearly all responses end so. From then
on it is a tree of small nodes, of which a new entry replaces one at each level:

    names = with_entry({}, "a", 1)            # {"a": 1}
    names = with_entry(names, "b", 2)         # {"a": 1, "b": 2}
    names = without_entry(names, "a")         # {"b": 2}
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec

# -- a list


class PersistentList(msgspec.Struct, frozen=True, eq=False):
    """A list that grows at its head: `PersistentList(new, before)` copies nothing.

    A Struct, which is made in a third of the time: there is one for each token.
    """

    value: Any
    rest: "PersistentList | None"

    def __repr__(self) -> str:
        """Return the last value only: lists are as long as responses."""
        return f"PersistentList({self.value!r}, ...)"


def from_list(values: Iterable[Any]) -> PersistentList | None:
    """Return *values*, oldest first, as a list that can grow."""
    chain: PersistentList | None = None
    for value in values:
        chain = PersistentList(value, chain)
    return chain


def to_list(chain: PersistentList | None) -> list[Any]:
    """Return the values of *chain*, oldest first."""
    values: list[Any] = []
    while chain is not None:
        values.append(chain.value)
        chain = chain.rest
    return values[::-1]


# -- a map

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

_SMALL: Final = 32
"""Maps of at most this size are copied for each new entry."""
_BITS: Final = 4
_BRANCHES: Final = 1 << _BITS
_DEEPEST: Final = 60 // _BITS
"""The deepest level of branches, below which no bits of the hash are left."""

_Leaf: TypeAlias = dict[Any, tuple[int, Any]]
"""Entries by their keys: when each was added, and its value."""
_Node: TypeAlias = "_Leaf | tuple[_Node, ...]"


def with_entry(entries: Mapping[_K, _V], key: _K, value: _V) -> Mapping[_K, _V]:
    """Return *entries* with *value* at *key*; a new key comes last."""
    if type(entries) is not _Tree:
        if len(entries) < _SMALL or key in entries:
            return {**entries, key: value}
        entries = _Tree.of(entries)
    return entries.with_entry(key, value)


def with_entries(entries: Mapping[_K, _V], new: Mapping[_K, _V]) -> Mapping[_K, _V]:
    """Return *entries* with all of *new*."""
    for key, value in new.items():
        entries = with_entry(entries, key, value)
    return entries


def without_entry(entries: Mapping[_K, _V], key: _K) -> Mapping[_K, _V]:
    """Return *entries* without *key*, which must be one of theirs."""
    if type(entries) is _Tree:
        return entries.without_entry(key)
    rest = dict(entries)
    del rest[key]
    return rest


class _Tree(Mapping[_K, _V]):
    """A large map. Leaves hold the entries, branches lead to them by four bits of the hash each."""

    __slots__ = ("_added", "_root", "_size")

    def __init__(self, root: _Node, size: int, added: int) -> None:
        self._root, self._size = root, size
        self._added = added
        """How many entries were ever added: the order of iteration."""

    @classmethod
    def of(cls, entries: Mapping[_K, _V]) -> "_Tree[_K, _V]":
        tree: _Tree[_K, _V] = cls({}, 0, 0)
        for key, value in entries.items():
            tree = tree.with_entry(key, value)
        return tree

    def _find(self, key: object) -> tuple[int, Any] | None:
        node, rest = self._root, hash(key)
        while isinstance(node, tuple):
            node, rest = node[rest % _BRANCHES], rest >> _BITS
        return node.get(key)

    def __getitem__(self, key: _K) -> _V:
        entry = self._find(key)
        if entry is None:
            raise KeyError(key)
        return cast("_V", entry[1])

    def __iter__(self) -> Iterator[_K]:
        entries = sorted(_entries(self._root), key=itemgetter(1))
        return (key for key, _ in entries)

    def __len__(self) -> int:
        return self._size

    def with_entry(self, key: _K, value: _V) -> "_Tree[_K, _V]":
        before = self._find(key)
        number = self._added if before is None else before[0]
        root = _put(self._root, hash(key), 0, key, (number, value))
        new = before is None
        return _Tree(root, self._size + new, self._added + new)

    def without_entry(self, key: _K) -> "_Tree[_K, _V]":
        return _Tree(_remove(self._root, hash(key), key), self._size - 1, self._added)


def _put(node: _Node, rest: int, depth: int, key: object, entry: tuple[int, Any]) -> _Node:
    """Return *node* with *entry*; a leaf that grows too large becomes a branch."""
    if isinstance(node, tuple):
        at = rest % _BRANCHES
        return _replaced(node, at, _put(node[at], rest >> _BITS, depth + 1, key, entry))
    leaf = {**node, key: entry}
    if len(leaf) <= _BRANCHES or depth == _DEEPEST:
        return leaf
    leaves: tuple[_Leaf, ...] = tuple({} for _ in range(_BRANCHES))
    for other, its_entry in leaf.items():
        leaves[(hash(other) >> _BITS * depth) % _BRANCHES][other] = its_entry
    return leaves


def _remove(node: _Node, rest: int, key: object) -> _Node:
    if isinstance(node, tuple):
        at = rest % _BRANCHES
        return _replaced(node, at, _remove(node[at], rest >> _BITS, key))
    leaf = dict(node)
    del leaf[key]
    return leaf


def _replaced(branch: tuple[_Node, ...], at: int, node: _Node) -> tuple[_Node, ...]:
    return (*branch[:at], node, *branch[at + 1 :])


def _entries(node: _Node) -> Iterator[tuple[Any, int]]:
    """Yield the keys below *node*, with their numbers."""
    if isinstance(node, tuple):
        for below in node:
            yield from _entries(below)
    else:
        yield from ((key, number) for key, (number, _) in node.items())
