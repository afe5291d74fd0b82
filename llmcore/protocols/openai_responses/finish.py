"""OpenAI Responses: the response as a whole: its beginning, finish reason, usage and error.

    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress",
     "model": "gpt-5.2", "output": [], "usage": null, ...}}
    {"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
     "output": [...], "usage": {"input_tokens": 20, "output_tokens": 10, ...}, ...}}

Sources, read November 2026: https://developers.openai.com/api/reference/resources/responses
(`status`, `incomplete_details`, `error`, `usage`),
https://developers.openai.com/api/docs/guides/background.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.openai_responses import names
from llmcore.protocols.openai_responses.call_inputs import input_text
from llmcore.protocols.openai_responses.content import flush_audio
from llmcore.protocols.openai_responses.continuation import chain_link
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.openai_responses.state import (
    FastPath,
    Item,
    ResponsesInfo,
    ResponsesState,
    typed_parts,
)
from llmcore.protocols.protocol import FastReader, Frame, TextFrames, TextSoFar
from llmcore.protocols.response_parts import (
    CompleteEvents,
    Ends,
    Events,
    StreamContext,
    counts_reader,
    finish_events,
    finish_reason,
    inclusive_usage,
    only_object,
    read_cost,
    served_tier,
    skimmed,
    start_events,
    text_end,
    text_response,
    text_start,
)
from llmcore.protocols.tools import are_plain_arguments
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AbortError, LLMError
from llmcore.schema.events import (
    ErrorEvent,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    StepStart,
    StreamStart,
    TextDelta,
)
from llmcore.schema.json import JsonValue, NativeObject, ProviderMetadata, present
from llmcore.schema.native_json import (
    all_objects,
    has_only,
    object_or_empty,
    str_or_empty,
    str_or_none,
)
from llmcore.schema.persistent import PersistentList, to_list
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

FAILED: Final = ("failed", "cancelled")
"""The values of `status` of a response that cannot be used."""

# -- the beginning


def on_start(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit the start of the stream with the first event that is a part of the response."""
    if state.info.started:
        return state
    return on_response(state, object_or_empty(event.get("response")), events)


def on_response(state: ResponsesState, response: NativeObject, events: Events) -> ResponsesState:
    """Emit the start of the stream, once, and keep the response's id."""
    info = state.info
    if info.started and info.response_id is not None:
        return state
    response_id = str_or_none(response.get("id"))
    if not info.started:
        provider = state.context.provider
        model = str_or_none(response.get("model")) or state.context.model
        failed = response.get("status") in FAILED  # of which nothing else has the usage
        events.append(
            StreamStart(
                provider=provider,
                model=model,
                id=response_id,
                protocol=PROTOCOL_ID,
                usage=_usage_of(response) if failed else None,
            )
        )
        events += (ProviderEvent(state.owner, event) for event in to_list(info.early))
        events.append(StepStart())
    background = info.background or response.get("background") is True
    info = replace(info, started=True, response_id=response_id, background=background, early=None)
    return replace(state, info=info)


