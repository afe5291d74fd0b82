"""The thread that writes what responses used."""

import math
import threading
from collections.abc import Sequence
from typing import ClassVar

from llmcore.bridge.spend.writer import SpendEvents, SpendWriter
from llmcore.bridge.state.ledger import Increment, Meter, Settlement
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.bridge.state.store import StateUnavailableError
from tests.support.waiting import wait_until


def _used(id_: str) -> Settlement:
    return Settlement(id=id_, worker="w", at=1.0, uses=(), row=b"{}")


def _started_since(before: list[threading.Thread]) -> int:
    return sum(one.name == "spend" and one not in before for one in threading.enumerate())


def test_settlements_share_one_thread_and_none_is_started_after_the_end() -> None:
    before = threading.enumerate()
    ledger = SqliteLedger(None, setting="X")
    events = SpendEvents(dropped=lambda _: None, waiting=lambda _: None, failed=lambda: None)
    writer = SpendWriter(ledger, "w", events, max_rows=10, keep_s=math.inf)
    for id_ in ("a", "b", "c"):
        writer.add(_used(id_), must_keep=True)
        assert _started_since(before) == 1
    writer.close(5.0)
    writer.add(_used("late"), must_keep=True)

    assert _started_since(before) == 0
    assert len(ledger.rows(0.0, 2.0, (0.0, ""))) == 3
    ledger.close()


class Away(SqliteLedger):
    """A ledger that cannot be reached, until it is there again."""

    is_away = True
    released: ClassVar[list[str]] = []

    def settle(self, settlements: Sequence[Settlement]) -> None:
        if self.is_away:
            raise StateUnavailableError("away")
        super().settle(settlements)

    def release(self, reservation: str, worker: str, meters: Sequence[Meter]) -> None:
        if self.is_away:
            raise StateUnavailableError("away")
        self.released.append(reservation)


def test_of_a_full_queue_only_rows_without_a_reservation_are_dropped() -> None:
    """Nor does it hold more reservations to be given back than it has room for rows."""
    ledger, dropped = Away(None, setting="X"), list[int]()
    events = SpendEvents(dropped=dropped.append, waiting=lambda _: None, failed=lambda: None)
    writer = SpendWriter(ledger, "w", events, max_rows=2, keep_s=math.inf)
    held = [Increment(Meter(name="m", limit=9, keep_s=9.0), 1)]
    for id_ in ("a", "b", "c", "d"):
        writer.add(_used(id_), must_keep=id_ in "cd")
        writer.add(_used(f"{id_}-unreserved"), must_keep=False)
        writer.release(f"{id_}-unanswered", held)
    ledger.is_away = False
    written = writer.flush(20.0)
    wait_until(lambda: len(ledger.released) == 2)
    writer.close(5.0)
    rows = [row.id for row in ledger.rows(0.0, 2.0, (0.0, ""))]
    ledger.close()

    assert written
    assert rows == ["a", "a-unreserved", "c", "d"]
    assert sum(dropped) == 4
    assert ledger.released == ["a-unanswered", "b-unanswered"]
