"""The event grammar."""

from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.segments import SEGMENT_TEXT_CHANGED
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    Finish,
    FinishReason,
    LLMEvent,
    ProviderEvent,
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
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from tests.support.strategies.values import streams

STOP = FinishReason("stop")
START = StreamStart(provider="acme", model="m")
END = Finish(finish_reason=STOP)
ERROR = ErrorEvent(StreamError("cut"))

TEXT: list[LLMEvent] = [TextStart("0"), TextDelta("0", "hi"), TextEnd("0", "hi")]
CALL: list[LLMEvent] = [
    ToolInputStart("c1", "f"),
    ToolInputDelta("c1", '{"q": 1}'),
    ToolInputEnd("c1", '{"q": 1}'),
    ToolCall("c1", "f", {"q": 1}),
]


def step(number: int, *inner: LLMEvent) -> list[LLMEvent]:
    """Return one whole step."""
    return [StepStart(number), *inner, StepFinish(finish_reason=STOP, step=number)]


# -- good lists


@given(streams())
def test_every_good_stream_passes(stream: list[LLMEvent]) -> None:
    """Whole streams and broken ones, as users see them."""
    assert violations(stream) == []


@given(streams(), st.data())
def test_every_beginning_of_a_good_stream_passes_as_one(
    stream: list[LLMEvent], data: st.DataObject
) -> None:
    """A stream that still runs may stand anywhere, but is not complete."""
    cut = data.draw(st.integers(0, len(stream) - 1))

    assert violations(stream[:cut], complete=False) == []
    assert violations(stream[:cut]) == [
        "no terminal event: expected Finish or ErrorEvent at the end"
    ]


@pytest.mark.parametrize(
    "stream",
    [
        [ERROR],
        [START, ERROR],
        [START, StepStart(), TextStart("0"), ERROR],
        [START, *step(0, *TEXT, *CALL), END],
        [START, *step(0, *CALL), ToolResult("c1", "x"), *step(1, *TEXT, *CALL), END],
        [
            START,
            *step(0, *CALL),
            ToolError(tool_call_id="c1", name="f", message="no"),
            ToolResult("c1", "no", is_error=True),
            END,
        ],
        [START, ProviderEvent("acme", {}), *step(0), END],
        [
            START,
            *step(0, TextStart("0"), ReasoningStart("0"), ReasoningEnd("0"), TextEnd("0")),
            END,
        ],
        [
            START,
            *step(0, *TEXT[:-1], TextEnd("0", "ho")),
            evolve(
                END,
                diagnostics=(
                    Diagnostic(SEGMENT_TEXT_CHANGED, "text[0]", action="changed", message="m"),
                ),
            ),
        ],
    ],
    ids=lambda stream: " ".join(event.type for event in stream),
)
def test_streams_within_the_rules_have_no_violations(stream: list[LLMEvent]) -> None:
    """Every rule has its allowed cases."""
    assert violations(stream) == []


# -- bad lists


@pytest.mark.parametrize(
    ("stream", "problems"),
    [
        ([], ["no terminal event"]),
        ([START, *step(0)], ["no terminal event"]),
        ([*step(0), END], ["comes before StreamStart"]),
        ([START, START, *step(0), END], ["event 1 (stream-start): the stream has already started"]),
        ([START, END], ["no step was run"]),
        ([START, *step(0), END, END], ["event 4 (finish): comes after the terminal event"]),
        ([START, *step(0), END, ERROR], ["event 4 (error): comes after the terminal event"]),
        ([START, ERROR, *step(0)], ["comes after the terminal event"]),
        ([START, StepStart(), END], ["step 0 has not finished"]),
        ([START, StepStart(), *step(0), END], ["step 0 has not finished"]),
        ([START, *step(0)[1:], END], ["step 0 is not open"]),
        ([START, *step(1), END], ["step 1 where step 0 was expected"]),
        ([START, *step(0), *step(2), END], ["step 2 where step 1 was expected"]),
        (
            [START, StepStart(), StepFinish(finish_reason=STOP, step=1), END],
            ["step 1 is not open"],
        ),
        ([START, *TEXT, *step(0), END], ["event 1 (text-start): outside a step"]),
        ([START, Source(id="s"), *step(0), END], ["event 1 (source): outside a step"]),
        ([START, File(id="f"), *step(0), END], ["event 1 (file): outside a step"]),
        ([START, *step(0), *CALL, END], ["event 3 (tool-input-start): outside a step"]),
        ([START, *step(0, TextDelta("0", "x")), END], ["('text', '0') is not open"]),
        ([START, *step(0, TextEnd("0")), END], ["('text', '0') is not open"]),
        ([START, *step(0, ReasoningDelta("0", "x")), END], ["('reasoning', '0') is not open"]),
        ([START, *step(0, ToolInputDelta("c", "x")), END], ["('tool', 'c') is not open"]),
        ([START, *step(0, *TEXT[:2]), END], ["segments still open: [('text', '0')]"]),
        ([START, *step(0, *TEXT, TextDelta("0", "x")), END], ["('text', '0') is not open"]),
        ([START, *step(0, TextStart("0"), *TEXT), END], ["has already started"]),
        ([START, *step(0, *TEXT, *TEXT), END], ["has already started"]),
        (
            [START, *step(0, *TEXT[:2], TextEnd("0")), END],
            ["ends without the text of its deltas"],
        ),
        (
            [START, *step(0, TextStart("0"), TextEnd("0", "hi")), END],
            ["ends with text that was in no delta: 'hi'"],
        ),
        (
            [START, *step(0, *TEXT[:2], TextEnd("0", "ho")), END],
            ["segments ended with texts other than their deltas"],
        ),
        (
            [START, *step(0, TextStart("0", refusal=True), *TEXT[1:]), END],
            ["began as a refusal"],
        ),
        ([START, *step(0, *CALL[:-1]), END], ["expected the ToolCall of 'c1'"]),
        (
            [START, *step(0, *CALL[:-1], Source(id="s"), CALL[-1]), END],
            ["expected the ToolCall of 'c1'", "has no ToolInputEnd before it"],
        ),
        ([START, *step(0, CALL[-1]), END], ["'c1' has no ToolInputEnd before it"]),
        ([START, *step(0, *CALL, CALL[-1]), END], ["has no ToolInputEnd before it"]),
        (
            [START, *step(0, *CALL[:-1], ToolCall("c2", "f", {"q": 1})), END],
            ["expected the ToolCall of 'c1'"],
        ),
        *(
            (
                [START, *step(0, *CALL[:-1], call), END],
                ["differs from the call that its input encodes"],
            )
            for call in (
                ToolCall("c1", "g", {"q": 1}),
                ToolCall("c1", "f", {"q": 2}),
                ToolCall("c1", "f", {"q": 1}, kind="custom"),
                ToolCall("c1", "f", {"q": 1}, provider_executed=True),
            )
        ),
        (
            [START, *step(0), ToolError(tool_call_id="c1", name="f", message="no"), END],
            ["no ToolResult followed the ToolError of ['c1']"],
        ),
    ],
)
def test_each_violation_of_a_rule_names_its_event(
    stream: list[LLMEvent], problems: list[str]
) -> None:
    """Every rule has its violation, which names the event."""
    found = violations(stream)

    assert len(found) >= len(problems)
    for problem in problems:
        assert any(problem in line for line in found), found


