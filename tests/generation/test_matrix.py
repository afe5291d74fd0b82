"""The abilities of every provider: one row a test, one column a provider.

Each cell goes through the public functions and the provider's own facade to a server on
loopback that speaks the provider's protocol. It looks at both ends: at the request that
arrived, and at the result.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from attrs import frozen

from llmcore import (
    AuthenticationError,
    Client,
    Finish,
    ImagePart,
    LLMEvent,
    LLMResponse,
    Message,
    RateLimitError,
    ReasoningDelta,
    RetryPolicy,
    TextDelta,
    ToolCall,
    Usage,
    generate,
    generate_object,
    request,
    stream,
    tool,
)
from llmcore.folds.grammar import violations
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.events import (
    StepStart,
    StreamStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.testing import assert_prefix_stable
from tests.support.every_protocol import EVERY_COLUMN
from tests.support.servers.loopback import Received
from tests.support.wire.matrix import (
    COLUMNS,
    HTTPS_URL,
    KEY,
    PIXEL,
    Column,
    Counts,
    Refused,
    Reply,
    Said,
    contains,
    playing,
)

pytestmark = pytest.mark.anyio


def columns(takes: Callable[[Column], object] = lambda _column: True) -> pytest.MarkDecorator:
    """Run a test over each column whose API *takes* what it is about, also over the example's."""
    chosen = [column for column in EVERY_COLUMN if takes(column)]
    return pytest.mark.parametrize("column", chosen, ids=[column.id for column in chosen])


HELLO: Final = Said(text="Hello from the other side.")
DONE: Final = Said(text="That is all of it.")


@tool
async def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"sunny in {city}"


@frozen
class Person:
    name: str
    age: int


def counted(usage: Usage | None, said: Said, column: Column) -> None:
    """Check that *usage* is what *said* took."""
    assert usage is not None
    counts = said.counts
    assert (usage.input_tokens, usage.output_tokens) == (counts.input, counts.output)
    assert usage.total_tokens == counts.input + counts.output
    read = counts.read if column.counts_cached else 0
    assert (usage.cache_read_tokens or 0) == read
    assert (usage.cache_write_tokens or 0) == counts.written
    assert usage.uncached_input_tokens == counts.input - read - counts.written
    if column.counts_thinking:
        assert (usage.reasoning_tokens or 0) == counts.thinking
    assert not usage.estimated


def complete(response: LLMResponse, column: Column) -> None:
    """Check that *response* is a whole response of *column*."""
    assert (response.finish_reason.reason, response.finish_reason.raw) == ("stop", column.stop)
    assert response.provider == column.provider
    assert response.model == (column.answered_model or column.model_id)
    assert response.diagnostics == ()


# -- text


@columns()
async def test_a_prompt_gives_the_same_text_streamed_and_whole(column: Column) -> None:
    """A prompt gives text, the same streamed inside as answered in one piece."""
    given: dict[str, Any] = {"prompt": "Hello?", "system": "Be brief.", "max_tokens": 50}
    with playing(column, HELLO) as scene:
        async with Client() as client:
            result = await generate(scene.model, client=client, **given)
            whole = await client.complete(request(model=scene.model, **given))

        assert [one.path for one in scene.server.received] == [column.streamed_path, column.path]
        assert {one.headers.get(column.key_header[0]) for one in scene.server.received} == {
            column.key_header[1]
        }
        for body in scene.bodies:
            assert column.history(body) == column.asked("Hello?")
            assert contains(body, column.basics)
    assert result.text == HELLO.text
    complete(result.response, column)
    assert whole.message == result.response.message
    assert whole.finish_reason == result.finish_reason
    assert whole.usage == result.usage


@columns()
async def test_streamed_text_arrives_in_deltas_between_one_start_and_one_end(
    column: Column,
) -> None:
    """Deltas come one by one between one start and one end, and add up to the text."""
    with playing(column, HELLO) as scene:
        async with Client() as client, stream(scene.model, "Hello?", client=client) as running:
            events = [event async for event in running]
            response = await running.response()

        assert scene.server.received[0].path == column.streamed_path
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 2
    assert "".join(deltas) == response.text == HELLO.text
    assert isinstance(events[0], StreamStart)
    assert isinstance(events[-1], Finish)
    assert violations(events) == []
    complete(response, column)


# -- pictures


@columns(lambda column: column.image)
async def test_image_of_base64_is_sent_as_bytes_with_its_detected_type(column: Column) -> None:
    """Bytes go along, with their type found in them."""
    with playing(column, HELLO) as scene:
        asked = Message.user("What is it?", ImagePart(data=PIXEL))
        async with Client() as client:
            result = await generate(scene.model, messages=[asked], client=client)

        assert column.parts(scene.bodies[0])[1:] == [column.image]
    assert result.text == HELLO.text
    complete(result.response, column)


