"""Completing segments."""

import gc
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.folds.segments import SEGMENT_TEXT_CHANGED, SegmentFold, complete_segments
from llmcore.schema.content import TokenLogprob, ToolCallPart
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
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
)
from llmcore.schema.usage import Usage
from tests.folds.segments_kit import answer, completed, said
from tests.support.opcodes import uncollected
from tests.support.strategies.values import (
    SEGMENT_STYLES,
    Segment,
    SegmentStyle,
    bare_streams,
    framed,
    interleavings,
    segment_lists,
    texts,
)

# -- one segment, spelled in every way

WAYS: dict[str, tuple[list[str], str]] = {
    "only deltas": (["Hel", "lo"], ""),
    "only the whole": ([], "Hello"),
    "both": (["Hel", "lo"], "Hello"),
    "a whole that says more": (["Hel"], "Hello"),
    "one delta": (["Hello"], ""),
    "empty deltas": (["", "Hello", ""], ""),
}


@pytest.mark.parametrize("way", WAYS)
def test_text_is_whole_however_it_is_spelled(way: str) -> None:
    """The end carries the text, and the deltas say each character once."""
    chunks, whole = WAYS[way]

    events = completed(
        TextStart("0"), *(TextDelta("0", chunk) for chunk in chunks), TextEnd("0", whole)
    )

    assert events[-1] == TextEnd("0", "Hello")
    assert said(events, "0") == "Hello"


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_is_whole_however_it_is_spelled(way: str) -> None:
    """Signature and text stand together on the end."""
    chunks, whole = WAYS[way]

    events = completed(
        ReasoningStart("0"),
        *(ReasoningDelta("0", chunk) for chunk in chunks),
        ReasoningEnd("0", whole, signature="sig"),
    )

    assert events[-1] == ReasoningEnd("0", "Hello", signature="sig")
    assert said(events, "0") == "Hello"


@pytest.mark.parametrize("way", WAYS)
def test_tool_input_is_whole_however_it_is_spelled(way: str) -> None:
    """The call follows the end of its input."""
    chunks, whole = WAYS[way]

    events = completed(
        ToolInputStart("c1", "f", kind="custom"),
        *(ToolInputDelta("c1", chunk) for chunk in chunks),
        ToolInputEnd("c1", whole, provider_metadata={"acme": {"item": 1}}),
    )

    metadata: Any = {"acme": {"item": 1}}
    assert events[-2:] == [
        ToolInputEnd("c1", "Hello", provider_metadata=metadata),
        ToolCall("c1", "f", "Hello", kind="custom", provider_metadata=metadata),
    ]
    assert said(events, "c1") == "Hello"


@given(segment_lists(), st.data())
def test_the_spelling_of_segments_does_not_show(found: list[Segment], data: st.DataObject) -> None:
    """Servers that send deltas, whole values or both give the same message and deltas."""

    def spelled(styles: Sequence[SegmentStyle]) -> list[LLMEvent]:
        pairs = zip(found, styles, strict=True)
        return framed([event for segment, style in pairs for event in segment.bare(style)])

    deltas: list[SegmentStyle] = ["deltas"] * len(found)
    reference = complete_segments(spelled(deltas))
    styles = st.sampled_from(SEGMENT_STYLES[:-1])
    other = complete_segments(
        spelled(data.draw(st.lists(styles, min_size=len(found), max_size=len(found))))
    )

    assert collect(other) == collect(reference)
    for segment in found:
        assert said(other, segment.id) == said(reference, segment.id)


@pytest.mark.parametrize(
    ("chunks", "whole"), [(["Hello"], "Goodbye"), (["Hello "], "Hello"), (["Hello"], "hello!")]
)
def test_an_end_that_contradicts_its_deltas_is_the_last_word(chunks: list[str], whole: str) -> None:
    """The text is emitted once, and a Diagnostic reports the difference."""
    stream = complete_segments(
        framed([TextStart("0"), *(TextDelta("0", chunk) for chunk in chunks), TextEnd("0", whole)])
    )
    response = collect(stream).unwrap()

    assert response.text == whole
    assert said(stream, "0") == "".join(chunks)
    assert [(d.code, d.path, d.action) for d in response.diagnostics] == [
        (SEGMENT_TEXT_CHANGED, "text[0]", "changed")
    ]
    assert violations(stream) == []


