"""Laws of ledgers, for any order of reservations, settlements, deaths of workers and time."""

from collections.abc import Sequence
from typing import TypeAlias

from attrs import define, field
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmcore.bridge.state.ledger import Increment, Ledger, Meter, Settlement
from llmcore.bridge.state.ledger_redis import RedisLedger
from llmcore.bridge.state.ledger_sql import SqliteLedger
from tests.bridge.accounts.test_ledgers import Clock
from tests.support.servers.redis_servers import RedisServer

METERS = tuple(Meter(name=f"budget:{n}", limit=100 * (n + 1), keep_s=1e6) for n in range(2))
LEASE_S = 30.0

Step: TypeAlias = tuple[str, int, int, int]
"""The kind of a step, the number of a response or worker, and amounts for both meters."""

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "release", "beat", "wait"]),
        st.integers(0, 5),
        st.integers(0, 120),
        st.integers(0, 120),
    ),
    max_size=25,
)


def worker_of(number: int) -> str:
    return f"w{number % 2}"


@define
class Book:
    """The sums that a ledger must have, kept in the simplest way."""

    now: float
    held: dict[int, tuple[float, tuple[int, int]]] = field(factory=dict)
    """Each reservation: when it was made, and its amounts."""
    used: dict[int, tuple[int, int]] = field(factory=dict)
    leases: dict[str, float] = field(factory=dict)

    def levels(self) -> list[int]:
        amounts = [*(amounts for _, amounts in self.held.values()), *self.used.values()]
        return [sum(each[n] for each in amounts) for n in range(2)]

    def fits(self, number: int, amounts: tuple[int, int]) -> bool:
        _, held = self.held.get(number, (0.0, (-1, -1)))
        each = zip(self.levels(), held, amounts, METERS, strict=True)
        return all(
            had >= amount or level - max(had, 0) + amount <= meter.limit
            for level, had, amount, meter in each
        )

    def beat(self, worker: str) -> None:
        self.leases[worker] = self.now + LEASE_S
        for number in list(self.held):
            if self.leases[worker_of(number)] <= self.now:
                del self.held[number]


def run(ledger: Ledger, clock: Clock, steps: Sequence[Step]) -> None:
    """Do *steps* with the ledger and in the book, and compare after each."""
    book = Book(clock.now)
    for worker in ("w0", "w1"):
        ledger.renew(worker, LEASE_S)
        book.beat(worker)
    for kind, number, first, second in steps:
        amounts = (first, second)
        id_, worker = f"a{number}", worker_of(number)
        increments = [
            Increment(meter, amount) for meter, amount in zip(METERS, amounts, strict=True)
        ]
        if kind == "reserve" and number not in book.used:
            ledger.renew(worker, LEASE_S)
            book.beat(worker)
            granted = ledger.reserve(id_, worker, increments) is None
            assert granted is book.fits(number, amounts)
            if granted:
                at, held = book.held.get(number, (clock.now, (0, 0)))
                raised = (max(held[0], first), max(held[1], second))
                book.held[number] = (at, raised)
        elif kind == "settle":
            row = b"row"
            ledger.settle(
                [Settlement(id=id_, worker=worker, at=1.0, uses=tuple(increments), row=row)]
            )
            if number not in book.used:
                book.held.pop(number, None)
                book.used[number] = amounts
        elif kind == "release":
            ledger.release(id_, worker, METERS)
            book.held.pop(number, None)
        elif kind == "beat":
            ledger.renew(worker, LEASE_S)
            book.beat(worker)
        else:
            clock.now += first
            book.now = clock.now
        assert ledger.levels(METERS) == book.levels()
    assert len(ledger.rows(0.0, 9.0, (0.0, ""))) == len(book.used)


@given(STEPS)
def test_levels_are_what_is_held_and_used(steps: list[Step]) -> None:
    """In SQL: SQLite and PostgreSQL run the same statements."""
    clock = Clock()
    ledger = SqliteLedger(None, setting="X", clock=clock)
    run(ledger, clock, steps)
    ledger.close()


@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_levels_are_what_is_held_and_used_in_redis(redis: RedisServer, steps: list[Step]) -> None:
    """In the scripts of Redis."""
    with redis.client() as client:
        client.flushall()
    clock = Clock()
    ledger = RedisLedger(redis.url, clock=clock)
    run(ledger, clock, steps)
    ledger.close()
