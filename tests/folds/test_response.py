"""From events to a response."""

import gc
import weakref

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import Accumulator, collect
from llmcore.folds.segments import SegmentFold, complete_segments
from llmcore.schema.codec import to_json
from llmcore.schema.content import ContentPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import RateLimitError, StreamError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    Finish,
    FinishReason,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.messages import Message, Origin
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Success
from llmcore.schema.usage import RateLimitInfo, Usage
from tests.support.strategies.values import bare_streams, framed, streams

STOP = FinishReason("stop", "end_turn")
STARTS: dict[type, str] = {
    TextStart: "text",
    ReasoningStart: "reasoning",
    ToolInputStart: "tool",
}


def fed(events: list[LLMEvent]) -> Accumulator:
    """Return an accumulator that has taken *events*."""
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator


def test_a_response_that_is_one_text_is_made_of_four_of_its_events() -> None:
    start, end = StreamStart(provider="x", model="m", id="r", protocol="p"), TextEnd("t", "Hi")
    usage = Usage.make(input_tokens=1, output_tokens=2)
    step, finish = StepFinish(finish_reason=STOP, usage=usage), Finish(finish_reason=STOP, raw={})
    accumulator = Accumulator()
    accumulator.feed_text(start, end, step, finish)
    expected = fed([start, StepStart(), TextStart("t"), TextDelta("t", "Hi"), end, step, finish])

    assert accumulator.finished
    assert accumulator.response() == expected.response()
    assert accumulator.partial == expected.partial


# -- laws


@given(streams())
def test_events_one_by_one_or_all_at_once(stream: list[LLMEvent]) -> None:
    """The incremental fold and the whole one agree, also when partial results are read between."""
    accumulator = Accumulator()
    for event in stream:
        accumulator.feed(event)
        assert isinstance(accumulator.partial, LLMResponse)

    assert accumulator.response() == collect(stream)


@given(bare_streams(), st.data())
def test_text_may_be_shared_instead_of_fed(bare: list[LLMEvent], data: st.DataObject) -> None:
    """Text from completed segments is joined once, with the same result."""
    fold, accumulator, plain = SegmentFold(), Accumulator(), Accumulator()
    cut = data.draw(st.integers(0, len(bare)))
    for number, one in enumerate(bare):
        for event in fold.feed(one):
            plain.feed(event)
            if not isinstance(event, TextDelta | ReasoningDelta | ToolInputDelta):
                accumulator.feed(event)
            if type(event) in STARTS:
                key = STARTS[type(event)], getattr(event, "id", "")
                if (chunks := fold.chunks(key)) is not None:
                    accumulator.share_chunks(key, chunks)
        if number == cut:
            assert accumulator.partial == plain.partial

    assert accumulator.response() == plain.response()


@given(streams(may_fail=False))
def test_a_stream_that_ends_well_is_a_response(stream: list[LLMEvent]) -> None:
    """The frame of the stream is the frame of the response."""
    response = collect(stream).unwrap()
    start, finish = stream[0], stream[-1]

    assert isinstance(start, StreamStart)
    assert isinstance(finish, Finish)
    assert (response.provider, response.model, response.id) == (
        start.provider,
        start.model,
        start.id,
    )
    assert response.finish_reason == finish.finish_reason
    assert response.raw == finish.raw
    assert set(response.diagnostics) >= {*start.diagnostics, *finish.diagnostics}


@given(streams(may_fail=False))
def test_a_stream_that_breaks_off_is_not_a_response(stream: list[LLMEvent]) -> None:
    """However much had arrived, half a response is a failure that carries the half."""
    outcome = collect(stream[:-1])

    assert isinstance(outcome, Failure)
    error = outcome.failure()
    assert isinstance(error, StreamError)
    assert error.partial == fed(stream[:-1]).partial


def holds(whole: ContentPart, half: ContentPart) -> bool:
    """Return whether *half* is *whole*, or the beginning of its text."""
    if half == whole:
        return True
    return (
        isinstance(half, TextPart | ReasoningPart | RefusalPart)
        and type(half) is type(whole)
        and getattr(whole, "text", "").startswith(half.text)
    )


