"""Rows of spend on their way to the ledger outlive their process."""

import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.spend import journal as journal_module
from llmcore.bridge.spend import running as running_module
from llmcore.bridge.spend.journal import SpendJournal
from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.spend.running import RunningResponses
from llmcore.bridge.spend.writer import SpendEvents, SpendWriter
from llmcore.bridge.state.ledger import Increment, Ledger, Meter, Settlement
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.state.stores import journal_for
from tests.bridge.accounts.test_charges import answering, body, rows
from tests.bridge.accounts.test_killed_gateways import environment, ledger_of
from tests.bridge.service.test_websocket import connected, turn
from tests.support.servers.bridge_process import gateway
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state
from tests.support.servers.loopback import serve

texts = st.text(st.characters(codec="utf-8"), max_size=20)
amounts = st.integers(-(2**62), 2**62)
takes = st.builds(
    Increment,
    st.builds(
        Meter,
        name=texts,
        limit=amounts,
        drains_per_s=st.floats(0, 1e9),
        keep_s=st.floats(0, 1e10),
    ),
    amounts,
)
settlements = st.builds(
    Settlement,
    id=texts,
    worker=texts,
    at=st.floats(0, 1e11),
    uses=st.lists(takes, max_size=2).map(tuple),
    row=texts.map(str.encode),
)


def left_by(folder: Path, name: str = "x") -> list[Settlement]:
    """Return what another process finds, and leave it there."""
    found: list[Settlement] = []
    for orphan in SpendJournal(folder, name).orphans():
        found += orphan.settlements
        orphan.leave()
    return found


@contextmanager
def folders() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@given(st.lists(settlements, max_size=6), st.integers(0, 6), st.integers(1, 400))
def test_what_is_not_written_is_found_by_the_next_process(
    added: list[Settlement], written: int, largest: int
) -> None:
    """Also over several files. What is written may be found again: it is not counted twice."""
    written = min(written, len(added))
    with folders() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "_MAX_FILE_BYTES", largest)
        journal = SpendJournal(folder, "x")
        for one in added:
            journal.add(one)
        journal.written(written)
        assert left_by(folder) == []  # its owner is there
        journal.close()
        found = Counter(left_by(folder))

        assert Counter(added[written:]) <= found <= Counter(added)
        if written == len(added):
            assert list(folder.iterdir()) == []


@given(st.lists(settlements, min_size=1, max_size=3), st.data())
def test_a_file_that_was_cut_anywhere_has_what_came_before(
    added: list[Settlement], data: st.DataObject
) -> None:
    """And what is appended after a cut is read."""
    with folders() as folder:
        journal = SpendJournal(folder, "x")
        for one in added:
            journal.add(one)
        journal.close()
        (path,) = folder.iterdir()
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        before = left_by(folder)
        path.write_bytes(whole[:cut] + whole)
        after = left_by(folder)

    assert before == added[: len(before)]
    assert len(before) >= whole[:cut].count(b"}\n")
    assert after == [*before, *added]


@given(
    st.lists(settlements, max_size=4, unique_by=lambda one: one.id),
    st.lists(settlements, min_size=1, max_size=4, unique_by=lambda one: one.id),
    st.data(),
)
def test_a_response_that_ran_is_found_as_it_was_noted_last(
    first: list[Settlement], last: list[Settlement], data: st.DataObject
) -> None:
    """Unless its end was noted. A note that was cut off anywhere is that of the first ones."""
    with folders() as folder:
        journal = SpendJournal(folder, "x")
        journal.note_running(first)
        journal.note_running(last)
        assert left_by(folder) == []  # its owner is there
        ended = data.draw(st.sampled_from(last))
        (path,) = folder.iterdir()
        before = path.read_bytes()
        journal.ended(ended.id)
        journal.ended("never noted")
        whole = path.read_bytes()
        del journal  # which does not close its files
        other = folder / "x.copy.running"
        other.write_bytes(whole)
        assert left_by(folder) == [one for one in last if one is not ended]
        other.write_bytes(before[: data.draw(st.integers(0, len(before)))])
        found = left_by(folder)

    assert found == last[: len(found)]


def test_notes_of_running_responses_end_with_their_gateway(tmp_path: Path) -> None:
    """No file is left by one that was stopped."""
    journal = SpendJournal(tmp_path, "x")
    journal.note_running([])
    assert list(tmp_path.iterdir()) == []
    one = Settlement(id="a", worker="w", at=0.0, uses=(), row=b"{}")
    journal.note_running([one])
    journal.close()

    assert list(tmp_path.iterdir()) == []


def test_gateways_of_different_ledgers_have_different_names(tmp_path: Path) -> None:
    """In one folder, too: no row reaches the ledger of another gateway."""
    state = sqlite_state(tmp_path)
    one = Settlement(id="a", worker="w", at=0.0, uses=(), row=b"{}")
    states = [
        state,
        evolve(state, backend="redis", redis_url="redis://one"),
        evolve(state, backend="redis", redis_url="redis://two"),
        evolve(state, backend="postgres", postgres_url="postgresql://one"),
    ]
    for number, given_state in enumerate(states):
        journal = journal_for(GatewaySettings(state=given_state))
        assert journal is not None
        journal.add(replace(one, id=str(number)))
        journal.close()

    for number, given_state in enumerate(states):
        again = journal_for(GatewaySettings(state=given_state))
        assert again is not None
        found = [(orphan, orphan.settlements) for orphan in again.orphans()]
        assert [one.id for _, left in found for one in left] == [str(number)]
        found[0][0].leave()
    assert journal_for(GatewaySettings(state=evolve(state, backend="memory"))) is None


