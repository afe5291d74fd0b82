"""The interface of all stores of conversations, and the checks that they share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol, Self, TypeAlias, cast

import anyio
from attrs import define

from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.messages import Message
from llmcore.sessions.contract.codec import entry_from_text, entry_to_text
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.errors import ContractError, MalformedError, MixedRunError
from llmcore.sessions.contract.run_rules import call_ids

MAX_RUN_ID_LENGTH = 512
"""The length of a run's id, in characters."""

_MOST = 2**53
"""The highest seq that all stores support."""

Seconds: TypeAlias = Callable[[], float]
"""A clock: seconds since 1970. `time.time` by default."""


@frozen
class StoredEntry:
    """An entry and its place in its run, counted from 1 without gaps."""

    seq: int
    """The number of the entry in its run, from 1."""
    entry: MessageEntry
    """The entry."""


@frozen(kw_only=True)
class RunInfo:
    """One run of a store."""

    run_id: str
    """The id of the conversation."""
    last_seq: int
    """How many entries it has."""
    started_at: str
    """The timestamp of its first entry."""
    updated_at: str
    """The timestamp of its last entry."""


class SessionStore(Protocol):
    """Keeps the entries of runs, in order.

    What `append` has returned for is kept, and all entries of one call or none of them. Runs
    are appended to from several tasks, threads and processes at once; each call's entries
    stay together. Every method may raise SessionStoreError.
    """

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        """Append *entries* to run *run_id* and return the last one's seq.

        Raises a ContractError for entries that break a rule of the run, and SeqConflictError
        if the run does not end at *expected_seq*; nothing is then appended.
        """
        ...

    async def read(
        self, run_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[StoredEntry, ...]:
        """Return at most *limit* entries after seq *after*; none of an unknown run."""
        ...

    async def runs(self) -> tuple[RunInfo, ...]:
        """Return all runs, by their ids."""
        ...

    async def delete(self, run_id: str) -> bool:
        """Forget run *run_id*; False if there was none."""
        ...

    async def aclose(self) -> None:
        """Close files and connections. Idempotent."""
        ...

    async def __aenter__(self) -> Self:
        """Return the store itself."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the store."""
        with anyio.CancelScope(shield=True):
            await self.aclose()


class SessionStoreError(LLMError):
    """The store could not be read or written; `retryable` where it was only busy."""


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class SeqConflictError(SessionStoreError):
    """Another writer has appended to the run since it was read."""

    expected_seq: int | None = None
    """The number that the caller expected."""
    actual_seq: int | None = None
    """The number that the run has."""


def check_seq(run_id: str, expected: int | None, actual: int) -> None:
    """Raise SeqConflictError for a run that ends at *actual* and not at *expected*, if given."""
    if expected not in (None, actual):
        raise SeqConflictError(
            f"session {run_id!r} ends at {actual}, not at {expected}: read it again",
            expected_seq=expected,
            actual_seq=actual,
        )


def checked_entries(entries: Iterable[MessageEntry]) -> tuple[MessageEntry, ...]:
    """Return *entries*; InvalidRequestError if they are anything but entries, such as messages."""
    are_several = isinstance(entries, Iterable) and not isinstance(entries, _SINGLE)
    given: tuple[object, ...] = tuple(entries) if are_several else (entries,)
    wrong = [one for one in given if not isinstance(one, MessageEntry)]
    if wrong or not are_several:
        shown = shown_kind(wrong[0] if wrong else entries)
        hint = _TO_WRITE.get(type(given[0]), "")
        raise InvalidRequestError(f"entries is a list of MessageEntry values, not {shown}{hint}")
    return cast("tuple[MessageEntry, ...]", given)


_SINGLE: Final = (str, bytes, Mapping, type)
_TO_WRITE: Final[Mapping[type, str]] = {
    Message: ": write to_entries(messages, run_id=..., timestamp=...)",
    StoredEntry: ": write [stored.entry for stored in ...]",
    MessageEntry: ": write [entry]",
}


def texts_of(run_id: str, entries: Sequence[MessageEntry]) -> list[str]:
    """Return *entries* as the JSON texts that are stored.

    Raises InvalidRequestError for an unusable id or what is not an entry, MixedRunError for an
    entry of another run, MalformedError for half a surrogate pair in what stores look for and
    compare.
    """
    check_run_id(run_id)
    for entry in checked_entries(entries):
        if entry.run_id != run_id:
            message = f"an entry of run {entry.run_id!r} cannot be appended to {run_id!r}"
            raise MixedRunError(message, run_id=run_id)
    texts = [entry_to_text(entry) for entry in entries]
    for name in (*call_ids(entries), *(entry.timestamp for entry in entries)):
        if any("\ud800" <= char <= "\udfff" for char in name):
            message = f"half a surrogate pair in a timestamp or toolCallId: {name!r}"
            raise MalformedError(message, run_id=run_id)
    return texts


def stored_entry(run_id: str, seq: int, text: str | bytes) -> StoredEntry:
    """Return the entry in a stored *text*; a ContractError names the run and the entry."""
    try:
        return StoredEntry(seq, entry_from_text(text))
    except ContractError as error:
        error.message = f"entry {seq} of session {run_id!r} cannot be read: {error.message}"
        error.run_id = run_id
        raise


def check_run_id(run_id: str) -> None:
    """Raise InvalidRequestError unless *run_id* can name a run."""
    if not isinstance(run_id, str):
        raise InvalidRequestError(f"a session's id is text, not {shown_kind(run_id)}")
    if not run_id or len(run_id) > MAX_RUN_ID_LENGTH or not run_id.isprintable():
        raise InvalidRequestError(
            f"a session's id is 1 to {MAX_RUN_ID_LENGTH} printable characters"
        )


def check_range(run_id: str, after: int, limit: int | None) -> None:
    """Raise InvalidRequestError for a range that can only be empty by mistake."""
    check_run_id(run_id)
    if not 0 <= after <= _MOST or not (limit is None or 1 <= limit <= _MOST):
        raise InvalidRequestError(f"after must be 0 or more, limit 1 or more, both at most {_MOST}")


def check_ttl(ttl_s: float | None) -> float | None:
    """Return *ttl_s*; InvalidRequestError if it is not a positive number of seconds."""
    if ttl_s is not None and not 0 < ttl_s < 1e10:
        raise InvalidRequestError("ttl_s is a number of seconds above 0")
    return ttl_s


def utc_now() -> str:
    """Return the current time in the form of entries, such as 2026-11-22T12:00:00Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
