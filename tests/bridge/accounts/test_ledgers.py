"""The behaviour that all ledgers share: in memory, SQLite, Redis and PostgreSQL."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import pytest
from attrs import define

from llmcore.bridge.state import ledger_sql
from llmcore.bridge.state.ledger import Increment, Ledger, Meter, Settlement
from llmcore.bridge.state.ledger_redis import RedisLedger
from llmcore.bridge.state.ledger_sql import PostgresLedger, SqliteLedger
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.storage import hung_server
from llmcore.storage import postgres as postgres_storage
from llmcore.storage.postgres import MAX_CONNECTIONS
from tests.support.servers.postgres_servers import PostgresServer
from tests.support.servers.redis_servers import RedisServer

BUDGET = Meter(name="budget:k", limit=100, keep_s=1000.0)
RATE = Meter(name="rate:k", limit=60, drains_per_s=1.0, keep_s=120.0)


@define
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Opening: TypeAlias = Callable[[], Ledger]


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
def opening(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Opening]:
    """Return a function that opens the same empty ledger anew, as another process would."""
    kind = request.param
    opened: list[Ledger] = []
    memory = SqliteLedger(None, setting="X", clock=clock)

    def made() -> Ledger:
        match kind:
            case "memory":
                return memory
            case "sqlite":
                path = tmp_path / "accounts.db"
                return SqliteLedger(path, setting="X", clock=clock)
            case "redis":
                server: RedisServer = request.getfixturevalue("redis")
                return RedisLedger(server.url, clock=clock)
            case _:
                url = request.getfixturevalue("postgres").url
                return PostgresLedger(url, setting="X", clock=clock)

    def open_() -> Ledger:
        opened.append(made())
        return opened[-1]

    if kind == "redis":
        with request.getfixturevalue("redis").client() as client:
            client.flushall()
    if kind == "postgres":
        request.getfixturevalue("postgres").clear()
    yield open_
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(opening: Opening) -> Ledger:
    return opening()


def settled(id_: str, *uses: Increment, at: float = 1.0, worker: str = "w") -> Settlement:
    return Settlement(id=id_, worker=worker, at=at, uses=uses, row=f"row of {id_}".encode())


def rows(ledger: Ledger, since: float = 0.0, until: float = 1e9) -> list[str]:
    """Return the ids of all rows, read page by page."""
    found: list[str] = []
    after = (0.0, "")
    while page := ledger.rows(since, until, after):
        found += [row.id for row in page]
        after = (page[-1].at, page[-1].id)
    return found


# -- keys


def test_keys_are_swapped_only_if_they_are_what_the_caller_read(ledger: Ledger) -> None:
    """Two changes of one key cannot undo each other."""
    ledger.check()

    assert ledger.key("a") is None
    assert ledger.swap_key("a", None, b"\x00first") is True
    assert ledger.swap_key("a", None, b"second") is False
    assert ledger.swap_key("a", b"other", b"second") is False
    assert ledger.swap_key("a", b"\x00first", b"second") is True
    assert ledger.swap_key("b", b"x", b"y") is False
    assert ledger.key("a") == b"second"
    assert ledger.keys() == {"a": b"second"}


def test_keys_are_seen_by_other_processes_at_once(opening: Opening) -> None:
    """A revocation is one."""
    one, two = opening(), opening()
    one.swap_key("a", None, b"valid")
    assert two.key("a") == b"valid"
    one.swap_key("a", b"valid", b"revoked")

    assert two.key("a") == b"revoked"


# -- reservations


def test_a_reservation_is_all_or_nothing(ledger: Ledger) -> None:
    """One amount that does not fit leaves the other meter as it was."""
    assert ledger.reserve("a", "w", [Increment(BUDGET, 60), Increment(RATE, 10)]) is None
    excess = ledger.reserve("b", "w", [Increment(RATE, 10), Increment(BUDGET, 60)])

    assert excess is not None
    assert (excess.meter, excess.level, excess.amount) == (BUDGET, 60, 60)
    assert excess.wait_s is None
    assert ledger.levels([BUDGET, RATE]) == [60, 10]


def test_a_reservation_larger_than_the_limit_never_fits(ledger: Ledger) -> None:
    """Also as the first of its meter."""
    excess = ledger.reserve("a", "w", [Increment(RATE, 61)])

    assert excess is not None
    assert excess.wait_s is None
    assert ledger.levels([RATE]) == [0]
    assert ledger.reserve("a", "w", [Increment(RATE, 60)]) is None


def test_reserving_twice_under_one_id_counts_once(ledger: Ledger) -> None:
    """A request to the store may be sent again after its response was lost."""
    for _ in range(2):
        assert ledger.reserve("a", "w", [Increment(BUDGET, 60)]) is None

    assert ledger.levels([BUDGET]) == [60]


def test_reserving_more_under_one_id_raises_it(ledger: Ledger) -> None:
    """If it fits as a whole; otherwise all of it stays as it was."""
    ledger.reserve("a", "w", [Increment(BUDGET, 20), Increment(RATE, 5)])
    ledger.reserve("b", "w", [Increment(BUDGET, 40)])
    assert ledger.reserve("a", "w", [Increment(BUDGET, 50), Increment(RATE, 5)]) is None
    assert ledger.levels([BUDGET, RATE]) == [90, 5]
    excess = ledger.reserve("a", "w", [Increment(BUDGET, 61), Increment(RATE, 9)])
    assert (excess and excess.meter, ledger.levels([BUDGET, RATE])) == (BUDGET, [90, 5])
    assert ledger.reserve("a", "w", [Increment(BUDGET, 10)]) is None
    assert ledger.levels([BUDGET]) == [90]

    ledger.settle([settled("a", Increment(BUDGET, 3), Increment(RATE, 1))])
    assert ledger.levels([BUDGET, RATE]) == [43, 1]


def test_a_settlement_replaces_the_reservation_by_the_use(ledger: Ledger) -> None:
    """And writes its row; sent again, it changes nothing."""
    ledger.reserve("a", "w", [Increment(BUDGET, 60), Increment(RATE, 5)])
    for _ in range(2):
        ledger.settle([settled("a", Increment(BUDGET, 25), Increment(RATE, 7))])

    assert ledger.levels([BUDGET, RATE]) == [25, 7]
    assert rows(ledger) == ["a"]


def test_a_use_without_a_reservation_counts(ledger: Ledger) -> None:
    """Its lease may have ended; it may also exceed the limit, which later calls then meet."""
    ledger.settle([settled("a", Increment(BUDGET, 130)), settled("b")])

    assert ledger.levels([BUDGET]) == [130]
    assert ledger.reserve("c", "w", [Increment(BUDGET, 0)]) is not None
    assert rows(ledger) == ["a", "b"]


def test_a_rate_drains_and_a_budget_does_not(ledger: Ledger, clock: Clock) -> None:
    """A rate states when a refused request fits."""
    ledger.reserve("", "w", [Increment(RATE, 60), Increment(BUDGET, 60)])
    clock.now += 10
    excess = ledger.reserve("", "w", [Increment(RATE, 30)])

    assert excess is not None
    assert excess.wait_s == pytest.approx(20)
    assert ledger.levels([RATE, BUDGET]) == [50, 60]
    clock.now += 20
    assert ledger.reserve("", "w", [Increment(RATE, 30)]) is None
    clock.now -= 30  # the clock of another machine, which is behind, adds nothing
    assert ledger.levels([RATE]) == [60]


def test_a_rate_goes_on_after_the_clock_was_set_back(ledger: Ledger, clock: Clock) -> None:
    """It does not wait until the clock is where it was; what a budget has used stays used."""
    clock.now += 3600
    assert ledger.reserve("", "w", [Increment(RATE, 60), Increment(BUDGET, 50)]) is None
    clock.now -= 3600

    assert ledger.levels([RATE, BUDGET]) == [0, 50]
    assert ledger.reserve("", "w", [Increment(RATE, 60)]) is None
    clock.now -= 1  # as on another machine
    assert ledger.levels([RATE]) == [60]
    assert ledger.reserve("", "w", [Increment(RATE, 1)]) is not None
    clock.now += 11
    assert ledger.levels([RATE, BUDGET]) == [50, 50]


def test_a_released_reservation_gives_back_what_it_holds_once(ledger: Ledger) -> None:
    """Of the named meters only; what was settled before holds nothing."""
    ledger.reserve("a", "w", [Increment(BUDGET, 60), Increment(RATE, 5)])
    ledger.reserve("b", "w", [Increment(BUDGET, 30)])
    for _ in range(2):
        ledger.release("a", "w", [BUDGET])
    assert ledger.levels([BUDGET, RATE]) == [30, 5]

    ledger.settle([settled("b", Increment(BUDGET, 10))])
    ledger.release("b", "w", [BUDGET])
    ledger.release("unknown", "w", [BUDGET])

    assert ledger.levels([BUDGET]) == [10]


def test_reservations_of_a_dead_worker_are_given_back(opening: Opening, clock: Clock) -> None:
    """Once its lease has ended, and never those of a worker that renews its own."""
    dead, alive = opening(), opening()
    for ledger, name in ((dead, "dead"), (alive, "alive")):
        ledger.renew(name, 30.0)
        assert ledger.reserve(f"of-{name}", name, [Increment(BUDGET, 50)]) is None
    for _ in range(4):
        clock.now += 20
        alive.renew("alive", 30.0)

    assert alive.levels([BUDGET]) == [50]
    alive.settle([settled("of-alive", Increment(BUDGET, 20), worker="alive")])
    assert alive.levels([BUDGET]) == [20]


def test_a_dead_worker_is_given_up_in_time_after_the_clock_was_set_back(
    opening: Opening, clock: Clock
) -> None:
    """Not once the clock is where it was again."""
    dead, alive = opening(), opening()
    clock.now += 3600
    dead.renew("dead", 30.0)
    assert dead.reserve("of-dead", "dead", [Increment(BUDGET, 50)]) is None
    clock.now -= 3600
    for _ in range(4):
        alive.renew("alive", 30.0)
        clock.now += 20

    assert alive.levels([BUDGET]) == [0]


def test_a_worker_that_was_given_up_still_settles_what_it_used(
    opening: Opening, clock: Clock
) -> None:
    """It may only have been stopped for a while."""
    stopped, alive = opening(), opening()
    stopped.renew("stopped", 30.0)
    stopped.reserve("a", "stopped", [Increment(BUDGET, 50)])
    for _ in range(4):
        clock.now += 20
        alive.renew("alive", 30.0)
    assert alive.levels([BUDGET]) == [0]
    stopped.settle([settled("a", Increment(BUDGET, 40), worker="stopped")])
    stopped.renew("stopped", 30.0)

    assert alive.levels([BUDGET]) == [40]


def test_a_meter_is_forgotten_after_its_time_unless_something_is_reserved_of_it(
    ledger: Ledger, clock: Clock
) -> None:
    """A reservation counts until its response ends, however long that takes."""
    places = Meter(name="running:u", limit=2, keep_s=10.0)
    day = Meter(name="budget:day", limit=100, keep_s=10.0)
    ledger.reserve("a", "w", [Increment(places, 1)])
    ledger.reserve("", "w", [Increment(day, 60)])
    for _ in range(3):
        clock.now += 20
        ledger.renew("w", 30.0)

    assert ledger.levels([places, day]) == [1, 0]
    ledger.release("a", "w", [places])
    assert ledger.levels([places]) == [0]
    clock.now += 20
    ledger.renew("w", 30.0)
    assert ledger.reserve("b", "w", [Increment(places, 2)]) is None


def test_a_full_redis_forgets_responses_and_neither_budgets_nor_rates(redis: RedisServer) -> None:
    """With the policy that the documentation names, it deletes what expires soonest."""
    ledger = RedisLedger(redis.url, clock=lambda: 1000.0)
    with redis.client() as client:
        client.flushall()
        ledger.renew("w", 3600.0)
        ledger.reserve("", "w", [Increment(BUDGET, 60), Increment(RATE, 60)])
        used = int(client.info("memory")["used_memory"])
        client.config_set("maxmemory-policy", "volatile-ttl")
        client.config_set("maxmemory", used + 2_000_000)
        try:
            for number in range(2_000):
                client.set(f"openbridge:response:{number}", b"x" * 4_000, ex=30 * 86_400)
            evicted = int(client.info("stats")["evicted_keys"])
            levels = ledger.levels([BUDGET, RATE])
        finally:
            client.config_set("maxmemory", 0)
            client.flushall()
            ledger.close()

    assert evicted > 500
    assert levels == [60, 60]


def test_what_is_given_back_to_a_deleted_meter_of_redis_leaves_it_usable(
    redis: RedisServer,
) -> None:
    """An operator may have deleted it."""
    ledger = RedisLedger(redis.url)
    ledger.reserve("a", "w", [Increment(BUDGET, 50)])
    with redis.client() as client:
        client.delete(f"openbridge:meter:{BUDGET.name}")
    ledger.release("a", "w", [BUDGET])

    assert ledger.levels([BUDGET]) == [0]
    assert ledger.reserve("b", "w", [Increment(BUDGET, 100)]) is None
    with redis.client() as client:
        client.flushall()
    ledger.close()


def test_reservations_at_once_never_exceed_the_limit(opening: Opening) -> None:
    """From several connections, as from several machines."""
    granted: list[str] = []

    def work(number: int) -> None:
        ledger = opening()
        for turn in range(10):
            id_ = f"{number}-{turn}"
            if (
                ledger.reserve(id_, f"w{number}", [Increment(BUDGET, 7), Increment(RATE, 1)])
                is None
            ):
                granted.append(id_)
                if turn % 2:
                    use = (Increment(BUDGET, 3), Increment(RATE, 1))
                    ledger.settle([settled(id_, *use, worker=f"w{number}")])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = opening()
    written = rows(ledger)
    held = len(granted) - len(written)

    assert ledger.levels([BUDGET]) == [7 * held + 3 * len(written)]
    # a refusal left at most 6; each of the four may have settled 4 less after the last one
    assert 93 - 4 * 4 < ledger.levels([BUDGET])[0] <= 100


# -- rows


def test_rows_come_in_pages_by_time(ledger: Ledger) -> None:
    """Also where many are of one moment; old ones can be deleted."""
    ledger.settle([settled(f"a{number:05}", at=5.0) for number in range(2500)])
    ledger.settle([settled("b", at=4.0), settled("c", at=6.0)])

    assert rows(ledger) == ["b", *(f"a{number:05}" for number in range(2500)), "c"]
    assert rows(ledger, since=4.5, until=6.0) == [f"a{number:05}" for number in range(2500)]
    assert len(ledger.rows(0.0, 9.0, (0.0, ""))) == ledger_sql.PAGE
    assert ledger.rows(6.0, 7.0, (0.0, ""))[0].data == b"row of c"
    deleted = [ledger.forget(6.0) for _ in range(7)]
    assert sum(deleted) == 2501
    assert max(deleted) <= 500
    assert rows(ledger) == ["c"]


def test_rows_are_found_by_their_time_without_reading_all(tmp_path: Path) -> None:
    """A report and the deletion of old rows cost the same however many rows there are."""
    ledger = SqliteLedger(tmp_path / "ledger.db", setting="X")
    ledger.settle([settled("a", at=5.0)])
    queries = ((ledger_sql._ROWS, (0.0, 1.0, 0.0, "", 10)), (ledger_sql._OLD_ROWS, (1.0, 10)))

    def explained(run: ledger_sql.Execute) -> list[list[str]]:
        return [[step[3] for step in run(f"explain query plan {q}", v)] for q, v in queries]

    steps = ledger.read(explained)
    ledger.close()

    assert all(any("openbridge_spend_by_time" in step for step in one) for one in steps)
    assert not any(step.startswith("SCAN") for one in steps for step in one), steps


# -- failures


def test_many_at_once_leave_connections_of_postgres_to_others(postgres: PostgresServer) -> None:
    """Each worker has a few of them, however many responses begin at the same time."""
    ledgers = [PostgresLedger(postgres.url, setting="X") for _ in range(3)]
    counting = "select count(*) from pg_stat_activity where application_name = 'openbridge'"
    with ThreadPoolExecutor(90) as threads:
        excesses = list(
            threads.map(
                lambda number: ledgers[number % 3].reserve(
                    f"r{number}", "w", [Increment(BUDGET, 0)]
                ),
                range(900),
            )
        )
        ((open_now,),) = ledgers[0].read(lambda run: run(counting))
    for ledger in ledgers:
        ledger.close()
    postgres.clear()

    assert excesses == [None] * 900
    assert open_now <= 3 * MAX_CONNECTIONS


def test_a_ledger_that_cannot_be_reached_raises(tmp_path: Path) -> None:
    """With the same error for each store, and no secret in it."""
    (tmp_path / "file.db").write_bytes(b"no database" * 100)
    sqlite = SqliteLedger(tmp_path / "file.db", setting="X")
    redis = RedisLedger("redis://user:hunter2@127.0.0.1:1/0")
    with pytest.raises(StateUnavailableError):
        sqlite.check()
    with pytest.raises(StateUnavailableError, match="Connection refused") as caught:
        redis.check()
    assert "hunter2" not in str(caught.value)


def test_postgres_that_cannot_be_reached_raises() -> None:
    """Its text does not quote the URL."""
    pytest.importorskip("psycopg")
    url = "postgresql://user:hunter2@127.0.0.1:1/x"
    ledger = PostgresLedger(url, setting="X")
    with pytest.raises(StateUnavailableError, match="onnection refused") as caught:
        ledger.check()
    assert "hunter2" not in str(caught.value)


def test_postgres_that_hangs_is_given_up_and_then_avoided(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open connection would wait for as long as the server hangs."""
    monkeypatch.setattr(hung_server, "_AVOIDED_S", 0.5)
    ledger = PostgresLedger(postgres.url, setting="X")
    ledger.check()
    failures: list[StateUnavailableError] = []

    def ask() -> None:
        for _ in range(2):
            with pytest.raises(StateUnavailableError, match="in time") as caught:
                ledger.check()
            failures.append(caught.value)

    with postgres.hung(), monkeypatch.context() as patch:
        patch.setattr(postgres_storage, "_ANSWER_S", 0.3)
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(30)
    assert [failure.sent for failure in failures] == [True, False]
    time.sleep(0.6)
    ledger.check()
    ledger.close()


@pytest.mark.slow
def test_postgres_is_used_again_after_its_restart(postgres: PostgresServer) -> None:
    """The connections of before are found closed, and opened again."""
    ledger = PostgresLedger(postgres.url, setting="X")
    ledger.check()
    postgres.stop()
    with pytest.raises(StateUnavailableError):
        ledger.check()
    postgres.start()

    ledger.check()
    ledger.close()
