"""The model whose price a call has, by a price function of the caller."""

import pytest

from llmcore.client.middleware.pricing import cost_of_call
from llmcore.client.middleware.target import ModelChoice
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

TARGET = ModelChoice(provider="p", model="asked")
USAGE = Usage(input_tokens=1, output_tokens=1)


@pytest.mark.parametrize(
    ("prices", "responded", "cost"),
    [
        ({"asked": 1.0, "responding": 2.0}, "responding", 2.0),
        ({"asked": 1.0}, "responding", 1.0),
        ({"asked": 1.0, "responding": 0.0}, "responding", 0.0),
        ({"asked": 1.0}, "", 1.0),
        ({"asked": 1.0}, None, 1.0),
        ({}, "responding", None),
    ],
)
def test_a_call_costs_what_the_responding_model_or_else_the_requested_one_costs(
    prices: dict[str, float], responded: str | None, cost: float | None
) -> None:
    response = None
    if responded is not None:
        message, reason = Message.assistant("Hi"), FinishReason("stop")
        response = LLMResponse(message=message, finish_reason=reason, provider="p", model=responded)

    found = cost_of_call(
        lambda _provider, model, _usage: prices.get(model), TARGET, response, USAGE
    )

    assert found == cost


def test_a_call_without_usage_has_no_cost() -> None:
    assert cost_of_call(lambda *_: 1.0, TARGET, None, None) is None
