"""Gemini: reading the answer, streamed or whole.

Source: https://ai.google.dev/api/generate-content#GenerateContentResponse, read November 2026.

A stream is a sequence of such responses, each with the next parts. It has no end sentinel, but a
complete answer has a finish reason. A body that was not streamed is read as one chunk, so both give
the same events by construction.

    data: {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}, "index": 0}],
           "usageMetadata": {...}, "modelVersion": "gemini-3-flash", "responseId": "r1"}
    data: {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}], ...}
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from llmcore.protocols.answering import (
    empty_response,
    finish_events,
    invalid_value_error,
    stream_context,
    truncated,
)
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.gemini.calls import (
    continued_call,
    end_call,
    on_code,
    on_code_result,
    on_function_call,
    on_tool_call,
    on_tool_response,
)
from llmcore.protocols.gemini.content import (
    cite,
    omit_keys,
    on_file_uri,
    on_grounding,
    on_media,
    on_text,
    on_unknown,
    read_logprobs,
)
from llmcore.protocols.gemini.finish import (
    latest,
    map_reason,
    map_usage,
    on_candidate_fields,
    on_response_fields,
    on_start,
)
from llmcore.protocols.gemini.names import NativeObject
from llmcore.protocols.gemini.state import (
    GeminiInfo,
    GeminiState,
    change,
    close_segment,
    metadata_of,
)
from llmcore.protocols.native_json import object_or_empty, objects
from llmcore.protocols.persistent import PersistentList, to_list
from llmcore.protocols.protocol import DeltaForm, Frame, TextReader
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    TextEnd,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


class _Call(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    partial_args: list[dict[str, Any]]
    will_continue: Literal[True]


class _Part(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    text: str | msgspec.UnsetType = msgspec.UNSET
    thought: bool = False
    function_call: _Call | msgspec.UnsetType = msgspec.UNSET


class _Content(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    parts: list[_Part]
    role: str | None = None


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    content: _Content
    index: Literal[0] | None = None


class FastChunk(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A chunk with text or arguments, the usage, and the fields that every chunk repeats."""

    candidates: list[_Candidate]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


Event: TypeAlias = FastChunk | NativeObject | list[NativeObject]
"""A chunk; or several in one frame, which is how errors come before a stream of JSON."""


def decode(frame: Frame) -> Event | None:
    """Return the event of a frame; None for a ping. Raises ValueError if it is not JSON."""
    name, data = frame
    if data[:1] != b"{":
        data = data.strip()
        if not data or data == b"[DONE]":  # some gateways add OpenAI's sentinel
            return None
    elif name != "error" and (fast := read_fast_chunk(data)) is not None:
        return fast
    chunk = json.loads(data)
    if isinstance(chunk, dict):
        return {"error": chunk} if name == "error" and not chunk.get("error") else chunk
    if isinstance(chunk, list):
        return objects(chunk)
    return None if chunk is None else {"error": {"message": f"a chunk is {chunk!r}"[:200]}}


def terminal(_event: Event) -> bool:
    """Return False: no chunk tells that it is the last."""
    return False


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[GeminiState, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[GeminiState, NativeObject, list[LLMEvent]], GeminiState]
"""Appends the events of a part, and returns the state after it."""


def initial(request: LLMRequest) -> GeminiState:
    """Return the state before the first chunk."""
    return GeminiState(GeminiInfo(context=stream_context(request)))


# -- stepping -----------------------------------------------------------------------------


def step(state: GeminiState, event: Event) -> Step:
    """Return the state after *event*, and the events that it gives."""
    if isinstance(event, FastChunk):
        more = fast_step(state, event)
        if more is not None:
            return more
        event = as_chunk(event)
    if isinstance(event, list):
        return _steps(state, event)
    try:
        return _step(state, event)
    except InvalidRequestError as error:  # values refuse what is nested too deeply
        return state, (invalid_value_error(error, event),)


def _steps(state: GeminiState, chunks: list[NativeObject]) -> Step:
    events: list[LLMEvent] = []
    for chunk in chunks:
        state, more = step(state, chunk)
        events += more
        if events and type(events[-1]) is ErrorEvent:
            break
    return state, events


