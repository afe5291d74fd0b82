"""The cost budget, and the log of calls."""

import logging
from typing import Any

import pytest
from attrs import evolve

from llmcore import Client, ConfigurationError, Success
from llmcore.catalog.cost import cost_of
from llmcore.client.middleware.call_log import CallLog
from llmcore.client.middleware.cost_budget import CostBudget
from llmcore.client.middleware.fallback import Fallback
from llmcore.client.middleware.pricing import listed_price
from llmcore.client.middleware.response_cache import ResponseCache
from llmcore.client.middleware.usage_hook import CallUsage, UsageHook
from llmcore.schema.errors import QuotaExceededError
from llmcore.schema.events import TextDelta
from llmcore.schema.usage import Usage
from tests.client.middleware.middleware_scenes import (
    CUT,
    KEY,
    LIMITED,
    OVERLOADED,
    PROVIDER,
    WANTED,
    FakeClock,
    answer,
    cent_a_token,
    client_of,
    run,
)

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("streaming", [False, True])


@both
async def test_calls_are_counted_until_the_budget_is_spent(streaming: bool) -> None:
    """The one after is refused, and nothing is sent, until it is reset."""
    budget = CostBudget(usd=0.1, price=cent_a_token)
    client, transport = client_of([budget], *[answer(streaming)] * 3)
    for _ in range(2):
        assert isinstance(await run(client, streaming), Success)
    assert budget.spent_usd == pytest.approx(0.1)
    assert budget.remaining_usd == 0
    error = (await run(client, streaming)).failure()

    assert isinstance(error, QuotaExceededError)
    assert (error.error_code, error.retryable) == ("cost-budget", False)
    assert len(transport.requests) == 2
    budget.reset()
    assert isinstance(await run(client, streaming), Success)


async def test_streams_that_fail_or_are_left_are_counted() -> None:
    """Four tokens in, by the request, and four out, by the text."""
    budget = CostBudget(usd=1, price=cent_a_token)
    client, _ = client_of([budget], [CUT], [CUT, (CUT, 50)], OVERLOADED)
    await run(client, True)
    assert budget.spent_usd == pytest.approx(0.08)
    async with client.stream(WANTED) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert budget.spent_usd == pytest.approx(0.16)
    await run(client, True)
    assert budget.spent_usd == pytest.approx(0.16)


async def test_answers_from_the_cache_cost_nothing() -> None:
    """Also where the budget is outside the cache."""
    budget = CostBudget(usd=1, price=cent_a_token)
    client, _ = client_of([budget, ResponseCache()], answer(False))
    for _ in range(3):
        assert isinstance(await run(client, False), Success)

    assert budget.spent_usd == pytest.approx(0.05)


async def test_answer_from_the_cache_costs_zero() -> None:
    """Not None: that would be an unknown cost."""
    told: list[CallUsage] = []
    client, _ = client_of([UsageHook(told.append), ResponseCache()], answer(False))
    results = [await run(client, False) for _ in range(2)]

    assert results[1].unwrap().cost == 0.0
    assert [call.cost_usd for call in told] == [None, 0.0]


@pytest.mark.parametrize("cost", [-5.0, float("nan")])
async def test_cost_below_zero_does_not_fill_the_budget_up(cost: float) -> None:
    """Whoever states it: the provider, or a price function."""
    budget = CostBudget(usd=1, price=lambda *_: cost)
    client, _ = client_of([budget], answer(False), answer(False))
    for _ in range(2):
        await run(client, False)

    assert (budget.spent_usd, budget.unpriced_calls) == (0.0, 2)
    usage = evolve(Usage.make(input_tokens=3, output_tokens=2), cost_usd=cost)
    assert cost_of("any", "any", usage) is None
    assert listed_price("any", "any", usage) is None


async def test_a_model_without_a_price() -> None:
    """Is counted as a call, or refused before anything is sent."""
    unlisted = evolve(WANTED, model=PROVIDER.model("unlisted"))
    nobody_knows = CostBudget(usd=1, price=lambda _p, _m, _u: None)
    client, _ = client_of([nobody_knows], answer(False))
    await run(client, False)
    assert (nobody_knows.spent_usd, nobody_knows.unpriced_calls) == (0, 1)

    strict = CostBudget(usd=1, price=cent_a_token, unknown="refuse")
    client, transport = client_of([strict], answer(False))
    error = (await run(client, False, unlisted)).failure()
    assert isinstance(error, ConfigurationError)
    assert "unlisted" in error.message
    assert transport.requests == []
    assert isinstance(await run(client, False), Success)