@given(streams(), st.data())
def test_a_partial_is_the_beginning_of_what_follows(
    stream: list[LLMEvent], data: st.DataObject
) -> None:
    """Cut anywhere: parts in order, text a prefix, no tool call that is not whole."""
    cut = data.draw(st.integers(0, len(stream)))
    final = list(fed(stream).partial.message.content)

    for half in fed(stream[:cut]).partial.message.content:
        while final and not holds(final[0], half):
            skipped = final.pop(0)
            assert isinstance(skipped, ToolCallPart)  # it was not whole yet
        assert final
        final.pop(0)


@given(streams())
def test_partial_response_has_the_finish_reason_other_until_the_end(
    stream: list[LLMEvent],
) -> None:
    """It cannot be taken for a finished response until it is one."""
    end = next((at for at, event in enumerate(stream) if event.type == "finish"), len(stream))
    partial = fed(stream[:end]).partial

    assert partial.finish_reason == FinishReason("other")
    assert partial.raw is None
    match collect(stream):
        case Success(response):
            whole = fed(stream).partial
            assert evolve(whole, usage=response.usage) == response
            assert whole.usage == response.usage or whole.usage.estimated
        case Failure():
            assert fed(stream).partial.finish_reason == FinishReason("other")


# -- the frame


def test_response_holds_all_fields_of_start_step_and_finish() -> None:
    """Everything that start, step and end say is in the response."""
    first, second = (
        Diagnostic(code, "x", action="noted", message="m") for code in ("first", "second")
    )
    limits = RateLimitInfo(tokens_remaining=5)
    usage = Usage.make(input_tokens=1, output_tokens=2)
    stream: list[LLMEvent] = [
        StreamStart(
            provider="acme",
            model="roadrunner",
            id="r1",
            protocol="acme-chat",
            diagnostics=(first,),
            rate_limit=limits,
            request_id="req_1",
            provider_metadata={"acme": {"a": 1, "b": 1}},
        ),
        StepStart(),
        TextStart("0"),
        TextEnd("0", ""),
        StepFinish(finish_reason=STOP, usage=usage),
        Finish(
            finish_reason=STOP,
            usage=usage + usage,
            diagnostics=(second,),
            provider_metadata={"acme": {"b": 2}, "umbrella": {"c": 3}},
            raw={"id": "r1"},
        ),
    ]

    response = collect(stream).unwrap()

    assert response == LLMResponse(
        message=Message.assistant(
            TextPart(""), origin=Origin(provider="acme", model="roadrunner", protocol="acme-chat")
        ),
        finish_reason=STOP,
        provider="acme",
        model="roadrunner",
        id="r1",
        usage=usage,  # this step's; the end has all steps' together
        diagnostics=(first, second),
        rate_limit=limits,
        request_id="req_1",
        provider_metadata={"acme": {"a": 1, "b": 2}, "umbrella": {"c": 3}},
    )
    assert response.raw == {"id": "r1"}


@pytest.mark.parametrize(
    ("at_start", "at_step", "at_end", "expected"),
    [
        (1, 2, 3, 2),
        (1, None, 3, 3),
        (1, None, None, 1),
        (None, None, None, None),
    ],
)
def test_usage_is_the_last_that_was_reported(
    at_start: int | None, at_step: int | None, at_end: int | None, expected: int | None
) -> None:
    """The step's own count goes first, then the stream's, then what was known before."""

    def usage(count: int | None) -> Usage | None:
        return None if count is None else Usage(input_tokens=count)

    response = collect(
        framed(
            [],
            start=StreamStart(provider="acme", model="m", usage=usage(at_start)),
            step_finish=StepFinish(finish_reason=STOP, usage=usage(at_step)),
            finish=Finish(finish_reason=STOP, usage=usage(at_end)),
        )
    ).unwrap()

    assert response.usage == (usage(expected) or Usage())


