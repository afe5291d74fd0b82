"""The thread that writes what responses used."""

import math
import threading

from llmcore.bridge.spend.writer import SpendEvents, SpendWriter
from llmcore.bridge.state.ledger import Settlement
from llmcore.bridge.state.ledger_sql import SqliteLedger


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
