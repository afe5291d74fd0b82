"""Gemini: the response as a whole: its start, its metadata, usage and finish reason.

Source: https://ai.google.dev/api/generate-content (FinishReason, BlockReason, UsageMetadata), read
November 2026. `promptTokenCount` includes cached tokens. `totalTokenCount` "is the sum of prompt,
candidates, tool use prompt and thoughts": what the service's own tools returned is input beside
the prompt, and thoughts are output beside the candidates. Counts of 0 are left out, as protobuf's
JSON does.

    {"candidates": [{"finishReason": "STOP"}], "modelVersion": "gemini-3-flash", "responseId": "r1",
     "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}}
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from attrs import evolve

from llmcore.protocols.gemini import names
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.gemini.state import (
    GeminiInfo,
    GeminiState,
    change,
    metadata_of,
    open_segment,
)
from llmcore.protocols.protocol import FastReader, Frame, TextFrames, TextSoFar
from llmcore.protocols.response_parts import (
    CompleteEvents,
    Ends,
    Events,
    finish_events,
    finish_reason,
    inclusive_usage,
    only_object,
    served_tier,
    skimmed,
    start_events,
    stream_context,
    text_delta,
    text_end,
    text_response,
    text_start,
)
from llmcore.schema.changed import changed
from llmcore.schema.events import Finish, FinishReason, StepStart, StreamStart
from llmcore.schema.json import JsonValue, NativeObject, present
from llmcore.schema.native_json import (
    all_objects,
    count_or_none,
    has_only,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)
from llmcore.schema.persistent import PersistentList, with_entries
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

_BEGINNINGS: Final = frozenset(
    {"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"}
)


def on_start(state: GeminiState, chunk: NativeObject, events: Events) -> GeminiState:
    """Emit `StreamStart` and `StepStart` at the first chunk that is part of a response."""
    if state.info.started or _BEGINNINGS.isdisjoint(chunk):
        return state
    context = state.info.context
    response_id = str_or_none(chunk.get("responseId"))
    usage = object_or_empty(chunk.get("usageMetadata"))
    events.append(
        StreamStart(
            provider=context.provider,
            model=str_or_none(chunk.get("modelVersion")) or context.model,
            id=response_id,
            protocol=PROTOCOL_ID,
            usage=map_usage(usage) if "promptTokenCount" in usage else None,
        )
    )
    events.append(StepStart())
    return change(state, started=True, response_id=response_id)


_NO_METADATA: Final = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "error"}
)
_NO_CANDIDATE_METADATA: Final = frozenset({"content", "index", "finishReason", "logprobsResult"})


_NOT_BLOCKED: Final = ("BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
"""Default reasons, of the Gemini API and of Vertex AI: beside a response they state nothing."""


def on_response_fields(state: GeminiState, chunk: NativeObject) -> GeminiState:
    """Keep the usage, the feedback on the prompt and the metadata of *chunk*."""
    usage = chunk.get("usageMetadata")
    if isinstance(usage, dict):
        state = GeminiState(state.info, latest(state.usage, (usage,)), state.pieces)
    feedback = object_or_empty(chunk.get("promptFeedback"))
    blocked = str_or_none(feedback.get("blockReason"))
    if blocked is not None and not (chunk.get("candidates") and blocked in _NOT_BLOCKED):
        state = change(state, blocked=blocked)
    if _NO_METADATA.issuperset(chunk):  # as nearly always
        return state
    return _with_metadata(state, present(chunk, but=_NO_METADATA))


def on_candidate_fields(
    state: GeminiState, candidate: NativeObject, more: NativeObject
) -> GeminiState:
    """Keep the finish reason and the metadata of *candidate*, with *more* of it."""
    reason = str_or_none(candidate.get("finishReason"))
    if reason is not None:
        state = change(state, reason=reason)
    if not more and _NO_CANDIDATE_METADATA.issuperset(candidate):
        return state
    return _with_metadata(state, present(candidate, but=_NO_CANDIDATE_METADATA) | more)


def _with_metadata(state: GeminiState, metadata: NativeObject) -> GeminiState:
    """Merge *metadata* into the metadata; objects are merged too, as grounding comes in pieces."""
    known = state.info.metadata
    new: dict[str, Any] = {}
    for name, value in metadata.items():
        before = known.get(name)
        merged = (
            {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        )
        if merged != before:
            new[name] = merged
    return change(state, metadata=with_entries(known, new)) if new else state


def map_reason(raw: str | None, blocked: str | None, *, called: bool) -> FinishReason:
    """Return the finish reason; the service sends STOP even if functions were called."""
    if raw is None and blocked is not None:
        return finish_reason("content_filter", blocked)
    reason = names.FINISH_REASONS.get(raw or "", "other")
    if called and (reason == "stop" or not raw):
        reason = "tool_calls"
    return finish_reason(reason, raw or None)


def rest_request(request: LLMRequest, end: Finish) -> LLMRequest | None:
    """Return *request* for the next part of the response with this *end*; None if it has all."""
    place = object_or_empty(end.provider_metadata.get(METADATA_KEY)).get(names.CONTINUED_FROM)
    sent = request.http.body
    is_new = place not in (None, sent.get(names.CONTINUED_FROM))
    if end.finish_reason.raw != names.CONTINUATION or not is_new:
        return None
    return evolve(request, http=evolve(request.http, body={**sent, names.CONTINUED_FROM: place}))


# -- usage


_COUNTS: Final = frozenset({"promptTokenCount", "totalTokenCount"})


def latest(known: dict[str, Any] | None, usages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the usage of a stream after chunks with *usages*.

    Each chunk restates all counts, and a count that it leaves out is 0. Only a chunk without counts
    (`trafficType` alone) is merged into *known*.
    """
    if usages and not _COUNTS.isdisjoint(usages[-1]):
        return usages[-1]
    for usage in usages:
        known = {**known, **usage} if known and _COUNTS.isdisjoint(usage) else usage
    return known


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return `usageMetadata` as a Usage, whose counts are inclusive."""
    prompt = count_or_none(usage.get("promptTokenCount"))
    from_tools = count_or_none(usage.get("toolUsePromptTokenCount"))
    candidates = count_or_none(usage.get("candidatesTokenCount"))
    thoughts = count_or_none(usage.get("thoughtsTokenCount"))
    total = count_or_none(usage.get("totalTokenCount"))
    input_tokens = _sum(prompt, from_tools)
    output_tokens = _sum(candidates, thoughts)
    if output_tokens is None and input_tokens is not None and total is not None:
        output_tokens = max(total - input_tokens, 0)
    return inclusive_usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total,
        cache_read_tokens=count_or_none(usage.get("cachedContentTokenCount")),
        audio_input_tokens=_audio_in(usage),
        reasoning_tokens=thoughts,
        service_tier=served_tier(usage.get("serviceTier") or usage.get("trafficType")),
        raw=dict(usage),
    )


def final_usage(state: GeminiState) -> Usage | None:
    """Return the tokens of a complete response; None if the service has not counted them."""
    return None if state.usage is None else map_usage(state.usage)


def stated_usage(state: GeminiState) -> Usage | None:
    """Return the tokens that the service has counted so far; None if it has not."""
    usage = final_usage(state)
    if usage is None or state.info.reason is not None:
        return usage
    return changed(usage, estimated=True)


def _audio_in(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of audio that no cache held; None where no audio is stated."""
    if _INPUT_DETAILS.isdisjoint(usage):
        return None
    added = sum(_audio_tokens(usage, details) for details in _INPUT_DETAILS)
    return max(added - _audio_tokens(usage, "cacheTokensDetails"), 0) if added else None


