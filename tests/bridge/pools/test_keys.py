"""Keys from files and commands, over the real server: rotated without a restart."""

import logging
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from llmcore.bridge.configuration.settings import CoolDownSettings
from llmcore.bridge.configuration.tables import KeySource
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.keys import RotatingKey
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.schema.errors import AuthenticationError, LLMError, QuotaExceededError, ServerError
from tests.support.servers.bridge_service import refused
from tests.support.servers.loopback import Answer, Received
from tests.support.servers.pooled_gateway import Scene, pooled_gateway, says

MODEL = '[models.m]\ntargets = ["a/up"]\n'


class Lock:
    """An upstream that takes one key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, received: Received) -> Answer:
        if received.headers.get("authorization") != f"Bearer {self.key}":
            return refused(401, f"wrong key {received.headers.get('authorization')}")
        return says("in")(received)


says_in = says("in")


def deep_health(scene: Scene) -> Any:
    """Return the health of all upstreams."""
    return scene.root("/healthz?deep=1").json()["upstreams"]


def write(path: Path, text: str) -> None:
    """Write a file and make sure that its time has changed."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_a_key_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    write(tmp_path / "key", "one\n")
    lock = Lock("one")
    own = {"a": 'key_file = "key"'}
    with pooled_gateway(MODEL, tmp_path, own=own, a=lock) as scene:
        first = scene.ask()
        lock.key = "two"
        write(tmp_path / "key", "two\n")
        second = scene.ask()

    assert (first.status_code, second.status_code) == (200, 200)
    assert [one.headers["authorization"] for one in scene.upstreams["a"].received] == [
        "Bearer one",
        "Bearer two",
    ]


