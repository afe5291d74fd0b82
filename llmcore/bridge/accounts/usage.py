"""The usage that a response is charged for: as its upstream counted, or an estimate.

The estimate is rather high. Otherwise a client could leave each stream before its usage arrives,
and pay less than one that reads it to the end.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from llmcore.bridge.accounts.prices import PriceList
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import CANCELLED, CallRecord, SentResponse, outcome_of
from llmcore.catalog.lookup import get_model_info
from llmcore.fronts.errors import FrontError
from llmcore.schema.response import LLMResponse
from llmcore.schema.token_estimate import estimated_content_tokens
from llmcore.schema.usage import Usage, estimated_usage

_ENDED_EARLY: Final = frozenset({CANCELLED, "failed"})
_UNSEEN_PER_S: Final = 30.0
"""Tokens that a model generates in a second without showing them, at least: of reasoning, or of a
response that was to come in one piece. Most hosted models generate more."""


class UpstreamUse(msgspec.Struct, frozen=True):
    """The use of one try of an upstream."""

    target: UpstreamModel
    response: LLMResponse
    usage: Usage


def uses_of(run: SentResponse, seconds: float, prices: PriceList) -> Iterator[UpstreamUse]:
    """Yield what each try used that was made for *run*, which ended after *seconds*.

    Tries whose response began are used up also if another one followed. One that the gateway itself
    cancelled before, such as a choice beside one that failed, is not; one from the response cache
    was never sent. A client that leaves before the first event has used its prompt: the upstream
    may have read it.
    """
    has_left = outcome_of(run.calls) == CANCELLED
    for call in (*run.failed_calls, *run.calls):
        for response in call.repeated:
            if use := use_of_try(call, response, seconds, prices):
                yield use
        if not call.is_sent:
            continue
        response = call.response
        if has_left or response.provider:
            usage = _usage(call, response, call.outcome, seconds, prices)
            if usage is not None:
                yield UpstreamUse(call.info.upstream, response, usage)


def use_of_try(
    call: CallRecord, response: LLMResponse, seconds: float, prices: PriceList
) -> UpstreamUse | None:
    """Return the use of a try by which *call* got *response*, and after which another follows.

    None if it was refused before its response began.
    """
    usage = _usage(call, response, "failed", seconds, prices)
    return None if usage is None else UpstreamUse(call.info.upstream, response, usage)


def _usage(
    call: CallRecord, response: LLMResponse, outcome: str, seconds: float, prices: PriceList
) -> Usage | None:
    if not (response.provider or outcome == CANCELLED):
        return None
    usage = response.usage
    counted = usage.input_tokens is not None and usage.output_tokens is not None
    has_unfinished = call.choices > 1 and outcome in _ENDED_EARLY
    if counted and not (usage.estimated or has_unfinished):
        return usage
    try:
        size = call.size()
    except FrontError:  # it passed without being read, and nothing limits it
        return usage
    prompts = call.choices * size.prompt_tokens
    read = usage.input_tokens
    shown = max(usage.output_tokens or 0, estimated_content_tokens(response.message.content))
    unseen = _unseen(call, size.output_limit, seconds, prices) if outcome == CANCELLED else 0
    return estimated_usage(
        usage,
        input_tokens=prompts if read is None else max(read, prompts if has_unfinished else 0),
        output_tokens=max(shown, unseen),
    )


def _unseen(call: CallRecord, limit: int | None, seconds: float, prices: PriceList) -> int:
    """Return how many tokens came of a response at least, although its client did not see them."""
    target = call.info.upstream
    known = get_model_info(target.model, call.info.provider)
    reasons = known is not None and known.supports_reasoning
    if call.info.streamed and not reasons:
        return 0
    most = prices.most_output(target, (limit,))
    return call.choices * min(most, round(seconds * _UNSEEN_PER_S))
