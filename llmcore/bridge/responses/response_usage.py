"""Tokens as the Responses API counts them."""

from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage


def usage_of(usage: Usage | None) -> JsonObject | None:
    """Return `usage`; None if the upstream counted nothing.

    The form has no way to leave a number out: what the upstream did not say is 0.
    """
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    taken, given = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": taken,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": taken + given if usage.total_tokens is None else usage.total_tokens,
    }