def on_notification(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Pass on an event that is not a part of the response, once that has begun."""
    if not state.info.started:
        early = PersistentList(event, state.info.early)
        return replace(state, info=replace(state.info, early=early))
    events.append(ProviderEvent(state.owner, event))
    return state


# -- the end

_METADATA: Final = (
    "access_programs", "service_tier", "conversation", "content_filters", "image",
    "input_transformations", "moderation", "prompt_cache_diagnostics", "tool_usage",
)  # fmt: skip
"""Fields of a response that are neither content nor repeat the request: what was done for it."""


def finish(state: ResponsesState, response: NativeObject, events: Events) -> ResponsesState:
    """Emit the end of the response. In the background it ends with the place to resume at."""
    flush_audio(state, events)
    kept = _kept_of(response)
    diagnostics = to_list(state.info.diagnostics)
    if (status := response.get("status")) in ("queued", "in_progress"):
        kept["resume"] = {"response_id": response.get("id"), "sequence_number": None}
        message = f"the response continues in the background (its status is {status})"
        diagnostics += (
            Diagnostic("response-unfinished", "status", action="noted", message=message),
        )
    events += _end_events(response, state.info, kept, diagnostics)
    return _ended(state)


def _kept_of(response: NativeObject) -> NativeObject:
    return {name: response[name] for name in _METADATA if response.get(name) is not None}


def _end_events(
    response: NativeObject,
    info: ResponsesInfo,
    kept: NativeObject,
    diagnostics: Sequence[Diagnostic] = (),
) -> Sequence[LLMEvent]:
    """Return the end of a *response* of which the fields *kept* are kept."""
    return finish_events(
        map_reason(response, info),
        _usage_of(response),
        {METADATA_KEY: kept} if kept else {},
        response,
        diagnostics,
        message_metadata=chain_link(info.input_digest, response),
    )


def _ended(state: ResponsesState) -> ResponsesState:
    return replace(state, info=replace(state.info, ended=True), fast_path=None)


def map_reason(response: NativeObject, info: ResponsesInfo) -> FinishReason:
    """Return why the model stopped."""
    status = str_or_none(response.get("status")) or "completed"
    if status == "incomplete":
        raw = str_or_none(object_or_empty(response.get("incomplete_details")).get("reason"))
        return finish_reason(names.INCOMPLETE_REASONS.get(raw or "", "other"), raw or status)
    if status == "requires_action" and info.called:  # Perplexity's, where the client runs calls
        return finish_reason("tool_calls", status)
    if status != "completed":
        return finish_reason("other", status)
    return finish_reason("tool_calls" if info.called else "stop", status)


def note_difference(state: ResponsesState, item: Item, native: NativeObject) -> ResponsesState:
    """Note that the final response has another text for an item that had ended.

    Emitted events stay; the final response is the finish event's raw document.
    """
    before, now = _text(item), _text(replace(item, native=native))
    if not before or not now or before == now:
        return state
    message = (
        "the final response has another text for an item that has ended; the first text is kept"
    )
    path = f"output[{item.position}]"
    note = Diagnostic("final-response-differs", path, action="noted", message=message)
    diagnostics = PersistentList(note, state.info.diagnostics)
    return replace(state, info=replace(state.info, diagnostics=diagnostics))


def _text(item: Item) -> str:
    """Return the text or the input of an item; empty for one of another type."""
    if item.type in names.NAMED_CALLS:
        return input_text(item.native)
    return "".join(
        str_or_empty(part.get(names.PART_TYPES[type_].text))
        for (type_, _), part in typed_parts(item)
        if type_ in names.PART_TYPES
    )


# -- errors


def fail_response(state: ResponsesState, response: NativeObject, events: Events) -> ResponsesState:
    """End the response with its own error."""
    state = replace(state, info=replace(state.info, usage=_usage_of(response)))
    if response.get("status") == "cancelled":
        error: LLMError = AbortError(
            "the response was cancelled at the provider", raw={"status": "cancelled"}
        )
    else:
        body = response.get("error") or {"message": "the response failed without an error"}
        stated = {"error_type": response.get("error_type")}  # OpenRouter's
        error = error_from_body(
            provider=state.context.provider, body=present({"error": body, **stated})
        )
    return fail(state, error, events)


def fail(state: ResponsesState, error: LLMError, events: Events) -> ResponsesState:
    """End the response with *error*."""
    events.append(ErrorEvent(error))
    return _ended(state)


# -- usage


_counts_of: Final = counts_reader(names.USAGE_FIELDS)


def map_usage(usage: Mapping[str, Any], tier: object = None) -> Usage:
    """Return a server's usage object by the inclusive contract; *tier* is its `service_tier`."""
    counts = _counts_of(usage)
    return inclusive_usage(
        **counts, cost_usd=read_cost(usage), service_tier=served_tier(tier), raw=dict(usage)
    )


def _usage_of(response: NativeObject) -> Usage | None:
    usage = object_or_empty(response.get("usage"))
    return map_usage(usage, response.get("service_tier")) if usage else None


def stated_usage(state: ResponsesState) -> Usage | None:
    """Return the tokens of a response that failed: the API counts them at the end."""
    return state.info.usage


# -- a whole body without its content

_PLAIN_PARTS: Final = {
    "output_text": ("annotations", "logprobs"),
    "summary_text": (),
    "reasoning_text": (),
}
"""Types of text, and their lists that are empty in a plain one."""


def skim(document: JsonValue, request: LLMRequest) -> Ends | None:
    """Return the beginning and the end of a plain `response`; None for any other body."""
    if not isinstance(document, dict) or document.get("status") not in ("completed", "incomplete"):
        return None
    output, usage = all_objects(document.get("output")), document.get("usage")
    if output is None or not isinstance(usage, dict) or not usage:
        return None
    if not all(map(_is_plain, output)):
        return None
    kinds = {item["type"] for item in output}
    kept = _kept_of(document)
    return skimmed(
        PROTOCOL_ID,
        request,
        document,
        model=document.get("model"),
        response_id=document.get("id"),
        reason=map_reason(document, ResponsesInfo(called="function_call" in kinds)),
        usage=map_usage(usage, kept.get("service_tier")),
        metadata={METADATA_KEY: kept} if kept else {},
        reasoned="reasoning" in kinds,
    )


def only_text(document: NativeObject, request: LLMRequest) -> CompleteEvents | None:
    """Return the events of a `response` that is one text; None for any other body."""
    item = only_object(document.get("output")) or {}
    part = only_object(item.get("content")) or {}
    text = str_or_none(part.get("text"))
    metadata = None if text is None else _text_item(item, text)
    if text is None or metadata is None:
        return None
    return text_response(skim(document, request), _SEGMENT, text, metadata)


_TEXT_ITEM: Final = frozenset({"id", "type", "status", "role", "content", "phase"})


def _is_plain(item: NativeObject) -> bool:
    """Return whether an item is text, thinking, or a call of a function of the client's."""
    match item.get("type"):
        case "message":
            return has_only(item, ("content",)) and _are_texts(item.get("content"))
        case "reasoning":
            parts = (item.get(name) or [] for name in ("content", "summary"))
            return has_only(item, ("content", "summary")) and all(map(_are_texts, parts))
        case "function_call":
            named = str_or_none(item.get("name")) and str_or_none(item.get("call_id"))
            return bool(named) and has_only(item) and are_plain_arguments(item.get("arguments"))
    return False


def _are_texts(parts: JsonValue) -> bool:
    blocks = all_objects(parts)
    return blocks is not None and all(map(_is_text, blocks))


def _is_text(part: NativeObject) -> bool:
    lists = _PLAIN_PARTS.get(str(part.get("type")))
    if lists is None or type(part.get("text")) is not str or any(map(part.get, lists)):
        return False
    return has_only(part, lists)


# -- a stream that is one text: see `routes.one_text`


class _BegunResponse(msgspec.Struct, gc=False):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    model: str | None = None
    output: tuple[()] | None = None
    background: bool | None = None


class _Begun(msgspec.Struct, gc=False):
    type: Literal["response.created", "response.in_progress"]
    response: _BegunResponse
    object: None = None


class _PlainPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: Literal["output_text"]
    text: str
    annotations: tuple[()] | None = None
    logprobs: tuple[()] | None = None


class _Plain(msgspec.Struct, gc=False):
    type: str
    item_id: str | None = None
    output_index: Literal[0] | None = None
    content_index: Literal[0] | None = None
    item: NativeObject = {}
    part: _PlainPart | None = None
    text: str | None = None
    annotations: tuple[()] | None = None
    logprobs: tuple[()] | None = None
    response: NativeObject = {}
    object: None = None
    error: None = None


_read_begun: Final = msgspec.json.Decoder(_Begun).decode
_read_plain: Final = msgspec.json.Decoder(_Plain).decode
_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def one_text(
    request: LLMRequest,
    text: TextSoFar,
    *,
    digest: Callable[[LLMRequest], bytes | None],
    fast_reader: Callable[[ResponsesState], FastReader | None],
) -> TextFrames:
    """Read a stream that is one text; *fast_reader* reads its deltas."""
    begun = _begun_in((yield ()))
    if begun is None or begun.background or digest(request) is not None:
        return
    frame = yield start_events(PROTOCOL_ID, request, begun.model, begun.id)
    while _begun_in(frame) is not None:
        frame = yield ()
    item = getattr(_plain(frame, "output_item.added"), "item", {})
    if (metadata := _text_item(item, "")) is None:
        return
    id_ = item["id"]
    if _part_text((yield ()), "content_part.added", id_) != "":
        return
    text.reader = fast_reader(replace(_OPEN, fast_path=_path_of(id_)))
    frame = yield (text_start(_SEGMENT, metadata),)
    whole = "".join(text.chunks)
    if not whole or _part_text(frame, "output_text.done", id_) != whole:
        return
    if _part_text((yield ()), "content_part.done", id_) != whole:
        return
    item = getattr(_plain((yield ()), "output_item.done"), "item", {})
    if (metadata := _text_item(item, whole)) is None or item["id"] != id_ or not _is_plain(item):
        return
    frame = yield (text_end(_SEGMENT, whole, metadata),)
    response = getattr(_plain(frame, "completed"), "response", {})
    if response.get("status") == "completed" and only_object(response.get("output")) == item:
        yield _end_events(response, ResponsesInfo(), _kept_of(response))


_SEGMENT: Final = "text_0_0"
_OPEN: Final = ResponsesState(context=StreamContext(provider="", model="", turn=0))


def _path_of(item_id: str) -> FastPath:
    """Return the place of the text, which is in the message of that id."""
    return FastPath(
        event_type="response.output_text.delta",
        item_id=item_id,
        output_index=0,
        index_field="content_index",
        part_index=0,
        segment=_SEGMENT,
        delta=TextDelta,
    )


def _begun_in(frame: Frame | None) -> _BegunResponse | None:
    """Return the response that begins with *frame*; None for any other event."""
    try:
        return _read_begun(frame[1]).response if frame and frame[0] != "error" else None
    except _UNREADABLE:
        return None


def _plain(frame: Frame | None, kind: str) -> _Plain | None:
    """Return the event in *frame*, of that *kind*; None if it may do more than such a stream's."""
    if frame is None or frame[0] == "error":
        return None
    try:
        event = _read_plain(frame[1])
    except _UNREADABLE:
        return None
    placed = event.output_index == 0 or kind == "completed"
    return event if placed and event.type == f"response.{kind}" else None


def _part_text(frame: Frame | None, kind: str, item_id: str) -> str | None:
    """Return the text in an event of that *kind* about the first part of an item."""
    event = _plain(frame, kind)
    if event is None or event.item_id != item_id or event.content_index != 0:
        return None
    holder = event if kind == "output_text.done" else event.part
    return None if holder is None else holder.text


def _text_item(item: NativeObject, text: str) -> ProviderMetadata | None:
    """Return the metadata of the *item* if it is a message that is just *text*."""
    id_, phase = str_or_none(item.get("id")), item.get("phase")
    if item.get("type") != "message" or not item.keys() <= _TEXT_ITEM or id_ is None:
        return None
    part = only_object(item.get("content")) or {}
    if text and (part.get("text") != text or part.get("type") != "output_text"):
        return None
    if part and names.unread_fields(part):
        return None
    if not (text or item.get("content") in ([], None)) or not isinstance(phase, str | None):
        return None
    given = {} if phase is None else {"phase": phase}
    return {METADATA_KEY: {"id": id_, "index": 0, **given}}
