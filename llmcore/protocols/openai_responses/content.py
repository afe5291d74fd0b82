"""OpenAI Responses: reading messages and reasoning: text, refusals, audio, citations.

A text comes in these frames, and whole again in `output_item.done` and `response.completed`; a
server may leave out any of them:

    {"type": "response.content_part.added", "item_id": "msg_1", "output_index": 0,
     "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}}
    {"type": "response.output_text.delta", ..., "content_index": 0, "delta": "Hel"}
    {"type": "response.output_text.done", ..., "content_index": 0, "text": "Hello"}
    {"type": "response.content_part.done", ..., "part": {"type": "output_text", "text": "Hello"}}

A part is a segment of its own, which opens with its first event. A message's parts end with their
item. A part of reasoning ends when it is whole and the next begins; the last one stays open until
its item is done, for only then the encrypted content is whole. It carries that, with the id that
the content is bound to. Source: https://developers.openai.com/api/reference/resources/responses/
streaming-events, read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from llmcore.protocols.history import ITEM_FIELDS, PART_FIELDS
from llmcore.protocols.media import decode_leniently, decode_pieces
from llmcore.protocols.openai_responses.matching import match_inside, match_or_begin
from llmcore.protocols.openai_responses.names import (
    AGENT,
    MESSAGE_FIELDS,
    METADATA_KEY,
    PART_TYPES,
    REASONING_FIELDS,
    TEXT_EVENTS,
    unread_fields,
)
from llmcore.protocols.openai_responses.state import (
    Item,
    Part,
    PartKey,
    ResponsesState,
    part_in,
    part_number,
    part_type,
    typed_parts,
    with_fast_path,
    with_item,
    with_part,
    without_texts,
)
from llmcore.protocols.response_parts import Events, announce, read_logprobs
from llmcore.schema.content import Citation, TokenLogprob
from llmcore.schema.events import (
    File,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.json import NativeObject, ProviderMetadata
from llmcore.schema.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.schema.persistent import PersistentList, from_list, to_list, with_entry

# -- deltas


def on_delta(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit more of a text, of a refusal or of reasoning."""
    type_ = TEXT_EVENTS[str(event.get("type")).removesuffix(".delta")]
    text, logprobs = event.get("delta"), read_logprobs(event.get("logprobs"))
    if not isinstance(text, str) or not (text or logprobs):
        return state
    state, item, key = _opened(state, event, type_, events)
    part = item.parts.get(key)
    if part is None or part.ended:  # after the end of its part, or of its item
        if item.repeated:
            return state
        state = _open_part(state, replace(item, done=False), key, events)
        part = state.items[item.position].parts[key]
    delta = _delta(type_, part.segment, text, logprobs)
    events.append(delta)
    return with_fast_path(state, event, PART_TYPES[type_].index, part.segment, type(delta))


def _of_message(item: Item) -> ProviderMetadata:
    """Return the metadata that replaying a text of the message *item* needs."""
    native, metadata = item.native, item.metadata
    given = {name: native[name] for name in MESSAGE_FIELDS if native.get(name) is not None}
    if unread := unread_fields(native):
        given[ITEM_FIELDS] = unread
    return {METADATA_KEY: {**metadata, **given} if given else metadata}


def _delta(
    type_: str, segment: str, text: str, logprobs: tuple[TokenLogprob, ...]
) -> TextDelta | ReasoningDelta:
    if PART_TYPES[type_].item == "message":
        return TextDelta(segment, text, logprobs)
    return ReasoningDelta(segment, text)


def _opened(
    state: ResponsesState, event: NativeObject, type_: str, events: Events
) -> tuple[ResponsesState, Item, PartKey]:
    """Return *state* with the part that *event* is about open, unless its item is done."""
    state, item = match_or_begin(state, event, PART_TYPES[type_].item)
    key = type_, part_number(event, type_, item)
    if not item.done and key not in item.parts:
        state = _open_part(state, item, key, events)
    return state, state.items[item.position], key


def _open_part(
    state: ResponsesState,
    item: Item,
    key: PartKey,
    events: Events,
    native: NativeObject | None = None,
) -> ResponsesState:
    """Return *state* with *item* after the start of a part."""
    return with_item(state, _with_begun(item, key, events, native))


