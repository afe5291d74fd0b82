"""Gemini: counting tokens.

`promptTokenCount` includes cached tokens. `totalTokenCount` "is the sum of prompt, candidates,
tool use prompt and thoughts": what the service's own tools returned is input beside the prompt,
and thoughts are output beside the candidates. Counts of 0 are left out, as protobuf's JSON does.
Source: https://ai.google.dev/api/generate-content#UsageMetadata, read November 2026.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.native_json import count_or_none
from llmcore.schema.usage import Usage

_COUNTS: Final = frozenset({"promptTokenCount", "totalTokenCount"})


def latest(known: dict[str, Any] | None, usage: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of a stream that had *known* and now says *usage*.

    Each chunk counts anew, and what a later one leaves out is 0 and not what was before; only
    one that counts nothing (`trafficType` alone) adds to what is known.
    """
    return usage if known is None or not _COUNTS.isdisjoint(usage) else {**known, **usage}


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return `usageMetadata` by the inclusive contract."""
    prompt = count_or_none(usage.get("promptTokenCount"))
    from_tools = count_or_none(usage.get("toolUsePromptTokenCount"))
    candidates = count_or_none(usage.get("candidatesTokenCount"))
    thoughts = count_or_none(usage.get("thoughtsTokenCount"))
    total = count_or_none(usage.get("totalTokenCount"))
    input_tokens = _sum(prompt, from_tools)
    output_tokens = _sum(candidates, thoughts)
    if output_tokens is None and input_tokens is not None and total is not None:
        output_tokens = max(total - input_tokens, 0)
    return Usage.make(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total,
        cache_read_tokens=count_or_none(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
        raw=dict(usage),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)
