"""Hypothesis strategies for usages, errors, responses and single events."""

from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

from hypothesis import strategies as st

from llmcore.schema import errors, events
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import LLMEvent
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import RateLimitInfo, Usage
from tests.support.error_kinds import ERROR_KINDS
from tests.support.strategies.requests import (
    assistant_messages,
    call_kinds,
    citations,
    counts,
    ids,
    json_objects,
    json_values,
    logprobs,
    maybe,
    provider_metadata,
    texts,
    tool_names,
    tool_outputs,
    tuples_of,
)

# -- responses


@cache
def usages() -> st.SearchStrategy[Usage]:
    """Usages as `Usage.make` builds them. Costs are multiples of 1/1024, so that sums are exact."""
    return st.builds(
        Usage.make,
        input_tokens=maybe(counts()),
        output_tokens=maybe(counts()),
        total_tokens=maybe(counts()),
        cache_read_tokens=maybe(counts()),
        cache_write_tokens=maybe(counts()),
        cache_write_1h_tokens=maybe(counts()),
        audio_input_tokens=maybe(counts()),
        reasoning_tokens=maybe(counts()),
        cost_usd=maybe(counts().map(lambda units: units / 1024)),
        raw=maybe(json_objects()),
    )


@cache
def diagnostics() -> st.SearchStrategy[Diagnostic]:
    """Losses, changes and inventions."""
    actions = st.sampled_from(["dropped", "changed", "added", "noted"])
    return st.builds(Diagnostic, ids(), texts(), action=actions, message=texts())


@cache
def moments() -> st.SearchStrategy[datetime]:
    """Aware datetimes."""
    zones = st.sampled_from([UTC, timezone(timedelta(hours=2))])
    return st.datetimes(timezones=zones)


@cache
def rate_limits() -> st.SearchStrategy[RateLimitInfo]:
    """Limits and what is left of them."""
    return st.builds(
        RateLimitInfo,
        requests_limit=maybe(counts()),
        requests_remaining=maybe(counts()),
        requests_reset_at=maybe(moments()),
        tokens_limit=maybe(counts()),
        tokens_remaining=maybe(counts()),
        tokens_reset_at=maybe(moments()),
    )


@cache
def finish_reasons() -> st.SearchStrategy[events.FinishReason]:
    """Every reason to stop."""
    kinds = ["stop", "length", "tool_calls", "content_filter", "error", "other"]
    return st.builds(events.FinishReason, st.sampled_from(kinds), maybe(texts()))


@cache
def responses() -> st.SearchStrategy[LLMResponse]:
    """Whole responses."""
    return st.builds(
        LLMResponse,
        message=assistant_messages(),
        finish_reason=finish_reasons(),
        provider=ids(),
        model=ids(),
        id=maybe(ids()),
        usage=maybe(usages()),
        diagnostics=tuples_of(diagnostics(), 1),
        sources=tuples_of(sources(), 1),
        rate_limit=maybe(rate_limits()),
        request_id=maybe(ids()),
        provider_metadata=provider_metadata(),
        raw=json_values(),
    )


