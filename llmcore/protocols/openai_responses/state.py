"""OpenAI Responses: the state of a response that is being read.

A response is a list of items, an item (a message, reasoning, a call) a list of parts. An item goes
through these states; every event may be missing, and may come for an item that was not announced:

    event                          no item yet           open                       done
    response.created, .queued,     begin, emit content   emit content that is new   -
      .in_progress (`output`)
    output_item.added              begin, emit content   emit content that is new   -
    content_part.added             begin, open the part  open the part              -
    *.delta                        begin, open, emit     open if it is not, emit    -
    *.done (text or input)         begin, open, keep     keep the whole text        -
    content_part.done              begin, open, keep     keep the whole text        -
    output_item.done               begin, end -> done    end all parts -> done      -
    response.completed (`output`)  begin, end -> done    end all parts -> done      note changes

State changes on these transitions and not on deltas. It is nested so that a change copies few
fields.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from llmcore.protocols.openai_responses.names import METADATA_KEY, PART_TYPES
from llmcore.protocols.protocol import ResumeRequest
from llmcore.protocols.response_parts import StreamContext
from llmcore.schema.content import TokenLogprob
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import JsonValue, NativeObject, ProviderMetadata
from llmcore.schema.native_json import int_or_none, object_or_empty, objects_or_one, str_or_none
from llmcore.schema.persistent import PersistentList, to_list, with_entry
from llmcore.schema.usage import Usage


class FastPath(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an event that only continues the segment of the last delta."""

    event_type: str
    item_id: JsonValue
    output_index: JsonValue
    index_field: str
    """Which field numbers the parts."""
    part_index: JsonValue
    segment: str
    delta: type[TextDelta] | type[ReasoningDelta] | type[ToolInputDelta]


SAME_ID: Final = 8
"""Of more items that have the same id at once, the first are no longer found by it."""
ID_FIELDS: Final = ("call_id", "id")
ItemId: TypeAlias = tuple[str, str, str]
"""An item's type, one of `ID_FIELDS`, and its value."""
PartKey: TypeAlias = tuple[str, int]
"""A part's native type, and its number among the parts of that type's list."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message or of reasoning."""

    segment: str
    """The id of its events."""
    text: str = ""
    """The whole text, once the server has sent it."""
    citations: PersistentList | None = None
    """The citations of the text."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """Those of the whole text, once the server has sent them."""
    ended: bool = False
    again: int = 0
    """How often deltas came after its end; each time opens a segment, which has only these."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the response."""

    position: int
    """Its index in the response; counted here where the server does not number items."""
    order: int
    """How many items began before it."""
    type: str
    native: NativeObject = {}
    """The item's last whole form. Texts that were emitted when it was announced are empty in it."""
    done: bool = False
    repeated: bool = False
    """Whether it was announced again after its end, so that its deltas repeat what has come."""

    parts: Mapping[PartKey, Part] = {}
    """The parts of a message or of reasoning."""
    last_numbers: Mapping[str, int] = {}
    """The highest number of a part so far, by the type of the part and by its list."""
    whole_thoughts: PersistentList | None = None
    """Keys of parts of reasoning that are whole and may not have ended."""
    unknown_parts: PersistentList | None = None
    """Native parts of other types that came without their item."""
    listed: Mapping[int, Any] = {}
    """The commands or the outputs of a shell, by number, once events bring them one by one."""

    call_id: str = ""
    """Of a call that has begun: the id of its events."""
    closing: str = ""
    """The end of the JSON around a text that is streamed without quotes."""
    text: str = ""
    """The call's whole input, once the server has sent it."""
    held: PersistentList | None = None
    """The input so far of a freeform tool that was offered as a function."""
    skipped: bool = False
    """Whether deltas came before the call had a name; its end must bring the input."""

    @property
    def id(self) -> str | None:
        """The item's id. Some servers make another one for each event."""
        return str_or_none(self.native.get("id"))

    @property
    def metadata(self) -> NativeObject:
        """The metadata that replaying the item needs."""
        id_ = self.id
        return {"index": self.position} if id_ is None else {"id": id_, "index": self.position}


class ResponsesInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of the response as a whole."""

    started: bool = False
    early: PersistentList | None = None
    """Notifications that came before the response began."""
    response_id: str | None = None
    input_digest: bytes | None = None
    """The digest of the input, where later requests are to continue the stored response."""
    background: bool = False
    """Whether the response continues without a reader, so that its stream can be resumed."""
    ended: bool = False
    called: bool = False
    """Whether the model called a tool that the client runs."""
    call_ids: Mapping[str, None] = {}
    search: str | None = None
    """The id of the last tool search by the provider, whose output does not name its call."""
    sources: Mapping[str, None] = {}
    """Pages and files for which a `Source` was emitted."""
    diagnostics: PersistentList | None = None
    """The diagnostics so far."""
    audio: PersistentList | None = None
    """Pieces of audio and of its transcript: (whether transcript, text)."""
    usage: Usage | None = None
    """The tokens of a response that failed."""


class ResponsesState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a response that is being read."""

    context: StreamContext
    fast_path: FastPath | None = None
    items: Mapping[int, Item] = {}
    """The items by position."""
    positions: Mapping[int, int] = {}
    """The position of the item that last had an `output_index`; some servers number all 0."""
    ids: Mapping[ItemId, tuple[int, ...]] = {}
    """The positions of the items that have an id, in the order they began: `SAME_ID` at most."""
    unfinished: Mapping[str, PersistentList | None] = {}
    """The items of each type that are not done, by (order, position), the latest first.

    Below the first there may be some that are done.
    """
    next_position: int = 0
    """The position after all that are used."""
    info: ResponsesInfo = ResponsesInfo()

    @property
    def owner(self) -> str:
        """The provider id of native parts."""
        return self.context.provider or METADATA_KEY