@columns(lambda column: column.image_url)
async def test_image_of_a_url_is_sent_as_url_and_not_fetched(column: Column) -> None:
    """The provider fetches it, from where it can; nothing is fetched here."""
    with playing(column, HELLO) as scene:
        asked = Message.user("What is it?", ImagePart(url=column.image_url))
        async with Client() as client:
            result = await generate(scene.model, messages=[asked], client=client)

        assert column.parts(scene.bodies[0])[1:] == [column.image_at]
    assert result.text == HELLO.text
    complete(result.response, column)


@columns(lambda column: column.image)
async def test_image_url_that_cannot_be_fetched(column: Column) -> None:
    """Sources that the provider does not fetch are reported, and refused in strict mode."""
    asked = [Message.user("What is it?", ImagePart(url=HTTPS_URL))]
    taken = column.image_url == HTTPS_URL
    with playing(column, HELLO) as scene:
        async with Client() as client:
            result = await generate(scene.model, messages=asked, client=client)
            if not taken:
                with pytest.raises(InvalidRequestError):
                    await generate(scene.model, messages=asked, strict=True, client=client)

        assert len(scene.bodies) == 1
    codes = [note.code for note in result.diagnostics]
    assert codes == ([] if taken else ["unsupported-content"])


@columns(lambda column: column.image)
async def test_image_of_a_path_is_sent_as_bytes(column: Column, tmp_path: Path) -> None:
    """A path is read when the request is made, and sent as bytes."""
    path = tmp_path / "pixel.png"
    path.write_bytes(PIXEL)
    with playing(column, HELLO) as scene:
        asked = Message.user("What is it?", ImagePart(path=str(path)))
        async with Client() as client:
            result = await generate(scene.model, messages=[asked], client=client)

        assert column.parts(scene.bodies[0])[1:] == [column.image]
    assert result.text == HELLO.text
    complete(result.response, column)


# -- tools


@columns()
async def test_a_tool_call_runs_its_tool_and_sends_the_result(column: Column) -> None:
    """The tool is run, its result sent, and the response is the one after it."""
    called = Said(cities=("Rome",))
    with playing(column, called, DONE) as scene:
        async with Client() as client:
            result = await generate(scene.model, "Weather?", tools=[weather], client=client)

        first, second = scene.bodies
        assert contains(first, column.tools(weather.parameters))
        assert contains(second, column.tools(weather.parameters))
        assert column.history(first) == column.asked("Weather?")
        added = column.turn(called, ["sunny in Rome"])
        assert column.history(second) == [*column.history(first), *added]
    step = result.steps[0]
    assert (step.finish_reason.reason, step.finish_reason.raw) == ("tool_calls", column.calls)
    assert [(call.id, call.name, call.arguments) for call in step.tool_calls] == [
        (column.call_id(1), "weather", {"city": "Rome"})
    ]
    assert [(one.content, one.is_error) for one in step.tool_results] == [("sunny in Rome", False)]
    assert result.text == DONE.text
    assert result.pending_calls == ()
    counted(step.usage, called, column)
    assert result.total_usage.input_tokens == called.counts.input + DONE.counts.input
    complete(result.response, column)


@columns()
async def test_parallel_tool_calls_return_their_results_in_call_order(column: Column) -> None:
    """All run at once, and one request brings all results, in the order of the calls."""
    cities = ("Rome", "Oslo", "Lima")
    called = Said(cities=cities)
    begun: list[str] = []
    ended: list[str] = []
    all_there = anyio.Event()
    left = {city: anyio.Event() for city in cities}

    @tool(name="weather")
    async def meeting(city: str) -> str:
        """Tell the weather in a city."""
        begun.append(city)
        if len(begun) == len(cities):
            all_there.set()
        await all_there.wait()
        for after in cities[cities.index(city) + 1 :]:
            await left[after].wait()
        ended.append(city)
        left[city].set()
        return f"sunny in {city}"

    with playing(column, called, called, DONE) as scene:
        asked = request(model=scene.model, prompt="Weather?", tools=[meeting.definition])
        async with Client() as client:
            whole = await client.complete(asked)
            with anyio.fail_after(10):
                result = await generate(scene.model, "Weather?", tools=[meeting], client=client)

        _, first, second = scene.bodies
        added = column.turn(called, [f"sunny in {city}" for city in cities])
        assert column.history(second) == [*column.history(first), *added]
    assert ended == list(reversed(cities))
    assert [call.arguments for call in result.steps[0].tool_calls] == [
        {"city": city} for city in cities
    ]
    assert len({call.id for call in result.steps[0].tool_calls}) == len(cities)
    assert whole.message == result.steps[0].response.message
    assert result.text == DONE.text


