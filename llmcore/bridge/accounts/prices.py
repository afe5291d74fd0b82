"""The cost of responses: as the provider states it, from configured prices, or from the catalog."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from attrs import field

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.configuration.tables import price_fault
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.state.ledger import NANO
from llmcore.catalog.cost import cost_of, cost_of_usage
from llmcore.catalog.lookup import get_model_info
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

_UNKNOWN_OUTPUT: Final = 32_768
"""The output tokens that are expected of a model whose limit is unknown."""


@frozen(kw_only=True)
class PriceList:
    """The prices of models. Costs are in nano-dollars, rounded up."""

    models: Sequence[ModelInfo] = ()
    """Configured prices, which go before those of the catalog. `provider` may be an upstream."""
    providers: Mapping[str, str] = field(factory=dict)
    """The provider of each upstream of the configuration file."""
    output_tokens: int | None = None
    """The output that is expected of requests without a limit; None is the model's own limit."""
    place: str = ""
    """Where the prices of further models are to be set, for errors."""

    def _seller(self, target: UpstreamModel) -> str:
        """Return the upstream of *target* if it has a price of its own, else its provider."""
        if self.models and any(
            model.provider == target.provider and model.id == target.model for model in self.models
        ):
            return target.provider
        return self.providers.get(target.provider, target.provider)

    def cost(
        self, target: UpstreamModel, response: LLMResponse, usage: Usage, at: float
    ) -> int | None:
        """Return the cost of *usage* by *target*, which gave *response*; None if it is unknown."""
        model = target.model
        is_own = bool(self.models) and any(known.id == model for known in self.models)
        cost = cost_of_usage(
            self._seller(target),
            (model if is_own else response.model, model),
            usage,
            response.provider_metadata.values(),
            at=datetime.fromtimestamp(at, UTC),
            models=self.models,
        )
        return None if cost is None else nano(cost)

    def largest_cost(
        self, target: UpstreamModel, tokens: tuple[int, int], at: float, tiers: Sequence[str]
    ) -> int | None:
        """Return the most that so many *tokens* of input and output can cost; None if unknown.

        Writing input to a cache can cost more than input that no cache holds, so can audio, and
        each of the requested *tiers* more than the standard one, which the upstream may serve in
        its place.
        """
        usages = (
            Usage.make(
                input_tokens=tokens[0],
                output_tokens=tokens[1],
                cache_write_tokens=written,
                cache_write_1h_tokens=long_lived,
                audio_input_tokens=audio,
            )
            for written, long_lived, audio in (
                (None, None, None),
                (None, None, tokens[0]),
                (tokens[0], None, None),
                (tokens[0], tokens[0], None),
            )
        )
        when = datetime.fromtimestamp(at, UTC)
        seller, models = self._seller(target), self.models
        costs = [
            cost_of(seller, target.model, usage, service_tier=service_tier, at=when, models=models)
            for usage in usages
            for service_tier in (None, *tiers)
        ]
        return max((nano(cost) for cost in costs if cost is not None), default=None)

    def most_output(self, target: UpstreamModel, stated: Iterable[int | None]) -> int:
        """Return the most output tokens of a response to a request with all *stated* limits.

        A server may read any of them, and 0 or less as no limit.
        """
        limits = [limit for limit in stated if limit is not None]
        if limits and min(limits) > 0:
            return max(limits)
        if self.output_tokens is not None:
            return self.output_tokens
        provider = self.providers.get(target.provider, target.provider)
        known = get_model_info(target.model, provider)
        return (known and known.max_output) or _UNKNOWN_OUTPUT


def price_list(settings: GatewaySettings) -> PriceList:
    """Return the prices of *settings*.

    Raises ConfigurationError if the file of prices cannot be read.
    """
    accounts = settings.accounts
    listed = (_priced(name, rates) for name, rates in settings.tables.prices.items())
    return PriceList(
        models=(*listed, *read_prices(accounts.prices_path)),
        providers={upstream.name: upstream.provider for upstream in settings.tables.upstreams},
        output_tokens=accounts.output_tokens,
        place=_place(settings),
    )


def _place(settings: GatewaySettings) -> str:
    """Return where prices are to be set: [prices] and the file of prices exclude each other."""
    if settings.accounts.prices_path is not None:
        return f"the file at {settings.place_of('PRICES_PATH')}"
    if settings.config_path is not None:
        return f"[prices] of {settings.config_path.name}"
    return "[prices] of openbridge.toml, or the file at OPENBRIDGE_PRICES_PATH"


def nano(usd: float) -> int:
    """Return US dollars as nano-dollars, rounded up."""
    return math.ceil(round(usd * NANO, 3))


def read_prices(path: Path | None) -> tuple[ModelInfo, ...]:
    """Return the prices of a file: US dollars per million tokens, by `provider/model`.

        {"openai-compatible/qwen3-32b": {"input": 0.1, "output": 0.3, "cache_read": 0.01}}

    Raises ConfigurationError, naming the entry, for one that cannot be used.
    """
    if path is None:
        return ()
    try:
        entries: Any = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"the prices {path} cannot be read: {error}"
        raise ConfigurationError(message, cause=error) from error
    if not isinstance(entries, Mapping):
        raise ConfigurationError(f"the prices {path} are not a JSON object")
    return tuple(_entry(path, name, rates) for name, rates in entries.items())


def _entry(path: Path, name: str, given: object) -> ModelInfo:
    provider, _, model = name.partition("/")
    if not provider or not model:
        raise ConfigurationError(f"{path}: {name!r} is not a provider and a model: provider/model")
    try:
        rates = msgspec.convert(given, Rates)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{path}: {name}: {error}", cause=error) from error
    if wrong := price_fault(rates):
        raise ConfigurationError(f"{path}: {name}: {wrong} is not a price of 0 or more")
    return _priced(name, rates)


def _priced(name: str, rates: Rates) -> ModelInfo:
    provider, _, model = name.partition("/")
    return ModelInfo(id=model, provider=provider, display_name=model, prices=Prices(standard=rates))
