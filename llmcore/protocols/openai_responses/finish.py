"""OpenAI Responses: what events say of the response as a whole: how it begins and ends.

Sources, read November 2026: https://developers.openai.com/api/reference/resources/responses
(`status`, `incomplete_details`, `error`), https://developers.openai.com/api/docs/guides/background.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.answering import finish_events
from llmcore.protocols.errors import error_from_body
from llmcore.protocols.native_json import count_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.call_inputs import input_text
from llmcore.protocols.openai_responses.content import spoken
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID, NativeObject
from llmcore.protocols.openai_responses.state import TEXT_FIELDS, Envelope, Item, State
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AbortError, LLMError
from llmcore.schema.events import (
    ErrorEvent,
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    ProviderEvent,
    StepStart,
    StreamStart,
)
from llmcore.schema.usage import Usage

# -- the beginning


def on_start(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Announce the response with the first event that is a part of it."""
    if state.envelope.started:
        return state
    return on_response(state, object_or_empty(event.get("response")), events)


def on_response(state: State, response: NativeObject, events: list[LLMEvent]) -> State:
    """Announce the response, once, and keep which one it is."""
    envelope = state.envelope
    if envelope.started and envelope.response_id is not None:
        return state
    context = state.context
    response_id = str_or_none(response.get("id"))
    if not envelope.started:
        model = str_or_none(response.get("model")) or context.model
        events.append(
            StreamStart(
                provider=context.provider, model=model, id=response_id, protocol=PROTOCOL_ID
            )
        )
        events += (ProviderEvent(context.owner, event) for event in envelope.early)
        events.append(StepStart())
    background = envelope.background or response.get("background") is True
    envelope = changed(
        envelope, started=True, response_id=response_id, background=background, early=()
    )
    return changed(state, envelope=envelope)


def on_notification(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Pass on an event that is no part of the answer, once the answer has begun."""
    envelope = state.envelope
    if not envelope.started:
        return changed(state, envelope=changed(envelope, early=(*envelope.early, event)))
    events.append(ProviderEvent(state.context.owner, event))
    return state


# -- the end

_INCOMPLETE: Final[dict[str, FinishReasonKind]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def map_reason(response: NativeObject, envelope: Envelope) -> FinishReason:
    """Return why the model stopped; a completed response does not tell calls from text."""
    status = str_or_none(response.get("status")) or "completed"
    if status == "incomplete":
        raw = str_or_none(object_or_empty(response.get("incomplete_details")).get("reason"))
        return FinishReason(_INCOMPLETE.get(raw or "", "other"), raw or status)
    if status != "completed":
        return FinishReason("other", status)
    if envelope.called:
        return FinishReason("tool_calls", status)
    return FinishReason("content_filter" if envelope.refused else "stop", status)


def note_difference(state: State, item: Item, native: NativeObject) -> State:
    """Note that the final response has other words for an item that had ended.

    What was emitted stays; the final response is the finish event's raw document.
    """
    before, now = _words(item.native), _words(native)
    if not before or not now or before == now:
        return state
    message = "the final response has other words for an item that had ended; the earlier ones stay"
    where = f"output[{item.place}]"
    note = Diagnostic("final-response-differs", where, action="noted", message=message)
    return changed(state, envelope=changed(state.envelope, notes=(*state.envelope.notes, note)))


def _words(native: NativeObject) -> str:
    """Return the text or the input that an item holds; empty where it is of another kind."""
    if native.get("type") in ("function_call", "custom_tool_call", "mcp_call"):
        return input_text(native)
    parts = [*objects(native.get("summary")), *objects(native.get("content"))]
    fields = [TEXT_FIELDS.get(str(part.get("type")), "") for part in parts]
    return "".join(
        str_or_none(part.get(name)) or "" for part, name in zip(parts, fields, strict=True)
    )


_METADATA: Final = (
    "service_tier",
    "conversation",
    "content_filters",
    "input_transformations",
    "moderation",
    "prompt_cache_diagnostics",
    "tool_usage",
)
"""What a response says of itself that is neither content nor repeats the request."""


def finish(state: State, response: NativeObject, events: list[LLMEvent]) -> State:
    """End the answer. One that goes on in the background ends with where to go on reading."""
    spoken(state, events)
    reason = map_reason(response, state.envelope)
    usage = response.get("usage")
    counted = map_usage(usage) if isinstance(usage, dict) and usage else None
    own = {name: response[name] for name in _METADATA if response.get(name) is not None}
    if response.get("status") in ("queued", "in_progress"):
        own["resume"] = {"response_id": response.get("id"), "sequence_number": None}
    metadata = {METADATA_KEY: own} if own else {}
    notes = state.envelope.notes
    events.extend(finish_events(reason, counted, metadata, response, notes))
    return changed(state, envelope=changed(state.envelope, ended=True), hot=None)


# -- errors


def failed(state: State, response: NativeObject, events: list[LLMEvent]) -> State:
    """End the answer with the response's own error."""
    if response.get("status") == "cancelled":
        error: LLMError = AbortError(
            "the response was cancelled at the provider", raw={"status": "cancelled"}
        )
    else:
        body = response.get("error") or {"message": "the response failed, and does not say why"}
        error = error_from_body(provider=state.context.provider or None, body={"error": body})
    return fail(state, error, events)


def fail(state: State, error: LLMError, events: list[LLMEvent]) -> State:
    """End the answer with *error*."""
    events.append(ErrorEvent(error))
    return changed(state, envelope=changed(state.envelope, ended=True), hot=None)


# -- usage


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a server's usage object by the inclusive contract."""
    details = object_or_empty(usage.get("input_tokens_details"))
    input_tokens = count_or_none(usage.get("input_tokens"))
    mapped = Usage.make(
        input_tokens=input_tokens,
        output_tokens=count_or_none(usage.get("output_tokens")),
        total_tokens=count_or_none(usage.get("total_tokens")),
        cache_read_tokens=count_or_none(details.get("cached_tokens")),
        cache_write_tokens=count_or_none(details.get("cache_write_tokens")),
        reasoning_tokens=count_or_none(
            object_or_empty(usage.get("output_tokens_details")).get("reasoning_tokens")
        ),
        cost_usd=_cost(usage),
        raw=dict(usage),
    )
    if mapped.input_tokens != input_tokens:
        # Details are parts of the input; these contradict it (a token counted as read and
        # as written), so the split is unknown.
        total = count_or_none(usage.get("total_tokens")) or mapped.total_tokens
        return changed(
            mapped, input_tokens=input_tokens, total_tokens=total, uncached_input_tokens=None
        )
    return mapped


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return the US dollars that a server states, each in its own way.

    OpenRouter: `cost` (https://openrouter.ai/docs/use-cases/usage-accounting); xAI: ticks of 1e-10
    dollars (https://docs.x.ai/developers/cost-tracking).
    """
    dollars = _number(usage.get("cost"))
    ticks = _number(usage.get("cost_in_usd_ticks"))
    return dollars if ticks is None or dollars is not None else ticks / 1e10


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
