"""The tools of one step: all at once, results in order, failures for the model."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import pytest
from attrs import evolve

from llmcore.generation.abort import AbortController, AbortSignal
from llmcore.generation.execution import StepSettings, StepTools, unanswered
from llmcore.generation.tool import Tool, ToolFailure, tool
from llmcore.schema.content import ImagePart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.errors import (
    AbortError,
    ConfigurationError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
)
from llmcore.schema.events import ToolError, ToolResult
from llmcore.schema.messages import Message
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio


def call(name: str, arguments: Any = None, id_: str = "c1") -> ToolCallPart:
    return ToolCallPart(id_, name, arguments)


async def run(settings: StepSettings, *calls: ToolCallPart) -> StepTools:
    tools = StepTools(calls, settings)
    with anyio.fail_after(PATIENCE_S):
        await tools.run()
    return tools


async def result_of(execute: Callable[..., object], **settings: Any) -> ToolResultPart:
    made = StepSettings(tools=(Tool("t", "", None, execute),), **settings)
    tools = await run(made, call("t"))
    assert tools.error is None
    (result,) = tools.results
    return result


# -- at once, and in order


async def test_asynchronous_tools_run_together() -> None:
    """Each waits for the other: one after the other, they would never end."""
    meeting = [anyio.Event(), anyio.Event()]

    async def meet(me: int) -> int:
        meeting[me].set()
        await meeting[1 - me].wait()
        return me

    settings = StepSettings(tools=(tool(meet),))
    tools = await run(settings, call("meet", {"me": 0}, "a"), call("meet", {"me": 1}, "b"))

    assert [(r.tool_call_id, r.content) for r in tools.results] == [("a", 0), ("b", 1)]


async def test_plain_tools_run_together_in_threads() -> None:
    """More of them than the usual limit of threads."""
    barrier = threading.Barrier(50)

    def meet() -> int:
        barrier.wait(timeout=PATIENCE_S)
        return threading.get_ident()

    settings = StepSettings(tools=(tool(meet),))
    tools = await run(settings, *(call("meet", {}, f"c{n}") for n in range(50)))

    assert len({result.content for result in tools.results}) == 50
    assert not any(result.is_error for result in tools.results)


async def test_results_keep_the_order_of_the_calls() -> None:
    """Events come as the tools finish."""
    ended = {name: anyio.Event() for name in "abcd"}
    ended["d"].set()

    async def finish(name: str, after: str) -> str:
        await ended[after].wait()
        await anyio.sleep(0.05)
        ended[name].set()
        return name

    settings = StepSettings(tools=(tool(finish),))
    calls = [call("finish", {"name": n, "after": chr(ord(n) + 1)}, n) for n in "abc"]
    tools = await run(settings, *calls)
    events = await tools.next_events()

    assert [result.tool_call_id for result in tools.results] == ["a", "b", "c"]
    assert [e.tool_call_id for e in events if isinstance(e, ToolResult)] == ["c", "b", "a"]
    assert await tools.next_events() == []


async def test_events_come_while_others_run() -> None:
    """Whoever watches need not wait for the slowest."""
    slow = anyio.Event()

    async def either(wait: bool) -> bool:
        if wait:
            await slow.wait()
        return wait

    settings = StepSettings(tools=(tool(either),))
    tools = StepTools(
        [call("either", {"wait": True}, "a"), call("either", {"wait": False}, "b")], settings
    )
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(tools.run)
            first = await tools.next_events()
            slow.set()
            second = await tools.next_events()

    assert [getattr(e, "tool_call_id", "") for e in (*first, *second)] == ["b", "a"]


# -- what tools return


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ({"a": [1]}, {"a": [1]}),
        (None, None),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (ImagePart(data=b"x"), (ImagePart(data=b"x"),)),
        (["see", ImagePart(data=b"x")], (TextPart("see"), ImagePart(data=b"x"))),
    ],
    ids=str,
)
async def test_results_are_text_json_or_parts(value: object, content: object) -> None:
    """Whatever is plain, or can be made so."""
    result = await result_of(lambda: value)

    assert (result.content, result.is_error, result.name) == (content, False, "t")


async def test_a_result_that_json_cannot_say_is_the_tools_fault() -> None:
    """The model receives an error result, as for any other exception."""
    result = await result_of(object)

    assert result.is_error
    assert "object" in str(result.content)


async def test_a_plain_function_may_return_something_to_await() -> None:
    """Such as a lambda round a coroutine function."""

    async def later() -> str:
        return "later"

    assert (await result_of(lambda: later())).content == "later"  # noqa: PLW0108


# -- what goes wrong


async def test_one_failure_leaves_the_others_alone() -> None:
    """It is an error result, told by two events."""

    def sound() -> str:
        return "fine"

    def broken() -> str:
        raise ToolFailure("no such city")

    settings = StepSettings(tools=(tool(sound), tool(broken)))
    tools = await run(settings, call("broken", {}, "a"), call("sound", {}, "b"))
    events = await tools.next_events()

    assert [(r.content, r.is_error) for r in tools.results] == [
        ("no such city", True),
        ("fine", False),
    ]
    of_a = [event for event in events if getattr(event, "tool_call_id", "") == "a"]
    assert of_a == [
        ToolError(tool_call_id="a", name="broken", message="no such city"),
        ToolResult("a", "no such city", name="broken", is_error=True),
    ]


def divide() -> float:
    """Raise an error."""
    return 1 / 0


async def test_exceptions_are_sent_by_default() -> None:
    """With their name, so that the model can make something of them."""
    result = await result_of(divide)

    assert (result.is_error, result.content) == (True, "ZeroDivisionError: division by zero")


async def test_exceptions_end_the_run_if_wanted() -> None:
    """Of the others, those that still run are cancelled."""

    async def endless() -> None:
        await anyio.sleep(60)

    settings = StepSettings(tools=(tool(divide), tool(endless)), errors="raise")
    tools = await run(settings, call("endless", {}, "a"), call("divide", {}, "b"))

    assert isinstance(tools.error, LLMError)
    assert "'divide' raised ZeroDivisionError" in tools.error.message
    assert isinstance(tools.error.cause, ZeroDivisionError)
    assert tools.results == ()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_tool_awaited_may_be_cancelled(anyio_backend: str) -> None:
    """A task of its own that was cancelled is its failure, not the end of the run or no result."""
    assert anyio_backend == "asyncio"

    async def look() -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    result = await result_of(look)
    assert (result.is_error, result.content) == (True, "CancelledError: ")

    tools = await run(StepSettings(tools=(tool(look),), errors="raise"), call("look", {}))
    assert isinstance(tools.error, LLMError)
    assert isinstance(tools.error.cause, asyncio.CancelledError)


async def test_a_failure_is_sent_even_so() -> None:
    """`ToolFailure` is for the model, whatever the option says."""

    def fails() -> None:
        raise ToolFailure("sorry")

    assert (await result_of(fails, errors="raise")).content == "sorry"


async def test_unknown_tools_are_error_results() -> None:
    """The result lists the known tools."""
    settings = StepSettings(tools=(Tool("known"), ToolDefinition("other"), HostedTool.web_search()))
    tools = await run(settings, call("nope"))

    assert tools.results[0].is_error
    assert "known, other" in str(tools.results[0].content)
    assert tools.error is None


async def test_invalid_arguments_are_error_results() -> None:
    """The handler is not called."""
    called = []

    def look(city: str) -> None:
        called.append(city)

    tools = await run(StepSettings(tools=(tool(look),)), call("look", {"city": 1}))

    assert "city" in str(tools.results[0].content)
    assert tools.results[0].is_error
    assert called == []


def echo(city: str) -> str:
    """Say it again."""
    return city


async def test_a_call_is_repaired_once() -> None:
    """Arguments and names; what is still wrong is an error result."""
    asked: list[str] = []

    def repair(broken: ToolCallPart, error: InvalidToolCallError) -> ToolCallPart | None:
        asked.append(error.message)
        fixes = {
            "a": evolve(broken, arguments={"city": "A"}),
            "b": evolve(broken, name="echo", arguments={"city": "B"}),
            "c": broken,
        }
        return fixes.get(broken.id)

    settings = StepSettings(tools=(tool(echo),), repair=repair)
    calls = [
        call("echo", "{", "a"),
        call("Echo", {}, "b"),
        call("echo", {}, "c"),
        call("x", {}, "d"),
    ]
    tools = await run(settings, *calls)

    assert [r.tool_call_id for r in tools.results] == ["a", "b", "c", "d"]
    assert [r.is_error for r in tools.results] == [False, False, True, True]
    assert [r.content for r in tools.results[:2]] == ["A", "B"]
    assert len(asked) == 4


@pytest.mark.parametrize("errors", ["send", "raise"])
async def test_a_repair_that_fails_is_not_a_repair(errors: Any) -> None:
    """Its exception goes where those of tools go."""

    def repair(*_: object) -> None:
        raise KeyError("oops")

    settings = StepSettings(tools=(tool(echo),), repair=repair, errors=errors)
    tools = await run(settings, call("echo", {}))

    if errors == "send":
        assert tools.results[0].is_error
    else:
        assert isinstance(tools.error, LLMError)
        assert isinstance(tools.error.cause, KeyError)


@pytest.mark.parametrize("errors", ["send", "raise"])
@pytest.mark.parametrize("returned", [{"city": "Oslo"}, '{"city": "Oslo"}'])
async def test_a_repair_that_returns_no_call_ends_the_run(errors: Any, returned: Any) -> None:
    """The error states what to return, and is not hidden behind the invalid call."""

    def repair(*_: object) -> Any:
        return returned

    settings = StepSettings(tools=(tool(echo),), repair=repair, errors=errors)
    tools = await run(settings, call("echo", {}))

    assert isinstance(tools.error, InvalidRequestError)
    assert "repair_tool_call must return a ToolCallPart or None, not a" in str(tools.error)


async def test_an_unusable_schema_ends_the_run() -> None:
    """It is the application's mistake, which no model can mend."""
    schema: Any = {"type": "object", "properties": {"a": {"type": "strange"}}}
    tools = await run(StepSettings(tools=(Tool("t", "", schema, echo),)), call("t", {}))

    assert isinstance(tools.error, ConfigurationError)


