"""`openbridge keys` and `openbridge usage`, over a store in a file."""

import csv
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llmcore.bridge.spend.row import SpendRow, packed_row
from llmcore.bridge.state.ledger import Settlement
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.cli.openbridge import main

DAY = 86400.0


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENBRIDGE_STATE_PATH", str(tmp_path / "state.db"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs `openbridge` and returns what it prints."""

    def run_(*words: str) -> str:
        code = main(words)
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out

    return run_


def test_a_key_is_printed_once_and_shown_without_its_text(run: Callable[..., str]) -> None:
    """Its limits are those of the options."""
    options = ["--name", "ci", "--models", "a,b-*", "--budget-usd", "2.5", "--period", "day"]
    text = run("keys", "create", *options, "--expires", "2d").strip()
    id_ = text.split("_")[1]
    listed = run("keys", "list")
    shown = json.loads(run("keys", "show", id_, "--json"))

    assert re.fullmatch(r"ob_[0-9a-f]{10}_[\w-]{43}", text)
    assert id_ in listed
    assert "$2.5 a day" in listed
    assert text not in listed
    assert text not in json.dumps(shown)
    assert shown["models"] == ["a", "b-*"]
    assert shown["used"] == {"usd": 0.0}
    assert abs(shown["expires_at"] - time.time() - 2 * DAY) < 60
    assert "expires_at: 20" in run("keys", "show", id_)


