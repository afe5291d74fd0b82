"""Looking models up."""

from datetime import date

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.catalog import get_latest_model, get_model_info, list_models
from llmcore.catalog.lookup import likely_model, misspelt_model
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.catalog.model_names import names_of
from llmcore.catalog.records import catalog
from llmcore.routes.providers import PROVIDERS
from llmcore.schema.errors import ConfigurationError
from tests.support.programs.fresh_interpreter import run_fresh

NAMED = [
    ("anthropic", "claude-opus-4-6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-3-haiku"),
    ("openai", "gpt-5.2"),
    ("openai", "gpt-5.2-mini"),
    ("openai", "gpt-5.2-codex"),
    ("openai", "gpt-6-sol"),
    ("openai", "gpt-4o"),
    ("google", "gemini-3-pro-preview"),
    ("google", "gemini-3-flash-preview"),
    ("google", "gemini-3.8-flash"),
    ("google", "gemini-2.5-flash"),
]


@pytest.mark.parametrize(("provider", "model_id"), NAMED)
def test_models_that_people_ask_for_are_there(provider: str, model_id: str) -> None:
    """The current ones, and older ones that are still served, each under its maker."""
    found = get_model_info(model_id)

    assert found is not None
    assert (found.provider, found.id) == (provider, model_id)
    assert found in list_models(provider)


def test_model_without_a_name_of_its_own_is_called_by_its_id() -> None:
    found = get_model_info("gpt-5-search-api")

    assert found is not None
    assert found.display_name == "gpt-5-search-api"


def test_record_has_limits_capabilities_prices_and_dates_as_values() -> None:
    """Limits, capabilities, prices and dates are values; nothing is a string to be parsed."""
    found = get_model_info("claude-sonnet-4-5")

    assert found is not None
    assert found.display_name == "Claude Sonnet 4.5"
    assert (found.context_window, found.max_output) == (200_000, 64_000)
    assert found.supports_tools
    assert found.supports_vision
    assert found.supports_reasoning
    assert found.release_date == date(2025, 9, 29)
    assert (found.input_price, found.output_price) == (3, 15)
    assert (found.cache_read_price, found.cache_write_price) == (0.3, 3.75)
    assert found.prices is not None
    assert found.prices.standard.cache_write_1h == 6
    assert [step.above_tokens for step in found.prices.long_context] == [200_000]


def test_what_the_data_lacks_is_unknown() -> None:
    """A model of which there are no facts is there, and says None, not no."""
    found = get_model_info("gpt-5.2-mini")

    assert found is not None
    assert (found.supports_tools, found.context_window, found.prices) == (None, None, None)
    assert found.input_price is found.output_price is found.cache_read_price is None