def test_a_response_is_its_last_steps() -> None:
    """The tool loop keeps the earlier ones."""
    call: list[LLMEvent] = [
        ToolInputStart("c1", "f"),
        ToolInputDelta("c1", "{}"),
        ToolInputEnd("c1", "{}"),
        ToolCall("c1", "f", {}),
        Source(id="s1"),
        File(id="f1"),
    ]
    stream: list[LLMEvent] = [
        StreamStart(provider="acme", model="m"),
        StepStart(0),
        *call,
        StepFinish(finish_reason=FinishReason("tool_calls"), usage=Usage(input_tokens=1)),
        ToolResult("c1", "20 degrees"),
        StepStart(1),
        TextStart("0"),
        TextDelta("0", "20"),
        TextEnd("0", "20"),
        StepFinish(finish_reason=STOP, step=1),
        Finish(finish_reason=STOP),
    ]

    response = collect(stream).unwrap()

    assert response.message.content == (TextPart("20"),)
    assert (response.sources, response.diagnostics, response.usage) == ((), (), Usage())


def test_a_response_is_whose_step_it_is() -> None:
    """A later step may be answered by another model; what the first one lost stays told."""
    lost = Diagnostic("parameter-dropped", "seed", action="dropped", message="no seeds")
    stream: list[LLMEvent] = [
        StreamStart(provider="acme", model="m-1", id="r-1", diagnostics=(lost,)),
        StepStart(0),
        StepFinish(finish_reason=FinishReason("tool_calls")),
        StepStart(1, start=StreamStart(provider="zeta", model="m-2", id="r-2", request_id="q")),
        StepFinish(finish_reason=STOP, step=1),
        Finish(finish_reason=STOP),
    ]

    response = collect(stream).unwrap()

    assert (response.provider, response.model, response.id) == ("zeta", "m-2", "r-2")
    assert response.message.origin == Origin(provider="zeta", model="m-2")
    assert (response.request_id, response.diagnostics) == ("q", (lost,))


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        (None, Usage.make(input_tokens=None, output_tokens=5)),
        (
            Usage.make(input_tokens=9, output_tokens=1, cache_read_tokens=4),
            Usage.make(input_tokens=9, output_tokens=5, cache_read_tokens=4),
        ),
        (
            Usage.make(input_tokens=9, output_tokens=50),
            Usage.make(input_tokens=9, output_tokens=50),
        ),
    ],
)
def test_a_partial_estimates_what_it_cost(counted: Usage | None, expected: Usage) -> None:
    """Providers bill for a stream that broke off, but count only at its end."""
    partial = fed(
        [
            StreamStart(provider="acme", model="m", usage=counted),
            StepStart(),
            ReasoningStart("0"),
            ReasoningDelta("0", "four"),
            ReasoningEnd("0", "four"),
            TextStart("0"),
            TextDelta("0", "a" * 13),
        ]
    ).partial

    assert partial.usage == evolve(expected, estimated=True)


# -- failures


def test_a_partial_after_the_end_follows_later_events() -> None:
    accumulator = Accumulator()
    for event in (StreamStart(provider="p", model="m"), Finish(finish_reason=STOP)):
        accumulator.feed(event)
    assert accumulator.partial.usage.input_tokens is None
    accumulator.feed(StepFinish(finish_reason=STOP, usage=Usage(input_tokens=3)))
    assert accumulator.partial.usage.input_tokens == 3


def test_an_error_event_is_the_failure() -> None:
    """The error itself, not a copy."""
    error = RateLimitError("slow down")

    assert collect([*framed([])[:2], ErrorEvent(error)]).failure() is error


def test_no_events_are_not_a_response() -> None:
    """An empty stream is a failure with an empty partial."""
    error = collect([]).failure()

    assert isinstance(error, StreamError)
    assert error.message == "the stream ended before its end event"
    assert error.partial is not None
    assert error.partial.message == Message.assistant(origin=Origin(provider="", model=""))


