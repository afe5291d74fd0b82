"""Bedrock Converse: reading text, reasoning, media and blocks that are kept as they came.

    contentBlockDelta  {"contentBlockIndex": 0, "delta": {"text": "Hello"}}
    contentBlockDelta  {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm"}}}
    contentBlockStop   {"contentBlockIndex": 0}

Sources, read November 2026, below https://docs.aws.amazon.com/bedrock/latest/APIReference/:
API_runtime_ContentBlockDelta.html, API_runtime_ContentBlock.html, API_runtime_Citation.html. Only
tools, their results and images have a `contentBlockStart`; text and reasoning begin with their
first delta.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.bedrock_converse.calls import end_result
from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.bedrock_converse.state import ConverseState, keep_delta
from llmcore.protocols.blocks import (
    Block,
    FastPath,
    Kind,
    close_block,
    end_call,
    end_format_call,
    open_block,
    replace_block,
)
from llmcore.protocols.response_parts import Events, announce
from llmcore.schema.content import Citation
from llmcore.schema.diagnostics import Diagnostic
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
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.persistent import PersistentList, to_list

_TEXT: Final[FastPath] = ("text", "")
_REASONING: Final[FastPath] = ("reasoningContent", "text")

# -- text


def on_text(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Emit more text."""
    text = delta["text"]
    if not isinstance(text, str):
        return keep_delta(state, index, delta, events)
    if not text:
        return state
    state, block = _with_segment(state, index, "text", events)
    events.append(TextDelta(block.segment, text))
    return state


