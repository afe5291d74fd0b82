"""Write llmcore/catalog/models.json.

Prices come from the data of the package genai-prices (MIT, the Pydantic team and contributors),
facts from catalog_facts.json beside this file, which is kept by hand. The same package and the
same facts make the same file, byte by byte:

    pip install --upgrade genai-prices
    python scripts/refresh_catalog.py

Change `as_of` in the facts first: prices are those of that day.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeAlias

from genai_prices import types as source

from llmcore.catalog.model_names import names_of

ROOT: Final = Path(__file__).parents[1]
TARGET: Final = ROOT / "llmcore" / "catalog" / "models.json"
FACTS: Final = Path(__file__).with_name("catalog_facts.json")

Record: TypeAlias = dict[str, Any]

SOURCES: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "xai": "x-ai",
    "moonshot": "moonshotai",
    "zai": "zai",
    "perplexity": "perplexity",
    "azure": "azure",
    "bedrock": "aws",
    "vertex": "google",
    "groq": "groq",
    "cerebras": "cerebras",
    "together": "together",
    "fireworks": "fireworks",
    "baseten": "baseten",
    "cloudflare-workers-ai": "cloudflare",
    "openrouter": "openrouter",
}
"""Our providers, those that make models first, and what genai-prices calls them."""

FALLBACKS: Final = {"azure": "openai"}
"""Global deployments of Azure cost what OpenAI charges."""

RATES: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "input_audio": "input_audio_mtok",
}

_NOT_CHAT: Final = re.compile(
    r"embed|tts|whisper|transcri|realtime|-live|native-audio|image|imagen|moderation|rerank|ocr"
    r"|voxtral-mini|sonic|orpheus|veo-|lyria|computer-use|translate|safeguard|llama-?guard"
    r"|prompt-guard|diffusion|flux|bge-|omni-|indictrans|melotts|detr|resnet|m2m100|nova-reel"
    r"|-audio|nano-banana|turbo-instruct|^(?:text-)?(?:ada|babbage|curie|davinci)"
)
"""Models that do not answer in text, or that are billed by something other than its tokens."""

_FOREIGN: Final = {"google": re.compile("claude")}
"""Models that genai-prices lists at a provider whose API we do not reach them by."""

_TIERS: Final = ("service_tier", "speed")
_BILLED_OTHERWISE: Final = ("output_reasoning_mtok", "requests_kcount")


# -- from genai-prices


def records_of(provider: str, models: Iterable[Any], day: date) -> Iterator[Record]:
    """Yield the records of *provider* from its *models* in genai-prices, at prices of *day*."""
    foreign = _FOREIGN.get(provider)
    for model in models:
        if model.id.endswith("-"):  # the price of whatever begins so, no model
            continue
        if _NOT_CHAT.search(model.id.lower()) or (foreign and foreign.search(model.id)):
            continue
        id_ = model.id.removeprefix("regional.")
        aliases = sorted({_aliased(name) for name in _spellings(model.match)} - {id_.lower()})
        record = {
            "id": id_,
            "provider": provider,
            "display_name": model.name,
            "context_window": model.context_window,
            "aliases": aliases,
            "prices": _prices(model, day),
        }
        yield {**record, **({"deprecated": True} if model.deprecated else {})}


def _aliased(spelling: str) -> str:
    return spelling.lower().rstrip("-@")


def _spellings(match: Any) -> Iterator[str]:
    """Yield the names that *match* spells out; what it matches by pattern is left out."""
    if isinstance(match, source.ClauseEquals):
        yield match.equals
    elif isinstance(match, source.ClauseStartsWith):
        yield match.starts_with
    elif isinstance(match, source.ClauseEndsWith):
        yield match.ends_with
    elif isinstance(match, source.ClauseContains):
        yield match.contains
    elif isinstance(match, source.ClauseOr):
        for one in match.or_:
            yield from _spellings(one)
    elif isinstance(match, source.ClauseAnd):
        yield from _spellings(match.and_[0])


def _prices(model: Any, day: date) -> Record | None:
    listed = model.prices if isinstance(model.prices, list) else [_always(model.prices)]
    standard, hours = None, []
    for one in listed:
        if isinstance(one.constraint, source.TimeOfDateConstraint):
            hours.append(one)
        elif one.constraint is None or one.constraint.start_date <= day:
            standard, hours = one.prices, []  # it replaces what came before it
    record = None if standard is None else _priced(standard)
    if record is None:
        return None
    if hours:
        record["hours"] = [_at_hours(one) for one in hours]
    tiers = dict(_tiers(model, standard, day))
    return {**record, **({"service_tiers": tiers} if tiers else {})}


def _always(prices: Any) -> Any:
    return source.ConditionalPrice(constraint=None, prices=prices)


def _priced(prices: Any) -> Record | None:
    """Return the rates that *prices* state; None if tokens are not what is billed."""
    given = {ours: getattr(prices, theirs) for ours, theirs in RATES.items()}
    given = {name: price for name, price in given.items() if price is not None}
    otherwise = any(getattr(prices, name) is not None for name in _BILLED_OTHERWISE)
    if otherwise or not {"input", "output"} <= given.keys():
        return None
    starts = sorted(
        {tier.start for price in given.values() for tier in getattr(price, "tiers", ())}
    )
    record: Record = {name: _rate(price, 0) for name, price in given.items()}
    if starts:
        record["long_context"] = [
            {"above_tokens": start, **{n: _rate(price, start) for n, price in given.items()}}
            for start in starts
        ]
    return record


def _rate(price: Any, start: int) -> float | int:
    """Return the price of prompts of more than *start* tokens."""
    if isinstance(price, source.TieredPrices):
        tiers = [tier.price for tier in price.tiers if tier.start <= start and start]
        price = tiers[-1] if tiers else price.base
    number = float(price)
    return int(number) if number.is_integer() else number


def _at_hours(one: Any) -> Record:
    hours = one.constraint
    times = {"start": f"{hours.start_time:%H:%M}", "end": f"{hours.end_time:%H:%M}"}
    return {**times, **(_priced(one.prices) or {})}


def _tiers(model: Any, standard: Any, day: date) -> Iterator[tuple[str, Record]]:
    """Yield the prices of each service tier, by its name."""
    for variant in model.price_variants or ():
        names = [name for key, name in variant.when.items() if key in _TIERS]
        begun = variant.constraint is None or variant.constraint.start_date <= day
        stated = {k: v for k, v in variant.prices.__dict__.items() if v is not None}
        if len(variant.when) == len(names) == 1 and begun and stated:
            record = _priced(source.ModelPrice(**{**standard.__dict__, **stated}))
            if record is not None:
                yield names[0], record


# -- with the facts


def merged(records: Iterable[Record], facts: Mapping[str, Record]) -> list[Record]:
    """Return the *records* of one provider with *facts*, by model id, laid over them.

    A fact about an alias makes a model of its own, at the same prices; one about a model that
    genai-prices does not have makes one without prices.
    """
    by_id = {record["id"]: record for record in records}
    for id_, known in facts.items():
        parent = by_id.get(id_) or next((r for r in by_id.values() if id_ in r["aliases"]), None)
        if parent is None:
            parent = {"id": id_, "provider": known["provider"], "aliases": []}
        if parent["id"] != id_:
            parent["aliases"].remove(id_)
            parent = {**parent, "id": id_, "display_name": None, "aliases": []}
        aliases = sorted({*parent["aliases"], *known.get("aliases", ())})
        by_id[id_] = {**parent, **known, "aliases": aliases}
    own = {id_.lower() for id_ in by_id}
    for record in by_id.values():
        record["aliases"] = [name for name in record["aliases"] if name not in own]
    return [_tidy(by_id[id_]) for id_ in sorted(by_id)]


_FIELDS: Final = (
    "id",
    "provider",
    "display_name",
    "release_date",
    "context_window",
    "max_output",
    "supports_tools",
    "supports_vision",
    "supports_reasoning",
    "supports_structured_output",
    "tool_choice_modes",
    "deprecated",
    "prices",
    "aliases",
)


def _tidy(record: Record) -> Record:
    """Return *record* in the order of the fields, without what is unknown or is its id again."""
    stated = {name: record[name] for name in _FIELDS if record.get(name) not in (None, [])}
    if stated.get("display_name") == stated["id"]:
        del stated["display_name"]
    return stated


def catalog_of(providers: Iterable[Any], facts: Mapping[str, Any], made_from: str) -> Record:
    """Return the catalog of *providers*, which are genai-prices', and our *facts*."""
    theirs = {provider.id: provider.models for provider in providers}
    day = date.fromisoformat(facts["as_of"])
    models: list[Record] = []
    for ours, name in SOURCES.items():
        known = {
            id_: {"provider": ours, **fact} for id_, fact in facts["models"].get(ours, {}).items()
        }
        models += merged(records_of(ours, theirs.get(name, ()), day), known)
    return {
        "$schema": "models.schema.json",
        "as_of": facts["as_of"],
        "prices_from": {
            "package": "genai-prices",
            "version": made_from,
            "license": "MIT",
            "url": "https://github.com/pydantic/genai-prices",
        },
        "fallbacks": FALLBACKS,
        "embeddings": embeddings_of(theirs, day),
        "models": models,
    }


