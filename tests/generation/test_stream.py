"""`stream`: the events of a whole run."""

import asyncio
import gc
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.generation.generate import generate
from llmcore.generation.next_step import NextStep
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.stream import StreamResult, stream
from llmcore.generation.tool import tool
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import (
    AbortError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    ToolError,
    ToolResult,
)
from llmcore.schema.request import LLMRequest
from llmcore.testing import scripted
from llmcore.testing.fake_model import Delay, FakeModel
from tests.support.cycles import in_cycles
from tests.support.servers.loopback import chat_chunk, sse
from tests.support.strategies.examples import costly
from tests.support.waiting import PATIENCE_S, pass_time
from tests.support.wire.generation import any_model, calls_of, client_of, text_of

pytestmark = pytest.mark.anyio

MODEL = any_model()
QUICK = RetryPolicy(base_delay=0, jitter=False)


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


CALL = calls_of(("c1", "look", {"city": "A"}))


async def read(result: StreamResult, *, entered: bool) -> tuple[list[LLMEvent], LLMError | None]:
    """Return the events, and what was raised after them."""
    events: list[LLMEvent] = []
    try:
        if entered:
            async with result:
                async for event in result:
                    events.append(event)  # noqa: PERF401  (what came before an error is kept)
        else:
            async for event in result:
                events.append(event)  # noqa: PERF401
    except LLMError as error:
        assert violations(events) == []
        return events, error
    assert violations(events) == []
    return events, None


both_ways = pytest.mark.parametrize("entered", [True, False])


@both_ways
async def test_one_step_is_what_the_client_says(entered: bool) -> None:
    """Nothing is added and nothing lost."""
    client, _ = client_of(text_of(), text_of())
    result = stream(MODEL, "Hi", client=client)
    events, _ = await read(result, entered=entered)

    from llmcore.schema.request import request

    assert events == [e async for e in client.stream(request(model=MODEL, prompt="Hi"))]
    assert (await result.response()).text == "Hello"
    assert (await result.result()).text == "Hello"


@both_ways
@pytest.mark.parametrize("scripts", [[text_of()], [CALL, text_of()], [CALL, CALL]])
async def test_finish_carries_the_whole_response_of_the_last_step(
    entered: bool, scripts: list[Any]
) -> None:
    """The same value as `response()`, also as JSON."""
    client, _ = client_of(*scripts)
    result = stream(MODEL, "Hi", tools=[look], client=client)
    events, _ = await read(result, entered=entered)

    finish = events[-1]
    assert isinstance(finish, Finish)
    assert finish.response is not None
    assert finish.response == await result.response()
    read_again = from_json(Finish, to_json(finish))
    assert read_again.response == finish.response
    assert [d.code for d in finish.diagnostics] == (
        ["tool-rounds-used-up"] if scripts[-1] is CALL else []
    )


async def test_raw_gives_each_event_its_native_frame() -> None:
    """Of every step, and each response the list of its frames."""
    client, _ = client_of(CALL, text_of())
    result = stream(MODEL, "Hi", tools=[look], client=client, raw=True)
    events = [event async for event in result]

    deltas = [event for event in events if isinstance(event, TextDelta)]
    natives: list[Any] = [event.native for event in deltas]
    assert [native["choices"][0]["delta"]["content"] for native in natives] == ["Hel", "lo"]
    assert all(event.native is not None for event in events if isinstance(event, StepFinish))
    for step in result.steps:
        assert isinstance(step.response.raw, list)
        assert step.response.raw[-1] == "[DONE]"

    client, _ = client_of(text_of())
    assert all([event.native is None async for event in stream(MODEL, "Hi", client=client)])


@both_ways
async def test_steps_are_numbered_and_tools_stand_between_them(entered: bool) -> None:
    """One start and one finish, however many calls it takes."""
    calls = calls_of(("c1", "look", {"city": "A"}), ("c2", "nope", {}))
    client, _ = client_of(calls, CALL, text_of())
    result = stream(MODEL, "Hi", tools=[look], max_tool_rounds=5, client=client)
    events, error = await read(result, entered=entered)

    assert error is None
    frame = (StreamStart, StepStart, StepFinish, ToolResult, ToolError, Finish)
    assert [
        (event.type, getattr(event, "step", getattr(event, "tool_call_id", None)))
        for event in sorted_results([event for event in events if isinstance(event, frame)])
    ] == [
        ("stream-start", None),
        ("step-start", 0),
        ("step-finish", 0),
        ("tool-result", "c1"),
        ("tool-error", "c2"),
        ("tool-result", "c2"),
        ("step-start", 1),
        ("step-finish", 1),
        ("tool-result", "c1"),
        ("step-start", 2),
        ("step-finish", 2),
        ("finish", None),
    ]
    assert isinstance(events[-1], Finish)
    assert events[-1].usage == (await result.result()).total_usage
    assert events[-1].finish_reason.reason == "stop"