def test_another_key_file_with_the_time_and_size_of_the_last_one_is_read(tmp_path: Path) -> None:
    path, new = tmp_path / "key", tmp_path / "new"
    path.write_text("one")
    source = KeySource(key_file=str(path))
    key = RotatingKey(source, owner="upstream a", folder=tmp_path)
    new.write_text("two")
    os.utime(new, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
    new.replace(path)

    assert key.is_renewed()
    assert key.current == "two"


def test_an_upstream_that_refused_its_key_is_asked_again_once_the_key_has_changed(
    tmp_path: Path,
) -> None:
    """Not after the cool-down of minutes; and a file that is missing is logged once."""
    write(tmp_path / "key", "one\n")
    config = '[models.m]\ntargets = ["a/up", "b/up"]\n'
    own = {"a": 'key_file = "key"'}
    with pooled_gateway(config, tmp_path, own=own, a=Lock("two"), b=says("b")) as scene:
        assert scene.ask().headers["x-openbridge-upstream"] == "b/up"
        write(tmp_path / "key", "two\n")
        deadline = time.monotonic() + 20
        while scene.ask().headers["x-openbridge-upstream"] != "a/up":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert scene.counts["a"] == 2


@pytest.mark.parametrize("error", [AuthenticationError("no"), QuotaExceededError("no")])
def test_a_reload_lets_upstreams_be_asked_that_refused_their_keys(error: LLMError) -> None:
    """As after a change of a variable, or on SIGHUP; those that fail for other reasons cool on."""
    health = UpstreamHealth(CoolDownSettings(), Metrics())
    refused_key, failing = UpstreamModel("a", "m"), UpstreamModel("b", "m")
    health.failed(refused_key, error)
    health.failed(failing, ServerError("no", status_code=500))
    health.configure(CoolDownSettings(), ())

    assert health.free_at(refused_key) <= health.now() < health.free_at(failing)
    assert "a" in health.changed


def command(folder: Path) -> str:
    """Return the line of a command that prints the file `key` and counts its runs."""
    program = (
        "import pathlib;"
        f"f=pathlib.Path({str(folder)!r});"
        "c=f/'runs';c.write_text((c.read_text() if c.exists() else '')+'x');"
        "print((f/'key').read_text())"
    )
    return f"key_command = [{sys.executable!r}, '-c', \"{program}\"]"


def test_a_command_runs_again_when_its_key_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is sent again with the new key; other requests cost no run."""
    monkeypatch.setattr("llmcore.bridge.pools.keys._PAUSE_S", 0.0)
    write(tmp_path / "key", "one")
    lock = Lock("one")
    with pooled_gateway(MODEL, tmp_path, own={"a": command(tmp_path)}, a=lock) as scene:
        assert [scene.ask().status_code for _ in range(3)] == [200, 200, 200]
        assert (tmp_path / "runs").read_text() == "x"
        write(tmp_path / "key", "two")
        lock.key = "two"
        assert scene.ask().status_code == 200
        assert (tmp_path / "runs").read_text() == "xx"


def test_a_key_that_stays_refused_is_never_shown(tmp_path: Path) -> None:
    write(tmp_path / "key", "sk-very-secret")
    settings = "[routing]\nretries = 0\n"
    own = {"a": 'key_file = "key"'}
    with pooled_gateway(MODEL, tmp_path, settings, own=own, a=Lock("x")) as scene:
        answer = scene.ask()
        pages = scene.root("/version").text + scene.root("/metrics").text
        health = scene.root("/healthz?deep=1")

    assert answer.status_code == 502
    assert health.json()["upstreams"]["a"]["reason"] == "key_refused"
    assert "sk-very-secret" not in answer.text + pages + health.text


def test_a_missing_key_file_is_an_error_of_the_request_and_the_next_target_answers(
    tmp_path: Path,
) -> None:
    config = '[models.m]\ntargets = ["a/up", "b/up"]\n'
    own = {"a": 'key_file = "missing"'}
    with pooled_gateway(config, tmp_path, own=own, a=says("a"), b=says("b")) as scene:
        assert scene.ask().json()["choices"][0]["message"]["content"] == "b"
        assert scene.counts == {"a": 0, "b": 1}


def test_clients_are_called_by_their_names_in_logs_metrics_and_spend(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A key of no named client by a digest."""
    caplog.set_level(logging.INFO, "llmcore.bridge")
    settings = '[server]\nclient_api_key = ["sk-plain"]\n'
    clients = (
        f'{MODEL}[[clients]]\nname = "ann"\nkey = "sk-ann"\n'
        '[prices]\n"a/up" = { input = 1, output = 2 }\n'
    )
    with pooled_gateway(clients, tmp_path, settings, a=says("a")) as scene:
        for key in ("sk-ann", "sk-plain"):
            assert scene.ask(headers={"authorization": f"Bearer {key}"}).status_code == 200
        metrics = httpx.get(
            f"{scene.url.removesuffix('/v1')}/metrics", headers={"x-api-key": "sk-ann"}
        ).text
    lines = [vars(record)["facts"] for record in caplog.records if record.msg == "request"]
    named, plain = [line for line in lines if line["path"].endswith("completions")]

    assert named["key"] == "ann"
    assert re.fullmatch("[0-9a-f]{24}", str(plain["key"]))
    assert 'openbridge_key_responses_total{key="ann"' in metrics
    assert (named["input_tokens"] > 0, named["output_tokens"] > 0) == (True, True)
    cost = (named["input_tokens"] + 2 * named["output_tokens"]) / 1_000_000
    assert named["cost_usd"] == pytest.approx(cost)


def test_clients_have_keys_of_their_own_that_rotate(tmp_path: Path) -> None:
    write(tmp_path / "ann", "ann-1")
    clients = (
        f'{MODEL}[[clients]]\nname = "ann"\nkey_file = "ann"\n'
        '[[clients]]\nname = "bob"\nkey = "bob-1"\n'
    )
    with pooled_gateway(clients, tmp_path, a=says("a")) as scene:

        def status(key: str) -> int:
            return scene.ask(headers={"authorization": f"Bearer {key}"}).status_code

        assert [status(key) for key in ("ann-1", "bob-1", "ann-2", "x")] == [200, 200, 401, 401]
        made = httpx.post(
            f"{scene.url}/responses",
            json={"model": "m", "input": "Hi"},
            headers={"authorization": "Bearer ann-1"},
        ).json()
        write(tmp_path / "ann", "ann-2")
        assert [status(key) for key in ("ann-1", "bob-1", "ann-2")] == [401, 200, 200]
        found = [
            httpx.get(
                f"{scene.url}/responses/{made['id']}", headers={"authorization": f"Bearer {key}"}
            ).status_code
            for key in ("ann-2", "bob-1")
        ]
    assert found == [200, 404], "the owner is the client, whatever its key"


@pytest.mark.parametrize(
    ("own", "says"),
    [
        (f"key_command = [{sys.executable!r}, '-c', 'import sys; sys.exit(3)']", "exit code 3"),
        ("key_command = ['no-such-program']", "not found, or not executable"),
        (f"key_command = [{sys.executable!r}, '-c', 'print()']", "prints nothing"),
        ('key_file = "missing"', "missing: No such file or directory"),
    ],
)
def test_a_key_that_cannot_be_read_is_reported_before_a_request_needs_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, own: str, says: str
) -> None:
    """In the log with the line of its table, and in the health; the others are asked."""
    with pooled_gateway(MODEL, tmp_path, own={"a": own}, a=says_in, b=says_in) as scene:
        deadline = time.monotonic() + 20
        while (health := deep_health(scene))["a"]["state"] == "ok":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    (found,) = [one.__dict__ for one in caplog.records if one.getMessage() == "key_not_read"]
    assert found["facts"]["owner"] == "upstream a"
    assert says in found["facts"]["error"]
    assert "openbridge.toml line " in found["facts"]["place"]
    assert (health["a"]["state"], health["a"]["reason"]) == ("no_key", "key_not_read")
    assert health["b"] == {"state": "ok", "running": 0}


