"""OpenAI Responses: reading reasoning: its summary in parts, its text, its encrypted form.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026. Each part is a segment of its own, so that their boundaries stay. The last one
stays open until its item is done, for only then the encrypted content is whole; it carries it,
with the id that the content is bound to.
"""

from typing import Final

from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.protocols.openai_responses.items import found_or_begun
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.openai_responses.state import (
    Chunk,
    Item,
    Part,
    PartKey,
    State,
    heat,
    part_number,
    put,
    put_part,
    without_texts,
)
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, ReasoningDelta, ReasoningEnd, ReasoningStart

_LISTS: Final = {"summary_text": "summary", "reasoning_text": "content"}
"""Which list of a reasoning item holds which parts."""
_FIELDS: Final = {"summary_text": "summary_index", "reasoning_text": "content_index"}


def _kind(event: Chunk) -> str:
    """Return the native type of the part that *event*, by its name, speaks of."""
    return "summary_text" if "summary" in str(event.get("type")) else "reasoning_text"


def on_reasoning_delta(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Take more thinking."""
    text = event.get("delta")
    if not isinstance(text, str) or not text:
        return state
    kind = _kind(event)
    state, item, key = _opened(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    events.append(ReasoningDelta(part.segment, text))
    if state.hot is not None and state.hot.segment == part.segment:
        return state
    return changed(state, hot=heat(event, _FIELDS[kind], part.segment, ReasoningDelta))


def on_reasoning_part(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Open a part and emit what it has already, or keep its whole text."""
    part = mapping(event.get("part"))
    kind = string(part.get("type")) or _kind(event)
    text = string(part.get("text"))
    if kind not in _LISTS:
        return state
    if str(event.get("type")).endswith(".done"):
        return _keep_text(state, event, kind, text, events)
    before = len(events)
    state, item, key = _opened(state, event, kind, events)
    if text and len(events) > before:
        events.append(ReasoningDelta(item.parts[key].segment, text))
    return state


def on_reasoning_done(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Keep the whole text of a part."""
    return _keep_text(state, event, _kind(event), string(event.get("text")), events)


def _keep_text(
    state: State, event: Chunk, kind: str, text: str | None, events: list[LLMEvent]
) -> State:
    state, item, key = _opened(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended or text is None:
        return state
    return put_part(state, item, key, changed(part, text=text))


def _opened(
    state: State, event: Chunk, kind: str, events: list[LLMEvent]
) -> tuple[State, Item, PartKey]:
    """Return *state* with the part that *event* speaks of open, unless its item is done."""
    state, item = found_or_begun(state, event, "reasoning")
    key = kind, part_number(event, _FIELDS[kind], item, kind)
    if not item.done and key not in item.parts:
        state = _open_part(state, item, key, events)
    return state, state.items[item.place], key


def _open_part(state: State, item: Item, key: PartKey, events: list[LLMEvent]) -> State:
    """Begin a segment; those before it end, if the server has said that they are whole."""
    for before, part in item.parts.items():
        if part.text and not part.ended:
            item = _end_part(item, before, part, None, events)
    kind, number = key
    segment = f"{'summary' if kind == 'summary_text' else 'reasoning'}_{item.place}_{number}"
    events.append(ReasoningStart(segment))
    return put_part(state, item, key, Part(segment=segment))


# -- the whole item


def begin_reasoning(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Emit the texts that a reasoning item has when it is announced."""
    state = put(state, changed(item, native=without_texts(item.native)))
    for key, text in _whole_parts(item):
        item = state.items[item.place]
        if key in item.parts:
            continue
        state = _open_part(state, item, key, events)
        if text:
            events.append(ReasoningDelta(state.items[item.place].parts[key].segment, text))
    return state


def settle_reasoning(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End all parts of a reasoning item; one that shows nothing is a segment without text."""
    state = put(state, item)
    for key, text in _whole_parts(item):
        item = state.items[item.place]
        if key not in item.parts:
            state = _open_part(state, item, key, events)
        item = state.items[item.place]
        part = item.parts[key]
        if text and not part.ended:
            state = put_part(state, item, key, changed(part, text=text))
    return _end_all(state, state.items[item.place], events)


def _whole_parts(item: Item) -> list[tuple[PartKey, str]]:
    return [
        ((kind, number), string(native.get("text")) or "")
        for kind, name in _LISTS.items()
        for number, native in enumerate(dicts(item.native.get(name)))
    ]


def _end_all(state: State, item: Item, events: list[LLMEvent]) -> State:
    encrypted = string(item.native.get("encrypted_content"))
    unended = [(key, part) for key, part in item.parts.items() if not part.ended]
    if not unended:
        segment = f"reasoning_{item.place}"
        own = {METADATA_KEY: item.metadata}
        events.append(ReasoningStart(segment))
        events.append(ReasoningEnd(segment, encrypted=encrypted, provider_metadata=own))
        return put(state, changed(item, done=True))
    for key, part in unended:
        last = key == unended[-1][0]
        item = _end_part(item, key, part, encrypted if last else None, events)
    return put(state, changed(item, done=True))


def _end_part(
    item: Item, key: PartKey, part: Part, encrypted: str | None, events: list[LLMEvent]
) -> Item:
    own = {**item.metadata, "part": key[0]}
    events.append(
        ReasoningEnd(
            part.segment, part.text, encrypted=encrypted, provider_metadata={METADATA_KEY: own}
        )
    )
    return changed(item, parts={**item.parts, key: changed(part, ended=True)})