# -- time


@pytest.mark.parametrize("own", [True, False])
async def test_each_tool_has_its_time(own: bool) -> None:
    """Its own limit, or the one for all; a thread that does not end is left behind."""
    release = threading.Event()
    ended: list[str] = []

    async def slow() -> None:
        await anyio.sleep(600)

    def slow_thread() -> None:
        release.wait(60)
        ended.append("slow_thread")

    limit = 0.5 if own else None
    settings = StepSettings(
        tools=(tool(timeout=limit)(slow), tool(timeout=limit)(slow_thread), tool(echo)),
        timeout=None if own else 0.5,
    )
    calls = [call("slow", {}, "a"), call("slow_thread", {}, "b"), call("echo", {"city": "A"}, "c")]
    tools = await run(settings, *calls)
    assert ended == []
    release.set()

    assert [r.is_error for r in tools.results] == [True, True, False]
    assert "longer than 0.5 seconds" in str(tools.results[0].content)


async def test_a_tool_that_runs_out_of_time_can_notice() -> None:
    """Its signal is set; a thread cannot be stopped otherwise."""
    noticed = threading.Event()

    def patient(abort_signal: AbortSignal) -> None:
        while not abort_signal.aborted:
            time.sleep(0.01)
        noticed.set()

    await run(StepSettings(tools=(tool(timeout=0.5)(patient),)), call("patient", {}))

    assert await anyio.to_thread.run_sync(lambda: noticed.wait(PATIENCE_S))