@both_ways
async def test_each_step_says_who_answers(entered: bool) -> None:
    """Events fold to the last response, also where `prepare_step` changes the model."""
    other = OpenAICompatible.configure(name="other", base_url="https://o", api_key="k")

    def prepare(step: NextStep) -> NextStep | None:
        return evolve(step, model=other.model("m-2")) if step.number else None

    second = [piece.replace(b'"m-1"', b'"m-2"') for piece in text_of() if isinstance(piece, bytes)]
    client, _ = client_of(CALL, second)
    result = stream(MODEL, "Hi", tools=[look], prepare_step=prepare, client=client)
    events, _ = await read(result, entered=entered)
    steps = [event.start for event in events if isinstance(event, StepStart)]

    assert [one and (one.provider, one.model) for one in steps] == [None, ("other", "m-2")]
    assert collect(events).unwrap() == evolve(await result.response(), cost=None)


def sorted_results(events: list[LLMEvent]) -> list[LLMEvent]:
    """Put the outcomes of a step's tools, which come as they finish, in the order of their ids."""
    runs: list[list[LLMEvent]] = [[]]
    for event in events:
        if not isinstance(event, ToolResult | ToolError):
            runs += [[event], []]
        else:
            runs[-1].append(event)
    return [e for run in runs for e in sorted(run, key=lambda e: getattr(e, "tool_call_id", ""))]


@both_ways
async def test_the_result_is_that_of_generate(entered: bool) -> None:
    """Two ways to look at one run."""
    scripts = (CALL, text_of())
    one, _ = client_of(*scripts)
    other, _ = client_of(*scripts)
    result = stream(MODEL, "Hi", tools=[look], client=one)
    events, _ = await read(result, entered=entered)
    generated = await generate(MODEL, "Hi", tools=[look], client=other)

    assert await result.result() == generated
    assert result.steps == generated.steps
    assert result.messages == generated.messages
    assert result.partial_response == generated.response
    assert collect(events).unwrap().text == generated.text


async def test_results_come_as_tools_finish() -> None:
    """Inside `async with`, the fast one does not wait for the slow one."""
    slow = anyio.Event()

    @tool
    async def work(wait: bool) -> bool:
        if wait:
            await slow.wait()
        return wait

    calls = calls_of(("a", "work", {"wait": True}), ("b", "work", {"wait": False}))
    client, _ = client_of(calls, text_of())
    seen = []
    with anyio.fail_after(10):
        async with stream(MODEL, "Hi", tools=[work], client=client) as result:
            async for event in result:
                if isinstance(event, ToolResult):
                    seen.append(event.tool_call_id)
                    slow.set()
            done = await result.result()

    assert seen == ["b", "a"]
    assert [r.tool_call_id for r in done.steps[0].tool_results] == ["a", "b"]


async def test_the_text_of_all_steps() -> None:
    """And nothing else."""
    calls = calls_of(("c1", "look", {"city": "A"}), text="Wait. ")
    client, _ = client_of(calls, text_of("Sun", "ny"))
    result = stream(MODEL, "Hi", tools=[look], client=client)

    assert [text async for text in result.text_stream] == ["Wait. ", "Sun", "ny"]


async def test_nothing_is_buffered_after_the_result() -> None:
    """Events that had arrived unread are gone, and do not count."""
    client, _ = client_of(text_of())
    result = stream(MODEL, "Hi", client=client)
    await anext(result)
    await result.result()

    assert result.buffered == 0


async def test_events_that_have_arrived_are_counted_down_as_they_are_read() -> None:
    fake = FakeModel("It is sunny.")
    async with stream(fake.model, "Hi", client=fake.client) as result:
        counts = [result.buffered async for _ in result]

    following = [after for before, after in pairwise(counts) if before]
    assert len(following) > 2
    assert following == [before - 1 for before in counts[:-1] if before]


async def test_a_result_can_be_asked_for_in_the_middle() -> None:
    """The remaining events are read then, none of them twice."""
    client, _ = client_of(CALL, text_of())
    async with stream(MODEL, "Hi", tools=[look], client=client) as result:
        assert result.partial_response is None
        await anext(result)
        assert (await result.result()).text == "Hello"
        assert [event async for event in result] == []


