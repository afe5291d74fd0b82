"""OpenAI Responses: which item an event speaks of.

By the documents events name their item twice, by `output_index` and `item_id`. Servers break
either: GitHub Copilot makes a new id for each event, others number all items 0, llama.cpp numbers
none. So an item is found by its number if its type fits, by its id if that is another item's, and
last as the one that is open.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from llmcore.protocols.native_json import int_or_none, str_or_none
from llmcore.protocols.openai_responses.names import NativeObject
from llmcore.protocols.openai_responses.state import Item, State
from llmcore.schema.changed import changed

# -- finding


def find(state: State, event: NativeObject, *kinds: str) -> Item | None:
    """Return the item of one of *kinds* that an event about its inside speaks of."""
    number = int_or_none(event.get("output_index"))
    item_id = str_or_none(event.get("item_id"))
    candidate = _numbered(state, number, kinds)
    if candidate is not None and (item_id is None or _is_called(candidate, item_id)):
        return candidate
    if item_id is not None:
        for item in _latest_first(state):
            if item.kind in kinds and _is_called(item, item_id):
                return item
    if candidate is not None or number is not None:
        return candidate
    return _open(state, kinds)


def find_announced(state: State, native: NativeObject, number: int | None) -> Item | None:
    """Return the item that the announcement *native* repeats, or names at last."""
    kind = str_or_none(native.get("type")) or ""
    candidate = _numbered(state, number, (kind,))
    if candidate is not None and candidate.native.keys() <= {"type", "id"}:
        return candidate  # made up from what came before
    return _named(state, native, kind)


def find_whole(state: State, native: NativeObject, number: int | None) -> Item | None:
    """Return the item that *native*, a whole item, is the last word on; None for a new one."""
    kind = str_or_none(native.get("type")) or ""
    candidate = _numbered(state, number, (kind,))
    if candidate is not None and _agrees(candidate, native):
        return candidate
    named = _named(state, native, kind)
    return named if named is not None or number is not None else _open(state, (kind,))


def _named(state: State, native: NativeObject, kind: str) -> Item | None:
    """Return the item of *kind* that has the call id of *native*, or its id."""
    for name in ("call_id", "id"):
        wanted = str_or_none(native.get(name))
        for item in _latest_first(state):
            if wanted is not None and item.kind == kind and item.native.get(name) == wanted:
                return item
    return None


def _numbered(state: State, number: int | None, kinds: Iterable[str]) -> Item | None:
    if number is None:
        return None
    item = state.items.get(state.places.get(number, -1))
    return item if item is not None and item.kind in kinds else None


def _open(state: State, kinds: Iterable[str]) -> Item | None:
    for item in _latest_first(state):
        if item.kind in kinds and not item.done:
            return item
    return None


def _latest_first(state: State) -> Iterable[Item]:
    return reversed(list(state.items.values()))


def _is_called(item: Item, item_id: str) -> bool:
    """Return whether *item_id* is the item's; some servers name calls by their call id."""
    return item_id in (item.native.get("id"), item.native.get("call_id"))


def _agrees(item: Item, native: NativeObject) -> bool:
    """Return whether *native* can be a later word on *item*."""
    if not _may_be(item, native):
        return False
    names = ("call_id", "id") if native.get("call_id") is not None else ("id",)
    return not item.done or any(item.native.get(name) == native.get(name) for name in names)


def _may_be(item: Item, native: NativeObject) -> bool:
    """Return whether the call ids, which no server changes, let *native* be *item*."""
    before, now = str_or_none(item.native.get("call_id")), str_or_none(native.get("call_id"))
    return before is None or now is None or before == now


# -- the final list


def paired(state: State, output: Sequence[NativeObject]) -> list[Item | None]:
    """Return, for each item of the final *output*, the one that was streamed; None for new ones.

    Where as many of a type came as are in the list, they are the same, in order: numbers
    may have gaps, and ids may have changed.
    """
    streamed: dict[str, list[Item]] = {}
    for place in sorted(state.items):
        item = state.items[place]
        streamed.setdefault(item.kind, []).append(item)
    listed = Counter(str(native.get("type")) for native in output)
    taken: Counter[str] = Counter()
    found: list[Item | None] = []
    for number, native in enumerate(output):
        kind = str(native.get("type"))
        same = streamed.get(kind, [])
        nth = same[taken[kind]] if len(same) == listed[kind] else None
        taken[kind] += 1
        candidates = (nth, _numbered(state, number, (kind,)), _named(state, native, kind))
        found.append(next((one for one in candidates if one and _may_be(one, native)), None))
    return found


# -- beginning


def begin(state: State, kind: str, native: NativeObject, number: int | None) -> tuple[State, Item]:
    """Return *state* with a new item, at the place the server gives it if that is free."""
    place = number if number is not None and number >= 0 else -1
    if place < 0 or place in state.items:
        place = max(state.items, default=-1) + 1
    item = Item(place=place, kind=kind, native=native)
    places = {**state.places, place if number is None else number: place}
    items = {**state.items, place: item}
    return changed(state, items=items, places=places, current=place, hot=None), item


def found_or_begun(state: State, event: NativeObject, kind: str) -> tuple[State, Item]:
    """Return the item of *kind* that *event* speaks of, made up if it was not announced."""
    item = find(state, event, kind)
    if item is not None:
        return state, item
    item_id = str_or_none(event.get("item_id"))
    native: NativeObject = {"type": kind} if item_id is None else {"type": kind, "id": item_id}
    return begin(state, kind, native, int_or_none(event.get("output_index")))
