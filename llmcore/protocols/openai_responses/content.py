"""OpenAI Responses: reading messages: text, refusals, sound.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026. A part's segment opens with its first event and ends with its item, whose last
word has the whole text, the annotations and what its replay needs.
"""

import base64
import binascii
from typing import Any, Final

from llmcore.protocols.answering import PersistentList, to_list
from llmcore.protocols.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.items import find, found_or_begun
from llmcore.protocols.openai_responses.names import METADATA_KEY, NativeObject
from llmcore.protocols.openai_responses.state import (
    TEXT_FIELDS,
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
from llmcore.schema.content import Citation, TokenLogprob
from llmcore.schema.events import (
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    TextDelta,
    TextEnd,
    TextStart,
)

_TEXTS: Final = {kind: TEXT_FIELDS[kind] for kind in ("output_text", "refusal")}

# -- deltas


def on_text_delta(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take more text."""
    return _on_delta(state, event, "output_text", events)


def on_refusal_delta(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take more words of refusal."""
    return _on_delta(state, event, "refusal", events)


def _on_delta(state: State, event: NativeObject, kind: str, events: list[LLMEvent]) -> State:
    text = event.get("delta")
    logprobs = read_logprobs(event.get("logprobs"))
    if not isinstance(text, str) or not (text or logprobs):
        return state
    state, item, key = _opened(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    events.append(TextDelta(part.segment, text, logprobs))
    if state.hot is not None and state.hot.segment == part.segment:
        return state  # ids that differ from event to event must not cost a new state each
    return changed(state, hot=heat(event, "content_index", part.segment, TextDelta))


def _opened(
    state: State, event: NativeObject, kind: str, events: list[LLMEvent]
) -> tuple[State, Item, PartKey]:
    """Return *state* with the part that *event* speaks of open, unless its item is done."""
    state, item = found_or_begun(state, event, "message")
    key = kind, part_number(event, "content_index", item, kind, *_TEXTS)
    if not item.done and key not in item.parts:
        state = open_part(state, item, key, events)
    return state, state.items[item.place], key


def open_part(state: State, item: Item, key: PartKey, events: list[LLMEvent]) -> State:
    """Begin the segment of a part."""
    kind, number = key
    segment = f"{_TEXTS[kind]}_{item.place}_{number}"
    events.append(TextStart(segment, refusal=kind == "refusal"))
    return put_part(state, item, key, Part(segment=segment))


# -- parts


def on_part_added(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Open a text, so that it stands where it began, and emit what it has already."""
    part = object_or_empty(event.get("part"))
    kind = str_or_none(part.get("type"))
    if kind not in _TEXTS:
        return state
    before = len(events)
    state, item, key = _opened(state, event, kind, events)
    text = str_or_none(part.get(_TEXTS[kind]))
    if text and len(events) > before:
        events.append(TextDelta(item.parts[key].segment, text, read_logprobs(part.get("logprobs"))))
    return state


def on_part_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Keep the whole text of a part, for servers that end no items."""
    part = object_or_empty(event.get("part"))
    kind = str_or_none(part.get("type"))
    if kind not in _TEXTS:
        return _keep_other(state, event, part)
    return _keep_text(state, event, kind, part, events)


def _keep_other(state: State, event: NativeObject, part: NativeObject) -> State:
    """Keep a part of another kind with its item, whose end may not repeat it."""
    item = find(state, event, "message")
    content = None if item is None else item.native.get("content")
    if item is None or item.done or not part or part in objects(content):
        return state
    native = {**item.native, "content": [*objects(content), part]}
    return put(state, changed(item, native=native))


def on_text_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Keep the whole text."""
    return _keep_text(state, event, "output_text", event, events)


def on_refusal_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Keep the whole refusal."""
    return _keep_text(state, event, "refusal", event, events)


def _keep_text(
    state: State, event: NativeObject, kind: str, whole: NativeObject, events: list[LLMEvent]
) -> State:
    """Keep what *whole*, the event or its part, says at the end of a text."""
    text, cited = str_or_none(whole.get(_TEXTS[kind])), read_citations(whole.get("annotations"))
    logprobs = read_logprobs(whole.get("logprobs"))
    if text is None and not cited and not logprobs:
        return state
    state, item, key = _opened(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    kept = changed(
        part,
        text=text or part.text,
        citations=cited or part.citations,
        logprobs=logprobs or part.logprobs,
    )
    return put_part(state, item, key, kept)


def on_annotation(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take one thing the text cites."""
    annotation = object_or_empty(event.get("annotation"))
    if not annotation:
        return state
    citation = read_citation(annotation)
    state = announce_cited(state, citation, events)
    state, item, key = _opened(state, event, "output_text", events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    return put_part(state, item, key, changed(part, citations=(*part.citations, citation)))


# -- the whole message


def begin_message(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Emit the texts that a message has when it is announced."""
    state = put(state, changed(item, native=without_texts(item.native)))
    for number, native in enumerate(objects(item.native.get("content"))):
        key = str_or_none(native.get("type")) or "", number
        item = state.items[item.place]
        if key[0] not in _TEXTS or key in item.parts:
            continue
        state = open_part(state, item, key, events)
        text = str_or_none(native.get(_TEXTS[key[0]]))
        if text:
            segment = state.items[item.place].parts[key].segment
            events.append(TextDelta(segment, text, read_logprobs(native.get("logprobs"))))
    return state


def settle_message(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End all parts of a message, with the last word on each.

    A server may announce the end of a message and say its content only in the end of the
    response: it then stays open.
    """
    content = objects(item.native.get("content"))
    if not content and not item.parts:
        return put(state, item)
    state = put(state, item)
    for number, native in enumerate(content):
        state = _settle_part(state, item.place, number, native, events)
    state = end_parts(state, state.items[item.place], events)
    return put(state, changed(state.items[item.place], done=True))


def _settle_part(
    state: State, place: int, number: int, native: NativeObject, events: list[LLMEvent]
) -> State:
    item = state.items[place]
    kind = str_or_none(native.get("type")) or ""
    if kind not in _TEXTS:
        return _settle_other(state, item, number, native, events)
    key = kind, number
    if key not in item.parts:
        state = open_part(state, item, key, events)
    item = state.items[place]
    part = item.parts[key]
    if part.ended:
        return state
    citations = read_citations(native.get("annotations")) or part.citations
    for citation in citations:
        state = announce_cited(state, citation, events)
    text = str_or_none(native.get(_TEXTS[kind])) or part.text
    item = changed(item, parts={**item.parts, key: changed(part, text=text, citations=citations)})
    return _end_part(state, item, key, events, read_logprobs(native.get("logprobs")))


def _settle_other(
    state: State, item: Item, number: int, native: NativeObject, events: list[LLMEvent]
) -> State:
    """Take a part of another kind: sound, or one that is new."""
    if native.get("type") == "output_audio":
        if state.envelope.sound is None:
            data, words = decoded(native.get("data")), str_or_none(native.get("transcript"))
            events.append(_sound(f"sound_{item.place}_{number}", data, words))
        return state
    metadata = {METADATA_KEY: {**item.metadata, "part": "content"}}
    owner = state.context.owner
    events.append(ProviderEvent(owner, native, replay=True, provider_metadata=metadata))
    return state


def end_parts(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End what is still open of a message, with what is known of it."""
    for key, part in item.parts.items():
        if not part.ended:
            state = _end_part(state, state.items[item.place], key, events)
    return state


def _end_part(
    state: State,
    item: Item,
    key: PartKey,
    events: list[LLMEvent],
    logprobs: tuple[TokenLogprob, ...] = (),
) -> State:
    part, own = item.parts[key], item.metadata
    if item.native.get("phase") is not None:
        own["phase"] = item.native["phase"]
    events.append(
        TextEnd(
            part.segment,
            part.text,
            citations=part.citations,
            logprobs=logprobs or part.logprobs,
            refusal=key[0] == "refusal",
            provider_metadata={METADATA_KEY: own},
        )
    )
    state = put_part(state, item, key, changed(part, ended=True))
    if key[0] == "refusal" and not state.envelope.refused:
        return changed(state, envelope=changed(state.envelope, refused=True))
    return state


# -- token probabilities


def read_logprobs(value: Any) -> tuple[TokenLogprob, ...]:
    """Return the token log probabilities of a text."""
    if not value:
        return ()
    return tuple(
        TokenLogprob(
            token=str(token.get("token")),
            logprob=float(token["logprob"]),
            top=tuple(
                TokenLogprob(token=str(other.get("token")), logprob=float(other["logprob"]))
                for other in objects(token.get("top_logprobs"))
                if _has_logprob(other)
            ),
        )
        for token in objects(value)
        if _has_logprob(token)
    )


def _has_logprob(token: NativeObject) -> bool:
    value = token.get("logprob")
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- sound


def on_sound(state: State, event: NativeObject, _events: list[LLMEvent]) -> State:
    """Keep a piece of spoken sound, in base64 by itself, or of its words."""
    text = event.get("delta")
    if not isinstance(text, str):
        return state
    words = "transcript" in str(event.get("type"))
    chain = PersistentList((words, text), state.envelope.sound)
    return changed(state, envelope=changed(state.envelope, sound=chain))


def spoken(state: State, events: list[LLMEvent]) -> None:
    """Say the whole sound that came in pieces."""
    pieces = to_list(state.envelope.sound)
    if not pieces:
        return
    data = b"".join(decoded(text) for words, text in pieces if not words)
    transcript = "".join(text for words, text in pieces if words)
    events.append(_sound("sound", data, transcript or None))


def _sound(id_: str, data: bytes, transcript: str | None) -> File:
    return File(id=id_, media_type="audio/wav", data=data or None, transcript=transcript)


def decoded(data: Any) -> bytes:
    """Return the bytes of base64 text; none where it is broken."""
    try:
        return base64.b64decode(data, validate=False) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""


# -- reasoning


_LISTS: Final = {"summary_text": "summary", "reasoning_text": "content"}
"""Which list of a reasoning item holds which parts."""
_FIELDS: Final = {"summary_text": "summary_index", "reasoning_text": "content_index"}


def _thought_kind(event: NativeObject) -> str:
    """Return the native type of the part that *event*, by its name, speaks of."""
    return "summary_text" if "summary" in str(event.get("type")) else "reasoning_text"


def on_reasoning_delta(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take more thinking."""
    text = event.get("delta")
    if not isinstance(text, str) or not text:
        return state
    kind = _thought_kind(event)
    state, item, key = _opened_thought(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    events.append(ReasoningDelta(part.segment, text))
    if state.hot is not None and state.hot.segment == part.segment:
        return state
    return changed(state, hot=heat(event, _FIELDS[kind], part.segment, ReasoningDelta))


def on_reasoning_part(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Open a part and emit what it has already, or keep its whole text."""
    part = object_or_empty(event.get("part"))
    kind = str_or_none(part.get("type")) or _thought_kind(event)
    text = str_or_none(part.get("text"))
    if kind not in _LISTS:
        return state
    if str(event.get("type")).endswith(".done"):
        return _keep_thought(state, event, kind, text, events)
    before = len(events)
    state, item, key = _opened_thought(state, event, kind, events)
    if text and len(events) > before:
        events.append(ReasoningDelta(item.parts[key].segment, text))
    return state


def on_reasoning_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Keep the whole text of a part."""
    return _keep_thought(state, event, _thought_kind(event), str_or_none(event.get("text")), events)


def _keep_thought(
    state: State, event: NativeObject, kind: str, text: str | None, events: list[LLMEvent]
) -> State:
    state, item, key = _opened_thought(state, event, kind, events)
    part = item.parts.get(key)
    if part is None or part.ended or text is None:
        return state
    return put_part(state, item, key, changed(part, text=text))


def _opened_thought(
    state: State, event: NativeObject, kind: str, events: list[LLMEvent]
) -> tuple[State, Item, PartKey]:
    """Return *state* with the part that *event* speaks of open, unless its item is done."""
    state, item = found_or_begun(state, event, "reasoning")
    key = kind, part_number(event, _FIELDS[kind], item, kind)
    if not item.done and key not in item.parts:
        state = _open_thought(state, item, key, events)
    return state, state.items[item.place], key


def _open_thought(state: State, item: Item, key: PartKey, events: list[LLMEvent]) -> State:
    """Begin a segment; those before it end, if the server has said that they are whole."""
    for before, part in item.parts.items():
        if part.text and not part.ended:
            item = _end_thought(item, before, part, None, events)
    kind, number = key
    segment = f"{'summary' if kind == 'summary_text' else 'reasoning'}_{item.place}_{number}"
    events.append(ReasoningStart(segment))
    return put_part(state, item, key, Part(segment=segment))


# -- the whole item


def begin_reasoning(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Emit the texts that a reasoning item has when it is announced."""
    state = put(state, changed(item, native=without_texts(item.native)))
    for key, text in _whole_thoughts(item):
        item = state.items[item.place]
        if key in item.parts:
            continue
        state = _open_thought(state, item, key, events)
        if text:
            events.append(ReasoningDelta(state.items[item.place].parts[key].segment, text))
    return state


def settle_reasoning(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End all parts of a reasoning item; one that shows nothing is a segment without text."""
    state = put(state, item)
    for key, text in _whole_thoughts(item):
        item = state.items[item.place]
        if key not in item.parts:
            state = _open_thought(state, item, key, events)
        item = state.items[item.place]
        part = item.parts[key]
        if text and not part.ended:
            state = put_part(state, item, key, changed(part, text=text))
    return _end_thoughts(state, state.items[item.place], events)


def _whole_thoughts(item: Item) -> list[tuple[PartKey, str]]:
    return [
        ((kind, number), str_or_none(native.get("text")) or "")
        for kind, name in _LISTS.items()
        for number, native in enumerate(objects(item.native.get(name)))
    ]


def _end_thoughts(state: State, item: Item, events: list[LLMEvent]) -> State:
    encrypted = str_or_none(item.native.get("encrypted_content"))
    unended = [(key, part) for key, part in item.parts.items() if not part.ended]
    if not unended:
        segment = f"reasoning_{item.place}"
        own = {METADATA_KEY: item.metadata}
        events.append(ReasoningStart(segment))
        events.append(ReasoningEnd(segment, encrypted=encrypted, provider_metadata=own))
        return put(state, changed(item, done=True))
    for key, part in unended:
        last = key == unended[-1][0]
        item = _end_thought(item, key, part, encrypted if last else None, events)
    return put(state, changed(item, done=True))


def _end_thought(
    item: Item, key: PartKey, part: Part, encrypted: str | None, events: list[LLMEvent]
) -> Item:
    own = {**item.metadata, "part": key[0]}
    events.append(
        ReasoningEnd(
            part.segment, part.text, encrypted=encrypted, provider_metadata={METADATA_KEY: own}
        )
    )
    return changed(item, parts={**item.parts, key: changed(part, ended=True)})


# -- citations and sources


def read_citations(annotations: Any) -> tuple[Citation, ...]:
    """Return what a text cites."""
    return tuple(map(read_citation, objects(annotations)))


def read_citation(annotation: NativeObject) -> Citation:
    """Return one citation. A `file_citation` has a place, not a stretch of text."""
    place = (
        int_or_none(annotation.get("index")) if annotation.get("type") == "file_citation" else None
    )
    start, end = (
        int_or_none(annotation.get("start_index")),
        int_or_none(annotation.get("end_index")),
    )
    return Citation(
        url=str_or_none(annotation.get("url")),
        title=str_or_none(annotation.get("title")) or str_or_none(annotation.get("filename")),
        document_id=str_or_none(annotation.get("file_id")),
        start_index=place if start is None else start,
        end_index=place if end is None else end,
        provider_metadata={METADATA_KEY: annotation},
    )


def announce_cited(state: State, citation: Citation, events: list[LLMEvent]) -> State:
    """Announce the page or the file that *citation* names."""
    if citation.url is not None:
        return announce(state, citation.url, citation.title, events)
    return announce_file(state, citation.document_id, citation.title, events)


def announce(state: State, url: Any, title: Any, events: list[LLMEvent]) -> State:
    """Announce a page that the answer rests on, once."""
    sources = state.envelope.sources
    if not isinstance(url, str) or not url or url in sources:
        return state
    events.append(Source(id=f"source_{len(sources)}", url=url, title=str_or_none(title)))
    return _announced(state, url)


def announce_file(state: State, file_id: Any, name: Any, events: list[LLMEvent]) -> State:
    """Announce a file that the answer rests on, once."""
    sources = state.envelope.sources
    if not isinstance(file_id, str) or not file_id or file_id in sources:
        return state
    events.append(
        Source(
            id=f"source_{len(sources)}",
            title=str_or_none(name),
            kind="document",
            provider_metadata={METADATA_KEY: {"file_id": file_id}},
        )
    )
    return _announced(state, file_id)


def _announced(state: State, key: str) -> State:
    sources = state.envelope.sources | {key}
    return changed(state, envelope=changed(state.envelope, sources=sources))
