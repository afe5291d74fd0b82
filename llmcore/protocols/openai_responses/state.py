"""OpenAI Responses: what a later event needs to know.

State changes on transitions only: where an item or a part of one begins or ends, where the
server says something of the response as a whole. It is nested so that such a change copies
few fields.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from attrs import field, frozen

from llmcore.protocols.answering import PersistentList, StreamContext
from llmcore.protocols.native_json import int_or_none, objects, str_or_none
from llmcore.protocols.openai_responses.names import METADATA_KEY, NativeObject
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation, TokenLogprob
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import JsonValue


@frozen(kw_only=True)
class Context(StreamContext):
    """What the request says about its answer. Never changes."""

    @property
    def owner(self) -> str:
        """Whose native parts are."""
        return self.provider or METADATA_KEY


@frozen(kw_only=True)
class Hot:
    """What an event must say to merely continue the segment that had the last delta."""

    event_type: str
    item_id: JsonValue
    output_index: JsonValue
    part_field: str
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
    """The whole text, where the server has said it."""
    citations: tuple[Citation, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    """Those of the whole text, where the server has said them."""
    ended: bool = False


@frozen(kw_only=True)
class Item:
    """An item of the answer."""

    place: int
    """Where it stands in the answer; ours where the server does not number items."""
    kind: str
    """Its native type."""
    native: NativeObject = field(factory=dict)
    """What the server last said of it as a whole."""
    done: bool = False

    parts: Mapping[PartKey, Part] = field(factory=dict)
    """Of a message or of reasoning."""

    call_id: str = ""
    """Of a call that has begun: the id of its events."""
    closing: str = ""
    """What ends the JSON around a text that is streamed bare."""
    text: str = ""
    """The call's whole input, where the server has said it."""
    skipped: bool = False
    """Whether deltas came before the call had a name; its end must bring the input."""

    @property
    def id(self) -> str | None:
        """The item's id. Some servers make another one for each event."""
        return str_or_none(self.native.get("id"))

    @property
    def metadata(self) -> NativeObject:
        """What a replay must know of the item."""
        return {"index": self.place} if self.id is None else {"id": self.id, "index": self.place}


@frozen(kw_only=True)
class Envelope:
    """What events say of the response as a whole."""

    started: bool = False
    early: tuple[NativeObject, ...] = ()
    """Notifications that came before the response began."""
    response_id: str | None = None
    background: bool = False
    """Whether the response goes on without us, so that its stream can be resumed."""
    ended: bool = False
    called: bool = False
    """Whether the model called a tool that the caller runs."""
    refused: bool = False
    call_ids: frozenset[str] = frozenset()
    search: str | None = None
    """The id of the last tool search by the provider, whose output names none."""
    sources: frozenset[str] = frozenset()
    """Pages and files that were announced."""
    notes: tuple[Diagnostic, ...] = ()
    sound: PersistentList | None = None
    """Pieces of spoken sound and of its words: (whether words, text)."""


@frozen(kw_only=True)
class State:
    """What a later event needs to know."""

    context: Context
    hot: Hot | None = None
    items: Mapping[int, Item] = field(factory=dict)
    """By place."""
    places: Mapping[int, int] = field(factory=dict)
    """Where the item stands that the server numbers so; some number all items alike."""
    current: int = -1
    """The place of the item that began last."""
    envelope: Envelope = Envelope()


def put(state: State, item: Item, hot: Hot | None = None) -> State:
    """Return *state* with *item* in its place."""
    return changed(state, items={**state.items, item.place: item}, hot=hot)


def put_part(state: State, item: Item, key: PartKey, part: Part, hot: Hot | None = None) -> State:
    """Return *state* with *part* in *item*."""
    return put(state, changed(item, parts={**item.parts, key: part}), hot)


TEXT_FIELDS: Final = {
    "output_text": "text",
    "refusal": "refusal",
    "summary_text": "text",
    "reasoning_text": "text",
}
"""In which field a part, by its type, holds its text."""


def without_texts(native: NativeObject) -> NativeObject:
    """Return the item *native* with its texts empty.

    An item may be announced with texts. They are emitted at once, deltas come on top of
    them, and so they are not the last word on their parts.
    """
    lists = {name: native[name] for name in ("content", "summary") if native.get(name)}
    return {**native, **{name: [_emptied(p) for p in objects(ps)] for name, ps in lists.items()}}


def _emptied(part: NativeObject) -> NativeObject:
    field_name = TEXT_FIELDS.get(str(part.get("type")))
    return part if field_name is None else {**part, field_name: "", "logprobs": []}


def part_number(event: NativeObject, field: str, item: Item, kind: str, *others: str) -> int:
    """Return the number of the part of *kind* that *event* speaks of.

    A server that numbers none means the last one, unless that was whole and more begins;
    parts of *others* are numbered together with it.
    """
    number = int_or_none(event.get(field))
    if number is not None:
        return number
    last = max((at for part, at in item.parts if part == kind), default=-1)
    name = str(event.get("type"))
    begun = last >= 0 and not name.endswith("part.added")
    if begun and (name.endswith(("part.done", "annotation.added"))):
        return last
    if begun and not item.parts[kind, last].text:
        return last
    return max((at for part, at in item.parts if part in (kind, *others)), default=-1) + 1


def heat(
    event: NativeObject,
    part_field: str,
    segment: str,
    delta: type[TextDelta] | type[ReasoningDelta] | type[ToolInputDelta],
) -> Hot:
    """Return what later events like *event* look like, for the per-token path."""
    return Hot(
        event_type=str(event.get("type")),
        item_id=event.get("item_id"),
        output_index=event.get("output_index"),
        part_field=part_field,
        part_index=event.get(part_field),
        segment=segment,
        delta=delta,
    )
