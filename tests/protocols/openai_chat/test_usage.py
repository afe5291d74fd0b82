"""Counting tokens, whatever the server calls them."""

from typing import Any

import pytest

from llmcore.protocols.openai_chat.finish import map_usage
from llmcore.schema.usage import Usage

CASES: dict[str, tuple[dict[str, Any], Usage]] = {
    "OpenAI": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(
            input_tokens=100,
            output_tokens=50,
            total_tokens=150,
            uncached_input_tokens=36,
            cache_read_tokens=64,
            reasoning_tokens=30,
        ),
    ),
    "OpenRouter, with cost and cache writes": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 80},
            "cost": 0.00123,
        },
        Usage(
            input_tokens=100,
            output_tokens=5,
            total_tokens=105,
            uncached_input_tokens=10,
            cache_read_tokens=10,
            cache_write_tokens=80,
            cost_usd=0.00123,
        ),
    ),
    "Alibaba, with an explicit cache": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_type": "ephemeral",
                "cache_creation": {"ephemeral_5m_input_tokens": 80},
                "cache_creation_input_tokens": 80,
            },
        },
        Usage(
            input_tokens=100,
            output_tokens=5,
            total_tokens=105,
            uncached_input_tokens=20,
            cache_read_tokens=0,
            cache_write_tokens=80,
        ),
    ),
    "DeepSeek": (
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_cache_hit_tokens": 16,
            "prompt_cache_miss_tokens": 4,
        },
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=4,
            cache_read_tokens=16,
        ),
    ),
    "Mistral": (
        {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "num_cached_tokens": 8},
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=12,
            cache_read_tokens=8,
        ),
    ),
    "Mistral, with the tier": (
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "service_tier": "standard",
        },
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=20,
            service_tier="default",
        ),
    ),
    "Writer": (
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_token_details": {"cached_tokens": 8},
        },
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=12,
            cache_read_tokens=8,
        ),
    ),
    "the names of the Responses API": (
        {
            "input_tokens": 20,
            "output_tokens": 5,
            "total_tokens": 25,
            "input_tokens_details": {"cached_tokens": 8},
            "output_tokens_details": {"reasoning_tokens": 2},
        },
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=12,
            cache_read_tokens=8,
            reasoning_tokens=2,
        ),
    ),
    "both names, one of them empty": (
        {"prompt_tokens": 20, "completion_tokens": 5, "input_tokens": 0, "output_tokens": 0},
        Usage(input_tokens=20, output_tokens=5, total_tokens=25, uncached_input_tokens=20),
    ),
    "Moonshot": (
        {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "cached_tokens": 8},
        Usage(
            input_tokens=20,
            output_tokens=5,
            total_tokens=25,
            uncached_input_tokens=12,
            cache_read_tokens=8,
        ),
    ),
    "xAI, reasoning beside the completion, cost in ticks": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "total_tokens": 112,
            "completion_tokens_details": {"reasoning_tokens": 100},
            "cost_in_usd_ticks": 37_756_000,
        },
        Usage(
            input_tokens=10,
            output_tokens=102,
            total_tokens=112,
            uncached_input_tokens=10,
            reasoning_tokens=100,
            cost_usd=0.0037756,
        ),
    ),
    "Perplexity's research, which counts reasoning beside the completion": (
        {
            "prompt_tokens": 33,
            "completion_tokens": 7163,
            "total_tokens": 7196,
            "citation_tokens": 19016,
            "num_search_queries": 18,
            "reasoning_tokens": 73997,
        },
        Usage(
            input_tokens=33,
            output_tokens=81160,
            total_tokens=81193,
            uncached_input_tokens=33,
            reasoning_tokens=73997,
        ),
    ),
    "Perplexity": (
        {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "reasoning_tokens": 2,
            "cost": {"total_cost": 0.006, "request_cost": 0.005},
        },
        Usage(
            input_tokens=3,
            output_tokens=4,
            total_tokens=7,
            uncached_input_tokens=3,
            reasoning_tokens=2,
            cost_usd=0.006,
        ),
    ),
    "DeepInfra": (
        {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "estimated_cost": 1e-6},
        Usage(
            input_tokens=3,
            output_tokens=4,
            total_tokens=7,
            uncached_input_tokens=3,
            cost_usd=1e-6,
        ),
    ),
    "Anthropic's cache counts, beside the prompt": (
        {
            "prompt_tokens": 3,
            "completion_tokens": 550,
            "cache_creation_input_tokens": 12_304,
            "cache_read_input_tokens": 0,
        },
        Usage(
            input_tokens=12_307,
            output_tokens=550,
            total_tokens=12_857,
            uncached_input_tokens=3,
            cache_read_tokens=0,
            cache_write_tokens=12_304,
        ),
    ),
    "details that contradict the prompt": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 90},
        },
        Usage(
            input_tokens=100,
            output_tokens=5,
            total_tokens=105,
            cache_read_tokens=90,
            cache_write_tokens=90,
        ),
    ),
    "no total": (
        {"prompt_tokens": 3, "completion_tokens": 4},
        Usage(input_tokens=3, output_tokens=4, total_tokens=7, uncached_input_tokens=3),
    ),
    "nulls": (
        {"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": None},
        Usage(input_tokens=3, uncached_input_tokens=3),
    ),
    "nonsense": (
        {"prompt_tokens": "3", "completion_tokens": True, "total_tokens": [], "cost": "free"},
        Usage(),
    ),
    "floats and negatives": (
        {"prompt_tokens": 3.0, "completion_tokens": -1},
        Usage(input_tokens=3, uncached_input_tokens=3),
    ),
    "nothing": ({}, Usage()),
}


@pytest.mark.parametrize(("usage", "expected"), CASES.values(), ids=CASES.keys())
def test_usage_has_inclusive_input_and_a_disjoint_breakdown(
    usage: dict[str, Any], expected: Usage
) -> None:
    """Input and output are inclusive, the breakdown of the input is disjoint."""
    assert map_usage(usage) == expected


@pytest.mark.parametrize(("usage", "_expected"), CASES.values(), ids=CASES.keys())
def test_the_servers_own_usage_is_kept(usage: dict[str, Any], _expected: Usage) -> None:
    """Fields without a neutral name are in `raw`."""
    assert map_usage(usage).raw == usage


@pytest.mark.parametrize(("usage", "_expected"), CASES.values(), ids=CASES.keys())
def test_the_breakdown_adds_up(usage: dict[str, Any], _expected: Usage) -> None:
    """Uncached, read and written tokens are the input, where the split is known."""
    mapped = map_usage(usage)

    if mapped.uncached_input_tokens is not None:
        parts = (mapped.cache_read_tokens or 0) + (mapped.cache_write_tokens or 0)
        assert mapped.uncached_input_tokens + parts == mapped.input_tokens
        assert mapped.uncached_input_tokens >= 0
