"""Counts of tokens, their cost and estimates, defined alike for all providers; rate limits."""

from datetime import datetime
from typing import Any, Final, Self, TypeVar

from attrs import field, fields

from llmcore.schema.changed import changed, copying
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import json_hints, with_call_hints, with_hints
from llmcore.schema.json import JsonValue
from llmcore.schema.pydantic_hooks import for_pydantic

_Number = TypeVar("_Number", int, float)


@with_hints(
    """
    prompt_tokens prompt input inputs -> write `.input_tokens`
    completion_tokens completion output -> write `.output_tokens`
    total -> write `.total_tokens`
    cache_read_input_tokens cached_tokens prompt_tokens_details -> write `.cache_read_tokens`
    cache_creation_input_tokens -> write `.cache_write_tokens`
    completion_tokens_details -> write `.reasoning_tokens`
    cost total_cost price
        -> the cost is `.cost` of the result; `.cost_usd` is what the provider stated, if it did
    """,
    **json_hints("usage"),
)
@with_call_hints(prompt_tokens="input_tokens", completion_tokens="output_tokens")
@for_pydantic
@frozen(kw_only=True)
class Usage:
    """The tokens and cost of one response, or the sum of several.

    `input_tokens` and `output_tokens` are inclusive: cached tokens are part of the
    input, reasoning tokens part of the output. The disjoint breakdown of the input is
    `uncached_input_tokens + cache_read_tokens + cache_write_tokens == input_tokens`.
    None means that the provider did not report it, which differs from 0.
    """

    input_tokens: int | None = None
    """All tokens of the prompt, cached ones included."""
    output_tokens: int | None = None
    """All generated tokens, reasoning included."""
    total_tokens: int | None = None
    """Input and output together."""
    uncached_input_tokens: int | None = None
    """Tokens of the prompt that were neither read from nor written to a cache."""
    cache_read_tokens: int | None = None
    """Tokens of the prompt that were read from a cache."""
    cache_write_tokens: int | None = None
    """Tokens of the prompt that were written to a cache."""
    cache_write_1h_tokens: int | None = None
    """The part of `cache_write_tokens` that is cached for an hour, at a higher price."""
    audio_input_tokens: int | None = None
    """The part of `uncached_input_tokens` that is audio, at another price for some models."""
    reasoning_tokens: int | None = None
    """Generated tokens that are reasoning."""
    reasoning_estimated: bool = False
    """True if `reasoning_tokens` is an estimate from the text of the reasoning, because the
    provider does not count it. For summarized reasoning the estimate is too low."""
    cost_usd: float | None = None
    """US dollars, as the provider stated them; never computed."""
    estimated: bool = False
    """True if the counts are estimates because the stream ended before the provider sent them."""
    service_tier: str | None = None
    """The tier that served the request, in the words of `GenerationOptions.service_tier`, which may
    differ from the one asked for; "mixed" if several added up differ. None if it was not stated."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The provider's own usage object."""

    @classmethod
    def make(
        cls,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        total_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        cache_write_1h_tokens: int | None = None,
        audio_input_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        cost_usd: float | None = None,
        service_tier: str | None = None,
        raw: JsonValue = None,
    ) -> Self:
        """Build a usage with consistent totals and breakdown from inclusive counts.

        No count becomes negative: if the cached tokens exceed the input (some providers count them
        separately), they are added to input and total. Counts below 0 are treated as missing.
        """
        input_tokens, output_tokens, total_tokens, reasoning_tokens = _counts(
            input_tokens, output_tokens, total_tokens, reasoning_tokens
        )
        read, write, write_1h, audio = _counts(
            cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, audio_input_tokens
        )
        cached = (read or 0) + (write or 0)
        if input_tokens is not None and cached > input_tokens:
            input_tokens += cached
            total_tokens = None if output_tokens is not None else total_tokens
        if total_tokens is None and input_tokens is not None and output_tokens is not None:
            total_tokens = input_tokens + output_tokens
        uncached = None if input_tokens is None else input_tokens - cached
        counts: tuple[Any, ...] = (
            *(input_tokens, output_tokens, total_tokens, uncached),
            *(read, write, write_1h, audio),
            *(reasoning_tokens, cost_usd, service_tier, raw),
        )
        if cls is Usage:
            return _known(_UNKNOWN, *counts)  # type: ignore[no-any-return]
        return changed(cls(), **dict(zip(_OF_MAKE, counts, strict=True)))

    def _repr_html_(self) -> str:
        """Return a table of what is known, for notebooks."""
        known = (
            (attribute.name, getattr(self, attribute.name))
            for attribute in fields(Usage)
            if attribute.name != "raw"
        )
        rows = "".join(
            f"<tr><td>{name.replace('_', ' ')}</td><td>{value:,}</td></tr>"
            for name, value in known
            if isinstance(value, int | float) and not isinstance(value, bool)
        )
        return f"<table>{rows}</table>"

    def __radd__(self, other: object) -> "Usage":
        """Add to 0, with which `sum(usages)` begins."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: "Usage") -> "Usage":
        """Add each field. None counts as 0 beside a number; None + None is None."""
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            total_tokens=_sum(self.total_tokens, other.total_tokens),
            uncached_input_tokens=_sum(self.uncached_input_tokens, other.uncached_input_tokens),
            cache_read_tokens=_sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            cache_write_1h_tokens=_sum(self.cache_write_1h_tokens, other.cache_write_1h_tokens),
            audio_input_tokens=_sum(self.audio_input_tokens, other.audio_input_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            reasoning_estimated=self.reasoning_estimated or other.reasoning_estimated,
            cost_usd=_sum(self.cost_usd, other.cost_usd),
            estimated=self.estimated or other.estimated,
            service_tier=_common(self.service_tier, other.service_tier),
        )


_UNKNOWN: Final = Usage()
_OF_MAKE: Final = (
    *("input_tokens", "output_tokens", "total_tokens", "uncached_input_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "audio_input_tokens"),
    *("reasoning_tokens", "cost_usd", "service_tier", "raw"),
)
_known: Any = copying(Usage, *_OF_MAKE)
"""A `Usage` with the counts of `make`, in its order."""


def _common(left: str | None, right: str | None) -> str | None:
    if left is None or right is None or left == right:
        return right if left is None else left
    return "mixed"


def _counts(*tokens: int | None) -> tuple[int | None, ...]:
    """Return *tokens*, those below 0 as missing."""
    for count in tokens:
        if count is not None and count < 0:
            return tuple(None if count is None or count < 0 else count for count in tokens)
    return tokens


def _sum(left: _Number | None, right: _Number | None) -> _Number | None:
    if left is None:
        return right
    return left if right is None else left + right


# -- estimates

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text."""