@pytest.mark.parametrize(
    ("given_id", "provider", "expected"),
    [
        ("claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("CLAUDE-Sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("claude-3-7-sonnet-20250219", "anthropic", "claude-3-7-sonnet-latest"),
        ("gpt-5.2-2025-12-11", "openai", "gpt-5.2"),
        ("gpt-5.2-20251211", "openai", "gpt-5.2"),
        ("openai/gpt-5.2", "openai", "gpt-5.2"),
        ("gpt-4o-2024-05-13", "openai", "gpt-4o-2024-05-13"),
        ("gpt-4o-2024-08-06", "openai", "gpt-4o"),
        ("models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-pro", "vertex", "gemini-2.5-pro"),
        ("claude-sonnet-4-5@20250929", "vertex", "claude-sonnet-4-5"),
        ("claude-opus-4-6@default", "vertex", "claude-opus-4-6"),
        ("openai/gpt-5.2", "openrouter", "openai/gpt-5.2"),
        ("openai/gpt-5.2-20251211", "openrouter", "openai/gpt-5.2"),
        ("gpt-5.2-2025-12-11", "azure", "gpt-5.2"),
        ("accounts/fireworks/models/deepseek-v3p2", "fireworks", "deepseek-v3p2"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "bedrock",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        ("eu.anthropic.claude-opus-4-6-v1", "bedrock", "anthropic.claude-opus-4-6-v1:0"),
        (
            "global.anthropic.claude-opus-4-6-v1",
            "bedrock",
            "global.anthropic.claude-opus-4-6-v1:0",
        ),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "bedrock",
            "anthropic.claude-haiku-4-5-20251001-v1:0",
        ),
    ],
)
def test_dated_and_prefixed_ids_find_their_model(
    given_id: str, provider: str, expected: str
) -> None:
    """Prefixes and suffixes of clouds, routers and snapshots are ignored."""
    found = get_model_info(given_id, provider)

    assert found is not None
    assert found.id == expected


@pytest.mark.parametrize(
    ("given_id", "provider"),
    [
        ("gpt-9", "openai"),
        ("gpt-4o-unheard-of", "openai"),
        ("gpt-5.2", "anthropic"),
        ("gpt-5.2", "nobody"),
        ("gpt-5.2:free", "openrouter"),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc123", "bedrock"),
        ("", "openai"),
        ("-20250929", "anthropic"),
    ],
)
def test_other_ids_are_not_guessed_at(given_id: str, provider: str) -> None:
    """The beginning of an id is not the id."""
    assert get_model_info(given_id, provider) is None


@pytest.mark.parametrize(
    ("given_id", "provider"),
    [
        ("gpt-5.2", "openai"),
        ("openai/gpt-5.2", "openai"),
        ("openai:gpt-5.2", "openai"),
        ("openrouter/openai/gpt-5.2", "openrouter"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"),
        ("anthropic/claude-sonnet-4.5", "anthropic"),
        ("z-ai/glm-4.6", "openrouter"),
    ],
)
def test_an_id_alone_means_its_makers_model(given_id: str, provider: str) -> None:
    """A provider before it selects; otherwise makers come before those who only serve."""
    found = get_model_info(given_id)

    assert found is not None
    assert found.provider == provider


def test_lookup_of_an_unknown_id_returns_none() -> None:
    """The catalog is advice, and has none."""
    assert get_model_info("my-own-finetune") is None


def test_every_provider_of_the_catalog_is_one_of_ours() -> None:
    """Ids of providers are those that clients are configured with."""
    assert {model.provider for model in list_models()} <= {entry.id for entry in PROVIDERS}


def test_models_are_listed_for_all_providers_or_for_one() -> None:
    """All, one provider's, or none of a provider that is not there."""
    whole = list_models()

    assert len(whole) == len(catalog().records)
    assert {m.provider for m in list_models("google")} == {"google"}
    assert list_models("nobody") == ()


@pytest.mark.parametrize(
    ("given", "meant"), [("opnai", "openai"), ("Antropic", "anthropic"), ("gogle", "google")]
)
def test_misspelled_provider_raises_an_error_with_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{given}'.* did you mean '{meant}'"):
        list_models(given)
    with pytest.raises(ConfigurationError, match=meant):
        get_latest_model(given)


def test_own_provider_with_a_name_like_another_has_its_models() -> None:
    own = evolve(known("m", None, 1.0), provider="openaj")

    assert list_models("openaj", models=[own]) == (own,)


@pytest.mark.parametrize(
    ("provider", "model_id"),
    [("anthropic", "claude-fable-5-2"), ("google", "gemini-4-argon"), ("openai", "gpt-6-astra")],
)
def test_the_latest_model_is_what_a_maker_has_to_offer(provider: str, model_id: str) -> None:
    """Not a small one that came a little later, nor a dearer one of an older generation."""
    latest = get_latest_model(provider)

    assert latest is not None
    assert latest.id == model_id


def test_the_latest_model_can_do_what_is_asked() -> None:
    """Of those that are known to be able, and that their provider has not given up."""
    latest = get_latest_model("google", "structured_output")

    assert latest is not None
    assert not latest.deprecated
    assert all(
        found is not None and getattr(found, f"supports_{capability}")
        for capability in ("reasoning", "vision", "tools", "structured_output")
        for found in [get_latest_model("openai", capability)]
    )
    assert get_latest_model("nobody") is None


def known(model_id: str, day: str | None, price: float, *, deprecated: bool = False) -> ModelInfo:
    """Return a model of which there is little to say."""
    return ModelInfo(
        id=model_id,
        provider="acme",
        display_name=model_id,
        release_date=None if day is None else date.fromisoformat(day),
        prices=Prices(standard=Rates(input=1, output=price)),
        deprecated=deprecated,
    )


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([known("large", "2026-09-21", 20), known("small", "2026-10-07", 1)], "large"),
        ([known("old", "2026-09-06", 50), known("new", "2026-10-07", 1)], "new"),
        ([known("old", "2026-09-07", 50), known("new", "2026-10-07", 1)], "old"),
        ([known("6", "2026-09-22", 10), known("6.1", "2026-09-29", 10)], "6.1"),
        ([known("gone", "2026-10-07", 9, deprecated=True), known("here", None, 1)], "here"),
        ([known("gone", "2026-10-07", 9, deprecated=True)], "gone"),
        ([known("undated", None, 99), known("dated", "2020-01-01", 1)], "dated"),
        ([known("a", None, 1), known("b", None, 2)], "b"),
    ],
)
def test_the_latest_of_a_generation_is_the_strongest(
    models: list[ModelInfo], expected: str
) -> None:
    """The one of the highest price of those that came within a month of the newest."""
    for _ in models:
        models.append(models.pop(0))
        latest = get_latest_model("acme", models=models)
        assert latest is not None
        assert latest.id == expected