def on_citation(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Keep a citation for the end of its text, which may still have no words."""
    block = state.open.get(index)
    if block is None or block.kind != "text":
        state = close(state, index, events) if block is not None else state
        block = Block(kind="text")
        state = open_block(state, index, block)
    citations = PersistentList(object_or_empty(delta["citation"]), block.citations)
    cited = replace(block, citations=citations)
    return replace_block(state, index, cited)


def on_cited_text(
    state: ConverseState, index: object, _member: str, cited: NativeObject, events: Events
) -> ConverseState:
    """Open a text that comes complete, with its citations."""
    for item in objects(cited.get("content")):
        if item.get("text"):
            state = on_text(state, index, {"text": item["text"]}, events)
    for citation in objects(cited.get("citations")):
        state = on_citation(state, index, {"citation": citation}, events)
    return state


def _end_text(state: ConverseState, block: Block, events: Events) -> ConverseState:
    """Emit the end of text with its citations; citations without text are kept as they came."""
    native = to_list(block.citations)
    if block.segment:
        citations = tuple(map(_read_citation, native))
        events.append(TextEnd(block.segment, citations=citations))
    elif native:
        data = {"citationsContent": {"citations": native}}
        events.append(ProviderEvent(METADATA_KEY, data, replay=True))
    return _report_sources(state, native, events)


def _read_citation(native: JsonObject) -> Citation:
    """Return a native citation; its native form goes back with it."""
    source = str_or_none(native.get("source"))
    source_url = source if source is not None and "://" in source else None
    quoted = [str_or_none(item.get("text")) for item in objects(native.get("sourceContent"))]
    return Citation(
        url=_web_url(native) or source_url,
        title=str_or_none(native.get("title")),
        cited_text="".join(filter(None, quoted)) or None,
        document_id=None if source_url else source,
        provider_metadata={METADATA_KEY: native},
    )


def _web_url(native: JsonObject) -> str | None:
    """Return the page that a citation names; None if it names a document of the request."""
    return str_or_none(
        object_or_empty(object_or_empty(native.get("location")).get("web")).get("url")
    )


def _report_sources(
    state: ConverseState, citations: Iterable[JsonObject], events: Events
) -> ConverseState:
    """Emit the pages that the response cites, each once."""
    urls = state.urls
    for native in citations:
        url = _web_url(native)
        urls = announce(urls, url, events, url=url, title=native.get("title"))
    return state if urls is state.urls else replace(state, urls=urls)


# -- reasoning


def on_reasoning(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Emit more reasoning; keep its signature or encrypted content."""
    reasoning = object_or_empty(delta["reasoningContent"])
    reasoning = {**object_or_empty(reasoning.get("reasoningText")), **reasoning}
    if not reasoning.keys() & _OF_REASONING:
        return keep_delta(state, index, delta, events) if reasoning else state
    text, signature = str_or_none(reasoning.get("text")), str_or_none(reasoning.get("signature"))
    encrypted = str_or_none(reasoning.get("redactedContent"))
    if text is None and signature is None and encrypted is None:
        return state
    state, block = _with_segment(state, index, "reasoning", events)
    if text is not None:
        events.append(ReasoningDelta(block.segment, text))
    if signature is None and encrypted is None:
        return state
    block = replace(
        block,
        signature=PersistentList(signature, block.signature) if signature else block.signature,
        encrypted=PersistentList(encrypted, block.encrypted) if encrypted else block.encrypted,
    )
    return replace_block(state, index, block)


_OF_REASONING: Final = frozenset({"text", "signature", "redactedContent"})


def _end_reasoning(block: Block, events: Events) -> None:
    encrypted = _join_base64(to_list(block.encrypted))
    signature = "".join(to_list(block.signature)) or None
    events.append(ReasoningEnd(block.segment, signature=signature, encrypted=encrypted))


def _with_segment(
    state: ConverseState, index: object, kind: Kind, events: Events
) -> tuple[ConverseState, Block]:
    """Return *state* with a block of *kind* at *index* whose segment has started."""
    block = state.open.get(index)
    if block is not None and block.kind == kind and block.segment:
        return state, block
    citations = block.citations if block is not None and block.kind == kind else None
    if block is not None and block.kind != kind:
        state = close(state, index, events)
    segment = f"{kind}_{state.blocks}"
    if kind == "text":
        events.append(TextStart(segment))
        opened = Block(kind=kind, segment=segment, fast_path=_TEXT, citations=citations)
    else:
        events.append(ReasoningStart(segment))
        opened = Block(kind=kind, segment=segment, fast_path=_REASONING, emits=ReasoningDelta)
    return open_block(state, index, opened), opened


# -- media


def on_media_start(
    state: ConverseState, index: object, member: str, media: NativeObject, _events: Events
) -> ConverseState:
    """Open an image or audio, which is emitted when it is complete."""
    return open_block(state, index, Block(kind="media", native={member: media}))


def on_image(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Keep a piece of an image; it may have no start."""
    if index not in state.open:
        state = open_block(state, index, Block(kind="media"))
    return keep_delta(state, index, delta, events)


def _end_media(state: ConverseState, block: Block, events: Events) -> ConverseState:
    """Emit a file; media without data or address only as they came, which is reported."""
    deltas = to_list(block.pieces)
    native = _apply_deltas(block.native, deltas)
    kind, media = next(iter(native.items()))
    pieces = [
        object_or_empty(object_or_empty(holder.get(kind)).get("source"))
        for holder in (block.native, *deltas)
    ]
    data = _join_base64(list(filter(None, (str_or_none(piece.get("bytes")) for piece in pieces))))
    source = object_or_empty(object_or_empty(media).get("source"))
    location = object_or_empty(source.get("s3Location"))
    url, owner = str_or_none(location.get("uri")), str_or_none(location.get("bucketOwner"))
    name = str_or_none(object_or_empty(media).get("format"))
    decoded = _decoded(data)
    failed = object_or_empty(media).get("error")  # what came before it is not the whole
    if failed or (decoded is None and url is None):
        events.append(ProviderEvent(METADATA_KEY, native, replay=False))
        return _without_file(state, kind, str_or_none(object_or_empty(failed).get("message")))
    events.append(
        File(
            id=f"file_{state.blocks}",
            media_type=f"{kind}/{name}" if name else None,
            data=decoded,
            url=None if decoded is not None else url,
            provider_metadata={METADATA_KEY: {"bucketOwner": owner}} if owner else {},
        )
    )
    return state


def _without_file(state: ConverseState, kind: str, why: str | None) -> ConverseState:
    """Return *state* with the report that the file of a block did not come."""
    message = f"the {kind} has no content: {why or 'the service gives no reason'}"
    place = f"files[file_{state.blocks}]"
    note = Diagnostic("file-without-content", place, action="dropped", message=message)
    return replace(state, info=replace(state.info, notes=(*state.info.notes, note)))


def _join_base64(pieces: Sequence[str]) -> str | None:
    """Return base64 pieces of one blob as one; None if there are none."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()
    except ValueError:
        return "".join(pieces)


def _decoded(data: str | None) -> bytes | None:
    try:
        return None if data is None else base64.b64decode(data, validate=True)
    except ValueError:
        return None


# -- blocks that are kept as they came


def _apply_deltas(block: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return *block* with its *deltas* applied.

    Text grows, lists are added to, objects are filled; anything else is replaced.
    """
    native = dict(block)
    for delta in deltas:
        for name, value in delta.items():
            native[name] = _grown(native.get(name), value)
    return native


def _grown(before: Any, value: Any) -> Any:
    if isinstance(before, str) and isinstance(value, str):
        return before + value
    if isinstance(before, list) and isinstance(value, list):
        return [*before, *value]
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        return _apply_deltas(before, [value])
    return value


# -- the end of a block

_NOT_OF_CALL: Final = frozenset({"toolUseId", "name", "input"})


def close(state: ConverseState, index: object, events: Events) -> ConverseState:
    """Close the block at *index*; emits its end."""
    state, block = close_block(state, index)
    match block.kind:
        case "text":
            return _end_text(state, block, events)
        case "reasoning":
            _end_reasoning(block, events)
        case "media":
            return _end_media(state, block, events)
        case "opaque":
            data = _apply_deltas(block.native, to_list(block.pieces))
            events.append(ProviderEvent(METADATA_KEY, data, replay=True))
        case "result":
            end_result(state, block, events)
        case "format":
            end_format_call(block, events)
        case _:
            end_call(block, events, METADATA_KEY, _NOT_OF_CALL)
    return state