class Away(SqliteLedger):
    """A ledger whose database is away."""

    def settle(self, settlements: Sequence[Settlement]) -> None:
        raise StateUnavailableError("away")


@pytest.mark.parametrize("journaled", [True, False])
def test_what_a_stop_could_not_write_is_left_for_the_next_gateway(
    tmp_path: Path, journaled: bool
) -> None:
    """Without a journal it is counted as lost."""
    dropped: list[int] = []
    writer = SpendWriter(
        Away(None, setting="X"),
        "w",
        SpendEvents(dropped=dropped.append, waiting=lambda _: None, failed=lambda: None),
        journal=SpendJournal(tmp_path, "x") if journaled else None,
        max_rows=10,
        keep_s=60.0,
    )
    one = Settlement(id="a", worker="w", at=0.0, uses=(), row=b"{}")
    writer.add(one, must_keep=True)
    writer.close(0.05)

    assert left_by(tmp_path) == ([one] if journaled else [])
    assert dropped == ([] if journaled else [1])


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_written_holds_no_response_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the reason, once."""

    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(SpendJournal, "_created", refuse)
    with serve(answering) as upstream:
        async with asked(settings_for(upstream.url, state=sqlite_state(tmp_path))) as client:
            statuses = [(await client.post("/v1/responses", json=body())).status_code for _ in "ab"]

    assert statuses == [200, 200]
    noted = [one for one in caplog.records if one.getMessage() == "spend_not_journaled"]
    assert len(noted) == 1


class Charged:
    """The account of a response."""

    id = "a"


@pytest.mark.anyio
async def test_a_disk_that_takes_no_notes_is_logged_once_while_responses_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of a response that is not noted writes nothing, and does not count as a success."""
    refused = anyio.Event()

    def refuse(*_: object) -> None:
        refused.set()
        raise OSError("the disk is full")

    monkeypatch.setattr(running_module, "_NOTED_S", 0.0)
    monkeypatch.setattr(SpendJournal, "note_running", refuse)
    running = RunningResponses[Charged](SpendJournal(tmp_path, "x"), lambda _: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.note)
        for _ in range(3):
            await refused.wait()
            refused = anyio.Event()
            running.end(Charged())
        tasks.cancel_scope.cancel()

    noted = [one for one in caplog.records if one.getMessage() == "spend_not_journaled"]
    assert len(noted) == 1


@pytest.mark.slow
def test_answers_that_arrived_are_charged_although_their_gateway_is_killed(tmp_path: Path) -> None:
    """However they came. The store takes no row before the kill: another program holds it."""
    state = {
        "OPENBRIDGE_STATE_BACKEND": "sqlite",
        "OPENBRIDGE_STATE_PATH": str(tmp_path / "state.db"),
    }
    ledger = ledger_of(state)
    assert rows(ledger) == []  # the file is there from now on
    path = tmp_path / "state-accounts.db"
    with serve(answering) as upstream:
        given_ = environment(upstream, state) | {"OPENBRIDGE_KEYS_ISSUED": "false"}
        with gateway(tmp_path, **given_) as killed, closing(sqlite3.connect(path)) as other:
            other.isolation_level = None
            other.execute("begin immediate")
            names = _asked_in_every_way(killed.url)
            killed.process.kill()
            killed.process.wait()
            assert rows(ledger) == []
            other.execute("rollback")
        with gateway(tmp_path, **given_):
            found = _rows_soon(ledger, len(names))
    ledger.close()

    assert {row.id for row in found} == set(names)
    assert {(row.input_tokens, row.output_tokens) for row in found} == {(30, 20)}
    assert {row.outcome for row in found} == {"completed"}


def _asked_in_every_way(url: str) -> list[str]:
    """Return the ids of responses: whole, streamed, over a socket, and in the background."""
    whole = httpx.post(f"{url}/responses", json=body()).json()["id"]
    streamed = httpx.post(f"{url}/responses", json=body(stream=True)).text
    streamed_id = streamed.rpartition('"response":{"id":"')[2].partition('"')[0]
    sent = {**body(), "background": True, "store": True}
    background = httpx.post(f"{url}/responses", json=sent).json()["id"]
    while httpx.get(f"{url}/responses/{background}").json()["status"] != "completed":
        time.sleep(0.02)
    with connected(url) as socket:
        over_socket = turn(socket, model="m-1", max_output_tokens=100)["response"]["id"]
    return [whole, streamed_id, background, over_socket]


def _rows_soon(ledger: Ledger, count: int) -> list[SpendRow]:
    deadline = time.monotonic() + 20
    while len(found := rows(ledger)) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found
