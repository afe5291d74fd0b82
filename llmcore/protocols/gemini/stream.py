"""Gemini: reading the response, streamed or whole.

Source: https://ai.google.dev/api/generate-content#GenerateContentResponse, read November 2026.

A stream is a sequence of such responses, each with the next parts. It has no end sentinel, but a
complete response has a finish reason. A body that was not streamed is read as one chunk, so both
give the same events by construction. Chunks that only continue a text or a call, which nearly all
are, take the per-token path at the end of this module.

    data: {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}, "index": 0}],
           "usageMetadata": {...}, "modelVersion": "gemini-3-flash", "responseId": "r1"}
    data: {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}], ...}
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from llmcore.folds.grammar import has_content
from llmcore.protocols.failures.error_body import has_error_fields
from llmcore.protocols.gemini import calls, content, finish
from llmcore.protocols.gemini.finish import stated_usage
from llmcore.protocols.gemini.state import (
    GeminiInfo,
    GeminiState,
    OpenCall,
    change,
    close_segment,
    metadata_of,
)
from llmcore.protocols.protocol import DeltaForm, FastReader, Frame, TextReader
from llmcore.protocols.response_parts import (
    Events,
    empty_response,
    finish_events,
    server_error,
    stream_context,
    truncated,
)
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    StreamStart,
    TextDelta,
    TextEnd,
    ToolInputDelta,
)
from llmcore.schema.json import JsonValue, NativeObject, present, without
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.persistent import PersistentList, to_list
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


Event: TypeAlias = NativeObject | list[NativeObject]
"""A chunk; or several in one frame, which is how errors come before a stream of JSON."""


def decode(frame: Frame) -> Event | None:
    """Return the event of a frame; None for a ping. Raises ValueError if it is not JSON."""
    name, data = frame
    if data[:1] != b"{":
        data = data.strip()
        if not data or data == b"[DONE]":  # some gateways add OpenAI's sentinel
            return None
    chunk = json.loads(data)
    if isinstance(chunk, dict):
        return {"error": chunk} if name == "error" and not chunk.get("error") else chunk
    if isinstance(chunk, list):
        return objects(chunk)
    return None if chunk is None else {"error": {"message": f"a chunk is {chunk!r}"[:200]}}


def is_own(document: NativeObject) -> bool:
    """Return whether a chunk or a body is certainly one of this API."""
    return isinstance(document.get("candidates"), list)


def terminal(_event: Event) -> bool:
    """Return False: nothing marks the last chunk."""
    return False


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[GeminiState, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[GeminiState, NativeObject, Events], GeminiState]
"""Appends the events of a part, and returns the state after it."""


def initial(request: LLMRequest) -> GeminiState:
    """Return the state before the first chunk."""
    return GeminiState(GeminiInfo(context=stream_context(request)))


# -- stepping -----------------------------------------------------------------------------


def step(state: GeminiState, event: Event) -> Step:
    """Return the state after *event*, and the events to emit."""
    events: Events = []
    for chunk in event if isinstance(event, list) else (event,):
        if _is_error(chunk):
            events.append(server_error(state.info.context, chunk))
            break
        state = _on_chunk(state, chunk, events)
    return state, events


def _on_chunk(state: GeminiState, chunk: NativeObject, events: Events) -> GeminiState:
    state = finish.on_start(state, chunk, events)
    for candidate in objects(chunk.get("candidates")):
        if candidate.get("index") in (0, None):
            state = _on_candidate(state, candidate, events)
        else:
            events.append(ProviderEvent(state.info.context.provider, {"candidate": candidate}))
    return finish.on_response_fields(state, chunk)


def _is_error(chunk: NativeObject) -> bool:
    """Return whether *chunk* is an error body: Google's, or a gateway's."""
    if chunk.get("error"):
        return True
    if chunk.get("candidates") or "promptFeedback" in chunk or "usageMetadata" in chunk:
        return False
    return has_error_fields(chunk)


def _on_candidate(state: GeminiState, candidate: NativeObject, events: Events) -> GeminiState:
    logprobs = content.read_logprobs(candidate)
    parts = objects(object_or_empty(candidate.get("content")).get("parts"))
    for index, part in enumerate(parts):
        text, other = _text_and_other(part)
        if text is not None:
            state = content.on_text(state, text, logprobs, events, may_continue=index == 0)
            if text.get("text") and not text.get("thought"):
                logprobs = ()  # the first text has those of all tokens
        if other:
            state = _on_part(state, other, events)
    state = content.on_grounding(state, candidate, events)
    unused = {"logprobsResult": candidate["logprobsResult"]} if logprobs else {}
    return finish.on_candidate_fields(state, candidate, unused)


def _text_and_other(part: NativeObject) -> tuple[NativeObject | None, NativeObject]:
    """Return the fields of *part* as a text, and as a part of another kind: it may be both.

    What has no kind, such as a signature alone, is a text. Servers may write all fields of a part,
    most of them null or as zero values.
    """
    if len(part) == 1 and type(part.get("text")) is str:  # as nearly always
        return part, {}
    part = {
        name: value
        for name, value in part.items()
        if value is not None and value != _ZERO_VALUES.get(name)
    }
    if part.get("text") == "" and not _OF_DATA.isdisjoint(part):
        part = without(part, "text")
    if not isinstance(part.get("text"), str) and part.keys() - _TEXT_FIELDS:
        return None, part
    text = {name: part[name] for name in part if name not in _KINDS}
    return text, present(part, but=("text",)) if part.keys() & _KINDS.keys() else {}


def _on_part(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the events of a part that is not text."""
    for name, handler in _KINDS.items():
        if part.get(name) is not None:
            return handler(state, part, events)
    return content.on_unknown(state, part, events)


