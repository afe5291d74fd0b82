"""`generate`: the loop of calls and tools, over a scripted provider."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from llmcore.catalog.lookup import get_latest_model
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.folds.grammar import violations
from llmcore.folds.segments import complete_segments
from llmcore.generation.generate import generate
from llmcore.generation.next_step import NextStep
from llmcore.generation.results import (
    GenerateResult,
    StepResult,
    has_tool_call,
    step_count_is,
    total_usage,
)
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.stream import stream
from llmcore.generation.tool import Tool, tool
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    StreamError,
)
from llmcore.schema.events import (
    Finish,
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import ToolChoice, ToolDefinition
from llmcore.schema.usage import Usage
from llmcore.testing import scripted
from tests.support.servers.loopback import chat_chunk, chat_whole
from tests.support.wire.generation import any_model, calls_of, client_of, text_of

pytestmark = pytest.mark.anyio

MODEL = any_model()


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


CALL = calls_of(("c1", "look", {"city": "A"}))


def roles(body: Any) -> list[str]:
    return [message["role"] for message in body["messages"]]


# -- one response


async def test_a_prompt_gives_text() -> None:
    """With everything a caller wants to know about it."""
    client, transport = client_of(text_of())
    result = await generate(MODEL, "Hi", client=client, system="Be brief.", max_tokens=9)

    assert result.text == "Hello"
    assert result.reasoning is None
    assert (result.tool_calls, result.tool_results, result.pending_calls) == ((), (), ())
    assert result.finish_reason.reason == "stop"
    assert result.usage.total_tokens == result.total_usage.total_tokens == 5
    assert len(result.steps) == 1
    assert result.steps[0].requests == 1
    assert result.response is result.steps[0].response
    assert result.output is None
    assert result.messages == (Message.user("Hi"), result.response.message)
    assert transport.bodies[0]["stream"] is True


async def test_a_response_in_one_piece_is_fine_too() -> None:
    """Some servers do not stream when asked to; the result is the same."""
    streamed, _ = client_of(text_of())
    whole, _ = client_of(chat_whole())

    first = await generate(MODEL, "Hi", client=streamed)
    second = await generate(MODEL, "Hi", client=whole)
    assert first.messages == second.messages
    assert first.usage == second.usage


async def test_a_conversation_goes_on() -> None:
    """`messages` of one result are the messages of the next call."""
    client, transport = client_of(text_of("One"), text_of("Two"))
    first = await generate(MODEL, "Hi", client=client)
    await generate(MODEL, messages=[*first.messages, Message.user("And?")], client=client)

    assert roles(transport.bodies[1]) == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"prompt": "Hi", "messages": [Message.user("Hi")]}, "prompt or messages"),
        ({}, "prompt or messages"),
        ({"prompt": "Hi", "max_tool_rounds": -1}, "max_tool_rounds"),
        ({"prompt": "Hi", "tool_errors": "ignore"}, "tool_errors"),
        ({"prompt": "Hi", "tools": [look, look]}, "two tools have the same name: look"),
        ({"prompt": "Hi", "tools": ["look"]}, "tools must be"),
        ({"prompt": "Hi", "max_retries": 1, "retry_policy": RetryPolicy()}, "max_retries"),
        ({"prompt": "Hi", "max_retries": -1}, "max_retries"),
        ({"prompt": "Hi", "timeout": 0}, "total"),
        ({"prompt": "Hi", "approvals": {"c9": True}}, "c9"),
    ],
)
async def test_contradictory_settings_raise_before_anything_is_sent(
    settings: dict[str, Any], problem: str
) -> None:
    """Nothing is sent."""
    client, transport = client_of()
    with pytest.raises(LLMError, match=problem):
        await generate(MODEL, client=client, **settings)

    assert transport.requests == []


async def test_unknown_settings_are_type_errors() -> None:
    """As of every function."""
    with pytest.raises(TypeError, match="temprature"):
        await generate(MODEL, "Hi", temprature=1.0)  # type: ignore[call-arg]


async def test_what_the_provider_refuses_is_raised() -> None:
    """As the one typed error."""
    client, _ = client_of((404, {}, {"error": {"message": "no such model"}}))
    with pytest.raises(NotFoundError, match="no such model"):
        await generate(MODEL, "Hi", client=client)


async def test_an_unknown_model_is_a_configuration_error() -> None:
    """A string needs a provider, unless the catalog knows whose it is."""
    with pytest.raises(ConfigurationError, match="which provider"):
        await generate("nobody-knows", "Hi", client=Client())
    with pytest.raises(ConfigurationError, match="'openai', which is not configured"):
        await generate("gpt-5.2", "Hi", client=Client())


# -- rounds


async def test_a_tool_is_run_and_its_result_sent_back() -> None:
    """One round is the default."""
    client, transport = client_of(CALL, text_of())
    result = await generate(MODEL, "Hi", tools=[look], client=client)

    assert result.text == "Hello"
    assert len(result.steps) == 2
    assert [r.content for r in result.steps[0].tool_results] == ["sunny in A"]
    assert result.steps[0].tool_calls == (ToolCallPart("c1", "look", {"city": "A"}),)
    assert roles(transport.bodies[1]) == ["user", "assistant", "tool"]
    assert [m.role for m in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.usage.total_tokens == 5
    assert result.total_usage.total_tokens == 19
    assert result.total_usage == result.steps[0].usage + result.steps[1].usage


@pytest.mark.parametrize("rounds", [0, 1, 2, 4])
async def test_rounds_of_tools_end_at_the_limit_and_leave_the_last_calls_pending(
    rounds: int,
) -> None:
    """At most one call of the model more than there are rounds; the last calls come back."""
    ran: list[str] = []

    def look(city: str) -> None:
        ran.append(city)

    client, transport = client_of(*[CALL] * (rounds + 1))
    result = await generate(MODEL, "Hi", tools=[look], max_tool_rounds=rounds, client=client)
    transport.finish()

    assert ran == ["A"] * rounds
    assert len(result.steps) == rounds + 1
    used_up = "tool-rounds-used-up" in [one.code for one in result.last.diagnostics]
    assert used_up == bool(rounds)  # 0 asks for the calls
    assert [call.id for call in result.pending_calls] == ["c1"]
    assert result.tool_results == ()
    assert result.finish_reason.reason == "tool_calls"
    assert all(not step.pending_calls for step in result.steps[:-1])


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        (ToolChoice.required(), True),
        (ToolChoice.named("look"), True),
        (ToolChoice.auto(), False),
    ],
)
async def test_rounds_used_up_name_a_tool_choice_that_requires_calls(
    choice: ToolChoice, named: bool
) -> None:
    """The model cannot answer with text then."""

    def look(city: str) -> None:
        pass

    client, _ = client_of(CALL, CALL)
    result = await generate(MODEL, "Hi", tools=[look], tool_choice=choice, client=client)

    (note,) = [one for one in result.diagnostics if one.code == "tool-rounds-used-up"]
    assert ("tool_choice" in note.message) == named


async def test_calls_of_passive_tools_are_not_rounds_used_up() -> None:
    """They come back whatever the limit."""
    client, _ = client_of(CALL, calls_of(("c2", "ask_user", {})))
    result = await generate(MODEL, "Hi", tools=[look, Tool("ask_user")], client=client)

    assert [call.name for call in result.pending_calls] == ["ask_user"]
    assert result.diagnostics == ()


async def test_a_prebuilt_request_runs_with_tools() -> None:
    """Its settings hold for every step."""
    client, transport = client_of(CALL, text_of())
    built = request(model=MODEL, prompt="Hi", temperature=0.5, tools=[look.definition])
    result = await generate(request=built, tools=[look], client=client)

    assert result.text == "Hello"
    assert [step.tool_results[0].content for step in result.steps[:1]] == ["sunny in A"]
    bodies: list[Any] = [json.loads(sent.body) for sent in transport.requests]
    assert [body["temperature"] for body in bodies] == [0.5, 0.5]
    assert [len(body["tools"]) for body in bodies] == [1, 1]


async def test_all_results_go_in_one_request() -> None:
    """In the order of the calls."""
    calls = [(f"c{n}", "look", {"city": str(n)}) for n in range(5)]
    client, transport = client_of(calls_of(*calls), text_of())
    await generate(MODEL, "Hi", tools=[look], client=client)
    body: Any = transport.bodies[1]

    assert [m["tool_call_id"] for m in body["messages"][2:]] == ["c0", "c1", "c2", "c3", "c4"]
    assert len(transport.requests) == 2


async def test_calls_of_a_cut_response_are_not_run() -> None:
    """They may be incomplete; the finish reason shows it."""
    client, _ = client_of(calls_of(("c1", "look", {"city": "A"}), reason="length"))
    result = await generate(MODEL, "Hi", tools=[look], client=client)

    assert result.finish_reason.reason == "length"
    assert result.tool_results == ()


async def test_errors_of_tools_reach_the_model() -> None:
    """Unknown tools, bad arguments and failures are results like others."""

    def breaks() -> None:
        raise KeyError("gone")

    calls = calls_of(("a", "nope", {}), ("b", "look", "{"), ("c", "breaks", {}))
    client, transport = client_of(calls, text_of())
    result = await generate(MODEL, "Hi", tools=[look, breaks], client=client)

    assert result.text == "Hello"
    assert [r.is_error for r in result.steps[0].tool_results] == [True, True, True]
    body: Any = transport.bodies[1]
    assert "no tool 'nope'" in body["messages"][2]["content"]
    assert "KeyError" in body["messages"][4]["content"]


async def test_exceptions_of_tools_are_raised_if_wanted() -> None:
    """With the exception as the cause, and the response that led to it."""

    def breaks() -> None:
        raise KeyError("gone")

    client, _ = client_of(calls_of(("c", "breaks", {}), text="Wait."))
    with pytest.raises(LLMError) as caught:
        await generate(MODEL, "Hi", tools=[breaks], tool_errors="raise", client=client)

    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Wait."


@pytest.mark.parametrize("passive", [Tool("ask"), ToolDefinition("ask")])
async def test_passive_tools_come_back(passive: Any) -> None:
    """Tools with handlers run; the run continues once the others have results."""
    calls = calls_of(("c1", "look", {"city": "A"}), ("c2", "ask", {}))
    client, transport = client_of(calls, text_of())
    result = await generate(MODEL, "Hi", tools=[look, passive], client=client)

    assert [call.id for call in result.tool_calls] == ["c1", "c2"]
    assert [call.id for call in result.pending_calls] == ["c2"]
    assert [r.tool_call_id for r in result.tool_results] == ["c1"]

    answered = [*result.messages, Message.tool("c2", "yes")]
    again = await generate(MODEL, messages=answered, tools=[look, passive], client=client)
    assert again.text == "Hello"
    body: Any = transport.bodies[1]
    assert [m.get("tool_call_id") for m in body["messages"][2:]] == ["c1", "c2"]


# -- approval


async def test_a_run_is_resumed_after_approval() -> None:
    """Messages and decisions are all that must be kept in between."""
    ran: list[str] = []

    @tool(needs_approval=True)
    def drop(table: str) -> str:
        ran.append(table)
        return "gone"

    calls = calls_of(("a", "drop", {"table": "x"}), ("b", "drop", {"table": "y"}))
    client, transport = client_of(calls, text_of())
    asked = await generate(MODEL, "Hi", tools=[drop], client=client)
    assert [call.id for call in asked.pending_calls] == ["a", "b"]
    assert ran == []

    done = await generate(
        MODEL,
        messages=asked.messages,
        tools=[drop],
        approvals={"a": True, "b": False},
        client=client,
    )
    assert done.text == "Hello"
    assert ran == ["x"]
    body: Any = transport.bodies[1]
    assert body["messages"][2]["content"] == "gone"
    assert "did not approve" in body["messages"][3]["content"]
    assert [m.role for m in done.messages] == ["user", "assistant", "tool", "assistant"]


async def test_half_a_decision_is_none() -> None:
    """Nothing is run before everything is decided."""
    ran: list[str] = []

    @tool(needs_approval=True)
    def drop(table: str) -> None:
        ran.append(table)

    client, _ = client_of(calls_of(("a", "drop", {"table": "x"}), ("b", "drop", {"table": "y"})))
    asked = await generate(MODEL, "Hi", tools=[drop], client=client)
    with pytest.raises(InvalidRequestError, match=r"still pending: drop \(b\)"):
        await generate(
            MODEL, messages=asked.messages, tools=[drop], approvals={"a": True}, client=client
        )

    assert ran == []


async def test_an_approval_is_for_one_call_only() -> None:
    """Servers that count calls from 0 in each response use its id again."""
    ran: list[str] = []

    @tool(needs_approval=True)
    def drop(table: str) -> None:
        ran.append(table)

    def call(table: str) -> Any:
        return calls_of(("call_0", "drop", {"table": table}))

    client, _ = client_of(call("x"), call("y"))
    asked = await generate(MODEL, "Hi", tools=[drop], client=client)
    again = await generate(
        MODEL, messages=asked.messages, tools=[drop], approvals={"call_0": True}, client=client
    )

    assert ran == ["x"]
    assert [call.id for call in again.pending_calls] == ["call_0"]


# -- stopping and preparing


@pytest.mark.parametrize(
    ("stop_when", "steps"),
    [
        (step_count_is(2), 2),
        (has_tool_call("look"), 1),
        ([has_tool_call("other"), step_count_is(3)], 3),
    ],
)
async def test_a_condition_stops_the_run(stop_when: Any, steps: int) -> None:
    """After the tools of the step: their results are kept, nothing is pending."""
    client, transport = client_of(*[CALL] * 9)
    result = await generate(
        MODEL, "Hi", tools=[look], max_tool_rounds=8, stop_when=stop_when, client=client
    )

    assert len(result.steps) == len(transport.requests) == steps
    assert [r.content for r in result.tool_results] == ["sunny in A"]
    assert result.pending_calls == ()
    assert result.messages[-1].role == "tool"


async def test_a_condition_that_was_not_called_is_an_error_that_names_it() -> None:
    client, _ = client_of(CALL, CALL)
    stop_when: Any = step_count_is

    with pytest.raises(InvalidRequestError, match=r"call it, such as step_count_is\(...\)"):
        await generate(
            MODEL, "Hi", tools=[look], max_tool_rounds=8, stop_when=stop_when, client=client
        )


async def test_a_condition_may_wait_and_sees_all_steps() -> None:
    """Each step with its results."""
    seen: list[int] = []

    async def enough(steps: Sequence[StepResult]) -> bool:
        seen.append(len(steps))
        return bool(steps[-1].tool_results) and len(steps) == 2

    client, _ = client_of(CALL, CALL)
    await generate(MODEL, "Hi", tools=[look], max_tool_rounds=8, stop_when=enough, client=client)

    assert seen == [1, 2]


async def test_a_step_is_prepared() -> None:
    """Model, messages, tools and choice, for that step alone."""
    seen: list[NextStep] = []

    async def prepare(step: NextStep) -> NextStep | None:
        seen.append(step)
        if step.number != 1:
            return None
        return evolve(
            step,
            model=Model("m-2", "any", route=MODEL.route),
            messages=[Message.user("short"), *step.messages[1:]],
            tools=[*step.tools, Tool("other")],
            tool_choice=ToolChoice.required(),
        )

    client, transport = client_of(CALL, CALL, text_of())
    result = await generate(
        MODEL, "Hi", tools=[look], max_tool_rounds=2, prepare_step=prepare, client=client
    )
    first, second, third = transport.bodies

    assert [step.number for step in seen] == [0, 1, 2]
    assert [len(step.steps) for step in seen] == [0, 1, 2]
    assert isinstance(second, dict)
    assert (second["model"], second["tool_choice"]) == ("m-2", "required")
    assert [t["function"]["name"] for t in second["tools"]] == ["look", "other"]
    assert second["messages"][0]["content"] == "short"
    for body in (first, third):
        assert isinstance(body, dict)
        assert body["model"] == "m-1"
        assert "tool_choice" not in body
        assert body["messages"][0]["content"] == "Hi"
    assert result.messages[0] == Message.user("Hi")


async def test_a_users_function_may_raise() -> None:
    """LLMErrors end the run as they are, others pass through."""

    def refuse(_: NextStep) -> None:
        raise InvalidRequestError("not today")

    def break_(_: NextStep) -> None:
        raise KeyError("mine")

    client, _ = client_of()
    with pytest.raises(InvalidRequestError, match="not today"):
        await generate(MODEL, "Hi", prepare_step=refuse, client=client)
    with pytest.raises(KeyError, match="mine"):
        await generate(MODEL, "Hi", prepare_step=break_, client=client)
    changes: Any = lambda _: {"model": "m-2"}  # noqa: E731  (no NextStep)
    with pytest.raises(InvalidRequestError, match=r"change it with evolve\(step"):
        await generate(MODEL, "Hi", prepare_step=changes, client=client)


# -- retries of each call


QUICK = RetryPolicy(base_delay=0, jitter=False)
BUSY: Any = (500, {}, {"error": {"message": "busy"}})


async def test_each_call_is_retried_by_itself() -> None:
    """A later failure does not run the tools again."""
    ran: list[str] = []

    def look(city: str) -> None:
        ran.append(city)

    client, transport = client_of(BUSY, BUSY, CALL, BUSY, BUSY, text_of())
    result = await generate(MODEL, "Hi", tools=[look], retry_policy=QUICK, client=client)
    transport.finish()

    assert result.text == "Hello"
    assert ran == ["A"]
    assert [step.requests for step in result.steps] == [3, 3]


async def test_half_a_response_is_asked_for_again() -> None:
    """Nobody has seen it; a broken connection is what retries are for."""
    client, transport = client_of([chat_chunk(delta={"content": "Half"})], text_of())
    result = await generate(MODEL, "Hi", retry_policy=QUICK, client=client)
    transport.finish()

    assert result.text == "Hello"
    assert result.steps[0].requests == 2


async def test_the_last_failure_keeps_what_had_arrived() -> None:
    """It was paid for."""
    client, _ = client_of([chat_chunk(delta={"content": "Half"})])
    with pytest.raises(StreamError) as caught:
        await generate(MODEL, "Hi", max_retries=0, client=client)

    assert caught.value.partial is not None
    assert caught.value.partial.text == "Half"


def test_usage_adds_up_from_nothing() -> None:
    """A provider that does not count leaves every number open."""
    assert total_usage([]) == Usage()


# -- responses that only some providers give


def answered(*answers: list[LLMEvent]) -> tuple[Client, list[LLMRequest]]:
    """Return a client that answers with events, in order, and what it was asked."""
    left, asked = list(answers), list[LLMRequest]()

    def answer(request: LLMRequest, next: Next) -> EventStream:
        assert next is not None
        asked.append(request)
        return EventStream.of(left.pop(0))

    return Client(middleware=[answer]), asked


def step(*events: LLMEvent, reason: FinishReasonKind, note: str) -> list[LLMEvent]:
    """Return the events of one response, with a Diagnostic at each end."""
    finish = FinishReason(reason)
    first, last = (
        (Diagnostic(f"{note}-{end}", "", action="noted", message=""),) for end in ("a", "z")
    )
    return [
        StreamStart(provider="any", model="m-1", diagnostics=first),
        StepStart(),
        *complete_segments(events),
        StepFinish(finish_reason=finish),
        Finish(finish_reason=finish, diagnostics=last),
    ]


def called(id_: str, name: str, *, by_provider: bool = False) -> list[LLMEvent]:
    return [
        ToolInputStart(id_, name, provider_executed=by_provider),
        ToolInputEnd(id_, "{}"),
    ]


async def test_calls_that_the_provider_ran_are_not_run_again() -> None:
    """Though a tool of ours has the same name; they stay in the message."""
    ran: list[str] = []

    @tool
    def search(tool_call_id: str) -> str:
        ran.append(tool_call_id)
        return "ours"

    theirs: list[LLMEvent] = [
        *called("p", "search", by_provider=True),
        ToolResult("p", "theirs", name="search", provider_executed=True),
    ]
    client, asked = answered(
        step(*theirs, *called("o", "search"), reason="tool_calls", note="1"),
        step(reason="stop", note="2"),
    )
    result = await generate(MODEL, "Hi", tools=[search], client=client)

    assert ran == ["o"]
    assert [r.tool_call_id for r in result.steps[0].tool_results] == ["o"]
    answer = asked[1].messages[1]
    assert [getattr(part, "id", "result") for part in answer.content] == ["p", "result", "o"]

    client, asked = answered(step(*theirs, reason="tool_calls", note="1"))
    result = await generate(MODEL, "Hi", tools=[search], client=client)
    assert (ran, len(asked), result.pending_calls) == (["o"], 1, ())


async def test_diagnostics_and_reasoning_are_kept() -> None:
    """Diagnostics of every step, reasoning of the last."""
    thinking: list[LLMEvent] = [ReasoningStart("r"), ReasoningDelta("r", "Hm."), ReasoningEnd("r")]
    answers = (
        step(*called("o", "look"), reason="tool_calls", note="1"),
        step(*thinking, reason="stop", note="2"),
    )
    client, _ = answered(*answers)
    result = await generate(MODEL, "Hi", tools=[look], client=client)
    assert result.reasoning == "Hm."
    assert [one.code for one in result.diagnostics] == ["1-a", "1-z", "2-a", "2-z"]

    client, _ = answered(*answers)
    events = [event async for event in stream(MODEL, "Hi", tools=[look], client=client)]
    assert violations(events) == []
    assert isinstance(events[0], StreamStart)
    assert isinstance(events[-1], Finish)
    told = (*events[0].diagnostics, *events[-1].diagnostics)
    assert [one.code for one in told] == ["1-a", "1-z", "2-a", "2-z"]


async def test_events_that_make_no_response_are_an_error() -> None:
    """A stream may finish and still not add up."""
    begun, ended = step(reason="stop", note="1")[:2], step(reason="stop", note="1")[2:]
    client, _ = answered([*begun, TextDelta("t", "x"), *ended])
    with pytest.raises(StreamError, match="out of order"):
        await generate(MODEL, "Hi", client=client)


async def test_result_is_json_and_can_be_continued() -> None:
    """To be kept, and gone on from later."""
    client, _ = client_of(CALL, text_of())
    result = await generate(MODEL, "Hi", tools=[look], client=client)

    assert from_json(GenerateResult, to_json(result)) == result
    assert from_json(StepResult, to_json(result.steps[0])) == result.steps[0]


async def test_a_call_without_a_model_goes_to_the_newest_of_the_default_provider() -> None:
    """Nobody has to know its id."""
    transport = scripted(text_of())
    facade = OpenAICompatible.configure(name="openai", base_url="https://x", api_key="k")
    client = Client(providers={"openai": facade}, default_provider="openai", transport=transport)
    await generate(prompt="Hi", client=client)

    newest = get_latest_model("openai")
    assert newest is not None
    body: Any = json.loads(transport.requests[0].body)
    assert body["model"] == newest.id
