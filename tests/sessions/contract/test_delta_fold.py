"""Events become the contract's deltas."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema import events
from llmcore.schema.errors import RateLimitError
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.schema.result import Success
from llmcore.schema.usage import Usage
from llmcore.sessions.contract.assembly import assemble
from llmcore.sessions.contract.codec import delta_from_wire, to_wire
from llmcore.sessions.contract.delta_fold import DeltaFold, to_deltas
from llmcore.sessions.contract.deltas import (
    DeltaDone,
    DeltaError,
    DeltaPayload,
    DeltaStart,
    DeltaText,
    DeltaThinking,
    DeltaToolCallArgs,
    DeltaToolCallEnd,
    DeltaToolCallStart,
    DeltaUsage,
    MessageDelta,
)
from llmcore.sessions.contract.entries import EntryText, EntryToolCall
from llmcore.sessions.contract.errors import FailedResponseError, UnfinishedStreamError
from tests.support.strategies.values import framed, streams
from tests.support.wire import chat

USAGE = Usage.make(input_tokens=3, output_tokens=2, cost_usd=0.25)
STOP = events.FinishReason("stop", "end_turn")


def deltas(found: Iterable[LLMEvent], taken: Iterable[str] = ()) -> list[MessageDelta]:
    """Return the deltas of *found*, with a clock and ids that count."""
    ticks, ids = count(), count(1)
    return list(
        to_deltas(
            found,
            "run-1",
            lambda: f"2026-11-22T12:00:{next(ticks):02}Z",
            lambda: f"id-{next(ids)}",
            taken=[*taken],
        )
    )


def payloads(found: Iterable[LLMEvent]) -> list[DeltaPayload]:
    return [delta.payload for delta in deltas(found)]


def test_a_response_becomes_deltas_in_the_order_of_its_events() -> None:
    """Text, thinking and calls as they come; usage and the reason at the end."""
    stream = complete_segments(
        framed(
            [
                events.ReasoningStart("r"),
                events.ReasoningDelta("r", "Hm."),
                events.ReasoningEnd("r", signature="sig"),
                events.TextStart("t"),
                events.TextDelta("t", "Hel"),
                events.TextDelta("t", ""),
                events.TextDelta("t", "lo"),
                events.TextEnd("t"),
                events.ToolInputStart("c", "look"),
                events.ToolInputDelta("c", '{"a":'),
                events.ToolInputDelta("c", "1}"),
                events.ToolInputEnd("c"),
            ],
            start=events.StreamStart(provider="acme", model="m-1", request_id="req-9"),
            step_finish=events.StepFinish(finish_reason=STOP, usage=USAGE),
        )
    )

    assert payloads(stream) == [
        DeltaStart("m-1", "req-9"),
        DeltaThinking("Hm."),
        DeltaText("Hel"),
        DeltaText("lo"),
        DeltaToolCallStart("c", "look"),
        DeltaToolCallArgs("c", '{"a":'),
        DeltaToolCallArgs("c", "1}"),
        DeltaToolCallEnd("c"),
        DeltaUsage(input_tokens=3, output_tokens=2, total_tokens=5, cost=0.25),
        DeltaDone("stop"),
    ]
    assert [delta.seq for delta in deltas(stream)] == list(range(1, 11))
    assert deltas(stream)[0].timestamp == "2026-11-22T12:00:00Z"


def choices(chunk: Any) -> list[Any]:
    """Return the choices of a Chat Completions chunk; the end of the stream has none."""
    return [*chunk.get("choices", ())]


@pytest.mark.parametrize("raw", [True, False])
def test_provider_raw_has_each_native_frame_once_where_the_call_asked_for_it(raw: bool) -> None:
    """At the first delta that the frame gives; the deltas say the same without it."""
    stream = decode_response(
        protocol_by_id("openai-chat"),
        Framing.sse(),
        request(model=Model("m", "p"), prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream"},
        chunks=[chat.sse(chat.text_chunks("Hel", "lo"))],
        streaming=True,
        raw=raw,
    )
    found = deltas(stream)
    native = [delta.provider_raw for delta in found if delta.provider_raw is not None]

    assert [delta.payload for delta in found if delta.kind == "text"] == [
        DeltaText("Hel"),
        DeltaText("lo"),
    ]
    texts = [choice["delta"].get("content") for frame in native for choice in choices(frame)]
    assert [text for text in texts if text] == (["Hel", "lo"] if raw else [])
    assert [delta_from_wire(to_wire(delta)) for delta in found] == found


@pytest.mark.parametrize(
    ("start", "request_id"),
    [
        (events.StreamStart(provider="a", model="m", id="resp-1", request_id="req-1"), "req-1"),
        (events.StreamStart(provider="a", model="m", id="resp-1"), "resp-1"),
        (events.StreamStart(provider="a", model="m"), "id-1"),
    ],
)
def test_the_request_id_falls_back_to_the_response_id_and_a_new_id(
    start: events.StreamStart, request_id: str
) -> None:
    """The provider's, the response's, or one that is made."""
    assert payloads([start]) == [DeltaStart("m", request_id)]


def test_an_error_event_becomes_usage_and_an_error_delta() -> None:
    """Its class is the code, and nothing is a message."""
    stream: list[LLMEvent] = [
        events.StreamStart(provider="acme", model="m-1"),
        events.TextStart("t"),
        events.TextDelta("t", "Hal"),
        events.ErrorEvent(RateLimitError("slow down", error_code="429x")),
    ]

    assert payloads(stream)[-1] == DeltaError("RateLimitError", "slow down", True)
    assert isinstance(assemble(deltas(stream)).failure(), FailedResponseError)


def test_an_error_before_the_response_gives_a_start_and_an_error() -> None:
    """A call that failed at once starts with no model."""
    error = events.ErrorEvent(RateLimitError("slow down", request_id="req-1"))

    assert payloads([error]) == [
        DeltaStart("", "req-1"),
        DeltaError("RateLimitError", "slow down", True),
    ]


def test_a_retry_after_an_error_is_a_separate_stream() -> None:
    """Continuing with the run's fold gives a start, and a message."""
    failed = [*list(framed([]))[:1], events.ErrorEvent(RateLimitError("slow down"))]
    again = framed([events.TextStart("t"), events.TextDelta("t", "Hi"), events.TextEnd("t")])
    found = deltas([*failed, *again])
    second = next(n for n, delta in enumerate(found) if n and delta.kind == "start")

    assert isinstance(assemble(found[:second]).failure(), FailedResponseError)
    assert assemble(found[second:]).unwrap().text == "Hi"