def estimated_tokens(characters: int) -> int:
    """Return the approximate number of tokens in a text of *characters* characters."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def estimated_usage(known: Usage, *, input_tokens: int | None, output_tokens: int) -> Usage:
    """Return *known* with these estimates as its tokens of input and output."""
    estimate = Usage.make(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=known.cache_read_tokens,
        cache_write_tokens=known.cache_write_tokens,
        cache_write_1h_tokens=known.cache_write_1h_tokens,
        audio_input_tokens=known.audio_input_tokens,
        reasoning_tokens=known.reasoning_tokens,
        cost_usd=known.cost_usd,
    )
    return changed(estimate, estimated=True)


# -- limits


@for_pydantic
@frozen(kw_only=True)
class RateLimitInfo:
    """The limits and their remainders from the response's headers; None if not reported.

    The reset times are aware datetimes in UTC.
    """

    requests_limit: int | None = None
    """Requests allowed in the window."""
    requests_remaining: int | None = None
    """Requests left in the window."""
    requests_reset_at: datetime | None = None
    """When the window of requests ends."""
    tokens_limit: int | None = None
    """Tokens allowed in the window."""
    tokens_remaining: int | None = None
    """Tokens left in the window."""
    tokens_reset_at: datetime | None = None
    """When the window of tokens ends."""
