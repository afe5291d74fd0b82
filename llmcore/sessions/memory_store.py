"""Runs in memory: for tests, and for conversations that need not outlive the process."""

import time
from collections.abc import Sequence
from threading import Lock

import anyio.lowlevel
from attrs import define, field

from llmcore.schema.hints import with_call_hints
from llmcore.sessions import store
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.run_rules import check_next


@define
class _Run:
    """The entries of a run, and which of its calls have results."""

    entries: list[MessageEntry] = field(factory=list)
    answered: dict[str, bool] = field(factory=dict)
    expires_at: float | None = None


@with_call_hints()
class MemoryStore(store.SessionStore):
    """A SessionStore that ends with the process.

    A run is forgotten *ttl_s* seconds after it was last appended to.
    """

    def __init__(self, *, ttl_s: float | None = None, clock: store.Seconds = time.time) -> None:
        self._ttl_s = store.check_ttl(ttl_s)
        self._clock = clock
        self._runs: dict[str, _Run] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"MemoryStore({len(self._runs)} runs)"

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        """Append *entries*, all or none; see `SessionStore.append`."""
        entries = store.checked_entries(entries)
        store.texts_of(run_id, entries)  # what other stores refuse is refused here too
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._forget_expired()
            run = self._runs.get(run_id, _Run())
            store.check_seq(run_id, expected_seq, len(run.entries))
            changes = check_next(run_id, entries, run.answered).unwrap()
            if entries:
                run.entries.extend(entries)
                run.answered.update(changes)
                run.expires_at = None if self._ttl_s is None else self._clock() + self._ttl_s
                self._runs[run_id] = run
            return len(run.entries)

    async def read(
        self, run_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[store.StoredEntry, ...]:
        """Return the entries behind *after*; see `SessionStore.read`."""
        store.check_range(run_id, after, limit)
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._forget_expired()
            entries = self._runs.get(run_id, _Run()).entries
            end = len(entries) if limit is None else after + limit
            return tuple(
                store.StoredEntry(seq, entry)
                for seq, entry in enumerate(entries[after:end], after + 1)
            )

    async def runs(self) -> tuple[store.RunInfo, ...]:
        """Return all runs, by their ids."""
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._forget_expired()
            return tuple(
                store.RunInfo(
                    run_id=run_id,
                    last_seq=len(run.entries),
                    started_at=run.entries[0].timestamp,
                    updated_at=run.entries[-1].timestamp,
                )
                for run_id, run in sorted(self._runs.items())
            )

    async def delete(self, run_id: str) -> bool:
        """Forget run *run_id*; False if there was none."""
        store.check_run_id(run_id)
        await anyio.lowlevel.checkpoint()
        with self._lock:
            self._forget_expired()
            return self._runs.pop(run_id, None) is not None

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    def _forget_expired(self) -> None:
        now = self._clock()
        expired = [
            run_id
            for run_id, run in self._runs.items()
            if run.expires_at is not None and run.expires_at <= now
        ]
        for run_id in expired:
            del self._runs[run_id]