def test_calls_that_the_provider_ran_give_no_deltas() -> None:
    """They have no deltas."""
    stream = complete_segments(
        framed(
            [
                events.ToolInputStart("s", "web_search", provider_executed=True),
                events.ToolInputDelta("s", "{}"),
                events.ToolInputEnd("s"),
            ]
        )
    )

    assert [delta.kind for delta in deltas(stream)] == ["start", "done"]


def call(id_: str) -> list[LLMEvent]:
    return [events.ToolInputStart(id_, "look"), events.ToolInputEnd(id_)]


def test_a_call_id_that_the_run_has_is_replaced() -> None:
    """Providers count calls anew in each response; in a run their ids are unique."""
    found = deltas(complete_segments(framed(call("call_0"))), taken=["call_0"])

    (made,) = assemble(found).unwrap().tool_calls
    assert made.tool_call_id.startswith("id-")


def looped() -> Iterator[LLMEvent]:
    """Yield what a tool loop of two steps says."""
    reason = events.FinishReason("tool_calls")
    yield events.StreamStart(provider="acme", model="m-1", request_id="req-1")
    yield events.StepStart(0)
    yield from call("c")
    yield events.StepFinish(finish_reason=reason, usage=USAGE)
    yield events.ToolResult("c", "21 degrees")
    yield events.StepStart(1)
    yield from call("c")
    yield from (events.TextStart("t"), events.TextDelta("t", "Warm."), events.TextEnd("t"))
    yield events.StepFinish(finish_reason=STOP, step=1, usage=USAGE)
    yield events.Finish(finish_reason=STOP, usage=USAGE + USAGE)


