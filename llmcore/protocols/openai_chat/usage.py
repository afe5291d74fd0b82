"""OpenAI Chat Completions: counting tokens.

`prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning tokens.
Sources: https://platform.openai.com/docs/api-reference/chat/object#usage and, for the fields that
others add, their own documents, read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.protocols.loose_json import count, mapping
from llmcore.schema.changed import changed
from llmcore.schema.usage import Usage


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a server's usage object by the inclusive contract."""
    prompt = mapping(usage.get("prompt_tokens_details"))
    completion = mapping(usage.get("completion_tokens_details"))
    input_tokens = count(usage.get("prompt_tokens"))
    output_tokens = count(usage.get("completion_tokens"))
    total_tokens = count(usage.get("total_tokens"))
    reasoning = _first(completion.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    if _beside(input_tokens, output_tokens, reasoning, total_tokens):
        output_tokens = (output_tokens or 0) + (reasoning or 0)
    read = _first(
        prompt.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cached_tokens"),  # Moonshot
        usage.get("num_cached_tokens"),  # Mistral
        usage.get("cache_read_input_tokens"),
    )
    written = _first(
        prompt.get("cache_write_tokens"),  # OpenAI, OpenRouter
        usage.get("cache_creation_input_tokens"),
    )
    # Details are parts of the prompt. Where they exceed it, as where a token counts as read
    # and as written, the split is unknown.
    known = not prompt or (read or 0) + (written or 0) <= (input_tokens or 0)
    mapped = Usage.make(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_tokens,
        cache_read_tokens=read if known else None,
        cache_write_tokens=written if known else None,
        reasoning_tokens=reasoning,
        cost_usd=_cost(usage),
        raw=dict(usage),
    )
    if known:
        return mapped
    return changed(
        mapped, uncached_input_tokens=None, cache_read_tokens=read, cache_write_tokens=written
    )


def _beside(
    prompt: int | None, completion: int | None, reasoning: int | None, total: int | None
) -> bool:
    """Return whether reasoning is counted beside the completion, as xAI does.

    The total tells: it then exceeds prompt and completion by just the reasoning.
    """
    if not reasoning or prompt is None or completion is None or total is None:
        return False
    return total == prompt + completion + reasoning


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return the US dollars that a server states, each in its own way.

    OpenRouter: `cost` (https://openrouter.ai/docs/use-cases/usage-accounting); Perplexity:
    `total_cost` in it (https://docs.perplexity.ai/api-reference); xAI: ticks of 1e-10 dollars
    (https://docs.x.ai/developers/cost-tracking); DeepInfra: `estimated_cost`.
    """
    cost = usage.get("cost")
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    dollars = _number(cost)
    if dollars is not None:
        return dollars
    ticks = _number(usage.get("cost_in_usd_ticks"))
    return _number(usage.get("estimated_cost")) if ticks is None else ticks / 1e10


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _first(*values: Any) -> int | None:
    return next((found for value in values if (found := count(value)) is not None), None)
