"""OpenAI Responses: which item an event belongs to.

By the documents, events name their item twice, by `output_index` and `item_id`. Servers break
either: GitHub Copilot makes a new id for each event, others number all items 0, llama.cpp numbers
none. So the rules are, in order:

    event                   1st                      2nd            3rd
    inside an item (delta,  output_index and id      item_id        output_index, else the
      part, *.done)         agree                                   open item of that type
    output_item.added       output_index of an item  call_id or id  a new item
                            known by deltas alone
    output_item.done        output_index, call ids   call_id or id  without output_index the open
                            agree                                   item, else a new one
    response.completed      index among items of     output_index   call_id or id, else a new one
                            its type, where as many
                            were streamed

In all of them an item of another type is not taken, nor a call with another `call_id`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from llmcore.protocols.native_json import int_or_none, str_or_none
from llmcore.protocols.openai_responses.names import NativeObject
from llmcore.protocols.openai_responses.state import Item, ResponsesState
from llmcore.schema.changed import changed

# -- finding


def match_inside(state: ResponsesState, event: NativeObject, *types: str) -> Item | None:
    """Return the item, of one of *types*, that an event about its inside belongs to."""
    number = int_or_none(event.get("output_index"))
    item_id = str_or_none(event.get("item_id"))
    candidate = _numbered(state, number, types)
    if candidate is not None and (item_id is None or _has_id(candidate, item_id)):
        return candidate
    if item_id is not None:
        for item in _latest_first(state):
            if item.type in types and _has_id(item, item_id):
                return item
    if candidate is not None or number is not None:
        return candidate
    return _open(state, types)


def match_or_begin(
    state: ResponsesState, event: NativeObject, type_: str
) -> tuple[ResponsesState, Item]:
    """Return the item of *type_* that *event* belongs to; a new one if it was not announced."""
    item = match_inside(state, event, type_)
    if item is not None:
        return state, item
    item_id = str_or_none(event.get("item_id"))
    native: NativeObject = {"type": type_} if item_id is None else {"type": type_, "id": item_id}
    return begin_item(state, native, int_or_none(event.get("output_index")))


def match_added(state: ResponsesState, native: NativeObject, number: int | None) -> Item | None:
    """Return the item that the announcement *native* repeats; None for a new one."""
    candidate = _numbered(state, number, (str(native.get("type")),))
    if candidate is not None and candidate.native.keys() <= {"type", "id"}:
        return candidate  # known by its deltas alone
    return _with_same_id(state, native)


def match_done(state: ResponsesState, native: NativeObject, number: int | None) -> Item | None:
    """Return the item whose whole form is *native*; None for a new one."""
    type_ = str(native.get("type"))
    candidate = _numbered(state, number, (type_,))
    if candidate is not None and _can_be(candidate, native):
        names = ("call_id", "id") if native.get("call_id") is not None else ("id",)
        if not candidate.done or any(candidate.native.get(n) == native.get(n) for n in names):
            return candidate
    same = _with_same_id(state, native)
    return same if same is not None or number is not None else _open(state, (type_,))


def match_final(state: ResponsesState, output: Sequence[NativeObject]) -> list[Item | None]:
    """Return, for each item of the final *output*, the one that was streamed; None for new ones.

    Where as many of a type came as are in the list, they are the same, in order: numbers
    may have gaps, and ids may have changed.
    """
    streamed: dict[str, list[Item]] = {}
    for position in sorted(state.items):
        item = state.items[position]
        streamed.setdefault(item.type, []).append(item)
    listed = Counter(str(native.get("type")) for native in output)
    taken: Counter[str] = Counter()
    found: list[Item | None] = []
    for number, native in enumerate(output):
        type_ = str(native.get("type"))
        same = streamed.get(type_, [])
        nth = same[taken[type_]] if len(same) == listed[type_] else None
        taken[type_] += 1
        candidates = (nth, _numbered(state, number, (type_,)), _with_same_id(state, native))
        found.append(next((item for item in candidates if item and _can_be(item, native)), None))
    return found


def _with_same_id(state: ResponsesState, native: NativeObject) -> Item | None:
    """Return the item of the same type that has the call id of *native*, or its id."""
    for name in ("call_id", "id"):
        wanted = str_or_none(native.get(name))
        for item in _latest_first(state):
            same_type = item.type == native.get("type")
            if wanted is not None and same_type and item.native.get(name) == wanted:
                return item
    return None


def _numbered(state: ResponsesState, number: int | None, types: Iterable[str]) -> Item | None:
    if number is None:
        return None
    item = state.items.get(state.positions.get(number, -1))
    return item if item is not None and item.type in types else None


def _open(state: ResponsesState, types: Iterable[str]) -> Item | None:
    for item in _latest_first(state):
        if item.type in types and not item.done:
            return item
    return None


def _latest_first(state: ResponsesState) -> Iterable[Item]:
    return reversed(list(state.items.values()))


def _has_id(item: Item, item_id: str) -> bool:
    """Return whether *item_id* is the item's; some servers name calls by their call id."""
    return item_id in (item.native.get("id"), item.native.get("call_id"))


def _can_be(item: Item, native: NativeObject) -> bool:
    """Return whether the call ids, which servers never change, let *native* be *item*."""
    before, now = str_or_none(item.native.get("call_id")), str_or_none(native.get("call_id"))
    return before is None or now is None or before == now


# -- beginning


def begin_item(
    state: ResponsesState, native: NativeObject, number: int | None
) -> tuple[ResponsesState, Item]:
    """Return *state* with a new item, at the index the server gives it if that is free."""
    position = number if number is not None and number >= 0 else -1
    if position < 0 or position in state.items:
        position = max(state.items, default=-1) + 1
    item = Item(position=position, type=str(native.get("type")), native=native)
    positions = {**state.positions, position if number is None else number: position}
    items = {**state.items, position: item}
    return changed(state, items=items, positions=positions, fast_path=None), item
