"""Issued keys: their values, the registry, and the cache that finds them."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import anyio
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.accounts.issued_key import (
    IssuedKey,
    KeyLimits,
    kept_s,
    key_id,
    limits_from,
    new_key,
    packed_key,
    period_end,
    period_name,
    unpacked_key,
)
from llmcore.bridge.accounts.issued_keys import KeyLookup, KeyRegistry
from llmcore.bridge.configuration.settings import BudgetPeriod
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.fronts.errors import FrontError
from llmcore.schema.errors import InvalidRequestError, NotFoundError
from tests.bridge.accounts.test_ledgers import Clock


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    made = SqliteLedger(None, setting="X")
    yield made
    made.close()


def test_a_key_matches_its_own_text_only() -> None:
    """And its digests are neither shown nor in its repr."""
    key, text = new_key(KeyLimits(name="n"), 5.0)
    _, other = new_key(KeyLimits(), 5.0)

    assert key_id(text) == key.id
    assert key.matches(text, 6.0)
    assert not key.matches(other, 6.0)
    assert not key.matches(text + "x", 6.0)
    assert not key.matches("schlüssel \udce9", 6.0)
    assert key.digest not in repr(key)
    assert key.digest not in str(key.shown())
    assert text.rpartition("_")[2] not in packed_key(key).decode()


@pytest.mark.parametrize("text", ["", "sk-1", "ob_", "ob_12_34", "ob_5f0c2a91d4_" + "é" * 43])
def test_a_text_of_another_form_has_no_id(text: str) -> None:
    assert key_id(text) is None


@given(st.text(max_size=80))
def test_any_text_has_an_id_or_none(text: str) -> None:
    """Whatever clients send as a key."""
    found = key_id(text)
    assert found is None or text.startswith(f"ob_{found}_")


@given(
    st.builds(
        KeyLimits,
        name=st.text(max_size=20),
        models=st.lists(st.text(max_size=10)).map(tuple),
        expires_at=st.none() | st.floats(1, 1e11),
        budget_usd=st.none() | st.floats(1e-9, 1e6),
        budget_tokens=st.none() | st.integers(1, 10**15),
        period=st.sampled_from(["day", "week", "month", "total"]),
    )
)
def test_a_stored_key_is_read_as_it_was(limits: KeyLimits) -> None:
    key, _ = new_key(limits, 1.0)

    assert unpacked_key(packed_key(key)) == key


@pytest.mark.parametrize(
    "limits",
    [
        {"budget_usd": 0.0},
        {"budget_usd": float("nan")},
        {"budget_usd": 1e7},
        {"requests_per_minute": -1},
        {"budget_tokens": 10**16},
        {"name": "x" * 201},
        {"period": "year"},
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        KeyLimits(**limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "limits",
    [
        {"name": "a\r\nb"},
        {"owner": "\x1b[2J"},
        {"models": ["m", "\0"]},
        {"name": "\ud800"},
    ],
    ids=["line end", "escape", "nul", "surrogate"],
)
def test_texts_that_no_terminal_can_show_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="not printable"):
        limits_from(limits)


def test_a_key_that_would_never_be_valid_is_refused(ledger: SqliteLedger) -> None:
    """Changing another limit of an expired key is possible."""
    times = [100.0]
    keys = KeyRegistry(ledger, clock=lambda: times[0])
    with pytest.raises(InvalidRequestError, match="not in the future"):
        keys.create(KeyLimits(expires_at=99.0))
    key, _ = keys.create(KeyLimits(expires_at=101.0))
    with pytest.raises(InvalidRequestError, match="not in the future"):
        keys.update(key.id, {"expires_at": 100.0})
    times[0] = 200.0

    assert keys.update(key.id, {"name": "old"}).limits.name == "old"


@pytest.mark.parametrize(
    ("models", "model", "allowed"),
    [
        ((), "anything", True),
        (("gpt-5.5",), "gpt-5.5", True),
        (("gpt-5.5",), "gpt-5.5-mini", False),
        (("claude-*", "x"), "claude-sonnet-5", True),
        (("claude-*",), "my-claude-5", False),
        (("*",), "anything", True),
    ],
)
def test_models_are_allowed_by_name_or_beginning(
    models: tuple[str, ...], model: str, allowed: bool
) -> None:
    assert KeyLimits(models=models).allows(model) is allowed


def test_periods_are_those_of_the_calendar_in_a_time_zone() -> None:
    last = 1767225599.0  # 2025-12-31 23:59:59 UTC, a Wednesday
    assert period_name("day", last, UTC) == "2025-12-31"
    assert period_name("week", last, UTC) == "2026-W01"
    assert period_name("month", last, UTC) == "2025-12"
    assert period_name("month", last + 1, UTC) == "2026-01"
    assert period_name("total", last, UTC) == "total"
    assert period_name("day", last, ZoneInfo("Asia/Tokyo")) == "2026-01-01"
    assert period_name("month", last + 3600, ZoneInfo("America/New_York")) == "2025-12"


@pytest.mark.parametrize(
    ("period", "zone", "end"),
    [
        ("day", "UTC", "2026-01-01T00:00:00+00:00"),
        ("week", "UTC", "2026-01-05T00:00:00+00:00"),
        ("month", "UTC", "2026-01-01T00:00:00+00:00"),
        ("day", "Asia/Tokyo", "2026-01-02T00:00:00+09:00"),
        ("month", "Asia/Tokyo", "2026-02-01T00:00:00+09:00"),
        ("month", "America/New_York", "2026-01-01T00:00:00-05:00"),
    ],
)
def test_a_period_ends_where_its_name_changes(period: BudgetPeriod, zone: str, end: str) -> None:
    last, there = 1767225599.0, ZoneInfo(zone)  # 2025-12-31 23:59:59 UTC, a Wednesday
    ends = period_end(period, last, there)

    assert ends is not None
    assert ends == datetime.fromisoformat(end).timestamp()
    name = period_name(period, last, there)
    assert period_name(period, ends - 1, there) == name != period_name(period, ends, there)


@given(
    st.sampled_from(["day", "week", "month"]),
    st.floats(0, 4e9),
    st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York", "Africa/Cairo", "Asia/Beirut"]),
)
def test_a_level_is_kept_for_the_rest_of_its_period_without_another_change(
    period: BudgetPeriod, at: float, zone: str
) -> None:
    """Else a budget that was used up would begin anew within its period."""
    there = ZoneInfo(zone)
    end = period_end(period, at, there)

    assert end is not None
    assert at < end <= at + kept_s(period)
    assert period_name(period, end, there) != period_name(period, at, there)


def test_the_registry_creates_changes_and_revokes(ledger: SqliteLedger, clock: Clock) -> None:
    keys = KeyRegistry(ledger, clock=clock)
    one, _ = keys.create(KeyLimits(name="one"))
    clock.now += 1
    two, _ = keys.create(KeyLimits(name="two", budget_usd=5.0))

    assert keys.all() == [one, two]
    changed = keys.update(two.id, {"budget_usd": None, "models": ["m"]})
    assert changed.limits == KeyLimits(name="two", models=("m",))
    assert keys.revoke(one.id).revoked_at == clock.now
    clock.now += 9
    assert keys.revoke(one.id).revoked_at == clock.now - 9
    with pytest.raises(InvalidRequestError, match="revoked"):
        keys.rotate(one.id)
    with pytest.raises(InvalidRequestError, match="nonsense"):
        keys.update(two.id, {"nonsense": 1})
    with pytest.raises(NotFoundError):
        keys.get("0000000000")


def test_a_rotated_key_is_valid_in_both_forms_for_a_while(
    ledger: SqliteLedger, clock: Clock
) -> None:
    keys = KeyRegistry(ledger, clock=clock)
    key, old = keys.create(KeyLimits())
    key, new = keys.rotate(key.id, overlap_s=60.0)

    assert key.matches(new, clock.now)
    assert key.matches(old, clock.now + 59)
    assert not key.matches(old, clock.now + 61)
    key, _ = keys.rotate(key.id)
    assert not key.matches(new, clock.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Counting(SqliteLedger):
    reads = 0

    def key(self, name: str) -> bytes | None:
        self.reads += 1
        return super().key(name)


@pytest.mark.anyio
async def test_a_key_is_read_twice_a_second_at_most_and_never_older_than_one(clock: Clock) -> None:
    """However many requests come with it."""
    ledger = Counting(None, setting="X")
    keys = KeyRegistry(ledger, clock=clock)
    key, text = keys.create(KeyLimits())
    lookup = KeyLookup(ledger, anyio.CapacityLimiter(4), clock=clock, monotonic=clock)
    ledger.reads = 0
    for _ in range(20):
        clock.now += 0.05
        found = await lookup.find(["sk-other", text])
        assert found is not None
        assert found.id == key.id
    assert ledger.reads <= 3

    keys.revoke(key.id)
    clock.now += 1.0
    with pytest.raises(FrontError) as caught:
        await lookup.find([text])
    assert (caught.value.status, caught.value.code) == (401, "key_revoked")
    assert await lookup.find(["ob_0000000000_" + "x" * 43, "sk"]) is None
    ledger.close()


@pytest.mark.anyio
async def test_a_key_that_is_being_read_again_is_used_for_less_than_a_second() -> None:
    """However long the store takes: the key may have been revoked."""
    released, waiting = threading.Event(), list[str]()

    class Slow(SqliteLedger):
        def key(self, name: str) -> bytes | None:
            if waiting:
                released.wait(20)
            return super().key(name)

    ledger, clock, found, at_once = Slow(None, setting="X"), Clock(), list[str](), list[str]()
    key, text = KeyRegistry(ledger, clock=clock).create(KeyLimits())
    lookup = KeyLookup(ledger, anyio.CapacityLimiter(4), clock=clock, monotonic=clock)
    await lookup.find([text])
    waiting.append(key.id)

    async def find(name: str) -> None:
        await lookup.find([text])
        found.append(name)

    async with anyio.create_task_group() as tasks:
        for name, later_s in (("reads", 0.5), ("uses", 0.2), ("waits", 0.2)):
            clock.now += later_s
            tasks.start_soon(find, name)
            await anyio.wait_all_tasks_blocked()
        at_once = list(found)
        released.set()
    ledger.close()

    assert at_once == ["uses"]
    assert sorted(found) == ["reads", "uses", "waits"]


@pytest.mark.anyio
async def test_made_up_keys_neither_delay_nor_displace_real_ones() -> None:
    """All threads that they get wait for the store, while a known key is read again."""
    released = threading.Event()

    class Ledger(SqliteLedger):
        reads: ClassVar[list[str]] = []

        def key(self, name: str) -> bytes | None:
            self.reads.append(name)
            if name not in real:
                released.wait(20)
            return super().key(name)

    ledger, clock = Ledger(None, setting="X"), Clock()
    real: set[str] = set()
    key, text = KeyRegistry(ledger, clock=clock).create(KeyLimits())
    real.add(key.id)
    lookup = KeyLookup(ledger, anyio.CapacityLimiter(4), clock=clock, monotonic=clock)
    await lookup.find([text])
    made_up = [f"ob_{number:010x}_" + "x" * 43 for number in range(1_500)]
    async with anyio.create_task_group() as tasks:
        for one in made_up[:50]:
            tasks.start_soon(lookup.find, [one])
        await anyio.wait_all_tasks_blocked()
        clock.now += 60.0
        with anyio.fail_after(15):
            assert await lookup.find([text]) is not None
        released.set()
    for one in made_up:
        await lookup.find([one])
    read = len(ledger.reads)

    assert await lookup.find([text]) is not None
    assert await lookup.find([made_up[-1]]) is None
    assert len(ledger.reads) == read, "both are remembered"
    clock.now += 60.0
    assert await lookup.find([made_up[-1]]) is None
    assert len(ledger.reads) == read + 1
    ledger.close()


def test_an_expired_key_is_refused_with_its_reason() -> None:
    key: IssuedKey = evolve(new_key(KeyLimits(expires_at=10.0), 0.0)[0])

    key.check(9.9)
    with pytest.raises(FrontError) as caught:
        key.check(10.0)
    assert caught.value.code == "key_expired"
