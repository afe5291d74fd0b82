"""The usage that a response is charged for: as its upstream counted, or an estimate.

The estimate is rather high. Otherwise a client could leave each stream before its usage arrives,
and pay less than one that reads it to the end.
"""

from typing import Final

from llmcore.bridge.accounts.prices import PriceList
from llmcore.bridge.response_run import ResponseRun
from llmcore.catalog.lookup import get_model_info
from llmcore.fronts.errors import FrontError
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import estimated_content_tokens, estimated_tokens
from llmcore.schema.usage import Usage, estimated_usage

_CANCELLED: Final = "cancelled"
_ENDED_EARLY: Final = frozenset({_CANCELLED, "failed"})
_UNSEEN_PER_S: Final = 30.0
"""Tokens that a model generates in a second without showing them, at least: of reasoning, or of a
response that was to come in one piece. Most hosted models generate more."""


def usage_of(run: ResponseRun, seconds: float, prices: PriceList) -> Usage | None:
    """Return what *run* used until it ended, after *seconds*; None if nothing was begun.

    One from the response cache was never sent. A client that leaves before the first event has
    used its prompt: the upstream may have read it.
    """
    response = run.response
    if not run.is_sent or not (response.provider or run.outcome == _CANCELLED):
        return None
    usage = response.usage
    counted = usage.input_tokens is not None and usage.output_tokens is not None
    has_unfinished = run.choices > 1 and run.outcome in _ENDED_EARLY
    if counted and not (usage.estimated or has_unfinished):
        return usage
    try:
        request = run.request()
    except FrontError:  # it passed without being read, and nothing limits it
        return usage
    prompts = run.choices * estimated_tokens(request)
    read = usage.input_tokens
    shown = max(usage.output_tokens or 0, estimated_content_tokens(response.message.content))
    return estimated_usage(
        usage,
        input_tokens=prompts if read is None else max(read, prompts if has_unfinished else 0),
        output_tokens=max(shown, _unseen(run, request, seconds, prices)),
    )


def _unseen(run: ResponseRun, request: LLMRequest, seconds: float, prices: PriceList) -> int:
    """Return how many tokens came of a response at least, although its client did not see them."""
    if run.outcome != _CANCELLED:
        return 0
    target = run.info.upstream
    known = get_model_info(target.model, run.info.provider)
    reasons = known is not None and known.supports_reasoning
    if run.info.streamed and not reasons:
        return 0
    most = prices.most_output(target, (request.generation.max_tokens,))
    return run.choices * min(most, round(seconds * _UNSEEN_PER_S))