@pytest.mark.parametrize(("issued", "notes"), [("true", 0), ("false", 1)])
def test_key_that_the_gateway_would_not_accept_is_created_with_a_note(
    run: Callable[..., str],
    issued: str,
    notes: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENBRIDGE_KEYS_ISSUED", issued)
    assert main(["keys", "create"]) == 0
    shown = capsys.readouterr()

    assert shown.out.startswith("ob_")
    assert shown.err.count("set OPENBRIDGE_KEYS_ISSUED=true") == notes


def test_a_key_is_changed_rotated_and_revoked(run: Callable[..., str]) -> None:
    made = json.loads(run("keys", "create", "--json"))
    id_ = made["id"]
    run("keys", "update", id_, "--requests-per-minute", "5", "--owner", "tools")
    run("keys", "update", id_, "--budget-usd", "2", "--expires", "2d", "--models", "a")
    run("keys", "update", id_, "--remove", "budget-usd", "--remove", "expires")
    turned = run("keys", "rotate", id_, "--overlap", "24h").strip()
    run("keys", "revoke", id_)
    shown = json.loads(run("keys", "show", id_, "--json"))

    assert (shown["requests_per_minute"], shown["owner"]) == (5, "tools")
    assert (shown["budget_usd"], shown["expires_at"], shown["models"]) == (None, None, ["a"])
    assert turned.startswith(f"ob_{id_}_")
    assert turned != made["key"]
    assert shown["state"] == "revoked"
    assert "revoked" in run("keys", "list")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["keys", "show", "0123456789"], 5, "'0123456789': `openbridge keys list` shows their ids"),
        (["keys", "create", "--models", ""], 2, "--models names no model"),
        (["keys", "create", "--models", " , "], 2, "--models names no model"),
        (["keys", "rotate", "0123456789", "--overlap", "1x"], 2, "1x"),
        (["keys", "create", "--expires", "soon"], 2, "nor a time such as 30d"),
        (["keys", "create", "--expires", "2020-01-01"], 2, "is not in the future"),
        (["keys", "create", "--expires", "0d"], 2, "is not in the future"),
        (["keys", "create", "--budget-usd", "-1"], 2, "must be above 0 and at most 1,000,000\n"),
        (["keys", "create", "--name", "n" * 201], 2, "name is longer than 200 characters"),
        (["keys", "update", "0123456789"], 2, "name what is to change"),
        (["usage", "--by", "colour"], 2, "colour"),
        (["usage", "--since", "yesterday"], 2, "yesterday"),
        (["usage", "--until", "2026-13-01"], 2, "2026-13-01"),
    ],
)
def test_what_cannot_be_done_is_reported(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong options have the exit code that they have in every command."""
    assert main(words) == code
    assert message in capsys.readouterr().err


def test_a_revoked_key_cannot_be_rotated(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    id_ = json.loads(run("keys", "create", "--json"))["id"]
    run("keys", "revoke", id_)

    assert main(["keys", "rotate", id_]) == 2
    assert "was revoked: create another one" in capsys.readouterr().err


def test_a_store_in_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key in it would be gone when the command ends."""
    monkeypatch.setenv("OPENBRIDGE_STATE_BACKEND", "memory")

    assert main(["keys", "list"]) != 0
    assert "memory" in capsys.readouterr().err


def spent(at: float, **fields: object) -> Settlement:
    """Return the settlement of a response."""
    given = {"key": "k1", "model": "m", "provider": "p", "target": "m-1", "outcome": "completed"}
    id_ = f"r{at}{fields}"
    row = SpendRow(id=id_, at=at, **(given | fields))  # type: ignore[arg-type]
    return Settlement(id=id_, worker="w", at=at, uses=(), row=packed_row(row))


def test_days_of_usage_are_those_of_the_configured_time_zone(
    run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are the dates of options."""
    ledger = SqliteLedger(tmp_path / "state-accounts.db", setting="X")
    ledger.settle([spent(1767223800.0, input_tokens=7)])  # 2025-12-31 23:30 UTC
    ledger.close()
    options = ("--by", "day,month", "--format", "csv")
    utc = run("usage", "--since", "2025-01-01", *options)
    monkeypatch.setenv("OPENBRIDGE_BUDGETS_TIME_ZONE", "Europe/Berlin")
    berlin = run("usage", "--since", "2026-01-01", *options)

    assert utc.splitlines()[1].startswith("2025-12-31,2025-12,1,")
    assert berlin.splitlines()[1].startswith("2026-01-01,2026-01,1,")


def test_usage_states_what_is_used_of_the_budget_of_all_requests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the table, which stays the only output."""
    for name, value in {"USD": "5", "TOKENS": "20000", "PERIOD": "day"}.items():
        monkeypatch.setenv(f"OPENBRIDGE_BUDGETS_{name}", value)
    assert main(["usage"]) == 0
    printed = capsys.readouterr()

    assert "$" not in printed.out
    assert "all requests: $0.00 of $5.00 used or reserved today" in printed.err
    assert "all requests: 0 of 20,000 tokens used or reserved today" in printed.err


def test_a_key_is_shown_with_what_is_used_of_its_budgets(run: Callable[..., str]) -> None:
    """A period without a budget means nothing."""
    limits = ("--budget-usd", "20", "--budget-tokens", "5000", "--period", "total")
    with_budget = json.loads(run("keys", "create", *limits, "--json"))["id"]
    without = json.loads(run("keys", "create", "--json"))["id"]
    shown, plain = run("keys", "show", with_budget), run("keys", "show", without)

    assert "used: $0.00 of $20.00 used or reserved in total" in shown
    assert "used: 0 of 5,000 tokens used or reserved in total" in shown
    assert "object" not in shown
    assert "period" not in plain
    assert "used" not in plain


def test_keys_are_listed_with_what_each_may_do(run: Callable[..., str]) -> None:
    assert run("keys", "list") == ""
    limits = ("--models", "a,b-*", "--budget-usd", "20", "--requests-per-minute", "60")
    run("keys", "create", "--name", "ci", "--owner", "tools", "--expires", "2099-02-03", *limits)
    run("keys", "create", "--name", "a long name")
    head, first, second = run("keys", "list").splitlines()

    assert head.split() == ["id", "state", "name", "owner", "expires", "models", "limits"]
    assert first.split()[1:5] == ["valid", "ci", "tools", "2099-02-03"]
    assert first.endswith("a, b-*  $20 a month, 60 requests a minute")
    assert "a long name" in second
    assert head.index("owner") == first.index("tools")


def test_a_rotated_key_states_until_when_the_old_text_is_valid(
    run: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    id_ = json.loads(run("keys", "create", "--json"))["id"]
    assert main(["keys", "rotate", id_, "--overlap", "24h"]) == 0
    overlapping = capsys.readouterr().err
    assert main(["keys", "rotate", id_]) == 0

    assert re.search(r"The old text is valid until \d{4}-\d\d-\d\dT", overlapping)
    assert "The old text is no longer valid" in capsys.readouterr().err


def test_usage_is_added_up_by_key_model_and_day(run: Callable[..., str], tmp_path: Path) -> None:
    """As a table, CSV and JSON, for the given period."""
    ledger = SqliteLedger(tmp_path / "state-accounts.db", setting="X")
    now = time.time()
    ledger.settle(
        [
            spent(now - 100 * DAY, input_tokens=7),
            spent(now - 60, input_tokens=10, output_tokens=5, cost_nano=2_000_000_000),
            spent(now - 50, input_tokens=1, output_tokens=1, cost_nano=500_000_000),
            spent(now - 40, key="k2", outcome="failed"),
        ]
    )
    ledger.close()
    report = json.loads(run("usage", "--by", "key,model", "--since", "7d", "--json"))
    lines = list(csv.DictReader(io.StringIO(run("usage", "--by", "key", "--format", "csv"))))
    table = run("usage", "--by", "key").splitlines()
    old = json.loads(run("usage", "--by", "", "--since", "2000-01-01", "--format", "json"))

    assert report[0] == {
        "key": "k1",
        "model": "m",
        "responses": 2,
        "failed": 0,
        "input_tokens": 11,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 6,
        "reasoning_tokens": 0,
        "cost_usd": 2.5,
        "unpriced": 0,
    }
    assert (report[1]["failed"], report[1]["unpriced"]) == (1, 1)
    assert [line["key"] for line in lines] == ["k1", "k2"]
    assert lines[0]["cost_usd"] == "2.5"
    assert table[0].split() == ["key", "responses", "failed", "input", "cached", "output", "USD"]
    assert table[1].split() == ["k1", "2", "0", "11", "0", "6", "2.500000"]
    assert [total["input_tokens"] for total in old] == [18]
    assert run("usage", "--until", "200d", "--since", "300d", "--format", "csv") == ""


LONG = "anthropic/claude-sonnet-4-5-20250929-with-a-deployment-name-of-sixty-characters"


@pytest.mark.parametrize("columns", [80, 100, 400])
def test_a_table_with_long_names_fits_the_terminal(
    columns: int, run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name continues on further lines, complete; the numbers are in its first one."""
    ledger = SqliteLedger(tmp_path / "state-accounts.db", setting="X")
    now = time.time()
    ledger.settle([spent(now - 60, model=LONG, input_tokens=10), spent(now - 50, model="m")])
    ledger.close()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("usage", "--by", "key,model").splitlines()

    assert max(map(len, lines)) <= columns
    begin = lines[0].index("model")
    numbers = lines[0].index("responses")
    names = "".join(line[begin:numbers].strip() for line in lines)
    assert names == f"model{LONG}m"
    assert [line.split()[0] for line in lines if "0.000000" in line] == ["k1", "k1"]


def test_a_table_for_a_program_has_one_line_for_each_sum(
    run: Callable[..., str], tmp_path: Path
) -> None:
    """Where no terminal shows it, no name is cut."""
    ledger = SqliteLedger(tmp_path / "state-accounts.db", setting="X")
    ledger.settle([spent(time.time() - 60, model=LONG)])
    ledger.close()

    assert LONG in run("usage", "--by", "model").splitlines()[1].split()