async def test_stopping_ends_what_runs() -> None:
    """Calls that have no result yet are pending then."""
    started, ended = anyio.Event(), list[str]()

    async def endless() -> None:
        try:
            started.set()
            await anyio.sleep(60)
        finally:
            ended.append("endless")

    tools = StepTools([call("endless", {})], StepSettings(tools=(tool(endless),)))
    await tools.aclose()  # before it began: there is nothing to wait for
    tools = StepTools([call("endless", {})], StepSettings(tools=(tool(endless),)))
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(tools.run)
            await started.wait()
            await tools.aclose()

    assert ended == ["endless"]
    assert tools.pending == (call("endless", {}),)


# -- what tools are given


async def test_handlers_get_what_they_ask_for() -> None:
    """By parameter name, in plain and in asynchronous functions."""
    seen: dict[str, object] = {}

    def plain(x: int, messages: Any, context: Any) -> None:
        seen.update(x=x, messages=messages, context=context)

    async def waiting(tool_call_id: str, abort_signal: AbortSignal) -> None:
        seen.update(tool_call_id=tool_call_id, aborted=abort_signal.aborted)

    settings = StepSettings(
        tools=(tool(plain), tool(waiting)), messages=(Message.user("hi"),), context={"user": 7}
    )
    await run(settings, call("plain", {"x": 1}, "a"), call("waiting", {}, "b"))

    assert seen == {
        "x": 1,
        "messages": (Message.user("hi"),),
        "context": {"user": 7},
        "tool_call_id": "b",
        "aborted": False,
    }


