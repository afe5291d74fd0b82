"""OpenAI Responses: counting tokens.

`input_tokens` includes cached tokens, `output_tokens` includes reasoning tokens. Source:
https://developers.openai.com/api/reference/resources/responses (`usage`), and for the cost that
others state, their own documents, read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.protocols.loose_json import count, mapping
from llmcore.schema.changed import changed
from llmcore.schema.usage import Usage


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a server's usage object by the inclusive contract."""
    details = mapping(usage.get("input_tokens_details"))
    input_tokens = count(usage.get("input_tokens"))
    mapped = Usage.make(
        input_tokens=input_tokens,
        output_tokens=count(usage.get("output_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cache_read_tokens=count(details.get("cached_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
        reasoning_tokens=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cost_usd=_cost(usage),
        raw=dict(usage),
    )
    if mapped.input_tokens != input_tokens:
        # Details are parts of the input; these contradict it (a token counted as read and
        # as written), so the split is unknown.
        total = count(usage.get("total_tokens")) or mapped.total_tokens
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