_INPUT_DETAILS: Final = frozenset({"promptTokensDetails", "toolUsePromptTokensDetails"})


def _audio_tokens(usage: Mapping[str, Any], details: str) -> int:
    """Return the tokens of audio that the list *details* states."""
    counts = [
        count_or_none(entry.get("tokenCount")) or 0
        for entry in objects(usage.get(details))
        if entry.get("modality") == "AUDIO"
    ]
    return sum(counts)


def _sum(first: int | None, other: int | None) -> int | None:
    return other if first is None else first + (other or 0)


# -- a whole body without its content

_PLAIN_CANDIDATE: Final = frozenset(
    {"content", "index", "finishReason", "avgLogprobs", "safetyRatings", "finishMessage"}
)
_PLAIN_PART: Final = frozenset({"text", "thought", "thoughtSignature", "functionCall"})
_PLAIN_CALL: Final = frozenset({"name", "args", "id"})


def skim(document: JsonValue, request: LLMRequest) -> Ends | None:
    """Return the beginning and the end of a plain `GenerateContentResponse`; None for others."""
    if not isinstance(document, dict) or document.get("error") or "promptFeedback" in document:
        return None
    candidates, native = all_objects(document.get("candidates")), document.get("usageMetadata")
    if candidates is None or len(candidates) != 1 or not isinstance(native, dict):
        return None
    candidate = candidates[0]
    if not candidate.keys() <= _PLAIN_CANDIDATE or candidate.get("index") not in (0, None):
        return None
    parts = all_objects(object_or_empty(candidate.get("content")).get("parts"))
    if not parts or not all(map(_is_plain, parts)):
        return None
    metadata = present(candidate, but=_NO_CANDIDATE_METADATA)
    more = present(document, but=_NO_METADATA)
    if not metadata.keys().isdisjoint(more):
        return None
    usage = map_usage(native)
    called = any("functionCall" in part for part in parts)
    return skimmed(
        PROTOCOL_ID,
        request,
        document,
        model=document.get("modelVersion"),
        response_id=document.get("responseId"),
        reason=map_reason(str_or_empty(candidate.get("finishReason")), None, called=called),
        usage=usage,
        metadata=metadata_of(metadata | more),
        reasoned=any(part.get("thought") for part in parts),
        begun=usage if "promptTokenCount" in native else None,
    )