@pytest.mark.parametrize(
    "inner",
    [
        [TextDelta("0", "x")],
        [ReasoningDelta("0", "x")],
        [ToolInputDelta("c1", "x")],
        [TextStart("0"), TextEnd("0", ""), TextDelta("0", "x")],
        [ReasoningStart("0"), ReasoningEnd("0"), ReasoningDelta("0", "x")],
    ],
    ids=lambda inner: " ".join(event.type for event in inner),
)
def test_a_misplaced_delta_is_a_failure(inner: list[LLMEvent]) -> None:
    """Text that belongs nowhere is not left out of a response that looks whole."""
    outcome = collect(framed(inner))

    assert isinstance(outcome, Failure)
    assert f"{inner[-1].type} of" in outcome.failure().message
    assert outcome.failure().partial is not None


def test_half_a_call_is_reported_and_left_out() -> None:
    """Nobody runs a tool with arguments that were cut off."""
    accumulator = fed(
        [
            StreamStart(provider="acme", model="m"),
            StepStart(),
            TextStart("0"),
            TextDelta("0", "Let me see"),
            ToolInputStart("c1", "f"),
            ToolInputDelta("c1", '{"q": '),
        ]
    )

    partial = accumulator.partial

    assert partial.message.content == (TextPart("Let me see"),)
    assert partial.tool_calls == ()
    assert partial.diagnostics == (
        Diagnostic(
            "incomplete-tool-call",
            "tool_calls[c1]",
            action="dropped",
            message='the stream ended within a call of f: {"q": ',
        ),
    )


def test_open_refusals_and_reasoning_are_partial_too() -> None:
    """The partial has them under their own types."""
    partial = fed(
        [
            StreamStart(provider="acme", model="m"),
            StepStart(),
            ReasoningStart("0"),
            ReasoningDelta("0", "h"),
            ReasoningDelta("0", "m"),
            TextStart("0", refusal=True),
            TextDelta("0", "I can"),
        ]
    ).partial

    assert partial.message.content == (ReasoningPart("hm"), RefusalPart("I can"))


# -- memory and purity


def test_an_accumulator_is_freed_at_once() -> None:
    """Nothing in it refers back to it, so its text does not wait for the garbage collector."""
    gc.disable()
    try:
        accumulator = fed(framed([]))
        gone = weakref.ref(accumulator)
        del accumulator
        assert gone() is None
    finally:
        gc.enable()


@given(streams())
def test_folding_changes_no_event(stream: list[LLMEvent]) -> None:
    """The same events can be folded again, with the same outcome."""
    before = [to_json(event) for event in stream]

    first, second = collect(stream), collect(stream)

    assert first == second
    assert [to_json(event) for event in stream] == before


def test_a_response_is_a_success() -> None:
    """The Result says which it is."""
    assert isinstance(collect(complete_segments(framed([]))), Success)


# -- a response that another model continues


def test_the_parts_of_a_model_that_was_cut_come_before_those_of_the_next_one() -> None:
    """Without its signatures, which the next model cannot read."""
    events: list[LLMEvent] = [
        StreamStart(provider="a", model="first"),
        StepStart(0),
        ReasoningStart("0"),
        ReasoningDelta("0", "Hm."),
        ReasoningEnd("0", "Hm.", signature="of the first"),
        StepStart(0, continues=True, start=StreamStart(provider="b", model="second")),
        TextStart("0"),
        TextDelta("0", "Yes."),
        TextEnd("0", "Yes."),
        StepFinish(finish_reason=STOP, step=0),
        Finish(finish_reason=STOP),
    ]
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)

    response = accumulator.partial

    assert response.message.content == (ReasoningPart("Hm."), TextPart("Yes."))
    assert (response.provider, response.model) == ("b", "second")


def test_a_stream_that_is_resumed_after_an_error_ends_without_it() -> None:
    accumulator = Accumulator()
    accumulator.feed(ErrorEvent(StreamError("cut")))
    accumulator.resume()
    accumulator.feed(Finish(finish_reason=STOP))

    assert accumulator.finished