_KINDS: Final[dict[str, Handler]] = {
    "functionCall": calls.on_function_call,
    "executableCode": calls.on_code,
    "codeExecutionResult": calls.on_code_result,
    "toolCall": calls.on_tool_call,
    "toolResponse": calls.on_tool_response,
    "inlineData": content.on_media,
    "fileData": content.on_file_uri,
}
"""The kinds of parts besides text. Any other kind has no neutral form."""
_OF_DATA: Final = frozenset(_KINDS) | {"functionResponse"}
_ZERO_VALUES: Final = {"thought": False, "thoughtSignature": ""}
_TEXT_FIELDS: Final = frozenset({"text", "thought", "thoughtSignature"})


# -- the end ------------------------------------------------------------------------------


def halt(state: GeminiState) -> Sequence[LLMEvent]:
    """Finish the response if it has a finish reason, or its prompt was blocked."""
    if state.info.reason is None and state.info.blocked is None:
        return (truncated("finishReason"),)
    events: Events = []
    # Vertex AI may leave out the last piece of a call: https://github.com/vercel/ai/issues/14358
    whole = state.info.reason == "STOP"
    state = calls.end_call(close_segment(state, events), events, cut=not whole)
    info = state.info
    texts = to_list(info.texts)
    citations = content.cite(texts, to_list(info.groundings), to_list(info.quotations))
    for text, cited in zip(texts, citations, strict=True):
        events.append(TextEnd(text.id, citations=cited, provider_metadata=metadata_of(text.native)))
    reason = finish.map_reason(info.reason, info.blocked, called=info.calls > 0)
    usage = finish.final_usage(state)
    empty = reason.reason == "stop" and not info.segments and not info.ids
    diagnostics = (_EMPTY_RESPONSE,) if empty else ()
    return (
        *events,
        *finish_events(reason, usage, metadata_of(dict(info.metadata)), info.raw, diagnostics),
    )


