"""Shared by stream machines: their context, final events, sources, usage, log probabilities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from llmcore.protocols.claude_tools import Names
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.forced_format import FormatPlan, format_tool
from llmcore.protocols.tools import freeform_tools
from llmcore.schema.changed import changed, copying
from llmcore.schema.content import ContentPart, TokenLogprob
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    NEUTRAL_REASONS,
    ErrorEvent,
    Finish,
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    ProviderMetadata,
    plain_metadata,
    replace_lone_surrogates,
)
from llmcore.schema.native_json import (
    LARGEST_COUNT,
    count_or_none,
    float_or_none,
    int_or_none,
    object_or_empty,
    objects,
    str_or_none,
)
from llmcore.schema.persistent import with_entry
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

Events: TypeAlias = list[LLMEvent]
"""The events of a response, or of one step of its stream: functions append theirs to it."""
Ends: TypeAlias = tuple[StreamStart, Finish]
"""The beginning and the end of a response that is read without its content."""

# -- the context


class StreamContext(msgspec.Struct, frozen=True, kw_only=True):
    """The request's facts that reading its response needs. Never changes."""

    provider: str
    model: str
    turn: int
    """How many messages the request had: makes ids unique within a conversation."""
    freeform: frozenset[str] = frozenset()
    """Names of freeform tools that were offered as functions: their input is unwrapped."""
    format_tool: str | None = None
    """The tool whose input is the response's text."""
    wrapped: bool = False
    """Whether that input holds the response in a property."""
    properties: Mapping[str, Names] = {}
    """By tool, its own names of properties for those that were sent in their place."""


def stream_context(
    request: LLMRequest,
    plan: FormatPlan | None = None,
    *,
    properties: Mapping[str, Names] | None = None,
) -> StreamContext:
    """Return the context of the response to *request*, whose format was forced by *plan*."""
    by_tool = plan is not None and plan.by == "tool"
    return StreamContext(
        provider=request.provider_id,
        model=request.model_id,
        turn=len(request.messages),
        freeform=freeform_tools(request),
        format_tool=format_tool(request) if by_tool else None,
        wrapped=plan is not None and plan.wrapped,
        properties=properties or {},
    )


# -- the end


def finish_events(
    reason: FinishReason,
    usage: Usage | None,
    metadata: ProviderMetadata,
    raw: JsonValue,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    model: str | None = None,
    message_metadata: ProviderMetadata | None = None,
) -> tuple[LLMEvent, LLMEvent]:
    """Return the end of a response that is complete and has one step."""
    finish = _finished(_FINISH, reason, usage, plain_metadata(metadata), raw)
    if model is not None or diagnostics or message_metadata:  # as of few responses
        finish = changed(
            finish,
            model=model,
            diagnostics=tuple(diagnostics),
            message_metadata=plain_metadata(message_metadata or {}),
        )
    return _step_finished(_STEP_FINISH, reason, usage), finish


def map_finish_reason(
    raw: str | None, known: Mapping[str, FinishReasonKind], *, called: bool, format_called: bool
) -> FinishReason:
    """Return why the model stopped, for an API that always states it.

    *called* is True if the caller must run a tool (`stop` is then `tool_calls`), *format_called* if
    a call was the response of a forced format. Servers that imitate an API may use OpenAI's words.
    """
    reason = known.get(raw or "") or NEUTRAL_REASONS.get(raw or "", "other")
    if reason == "tool_calls" and format_called and not called:
        reason = "stop"
    elif reason == "stop" and called:
        reason = "tool_calls"
    return finish_reason(reason, raw)


finish_reason: Final = lru_cache(maxsize=256)(FinishReason)
"""Returns the `FinishReason` of a neutral word and the server's own, of which there are few."""


def truncated(sign: str) -> ErrorEvent:
    """Return the end of a stream in which *sign*, the mark of a complete response, did not come."""
    message = f"the stream ended before the response was complete (no {sign} came)"
    return ErrorEvent(StreamError(message))