def test_each_step_of_a_tool_loop_is_a_separate_stream() -> None:
    """They follow one another, `seq` rising, and each gives its own entry and usage."""
    found = deltas(complete_segments(looped()))
    second = next(n for n, delta in enumerate(found) if n and delta.kind == "start")
    first, then = assemble(found[:second]).unwrap(), assemble(found[second:]).unwrap()

    assert first.parts == (EntryToolCall("c", "look", {}),)
    assert then.parts == (EntryToolCall("id-2", "look", {}), EntryText("Warm."))
    assert first.meta["usage"] == then.meta["usage"]
    assert (first.meta["finishReason"], then.meta["finishReason"]) == ("tool_calls", "stop")
    assert [delta.seq for delta in found] == list(range(1, len(found) + 1))


def test_each_step_names_the_model_that_answers_it() -> None:
    """A run may change the model from step to step; each has a request of its own."""
    other = events.StreamStart(provider="acme", model="m-2", request_id="req-2")
    stream = [
        evolve(event, start=other) if event == events.StepStart(1) else event
        for event in complete_segments(looped())
    ]

    starts = [delta.payload for delta in deltas(stream) if isinstance(delta.payload, DeltaStart)]
    assert starts == [DeltaStart("m-1", "req-1"), DeltaStart("m-2", "req-2")]


def test_a_loop_that_fails_between_steps_ends_the_finished_step() -> None:
    """The complete part stays complete; the error is a stream of its own."""
    stream = [*list(complete_segments(looped()))[:7], events.ErrorEvent(RateLimitError("no"))]
    found = deltas(stream)
    second = next(n for n, delta in enumerate(found) if n and delta.kind == "start")

    assert isinstance(assemble(found[:second]), Success)
    assert isinstance(assemble(found[second:]).failure(), FailedResponseError)
    assert found[second].payload == DeltaStart("", "id-1")


def test_a_loop_that_ends_with_results_emits_one_done() -> None:
    """The stream of its last step has ended; `Finish` adds nothing."""
    stream = list(complete_segments(looped()))
    results = next(n for n, e in enumerate(stream) if isinstance(e, events.ToolResult))
    found = deltas([*stream[: results + 1], stream[-1]])

    assert [delta.kind for delta in found][-2:] == ["usage", "done"]
    assert isinstance(assemble(found), Success)


@given(streams(may_fail=False))
def test_the_assembled_entry_equals_the_response(stream: list[LLMEvent]) -> None:
    """Text, refusals and the caller's calls are the same by either way."""
    response = collect(stream).unwrap()
    entry = assemble(deltas(stream)).unwrap()

    said = "".join(e.text for e in stream if isinstance(e, events.TextDelta))
    assert entry.text == said
    calls = {call.id: call for call in response.tool_calls}
    assert [made.tool_call_id for made in entry.tool_calls] == list(calls)
    for made in entry.tool_calls:
        wanted = calls[made.tool_call_id]
        assert made.tool_name == wanted.name
        if wanted.kind == "function":
            given_ = made.arguments if made.raw_args_text is None else made.raw_args_text
            assert given_ == wanted.arguments


@given(streams(), st.data())
def test_every_event_stream_gives_a_delta_stream_with_the_same_ending(
    stream: list[LLMEvent], data: st.DataObject
) -> None:
    """A failed response fails, one that breaks off is unfinished, and JSON keeps every delta."""
    found = deltas(stream)
    assert [delta_from_wire(to_wire(delta)) for delta in found] == found
    assert isinstance(assemble(found), Success) == isinstance(stream[-1], events.Finish)

    cut = data.draw(st.integers(1, len(stream)))
    if not isinstance(stream[cut - 1], events.Finish | events.ErrorEvent):
        assert isinstance(assemble(deltas(stream[:cut])).failure(), UnfinishedStreamError)


@given(streams())
def test_processing_events_singly_equals_to_deltas(stream: list[LLMEvent]) -> None:
    """The incremental form gives the deltas of the whole."""
    ids = count(1)
    fold = DeltaFold("run-1", lambda: "t", lambda: f"id-{next(ids)}")
    one_by_one = [delta.payload for event in stream for delta in fold.feed(event)]

    assert one_by_one == payloads(stream)
