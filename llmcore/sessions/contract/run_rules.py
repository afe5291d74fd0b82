"""The rules that hold across a run: calls are unique, results answer them, once each.

Every store checks them when it appends, by the same function over its record of the
calls that the new entries name.
"""

from collections.abc import Iterable, Mapping, Sequence

from llmcore.schema.result import Failure, Result, Success
from llmcore.sessions.contract.entries import EntryToolCall, EntryToolResult, MessageEntry
from llmcore.sessions.contract.errors import (
    ContractError,
    DuplicateToolCallError,
    MixedRunError,
    SecondToolResultError,
    UntracedToolResultError,
)


def check_run(entries: Iterable[MessageEntry]) -> Result[None, ContractError]:
    """Check the whole history of one run; the first broken rule is the Failure."""
    history = tuple(entries)
    if not history:
        return Success(None)
    return check_next(history[0].run_id, history, {}).map(lambda _: None)


def check_next(
    run_id: str, entries: Sequence[MessageEntry], answered: Mapping[str, bool]
) -> Result[Mapping[str, bool], ContractError]:
    """Check *entries* as the next of run *run_id*, and return what they change in *answered*.

    *answered* states for each call of the run so far, by its id, whether it has its result; it
    need not hold calls that *entries* do not name (`call_ids`).
    """
    changed: dict[str, bool] = {}
    for entry in entries:
        if entry.run_id != run_id:
            message = f"an entry of run {entry.run_id!r} among those of {run_id!r}"
            return Failure(MixedRunError(message, run_id=run_id))
        fault = _take(entry, answered, changed)
        if fault is not None:
            fault.run_id = run_id
            return Failure(fault)
    return Success(changed)


def call_ids(entries: Iterable[MessageEntry]) -> tuple[str, ...]:
    """Return the ids of all calls that *entries* make or answer, each once."""
    parts = (part for entry in entries for part in entry.parts)
    named = (
        part.tool_call_id for part in parts if isinstance(part, EntryToolCall | EntryToolResult)
    )
    return tuple(dict.fromkeys(named))


def _take(
    entry: MessageEntry, answered: Mapping[str, bool], changed: dict[str, bool]
) -> ContractError | None:
    """Record the calls and results of *entry* in *changed*; return the error of a broken rule."""
    for part in entry.parts:
        if not isinstance(part, EntryToolCall | EntryToolResult):
            continue
        id_ = part.tool_call_id
        known = changed.get(id_, answered.get(id_))
        if isinstance(part, EntryToolCall):
            if known is not None:
                message = f"tool call {id_!r} was made before in this run"
                return DuplicateToolCallError(message, tool_call_id=id_)
            changed[id_] = False
        else:
            if known is None:
                message = f"no tool call {id_!r} stands before its tool_result"
                return UntracedToolResultError(message, tool_call_id=id_)
            if known:
                message = f"tool call {id_!r} has a tool_result already"
                return SecondToolResultError(message, tool_call_id=id_)
            changed[id_] = True
    return None