def test_problems_come_in_order_and_with_their_place() -> None:
    """A reader can go through the list side by side with the events."""
    found = violations([START, TextDelta("0", "x"), *step(0, TextEnd("1")), END])

    assert [line.partition(":")[0] for line in found] == [
        "event 1 (text-delta)",
        "event 1 (text-delta)",
        "event 3 (text-end)",
        "event 4 (step-finish)",
    ]


# -- mutations

FREE = (Source, File, ProviderEvent, ToolResult)
"""Events that may stand, or not stand, nearly anywhere."""

DELTAS = TextDelta | ReasoningDelta | ToolInputDelta


def mutants(stream: list[LLMEvent], index: int) -> list[list[LLMEvent]]:
    """Return what becomes of a good stream when one event of its structure is harmed."""
    before, event, after = stream[:index], stream[index], stream[index + 1 :]
    made = [[*before, *after], [*before, event, event, *after]]
    other: dict[str, Any] = {}
    if hasattr(event, "id") and not isinstance(event, StreamStart):
        other["id"] = f"{getattr(event, 'id', '')}?"
    if isinstance(event, DELTAS):
        other["text"] = f"{event.text}?"
    if isinstance(event, TextEnd | ReasoningEnd | ToolInputEnd):
        other["text"] = f"{event.text}?"
    if isinstance(event, StepStart | StepFinish):
        other["step"] = event.step + 1
    if isinstance(event, ToolCall):
        other |= {"name": f"{event.name}x", "arguments": {"another": [event.arguments]}}
    made.extend([*before, evolve(event, **{name: new}), *after] for name, new in other.items())
    return made


@given(streams(may_fail=False), st.data())
def test_every_single_harm_is_found(stream: list[LLMEvent], data: st.DataObject) -> None:
    """Drop an event of the structure, double it, or change its id, text, step or call."""
    places = [
        n
        for n, event in enumerate(stream)
        if not isinstance(event, FREE) and not (isinstance(event, DELTAS) and not event.text)
    ]
    index = data.draw(st.sampled_from(places))
    mutant = data.draw(st.sampled_from(mutants(stream, index)))

    assert violations(mutant) != []


FRAME = StreamStart | StepStart | StepFinish | Finish


def must_stay(left: LLMEvent, right: LLMEvent) -> bool:
    """Return whether two neighbours may not be swapped."""
    if isinstance(left, FREE) or isinstance(right, FREE):
        return False
    if isinstance(left, FRAME) or isinstance(right, FRAME):
        return True
    deltas = isinstance(left, DELTAS) and isinstance(right, DELTAS)  # indistinguishable otherwise
    return not deltas and getattr(left, "id", 0) == getattr(right, "id", 1)


@given(streams(may_fail=False), st.data())
def test_events_do_not_change_places(stream: list[LLMEvent], data: st.DataObject) -> None:
    """Two neighbours of one segment, or of the frame, are not to be swapped."""
    places = [n for n, pair in enumerate(pairwise(stream)) if must_stay(*pair)]
    index = data.draw(st.sampled_from(places))
    left, right = stream[index], stream[index + 1]

    assert violations([*stream[:index], right, left, *stream[index + 2 :]]) != []


# -- a step that another model continues


def test_a_step_may_be_continued_by_another_model() -> None:
    events = [START, StepStart(0), *TEXT, StepStart(0, continues=True), *TEXT]

    assert violations([*events, StepFinish(finish_reason=STOP, step=0), END]) == []


@pytest.mark.parametrize(
    ("before", "problem"),
    [
        ([], "step 0 is not open"),
        ([StepStart(0), TextStart("0")], "segments still open: [('text', '0')]"),
    ],
)
def test_only_an_open_step_between_segments_can_be_continued(
    before: list[LLMEvent], problem: str
) -> None:
    (found, *_) = violations([START, *before, StepStart(0, continues=True)], complete=False)

    assert found.endswith(problem)
