"""Anthropic Messages: counting tokens.

`input_tokens` counts what was neither read from nor written to the cache; `output_tokens`
includes thinking. The counts of `message_delta` are of the whole answer so far and replace
those of `message_start`.
Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/streaming,
https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.loose_json import count, mapping
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage

_INPUTS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a native usage object by the inclusive contract."""
    uncached, read, write = (count(usage.get(name)) for name in _INPUTS)
    creation = mapping(usage.get("cache_creation"))
    long_lived = count(creation.get("ephemeral_1h_input_tokens"))
    if write is None and creation:
        write = (count(creation.get("ephemeral_5m_input_tokens")) or 0) + (long_lived or 0)
    stated = any(number is not None for number in (uncached, read, write))
    details = mapping(usage.get("output_tokens_details"))
    return Usage.make(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if stated else None,
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=long_lived,
        reasoning_tokens=count(details.get("thinking_tokens")),
        raw=dict(usage),
    )


def merged(before: JsonObject | None, after: Mapping[str, Any]) -> JsonObject:
    """Return what is known after *after*: each count that it states replaces the one before.

    An input of no tokens at all says nothing: some servers put zeros where they do not count.
    """
    said = {name: value for name, value in after.items() if value is not None}
    if before is not None and not any(count(said.get(name)) for name in _INPUTS):
        said = {name: value for name, value in said.items() if name not in _INPUTS}
    return {**(before or {}), **said}