@cache
def llm_errors(partial: bool = True) -> st.SearchStrategy[errors.LLMError]:
    """Errors of every class; *partial* says whether some carry what had arrived."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "message": texts(),
        "provider": maybe(ids()),
        "status_code": maybe(st.integers(400, 599)),
        "error_code": maybe(ids()),
        "retryable": st.booleans(),
        "retry_after": maybe(st.floats(0, 3600)),
        "request_id": maybe(ids()),
        "partial": maybe(responses()) if partial else st.none(),
        "raw": json_values(),
    }
    return st.one_of([st.builds(kind, **_fields_of(kind, fields)) for kind in ERROR_KINDS])


def _fields_of(
    kind: type[errors.LLMError], fields: dict[str, st.SearchStrategy[Any]]
) -> dict[str, st.SearchStrategy[Any]]:
    if issubclass(kind, errors.ContextLengthError):
        return {**fields, "limit_tokens": maybe(counts()), "actual_tokens": maybe(counts())}
    return fields


# -- single events


@cache
def sources() -> st.SearchStrategy[events.Source]:
    """Things a response rests on."""
    return st.builds(
        events.Source,
        id=ids(),
        url=maybe(texts()),
        title=maybe(texts()),
        kind=st.sampled_from(["url", "document"]),
        provider_metadata=provider_metadata(),
    )


@cache
def files() -> st.SearchStrategy[events.File]:
    """Files that a model made, with any of their sources."""
    kinds = st.sampled_from([None, "image/png", "audio/wav", "application/pdf"])
    return st.builds(
        events.File,
        id=ids(),
        media_type=kinds,
        data=maybe(st.binary(max_size=8)),
        url=maybe(texts()),
        file_id=maybe(ids()),
        name=maybe(texts()),
        transcript=maybe(texts()),
        provider_metadata=provider_metadata(),
    )


def tool_results(
    executed: st.SearchStrategy[bool] | None = None,
) -> st.SearchStrategy[events.ToolResult]:
    """Results of tools; *executed* says whether the provider ran them."""
    return st.builds(
        events.ToolResult,
        ids(),
        tool_outputs(),
        name=maybe(texts()),
        is_error=st.booleans(),
        kind=call_kinds(),
        provider_executed=st.booleans() if executed is None else executed,
        provider_metadata=provider_metadata(),
    )


@cache
def provider_events() -> st.SearchStrategy[events.ProviderEvent]:
    """Native events."""
    return st.builds(
        events.ProviderEvent,
        ids(),
        json_values(),
        replay=st.booleans(),
        provider_metadata=provider_metadata(),
    )


@cache
def stream_starts() -> st.SearchStrategy[events.StreamStart]:
    """First events."""
    return st.builds(
        events.StreamStart,
        provider=ids(),
        model=ids(),
        id=maybe(ids()),
        protocol=maybe(ids()),
        diagnostics=tuples_of(diagnostics(), 1),
        rate_limit=maybe(rate_limits()),
        request_id=maybe(ids()),
        usage=maybe(usages()),
        provider_metadata=provider_metadata(),
    )


@cache
def finishes() -> st.SearchStrategy[events.Finish]:
    """Last events of good streams."""
    return st.builds(
        events.Finish,
        finish_reason=finish_reasons(),
        usage=maybe(usages()),
        diagnostics=tuples_of(diagnostics(), 1),
        provider_metadata=provider_metadata(),
        raw=json_values(),
    )


@cache
def step_finishes() -> st.SearchStrategy[events.StepFinish]:
    """Last events of the first step."""
    return st.builds(events.StepFinish, finish_reason=finish_reasons(), usage=maybe(usages()))


def tool_calls(
    executed: st.SearchStrategy[bool] | None = None,
) -> st.SearchStrategy[events.ToolCall]:
    """Whole tool calls; *executed* says whether the provider ran them."""
    return st.builds(
        events.ToolCall,
        ids(),
        tool_names(),
        json_values(),
        kind=call_kinds(),
        provider_executed=st.booleans() if executed is None else executed,
        provider_metadata=provider_metadata(),
    )


@cache
def text_ends() -> st.SearchStrategy[events.TextEnd]:
    """Last events of text segments."""
    return st.builds(
        events.TextEnd,
        ids(),
        texts(),
        citations=tuples_of(citations(), 1),
        logprobs=logprobs(),
        refusal=st.booleans(),
        provider_metadata=provider_metadata(),
    )


@cache
def single_events() -> st.SearchStrategy[LLMEvent]:
    """Any event by itself."""
    return st.one_of(
        stream_starts(),
        st.builds(events.StepStart, counts(), start=maybe(stream_starts())),
        st.builds(events.TextStart, ids(), refusal=st.booleans()),
        st.builds(events.TextDelta, ids(), texts(), logprobs()),
        text_ends(),
        st.builds(events.ReasoningStart, ids()),
        st.builds(events.ReasoningDelta, ids(), texts()),
        st.builds(
            events.ReasoningEnd,
            ids(),
            texts(),
            signature=maybe(texts()),
            encrypted=maybe(texts()),
            provider_metadata=provider_metadata(),
        ),
        st.builds(
            events.ToolInputStart,
            ids(),
            tool_names(),
            kind=call_kinds(),
            provider_executed=st.booleans(),
        ),
        st.builds(events.ToolInputDelta, ids(), texts()),
        st.builds(events.ToolInputEnd, ids(), texts(), provider_metadata=provider_metadata()),
        tool_calls(),
        tool_results(),
        st.builds(events.ToolError, tool_call_id=ids(), name=tool_names(), message=texts()),
        sources(),
        files(),
        step_finishes(),
        finishes(),
        llm_errors().map(events.ErrorEvent),
        provider_events(),
    )
