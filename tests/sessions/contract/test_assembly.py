"""Deltas become an entry; every rule of the stream has its own error."""

from collections.abc import Callable, Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.result import Success
from llmcore.sessions.contract import errors
from llmcore.sessions.contract.assembly import Assembler, assemble
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
from llmcore.sessions.contract.entries import EntryText, EntryThinking, EntryToolCall, MessageEntry
from tests.support.strategies.contract import NOON, RUN, delta_streams, deltas_of
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_objects

START = DeltaStart("m-1", "req-1")
DONE = DeltaDone("stop")


def built(*payloads: DeltaPayload) -> MessageEntry:
    return assemble(deltas_of([START, *payloads, DONE])).unwrap()


# -- what deltas add up to


def test_text_and_thinking_deltas_are_joined_into_one_part_per_run() -> None:
    """A run of deltas of one kind is one part, in the place where it began."""
    entry = built(
        DeltaThinking("Let "),
        DeltaThinking("me."),
        DeltaText("It "),
        DeltaText("is."),
        DeltaThinking("Wait."),
        DeltaText("No."),
    )

    assert entry.parts == (
        EntryThinking("Let me."),
        EntryText("It is."),
        EntryThinking("Wait."),
        EntryText("No."),
    )
    assert (entry.run_id, entry.role, entry.timestamp) == (RUN, "assistant", NOON)


def test_argument_deltas_are_joined_per_call_and_parsed_at_its_end() -> None:
    """Parallel calls may mix; each keeps the place where it began."""
    entry = built(
        DeltaToolCallStart("a", "add"),
        DeltaToolCallStart("b", "look"),
        DeltaToolCallArgs("b", '{"x"'),
        DeltaToolCallArgs("a", '{"n": '),
        DeltaToolCallArgs("a", "12345678901234567890123}"),
        DeltaToolCallArgs("b", ": []}"),
        DeltaToolCallEnd("b"),
        DeltaToolCallEnd("a"),
    )

    assert entry.parts == (
        EntryToolCall("a", "add", {"n": 12345678901234567890123}),
        EntryToolCall("b", "look", {"x": []}),
    )
    assert "toolCallErrors" not in entry.meta


@pytest.mark.parametrize("text", ['{"a":', "[1]", "freeform words", '"text"', '{"a": NaN}'])
def test_arguments_that_are_not_an_object_are_kept_as_text_and_reported_in_meta(text: str) -> None:
    """The model's text is kept raw, and `meta` names the fault."""
    entry = built(
        DeltaToolCallStart("a", "add"), DeltaToolCallArgs("a", text), DeltaToolCallEnd("a")
    )

    assert entry.parts == (EntryToolCall("a", "add", {}, raw_args_text=text),)
    match entry.meta["toolCallErrors"]:
        case [{"toolCallId": "a", "message": str(message)}]:
            assert message
        case other:
            pytest.fail(f"not said: {other}")


def test_a_call_without_argument_deltas_has_an_empty_object() -> None:
    """No text at all is an empty object."""
    entry = built(DeltaToolCallStart("a", "now"), DeltaToolCallEnd("a"))

    assert entry.parts == (EntryToolCall("a", "now", {}),)


def test_usage_deltas_are_merged_into_meta() -> None:
    """Later counts replace earlier ones; what they do not count stays."""
    first = DeltaUsage(input_tokens=7, output_tokens=1, total_tokens=None, cost=0.5)
    last = DeltaUsage(input_tokens=None, output_tokens=3, total_tokens=10)

    assert built(first, last).meta == {
        "modelId": "m-1",
        "requestId": "req-1",
        "finishReason": "stop",
        "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10, "cost": 0.5},
    }


def test_a_stream_ending_with_error_gives_a_failed_response_error() -> None:
    """The error is the stream's own, and says whether another try may help."""
    deltas = deltas_of([START, DeltaText("Hal"), DeltaError("ServerError", "broke", True)])
    failure = assemble(deltas).failure()

    assert isinstance(failure, errors.FailedResponseError)
    assert (failure.message, failure.error_code, failure.retryable) == (
        "broke",
        "ServerError",
        True,
    )


def test_an_empty_stream_is_a_missing_start() -> None:
    """Nothing at all does not begin with `start` either."""
    assert isinstance(assemble([]).failure(), errors.MissingStartError)


# -- laws


@given(delta_streams())
def test_every_valid_stream_is_assembled(stream: list[MessageDelta]) -> None:
    """Deltas that keep the rules give an entry with all of their content."""
    entry = assemble(stream).unwrap()

    texts = [d.payload.text_delta for d in stream if isinstance(d.payload, DeltaText)]
    starts = [d.payload for d in stream if isinstance(d.payload, DeltaToolCallStart)]
    assert entry.text == "".join(texts)
    assert [call.tool_call_id for call in entry.tool_calls] == [s.tool_call_id for s in starts]


@given(delta_streams(), st.lists(json_objects(), min_size=1))
def test_provider_raw_never_affects_the_entry(
    stream: list[MessageDelta], raw: list[dict[str, object]]
) -> None:
    """`providerRaw` is for debugging."""
    marked = [evolve(d, provider_raw=raw[n % len(raw)]) for n, d in enumerate(stream)]

    assert assemble(marked) == assemble(stream)


@given(delta_streams(), st.data())
def test_a_stream_cut_at_any_delta_is_unfinished(
    stream: list[MessageDelta], data: st.DataObject
) -> None:
    """Half a response never passes for a whole one."""
    cut = data.draw(st.integers(1, len(stream) - 1))

    assert isinstance(assemble(stream[:cut]).failure(), errors.UnfinishedStreamError)


