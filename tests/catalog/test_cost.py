"""Cost of calls, against cents computed by hand."""

from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.catalog import cost_of, list_models, response_cost
from llmcore.catalog.model_info import Hours, ModelInfo, Prices, Rates
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage


def usage(
    uncached: int = 0, *, read: int = 0, write: int = 0, write_1h: int = 0, output: int = 0
) -> Usage:
    """Return the usage with these disjoint numbers."""
    return Usage.make(
        input_tokens=uncached + read + write,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=write_1h,
    )


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("provider", "model", "used", "dollars"),
    [
        # 3 * $3 + 12304 * $3.75 + 550 * $15, per million
        ("anthropic", "claude-3-7-sonnet-20250219", usage(3, write=12304, output=550), 0.054399),
        ("anthropic", "claude-sonnet-4-5", usage(100_000), 0.3),
        ("anthropic", "claude-sonnet-4-5", usage(100_000, read=100_000), 0.3 + 0.03),
        ("anthropic", "claude-sonnet-4-5", usage(write=100_000, write_1h=100_000), 0.6),
        ("anthropic", "claude-sonnet-4-5", usage(write=100_000, write_1h=40_000), 0.225 + 0.24),
        # the whole prompt counts for the threshold, and then every token costs more
        ("anthropic", "claude-sonnet-4-5", usage(200_000, output=1000), 0.6 + 0.015),
        ("anthropic", "claude-sonnet-4-5", usage(1, read=200_000, output=1000), 0.1425_06),
        ("openai", "gpt-5.2-2025-12-11", usage(MILLION, output=MILLION), 15.75),
        ("openai", "gpt-5.2", usage(read=MILLION), 0.175),
        ("openai", "gpt-4o-2024-05-13", usage(MILLION), 5.0),
        ("openai", "gpt-4o-2024-11-20", usage(MILLION), 2.5),
        ("openai", "o1-pro", usage(read=MILLION), 150.0),  # no discount for cached tokens
        ("azure", "gpt-5.2-2025-12-11", usage(MILLION), 1.75),
        ("google", "models/gemini-2.5-pro", usage(100_000, output=100_000), 0.125 + 1.0),
        ("google", "gemini-2.5-pro", usage(300_000, output=100_000), 0.75 + 1.5),
        ("openrouter", "openai/gpt-5.2", usage(MILLION), 1.75),
        # a region of Bedrock costs a tenth more than the global endpoint
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", usage(100_000), 0.33),
        ("bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", usage(100_000), 0.3),
        ("vertex", "claude-sonnet-4-5@20250929", usage(100_000), 0.3),
        ("anthropic", "claude-sonnet-4-5", usage(), 0.0),
        ("openai", "gpt-5.2", Usage(input_tokens=MILLION, output_tokens=0), 1.75),
    ],
)
def test_known_models_have_a_price(provider: str, model: str, used: Usage, dollars: float) -> None:
    """Every token is billed once, at the rate of what it was."""
    assert cost_of(provider, model, used) == pytest.approx(dollars, rel=1e-9)


@pytest.mark.parametrize(
    ("audio", "read", "dollars"),
    [
        (MILLION, 0, 1.0),
        (400_000, 0, 0.4 + 0.6 * 0.3),
        (0, MILLION, 0.03),
        (200_000, 500_000, 0.2 + 0.3 * 0.3 + 0.5 * 0.03),
        (MILLION, 500_000, 0.5 + 0.5 * 0.03),  # no more than what was not cached
    ],
)
def test_audio_of_the_input_has_its_own_rate(audio: int, read: int, dollars: float) -> None:
    """Where the model has one: gemini-2.5-pro bills audio as text."""
    used = evolve(usage(MILLION - read, read=read), audio_input_tokens=audio)

    assert cost_of("google", "gemini-2.5-flash", used) == pytest.approx(dollars)
    assert cost_of("google", "gemini-2.5-pro", used) == cost_of(
        "google", "gemini-2.5-pro", evolve(used, audio_input_tokens=None)
    )


