"""Results as values: pickled and copied without loss."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, assert_type

import pytest
from attrs import frozen

from llmcore import Client, CostBudget, OpenAI, ToolDefinition, request, stream
from llmcore.generation.generate import generate
from llmcore.generation.objects import generate_object
from llmcore.generation.results import GenerateResult
from llmcore.generation.tool import tool
from llmcore.schema.codec import from_json, to_json
from llmcore.testing.fake_model import FakeModel, call
from tests.support.wire.generation import any_model, calls_of, client_of, text_of

pytestmark = pytest.mark.anyio

COPIES: dict[str, Callable[[Any], Any]] = {
    **{
        f"pickle {number}": lambda it, number=number: pickle.loads(pickle.dumps(it, number))  # type: ignore[misc]
        for number in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@frozen
class City:
    name: str


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


@pytest.mark.parametrize("way", COPIES)
async def test_the_result_of_a_run_is_copied_whole(way: str) -> None:
    """Steps, messages, results of tools and usage included."""
    client, _ = client_of(calls_of(("c1", "look", {"city": "A"})), text_of())
    result = await generate(any_model(), "Hi", tools=[look], client=client)

    other: GenerateResult = COPIES[way](result)

    assert other == result
    assert other.steps[0].tool_results == result.steps[0].tool_results
    assert other.total_usage == result.total_usage
    assert other.response.usage.raw == result.response.usage.raw


@pytest.mark.parametrize("way", COPIES)
async def test_the_object_comes_along(way: str) -> None:
    """As its type."""
    client, _ = client_of(text_of('{"name": "Uruk"}'))
    result = await generate_object(any_model(), "Hi", schema=City, client=client)

    assert COPIES[way](result).output == City("Uruk")


async def test_the_type_of_the_object_is_known() -> None:
    """To type checkers, and when a result is read from JSON."""
    client, _ = client_of(text_of('{"name": "Uruk"}'))
    result = await generate_object(any_model(), "Hi", schema=City, client=client)
    assert_type(result.output, City)

    data = to_json(result)

    assert from_json(GenerateResult[City], data).output == City("Uruk")
    assert from_json(GenerateResult, data).output == {"name": "Uruk"}


@pytest.mark.anyio
async def test_a_result_is_shown_in_short() -> None:
    """In a terminal, in a notebook, and in rich."""
    fake = FakeModel("It is **sunny**.")
    result = await fake.model.generate("Weather?", client=fake.client)
    assert repr(result).startswith("GenerateResult(text='It is **sunny**.', model='fake-model'")
    assert len(repr(result)) < 200
    assert dict(result.__rich_repr__())["steps"] == 1
    assert result._repr_markdown_() == "It is **sunny**."


@pytest.mark.anyio
async def test_notebook_renders_the_text_of_streams_and_objects_and_the_calls_of_tools() -> None:
    fake = FakeModel("17", "It is **sunny**.", "On **Monday**.", call("look", {"a": 1}))
    objects = await generate_object(fake.model, "Hi", schema=int, client=fake.client)
    events = fake.client.stream(request(model=fake.model, prompt="Hi"))
    run = stream(fake.model, "Hi", client=fake.client)
    calls = stream(fake.model, "Hi", tools=[ToolDefinition("look")], client=fake.client)
    assert [events._repr_markdown_(), run._repr_markdown_()] == [None, None]

    await events.result()
    await run.result()
    await calls.result()

    assert objects._repr_markdown_() == "<pre><code>17&#10;</code></pre>\n"
    assert events._repr_markdown_() == "It is **sunny**."
    assert repr(events) == "EventStream(ended, text='It is **sunny**.')"
    assert run._repr_markdown_() == "On **Monday**."
    assert calls._repr_markdown_() == "<code>look({&quot;a&quot;:1})</code>"


@pytest.mark.anyio
async def test_a_model_runs_itself() -> None:
    """With the arguments of the functions."""
    fake = FakeModel("one", "two")
    result = await fake.model.generate("Hi", temperature=0.0, client=fake.client)
    assert result.text == "one"
    assert fake.requests[0].generation.temperature == 0.0
    async with fake.model.stream(
        messages=[{"role": "user", "content": "Hi"}], client=fake.client
    ) as s:
        assert "".join([text async for text in s.text_stream]) == "two"
    with pytest.raises(TypeError, match="did you mean 'max_tokens'"):
        fake.model.stream("Hi", max_token=3)  # type: ignore[call-arg]


async def test_a_stream_read_the_wrong_way_is_told_the_right_one() -> None:
    """In blocking code, and by those who await it."""
    fake = FakeModel("Hello")
    stream = fake.model.stream("Hi", client=fake.client)
    with pytest.raises(TypeError, match=r"llmcore\.sync\.stream"):
        list(stream)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"stream\.result"):
        await stream  # type: ignore[misc]
    assert repr(stream) == "StreamResult(not started, steps=0, text='')"
    await stream.result()
    assert repr(stream) == "StreamResult(ended, steps=1, text='Hello')"


def test_clients_and_budgets_show_what_they_have() -> None:
    """Without any key."""
    budget = CostBudget(usd=1.0)
    client = Client(
        providers={"openai": OpenAI.configure(api_key="sk-secret")},
        default_provider="openai",
        middleware=[budget],
    )
    assert repr(client) == "Client(openai*; 1 middleware)"
    assert repr(Client()) == "Client(no providers)"
    assert repr(budget) == "CostBudget(usd=1, remaining_usd=1)"