def server_error(context: StreamContext, body: JsonValue) -> ErrorEvent:
    """Return the end of a stream in which the server sent the error *body*."""
    return ErrorEvent(error_from_body(provider=context.provider, body=body))


def until_error(events: Events) -> Events:
    """Return *events* up to the error that ends them, if there is one."""
    for index, event in enumerate(events):
        if type(event) is ErrorEvent:
            return events[: index + 1]
    return events


def empty_response(why: str, document: JsonValue) -> ErrorEvent:
    """Return the error of a body that is not a response; *why* completes "the response ..."."""
    return ErrorEvent(StreamError(f"the response {why}", raw=document))


# -- a whole response without its content


def skimmed(
    protocol_id: str,
    request: LLMRequest,
    document: JsonObject,
    *,
    model: object,
    response_id: object,
    reason: FinishReason,
    usage: Usage,
    metadata: ProviderMetadata,
    reasoned: bool,
    begun: Usage | None = None,
) -> Ends | None:
    """Return the beginning and the end of the response in *document*; None without its counts.

    One that has *reasoned* needs the count of that, too: it would be estimated from the text.
    *begun* is the usage that the beginning states.

    `Protocol.skim` returns these for a gateway that passes the bytes on: what `Protocol.whole`
    returns of the model, the id, the finish reason and the usage, at a third of the cost. A
    document with anything that could be an error, or mean more, is not plain, and has to be read
    whole: an unknown kind of content, a nested value, a count that is missing.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if reasoned and usage.reasoning_tokens is None:
        return None
    return (
        _start(protocol_id, request, model, response_id, begun),
        _finished(_FINISH, reason, usage, metadata, document),
    )


def _start(
    protocol_id: str, request: LLMRequest, model: object, id_: object, usage: Usage | None
) -> StreamStart:
    model, id_ = str_or_none(model) or request.model_id, str_or_none(id_)
    return _started(_START, request.provider_id, model, id_, protocol_id, usage)


_START: Final = StreamStart(provider="", model="")
_FINISH: Final = Finish(finish_reason=FinishReason("stop"))
_started: Final = copying(StreamStart, "provider", "model", "id", "protocol", "usage")
_finished: Final = copying(Finish, "finish_reason", "usage", "provider_metadata", "raw")


def only_object(items: object) -> dict[str, Any] | None:
    """Return the object in *items*; None unless that is a list of one object."""
    if type(items) is not list or len(items) != 1 or type(items[0]) is not dict:
        return None
    return items[0]


class CompleteEvents(
    tuple[StreamStart, StepStart, TextStart, TextDelta, TextEnd, StepFinish, Finish]
):
    """All events of a response that is one text, as `SegmentFold` would return them."""

    __slots__ = ()


def text_response(
    ends: Ends | None,
    segment: str,
    text: str,
    metadata: ProviderMetadata | None = None,
) -> CompleteEvents | None:
    """Return the events of a response that is only *text*; None if more has to be read.

    Most are such ones, which a state machine reads half as fast.
    """
    if ends is None or not (text.isascii() or replace_lone_surrogates(text) is text):
        return None
    start, finish = ends
    return CompleteEvents(
        (
            start,
            _step_started(_STEP_START),
            text_start(segment, metadata),
            text_delta(segment, text),
            text_end(segment, text, metadata),
            _step_finished(_STEP_FINISH, finish.finish_reason, finish.usage),
            finish,
        )
    )


def start_events(
    protocol_id: str, request: LLMRequest, model: object, id_: object, usage: Usage | None = None
) -> tuple[StreamStart, StepStart]:
    """Return the beginning of the response to *request*."""
    return _start(protocol_id, request, model, id_, usage), _step_started(_STEP_START)


def text_start(segment: str, metadata: ProviderMetadata | None = None) -> TextStart:
    """Return the start of a text."""
    return _text_started(_TEXT_START, segment, {**(metadata or {})})


def text_delta(segment: str, text: str) -> TextDelta:
    """Return a piece of it."""
    return _text_came(_TEXT_DELTA, segment, text)


def text_end(segment: str, text: str, metadata: ProviderMetadata | None = None) -> TextEnd:
    """Return the end of it."""
    return _text_ended(_TEXT_END, segment, text, {**(metadata or {})})


_STEP_START: Final = StepStart()
_TEXT_START: Final = TextStart("")
_TEXT_DELTA: Final = TextDelta("", "")
_TEXT_END: Final = TextEnd("")
_STEP_FINISH: Final = StepFinish(finish_reason=FinishReason("stop"))
_step_started: Final = copying(StepStart)
_text_started: Final = copying(TextStart, "id", "provider_metadata")
_text_came: Final = copying(TextDelta, "id", "text")
_text_ended: Final = copying(TextEnd, "id", "text", "provider_metadata")
_step_finished: Final = copying(StepFinish, "finish_reason", "usage")


# -- service tiers

_SERVED_TIERS: Final[Mapping[str, str]] = {
    "standard": "default",
    "on_demand": "default",
    "on_demand_flex": "flex",
    "on_demand_priority": "priority",
}


def served_tier(word: object) -> str | None:
    """Return the tier that a response states to have served it, in neutral words."""
    if not isinstance(word, str) or not word:
        return None
    return _SERVED_TIERS.get(word.lower(), word)


# -- sources


def announce(
    sources: Mapping[str, None],
    key: object,
    events: Events,
    *,
    url: str | None = None,
    title: object = None,
    metadata: ProviderMetadata | None = None,
) -> Mapping[str, None]:
    """Return *sources* with *key*; emits the `Source` of one that is new, a document without *url*.

    A key that is empty or not a text counts as known.
    """
    if not isinstance(key, str) or not key or key in sources:
        return sources
    source = Source(
        id=f"source_{len(sources)}",
        url=url,
        title=str_or_none(title),
        kind="document" if url is None else "url",
        provider_metadata=metadata or {},
    )
    events.append(source)
    return with_entry(sources, key, None)


# -- usage and log probabilities, in the form of OpenAI's APIs


def counts_reader(
    fields: Mapping[str, Iterable[tuple[str, ...]]],
) -> Callable[[Mapping[str, Any]], dict[str, int | None]]:
    """Return a function that reads the counts of a usage object by the names in *fields*.

    *fields* has the paths of each, of which the first that leads to a count is taken.
    """

    @lru_cache(maxsize=_SHAPES)
    def present_in(names: tuple[str, ...]) -> Sequence[tuple[str, Sequence[_Path]]]:
        """Return the fields, each with the paths that begin at one of *names*."""
        known = frozenset(names)
        found = (
            (name, tuple((p[0], p[1:]) for p in paths if p[0] in known))
            for name, paths in fields.items()
        )
        return tuple((name, paths) for name, paths in found if paths)

    def read(usage: Mapping[str, Any]) -> dict[str, int | None]:
        counts: dict[str, int | None] = dict.fromkeys(fields)
        for field, paths in present_in(tuple(usage)):
            for first, inner in paths:
                value = usage[first]
                for name in inner:
                    value = value.get(name) if type(value) is dict else None
                is_plain = type(value) is int and 0 <= value <= LARGEST_COUNT  # nearly always
                if is_plain or (value := count_or_none(value)) is not None:
                    counts[field] = value
                    break
        return counts

    return read


_Path: TypeAlias = tuple[str, tuple[str, ...]]
"""A name in the usage object, and those that lead on from there."""
_SHAPES: Final = 64
"""So many usage objects of different fields are remembered; a server sends one or two."""


_ROOT_AGENT: Final = "/root"


def is_commentary(holder: ContentPart | TextStart) -> bool:
    """Return whether a text comes before the answer, so that a wanted format is not for it.

    OpenAI's models write such texts while they work, and so do the agents that they give work to.
    Sources: https://github.com/openai/openai-python/pull/3861,
    https://developers.openai.com/api/docs/guides/responses-multi-agent.
    """
    return any(
        data.get("phase") == "commentary"
        or object_or_empty(data.get("agent")).get("agent_name", _ROOT_AGENT) != _ROOT_AGENT
        for data in holder.provider_metadata.values()
    )


class CommentaryAsReasoning:
    """Makes reasoning of the commentary in a response whose texts are one document."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        """The ids of the texts that are commentary."""

    def read(self, event: LLMEvent) -> LLMEvent:
        """Return *event*, as one of reasoning if it is of commentary."""
        match event:
            case TextStart(id=id_) if is_commentary(event):
                self._ids.add(id_)
                return ReasoningStart(id_)
            case TextDelta(id=id_, text=text) if id_ in self._ids:
                return ReasoningDelta(id_, text)
            case TextEnd(id=id_, text=text) if id_ in self._ids:
                return ReasoningEnd(id_, text=text)
            case _:
                return event


def inclusive_usage(
    *, cache_read_tokens: int | None, cache_write_tokens: int | None = None, **rest: Any
) -> Usage:
    """Return `Usage.make(...)` for an API that counts cached tokens as a part of the input.

    Where they exceed the input, as where a token counts as read and as written, the split of the
    input is unknown.
    """
    cached: dict[str, Any] = {
        "cache_read_tokens": cache_read_tokens,
        "cache_write_tokens": cache_write_tokens,
    }
    if (cache_read_tokens or 0) + (cache_write_tokens or 0) <= (rest["input_tokens"] or 0):
        return Usage.make(**rest, **cached)
    return changed(Usage.make(**rest), uncached_input_tokens=None, **cached)


_COSTS: Final = frozenset({"cost", "cost_in_usd_ticks", "estimated_cost"})


def read_cost(usage: Mapping[str, Any]) -> float | None:
    """Return the US dollars that a server states, each in its own way.

    OpenRouter: `cost` (https://openrouter.ai/docs/use-cases/usage-accounting); Perplexity:
    `total_cost` in it (https://docs.perplexity.ai/api-reference); xAI: ticks of 1e-10 dollars
    (https://docs.x.ai/developers/cost-tracking); DeepInfra: `estimated_cost`.
    """
    if _COSTS.isdisjoint(usage):
        return None
    cost = usage.get("cost")
    dollars = float_or_none(object_or_empty(cost).get("total_cost", cost))
    if dollars is not None:
        return dollars
    ticks = float_or_none(usage.get("cost_in_usd_ticks"))
    return float_or_none(usage.get("estimated_cost")) if ticks is None else ticks / 1e10


def read_logprobs(tokens: object) -> tuple[TokenLogprob, ...]:
    """Return the log probabilities of a text's tokens, with the likeliest at each place.

    [{"token": "Hi", "logprob": -0.1, "bytes": [72, 105],
      "top_logprobs": [{"token": "Hi", "logprob": -0.1, "bytes": [72, 105]}]}]

    llama.cpp's tokens have an `id` too, and those of MLX may have only that and no text.
    Sources: https://github.com/ggml-org/llama.cpp/tree/master/tools/server (`probs`), and the
    `mlx-lm` package, 0.32.2 (`server.generate_response`).
    """
    if not tokens:  # nearly always
        return ()
    return tuple(
        _logprob(token, tuple(map(_logprob, _with_logprob(token.get("top_logprobs")))))
        for token in _with_logprob(tokens)
    )


def _with_logprob(tokens: object) -> list[Mapping[str, Any]]:
    return [token for token in objects(tokens) if float_or_none(token.get("logprob")) is not None]


def _logprob(token: Mapping[str, Any], top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
    text, id_ = token.get("token"), int_or_none(token.get("token_id"))
    return TokenLogprob(
        token="" if text is None else str(text),
        logprob=float(token["logprob"]),
        top=top,
        data=_token_bytes(token.get("bytes")),
        id=int_or_none(token.get("id")) if id_ is None else id_,
    )


def _token_bytes(values: object) -> bytes | None:
    """Return a token's bytes; None where the server has none: null, `[]`, or the field is absent.

    One token may be a part of a character, so that its text alone does not have them. Source:
    https://developers.openai.com/api/reference/resources/chat
    """
    if not isinstance(values, list) or not values:
        return None
    if not all(type(value) is int and 0 <= value < 256 for value in values):
        return None
    return bytes(values)
