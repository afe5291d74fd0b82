"""A model in the catalog: limits, capabilities and prices."""

from collections.abc import Mapping
from datetime import date, time

from attrs import field

from llmcore.schema.frozen import frozen


@frozen(kw_only=True)
class Rates:
    """US dollars per million tokens; None where there is no separate price.

    Cached tokens that have none are billed as other input, an hour's writes as 5 minutes'.
    """

    input: float
    """US dollars for a million tokens of input."""
    output: float
    """US dollars for a million tokens of output."""
    cache_read: float | None = None
    """US dollars for a million tokens read from a cache."""
    cache_write: float | None = None
    """US dollars for a million tokens written to a cache for 5 minutes, or the provider's time."""
    cache_write_1h: float | None = None
    """US dollars for a million tokens written to a cache for an hour."""
    input_audio: float | None = None
    """US dollars for a million tokens of audio in the input."""


@frozen
class LongContext:
    """The rates of all tokens of a request with more than `above_tokens` of input."""

    above_tokens: int
    rates: Rates


@frozen
class Hours:
    """The rates at certain hours of every day: from *start* on, before *end*, UTC.

    An end that is not later than the start is on the next day.
    """

    start: time
    end: time
    rates: Rates


@frozen(kw_only=True)
class Prices:
    """The list prices of a model's tokens, without taxes and discounts."""

    standard: Rates
    """The usual rates."""
    long_context: tuple[LongContext, ...] = ()
    """Rates of long requests, by threshold, the lowest first."""
    hours: tuple[Hours, ...] = ()
    """Rates of certain hours of the day."""
    service_tiers: Mapping[str, "Prices"] = field(factory=dict)
    """Rates by the service tier or speed that a response states, except the standard tier."""


@frozen(kw_only=True)
class ModelInfo:
    """A model of a provider. A field that is None is unknown, which does not mean no.

    Advisory: a model that is not in the catalog, or can do more than is stated here, works all
    the same.
    """

    id: str
    """The provider's id of the model."""
    provider: str
    """The provider's id."""
    display_name: str
    """The name for people."""
    context_window: int | None = None
    """Tokens of input and output together."""
    max_output: int | None = None
    """The most tokens of one response."""
    supports_tools: bool | None = None
    """Whether it calls tools."""
    supports_vision: bool | None = None
    """Whether it reads images."""
    supports_reasoning: bool | None = None
    """Whether it reasons before it answers."""
    supports_structured_output: bool | None = None
    """Whether the provider enforces schemas."""
    tool_choice_modes: tuple[str, ...] | None = None
    """The modes of `ToolChoice` it takes, where they are fewer than its API has."""
    prices: Prices | None = None
    """The list prices; None if unknown."""
    endpoints: tuple[str, ...] = ()
    """The paths of the APIs that serve it, such as `/v1/messages`, where a provider lists them."""
    aliases: tuple[str, ...] = ()
    """Other ids of the model."""
    release_date: date | None = None
    """When it was released, as YYYY-MM-DD."""
    deprecated: bool = False
    """Whether its provider has announced its end."""

    @property
    def input_price(self) -> float | None:
        """US dollars per million tokens of input that no cache holds."""
        return None if self.prices is None else self.prices.standard.input

    @property
    def output_price(self) -> float | None:
        """US dollars per million tokens of output, reasoning included."""
        return None if self.prices is None else self.prices.standard.output

    @property
    def cache_read_price(self) -> float | None:
        """US dollars per million tokens read from a cache."""
        return None if self.prices is None else self.prices.standard.cache_read

    @property
    def cache_write_price(self) -> float | None:
        """US dollars per million tokens written to a cache."""
        return None if self.prices is None else self.prices.standard.cache_write
