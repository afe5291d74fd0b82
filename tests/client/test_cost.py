"""The cost that a client sets on a response."""

import json
from datetime import date

import pytest
from attrs import evolve

from llmcore import (
    Client,
    CostBudget,
    OpenAI,
    OpenAICompatible,
    OpenRouter,
    UsageHook,
    generate,
    list_models,
    request,
)
from llmcore.catalog.lookup import get_model_info
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.client.middleware import Middleware
from llmcore.client.middleware.usage_hook import CallUsage
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.model import Model
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.testing import scripted
from tests.support.servers.loopback import DONE, chat_chunk, sse
from tests.support.wire.generation import client_of, text_of

pytestmark = pytest.mark.anyio


def answer_by(model: str, **usage: object) -> list[bytes]:
    """Return the script of a streamed response by *model* that took *usage*."""
    last = {"id": "chatcmpl-1", "model": model, "choices": [], "usage": usage}
    first = json.loads(chat_chunk(delta={"content": "Hi"}).removeprefix(b"data: "))
    return [sse({**first, "model": model}), chat_chunk(finish_reason="stop"), sse(last), DONE]


COUNTS = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def openai() -> Model:
    """Return a model that has a price."""
    return OpenAI.configure(api_key="k").chat("gpt-5.2")


async def test_a_response_says_what_it_cost() -> None:
    """By the model that answered, at list price, streamed or not."""
    client = Client(transport=scripted(answer_by("gpt-5.2-2025-12-11", **COUNTS)))

    async with client.stream(request(model=openai(), prompt="Hi")) as stream:
        outcome = await stream.result()

    assert isinstance(outcome, Success)
    assert outcome.unwrap().cost == pytest.approx((1000 * 1.75 + 100 * 14) / 1e6)


async def test_the_providers_own_figure_is_the_cost() -> None:
    """OpenRouter states it."""
    client = Client(transport=scripted(answer_by("openai/gpt-5.2", **COUNTS, cost=0.125)))
    model = OpenRouter.configure(api_key="k").model("openai/gpt-5.2")

    async with client.stream(request(model=model, prompt="Hi")) as stream:
        response = (await stream.result()).unwrap()

    assert response.cost == 0.125


@pytest.mark.parametrize(
    ("asked", "answered", "cost"),
    [
        ("gpt-5.2", "gpt-5.2-2025-12-11", (1000 * 1.75 + 100 * 14) / 1e6),
        ("gpt-5.2", "m-1", (1000 * 1.75 + 100 * 14) / 1e6),
        ("m-2", "gpt-5.2", (1000 * 1.75 + 100 * 14) / 1e6),
        ("m-2", "m-1", None),
    ],
)
async def test_cost_is_by_the_model_that_answered_or_else_the_one_asked(
    asked: str, answered: str, cost: float | None
) -> None:
    """One rule: for responses, hooks and budgets."""
    hooked: list[CallUsage] = []
    budget = CostBudget(usd=1)
    client = Client(
        transport=scripted(answer_by(answered, **COUNTS)),
        middleware=[UsageHook(hooked.append), budget],
    )
    model = OpenAI.configure(api_key="k").chat(asked)

    response = await client.complete(request(model=model, prompt="Hi"))

    assert response.cost == (None if cost is None else pytest.approx(cost))
    assert [call.cost_usd for call in hooked] == [response.cost]
    assert budget.spent_usd == (response.cost or 0.0)


async def test_a_cost_goes_through_json_and_makes_no_difference() -> None:
    """It is part of the response's JSON; two responses are equal whatever they cost."""
    client = Client(transport=scripted(answer_by("gpt-5.2", **COUNTS)))
    async with client.stream(request(model=openai(), prompt="Hi")) as stream:
        response = (await stream.result()).unwrap()

    again = from_json(LLMResponse, to_json(response))

    assert again.cost == response.cost is not None
    assert again == response


async def test_a_run_costs_what_its_steps_cost() -> None:
    """All of them together."""
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    first = [chat_chunk(delta={"tool_calls": [call]}), chat_chunk(finish_reason="tool_calls")]
    usage = sse({"id": "chatcmpl-1", "model": "gpt-5.2", "choices": [], "usage": COUNTS})
    named = [part.replace(b'"m-1"', b'"gpt-5.2"') for part in (*first, usage, DONE)]
    client = Client(transport=scripted(named, answer_by("gpt-5.2", **COUNTS)))

    def look() -> str:
        """Return a page."""
        return "seen"

    result = await generate(openai(), "Hi", tools=[look], client=client)

    step = (1000 * 1.75 + 100 * 14) / 1e6
    assert [one.cost for one in result.steps] == [pytest.approx(step)] * 2
    assert result.cost == pytest.approx(2 * step)


async def test_a_run_with_a_step_of_unknown_cost_has_none() -> None:
    """A sum without it would be wrong."""
    client, _ = client_of(text_of())

    unlisted = OpenAI.configure(api_key="k").chat("unlisted")

    assert (await generate(unlisted, "Hi", client=client)).cost is None


OWN = ModelInfo(
    id="house-1",
    provider="loop",
    display_name="The house model",
    aliases=("house",),
    release_date=date(2026, 1, 1),
    prices=Prices(standard=Rates(input=1000.0, output=10000.0)),
)


def own_client(*middleware: Middleware, model: str = "house-1") -> Client:
    """Return a client of a model that the catalog lacks."""
    provider = OpenAICompatible.configure(name="loop", base_url="https://loop.example/v1")
    return Client(
        providers={"loop": provider},
        default_provider="loop",
        models=[OWN],
        middleware=middleware,
        transport=scripted(answer_by(model, **COUNTS)),
    )


async def test_own_models_have_their_own_prices() -> None:
    """On the response, in its sum and in the budget."""
    budget = CostBudget(usd=100, unknown="refuse")
    result = await generate("house-1", "Hi", client=own_client(budget))

    assert result.cost == pytest.approx(2.0)
    assert result.response.cost == pytest.approx(2.0)
    assert budget.spent_usd == pytest.approx(2.0)


async def test_own_price_replaces_that_of_the_catalog() -> None:
    """Such as one that was agreed on."""
    agreed = evolve(OWN, id="gpt-5.2", provider="openai")
    client = Client(transport=scripted(answer_by("gpt-5.2", **COUNTS)), models=[agreed])
    async with client.stream(request(model=openai(), prompt="Hi")) as stream:
        mapped = stream.map(lambda event: [event])
        response = (await mapped.result()).unwrap()

    assert response.cost == pytest.approx(2.0)
    assert get_model_info("gpt-5.2", "openai", models=[agreed]) is agreed
    assert list_models("openai", models=[agreed])[0] is agreed
    assert len(list_models("openai", models=[agreed])) == len(list_models("openai"))


@pytest.mark.parametrize("model", ["", "house"])
def test_alias_or_no_model_is_the_newest_own_model(model: str) -> None:
    """Where the catalog knows none of the provider."""
    prepared = own_client().prepare(request(model=model, prompt="Hi")).unwrap()

    assert prepared.body["model"] == "house-1"
