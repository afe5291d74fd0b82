"""The data file, its schema, and the script that writes it."""

import json
from datetime import date, time
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

genai_prices = pytest.importorskip("genai_prices", reason="the source of prices is a dev package")

from genai_prices import types as source  # noqa: E402

from scripts import refresh_catalog as refresh  # noqa: E402

ROOT = Path(__file__).parents[2]
DATA = json.loads((ROOT / "llmcore/catalog/models.json").read_text("utf-8"))
SCHEMA = json.loads((ROOT / "llmcore/catalog/models.schema.json").read_text("utf-8"))
FACTS = json.loads(refresh.FACTS.read_text("utf-8"))


def test_the_file_is_what_its_schema_says() -> None:
    """No field is missing, misspelled or of another type."""
    problems = [str(e) for e in jsonschema_rs.validator_for(SCHEMA).iter_errors(DATA)]

    assert problems == []


def test_no_id_is_there_twice() -> None:
    """A provider has a model once."""
    ids = [(model["provider"], model["id"].lower()) for model in DATA["models"]]

    assert len(ids) == len(set(ids))


def test_the_file_is_what_the_script_writes() -> None:
    """It was not edited by hand; with another version of the prices it cannot be compared."""
    made_from = DATA["prices_from"]["version"]
    if _installed() != made_from:
        pytest.skip(f"made from genai-prices {made_from}, not {_installed()}")
    from genai_prices.data import providers

    written = refresh.spelled(refresh.catalog_of(providers, FACTS, made_from))

    assert written == refresh.TARGET.read_text("utf-8")


def _installed() -> str | None:
    try:
        return version("genai-prices")
    except PackageNotFoundError:
        return None


# -- from small inputs


def model(id_: str, prices: object, **more: Any) -> Any:
    """Return a model as genai-prices has it."""
    match = more.pop("match", source.ClauseEquals(equals=id_))
    return source.ModelInfo(id=id_, match=match, prices=prices, **more)  # type: ignore[arg-type]


def price(**prices: object) -> Any:
    """Return prices as genai-prices has them."""
    return source.ModelPrice(**{f"{k}_mtok": v for k, v in prices.items()})  # type: ignore[arg-type]


def made(*models: Any, facts: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the records of a provider `openai` with *models*."""
    provider = source.Provider(id="openai", name="O", api_pattern="", models=list(models))
    told = {"as_of": "2026-11-22", "models": {"openai": facts or {}}}
    catalog = refresh.catalog_of([provider], told, "0")
    assert json.loads(refresh.spelled(catalog)) == catalog
    records: list[dict[str, Any]] = catalog["models"]
    return records


CHEAP = price(input=Decimal(1), output=Decimal("2.5"))


def test_a_model_becomes_a_record() -> None:
    """Its match spells out aliases; what is unknown, or is the id again, is left out."""
    match = source.ClauseOr(
        or_=[source.ClauseEquals(equals="M-1"), source.ClauseStartsWith(starts_with="m-1-")]
    )

    assert made(model("m", CHEAP, match=match)) == [
        {
            "id": "m",
            "provider": "openai",
            "prices": {"input": 1, "output": 2.5},
            "aliases": ["m-1"],
        }
    ]


def test_tiers_make_long_context_rates() -> None:
    """Each threshold states all rates, also those that it does not change."""
    tiers = source.TieredPrices(base=Decimal(1), tiers=[source.Tier(200, Decimal(2))])
    prices = price(input=tiers, output=Decimal(3))

    assert made(model("m", prices))[0]["prices"] == {
        "input": 1,
        "output": 3,
        "long_context": [{"above_tokens": 200, "input": 2, "output": 3}],
    }


def test_prices_are_those_of_the_day() -> None:
    """The last one that has begun; hours that a later price ends are forgotten."""
    old, new, coming = (price(input=Decimal(n), output=Decimal(n)) for n in (1, 2, 3))
    hours = source.TimeOfDateConstraint(start_time=time(1), end_time=time(4))
    listed = [
        source.ConditionalPrice(prices=old),
        source.ConditionalPrice(hours, prices=coming),
        source.ConditionalPrice(source.StartDateConstraint(date(2026, 11, 22)), prices=new),
        source.ConditionalPrice(source.StartDateConstraint(date(2026, 11, 23)), prices=coming),
    ]

    assert made(model("m", listed))[0]["prices"] == {"input": 2, "output": 2}
    assert made(model("m", listed[:2]))[0]["prices"]["hours"] == [
        {"start": "01:00", "end": "04:00", "input": 3, "output": 3}
    ]


def test_service_tiers_state_whole_prices() -> None:
    """Fields that a tier leaves out are as usual; a batch is not a tier of a call."""
    flex = source.PriceVariant({"service_tier": "flex"}, prices=price(input=Decimal("0.5")))
    batch = source.PriceVariant({"processing": "batch"}, prices=price(input=Decimal("0.1")))

    prices = made(model("m", CHEAP, price_variants=[flex, batch]))[0]["prices"]

    assert prices["service_tiers"] == {"flex": {"input": 0.5, "output": 2.5}}


@pytest.mark.parametrize(
    "prices",
    [
        price(input=Decimal(1)),
        source.ModelPrice(
            input_mtok=Decimal(1), output_mtok=Decimal(1), requests_kcount=Decimal(5)
        ),
    ],
)
def test_what_is_not_billed_by_tokens_alone_has_no_price(prices: Any) -> None:
    """A sum that leaves out a fee would be wrong."""
    assert "prices" not in made(model("m", prices))[0]


def test_models_that_do_not_answer_in_text_are_left_out() -> None:
    """Embeddings, speech and pictures are not what this catalog is of."""
    ids = ["text-embedding-3", "tts-1", "gpt-image-1", "gpt-realtime", "m"]

    assert [one["id"] for one in made(*(model(id_, CHEAP) for id_ in ids))] == ["m"]


def test_facts_are_laid_over_prices() -> None:
    """A fact about an alias makes a model of its own; one about a stranger, one without prices."""
    match = source.ClauseOr(
        or_=[source.ClauseEquals(equals="m"), source.ClauseEquals(equals="m-codex")]
    )
    facts = {
        "m": {"display_name": "M", "aliases": ["mm"]},
        "m-codex": {"supports_tools": True},
        "new": {"release_date": "2026-11-01"},
    }

    first, codex, new = made(model("m", CHEAP, match=match), facts=facts)

    assert (first["display_name"], first["aliases"]) == ("M", ["mm"])
    assert (codex["id"], codex["prices"], codex["supports_tools"]) == (
        "m-codex",
        first["prices"],
        True,
    )
    assert new == {"id": "new", "provider": "openai", "release_date": "2026-11-01"}


def test_an_alias_that_is_another_models_id_is_reported() -> None:
    """The script writes nothing then."""
    catalog = {
        "models": [
            {"id": "a", "provider": "openai", "aliases": ["b"]},
            {"id": "b", "provider": "openai"},
        ]
    }

    assert refresh.shadowed(catalog) == ["openai: b of a"]
