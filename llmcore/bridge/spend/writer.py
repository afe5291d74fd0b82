"""Writes what responses used, in the background: no response waits for it.

A thread of its own settles with the ledger what the queue holds, several responses at a time,
extends the worker's lease, and gives back reservations that the ledger may have made although it
did not answer in time. While the ledger cannot be reached the queue fills up to its bound;
then rows are dropped and counted. Responses that reserved an amount are never dropped: they cannot
be more than were admitted while the ledger answered.

What is queued is also in the journal, so that a process which is killed loses nothing.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from llmcore.bridge.http.logs import LOGGER, FailureLog, log
from llmcore.bridge.spend.journal import SpendJournal
from llmcore.bridge.state.ledger import Increment, Ledger, Settlement
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.schema.frozen import frozen

LEASE_S: Final = 30.0
_RENEWED_S: Final = 8.0
_GATHER_S: Final = 0.1
"""How long rows are gathered before they are written together."""
_BATCH: Final = 200
_AGAIN_S: Final = 0.5
"""The time between a failure of the ledger and the next try."""
_FORGET_S: Final = 60.0


@frozen(kw_only=True)
class SpendEvents:
    """Events of the writer, to be counted."""

    dropped: Callable[[int], None]
    waiting: Callable[[int], None]
    """Called with the number of queued rows, whenever it changes."""
    failed: Callable[[], None]


class SpendWriter:
    """A queue of settlements, and the thread that empties it. Safe for concurrent use."""

    def __init__(
        self,
        ledger: Ledger,
        worker: str,
        events: SpendEvents,
        *,
        journal: SpendJournal | None = None,
        max_rows: int,
        keep_s: float,
    ) -> None:
        self._ledger = ledger
        self._worker = worker
        self._events = events
        self._journal = journal
        self._journal_failures = FailureLog(OSError, logging.ERROR, "spend_not_journaled")
        self._max_rows = max_rows
        self._keep_s = keep_s
        self._queue: deque[Settlement] = deque()
        self._unanswered: list[tuple[str, Sequence[Increment]]] = []
        """Reservations of which it is unknown whether they were made, to be given back."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._hurried = False
        self._written = self._added = 0
        self._renewed_at = self._forgot_at = -1e9

    def add(self, settlement: Settlement, *, must_keep: bool) -> None:
        """Queue a settlement; one that need not be kept is dropped where the queue is full."""
        with self._changed:
            if not must_keep and len(self._queue) >= self._max_rows:
                self._events.dropped(1)
                return
            self._queue.append(settlement)
            self._added += 1
            self._events.waiting(len(self._queue))
            self._note(settlement)
            self._start_held()
            if len(self._queue) == 1:
                self._changed.notify_all()

    def release(self, reservation: str, increments: Sequence[Increment]) -> None:
        """Give back a reservation, if it is made, once the ledger answers again.

        Those that have no room in the queue are given back when the lease of the process ends.
        """
        with self._changed:
            if increments and len(self._unanswered) < self._max_rows:
                self._unanswered.append((reservation, increments))
                self._start_held()

    def hold_lease(self) -> None:
        """Make sure that the worker has a lease, which is then extended until `close`."""
        if self._renewed_at < time.monotonic() - LEASE_S:
            self._ledger.renew(self._worker, LEASE_S)
            self._renewed_at = time.monotonic()
        with self._changed:
            self._start_held()

    def flush(self, seconds: float) -> bool:
        """Wait until everything that is queued now is written; return whether it was."""
        deadline = time.monotonic() + seconds
        with self._changed:
            target = self._added
            self._hurried = True
            self._changed.notify_all()
            while self._written < target:
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0 or self._thread is None:
                    return False
                self._changed.wait(remaining_s)
            return True

    def close(self, seconds: float) -> None:
        """Write what is queued, within *seconds*, and end the thread."""
        with self._changed:
            thread = self._thread
            self._closing = True
            self._changed.notify_all()
        if thread is not None:
            self.flush(seconds)
            with self._changed:
                self._thread = None
                unwritten = len(self._queue)
                self._changed.notify_all()
            thread.join(seconds)
            if unwritten and (self._journal is None or self._journal_failures.is_failing):
                self._events.dropped(unwritten)
                log(logging.ERROR, "spend_lost", rows=unwritten)
            elif unwritten:
                log(logging.WARNING, "spend_left_in_journal", rows=unwritten)
        if self._journal is not None:
            with self._changed:
                self._journal.close()

    def _note(self, settlement: Settlement) -> None:
        """Write *settlement* to the journal; without it, a process that is killed loses the row."""
        if self._journal is not None:
            with self._journal_failures:
                self._journal.add(settlement)

    # -- the thread

    def _start_held(self) -> None:
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._work, name="spend", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (batch := self._gathered()) is not None:
            try:
                if batch:
                    self._ledger.settle(batch)
                    self._done(len(batch))
                self._give_back()
                self._maintain()
            except StateUnavailableError as error:
                self._failed(error)
            except Exception:  # noqa: BLE001  a fault of the gateway; the thread must stay
                LOGGER.exception("spend_failed")
                self._failed(None)

    def _failed(self, error: StateUnavailableError | None) -> None:
        self._events.failed()
        if error is not None:
            log(logging.ERROR, "spend_write_failed", error=str(error))
        with self._changed:
            if self._thread is not None:
                self._changed.wait(_AGAIN_S)

    def _gathered(self) -> Sequence[Settlement] | None:
        """Return the oldest queued settlements, waiting for some; None if the thread is to end."""
        with self._changed:
            if not self._queue and not self._closing:
                self._changed.wait(_RENEWED_S)
            if self._queue and not self._closing and not self._hurried:
                self._changed.wait_for(lambda: self._hurried or self._closing, _GATHER_S)
            if self._thread is not threading.current_thread():
                return None
            if self._closing and not self._queue:
                self._changed.wait(_AGAIN_S)
            batch = [self._queue[number] for number in range(min(_BATCH, len(self._queue)))]
            self._hurried = self._hurried and len(self._queue) > _BATCH
            return batch

    def _done(self, count: int) -> None:
        with self._changed:
            for _ in range(count):
                self._queue.popleft()
            self._written += count
            self._events.waiting(len(self._queue))
            if self._journal is not None:
                self._journal.written(self._written)
            self._changed.notify_all()

    def _give_back(self) -> None:
        while self._unanswered:
            reservation, increments = self._unanswered[0]
            meters = [increment.meter for increment in increments]
            self._ledger.release(reservation, self._worker, meters)
            with self._changed:
                del self._unanswered[0]

    def _maintain(self) -> None:
        """Extend the lease, and delete a few of the old rows."""
        now = time.monotonic()
        if now - self._renewed_at > _RENEWED_S:
            self._ledger.renew(self._worker, LEASE_S)
            self._renewed_at = now
        if now - self._forgot_at > _FORGET_S:
            self._forgot_at = now if not self._ledger.forget(time.time() - self._keep_s) else 0.0