async def test_an_abort_reaches_every_tool() -> None:
    """The model does not receive an exception that the tool then raises."""
    controller = AbortController()

    def obeys(abort_signal: AbortSignal) -> None:
        controller.abort("enough")
        abort_signal.throw_if_aborted()

    tools = await run(
        StepSettings(tools=(tool(obeys),), signal=controller.signal), call("obeys", {})
    )

    assert isinstance(tools.error, AbortError)
    assert tools.results == ()


# -- calls that are not ours to run


@pytest.mark.parametrize(
    "passive",
    [
        Tool("look"),
        ToolDefinition("look"),
        CustomTool("look"),
        HostedTool.shell(),
        HostedTool.raw("any", {"type": "x"}),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_calls_of_passive_tools_are_pending(passive: Any) -> None:
    """The tools beside them run all the same."""
    settings = StepSettings(tools=(passive, tool(echo)))
    tools = await run(settings, call("look", {}, "a"), call("echo", {"city": "B"}, "b"))

    assert [one.id for one in tools.pending] == ["a"]
    assert [one.tool_call_id for one in tools.results] == ["b"]


async def test_approval_is_waited_for() -> None:
    """By a flag, or by what a function says of the arguments."""

    async def risky(arguments: Any) -> bool:
        return bool(arguments["city"] == "A")

    settings = StepSettings(
        tools=(
            tool(name="always", needs_approval=True)(echo),
            tool(name="asks", needs_approval=risky)(echo),
        )
    )
    calls = [
        call("always", {"city": "A"}, "a"),
        call("asks", {"city": "A"}, "b"),
        call("asks", {"city": "B"}, "c"),
        call("always", {"city": 1}, "d"),
    ]
    tools = await run(settings, *calls)

    assert [one.id for one in tools.pending] == ["a", "b"]
    assert [(one.tool_call_id, one.is_error) for one in tools.results] == [
        ("c", False),
        ("d", True),
    ]

    tools = await run(evolve(settings, approvals={"a": True, "b": False}), *calls[:2])
    assert [(one.content, one.is_error) for one in tools.results] == [
        ("A", False),
        ("the user did not approve this call", True),
    ]


async def test_a_question_that_fails_is_not_an_approval() -> None:
    """The run ends, and nothing is run."""

    def breaks(_: object) -> bool:
        raise KeyError

    called: list[str] = []

    @tool(needs_approval=breaks)
    def risky(city: str) -> None:
        called.append(city)

    tools = await run(StepSettings(tools=(risky,)), call("risky", {"city": "A"}))

    assert isinstance(tools.error, LLMError)
    assert called == []


def test_unanswered_calls_are_found() -> None:
    """Of the last assistant message, whatever results follow it."""
    a, b = call("x", {}, "a"), call("x", {}, "b")
    asked = [Message.user("hi"), Message.assistant(a, b)]

    assert unanswered(asked) == (a, b)
    assert unanswered([*asked, Message.tool("a", "1")]) == (b,)
    assert unanswered([*asked, Message.tool("a", "1"), Message.tool("b", "2")]) == ()
    assert unanswered([*asked, Message.user("never mind")]) == ()
    assert unanswered([]) == ()