def test_contradictions_are_raised_at_once() -> None:
    """Before anything is read."""
    with pytest.raises(InvalidRequestError, match="prompt or messages"):
        stream(MODEL, client=Client())


# -- failures


@both_ways
async def test_an_error_is_an_event_and_then_raised(entered: bool) -> None:
    """Half a response cannot be taken for a whole one."""
    client, _ = client_of([chat_chunk(delta={"content": "Half"})])
    result = stream(MODEL, "Hi", client=client)
    events, error = await read(result, entered=entered)

    assert isinstance(events[-1], ErrorEvent)
    assert error is events[-1].error
    assert isinstance(error, StreamError)
    assert error.partial is not None
    assert error.partial.text == "Half"
    with pytest.raises(StreamError):
        await anext(result)
    with pytest.raises(StreamError):
        await result.result()
    with pytest.raises(StreamError):
        [_ async for _ in result.text_stream]


@both_ways
async def test_a_failure_of_a_later_step_keeps_the_steps_before(entered: bool) -> None:
    """They were paid for, and their tools have run."""
    client, _ = client_of(CALL, (404, {}, {"error": {"message": "gone"}}))
    result = stream(MODEL, "Hi", tools=[look], client=client)
    events, error = await read(result, entered=entered)

    assert isinstance(error, NotFoundError)
    assert [str(e.type) for e in events[-2:]] == ["tool-result", "error"]
    assert len(result.steps) == 1
    assert [m.role for m in result.messages] == ["user", "assistant", "tool"]


@both_ways
async def test_a_tools_exception_ends_the_stream_if_wanted(entered: bool) -> None:
    """As a typed error, inside `async with` as well."""

    def breaks() -> None:
        raise KeyError("gone")

    client, _ = client_of(calls_of(("c1", "breaks", {})))
    result = stream(MODEL, "Hi", tools=[breaks], tool_errors="raise", client=client)
    events, error = await read(result, entered=entered)

    assert isinstance(events[-1], ErrorEvent)
    assert error is not None
    assert isinstance(error.cause, KeyError)


async def test_what_the_block_raises_is_not_wrapped() -> None:
    """No exception group, though tools run in a task group."""
    client, _ = client_of(text_of())
    with pytest.raises(KeyError, match="mine"):  # noqa: PT012  (the whole block is meant)
        async with stream(MODEL, "Hi", client=client) as result:
            async for _ in result:
                raise KeyError("mine")


@both_ways
async def test_leaving_early_ends_everything(entered: bool) -> None:
    """The tools that run are cancelled; there is no result."""
    ended: list[str] = []

    @tool
    async def endless() -> None:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("endless")

    @tool
    async def quick() -> None:
        await anyio.lowlevel.checkpoint()

    calls = calls_of(("a", "endless", {}), ("b", "quick", {}))
    client, _ = client_of(calls)
    result = stream(MODEL, "Hi", tools=[endless, quick], client=client)
    with anyio.fail_after(PATIENCE_S):
        if entered:
            async with result:
                async for event in result:
                    if isinstance(event, ToolResult):
                        break
        else:
            async for event in result:
                if isinstance(event, StepFinish):
                    break
            await result.aclose()

    assert ended == (["endless"] if entered else [])
    with pytest.raises(AbortError, match="closed"):
        await result.result()
    await result.aclose()


async def test_a_cancelled_block_is_left_quietly() -> None:
    """Also while tools run in the background."""
    started = anyio.Event()

    @tool
    async def endless() -> None:
        started.set()
        await anyio.sleep(60)

    async def consume() -> None:
        client, _ = client_of(calls_of(("a", "endless", {})))
        async with stream(MODEL, "Hi", tools=[endless], client=client) as result:
            async for _ in result:
                await anyio.lowlevel.checkpoint()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await started.wait()
            group.cancel_scope.cancel()


async def test_another_task_may_close_it() -> None:
    """A reader that waits for the next event gets an error."""
    client, _ = client_of([chat_chunk(delta={"content": "a"}), (b": ping\n\n", 60_000)])
    result = stream(MODEL, "Hi", client=client)

    async def close() -> None:
        await anyio.sleep(0.05)
        await result.aclose()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(close)
            events, error = await read(result, entered=False)

    assert isinstance(error, AbortError)
    assert isinstance(events[-1], ErrorEvent)