@columns()
async def test_three_rounds_of_tools(column: Column) -> None:
    """Each request is the one before it and a turn more."""
    cities = ("Rome", "Oslo", "Lima")
    rounds = [Said(cities=(city,), first_call=n) for n, city in enumerate(cities, 1)]
    with playing(column, *rounds, DONE) as scene:
        async with Client() as client:
            result = await generate(
                scene.model, "Weather?", tools=[weather], max_tool_rounds=3, client=client
            )

        assert len(scene.bodies) == 4
        if column in COLUMNS:  # whose fields the library knows
            assert_prefix_stable(scene.bodies)
        expected = column.asked("Weather?")
        for said, city in zip(rounds, cities, strict=True):
            expected += column.turn(said, [f"sunny in {city}"])
        assert column.history(scene.bodies[3]) == expected
    assert [one.content for step in result.steps for one in step.tool_results] == [
        f"sunny in {city}" for city in cities
    ]
    assert len(result.steps) == 4
    assert result.text == DONE.text
    assert result.total_usage.output_tokens == sum(said.counts.output for said in [*rounds, DONE])


@columns()
async def test_tool_inputs_calls_and_results_are_streamed_between_step_events(
    column: Column,
) -> None:
    """Input, calls and results are events, between the marks of their steps."""
    called = Said(text="Let me look.", cities=("Rome", "Oslo"))
    with playing(column, called, DONE) as scene:
        async with (
            Client() as client,
            stream(scene.model, "Weather?", tools=[weather], client=client) as running,
        ):
            events: list[LLMEvent] = [event async for event in running]
            result = await running.result()

        assert [one.path for one in scene.server.received] == [column.streamed_path] * 2
    assert violations(events) == []
    kinds = [type(event) for event in events]
    assert kinds.count(StepStart) == 2
    assert kinds.count(ToolInputStart) == kinds.count(ToolInputEnd) == kinds.count(ToolCall) == 2
    assert kinds.count(Finish) == 1
    assert kinds.index(ToolInputStart) < kinds.index(ToolCall) < kinds.index(ToolResult)
    for call in result.steps[0].tool_calls:
        deltas = [
            event.text
            for event in events
            if isinstance(event, ToolInputDelta) and event.id == call.id
        ]
        assert json.loads("".join(deltas)) == call.arguments
    results = [event for event in events if isinstance(event, ToolResult)]
    assert {one.content for one in results} == {"sunny in Rome", "sunny in Oslo"}
    assert result.steps[0].text == called.text
    assert result.text == DONE.text


# -- structured output


@columns(lambda column: column.schema_of)
async def test_structured_output_sends_the_schema_and_returns_the_type(column: Column) -> None:
    """The schema goes out in the provider's own way; the object comes back as its type."""
    said = Said(text='{"name": "Alice", "age": 30}')
    with playing(column, said) as scene:
        async with Client() as client:
            result = await generate_object(
                scene.model, "Alice is 30 years old.", schema=Person, client=client
            )

        assert column.schema_of is not None
        schema = column.schema_of(scene.bodies[0])
    assert result.output == Person("Alice", 30)
    assert {name: one["type"] for name, one in schema["properties"].items()} == {
        "name": "string",
        "age": "integer",
    }
    assert schema["required"] == ["name", "age"]
    complete(result.response, column)
    counted(result.usage, said, column)


# -- reasoning


