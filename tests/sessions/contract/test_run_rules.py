"""Rules across a run: each has its error."""

from collections.abc import Callable

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.result import Success
from llmcore.sessions.contract import errors
from llmcore.sessions.contract.entries import EntryToolCall, EntryToolResult, MessageEntry
from llmcore.sessions.contract.run_rules import call_ids, check_next, check_run
from tests.support.strategies.contract import RUN, entry, runs
from tests.support.strategies.examples import costly

Run = list[MessageEntry]


def a_call(run: Run) -> str:
    return next(call.tool_call_id for one in run for call in one.tool_calls)


def result(id_: str) -> MessageEntry:
    return entry("tool", EntryToolResult(id_, "x"))


def call_again(run: Run) -> Run:
    return [*run, entry("assistant", EntryToolCall(a_call(run), "again", {}))]


def call_twice_in_one(run: Run) -> Run:
    call = EntryToolCall("new", "look", {})
    return [*run, entry("assistant", call, call)]


def result_before_its_call(run: Run) -> Run:
    moved = [one for one in run if one.tool_result and one.tool_result.tool_call_id == a_call(run)]
    return [*moved, *(one for one in run if one not in moved)]


MUTATIONS: list[tuple[Callable[[Run], Run], type[errors.ContractError]]] = [
    (call_again, errors.DuplicateToolCallError),
    (call_twice_in_one, errors.DuplicateToolCallError),
    (lambda run: [*run, result(a_call(run))], errors.SecondToolResultError),
    (lambda run: [*run, result("?" * 9)], errors.UntracedToolResultError),
    (result_before_its_call, errors.UntracedToolResultError),
    (lambda run: [*run, evolve(run[0], run_id="another")], errors.MixedRunError),
]


@given(runs())
def test_every_valid_run_is_accepted(run: Run) -> None:
    """Parallel calls, late results, any order."""
    assert isinstance(check_run(run), Success)


@costly
@given(run=runs(calls=1))
def test_each_broken_rule_of_a_run_has_its_own_error(run: Run) -> None:
    """One broken rule in an otherwise valid run raises that rule's error."""
    for mutate, error in MUTATIONS:
        failure = check_run(mutate(run)).failure()

        assert type(failure) is error
        assert failure.run_id == RUN


@given(runs(), st.data())
def test_checking_a_run_in_pieces_equals_checking_it_whole(run: Run, data: st.DataObject) -> None:
    """The ids of calls that stores keep suffice for checking the next entries."""
    cut = data.draw(st.integers(0, len(run)))
    known = check_next(RUN, run[:cut], {}).unwrap()
    rest = run[cut:]
    named = {id_: known[id_] for id_ in call_ids(rest) if id_ in known}

    assert isinstance(check_next(RUN, rest, named), Success)
    whole = {**known, **check_next(RUN, rest, named).unwrap()}
    assert whole == check_next(RUN, run, {}).unwrap()


def test_an_empty_run_is_valid() -> None:
    """Nothing was said yet."""
    assert isinstance(check_run([]), Success)