# -- mutations: one broken rule each

Payloads = list[DeltaPayload]


def inserted(at: Callable[[Payloads], int], *more: DeltaPayload) -> Callable[[Payloads], Payloads]:
    """Return a mutation that puts *more* in before the index that *at* gives."""

    def mutate(payloads: Payloads) -> Payloads:
        index = at(payloads)
        return [*payloads[:index], *more, *payloads[index:]]

    return mutate


def first_call(payloads: Payloads) -> str:
    return next(p.tool_call_id for p in payloads if isinstance(p, DeltaToolCallStart))


def last_of_call(payloads: Payloads) -> int:
    return payloads.index(DeltaToolCallEnd(first_call(payloads)))


def before_done(payloads: Payloads) -> int:
    return len(payloads) - 1


def args_after_end(payloads: Payloads) -> Payloads:
    late = DeltaToolCallArgs(first_call(payloads), "x")
    return [*payloads[:-1], late, payloads[-1]]


def end_after_end(payloads: Payloads) -> Payloads:
    return [*payloads[:-1], DeltaToolCallEnd(first_call(payloads)), payloads[-1]]


def call_twice(payloads: Payloads) -> Payloads:
    return [*payloads[:-1], DeltaToolCallStart(first_call(payloads), "again"), payloads[-1]]


def call_left_open(payloads: Payloads) -> Payloads:
    index = last_of_call(payloads)
    return payloads[:index] + payloads[index + 1 :]


MUTATIONS: list[tuple[str, Callable[[Payloads], Payloads], type[errors.ContractError]]] = [
    ("no start", lambda p: p[1:], errors.MissingStartError),
    ("start twice", inserted(before_done, START), errors.RepeatedStartError),
    ("no end", lambda p: p[:-1], errors.UnfinishedStreamError),
    ("text after done", lambda p: [*p, DeltaText("x")], errors.DeltaAfterEndError),
    ("done twice", lambda p: [*p, DONE], errors.DeltaAfterEndError),
    ("error after done", lambda p: [*p, DeltaError("x")], errors.DeltaAfterEndError),
    ("error instead", lambda p: [*p[:-1], DeltaError("x")], errors.FailedResponseError),
    ("call twice", call_twice, errors.DuplicateToolCallError),
    ("args of no call", inserted(before_done, DeltaToolCallArgs("?" * 9, "x")),
     errors.UnknownToolCallError),
    ("end of no call", inserted(before_done, DeltaToolCallEnd("?" * 9)),
     errors.UnknownToolCallError),
    ("args after end", args_after_end, errors.ClosedToolCallError),
    ("end twice", end_after_end, errors.ClosedToolCallError),
    ("call left open", call_left_open, errors.OpenToolCallError),
]  # fmt: skip


@costly
@given(stream=delta_streams(calls=1))
def test_each_broken_rule_has_its_own_error(stream: list[MessageDelta]) -> None:
    """One broken rule in an otherwise valid stream raises that rule's error."""
    for name, mutate, error in MUTATIONS:
        mutated = deltas_of(mutate([delta.payload for delta in stream]))
        failure = assemble(mutated).failure()

        assert type(failure) is error, name
        assert failure.run_id == RUN, name
        assert failure.message, name


@given(delta_streams(), st.data())
def test_a_seq_that_does_not_rise_is_an_error(
    stream: list[MessageDelta], data: st.DataObject
) -> None:
    """The error names the place."""
    index = data.draw(st.integers(1, len(stream) - 1))
    lower = data.draw(st.integers(max_value=stream[index - 1].seq))
    mutated = with_one(stream, index, evolve(stream[index], seq=lower))
    failure = assemble(mutated).failure()

    assert type(failure) is errors.SeqOrderError
    assert failure.seq == lower


@given(delta_streams(), st.data())
def test_a_delta_of_another_run_is_an_error(
    stream: list[MessageDelta], data: st.DataObject
) -> None:
    """A changed run id raises an error."""
    index = data.draw(st.integers(1, len(stream) - 1))
    mutated = with_one(stream, index, evolve(stream[index], run_id="another"))

    assert type(assemble(mutated).failure()) is errors.MixedRunError


def with_one(stream: Sequence[MessageDelta], index: int, delta: MessageDelta) -> list[MessageDelta]:
    return [*stream[:index], delta, *stream[index + 1 :]]


def test_the_first_broken_rule_is_reported_and_the_rest_ignored() -> None:
    """Whoever reads a stream as it comes can stop at the fault."""
    assembler = Assembler()
    assembler.feed(deltas_of([START])[0])
    assert assembler.fault is None
    assembler.feed(evolve(deltas_of([DeltaText("x")])[0], seq=1))

    assert isinstance(assembler.fault, errors.SeqOrderError)
    assembler.feed(evolve(deltas_of([DONE])[0], seq=2))
    assert assembler.entry().failure() is assembler.fault


def test_the_mutations_cover_every_error_of_a_stream() -> None:
    """No rule is without its test."""
    told = {error for _, _, error in MUTATIONS}

    assert isinstance(assemble(deltas_of([START, DONE])), Success)
    assert told == {
        errors.MissingStartError,
        errors.RepeatedStartError,
        errors.UnfinishedStreamError,
        errors.DeltaAfterEndError,
        errors.FailedResponseError,
        errors.DuplicateToolCallError,
        errors.UnknownToolCallError,
        errors.ClosedToolCallError,
        errors.OpenToolCallError,
    }
