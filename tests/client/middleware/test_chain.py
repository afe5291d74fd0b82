"""Middleware: order, both kinds of calls, changing and answering."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from llmcore import (
    Client,
    ConfigurationError,
    Finish,
    LLMError,
    LLMEvent,
    LLMRequest,
    LLMResponse,
    OpenAICompatible,
    RateLimitError,
    Success,
    TextDelta,
    request,
)
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Middleware, Next
from llmcore.folds.grammar import violations
from llmcore.schema.events import (
    ErrorEvent,
    FinishReason,
    StepFinish,
    StepStart,
    StreamStart,
    TextEnd,
    TextStart,
)
from llmcore.schema.result import Result
from tests.support.servers.loopback import Loopback, chat_handler, serve

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


async def run(
    client: Client, wanted: LLMRequest, *, streaming: bool
) -> Result[LLMResponse, LLMError]:
    return await (client.stream(wanted).result() if streaming else client.generate(wanted))


def wanted_from(server: Loopback) -> LLMRequest:
    provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
    return request(model=provider.model("m"), prompt="Hi")


def noting(name: str, notes: list[str]) -> Middleware:
    async def middleware(request: LLMRequest, next: Next) -> EventStream:
        notes.append(f"{name} in")

        async def done(_result: Result[LLMResponse, LLMError]) -> None:
            notes.append(f"{name} out")

        return next(request).on_result(done)

    return middleware


@pytest.mark.parametrize("streaming", [False, True])
async def test_they_run_like_the_layers_of_an_onion(server: Loopback, streaming: bool) -> None:
    """In the order given on the way in, reversed on the way out."""
    notes: list[str] = []
    async with Client(middleware=[noting("a", notes), noting("b", notes)]) as client:
        result = await run(client, wanted_from(server), streaming=streaming)

    assert result.unwrap().text == "Hello"
    assert notes == ["a in", "b in", "b out", "a out"]


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_plain_function_will_do(server: Loopback, streaming: bool) -> None:
    """Middleware need not be a coroutine; it may change the request."""

    def shout(request: LLMRequest, next: Next) -> EventStream:
        return next(evolve(request, system="SHOUT"))

    async with Client(middleware=[shout]) as client:
        await run(client, wanted_from(server), streaming=streaming)

    assert b"SHOUT" in server.received[0].body


@pytest.mark.parametrize("streaming", [False, True])
async def test_events_can_be_changed(server: Loopback, streaming: bool) -> None:
    """The caller collects the events that the middleware passed on."""

    def upper(event: LLMEvent) -> list[LLMEvent]:
        if isinstance(event, TextDelta | TextEnd):
            return [evolve(event, text=event.text.upper())]
        return [event]

    async with Client(middleware=[lambda request, next: next(request).map(upper)]) as client:
        response = (await run(client, wanted_from(server), streaming=streaming)).unwrap()

    assert response.text == "HELLO"


ANSWER: list[LLMEvent] = [
    StreamStart(provider="cache", model="m"),
    StepStart(),
    TextStart("t"),
    TextDelta("t", "cached"),
    TextEnd("t", "cached"),
    StepFinish(finish_reason=FinishReason("stop")),
    Finish(finish_reason=FinishReason("stop")),
]


@pytest.mark.parametrize("streaming", [False, True])
async def test_they_may_answer_themselves(server: Loopback, streaming: bool) -> None:
    """Nothing is sent if middleware has the response."""
    assert violations(ANSWER) == []
    async with Client(middleware=[lambda request, next: EventStream.of(ANSWER)]) as client:
        response = (await run(client, wanted_from(server), streaming=streaming)).unwrap()

    assert response.text == "cached"
    assert server.received == []


@pytest.mark.parametrize("streaming", [False, True])
async def test_they_may_call_again(server: Loopback, streaming: bool) -> None:
    """A failed call can be followed by another one."""
    failures = [RateLimitError("later")]

    def flaky(request: LLMRequest, next: Next) -> EventStream:
        if failures:
            return EventStream.of([ErrorEvent(failures.pop())])
        return next(request)

    async def again(request: LLMRequest, next: Next) -> EventStream:
        first = await next(request).next_batch()
        return next(request) if isinstance(first[-1], ErrorEvent) else EventStream.of(first)

    async with Client(middleware=[again, flaky]) as client:
        result = await run(client, wanted_from(server), streaming=streaming)

    assert isinstance(result, Success)
    assert len(server.received) == 1


async def test_the_end_is_reported_once_however_the_stream_is_left(server: Loopback) -> None:
    """Leaving early counts as an end, with an error that names it."""
    outcomes: list[Result[LLMResponse, LLMError]] = []

    async def note(result: Result[LLMResponse, LLMError]) -> None:
        outcomes.append(result)

    async with Client(middleware=[lambda request, next: next(request).on_result(note)]) as client:
        async with client.stream(wanted_from(server)) as stream:
            await anext(stream)
        await stream.aclose()
        await client.generate(wanted_from(server))

    assert len(outcomes) == 2
    assert isinstance(outcomes[1], Success)


async def test_a_bug_in_middleware_is_raised(server: Loopback) -> None:
    """Only our own errors become results; a bug stays an exception."""

    def broken(request: LLMRequest, next: Next) -> EventStream:
        raise ZeroDivisionError

    async with Client(middleware=[broken]) as client:
        with pytest.raises(ZeroDivisionError):
            await client.generate(wanted_from(server))


@pytest.mark.parametrize(("returned", "shown"), [(None, "None"), ("Hi", "a str")])
async def test_a_middleware_that_returns_no_stream_is_named(
    server: Loopback, returned: Any, shown: str
) -> None:
    def timed(request: LLMRequest, next: Next) -> Any:
        next(request)
        return returned

    async with Client(middleware=[timed]) as client:
        result = await client.generate(wanted_from(server))

    reason = rf"timed must return a stream, such as next\(request\), not {shown}$"
    with pytest.raises(ConfigurationError, match=reason):
        result.unwrap()
    assert server.received == []


def test_repr_of_the_rest_of_a_call_shows_no_keys_of_the_environment() -> None:
    rest = Next(run=lambda _request: EventStream.of([]), environ={"OPENAI_API_KEY": "sk-secret"})

    assert "sk-secret" not in repr(rest)