def with_item(state: ResponsesState, item: Item) -> ResponsesState:
    """Return *state* with *item* at its position."""
    position, type_ = item.position, item.type
    before = state.items.get(position)
    items = with_entry(state.items, position, item)
    ids, unfinished, next_position = state.ids, state.unfinished, state.next_position
    if before is None or before.native is not item.native:
        ids = _with_ids(ids, items, before, item)
    if before is None:
        chain = PersistentList((item.order, position), unfinished.get(type_))
        unfinished = with_entry(unfinished, type_, chain)
        next_position = max(next_position, position + 1)
    if item.done:
        unfinished = _without_done(unfinished, items, type_)
    return replace(
        state,
        items=items,
        ids=ids,
        unfinished=unfinished,
        next_position=next_position,
        fast_path=None,
    )


def _with_ids(
    ids: Mapping[ItemId, tuple[int, ...]],
    items: Mapping[int, Item],
    before: Item | None,
    item: Item,
) -> Mapping[ItemId, tuple[int, ...]]:
    """Return *ids* with those of *item* in place of those that it had *before*."""
    position = item.position
    new = item_ids(item.type, item.native)
    old = [] if before is None else item_ids(before.type, before.native)
    if new == old:  # as nearly always once an item has begun
        return ids
    for key in old:
        if key not in new:
            ids = with_entry(ids, key, tuple(at for at in ids.get(key, ()) if at != position))
    for key in new:
        same = ids.get(key, ())
        if not same:
            ids = with_entry(ids, key, (position,))
        elif position not in same:
            ordered = sorted((*same, position), key=lambda at: items[at].order)
            ids = with_entry(ids, key, tuple(ordered[-SAME_ID:]))
    return ids


def _without_done(
    unfinished: Mapping[str, PersistentList | None], items: Mapping[int, Item], type_: str
) -> Mapping[str, PersistentList | None]:
    """Return *unfinished* in which the first of the items of a type is not done."""
    first = chain = unfinished.get(type_)
    while chain is not None and items[chain.value[1]].done:
        chain = chain.rest
    return unfinished if chain is first else with_entry(unfinished, type_, chain)


def item_ids(type_: str, native: NativeObject) -> list[ItemId]:
    """Return the keys by which an item of *type_* is found again, the surest one first."""
    keys: list[ItemId] = []
    for name in ID_FIELDS:
        value = native.get(name)
        if isinstance(value, str) and value:
            keys.append((type_, name, value))
    return keys


def part_in(item: Item, key: PartKey, part: Part) -> Item:
    """Return *item* with *part*."""
    parts = with_entry(item.parts, key, part)
    last = item.last_numbers
    if key not in item.parts:
        type_, number = key
        for name in (type_, PART_TYPES[type_].list):
            last = {**last, name: max(number, last.get(name, -1))}
    thoughts = item.whole_thoughts
    if part.text and not part.ended and item.type == "reasoning":
        thoughts = PersistentList(key, thoughts)
    return replace(item, parts=parts, last_numbers=last, whole_thoughts=thoughts)


def with_part(state: ResponsesState, item: Item, key: PartKey, part: Part) -> ResponsesState:
    """Return *state* with *part* in *item*."""
    return with_item(state, part_in(item, key, part))


def with_fast_path(
    state: ResponsesState,
    event: NativeObject,
    index_field: str,
    segment: str,
    delta: type[TextDelta] | type[ReasoningDelta] | type[ToolInputDelta],
) -> ResponsesState:
    """Return *state* in which events like *event* take the per-token path.

    Ids that differ from event to event must not cost a new state each.
    """
    if state.fast_path is not None and state.fast_path.segment == segment:
        return state
    path = FastPath(
        event_type=str(event.get("type")),
        item_id=event.get("item_id"),
        output_index=event.get("output_index"),
        index_field=index_field,
        part_index=event.get(index_field),
        segment=segment,
        delta=delta,
    )
    return replace(state, fast_path=path)


# -- parts of items


def typed_parts(item: Item) -> list[tuple[PartKey, NativeObject]]:
    """Return the native parts of a message or of reasoning, with their keys."""
    return _as_streamed(item, _keyed_parts(item))


