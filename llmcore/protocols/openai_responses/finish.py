"""OpenAI Responses: the response as a whole: its beginning, finish reason, usage and error.

    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress",
     "model": "gpt-5.2", "output": [], "usage": null, ...}}
    {"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
     "output": [...], "usage": {"input_tokens": 20, "output_tokens": 10, ...}, ...}}

Sources, read November 2026: https://developers.openai.com/api/reference/resources/responses
(`status`, `incomplete_details`, `error`, `usage`),
https://developers.openai.com/api/docs/guides/background.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.openai_responses.call_inputs import input_text
from llmcore.protocols.openai_responses.content import flush_audio
from llmcore.protocols.openai_responses.continuation import chain_link
from llmcore.protocols.openai_responses.names import (
    INCOMPLETE_REASONS,
    METADATA_KEY,
    NAMED_CALLS,
    PART_TYPES,
    PROTOCOL_ID,
    USAGE_FIELDS,
    unread_fields,
)
from llmcore.protocols.openai_responses.state import (
    Item,
    ResponsesInfo,
    ResponsesState,
    typed_parts,
)
from llmcore.protocols.protocol import ResumeRequest
from llmcore.protocols.response_parts import (
    CompleteEvents,
    Events,
    counts_reader,
    finish_events,
    finish_reason,
    inclusive_usage,
    only_object,
    read_cost,
    served_tier,
    skimmed,
    text_response,
)
from llmcore.protocols.tools import are_plain_arguments
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AbortError, InvalidRequestError, LLMError
from llmcore.schema.events import (
    ErrorEvent,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    StepStart,
    StreamStart,
)
from llmcore.schema.json import JsonValue, NativeObject, ProviderMetadata
from llmcore.schema.native_json import (
    all_objects,
    has_only,
    int_or_none,
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
    kept = {name: response[name] for name in _METADATA if response.get(name) is not None}
    diagnostics = to_list(state.info.diagnostics)
    if (status := response.get("status")) in ("queued", "in_progress"):
        kept["resume"] = {"response_id": response.get("id"), "sequence_number": None}
        message = f"the response continues in the background (its status is {status})"
        diagnostics += (
            Diagnostic("response-unfinished", "status", action="noted", message=message),
        )
    events += finish_events(
        map_reason(response, state.info),
        _usage_of(response),
        {METADATA_KEY: kept} if kept else {},
        response,
        diagnostics,
        message_metadata=chain_link(state.info.input_digest, response),
    )
    return _ended(state)


def _ended(state: ResponsesState) -> ResponsesState:
    return replace(state, info=replace(state.info, ended=True), fast_path=None)


def map_reason(response: NativeObject, info: ResponsesInfo) -> FinishReason:
    """Return why the model stopped."""
    status = str_or_none(response.get("status")) or "completed"
    if status == "incomplete":
        raw = str_or_none(object_or_empty(response.get("incomplete_details")).get("reason"))
        return finish_reason(INCOMPLETE_REASONS.get(raw or "", "other"), raw or status)
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
    if item.type in NAMED_CALLS:
        return input_text(item.native)
    return "".join(
        str_or_empty(part.get(PART_TYPES[type_].text))
        for (type_, _), part in typed_parts(item)
        if type_ in PART_TYPES
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
        error = error_from_body(provider=state.context.provider, body={"error": body})
    return fail(state, error, events)


def fail(state: ResponsesState, error: LLMError, events: Events) -> ResponsesState:
    """End the response with *error*."""
    events.append(ErrorEvent(error))
    return _ended(state)


# -- usage


_counts_of: Final = counts_reader(USAGE_FIELDS)


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
    there is no cursor.
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


# -- a whole body without its content

_PLAIN_PARTS: Final = {
    "output_text": ("annotations", "logprobs"),
    "summary_text": (),
    "reasoning_text": (),
}
"""Types of text, and their lists that are empty in a plain one."""


def skim(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent] | None:
    """Return the beginning and the end of a plain `response`; None for any other body."""
    if not isinstance(document, dict) or document.get("status") not in ("completed", "incomplete"):
        return None
    output, usage = all_objects(document.get("output")), document.get("usage")
    if output is None or not isinstance(usage, dict) or not usage:
        return None
    if not all(map(_is_plain, output)):
        return None
    kinds = {item["type"] for item in output}
    kept = {name: document[name] for name in _METADATA if document.get(name) is not None}
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
    item = only_object(document.get("output"))
    if item is None or item.get("type") != "message" or not item.keys() <= _TEXT_ITEM:
        return None
    part = only_object(item.get("content"))
    if part is None:
        return None
    text, id_ = part.get("text"), str_or_none(item.get("id"))
    if part.get("type") != "output_text" or type(text) is not str or not (text and id_):
        return None
    if unread_fields(part):
        return None
    metadata: ProviderMetadata = {METADATA_KEY: {"id": id_, "index": 0}}
    return text_response(skim(document, request), "text_0_0", text, metadata)


_TEXT_ITEM: Final = frozenset({"id", "type", "status", "role", "content"})


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