_EMBEDS: Final = re.compile(r"embed")
_EMBEDDING_SOURCES: Final = {
    **SOURCES,
    "cohere": "cohere",
    "voyage": "voyageai",
    "jina": "jina",
}


def embeddings_of(theirs: Mapping[str, Iterable[Any]], day: date) -> Record:
    """Return the price of a million tokens by provider and model, of models that embed texts."""
    found: Record = {}
    for ours, name in _EMBEDDING_SOURCES.items():
        listed = (model for model in theirs.get(name, ()) if _EMBEDS.search(model.id.lower()))
        prices = {model.id.lower(): _embedding_price(model, day) for model in listed}
        known = {id_: price for id_, price in sorted(prices.items()) if price is not None}
        if known:
            found[ours] = known
    return found


def _embedding_price(model: Any, day: date) -> float | int | None:
    listed = model.prices if isinstance(model.prices, list) else [_always(model.prices)]
    begun = [
        one.prices
        for one in listed
        if one.constraint is None or getattr(one.constraint, "start_date", day) <= day
    ]
    price = begun[-1].input_mtok if begun else None
    return None if price is None else _rate(price, 0)


def spelled(catalog: Record) -> str:
    """Return *catalog* as JSON, a line for each model."""
    head = {name: value for name, value in catalog.items() if name != "models"}
    lines = ",\n".join(f"    {_compact(model)}" for model in catalog["models"])
    start = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{start},\n  "models": [\n{lines}\n  ]\n}}\n'


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shadowed(catalog: Record) -> list[str]:
    """Return the aliases that lead elsewhere already, since another id is found for them."""
    ids = {(model["provider"], model["id"].lower()) for model in catalog["models"]}
    return [
        f"{model['provider']}: {alias} of {model['id']}"
        for model in catalog["models"]
        for alias in model.get("aliases", ())
        if any((model["provider"], name) in ids for name in [*names_of(alias, "")][:1])
    ]


def main() -> int:
    """Write the file."""
    from genai_prices.data import providers  # a large module

    facts = json.loads(FACTS.read_text("utf-8"))
    catalog = catalog_of(providers, facts, version("genai-prices"))
    problems = shadowed(catalog)
    if problems:
        sys.stderr.write("\n".join(["aliases that are other models' ids:", *problems, ""]))
        return 1
    TARGET.write_text(spelled(catalog), "utf-8")
    sys.stderr.write(f"{len(catalog['models'])} models in {TARGET.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
