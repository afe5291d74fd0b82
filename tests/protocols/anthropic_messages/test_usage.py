"""Token counts: what they include, and which of two counts."""

from typing import Any

import pytest

from llmcore.protocols.anthropic_messages.finish import map_usage
from llmcore.protocols.anthropic_messages.finish import merge_usage as merged
from llmcore.schema.usage import Usage
from tests.support.wire.anthropic import begin, end, streamed
from tests.support.wire.protocol import response

ZERO = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ({}, Usage()),
        (
            {"input_tokens": 3, "output_tokens": 550, **ZERO, "cache_creation_input_tokens": 12304},
            Usage(
                input_tokens=12307,
                output_tokens=550,
                total_tokens=12857,
                uncached_input_tokens=3,
                cache_read_tokens=0,
                cache_write_tokens=12304,
            ),
        ),
        (
            {
                "input_tokens": 6,
                "cache_read_input_tokens": 6289,
                "cache_creation_input_tokens": 3337,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 337,
                    "ephemeral_1h_input_tokens": 3000,
                },
                "output_tokens": 198,
                "output_tokens_details": {"thinking_tokens": 40},
            },
            Usage(
                input_tokens=9632,
                output_tokens=198,
                total_tokens=9830,
                uncached_input_tokens=6,
                cache_read_tokens=6289,
                cache_write_tokens=3337,
                cache_write_1h_tokens=3000,
                reasoning_tokens=40,
            ),
        ),
        (
            {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 4}},
            Usage(input_tokens=5, uncached_input_tokens=1, cache_write_tokens=4),
        ),
        ({"output_tokens": 7}, Usage(output_tokens=7)),
        ({"input_tokens": None, "output_tokens": "many"}, Usage()),
    ],
)
def test_usage_includes_cached_tokens_in_the_input(native: dict[str, Any], expected: Usage) -> None:
    """Cached tokens are part of the input, and the breakdown adds up."""
    usage = map_usage(native)

    assert usage == expected
    assert usage.raw == native


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"input_tokens": 9, "output_tokens": 1}, {"output_tokens": 7}, (9, 7)),
        ({"input_tokens": 9}, {"input_tokens": 20, "output_tokens": 7}, (20, 7)),
        ({"input_tokens": 9}, {"input_tokens": 0, "output_tokens": 7}, (9, 7)),
        ({"input_tokens": 9, **ZERO}, {"input_tokens": None, "output_tokens": 7}, (9, 7)),
        (None, {"input_tokens": 0, "output_tokens": 7}, (0, 7)),
    ],
)
def test_later_counts_replace_earlier_ones(before: Any, after: Any, expected: Any) -> None:
    """Counts are of the whole response: they replace, and are never added up."""
    usage = map_usage(merged(before, after))

    assert (usage.input_tokens, usage.output_tokens) == expected


def test_cache_counts_may_fall() -> None:
    """Where the provider shortened the conversation on the way, its last word counts."""
    start = {"input_tokens": 100, "cache_read_input_tokens": 55096, "output_tokens": 1}
    final = {"input_tokens": 181, **ZERO, "output_tokens": 8}

    usage = response(streamed([begin(usage=start), *end(usage=final)])).usage

    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens) == (181, 0)


def test_usage_on_every_event_is_not_added_up() -> None:
    """Servers that repeat their counts do not double them."""
    counts = [{"input_tokens": 12, "output_tokens": n} for n in (1, 2, 3)]
    deltas = [end(usage=count)[0] for count in counts]

    usage = response(streamed([begin(), *deltas, *end(usage=counts[-1])])).usage

    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (12, 3)


def test_no_usage_is_none() -> None:
    """A server that counts nothing leaves usage unsaid."""
    assert response(streamed([begin(usage=None), *end(usage={})])).usage == Usage()
