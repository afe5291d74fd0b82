"""Bedrock Converse: counting tokens.

`inputTokens` counts what was neither read from nor written to the cache; `totalTokens` counts
all. Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.protocols.loose_json import count, dicts
from llmcore.schema.usage import Usage


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a native usage object by the inclusive contract."""
    uncached = count(usage.get("inputTokens"))
    read = count(usage.get("cacheReadInputTokens"))
    write = count(usage.get("cacheWriteInputTokens"))
    by_ttl = _written(usage)
    if write is None and by_ttl:
        write = sum(by_ttl.values())
    stated = any(number is not None for number in (uncached, read, write))
    return Usage.make(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if stated else None,
        output_tokens=count(usage.get("outputTokens")),
        total_tokens=count(usage.get("totalTokens")),
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=by_ttl.get("1h"),
        raw=dict(usage),
    )


def _written(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens written to the cache, by how long they are kept."""
    written: dict[str, int] = {}
    for detail in dicts(usage.get("cacheDetails")):
        ttl, tokens = detail.get("ttl"), count(detail.get("inputTokens"))
        if isinstance(ttl, str) and tokens is not None:
            written[ttl] = written.get(ttl, 0) + tokens
    return written