def test_the_published_case_is_billed_as_the_provider_does() -> None:
    """$0.0544, not the $0.0913 of counting written tokens as plain input as well."""
    used = usage(3, write=12304, output=550)

    assert round(cost_of("anthropic", "claude-3-7-sonnet-latest", used) or 0, 4) == 0.0544


@pytest.mark.parametrize(
    ("provider", "model", "used"),
    [
        ("openai", "gpt-9", usage(5, output=5)),
        ("openai", "gpt-5.2-mini", usage(5, output=5)),  # known, but no price is
        ("ollama", "gpt-5.2", usage(5, output=5)),
        ("my-proxy", "gpt-5.2", usage(5, output=5)),
        ("cloudflare-ai-gateway", "openai/gpt-5.2", usage(5, output=5)),
        ("openai", "gpt-5.2", Usage()),
        ("openai", "gpt-5.2", Usage(input_tokens=5)),
        ("openai", "gpt-5.2", Usage(output_tokens=5)),
    ],
)
def test_cost_of_an_unknown_model_is_none(provider: str, model: str, used: Usage) -> None:
    """Not 0, and not a guess."""
    assert cost_of(provider, model, used) is None


def test_the_model_that_runs_in_this_process_costs_nothing() -> None:
    assert cost_of("local", "smollm2", usage(5, output=5)) == 0


def test_the_providers_own_figure_wins() -> None:
    """Also where the catalog has a price, and where it has none."""
    stated = evolve(usage(MILLION), cost_usd=0.25)

    assert cost_of("openai", "gpt-5.2", stated) == 0.25
    assert cost_of("nobody", "nothing", stated) == 0.25


@pytest.mark.parametrize("cost", [-0.5, 1e300, float("inf"), float("nan")])
def test_a_figure_that_no_response_costs_gives_way_to_the_catalogs(cost: float) -> None:
    """Budgets would be refunded by one below 0, and could not hold one without end."""
    stated = evolve(usage(MILLION), cost_usd=cost)

    assert cost_of("openai", "gpt-5.2", stated) == 1.75


@pytest.mark.parametrize("cached", [2 * MILLION, 10**15])
def test_tokens_that_are_cached_beside_the_input_never_make_a_cost_negative(cached: int) -> None:
    """Where a server counts more of them than input, the split of the input is unknown."""
    used = Usage(input_tokens=MILLION, output_tokens=0, cache_read_tokens=cached)

    assert cost_of("openai", "gpt-5.2", used) == cost_of("openai", "gpt-5.2", usage(read=MILLION))


@pytest.mark.parametrize(
    ("tier", "dollars"),
    [("flex", 0.875), ("priority", 3.5), ("default", 1.75), (None, 1.75), ("scale", None)],
)
def test_service_tiers_have_prices_of_their_own(tier: str | None, dollars: float | None) -> None:
    """A tier without a listed price costs an unknown amount."""
    assert cost_of("openai", "gpt-5.2", usage(MILLION), service_tier=tier) == dollars


def test_a_tiers_long_context_costs_more_too() -> None:
    """GPT-5.4 doubles its input price above 272,000 tokens, in flex processing as well."""
    short = cost_of("openai", "gpt-5.4", usage(272_000), service_tier="flex")
    long = cost_of("openai", "gpt-5.4", usage(272_001), service_tier="flex")

    assert short is not None
    assert long is not None
    assert long / short == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("at", "dollars"),
    [
        (datetime(2026, 11, 22, 0, 59, tzinfo=UTC), 0.66),
        (datetime(2026, 11, 22, 1, 0, tzinfo=UTC), 1.32),
        (datetime(2026, 11, 22, 3, 59, tzinfo=UTC), 1.32),
        (datetime(2026, 11, 22, 4, 0, tzinfo=UTC), 0.66),
        (datetime(2026, 11, 22, 9, 30, tzinfo=timezone(timedelta(hours=8))), 1.32),
        (None, None),
    ],
)
def test_prices_may_depend_on_the_hour(at: datetime | None, dollars: float | None) -> None:
    """DeepSeek's do, in UTC; without an hour the price is unknown."""
    assert cost_of("deepseek", "deepseek-v4-pro", usage(MILLION), at=at) == dollars


