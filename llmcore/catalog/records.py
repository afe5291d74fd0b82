"""The data file, which is read once, at the first look-up."""

from collections.abc import Mapping
from datetime import date, time
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from llmcore.catalog.model_info import Hours, LongContext, ModelInfo, Prices, Rates
from llmcore.schema import json
from llmcore.schema.frozen import frozen

Record: TypeAlias = Mapping[str, Any]
"""A model as the file has it; models.schema.json describes it."""


@frozen(kw_only=True)
class Catalog:
    """The contents of the file, with an index of its names."""

    records: tuple[Record, ...]
    """The records in the file's order: makers of models before those who only serve them."""
    by_provider: Mapping[str, Mapping[str, int]]
    """The number of a record, by provider and by id or alias in lower case."""
    fallbacks: Mapping[str, str]
    """Providers that serve another one's models at its prices."""
    embeddings: Mapping[str, Mapping[str, float]]
    """The price of a million tokens, by provider and model, of models that embed texts."""


@cache
def catalog() -> Catalog:
    """Return the catalog."""
    data: Any = json.loads(files("llmcore.catalog").joinpath("models.json").read_bytes())
    records = tuple(data["models"])
    by_provider: dict[str, dict[str, int]] = {}
    for number, record in enumerate(records):
        names = by_provider.setdefault(record["provider"], {})
        for alias in record.get("aliases", ()):
            names.setdefault(alias, number)
    for number, record in enumerate(records):  # an id is never taken for another's alias
        by_provider[record["provider"]][record["id"].lower()] = number
    return Catalog(
        records=records,
        by_provider=by_provider,
        fallbacks=data["fallbacks"],
        embeddings=data["embeddings"],
    )


@cache
def model_at(number: int) -> ModelInfo:
    """Return the record *number* of the catalog as a value."""
    return model_from(catalog().records[number])


def model_from(stored: Record) -> ModelInfo:
    """Return the model that a record states; without a `display_name` it is called by its id."""
    record = {"display_name": stored["id"], **stored}
    prices, released = record.pop("prices", None), record.pop("release_date", None)
    for name in ("aliases", "endpoints", "tool_choice_modes"):
        if name in record:
            record[name] = tuple(record[name])
    return ModelInfo(
        **record,
        prices=None if prices is None else prices_from(prices),
        release_date=None if released is None else date.fromisoformat(released),
    )


def prices_from(record: Record) -> Prices:
    """Return the prices that *record* states."""
    return Prices(
        standard=_rates(record),
        long_context=tuple(
            LongContext(row["above_tokens"], _rates(row)) for row in record.get("long_context", ())
        ),
        hours=tuple(
            Hours(time.fromisoformat(row["start"]), time.fromisoformat(row["end"]), _rates(row))
            for row in record.get("hours", ())
        ),
        service_tiers={
            name: prices_from(tier) for name, tier in record.get("service_tiers", {}).items()
        },
    )


_RATES = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "input_audio")


def _rates(record: Record) -> Rates:
    return Rates(**{name: record[name] for name in _RATES if name in record})
