"""Bedrock Converse: how a response ends: stop reason, token counts, facts of the whole.

    messageStop  {"stopReason": "end_turn"}
    metadata     {"usage": {"inputTokens": 25, "outputTokens": 7, "totalTokens": 32},
                  "metrics": {"latencyMs": 100}}

`inputTokens` counts what was neither read from nor written to the cache; `totalTokens` counts
all. Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.bedrock_converse import names
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.bedrock_converse.state import ConverseState
from llmcore.protocols.response_parts import (
    CompleteEvents,
    finish_events,
    map_finish_reason,
    only_object,
    served_tier,
    skimmed,
    text_response,
)
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import NativeObject, present
from llmcore.schema.native_json import count_or_none, object_or_empty, objects, str_or_none
from llmcore.schema.persistent import with_entries
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

# -- token counts


def map_usage(usage: Mapping[str, Any], tier: object = None) -> Usage:
    """Return a native usage object by the inclusive contract; *tier* is `serviceTier`."""
    uncached = count_or_none(usage.get("inputTokens"))
    read = count_or_none(usage.get(names.CACHE_READ_TOKENS))
    write = count_or_none(usage.get(names.CACHE_WRITE_TOKENS))
    by_ttl = _written(usage)
    if write is None and by_ttl:
        write = sum(by_ttl.values())
    stated = any(number is not None for number in (uncached, read, write))
    return Usage.make(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if stated else None,
        output_tokens=count_or_none(usage.get(names.OUTPUT_TOKENS)),
        total_tokens=count_or_none(usage.get(names.TOTAL_TOKENS)),
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=by_ttl.get("1h"),
        service_tier=served_tier(object_or_empty(tier).get("type")),
        raw=dict(usage),
    )


def _written(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens written to the cache, by how long they are kept."""
    written: dict[str, int] = {}
    for detail in objects(usage.get("cacheDetails")):
        ttl, tokens = detail.get("ttl"), count_or_none(detail.get("inputTokens"))
        if isinstance(ttl, str) and tokens is not None:
            written[ttl] = written.get(ttl, 0) + tokens
    return written


# -- facts of the whole response

_NOT_METADATA: Final = frozenset({"output", "stopReason", "usage", "role", "p"})
"""`p` is padding, which hides the length of the text."""


def with_facts(state: ConverseState, holder: Mapping[str, Any]) -> ConverseState:
    """Return *state* with the facts in *holder*: metrics, trace, service tier, ..."""
    facts = present(holder, but=_NOT_METADATA)
    if not facts:
        return state
    info = replace(state.info, metadata=with_entries(state.info.metadata, facts))
    return replace(state, info=info)


def with_usage(state: ConverseState, data: NativeObject) -> ConverseState:
    """Return *state* with the counts and facts of `metadata`, or of a whole body."""
    usage = object_or_empty(data.get("usage"))
    info = replace(state.info, counted=True, usage=usage or state.info.usage)
    return with_facts(replace(state, info=info), data)


def stated_usage(state: ConverseState) -> Usage | None:
    """Return the tokens that `metadata` has counted; None before it."""
    info = state.info
    return None if info.usage is None else map_usage(info.usage, info.metadata.get("serviceTier"))


# -- the end


def closing_events(state: ConverseState) -> Sequence[LLMEvent]:
    """Return the end of a complete response."""
    info = state.info
    reason = map_finish_reason(
        info.reason, names.FINISH_REASONS, called=state.called, format_called=state.format_called
    )
    metadata = {METADATA_KEY: dict(info.metadata)} if info.metadata else {}
    diagnostics = info.notes if info.counted else (*info.notes, _UNCOUNTED)
    return finish_events(reason, stated_usage(state), metadata, info.raw, diagnostics)


_UNCOUNTED: Final = Diagnostic(
    "usage-missing",
    "usage",
    action="noted",
    message="the stream ended after the response, but before the event that counts its tokens",
)


# -- a whole body that is one text


def only_text(document: NativeObject, request: LLMRequest) -> CompleteEvents | None:
    """Return the events of a `ConverseResponse` that is one text; None for any other body."""
    message = object_or_empty(object_or_empty(document.get("output")).get("message"))
    block, usage = only_object(message.get("content")), document.get("usage")
    if block is None:
        return None
    text = block.get("text")
    if len(block) != 1 or type(text) is not str or not (text and isinstance(usage, dict)):
        return None
    facts = present(document, but=_NOT_METADATA)
    reason = str_or_none(document.get("stopReason"))
    ends = skimmed(
        PROTOCOL_ID,
        request,
        document,
        model=None,
        response_id=None,
        reason=map_finish_reason(reason, names.FINISH_REASONS, called=False, format_called=False),
        usage=map_usage(usage, facts.get("serviceTier")),
        metadata={METADATA_KEY: facts} if facts else {},
        reasoned=False,
    )
    return text_response(ends, "text_0", text)
