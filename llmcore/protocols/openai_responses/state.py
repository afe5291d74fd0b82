"""OpenAI Responses: the state of an answer that is being read.

An answer is a list of items, an item (a message, reasoning, a call) a list of parts. An item goes
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

from collections.abc import Mapping
from typing import TypeAlias

from attrs import field, frozen

from llmcore.protocols.answering import PersistentList, StreamContext
from llmcore.protocols.native_json import int_or_none, objects, str_or_none
from llmcore.protocols.openai_responses.names import METADATA_KEY, PART_TYPES, NativeObject
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation, TokenLogprob
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import JsonValue


@frozen(kw_only=True)
class FastPath:
    """The fields of an event that only continues the segment of the last delta."""

    event_type: str
    item_id: JsonValue
    output_index: JsonValue
    index_field: str
    """Which field numbers the parts."""
    part_index: JsonValue
    segment: str
    delta: type[TextDelta] | type[ReasoningDelta] | type[ToolInputDelta]


PartKey: TypeAlias = tuple[str, int]
"""A part's native type, and its number among the parts of that type's list."""


@frozen(kw_only=True)
class Part:
    """A part of a message or of reasoning."""

    segment: str
    """The id of its events."""
    text: str = ""
    """The whole text, once the server has sent it."""
    citations: tuple[Citation, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    """Those of the whole text, once the server has sent them."""
    ended: bool = False


@frozen(kw_only=True)
class Item:
    """An item of the answer."""

    position: int
    """Its index in the answer; counted here where the server does not number items."""
    type: str
    native: NativeObject = field(factory=dict)
    """The item's last whole form. Texts that were emitted when it was announced are empty in it."""
    done: bool = False

    parts: Mapping[PartKey, Part] = field(factory=dict)
    """Of a message or of reasoning."""

    call_id: str = ""
    """Of a call that has begun: the id of its events."""
    closing: str = ""
    """The end of the JSON around a text that is streamed without quotes."""
    text: str = ""
    """The call's whole input, once the server has sent it."""
    skipped: bool = False
    """Whether deltas came before the call had a name; its end must bring the input."""

    @property
    def id(self) -> str | None:
        """The item's id. Some servers make another one for each event."""
        return str_or_none(self.native.get("id"))

    @property
    def metadata(self) -> NativeObject:
        """The metadata that replaying the item needs."""
        index = {"index": self.position}
        return index if self.id is None else {"id": self.id, **index}


@frozen(kw_only=True)
class ResponsesInfo:
    """Facts of the response as a whole."""

    started: bool = False
    early: tuple[NativeObject, ...] = ()
    """Notifications that came before the response began."""
    response_id: str | None = None
    background: bool = False
    """Whether the response continues without a reader, so that its stream can be resumed."""
    ended: bool = False
    called: bool = False
    """Whether the model called a tool that the client runs."""
    refused: bool = False
    call_ids: frozenset[str] = frozenset()
    search: str | None = None
    """The id of the last tool search by the provider, whose output does not name its call."""
    sources: frozenset[str] = frozenset()
    """Pages and files for which a `Source` was emitted."""
    notes: tuple[Diagnostic, ...] = ()
    audio: PersistentList | None = None
    """Pieces of audio and of its transcript: (whether transcript, text)."""


@frozen(kw_only=True)
class ResponsesState:
    """The state of an answer that is being read."""

    context: StreamContext
    fast_path: FastPath | None = None
    items: Mapping[int, Item] = field(factory=dict)
    """By position."""
    positions: Mapping[int, int] = field(factory=dict)
    """The position of the item that last had an `output_index`; some servers number all 0."""
    info: ResponsesInfo = ResponsesInfo()

    @property
    def owner(self) -> str:
        """The provider id of native parts."""
        return self.context.provider or METADATA_KEY


def with_item(state: ResponsesState, item: Item) -> ResponsesState:
    """Return *state* with *item* at its position."""
    return changed(state, items={**state.items, item.position: item}, fast_path=None)


def with_part(state: ResponsesState, item: Item, key: PartKey, part: Part) -> ResponsesState:
    """Return *state* with *part* in *item*."""
    return with_item(state, changed(item, parts={**item.parts, key: part}))


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
    return changed(state, fast_path=path)


# -- parts of items


def typed_parts(item: Item) -> list[tuple[PartKey, NativeObject]]:
    """Return the native parts of a message or of reasoning, with their keys."""
    if item.type == "message":
        content = objects(item.native.get("content"))
        return [((str(part.get("type")), at), part) for at, part in enumerate(content)]
    return [
        ((type_, at), part)
        for type_, facts in PART_TYPES.items()
        if facts.item == item.type
        for at, part in enumerate(objects(item.native.get(facts.list)))
    ]


def without_texts(native: NativeObject) -> NativeObject:
    """Return the item *native* with its texts empty.

    An item may be announced with texts. They are emitted at once and deltas are added to them,
    so that they are not the whole texts of their parts.
    """
    lists = {name: objects(native.get(name)) for name in ("content", "summary")}
    emptied = {name: [_emptied(part) for part in parts] for name, parts in lists.items() if parts}
    return {**native, **emptied}


def _emptied(part: NativeObject) -> NativeObject:
    facts = PART_TYPES.get(str(part.get("type")))
    return part if facts is None else {**part, facts.text: "", "logprobs": []}


def part_number(event: NativeObject, type_: str, item: Item) -> int:
    """Return the number of the part of *type_* that *event* is about.

    Without a number it is the last such part, or a new one if the last was whole and more
    begins; parts of one list are numbered together.
    """
    facts = PART_TYPES[type_]
    number = int_or_none(event.get(facts.index))
    if number is not None:
        return number
    last = max((at for part, at in item.parts if part == type_), default=-1)
    name = str(event.get("type"))
    begun = last >= 0 and not name.endswith("part.added")
    if begun and name.endswith(("part.done", "annotation.added")):
        return last
    if begun and not item.parts[type_, last].text:
        return last
    beside = [at for part, at in item.parts if PART_TYPES[part].list == facts.list]
    return max(beside, default=-1) + 1
