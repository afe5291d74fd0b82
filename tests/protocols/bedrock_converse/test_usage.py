"""Token counts of a response."""

from typing import Any

import pytest

from llmcore.protocols.bedrock_converse.finish import map_usage
from tests.support.wire.bedrock import BEGIN, document, end, streamed, whole
from tests.support.wire.protocol import response

CASES: dict[str, tuple[dict[str, Any], tuple[int | None, ...]]] = {
    "plain": (
        {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        (10, 10, None, None, None, 5, 15),
    ),
    "written and read": (
        {
            "inputTokens": 3,
            "outputTokens": 121,
            "totalTokens": 2072,
            "cacheReadInputTokens": 1712,
            "cacheWriteInputTokens": 236,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 236}],
        },
        (1951, 3, 1712, 236, None, 121, 2072),
    ),
    "kept for an hour": (
        {
            "inputTokens": 1,
            "outputTokens": 1,
            "cacheWriteInputTokens": 30,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 20}, {"ttl": "5m", "inputTokens": 10}],
        },
        (31, 1, None, 30, 20, 1, 32),
    ),
    "details only": (
        {"inputTokens": 1, "outputTokens": 1, "cacheDetails": [{"ttl": "1h", "inputTokens": 20}]},
        (21, 1, None, 20, 20, 1, 22),
    ),
    "zeros are no absence": (
        {
            "inputTokens": 4,
            "outputTokens": 0,
            "totalTokens": 4,
            "cacheReadInputTokens": 0,
            "cacheWriteInputTokens": 0,
        },
        (4, 4, 0, 0, None, 0, 4),
    ),
    "nothing": ({}, (None, None, None, None, None, None, None)),
    "no numbers": ({"inputTokens": "x", "cacheDetails": [1, {"ttl": 1}]}, (None,) * 7),
}


@pytest.mark.parametrize(("native", "expected"), CASES.values(), ids=CASES)
def test_input_tokens_include_cached_ones(
    native: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    """Input is inclusive; its parts add up to it."""
    usage = map_usage(native)

    assert (
        usage.input_tokens,
        usage.uncached_input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.cache_write_1h_tokens,
        usage.output_tokens,
        usage.total_tokens,
    ) == expected
    assert usage.raw == native


@pytest.mark.parametrize("native", [case[0] for case in CASES.values() if case[0]])
def test_usage_is_the_same_streamed_and_whole(native: dict[str, Any]) -> None:
    """Both ways count alike."""
    counted = response(streamed([BEGIN, *end(usage=native)])).usage

    assert counted == response(whole(document(usage=native))).usage == map_usage(native)