def _step(state: GeminiState, chunk: NativeObject) -> Step:
    if _is_error(chunk):
        return state, (_error(state, chunk),)
    events: list[LLMEvent] = []
    state = on_start(state, chunk, events)
    for candidate in objects(chunk.get("candidates")):
        if candidate.get("index") in (0, None):
            state = _on_candidate(state, candidate, events)
        else:
            events.append(ProviderEvent(state.info.context.provider, {"candidate": candidate}))
    return on_response_fields(state, chunk), events


def _is_error(chunk: NativeObject) -> bool:
    """Return whether *chunk* is an error body: Google's, or a gateway's."""
    if chunk.get("error"):
        return True
    if chunk.get("candidates") or "promptFeedback" in chunk or "usageMetadata" in chunk:
        return False
    return "message" in chunk or "detail" in chunk


def _error(state: GeminiState, chunk: NativeObject) -> ErrorEvent:
    return ErrorEvent(error_from_body(provider=state.info.context.provider or None, body=chunk))


def _on_candidate(
    state: GeminiState, candidate: NativeObject, events: list[LLMEvent]
) -> GeminiState:
    logprobs = read_logprobs(candidate)
    for part in objects(object_or_empty(candidate.get("content")).get("parts")):
        if isinstance(part.get("text"), str) or not part.keys() - _BESIDES:
            text = {name: part[name] for name in part if name not in _KINDS}
            state = on_text(state, text, logprobs, events)
            logprobs = () if text.get("text") and not text.get("thought") else logprobs
            part = omit_keys(part, "text") if part.keys() & _KINDS.keys() else {}  # noqa: PLW2901
        if part:
            state = _on_part(state, part, events)
    state = on_grounding(state, candidate, events)
    unused = {"logprobsResult": candidate["logprobsResult"]} if logprobs else {}
    return on_candidate_fields(state, candidate, unused)


def _on_part(state: GeminiState, part: NativeObject, events: list[LLMEvent]) -> GeminiState:
    """Emit the events of a part that is not text."""
    for name, handler in _KINDS.items():
        if part.get(name) is not None:
            return handler(state, part, events)
    return on_unknown(state, part, events)


_KINDS: Final[dict[str, Handler]] = {
    "functionCall": on_function_call,
    "executableCode": on_code,
    "codeExecutionResult": on_code_result,
    "toolCall": on_tool_call,
    "toolResponse": on_tool_response,
    "inlineData": on_media,
    "fileData": on_file_uri,
}
"""The kinds of parts besides text. Any other kind has no neutral form."""
_BESIDES: Final = frozenset({"text", "thought", "thoughtSignature"})


# -- the end ------------------------------------------------------------------------------


def halt(state: GeminiState) -> Sequence[LLMEvent]:
    """Finish the answer if it has a finish reason, or its prompt was blocked."""
    if state.info.reason is None and state.info.blocked is None:
        return (truncated("finishReason"),)
    try:
        return _finish(state)
    except InvalidRequestError as error:
        return (invalid_value_error(error, None),)


def _finish(state: GeminiState) -> Sequence[LLMEvent]:
    events: list[LLMEvent] = []
    state = end_call(close_segment(state, events), events, cut=True)
    info = state.info
    texts = to_list(info.texts)
    citations = cite(texts, to_list(info.groundings), to_list(info.quotations))
    for text, cited in zip(texts, citations, strict=True):
        events.append(TextEnd(text.id, citations=cited, provider_metadata=metadata_of(text.native)))
    reason = map_reason(info.reason, info.blocked, called=info.calls > 0)
    usage = None if state.usage is None else map_usage(state.usage)
    empty = reason.reason == "stop" and not info.segments and not info.ids
    notes = (_EMPTY_ANSWER,) if empty else ()
    return (
        *events,
        *finish_events(reason, usage, metadata_of(dict(info.metadata)), info.raw, notes),
    )


