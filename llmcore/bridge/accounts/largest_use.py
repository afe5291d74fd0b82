"""The most that a response can use, by its request: what is reserved for it."""

import time
from collections.abc import Iterator
from typing import Final

from llmcore.bridge.accounts.prices import PriceList
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.model_names import models_instead
from llmcore.bridge.response_run import SentResponse
from llmcore.fronts.errors import forbidden
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import LARGEST_COUNT, int_or_none, str_or_none
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import estimated_tokens

_OUTPUT_LIMITS: Final = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict",
)  # fmt: skip
"""Fields that servers take the output limit from. Of several, some take one and some another;
llama.cpp's `n_predict` replaces `max_tokens`
(https://github.com/ggml-org/llama.cpp/tree/master/tools/server, read November 2026)."""
_TIERS: Final = ("service_tier", "speed")
"""Fields with the tier that a response is billed by. Messages has the second:
https://platform.claude.com/docs/en/build-with-claude/fast-mode, read November 2026."""
_BEST_OF: Final = "best_of"
"""How many responses a server makes, of which it returns the best ones."""


@frozen
class Use:
    """Tokens, and their cost in nano-dollars; None where it is unknown."""

    input_tokens: int
    output_tokens: int
    cost_nano: int | None

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


def largest_use(
    run: SentResponse, body: JsonObject, prices: PriceList, *, in_money: bool, added_input: int = 0
) -> Use:
    """Return the most that *run* can use, whose client sent *body*; without *in_money* at no cost.

    *added_input* are tokens that the gateway has added to the request of the client.
    Upstreams get fields of *body* that the gateway does not read, so that those which can raise the
    use count here too. Raises FrontError: 403 for a model without a known price.
    """
    request, count = run.calls[0].request(), _choices(run, body)
    instead = (UpstreamModel(run.info.upstream.provider, name) for name in models_instead(body))
    targets = tuple(dict.fromkeys((run.info.upstream, *run.info.others, *instead)))
    limits = (request.generation.max_tokens, *map(int_or_none, map(body.get, _OUTPUT_LIMITS)))
    output = max(prices.most_output(target, limits) for target in targets)
    prompts = count * estimated_tokens(request) + added_input
    tokens = (_bounded(prompts), _bounded(count * output))
    if not in_money:
        return Use(*tokens, 0)
    tiers = tuple(_tiers(request, body))
    most = max(_cost(prices, target, tokens, tiers) for target in targets)
    return Use(*tokens, _bounded(most))


def _choices(run: SentResponse, body: JsonObject) -> int:
    return max(sum(call.choices for call in run.calls), int_or_none(body.get(_BEST_OF)) or 0)


def _bounded(amount: int) -> int:
    """Return *amount*, or one that no budget allows, where stores could not hold it."""
    return min(amount, LARGEST_COUNT + 1)


def _tiers(request: LLMRequest, body: JsonObject) -> Iterator[str]:
    for tier in (request.generation.service_tier, *map(body.get, _TIERS)):
        if named := str_or_none(tier):
            yield named


def _cost(
    prices: PriceList, target: UpstreamModel, tokens: tuple[int, int], tiers: tuple[str, ...]
) -> int:
    cost = prices.largest_cost(target, tokens, time.time(), tiers)
    if cost is None:
        raise forbidden(
            f"no price is known for {target.label!r}, so a budget in US dollars cannot be kept: "
            f"set its price ({prices.place}), or use a budget in tokens",
            "model_not_priced",
        )
    return cost