def _keyed_parts(item: Item) -> list[tuple[PartKey, NativeObject]]:
    """Return the native parts of *item*, numbered by their places in their lists."""
    if item.type == "message":
        listed = _listed(item.native.get("content"), "output_text")
        content = [*listed, *to_list(item.unknown_parts)]
        return [((part_type(part), at), part) for at, part in enumerate(content)]
    return [
        ((type_, at), part)
        for type_, facts in PART_TYPES.items()
        if facts.item == item.type
        for at, part in enumerate(_listed(item.native.get(facts.list), type_))
    ]


def _as_streamed(
    item: Item, parts: list[tuple[PartKey, NativeObject]]
) -> list[tuple[PartKey, NativeObject]]:
    """Return *parts* by the numbers that they had when they were streamed.

    Where as many of a type were streamed as are listed, they are the same, in order: vLLM numbers
    the parts of all items together (`emit_text_delta_events`, `current_content_index`). LiteLLM
    streams reasoning as a summary and lists it as content.
    """
    if all(key in item.parts for key, _ in parts):
        return parts
    if item.type == "reasoning":
        types = {type_ for type_, _ in item.parts}
        if len(types) == 1 and types.isdisjoint(type_ for (type_, _), _ in parts):
            parts = [((type_, at), part) for type_ in types for at, (_, part) in enumerate(parts)]
    listed = Counter(type_ for (type_, _), _ in parts)
    streamed: dict[str, list[int]] = {}
    for type_, number in sorted(item.parts):
        streamed.setdefault(type_, []).append(number)
    numbers = {
        type_: iter(known) for type_, known in streamed.items() if len(known) == listed[type_]
    }
    return [((type_, next(numbers.get(type_, iter((at,))))), part) for (type_, at), part in parts]


def _listed(parts: object, type_: str) -> list[NativeObject]:
    """Return the parts of an item; other servers may write one part, or its text, for a list."""
    if isinstance(parts, str) and parts:
        return [{"type": type_, "text": parts}]
    return objects_or_one(parts)


def part_type(native: NativeObject) -> str:
    """Return the type of a part, of which other servers write `text` for `output_text`."""
    type_ = str(native.get("type"))
    return "output_text" if type_ == "text" else type_


def without_texts(native: NativeObject) -> NativeObject:
    """Return the item *native* with its texts empty.

    An item may be announced with texts. They are emitted at once and deltas are added to them,
    so that they are not the whole texts of their parts.
    """
    bare = {"content": "output_text", "summary": "summary_text"}
    lists = {name: _listed(native.get(name), type_) for name, type_ in bare.items()}
    emptied = {name: [_emptied(part) for part in parts] for name, parts in lists.items() if parts}
    return {**native, **emptied}


def _emptied(part: NativeObject) -> NativeObject:
    facts = PART_TYPES.get(part_type(part))
    if facts is None:
        return part
    emptied = {facts.text: "", "logprobs": []}
    return {name: emptied.get(name, value) for name, value in part.items()}


def part_number(event: NativeObject, type_: str, item: Item) -> int:
    """Return the number of the part of *type_* that *event* is about.

    Without a number it is the last such part, or a new one if the last was whole and more
    begins; parts of one list are numbered together.
    """
    facts = PART_TYPES[type_]
    number = int_or_none(event.get(facts.index))
    if number is not None:
        return number
    last = item.last_numbers.get(type_, -1)
    name = str(event.get("type"))
    begun = last >= 0 and not name.endswith("part.added")
    if begun and name.endswith(("part.done", "annotation.added")):
        return last
    if begun and not item.parts[type_, last].text:
        return last
    return item.last_numbers.get(facts.list, -1) + 1


# -- background responses
# A background response whose stream was cut can be streamed again, from the event after a
# `sequence_number`, if it was created with `background` and `stream`. The events that `resume`
# requests continue the same state, so that the response is the one that would have come without the
# cut. Source: https://developers.openai.com/api/docs/guides/background ("Streaming a background
# response"), read November 2026.


def cursor(state: ResponsesState, event: NativeObject) -> ProviderMetadata:
    """Return the place to resume at after *event*, the last one; empty if there is none.

    It belongs into the metadata of a cut response: `{"openai": {"resume": {"response_id": "resp_1",
    "sequence_number": 7}}}`.
    """
    info = state.info
    if not info.background or info.response_id is None or info.ended:
        return {}
    number = int_or_none(event.get("sequence_number"))
    place = {"response_id": info.response_id, "sequence_number": number}
    return {METADATA_KEY: {"resume": place}}


def resume(metadata: ProviderMetadata) -> ResumeRequest:
    """Return the request that resumes at the cursor in *metadata*.

    Without a sequence number, the stream is sent from its start. Raises InvalidRequestError if
    *metadata* has none.
    """
    place = object_or_empty(object_or_empty(metadata.get(METADATA_KEY)).get("resume"))
    response_id = str_or_none(place.get("response_id"))
    if response_id is None:
        raise InvalidRequestError(
            "there is no response to resume: only those asked for with background=true "
            "and stream=true can be"
        )
    query = {"stream": "true"}
    number = int_or_none(place.get("sequence_number"))
    if number is not None:
        query["starting_after"] = str(number)
    return ResumeRequest(path=f"responses/{quote(response_id, safe='')}", query=query)