_EMPTY_RESPONSE: Final = Diagnostic(
    "empty-response",
    "message.content",
    action="noted",
    message="the model stopped of itself without a word or a call",
)


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `GenerateContentResponse`, or of a list of its pieces."""
    text = finish.only_text(document, request) if isinstance(document, dict) else None
    if text is not None:
        return text
    chunks = objects(document) if isinstance(document, list) else [document]
    if not chunks or not all(isinstance(chunk, dict) for chunk in chunks):
        return (empty_response("is not an object", document),)
    state = change(initial(request), raw=document)
    state, events = step(state, chunks)  # type: ignore[arg-type]
    if any(type(event) is ErrorEvent for event in events):
        counted = stated_usage(state)  # of the last chunk before the error
        return [
            changed(event, usage=counted) if isinstance(event, StreamStart) else event
            for event in events
        ]
    answered = any(objects(object_or_empty(chunk).get("candidates")) for chunk in chunks)
    if not answered and state.info.blocked is None:
        return (empty_response("has no candidates", document),)
    if state.info.reason is None and state.info.blocked is None:
        if not has_content(events):
            return (empty_response("has neither content nor a finishReason", document),)
        state = change(state, reason="")  # a whole body is complete without a finish reason
    return (*events, *halt(state))


# -- the per-token path -------------------------------------------------------------------
#
# Most chunks only bring more of the open text, thought or call. They are decoded into types that
# have no place for anything else. Each restates the usage, and citations count in the text so far:
# the state after them is made when another chunk needs it.


class _TextPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: str
    thought: bool = False


class _Call(msgspec.Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    partial_args: list[dict[str, Any]]
    will_continue: bool


class _CallPart(msgspec.Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    function_call: _Call
    thought: bool = False


_Part = TypeVar("_Part", _TextPart, _CallPart)


class _Content(msgspec.Struct, Generic[_Part], gc=False, forbid_unknown_fields=True):
    parts: tuple[_Part]
    role: str | None = None


class _Candidate(msgspec.Struct, Generic[_Part], gc=False, forbid_unknown_fields=True):
    content: _Content[_Part]
    index: Literal[0] | None = None


class _Chunk(msgspec.Struct, Generic[_Part], rename="camel", forbid_unknown_fields=True):
    candidates: tuple[_Candidate[_Part]]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


_read_text: Final = msgspec.json.Decoder(_Chunk[_TextPart]).decode
_read_call: Final = msgspec.json.Decoder(_Chunk[_CallPart]).decode
_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def fast_reader(state: GeminiState) -> FastReader | None:
    """Return how to read the chunks that only continue the open text, thought or call."""
    info = state.info
    if info.mode in {"text", "reasoning"}:
        return _text_run(state, TextDelta if info.mode == "text" else ReasoningDelta)
    return None if info.mode or info.call is None else _call_run(state, info.call)


def _text_run(state: GeminiState, kind: type[TextDelta | ReasoningDelta]) -> FastReader:
    info, usage = state.info, state.usage
    created, thought = info.metadata.get("createTime"), kind is ReasoningDelta
    all_texts: list[str] = []

    def read(frames: Iterable[Frame]) -> list[str]:
        nonlocal usage
        texts: list[str] = []
        usages: list[dict[str, Any]] = []
        for name, data in frames:
            try:
                chunk = _read_text(data)
            except _UNREADABLE:
                break
            part, time = chunk.candidates[0].content.parts[0], chunk.create_time
            text = part.text
            new = time is not None and time != created
            if part.thought != thought or not text or new or name == "error":
                break
            if chunk.usage_metadata is not None:
                usages.append(chunk.usage_metadata)
            texts.append(text)
        usage = finish.latest(usage, usages)
        all_texts.extend(texts)
        return texts

    def after() -> GeminiState:
        pieces = state.pieces
        if all_texts and not thought:
            pieces = PersistentList("".join(all_texts), pieces)
        return GeminiState(info, usage, pieces)

    return FastReader(kind, info.segment, read, after)


def _call_run(state: GeminiState, opened: OpenCall) -> FastReader:
    """Return a reader that collects the pieces of a call, which `end_call` joins."""
    info, usage = state.info, state.usage
    created = info.metadata.get("createTime")
    arguments: list[NativeObject] = []

    def read(frames: Iterable[Frame]) -> list[str]:
        nonlocal usage
        count = 0
        usages: list[dict[str, Any]] = []
        for name, data in frames:
            try:
                chunk = _read_call(data)
            except _UNREADABLE:
                break
            part, time = chunk.candidates[0].content.parts[0], chunk.create_time
            call, new = part.function_call, time is not None and time != created
            if part.thought or not call.will_continue or new or name == "error":
                break
            if chunk.usage_metadata is not None:
                usages.append(chunk.usage_metadata)
            arguments.extend(call.partial_args)
            count += 1
        usage = finish.latest(usage, usages)
        return [""] * count

    def after() -> GeminiState:
        more = {"partialArgs": [*arguments], "willContinue": True}
        pieces = PersistentList(more, opened.pieces) if arguments else opened.pieces
        return GeminiState(replace(info, call=replace(opened, pieces=pieces)), usage, state.pieces)

    return FastReader(ToolInputDelta, opened.id, read, after)


# -- chunks that only continue a text, which a relay passes on unread


def text_reader(data: bytes) -> TextReader | None:
    """Return a reader of chunks that continue the same text or thought as the one in *data*."""
    try:
        first = _read_text(data)
    except _UNREADABLE:
        return None
    thought, time = first.candidates[0].content.parts[0].thought, first.create_time
    counts = first.usage_metadata is not None

    def read(data: bytes) -> str | None:
        try:
            event = _read_text(data)
        except _UNREADABLE:
            return None
        part = event.candidates[0].content.parts[0]
        same = part.thought == thought and event.create_time == time
        return part.text if same and (event.usage_metadata is not None) == counts else None

    return read


def _with_text(chunk: NativeObject, text: str) -> None:
    chunk["candidates"][0]["content"]["parts"][0]["text"] = text


DELTAS: Final = DeltaForm(reader=text_reader, with_text=_with_text)
"""Each chunk restates the usage: that of the last one counts."""
