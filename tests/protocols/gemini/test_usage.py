"""Counting tokens by the inclusive contract."""

from typing import Any

import pytest

from llmcore.protocols.gemini.finish import map_usage


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "reasoning_tokens": None},
        ),
        (
            {
                "promptTokenCount": 26,
                "candidatesTokenCount": 23,
                "thoughtsTokenCount": 132,
                "totalTokenCount": 181,
            },
            {"input_tokens": 26, "output_tokens": 155, "reasoning_tokens": 132},
        ),
        (
            {
                "promptTokenCount": 32,
                "candidatesTokenCount": 41,
                "thoughtsTokenCount": 47,
                "toolUsePromptTokenCount": 2395,
                "totalTokenCount": 2515,
            },
            {"input_tokens": 2427, "output_tokens": 88, "total_tokens": 2515},
        ),
        (
            {"promptTokenCount": 100, "cachedContentTokenCount": 80, "totalTokenCount": 100},
            {
                "input_tokens": 100,
                "cache_read_tokens": 80,
                "uncached_input_tokens": 20,
                "output_tokens": 0,
            },
        ),
        (
            {"promptTokenCount": 9, "thoughtsTokenCount": 4, "totalTokenCount": 13},
            {"output_tokens": 4, "reasoning_tokens": 4},
        ),
        (  # more than all of the input cannot be a part of it: the split is unknown
            {"promptTokenCount": 9, "cachedContentTokenCount": 12, "totalTokenCount": 9},
            {"input_tokens": 9, "cache_read_tokens": 12, "uncached_input_tokens": None},
        ),
        (
            {
                "promptTokenCount": 90,
                "cachedContentTokenCount": 20,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 10},
                    {"modality": "AUDIO", "tokenCount": 80},
                ],
                "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
            },
            {"input_tokens": 90, "uncached_input_tokens": 70, "audio_input_tokens": 60},
        ),
        (
            {"promptTokenCount": 9},
            {
                "input_tokens": 9,
                "audio_input_tokens": None,
                "output_tokens": None,
                "total_tokens": None,
            },
        ),
        ({"trafficType": "ON_DEMAND"}, {"input_tokens": None, "output_tokens": None}),
        ({"promptTokenCount": "x", "candidatesTokenCount": -1}, {"input_tokens": None}),
        ({}, {"input_tokens": None, "total_tokens": None}),
    ],
)
def test_thoughts_are_output_and_cached_tokens_input(
    native: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Tool results are input, thoughts are output, and the cached is a part of the input."""
    usage = map_usage(native)

    assert {name: getattr(usage, name) for name in expected} == expected
    assert usage.raw == native
    if usage.uncached_input_tokens is not None:
        parts = (usage.uncached_input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        assert sum(part or 0 for part in parts) == usage.input_tokens