@given(segment_lists(), st.lists(texts(), min_size=4, max_size=4))
def test_any_end_gives_a_good_stream(found: list[Segment], ends: list[str]) -> None:
    """Whatever servers put on their end events, the grammar holds."""
    inner: list[LLMEvent] = []
    for segment, end in zip(found, ends, strict=False):
        other = Segment(segment.kind, segment.id, end, segment.chunks, {})
        inner.extend(other.bare("both"))

    assert violations(complete_segments(framed(inner))) == []


def test_log_probabilities_are_gathered() -> None:
    """The end has those of all deltas, unless it brought its own."""
    first, second = TokenLogprob(token="a", logprob=-1.0), TokenLogprob(token="b", logprob=-2.0)

    events = completed(
        TextStart("0"), TextDelta("0", "a", (first,)), TextDelta("0", "b", (second,)), TextEnd("0")
    )
    own = completed(TextStart("0"), TextDelta("0", "a", (first,)), TextEnd("0", logprobs=(second,)))

    assert events[-1] == TextEnd("0", "ab", logprobs=(first, second))
    assert own[-1] == TextEnd("0", "a", logprobs=(second,))


def test_a_refusal_stays_one() -> None:
    """Servers say it at the start or at the end."""
    at_start = completed(TextStart("0", refusal=True), TextDelta("0", "no"), TextEnd("0"))
    at_end = completed(TextStart("0"), TextDelta("0", "no"), TextEnd("0", refusal=True))

    assert at_start[-1] == at_end[-1] == TextEnd("0", "no", refusal=True)


# -- several segments


@given(segment_lists(), st.data())
def test_interleaved_segments_keep_the_order_of_their_starts(
    found: list[Segment], data: st.DataObject
) -> None:
    """However parallel segments are woven, each is whole and stands where it started."""
    spelled = [segment.bare(data.draw(st.sampled_from(SEGMENT_STYLES))) for segment in found]
    inner = data.draw(interleavings(spelled))
    starts = [e.id for e in inner if isinstance(e, TextStart | ReasoningStart | ToolInputStart)]
    apart = [segment for id_ in starts for segment in found if segment.id == id_]

    woven = answer(framed(inner))
    in_a_row = answer(framed([event for segment in apart for event in segment.bare("deltas")]))

    assert [getattr(part, "text", None) for part in woven.message.content] == [
        getattr(part, "text", None) for part in in_a_row.message.content
    ]
    assert [call.arguments for call in woven.tool_calls] == [
        call.arguments for call in in_a_row.tool_calls
    ]


def test_parallel_calls_are_distinguished() -> None:
    """Fragments of two calls that arrive in turns do not mix."""
    response = answer(
        framed(
            [
                ToolInputStart("a", "f"),
                ToolInputStart("b", "g"),
                ToolInputDelta("b", '{"y":'),
                ToolInputDelta("a", '{"x":'),
                ToolInputDelta("b", "2}"),
                ToolInputDelta("a", "1}"),
                ToolInputEnd("b"),
                ToolInputEnd("a"),
            ]
        )
    )

    assert response.tool_calls == (
        ToolCallPart("a", "f", {"x": 1}),
        ToolCallPart("b", "g", {"y": 2}),
    )


def test_one_id_may_name_segments_of_several_kinds() -> None:
    """Content indexes are shared by some servers."""
    events = completed(
        ReasoningStart("0"),
        ReasoningDelta("0", "hm"),
        ReasoningEnd("0"),
        TextStart("0"),
        TextDelta("0", "hi"),
        TextEnd("0"),
    )

    assert answer(framed(events)).text == "hi"
    assert answer(framed(events)).reasoning == "hm"


