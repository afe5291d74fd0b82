"""`FakeModel`: responses of a test, in place of a provider."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    Failure,
    Finish,
    NetworkError,
    Success,
    TextDelta,
    TextPart,
    generate,
    request,
    stream,
    tool,
)
from llmcore.folds.grammar import violations
from llmcore.schema.content import ReasoningPart, RefusalPart, ToolCallPart
from llmcore.schema.events import ErrorEvent
from llmcore.testing import Delay, FakeModel, ScriptEndedError, call
from llmcore.testing.fake_model import Piece

pytestmark = pytest.mark.anyio


@tool
def get_weather(city: str) -> str:
    """Get the weather."""
    return f"sunny in {city}"


async def test_a_text_is_streamed_word_by_word() -> None:
    """And whole at the end."""
    fake = FakeModel("It is sunny.")
    async with stream(fake.model, "Weather?", client=fake.client) as events:
        deltas = [event.text async for event in events if isinstance(event, TextDelta)]

    assert deltas == ["It", " is", " sunny."]
    assert fake.prompts == ["Weather?"]


async def test_a_tool_loop_takes_a_response_for_each_step() -> None:
    """The tool runs here, and its result is in the second request."""
    fake = FakeModel([call("get_weather", {"city": "Oslo"})], "Sunny.")
    made = await generate(fake.model, "Weather?", tools=[get_weather], client=fake.client)

    assert made.text == "Sunny."
    assert made.steps[0].finish_reason.reason == "tool_calls"
    assert "sunny in Oslo" in str(fake.requests[1].messages[-1])
    fake.assert_all_given()


async def test_parts_of_every_kind_are_those_of_the_message() -> None:
    """In their order, with what their replay needs."""
    parts: list[Piece] = [
        ReasoningPart("Let me see.", signature="sig"),
        TextPart("One."),
        RefusalPart("No."),
        ToolCallPart("c1", "look", {"at": 1}),
    ]
    fake = FakeModel(parts)
    response = (await fake.client.generate(request(model=fake.model, prompt="?"))).unwrap()

    assert list(response.message.content) == parts


async def test_an_error_ends_the_response_after_what_came_before() -> None:
    """The earlier events are in its `partial`."""
    fake = FakeModel(["Half", NetworkError("down"), "never"])
    made = await fake.client.generate(request(model=fake.model, prompt="?"))

    assert isinstance(made, Failure)
    assert made.failure().message == "down"
    partial = made.failure().partial
    assert partial is not None
    assert partial.text == "Half"


async def test_a_delay_holds_back_what_follows_it() -> None:
    """And nothing that comes before."""
    fake = FakeModel(["first", Delay(0.05), " last"])
    started = time.monotonic()
    async with fake.client.stream(request(model=fake.model, prompt="?")) as events:
        async for event in events:
            if isinstance(event, TextDelta) and event.text == "first":
                early = time.monotonic() - started
    late = time.monotonic() - started

    assert early < late
    assert late >= 0.05


async def test_a_request_without_a_response_fails_the_test() -> None:
    """As an AssertionError, which no retry takes for a provider's."""
    fake = FakeModel()

    with pytest.raises(ScriptEndedError, match="request 1 has no response"):
        await generate(fake.model, "Hi", client=fake.client)


def test_a_response_that_was_not_asked_for_is_found() -> None:
    """A test that checks it fails."""
    with pytest.raises(ScriptEndedError, match="2 responses"):
        FakeModel("a", "b").assert_all_given()


_TEXT = st.text(alphabet="ab \n\u00e9", max_size=20)
_PIECES = st.lists(
    st.one_of(
        _TEXT,
        st.builds(ReasoningPart, _TEXT),
        st.builds(lambda name: call(name, {"a": 1}), st.sampled_from(["f", "g"])),
        st.just(Delay(0)),
        st.just(NetworkError("down")),
    ),
    max_size=6,
)


@given(pieces=_PIECES)
async def test_every_response_keeps_to_the_grammar_of_events(pieces: list[object]) -> None:
    """Whatever it is made of."""
    fake = FakeModel(pieces)  # type: ignore[arg-type]
    async with fake.client.stream(request(model=fake.model, prompt="?")) as events:
        seen = [event async for event in events]

    assert violations(seen) == []
    assert isinstance(seen[-1], Finish | ErrorEvent)
    assert isinstance(await events.result(), Success | Failure)
