"""Asking again after an object or arguments that failed validation."""

from typing import Any

import pytest
from attrs import evolve, frozen

from llmcore.folds.grammar import violations
from llmcore.generation.generate import generate
from llmcore.generation.next_step import NextStep
from llmcore.generation.objects import generate_object, stream_object
from llmcore.generation.tool import tool
from llmcore.schema.errors import NoObjectGeneratedError
from llmcore.testing.fake_model import FakeModel, call

pytestmark = pytest.mark.anyio


@frozen
class City:
    name: str
    people: int


BAD, GOOD = '{"name": "Oslo"}', '{"name": "Oslo", "people": 700000}'


async def test_object_is_asked_for_again_with_the_reason() -> None:
    fake = FakeModel(BAD, "no JSON", GOOD)

    result = await generate_object(
        fake.model, "Oslo?", schema=City, validation_retries=2, client=fake.client
    )

    assert result.output == City("Oslo", 700000)
    assert "people" in fake.prompts[1]
    assert "not JSON" in fake.prompts[2]
    assert [note.code for note in result.diagnostics] == ["asked-again"] * 2
    assert [message.role for message in result.messages] == [
        *("user", "assistant", "user", "assistant", "user", "assistant")
    ]


async def test_object_that_stays_invalid_is_an_error_after_the_last_retry() -> None:
    fake = FakeModel(BAD, BAD, GOOD)

    with pytest.raises(NoObjectGeneratedError, match="people"):
        await generate_object(
            fake.model, "Oslo?", schema=City, validation_retries=1, client=fake.client
        )

    assert len(fake.requests) == 2


async def test_object_is_not_asked_for_again_without_the_setting() -> None:
    fake = FakeModel(BAD)

    with pytest.raises(NoObjectGeneratedError):
        await generate_object(fake.model, "Oslo?", schema=City, client=fake.client)


async def test_streamed_object_is_asked_for_again() -> None:
    fake = FakeModel(BAD, GOOD)
    run = stream_object(fake.model, "Oslo?", schema=City, validation_retries=1, client=fake.client)
    events = [event async for event in run.stream]

    assert violations(events) == []
    assert await run.object() == City("Oslo", 700000)


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


@pytest.mark.parametrize(("retries", "text"), [(0, ""), (1, "Sunny.")])
async def test_invalid_arguments_use_up_a_round_unless_they_are_asked_for_again(
    retries: int, text: str
) -> None:
    fake = FakeModel(call("look"), call("look", {"city": "Oslo"}), "Sunny.")

    result = await generate(
        fake.model, "Hi", tools=[look], validation_retries=retries, client=fake.client
    )

    assert result.text == text
    assert result.steps[0].tool_results[0].is_error
    codes = [note.code for note in result.diagnostics]
    assert codes == (["asked-again"] if retries else ["tool-rounds-used-up"])


async def test_both_kinds_of_retries_are_counted_together() -> None:
    fake = FakeModel(call("look"), BAD, GOOD)

    with pytest.raises(NoObjectGeneratedError):
        await generate_object(
            *(fake.model, "Oslo?"),
            schema=City,
            tools=[look],
            validation_retries=1,
            client=fake.client,
        )


async def test_prepare_step_changes_instructions_and_options_of_one_step() -> None:
    def prepare(step: NextStep) -> NextStep | None:
        if step.number == 0:
            return None
        changes: dict[str, Any] = {
            "system": "Be brief.",
            "reasoning": "low",
            "generation": evolve(step.generation, temperature=0.5),
            "provider_options": {"fake": {"x": 1}},
        }
        return evolve(step, **changes)

    fake = FakeModel(call("look", {"city": "Oslo"}), "Sunny.")
    await generate(
        fake.model, "Hi", tools=[look], prepare_step=prepare, max_tokens=9, client=fake.client
    )

    first, second = fake.requests
    assert (first.system, first.reasoning, first.generation.temperature) == ((), None, None)
    assert [part.text for part in second.system] == ["Be brief."]
    assert second.reasoning is not None
    assert second.reasoning.effort == "low"
    assert (second.generation.temperature, second.generation.max_tokens) == (0.5, 9)
    assert second.provider_options == {"fake": {"x": 1}}