def test_open_segments_end_with_their_step() -> None:
    """Servers that never say an end give whole segments, in the order of their starts."""
    events = complete_segments(
        framed(
            [
                ToolInputStart("a", "f"),
                TextStart("0"),
                ToolInputDelta("a", "{}"),
                TextDelta("0", "hi"),
            ]
        )
    )

    assert violations(events) == []
    assert events[6:9] == [ToolInputEnd("a", "{}"), ToolCall("a", "f", {}), TextEnd("0", "hi")]
    assert isinstance(events[9], StepFinish)


@pytest.mark.parametrize(
    ("thought", "counted", "expected"),
    [
        pytest.param("t" * 9, Usage(output_tokens=50), (3, True), id="four characters a token"),
        pytest.param("t" * 400, Usage(output_tokens=50), (50, True), id="no more than the output"),
        pytest.param("t" * 9, Usage(), (3, True), id="without a count of the output"),
        pytest.param("t" * 9, Usage(reasoning_tokens=7), (7, False), id="counted"),
        pytest.param("t" * 9, Usage(reasoning_tokens=0), (0, False), id="counted as none"),
        pytest.param("", Usage(output_tokens=50), (None, False), id="no reasoning is shown"),
    ],
)
def test_reasoning_tokens_are_estimated_where_the_provider_does_not_count_them(
    thought: str, counted: Usage, expected: tuple[int | None, bool]
) -> None:
    """The estimate is marked as one, and stands on the step and on the whole response."""
    reason = FinishReason("stop")
    got = complete_segments(
        [
            StreamStart(provider="p", model="m"),
            StepStart(),
            ReasoningStart("r"),
            ReasoningDelta("r", thought),
            ReasoningEnd("r"),
            StepFinish(finish_reason=reason, usage=counted),
            Finish(finish_reason=reason, usage=counted),
        ]
    )

    ends = [event.usage for event in got if isinstance(event, StepFinish | Finish)]
    assert [(u.reasoning_tokens, u.reasoning_estimated) for u in ends if u] == [expected] * 2
    assert collect(got).unwrap().usage == ends[0]
    assert complete_segments(got) == got


def test_ids_are_free_again_in_the_next_step() -> None:
    """The tool loop runs several steps through one fold."""
    segment: list[LLMEvent] = [TextStart("0"), TextDelta("0", "hi"), TextEnd("0")]
    first, finish = framed(segment)[:-1], framed(segment)[-1]
    second_end = StepFinish(finish_reason=FinishReason("stop"), step=1)
    stream = [*first, StepStart(1), *segment, second_end, finish]

    assert violations(complete_segments(stream)) == []


@given(bare_streams())
def test_completed_streams_obey_the_grammar(stream: list[LLMEvent]) -> None:
    """Whatever a protocol emits within the rules, users see a stream without faults."""
    assert violations(complete_segments(stream)) == []


@given(bare_streams())
def test_completing_twice_is_completing_once(stream: list[LLMEvent]) -> None:
    """A whole stream has nothing left to complete; only faults are told again, at its end."""
    once = complete_segments(stream)

    again = complete_segments(once)
    assert again[:-1] == once[:-1]
    assert type(again[-1]) is type(once[-1])


def test_the_text_so_far_can_be_read_while_a_segment_is_open() -> None:
    """Nobody needs to keep a second copy of it."""
    fold = SegmentFold()
    fold.feed(TextStart("0"))
    chunks = fold.chunks(("text", "0"))

    fold.feed(TextDelta("0", "hi \ud83d"))
    fold.feed(TextDelta("0", "\ude42"))

    assert chunks == ["hi ", "🙂"]
    fold.feed(TextEnd("0"))
    assert fold.chunks(("text", "0")) is None


@given(bare_streams())
def test_deltas_may_take_the_short_way(bare: list[LLMEvent]) -> None:
    """`append` takes what goes through unchanged, and leaves the rest to `process`."""
    fold = SegmentFold()
    deltas = TextDelta | ReasoningDelta | ToolInputDelta

    done = [
        event
        for one in bare
        for event in ((one,) if isinstance(one, deltas) and fold.append(one) else fold.feed(one))
    ]

    assert done == complete_segments(bare)