@pytest.mark.anyio
async def test_a_command_that_failed_runs_again_within_seconds(tmp_path: Path) -> None:
    """Not after `key_seconds`, for which a key would be used."""
    now = [0.0]
    program = "import pathlib; print(pathlib.Path('key').read_text())"
    source = KeySource(key_command=(sys.executable, "-c", program))
    key = RotatingKey(source, owner="test", folder=tmp_path, clock=lambda: now[0])
    await key.begin()
    assert not key.has_to_run
    (tmp_path / "key").write_text("one")
    now[0] = 6.0
    assert await key() == "one"
    assert key.fault == ""


@pytest.mark.anyio
async def test_requests_wait_for_the_first_run_of_a_command(tmp_path: Path) -> None:
    program = "import time; time.sleep(0.3); print('one')"
    source = KeySource(key_command=(sys.executable, "-c", program))
    key = RotatingKey(source, owner="test", folder=tmp_path)
    keys: list[str] = []

    async def read() -> None:
        keys.append(await key())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(read)
    assert keys == ["one"] * 3


@pytest.mark.anyio
async def test_the_last_key_is_used_while_no_new_one_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write(path, "one")
    key = RotatingKey(KeySource(key_file="key"), owner="test", folder=tmp_path)
    assert await key() == "one"
    path.unlink()
    assert await key() == "one"
    write(path, "\n")
    assert await key() == "one"
    write(path, "two\nsecond line\n")
    assert await key() == "two"


@pytest.mark.anyio
async def test_a_command_that_fails_is_an_error_only_without_an_earlier_key(tmp_path: Path) -> None:
    now = [0.0]
    source = KeySource(key_command=(sys.executable, "-c", "import sys; sys.exit(3)"))
    key = RotatingKey(source, owner="test", folder=tmp_path, clock=lambda: now[0])
    with pytest.raises(AuthenticationError, match="no key of test"):
        await key()
    assert key.fault == f"the program {sys.executable} of key_command failed with exit code 3"
    key.current = "old"
    now[0] = 301.0
    assert await key() == "old"
    assert key.refused("older")
    assert not key.refused("old"), "it ran just now"
