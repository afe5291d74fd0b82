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

In all of them an item of another type is not taken, nor a call with another `call_id`, unless the
final response has none of the call ids that were streamed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec.structs import replace

from llmcore.folds.segments import MAX_PARTS
from llmcore.protocols.openai_responses.call_inputs import input_text
from llmcore.protocols.openai_responses.state import (
    ID_FIELDS,
    Item,
    ResponsesState,
    item_ids,
    with_item,
)
from llmcore.schema.errors import StreamError
from llmcore.schema.json import NativeObject, json_or_text
from llmcore.schema.native_json import int_or_none, str_or_none
from llmcore.schema.persistent import with_entry

# -- finding the item


def match_inside(state: ResponsesState, event: NativeObject, *types: str) -> Item | None:
    """Return the item, of one of *types*, that an event about its inside belongs to."""
    number = int_or_none(event.get("output_index"))
    item_id = str_or_none(event.get("item_id"))
    candidate = _numbered(state, number, types)
    if candidate is not None and item_id is None:
        return candidate
    # some servers name calls by their call id
    if candidate and item_id in (candidate.native.get("id"), candidate.native.get("call_id")):
        return candidate
    if item_id is not None:
        keys = [(type_, name, item_id) for type_ in types for name in ID_FIELDS]
        named = [state.items[at] for key in keys for at in state.ids.get(key, ())[-1:]]
        if named:
            return max(named, key=attrgetter("order"))
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


def repeats_items(state: ResponsesState, output: Sequence[NativeObject]) -> bool:
    """Return whether the final *output* is just the items that have ended, unchanged.

    Then there is nothing to match, to end or to note.
    """
    items = state.items
    return len(output) == len(items) and all(
        (item := items.get(number)) is not None and item.done and item.native == native
        for number, native in enumerate(output)
    )


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
    known = {native.get("type") for native in output if _has_known_call_id(state, native)}
    taken: Counter[str] = Counter()
    matches: list[Item | None] = []
    for number, native in enumerate(output):
        type_ = str(native.get("type"))
        same = streamed.get(type_, [])
        nth = same[taken[type_]] if len(same) == listed[type_] else None
        taken[type_] += 1
        candidates = (nth, _numbered(state, number, (type_,)), _with_same_id(state, native))
        match = next((item for item in candidates if item and _can_be(item, native)), None)
        if match is None and nth is not None and type_ not in known and _is_same_call(nth, native):
            match = nth
        matches.append(match)
    return matches


def _has_known_call_id(state: ResponsesState, native: NativeObject) -> bool:
    """Return whether *native* is a call with the id of one that was streamed."""
    keys = item_ids(str(native.get("type")), native)
    return any(name == "call_id" and state.ids.get((t, name, id_)) for t, name, id_ in keys)


def _is_same_call(item: Item, native: NativeObject) -> bool:
    """Return whether *native*, whose call id was not streamed, calls the same with the same input.

    vLLM makes new ids for the calls in its final response, and may write other arguments:
    https://github.com/vllm-project/vllm/pull/47916.
    """
    if item.native.get("name") != native.get("name"):
        return False
    before = (input_text(item.native) or item.text) if item.done else ""
    return not before or json_or_text(before) == json_or_text(input_text(native))


def _with_same_id(state: ResponsesState, native: NativeObject) -> Item | None:
    """Return the item of the same type that has the call id of *native*, or its id."""
    for key in item_ids(str(native.get("type")), native):
        positions = state.ids.get(key)
        if positions:
            return state.items[positions[-1]]
    return None


def _numbered(state: ResponsesState, number: int | None, types: Iterable[str]) -> Item | None:
    if number is None:
        return None
    item = state.items.get(state.positions.get(number, -1))
    return item if item is not None and item.type in types else None


def _open(state: ResponsesState, types: Iterable[str]) -> Item | None:
    """Return the latest item of one of *types* that is not done."""
    chains = (state.unfinished.get(type_) for type_ in types)
    latest = max((chain.value for chain in chains if chain is not None), default=None)
    return None if latest is None else state.items[latest[1]]


def _can_be(item: Item, native: NativeObject) -> bool:
    """Return whether the call ids let *native* be *item*."""
    before, now = str_or_none(item.native.get("call_id")), str_or_none(native.get("call_id"))
    return before is None or now is None or before == now


# -- beginning an item


def begin_item(
    state: ResponsesState, native: NativeObject, number: int | None
) -> tuple[ResponsesState, Item]:
    """Return *state* with a new item, at the index the server gives it if that is free."""
    position = number if number is not None and number >= 0 else -1
    if position < 0 or position in state.items:
        position = state.next_position
    order = len(state.items)
    item = Item(position=position, order=order, type=str(native.get("type")), native=native)
    known_as = position if number is None else number
    positions = with_entry(state.positions, known_as, position)
    if len(state.items) >= MAX_PARTS:
        raise StreamError(f"the response has more than {MAX_PARTS} items")
    return with_item(replace(state, positions=positions), item), item