# -- what is out of place


@pytest.mark.parametrize(
    "inner",
    [
        [TextDelta("0", "x")],
        [ReasoningDelta("0", "x")],
        [ToolInputDelta("c1", "x")],
        [TextEnd("0", "x")],
        [ReasoningEnd("0")],
        [ToolInputEnd("c1", "{}")],
        [TextStart("0"), TextEnd("0"), TextDelta("0", "x")],
        [TextStart("0"), TextStart("0")],
        [TextStart("0"), TextEnd("0"), TextStart("0")],
        [ReasoningStart("0"), ReasoningEnd("0"), ReasoningStart("0")],
        [ToolInputStart("c1", "f"), ToolInputEnd("c1"), ToolInputStart("c1", "g")],
        [ToolInputStart("c1", "f"), ToolCall("c1", "f", {})],
        [ToolCall("c1", "f", {}), ToolCall("c1", "g", {})],
    ],
    ids=lambda inner: " ".join(event.type for event in inner),
)
def test_a_misplaced_event_ends_the_stream_with_an_error(inner: list[LLMEvent]) -> None:
    """Text that belongs nowhere is neither lost nor given to another segment."""
    events = complete_segments(framed([*inner, TextStart("later"), TextEnd("later", "x")]))

    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert isinstance(last.error, StreamError)
    assert inner[-1].type in last.error.message
    assert violations(events) == []


# -- cost


def calls_made(count: int) -> int:
    """Return how many functions run to fold *count* deltas of each kind."""
    stream = framed(
        [
            TextStart("0"),
            *(TextDelta("0", "word ") for _ in range(count)),
            ToolInputStart("c1", "f", kind="custom"),
            *(ToolInputDelta("c1", "wörd ") for _ in range(count)),
        ]
    )
    calls = 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    fold = SegmentFold()
    with uncollected():
        sys.setprofile(count_call)
        for event in stream:
            fold.feed(event)
        sys.setprofile(None)
    return calls


def test_the_cost_of_a_delta_does_not_grow() -> None:
    """Ten times the deltas take ten times the calls, no more."""
    once, twice, thrice = calls_made(100), calls_made(200), calls_made(300)

    assert thrice - twice == twice - once


class Unjoinable(str):
    """Text that must not be added to other text: that copies all of it."""

    __slots__ = ()

    def __add__(self, _other: str) -> str:
        raise AssertionError("text was added to text")

    __radd__ = __add__


def test_deltas_are_joined_once() -> None:
    """Adding each delta to what there is would copy the whole text every time."""
    events = completed(
        TextStart("0"), *(TextDelta("0", Unjoinable("ab")) for _ in range(3)), TextEnd("0")
    )

    assert events[-1] == TextEnd("0", "ababab")


def test_a_fold_is_freed_at_once() -> None:
    """Nothing in it refers back to it, so its text does not wait for the garbage collector."""
    gc.disable()
    try:
        fold = SegmentFold()
        fold.feed(TextStart("0"))
        gone = weakref.ref(fold)
        del fold
        assert gone() is None
    finally:
        gc.enable()


def test_a_call_keeps_the_text_of_its_input() -> None:
    """As the model wrote it, from deltas or from the end; not where we wrote it ourselves."""
    start, text = ToolInputStart("c1", "look"), '{"at" : 1}'
    from_deltas: list[LLMEvent] = [
        start,
        ToolInputDelta("c1", text[:4]),
        ToolInputDelta("c1", text[4:]),
    ]
    ways: list[list[LLMEvent]] = [
        [*from_deltas, ToolInputEnd("c1")],
        [start, ToolInputEnd("c1", text)],
        [ToolCall("c1", "look", {"at": 1}, raw_arguments=text)],
    ]

    for way in ways:
        (call,) = answer(framed(way)).tool_calls
        assert call.raw_arguments == text
        assert completed(*way)[-1].raw_arguments == text  # type: ignore[union-attr]

    (made,) = answer(framed([ToolCall("c1", "look", {"at": 1})])).tool_calls
    assert made.raw_arguments is None
    assert made == call