def test_what_the_provider_says_is_the_price() -> None:
    """The catalog's list price is used where the provider gives none; None if it is unknown too."""
    usage = Usage.make(input_tokens=1_000_000, output_tokens=0)

    assert listed_price("any", "any", evolve(usage, cost_usd=0.25)) == 0.25
    assert listed_price("no-such-provider", "no-such-model", usage) is None


@pytest.mark.parametrize("given", [{"usd": 0}, {"usd": 1, "unknown": "maybe"}])
def test_invalid_budgets_are_refused(given: dict[str, Any]) -> None:
    """When they are made."""
    with pytest.raises(ConfigurationError):
        CostBudget(**given)


# -- the log


def logged(*responses: Any, **options: Any) -> Client:
    time = FakeClock()
    log = CallLog(clock=time.clock, price=cent_a_token, **options)
    return client_of([log], *responses)[0]


@both
async def test_a_call_is_one_line_of_facts(
    streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Caller, duration, tokens; also as fields for machines."""
    caplog.set_level(logging.DEBUG, "llmcore.calls")
    await run(logged(answer(streaming)), streaming)

    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage() == "loop/m: stop, 0.000 s, 3+2 tokens, $0.050000"
    facts = {name: value for name, value in vars(record).items() if name.startswith("llm_")}
    assert facts == {
        "llm_provider": "loop",
        "llm_model": "m",
        "llm_streaming": streaming,
        "llm_duration_s": 0.0,
        "llm_response_model": "m-1",
        "llm_request_id": None,
        "llm_finish_reason": "stop",
        "llm_input_tokens": 3,
        "llm_output_tokens": 2,
        "llm_estimated": False,
        "llm_cost_usd": 0.05,
        "llm_from_cache": False,
        "llm_error": None,
        "llm_status_code": None,
        "llm_error_code": None,
    }


@both
async def test_line_names_the_model_that_responded_in_place_of_another(
    streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "llmcore.calls")
    log = CallLog(clock=FakeClock().clock, price=cent_a_token)
    await run(client_of([log, Fallback("n")], OVERLOADED, answer(streaming))[0], streaming)

    (record,) = caplog.records
    assert record.getMessage() == "loop/m -> loop/m-1: stop, 0.000 s, 3+2 tokens, $0.050000"
    assert vars(record)["llm_model"] == "m"


async def test_the_line_of_a_call_without_a_response_has_no_tokens(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "llmcore.calls")
    await run(logged(OVERLOADED), False)

    (record,) = caplog.records
    assert record.getMessage() == "loop/m: OverloadedError, 0.000 s"


@both
async def test_no_word_and_no_key_is_logged(
    streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where the server quotes the prompt in its error."""
    caplog.set_level(logging.DEBUG)
    client = logged(answer(streaming), OVERLOADED)
    await run(client, streaming)
    await run(client, streaming)

    written = "".join(str(vars(record)) for record in caplog.records)
    assert "OverloadedError" in written
    assert "'llm_status_code': 529" in written
    assert not any(word in written for word in ("secret", "Hello", KEY))


async def test_content_can_be_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """Then words are logged, and still no key."""
    client = logged(answer(False), OVERLOADED, content=True, level=logging.DEBUG)
    caplog.set_level(logging.DEBUG, "llmcore.calls")
    await run(client, False)
    await run(client, False)

    good, bad = (vars(record) for record in caplog.records)
    assert "Tell me a secret" in str(good["llm_messages"])
    assert "Hello" in str(good["llm_response"])
    assert "No." in bad["llm_error_message"]
    assert KEY not in str((good, bad))


async def test_refused_call_is_logged_as_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A disabled level costs nothing, and logs nothing."""
    caplog.set_level(logging.WARNING, "llmcore.calls")
    client = logged(answer(False), LIMITED)
    await run(client, False)
    await run(client, False)

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "RateLimitError" in caplog.records[0].getMessage()
