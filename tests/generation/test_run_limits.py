"""Limits of a run: what ends it, and what is left of it."""

import pickle
from typing import Any

import anyio
import pytest

from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.client.client import Client
from llmcore.generation.generate import generate
from llmcore.generation.limits import RunLimitError, RunLimits
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.stream import stream
from llmcore.generation.tool import Tool, tool
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, ServerError
from llmcore.testing import scripted
from llmcore.testing.fake_model import Delay, FakeModel, call
from tests.support.wire.generation import any_model, calls_of

pytestmark = pytest.mark.anyio


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


@tool
async def wait() -> str:
    """Wait for a minute."""
    await anyio.sleep(60)
    return "done"


def looking(times: int) -> list[Any]:
    return [[call("look", {"city": str(number)})] for number in range(times)]


async def limited(fake: FakeModel, limits: RunLimits, **settings: Any) -> Any:
    given = {"tools": [look, wait], "max_tool_rounds": 9, **settings}
    return await generate(fake.model, "Hi", client=fake.client, limits=limits, **given)


@pytest.mark.parametrize(
    ("limits", "steps", "reason"),
    [
        (RunLimits(requests=2), 2, "requests"),
        (RunLimits(tokens=1), 1, "tokens"),
        (RunLimits(tool_calls=2), 3, "tool_calls"),
        (RunLimits(tool_calls=0), 1, "tool_calls"),
    ],
    ids=str,
)
async def test_limit_ends_the_run_with_the_steps_so_far(
    limits: RunLimits, steps: int, reason: str
) -> None:
    fake = FakeModel(*looking(5), "never")

    with pytest.raises(RunLimitError) as raised:
        await limited(fake, limits)

    error = raised.value
    assert error.error_code == reason
    assert error.result is not None
    assert len(error.result.steps) == steps == len(fake.requests)
    assert error.partial == error.result.response
    assert pickle.loads(pickle.dumps(error)).result == error.result
    assert from_json(RunLimitError, to_json(error)) == error


async def test_calls_that_a_limit_prevented_are_pending_and_can_be_continued() -> None:
    fake = FakeModel(*looking(1), "Done.")

    with pytest.raises(RunLimitError) as raised:
        await limited(fake, RunLimits(tool_calls=0))

    result = raised.value.result
    assert result is not None
    assert [pending.name for pending in result.pending_calls] == ["look"]
    continued = await generate(
        fake.model,
        messages=result.messages,
        tools=[look],
        approvals={pending.id: True for pending in result.pending_calls},
        client=fake.client,
    )
    assert continued.text == "Done."


async def test_answer_that_goes_over_a_limit_is_returned() -> None:
    fake = FakeModel(*looking(1), "Done.")

    assert (await limited(fake, RunLimits(requests=2, tool_calls=1))).text == "Done."


async def test_retries_count_as_requests() -> None:
    fake = FakeModel(ServerError("1"), ServerError("2"), ServerError("3"), "late")

    with pytest.raises(ServerError):
        await limited(
            fake, RunLimits(requests=2), retry_policy=RetryPolicy(max_retries=5, base_delay=0)
        )

    assert len(fake.requests) == 2


async def test_cost_is_counted_by_the_prices_of_the_client() -> None:
    prices = Prices(standard=Rates(input=10.0, output=10.0))
    priced = ModelInfo(id="m-1", provider="any", display_name="M", prices=prices)
    again = calls_of(("c1", "look", {"city": "A"}))
    client = Client(transport=scripted(again, again), models=[priced])

    with pytest.raises(RunLimitError) as raised:
        await generate(
            *(any_model(), "Hi"),
            tools=[look],
            max_tool_rounds=9,
            client=client,
            limits=RunLimits(cost_usd=1.5 * 14 * 10e-6),
        )

    assert raised.value.result is not None
    assert raised.value.result.cost == pytest.approx(2 * 14 * 10e-6)
    assert raised.value.error_code == "cost_usd"


async def test_cost_limit_without_a_price_is_an_error_before_the_second_request() -> None:
    fake = FakeModel(*looking(2), "never")

    with pytest.raises(ConfigurationError, match="no price is known for fake:fake-model"):
        await limited(fake, RunLimits(cost_usd=1))

    assert len(fake.requests) == 1


async def test_time_ends_a_run_within_a_tool_whose_call_is_pending() -> None:
    fake = FakeModel([call("look", {"city": "A"}), call("wait")], "never")

    with pytest.raises(RunLimitError) as raised:
        await limited(fake, RunLimits(seconds=0.2))

    result = raised.value.result
    assert raised.value.error_code == "seconds"
    assert result is not None
    assert [pending.name for pending in result.pending_calls] == ["wait"]
    assert [done.content for done in result.tool_results] == ["sunny in A"]


async def test_time_that_ends_within_the_first_response_leaves_its_beginning() -> None:
    fake = FakeModel(["Once upon", Delay(60), " a time"])

    run = stream(fake.model, "Hi", client=fake.client, limits=RunLimits(seconds=0.2))
    with pytest.raises(RunLimitError) as raised:
        _ = [event async for event in run]

    assert raised.value.result is None
    assert raised.value.partial is not None
    assert raised.value.partial.text == "Once upon"


@pytest.mark.parametrize(
    "limits",
    [{"requests": 0}, {"tokens": -1}, {"requests": 1.5}, {"seconds": 0}, {"cost_usd": True}],
    ids=str,
)
def test_limit_that_is_not_above_0_is_refused(limits: Any) -> None:
    with pytest.raises(InvalidRequestError, match=f"the limit {next(iter(limits))} must be"):
        RunLimits(**limits)


def test_run_limits_of_another_type_are_refused() -> None:
    fake = FakeModel()
    with pytest.raises(InvalidRequestError, match="limits must be a RunLimits"):
        stream(fake.model, "Hi", client=fake.client, limits=5)  # type: ignore[arg-type]


async def test_passive_calls_do_not_count_as_tool_calls() -> None:
    fake = FakeModel([call("ask")])

    result = await limited(fake, RunLimits(tool_calls=0), tools=[Tool("ask")])

    assert [pending.name for pending in result.pending_calls] == ["ask"]