def response(provider: str = "openai", model: str = "gpt-5.2", **said: object) -> LLMResponse:
    """Return a response that took a million tokens of input."""
    return LLMResponse(
        message=Message.assistant("Hi"),
        finish_reason=FinishReason("stop"),
        provider=provider,
        model=model,
        usage=usage(MILLION),
        provider_metadata={provider: said},
    )


@pytest.mark.parametrize(
    ("answer", "dollars"),
    [
        (response(), 1.75),
        (response(service_tier="default"), 1.75),
        (response(service_tier="flex"), 0.875),
        (response(service_tier="unheard-of"), None),
        (response("anthropic", "claude-opus-4-6", service_tier="standard"), 5.0),
        (response("anthropic", "claude-opus-4-6", service_tier="priority"), None),
        (response("anthropic", "claude-opus-4-8", speed="fast"), 10.0),
        (response("anthropic", "claude-opus-4-6", inference_geo="global"), 5.0),
        (response("anthropic", "claude-opus-4-6", inference_geo="us"), None),
        (evolve(response(), usage=Usage()), None),
        (evolve(response(), usage=Usage(cost_usd=0.5)), 0.5),
    ],
)
def test_a_response_tells_its_tier(answer: LLMResponse, dollars: float | None) -> None:
    """Tier, speed and place are read from what the provider said of the response."""
    assert response_cost(answer) == dollars


@given(
    st.sampled_from([m for m in list_models() if m.prices is not None]),
    st.lists(st.integers(0, MILLION), min_size=5, max_size=5),
)
def test_no_cost_is_negative(model: object, counts: list[int]) -> None:
    """And more tokens never cost less, within a tier."""
    provider, id_ = model.provider, model.id  # type: ignore[attr-defined]
    uncached, read, write, write_1h, output = counts
    used = usage(uncached, read=read, write=write, write_1h=write_1h, output=output)
    now = datetime(2026, 11, 22, tzinfo=UTC)
    cost = cost_of(provider, id_, used, at=now)
    more = usage(uncached, read=read, write=write, write_1h=write_1h, output=output + 1)

    assert cost is not None
    assert 0 <= cost <= (cost_of(provider, id_, more, at=now) or 0)


@pytest.mark.parametrize(
    ("hour", "expected"), [(16, 2.0), (17, 1.0), (23, 1.0), (0, 1.0), (1, 2.0), (12, 2.0)]
)
def test_hours_may_go_over_midnight(hour: int, expected: float) -> None:
    """Nights are cheap, and end the next day."""
    night = Hours(time(16, 30), time(0, 30), Rates(input=1, output=1))
    prices = Prices(standard=Rates(input=2, output=2), hours=(night,))
    found = ModelInfo(id="m", provider="acme", display_name="M", prices=prices)

    at = datetime(2026, 11, 22, hour, tzinfo=UTC)
    assert cost_of("acme", "m", usage(1_000_000), at=at, models=[found]) == expected


@pytest.mark.parametrize(
    ("provider", "model", "dollars"),
    [
        ("openai", "text-embedding-3-small", 0.02),
        ("azure", "text-embedding-3-large", 0.13),
        ("google", "models/gemini-embedding-001", 0.15),
        ("gemini", "gemini-embedding-001", 0.15),
        ("bedrock", "amazon.titan-embed-text-v2:0", 0.02),
        ("cohere", "embed-v4.0", 0.12),
        ("openai", "text-embedding-9", None),
        ("nobody", "text-embedding-3-small", None),
    ],
)
def test_texts_that_are_embedded_cost_the_list_price(
    provider: str, model: str, dollars: float | None
) -> None:
    usage = Usage.make(input_tokens=1_000_000, output_tokens=0)

    assert cost_of(provider, model, usage) == dollars


def test_an_own_price_of_embeddings_goes_before_the_catalogs() -> None:
    own = ModelInfo(
        id="text-embedding-3-small",
        provider="openai",
        display_name="Mine",
        prices=Prices(standard=Rates(input=9.0, output=0.0)),
    )
    usage = Usage.make(input_tokens=1_000_000, output_tokens=0)

    assert cost_of("openai", own.id, usage, models=[own]) == 9.0
    assert cost_of("openai", own.id, Usage()) is None