_EMPTY_ANSWER: Final = Diagnostic(
    "empty-answer",
    "message.content",
    action="noted",
    message="the model stopped of itself without a word or a call",
)


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `GenerateContentResponse`, or of a list of its pieces."""
    chunks = objects(document) if isinstance(document, list) else [document]
    if not chunks or not all(isinstance(chunk, dict) for chunk in chunks):
        return (empty_response("is not an object", document),)
    state = change(initial(request), raw=document)
    state, events = _steps(state, chunks)  # type: ignore[arg-type]
    if any(type(event) is ErrorEvent for event in events):
        return events
    answered = any(objects(object_or_empty(chunk).get("candidates")) for chunk in chunks)
    if not answered and state.info.blocked is None:
        return (empty_response("has no candidates", document),)
    if state.info.reason is None and state.info.blocked is None:
        state = change(
            state, reason=""
        )  # a body that was not streamed is complete without a finish reason
    return (*events, *halt(state))


# -- the per-token path -------------------------------------------------------------------
#
# Most chunks only bring more of the open text, thought or call. They are decoded into a type of
# their own, which has no place for anything else, and a step with text makes no new `GeminiInfo`.
# `as_chunk` gives the chunk back, for states in which it means more than that.
#
# `StreamMachine.fast_reader` cannot do this: each chunk restates the usage, and citations count in
# the text so far, so that the state changes with every chunk.


_read: Final = msgspec.json.Decoder(FastChunk).decode


def read_fast_chunk(data: bytes) -> FastChunk | None:
    """Return the chunk in *data*; None if it has other fields, or is not JSON."""
    try:
        return _read(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def as_chunk(event: FastChunk) -> NativeObject:
    """Return *event* as the native chunk that it was decoded from."""
    chunk: NativeObject = msgspec.to_builtins(event)
    return chunk


def fast_step(state: GeminiState, event: FastChunk) -> Step | None:
    """Return the step of a chunk that only continues the open segment; None for any other."""
    info, usage = state.info, event.usage_metadata
    candidates = event.candidates
    parts = candidates[0].content.parts if len(candidates) == 1 else ()
    if len(parts) != 1 or not _repeats(event, info):
        return None
    part, text, call = parts[0], parts[0].text, parts[0].function_call
    usage = state.usage if usage is None else latest(state.usage, usage)
    if isinstance(text, str) and text and call is msgspec.UNSET:
        if not part.thought and info.mode == "text":
            state = GeminiState(info, usage, PersistentList(text, state.pieces))
            return state, (TextDelta(info.segment, text),)
        if part.thought and info.mode == "reasoning":
            return GeminiState(info, usage, state.pieces), (ReasoningDelta(info.segment, text),)
    elif isinstance(call, _Call) and text is msgspec.UNSET and not part.thought:
        more = continued_call(info, call.partial_args)
        if more is not None:
            return GeminiState(more, usage, state.pieces), ()
    return None


def _repeats(event: FastChunk, info: GeminiInfo) -> bool:
    """Return whether *event* has no new metadata of the response."""
    return event.create_time is None or event.create_time == info.metadata.get("createTime")


# -- chunks that only continue a text, which a relay passes on unread


_ABSENT: Final = msgspec.Raw()


class _TextPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: str
    thought: bool = False


class _TextContent(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    parts: tuple[_TextPart]
    role: str | None = None


class _TextCandidate(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    content: _TextContent
    index: Literal[0] | None = None


class _TextChunk(msgspec.Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    candidates: tuple[_TextCandidate]
    usage_metadata: msgspec.Raw = _ABSENT
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


_read_text: Final = msgspec.json.Decoder(_TextChunk).decode


def text_reader(data: bytes) -> TextReader | None:
    """Return what reads the chunks that continue the same text or thought as the one in *data*."""
    try:
        first = _read_text(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    thought, time = first.candidates[0].content.parts[0].thought, first.create_time
    counts = first.usage_metadata is not _ABSENT

    def read(data: bytes) -> str | None:
        try:
            event = _read_text(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        part = event.candidates[0].content.parts[0]
        same = part.thought == thought and event.create_time == time
        return part.text if same and (event.usage_metadata is not _ABSENT) == counts else None

    return read


def _with_text(chunk: NativeObject, text: str) -> None:
    chunk["candidates"][0]["content"]["parts"][0]["text"] = text


DELTAS: Final = DeltaForm(reader=text_reader, with_text=_with_text)
"""Each chunk restates the usage: that of the last one counts."""