def only_text(document: NativeObject, request: LLMRequest) -> CompleteEvents | None:
    """Return the events of a response that is one text; None for any other body."""
    candidate = only_object(document.get("candidates"))
    if candidate is None:
        return None
    part = only_object(object_or_empty(candidate.get("content")).get("parts"))
    if part is None:
        return None
    text = part.get("text")
    if len(part) != 1 or type(text) is not str or not text:
        return None
    return text_response(skim(document, request), "text_0", text)


def _is_plain(part: NativeObject) -> bool:
    """Return whether a part is a text that is not empty, or a call with flat arguments."""
    if not part.keys() <= _PLAIN_PART or not has_only(part, ("functionCall",)):
        return False
    if "functionCall" not in part:
        return str_or_none(part.get("text")) is not None
    call = part["functionCall"]
    if not isinstance(call, dict) or not call.keys() <= _PLAIN_CALL or "text" in part:
        return False
    given = call.get("args", {})
    named = str_or_none(call.get("name")) is not None and has_only(call, ("args",))
    return named and isinstance(given, dict) and has_only(given)


# -- a stream that is one text: see `routes.one_text`


class _TextPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: str


class _Content(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    parts: tuple[_TextPart]
    role: str | None = None


class _Candidate(msgspec.Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    content: _Content | None = None
    index: Literal[0] | None = None
    finish_reason: str | None = None
    avg_logprobs: float | None = None


class _Chunk(msgspec.Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    candidates: tuple[_Candidate]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None

    @property
    def text(self) -> str:
        content = self.candidates[0].content
        return "" if content is None else content.parts[0].text

    @property
    def metadata(self) -> dict[str, Any]:
        facts = {"createTime": self.create_time, "avgLogprobs": self.candidates[0].avg_logprobs}
        return {name: value for name, value in facts.items() if value is not None}


_read: Final = msgspec.json.Decoder(_Chunk).decode
_SEGMENT: Final = "text_0"


def _plain(frame: Frame | None) -> _Chunk | None:
    """Return the chunk in *frame*; None if it may do more than such a stream's."""
    if frame is None or frame[0]:
        return None
    try:
        return _read(frame[1])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def one_text(
    request: LLMRequest, text: TextSoFar, fast_reader: Callable[[GeminiState], FastReader | None]
) -> TextFrames:
    """Read a stream that is one text; *fast_reader* reads its deltas. Its end may bring text."""
    chunk = _plain((yield ()))
    if chunk is None or not chunk.text or chunk.candidates[0].finish_reason is not None:
        return
    usage, id_ = chunk.usage_metadata, chunk.response_id
    begun = map_usage(usage) if usage and "promptTokenCount" in usage else None
    events: Events = [*start_events(PROTOCOL_ID, request, chunk.model_version, id_, begun)]
    context, metadata = stream_context(request), chunk.metadata
    info = GeminiInfo(context=context, started=True, response_id=id_ or None, metadata=metadata)
    state = open_segment(GeminiState(info, usage), "text", [])
    reader = fast_reader(GeminiState(state.info, usage, PersistentList(chunk.text, None)))
    if reader is None or reader.after is None:
        return
    text.reader = reader
    text.chunks.append(chunk.text)
    events += (text_start(_SEGMENT), text_delta(_SEGMENT, chunk.text))
    chunk = _plain((yield events))
    if chunk is None or not (reason := chunk.candidates[0].finish_reason):
        return
    events = []
    if chunk.text:
        text.chunks.append(chunk.text)
        events = [text_delta(_SEGMENT, chunk.text)]
    if (yield events) is not None:
        return
    usages = () if chunk.usage_metadata is None else (chunk.usage_metadata,)
    counts = latest(reader.after().usage, usages)
    yield (
        text_end(_SEGMENT, "".join(text.chunks)),
        *finish_events(
            map_reason(reason, None, called=False),
            None if counts is None else map_usage(counts),
            metadata_of({**metadata, **chunk.metadata}),
            None,
        ),
    )