@both_ways
async def test_a_cancelled_read_is_the_end(entered: bool) -> None:
    """The run cannot continue: no tool runs twice, and reading on does not look like its end."""
    ran: list[int] = []
    scope = anyio.CancelScope()

    @tool
    async def waits() -> None:
        ran.append(1)
        scope.cancel()
        await anyio.sleep(60)

    client, transport = client_of(calls_of(("a", "waits", {})))
    result = stream(MODEL, "Hi", tools=[waits], client=client)
    with scope:
        await (read(result, entered=True) if entered else result.result())

    with pytest.raises(AbortError, match="earlier read"):
        await anext(result)
    with pytest.raises(AbortError, match="earlier read"):
        await result.result()
    assert (ran, len(transport.requests)) == ([1], 1)


@both_ways
async def test_a_tool_that_exits_raises_just_that(entered: bool) -> None:
    """Not a group of errors, and the other tools of the step are cancelled."""
    ended: list[str] = []

    @tool
    def leave() -> None:
        raise SystemExit(3)

    @tool
    async def waits() -> None:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("waits")

    client, _ = client_of(calls_of(("a", "waits", {}), ("b", "leave", {})))
    result = stream(MODEL, "Hi", tools=[waits, leave], client=client)
    with pytest.raises(SystemExit) as caught:
        await (read(result, entered=True) if entered else result.result())

    assert caught.value.code == 3
    assert ended == ["waits"]


@pytest.mark.parametrize("in_tool", [False, True])
def test_generator_around_a_stream_can_be_dropped(*, in_tool: bool) -> None:
    """asyncio closes it in another task: neither that nor the task that iterated fails."""
    ended: list[str] = []
    problems: list[object] = []

    @tool
    async def waits() -> None:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("waits")

    @tool
    def quick() -> str:
        return "quick"

    client, _ = client_of(calls_of(("a", "waits", {}), ("b", "quick", {})))

    async def events() -> AsyncIterator[LLMEvent]:
        async with stream(MODEL, "Hi", tools=[waits, quick], client=client) as result:
            async for event in result:
                yield event

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, found: problems.append(found))
        async for event in events():
            if isinstance(event, ToolResult) or not in_tool:
                break
        gc.collect()
        for _ in range(20):
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert problems == []
    assert ended == (["waits"] if in_tool else [])


async def test_a_second_reader_is_refused_while_the_first_one_waits() -> None:
    """The first one goes on as if nothing had happened."""
    fake = FakeModel(["first", Delay(600), " last"])
    result = stream(fake.model, "?", client=fake.client)
    texts: list[str] = []

    async def first() -> None:
        texts.extend([text async for text in result.text_stream])

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(InvalidRequestError, match="let it pass on what it reads"):
            await anext(result)
        pass_time(600)

    assert "".join(texts) == "first last"


async def test_no_attempt_is_made_or_waited_for_after_closing() -> None:
    """A reader that waits for a retry gets an error at once."""
    client, transport = client_of((500, {}, {"error": {"message": "no"}}))
    policy = RetryPolicy(base_delay=55, jitter=False)
    result = stream(MODEL, "Hi", retry_policy=policy, client=client)

    async def close() -> None:
        await anyio.sleep(0.03)
        await result.aclose()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(close)
            _, error = await read(result, entered=False)
    assert error is not None
    assert len(transport.requests) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_abandoned_stream_leaves_nothing_behind(backend: str) -> None:
    """Without a warning and without a pending task, though it was not closed."""

    async def leave() -> None:
        client, _ = client_of(CALL, text_of())
        async for event in stream(MODEL, "Hi", tools=[look], client=client):
            if isinstance(event, ToolResult):
                break

    anyio.run(leave, backend=backend)
    gc.collect()


@pytest.mark.parametrize("calls", [(), (CALL,)], ids=["one step", "tools"])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_a_run_that_ended_leaves_no_reference_cycles(
    calls: tuple[Any, ...], streamed: bool
) -> None:
    """Its memory is free at once, and no time is spent on looking for it."""
    client, _ = client_of(*[*calls, text_of()] * 2)

    async def once() -> None:
        if not streamed:
            await generate(MODEL, "Hi", tools=[look], client=client)
            return
        async with stream(MODEL, "Hi", tools=[look], client=client) as events:
            async for _event in events:
                pass

    assert not in_cycles(lambda: anyio.run(once))


# -- retries


def limited(text: str = "slow down") -> bytes:
    return sse({"error": {"message": text, "code": 429, "type": "rate_limit"}})