def test_unknown_capability_raises_an_error() -> None:
    """A typo is not an empty response."""
    with pytest.raises(ConfigurationError, match="structured_output"):
        get_latest_model("openai", "tolls")  # type: ignore[arg-type]


def test_data_file_is_read_at_the_first_lookup() -> None:
    """Importing the library, a client and the catalog opens no data file."""
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda name, args: opened.append(args[0]) if name == 'open' else None)\n"
        "import llmcore, llmcore.client.client, llmcore.catalog\n"
        "assert not [one for one in opened if str(one).endswith('.json')], opened\n"
        "assert llmcore.catalog.get_model_info('gpt-5.2') is not None\n"
        "assert [one for one in opened if str(one).endswith('models.json')]\n"
    )
    run_fresh(code)


@given(st.text(max_size=40), st.sampled_from(["openai", "bedrock", "vertex", ""]))
def test_any_text_has_names(text: str, provider: str) -> None:
    """Each is tried once, the text itself first."""
    names = list(names_of(text, provider))

    assert len(names) == len(set(names))
    assert names[:1] == ([text.lower()] if text else [])


@given(st.sampled_from([r for r in catalog().records if "/" not in r["id"]]))
def test_every_id_and_alias_leads_to_its_record(record: dict[str, object]) -> None:
    """An id finds its own record; an alias finds one that has it, or the id that it is."""
    provider = str(record["provider"])
    found = get_model_info(str(record["id"]), provider)
    assert found is not None
    assert found.id == record["id"]
    for alias in found.aliases:
        other = get_model_info(alias, provider)
        assert other is not None
        assert alias in {*other.aliases, other.id.lower()}


@pytest.mark.parametrize(
    ("model_id", "provider", "meant"),
    [
        ("gpt-5.2", "anthropic", "openai:gpt-5.2"),
        ("claude-sonet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("GPT-4oo", "openai", "gpt-4o"),
        ("gpt-5.2", "openai", None),
        ("my-own-model", "openai", None),
        ("m", "a-server-of-mine", None),
    ],
)
def test_misspelled_model_is_likely_the_nearest_or_that_of_another_provider(
    model_id: str, provider: str, meant: str | None
) -> None:
    assert likely_model(model_id, provider) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gtp-5.2", "gpt-5.2"), ("claude", None), ("my-own-model", None), ("m" * 10_000, None)],
)
def test_misspelt_model_is_the_nearest_of_all_providers(typed: str, meant: str | None) -> None:
    """The name of a family alone is not a misspelt model."""
    found = misspelt_model(typed)
    assert (found and found.id) == meant


def test_provider_gemini_is_looked_up_as_google() -> None:
    """Its API's own name means the same provider."""
    assert list_models("gemini") == list_models("google")
    assert get_latest_model("gemini") == get_latest_model("google") is not None
    assert get_model_info("gemini-3-pro-preview", "gemini") is not None


def test_models_of_ones_own_may_come_from_a_generator() -> None:
    mine = ModelInfo(provider="openai", id="mine", display_name="Mine", context_window=1000)

    assert mine in list_models("openai", models=(model for model in [mine]))  # type: ignore[arg-type]