def _with_begun(
    item: Item, key: PartKey, events: Events, native: NativeObject | None = None
) -> Item:
    """Begin the segment of a part, with the text that *native*, the part, has already."""
    type_, number = key
    facts, before = PART_TYPES[type_], item.parts.get(key)
    again = 0 if before is None else before.again + 1
    segment = f"{facts.segment}_{item.position}_{number}" + (f"_{again}" if again else "")
    if facts.item == "message":
        events.append(
            TextStart(segment, refusal=type_ == "refusal", provider_metadata=_of_message(item))
        )
    else:
        for whole in dict.fromkeys(to_list(item.whole_thoughts)):
            if not item.parts[whole].ended:
                item = _end_thought(item, whole, events)
        item = replace(item, whole_thoughts=None)
        events.append(_thought_start(item, segment, {"part": type_}))
    text = None if native is None else str_or_none(native.get(facts.text))
    if native is not None and text:
        events.append(_delta(type_, segment, text, read_logprobs(native.get("logprobs"))))
    return part_in(item, key, Part(segment=segment, again=again))


# -- parts


def begin_content(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """Emit the texts that a message or reasoning has when it is announced."""
    parts = typed_parts(item)
    item = replace(item, native=without_texts(item.native))
    for key, native in parts:
        if key[0] in PART_TYPES and key not in item.parts:
            item = _with_begun(item, key, events, native)
    return with_item(state, item)


def on_part_added(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Open a text, so that it keeps its position, and emit what it has already."""
    native = object_or_empty(event.get("part"))
    type_ = _part_type(event, native)
    if type_ not in PART_TYPES:
        return state
    state, item = match_or_begin(state, event, PART_TYPES[type_].item)
    key = type_, part_number(event, type_, item)
    if item.done or key in item.parts:
        return state
    return _open_part(state, item, key, events, native)


def on_part_done(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Keep a whole part, for servers that do not repeat it with its item."""
    native = object_or_empty(event.get("part"))
    type_ = _part_type(event, native)
    if type_ in PART_TYPES:
        return _keep_text(state, event, type_, native, events)
    item = match_inside(state, event, "message")
    if item is None or item.done or not native:
        return state
    if native == _known_part(item, int_or_none(event.get("content_index"))):
        return state
    unknown = PersistentList(native, item.unknown_parts)
    return with_item(state, replace(item, unknown_parts=unknown))


def _known_part(item: Item, number: int | None) -> object:
    """Return the part that *item* was announced with at *number*, or else its last one."""
    content = item.native.get("content")
    parts = content if isinstance(content, list) else []
    if number is not None and 0 <= number < len(parts):
        return parts[number]
    if item.unknown_parts is not None:
        return item.unknown_parts.value
    return parts[-1] if parts else None


def _part_type(event: NativeObject, native: NativeObject) -> str:
    fallback = "summary_text" if "reasoning_summary" in str(event.get("type")) else ""
    return part_type(native) if str_or_none(native.get("type")) else fallback


def on_text_done(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Keep a whole text."""
    type_ = TEXT_EVENTS[str(event.get("type")).removesuffix(".done")]
    return _keep_text(state, event, type_, event, events)


def _keep_text(
    state: ResponsesState, event: NativeObject, type_: str, whole: NativeObject, events: Events
) -> ResponsesState:
    """Keep the text, citations and log probabilities of *whole*, the event or its part."""
    text = str_or_none(whole.get(PART_TYPES[type_].text))
    citations = read_citations(whole.get("annotations"))
    logprobs = read_logprobs(whole.get("logprobs"))
    if not (text or citations or logprobs):
        return state
    state, item, key = _opened(state, event, type_, events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    kept = replace(
        part,
        text=(text or part.text) if not part.again else "",
        citations=from_list(citations) or part.citations,
        logprobs=logprobs or part.logprobs,
    )
    if kept == part:  # as the end of a part nearly always repeats that of its text
        return state
    return with_part(state, item, key, kept)


# -- whole items


def settle_message(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """End all parts of a message with their whole texts.

    A server may announce the end of a message and send its content only at the end of the
    response: it then stays open.
    """
    parts = typed_parts(item)
    if not parts and not item.parts:
        return with_item(state, item)
    for key, native in parts:
        if key[0] not in PART_TYPES:
            state = _emit_other(state, item, key, native, events)
            continue
        if key not in item.parts:
            item = _with_begun(item, key, events)
        state, item = _settle_text(state, item, key, native, events)
    for key in item.parts:
        item = _with_end(item, key, item.parts[key], events)
    return with_item(state, replace(item, done=True))


def _settle_text(
    state: ResponsesState, item: Item, key: PartKey, native: NativeObject, events: Events
) -> tuple[ResponsesState, Item]:
    """End a part with its whole text; the state has the sources that it cites."""
    part = item.parts[key]
    if part.ended or part.again:  # the whole text has been emitted before, up to later deltas
        return state, _with_end(item, key, part, events)
    citations = from_list(read_citations(native.get("annotations"))) or part.citations
    for citation in to_list(citations):
        state = _announce_cited(state, citation, events)
    text = str_or_none(native.get(PART_TYPES[key[0]].text)) or part.text
    logprobs = read_logprobs(native.get("logprobs")) or part.logprobs
    part = replace(part, text=text, citations=citations, logprobs=logprobs)
    return state, _with_end(item, key, part, events, unread_fields(native))


def _with_end(
    item: Item, key: PartKey, part: Part, events: Events, unread: NativeObject | None = None
) -> Item:
    """Return *item* with *part* ended; emits its end, unless it was ended before."""
    if part.ended:
        return item
    metadata = _of_message(item)
    if unread:
        metadata = {METADATA_KEY: {**metadata[METADATA_KEY], PART_FIELDS: unread}}
    events.append(
        TextEnd(
            part.segment,
            part.text,
            citations=tuple(to_list(part.citations)),
            logprobs=part.logprobs,
            refusal=key[0] == "refusal",
            provider_metadata=metadata,
        )
    )
    return part_in(item, key, replace(part, ended=True))


def _emit_other(
    state: ResponsesState, item: Item, key: PartKey, native: NativeObject, events: Events
) -> ResponsesState:
    """Emit a part of another type: audio, or one that is unknown."""
    if key[0] == "output_audio":
        if state.info.audio is None:
            data = decode_leniently(native.get("data"))
            transcript = str_or_none(native.get("transcript"))
            events.append(_audio(f"sound_{item.position}_{key[1]}", data, transcript))
        return state
    metadata = {METADATA_KEY: {**item.metadata, "part": "content"}}
    events.append(ProviderEvent(state.owner, native, replay=True, provider_metadata=metadata))
    return state


def settle_reasoning(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """End all parts of reasoning; an item that shows no text is a segment without text."""
    for key, native in typed_parts(item):
        if key not in item.parts:
            item = _with_begun(item, key, events)
        part, text = item.parts[key], str_or_none(native.get("text"))
        if text and not part.ended and not part.again:
            item = part_in(item, key, replace(part, text=text))
    open_parts = [key for key, part in item.parts.items() if not part.ended]
    if not open_parts:
        segment = f"reasoning_{item.position}"
        start = _thought_start(item, segment, {})
        events += (start, _thought(item, segment, "", {}, last=True))
    for key in open_parts:
        item = _end_thought(item, key, events, last=key == open_parts[-1])
    return with_item(state, replace(item, done=True))


def _end_thought(item: Item, key: PartKey, events: Events, *, last: bool = False) -> Item:
    part = item.parts[key]
    events.append(_thought(item, part.segment, part.text, {"part": key[0]}, last=last))
    parts = with_entry(item.parts, key, replace(part, ended=True))
    return replace(item, parts=parts)


def _thought_start(item: Item, segment: str, metadata: NativeObject) -> ReasoningStart:
    """Return the start of a part of reasoning, with the agent that reasons if there are several."""
    if (agent := item.native.get(AGENT)) is not None:
        metadata = {**metadata, AGENT: agent}
    return ReasoningStart(segment, provider_metadata={METADATA_KEY: metadata} if metadata else {})


def _thought(
    item: Item, segment: str, text: str, metadata: NativeObject, *, last: bool
) -> ReasoningEnd:
    """Return the end of a part of reasoning; the *last* one has what proves all of it.

    OpenRouter signs the reasoning of Claude and states its form: the `@openrouter/sdk` package,
    1.3.19 (`models/outputreasoningitem`).
    """
    metadata = {**item.metadata, **metadata}
    if not last:
        return ReasoningEnd(segment, text, provider_metadata={METADATA_KEY: metadata})
    native = item.native
    metadata |= {name: native[name] for name in REASONING_FIELDS if native.get(name) is not None}
    if unread := unread_fields(native):
        metadata[ITEM_FIELDS] = unread
    return ReasoningEnd(
        segment,
        text,
        signature=str_or_none(native.get("signature")),
        encrypted=str_or_none(native.get("encrypted_content")),
        provider_metadata={METADATA_KEY: metadata},
    )


# -- audio


def on_audio(state: ResponsesState, event: NativeObject, _events: Events) -> ResponsesState:
    """Keep a piece of audio, in base64, or of its transcript."""
    text = event.get("delta")
    if not isinstance(text, str):
        return state
    is_transcript = "transcript" in str(event.get("type"))
    pieces = PersistentList((is_transcript, text), state.info.audio)
    return replace(state, info=replace(state.info, audio=pieces))


def flush_audio(state: ResponsesState, events: Events) -> None:
    """Emit the whole audio that came in pieces."""
    pieces = to_list(state.info.audio)
    if not pieces:
        return
    data = decode_pieces(text for is_transcript, text in pieces if not is_transcript)
    transcript = "".join(text for is_transcript, text in pieces if is_transcript)
    events.append(_audio("sound", data, transcript or None))


def _audio(id_: str, data: bytes, transcript: str | None) -> File:
    return File(id=id_, media_type="audio/wav", data=data or None, transcript=transcript)


# -- citations and sources


def on_annotation(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Keep a citation of a text, and announce its source.

    Such as `{"annotation": {"type": "url_citation", "url": "https://...", "start_index": 0, ...}}`.
    """
    annotation = object_or_empty(event.get("annotation"))
    if not annotation:
        return state
    citation = read_citation(annotation)
    state = _announce_cited(state, citation, events)
    state, item, key = _opened(state, event, "output_text", events)
    part = item.parts.get(key)
    if part is None or part.ended:
        return state
    citations = PersistentList(citation, part.citations)
    return with_part(state, item, key, replace(part, citations=citations))


def read_citations(annotations: Any) -> tuple[Citation, ...]:
    """Return the citations of a text."""
    return tuple(map(read_citation, objects(annotations))) if annotations else ()


def read_citation(annotation: NativeObject) -> Citation:
    """Return one citation, with its native form, which goes back with the text.

    A `file_citation` has a place in the text (`index`) and not a stretch of it.
    """
    is_file = annotation.get("type") == "file_citation"
    place = int_or_none(annotation.get("index")) if is_file else None
    start = int_or_none(annotation.get("start_index"))
    end = int_or_none(annotation.get("end_index"))
    return Citation(
        url=str_or_none(annotation.get("url")),
        title=str_or_none(annotation.get("title")) or str_or_none(annotation.get("filename")),
        document_id=str_or_none(annotation.get("file_id")),
        start_index=place if start is None else start,
        end_index=place if end is None else end,
        provider_metadata={METADATA_KEY: annotation},
    )


def _announce_cited(state: ResponsesState, citation: Citation, events: Events) -> ResponsesState:
    if citation.url is not None:
        return announce_page(state, citation.url, citation.title, events)
    return announce_file(state, citation.document_id, citation.title, events)


def announce_page(state: ResponsesState, url: Any, title: Any, events: Events) -> ResponsesState:
    """Emit the `Source` of a page, once."""
    return _with_sources(state, announce(state.info.sources, url, events, url=url, title=title))


def announce_file(state: ResponsesState, file_id: Any, name: Any, events: Events) -> ResponsesState:
    """Emit the `Source` of a file, once."""
    metadata = {METADATA_KEY: {"file_id": file_id}}
    sources = announce(state.info.sources, file_id, events, title=name, metadata=metadata)
    return _with_sources(state, sources)


def _with_sources(state: ResponsesState, sources: Mapping[str, None]) -> ResponsesState:
    if sources is state.info.sources:
        return state
    return replace(state, info=replace(state.info, sources=sources))