async def test_errors_before_the_first_event_are_retried() -> None:
    """Also those that come in a stream that began well."""
    begun = [chat_chunk(delta={"role": "assistant"}), limited()]
    client, transport = client_of((503, {}, {"error": {"message": "no"}}), begun, text_of())
    result = stream(MODEL, "Hi", retry_policy=QUICK, client=client)
    events, error = await read(result, entered=False)
    transport.finish()

    assert error is None
    assert [event.type for event in events].count("stream-start") == 1
    assert (await result.result()).steps[0].requests == 3


@pytest.mark.parametrize("together", [True, False])
async def test_nothing_is_retried_after_the_first_event(together: bool) -> None:
    """However the network cut it."""
    pieces = [chat_chunk(delta={"content": "Half"}), limited()]
    client, transport = client_of([b"".join(pieces)] if together else pieces, text_of())
    events, error = await read(stream(MODEL, "Hi", retry_policy=QUICK, client=client), entered=True)

    assert isinstance(error, RateLimitError)
    assert any(isinstance(event, TextDelta) for event in events)
    assert len(transport.requests) == 1


async def test_middleware_may_fail_too() -> None:
    """Its exception becomes an event like any other failure, and is retried like one."""
    tries: list[int] = []

    async def unsteady(request: LLMRequest, next: Next) -> EventStream:
        tries.append(1)
        if len(tries) < 3:
            raise ServerError("not yet")
        return next(request)

    def mute(request: LLMRequest, next: Next) -> EventStream:
        return next(request).map(lambda event: () if isinstance(event, Finish) else (event,))

    client = Client(transport=scripted(text_of()), middleware=[unsteady])
    result = stream(MODEL, "Hi", retry_policy=QUICK, client=client)
    assert (await result.result()).text == "Hello"

    client = Client(transport=scripted(text_of()), middleware=[mute])
    events, error = await read(stream(MODEL, "Hi", client=client), entered=False)
    assert isinstance(error, StreamError)
    assert isinstance(events[-1], ErrorEvent)


# -- any run at all

kinds = st.sampled_from(["text", "calls", "unknown", "invalid", "cut", "refused", "length"])


def script_of(kind: str) -> Any:
    match kind:
        case "text":
            return text_of("a", "b")
        case "calls":
            return calls_of(("a", "look", {"city": "A"}), ("b", "look", {"city": "B"}), text="x")
        case "unknown":
            return calls_of(("a", "nope", {}))
        case "invalid":
            return calls_of(("a", "look", "{"))
        case "cut":
            return [chat_chunk(delta={"content": "Half"})]
        case "refused":
            return (400, {}, {"error": {"message": "no"}})
        case _:
            return calls_of(("a", "look", {"city": "A"}), reason="length")


@costly
@given(st.lists(kinds, min_size=1, max_size=5), st.integers(0, 4), st.booleans())
def test_every_run_keeps_the_grammar(chosen: list[str], rounds: int, entered: bool) -> None:
    """Whatever the model does, the events are well formed and end once."""

    async def run() -> None:
        client, _ = client_of(*map(script_of, chosen), *[text_of()] * 5)
        result = stream(MODEL, "Hi", tools=[look], max_tool_rounds=rounds, client=client)
        events, error = await read(result, entered=entered)
        assert isinstance(events[-1], Finish if error is None else ErrorEvent)
        assert len(result.steps) <= rounds + 1

    anyio.run(run)


@pytest.mark.anyio
@pytest.mark.parametrize("is_streamed", [True, False])
async def test_an_error_that_middleware_raises_in_a_stream_is_the_error_of_the_run(
    is_streamed: bool,
) -> None:
    fake = FakeModel("Hello there")

    def refuse(event: LLMEvent) -> list[LLMEvent]:
        if isinstance(event, TextDelta):
            raise InvalidRequestError("not this word")
        return [event]

    client = fake.client.with_middleware(lambda request, next: next(request).map(refuse))
    if is_streamed:
        result = stream(fake.model, "Hi", client=client).result()
    else:
        result = generate(fake.model, "Hi", client=client)
    with pytest.raises(InvalidRequestError, match="not this word"):
        await result


@pytest.mark.anyio
async def test_a_stream_whose_end_middleware_dropped_is_an_error() -> None:
    fake = FakeModel("Hello there", "Hello again")

    def endless(event: LLMEvent) -> list[LLMEvent]:
        return [] if isinstance(event, Finish) else [event]

    client = fake.client.with_middleware(lambda request, next: next(request).map(endless))
    with pytest.raises(StreamError):
        await generate(fake.model, "Hi", client=client, max_retries=0)