@columns()
async def test_reasoning_effort_is_sent_and_its_tokens_are_output_tokens(column: Column) -> None:
    """The effort is sent, the thinking is not text, and its tokens are part of the output."""
    if not column.thinks:
        pytest.skip("the API has no thinking")
    said = Said(text="42.", thinking="Let me think about it.", counts=Counts(thinking=30))
    with playing(column, said) as scene:
        given: dict[str, Any] = {"reasoning_effort": "low", "max_tokens": 4000}
        async with Client() as client:
            running = stream(scene.model, "Why?", client=client, **given)
            events = [event async for event in running]
            response = await running.response()
            whole = await client.complete(request(model=scene.model, prompt="Why?", **given))

        for body in scene.bodies:
            assert contains(body, column.effort)
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert thought == response.reasoning == said.thinking
    assert response.text == said.text
    assert response.usage is not None
    if column.counts_thinking:
        assert response.usage.reasoning_tokens == 30
    else:  # four characters a token
        assert response.usage.reasoning_tokens == -(-len(said.thinking) // 4)
    assert response.usage.reasoning_estimated == (not column.counts_thinking)
    counted(response.usage, said, column)
    assert (whole.message, whole.usage) == (response.message, response.usage)


# -- errors


async def failure(column: Column, *replies: Reply, **settings: Any) -> tuple[LLMError, int]:
    """Return the error of a call, and how many requests it took."""
    with playing(column, *replies) as scene:
        async with Client() as client:
            with pytest.raises(LLMError) as caught:
                await generate(scene.model, "Hello?", client=client, **settings)
        return caught.value, len(scene.bodies)


@columns()
async def test_a_wrong_key_raises_authentication_error_after_one_request(column: Column) -> None:
    """A wrong key fails once, at once, and the error does not show the key."""
    refused = Refused(status=401, headers={"x-request-id": "req_1"})
    error, requests = await failure(column, refused, max_retries=3)

    assert type(error) is AuthenticationError
    assert requests == 1
    assert (error.provider, error.status_code) == (column.provider, 401)
    assert error.error_code == column.errors[401][1]
    assert error.request_id == "req_1"
    assert not error.retryable
    assert error.raw is not None
    assert KEY not in f"{error!s} {error!r} {error.raw} {error.args}"


@columns()
async def test_429_with_retry_after(column: Column) -> None:
    """The server says how long to wait; n retries are n + 1 requests."""
    refused = Refused(status=429, headers={"retry-after": "0.03"})
    waited: list[float] = []
    policy = RetryPolicy(base_delay=50, on_retry=lambda *what: waited.append(what[2]))
    with playing(column, refused, refused, HELLO) as scene:
        async with Client() as client:
            result = await generate(scene.model, "Hello?", retry_policy=policy, client=client)

        assert len(scene.bodies) == result.steps[0].requests == 3
        assert scene.bodies[0] == scene.bodies[1] == scene.bodies[2]
    assert waited == [pytest.approx(0.03)] * 2
    assert result.text == HELLO.text

    too_long = Refused(status=429, headers={"retry-after": "1800"})
    for settings in ({"max_retries": 0}, {"max_retries": 5}):
        error, requests = await failure(column, too_long, **settings)
        assert type(error) is RateLimitError
        assert requests == 1
        assert (error.provider, error.status_code) == (column.provider, 429)
        assert error.error_code == column.errors[429][1]
        assert error.retryable
        assert error.retry_after == 1800


# -- counting


@columns()
async def test_usage_counts_each_token_once_streamed_and_whole(column: Column) -> None:
    """Every token is counted, and none twice, streamed and whole."""
    written = 7 if column.caches_by_mark else 0
    said = Said(text="Hello.", counts=Counts(uncached=100, read=64, written=written, answer=11))
    with playing(column, said) as scene:
        async with Client() as client:
            result = await generate(scene.model, "Hello?", client=client)
            whole = await client.complete(request(model=scene.model, prompt="Hello?"))

    counted(result.usage, said, column)
    assert whole.usage == result.usage == result.total_usage
    assert result.usage.raw == column.whole(said)[column.usage_field]


class Caching:
    """A provider that reads from its cache what is the beginning of the request before."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.before: list[str] = []
        self.counts: list[Counts] = []

    def __call__(self, received: Received) -> Said:
        body: Any = received.json
        now = [json.dumps(one) for one in self.column.history(body)]
        shared = self.before if now[: len(self.before)] == self.before else []
        read = len("".join(shared))
        counts = Counts(uncached=len("".join(now)) - read, read=read)
        self.before = now
        self.counts.append(counts)
        return Said(text=f"Answer {len(self.counts)}.", counts=counts)


@columns()
async def test_cached_tokens_from_the_second_turn_on(column: Column) -> None:
    """Each turn begins with the one before it, to the byte, so that the cache is read."""
    provider = Caching(column)
    with playing(column, provider) as scene:
        messages: tuple[Message, ...] = ()
        read: list[tuple[int, int]] = []
        async with Client() as client:
            for turn in range(5):
                asked = Message.user(f"Question {turn}: what is it?")
                result = await generate(
                    scene.model,
                    messages=[*messages, asked],
                    system="Be brief.",
                    tools=[weather],
                    client=client,
                )
                messages = result.messages
                counted(result.usage, Said(counts=provider.counts[-1]), column)
                read.append((provider.counts[-1].read, provider.counts[-1].input))

        if column in COLUMNS:  # whose fields the library knows
            assert_prefix_stable(scene.bodies)
        marks = [json.dumps(body).count("cache") for body in scene.bodies]
    assert read[0][0] == 0
    assert all(cached > 0 for cached, _ in read[1:])
    assert read[4][0] > read[4][1] / 2
    assert all(mark > 0 for mark in marks) is column.caches_by_mark


# -- the provider's own


@columns()
async def test_provider_options_reach_their_provider_only(column: Column) -> None:
    """They reach their provider as they are, and no other."""
    given = {column.provider: column.options, "elsewhere": {"odd": True}}
    with playing(column, HELLO) as scene:
        async with Client() as client:
            result = await generate(scene.model, "Hello?", provider_options=given, client=client)

        assert contains(scene.bodies[0], column.options)
        assert "odd" not in json.dumps(scene.bodies[0])
    assert result.text == HELLO.text
