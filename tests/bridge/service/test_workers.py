"""Several processes on one address: one dies, all are stopped, and what they counted."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import uvicorn

from llmcore.bridge.http import workers as workers_module
from llmcore.bridge.http.server import allow_open_files
from tests.support.servers.bridge_process import Gateway, environ, gateway, refusal
from tests.support.servers.bridge_service import UPSTREAM_KEY, events_of, streamed, text_of
from tests.support.servers.loopback import chat_handler, chat_stream, serve
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

ASK = {"model": "m-1", "input": "Hi"}


def two_workers(url: str) -> dict[str, str]:
    return {
        "OPENROUTER_API_KEY": UPSTREAM_KEY,
        "OPENROUTER_BASE_URL": f"{url}/v1",
        "OPENBRIDGE_WORKERS": "2",
    }


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def asked(gateway: Gateway) -> httpx.Response:
    """Ask over a new connection, which either worker may accept."""
    return httpx.post(f"{gateway.url}/responses", json=ASK, timeout=30)


def counted(gateway: Gateway) -> float:
    lines = httpx.get(f"{gateway.url.removesuffix('/v1')}/metrics").text.splitlines()
    created = [line for line in lines if "requests_total" in line and 'route="create"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in created)


def test_workers_share_state_and_metrics_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with (
        serve(chat_handler) as upstream,
        gateway(tmp_path, TMPDIR=str(temporary), **two_workers(upstream.url)) as running,
    ):
        before = children(running.process.pid)
        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(lambda _: asked(running), range(24)))
        found = [httpx.get(f"{running.url}/responses/{one.json()['id']}") for one in made]
        assert counted(running) == 24

        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(children(running.process.pid) - before) == 1)
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(children(running.process.pid)) == 2)
        with ThreadPoolExecutor(8) as threads:
            more = list(threads.map(lambda _: asked(running), range(24)))
        assert counted(running) == 48
        assert [path.name.rpartition("-")[0] for path in temporary.iterdir()] == [
            "openbridge-metrics"
        ]
        after = children(running.process.pid)

    assert len(before) == len(after) == 2
    assert list(temporary.iterdir()) == []
    assert {answer.status_code for answer in (*made, *found, *more)} == {200}
    died = [line for line in running.lines if line["event"] == "worker_died"]
    assert [(line["pid"], line["status"]) for line in died] == [(min(before), -signal.SIGKILL)]


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_all_workers_finish_their_answers_first(tmp_path: Path, which: signal.Signals) -> None:
    with (
        serve(lambda _: streamed(chat_stream(["a", "b", "c"], pause=0.3))) as upstream,
        gateway(tmp_path, **two_workers(upstream.url)) as running,
        ThreadPoolExecutor(6) as threads,
    ):
        body = {**ASK, "stream": True}
        answers = [
            threads.submit(httpx.post, f"{running.url}/responses", json=body) for _ in range(6)
        ]
        wait_until(lambda: len(upstream.received) == 6)
        running.process.send_signal(which)
        ended = [events_of(one.result().content)[-1] for one in answers]
        code = running.process.wait(10)

    assert [text_of(one["response"]) for one in ended] == ["abc"] * 6
    assert code == (130 if which is signal.SIGINT else -which)
    assert "worker_died" not in [line["event"] for line in running.lines]


def test_workers_end_when_their_supervisor_is_gone(tmp_path: Path) -> None:
    with (
        serve(chat_handler) as upstream,
        gateway(tmp_path, **two_workers(upstream.url)) as running,
    ):
        workers = children(running.process.pid)
        running.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}/fd").exists() for pid in workers))

    assert len(workers) == 2


def test_a_store_that_no_other_process_sees_is_refused(tmp_path: Path) -> None:
    named = {**two_workers("http://localhost"), "OPENBRIDGE_STATE_BACKEND": "memory"}
    code, output = refusal(tmp_path, **named)

    assert code == 9
    assert "several workers need a store that they share" in output


ONE_STARTS = """
import pathlib, signal, sys
from llmcore.bridge.http.workers import Supervisor

def serving(ready):
    try:
        pathlib.Path("started").touch(exist_ok=False)
    except FileExistsError:
        sys.exit(3)
    ready()
    signal.pause()

Supervisor(serving, 2, 1.0).run(lambda: None)
"""


def test_a_worker_that_cannot_start_ends_the_others(tmp_path: Path) -> None:
    """That is at the first start; later a delay leaves time to repair what is wrong."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_STARTS],
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env=environ(tmp_path),
        timeout=30,
    )

    assert done.returncode == 1
    assert "ConfigurationError: a worker could not start" in done.stderr


ONE_HANGS = """
import os, pathlib, signal, time
from llmcore.bridge.http import workers

workers._CHECK_S = 0.05
workers._SILENT_CHECKS = 100

def serving(report):
    first = not pathlib.Path("hung").exists()
    pathlib.Path("hung").write_text(str(os.getpid()))
    report()
    while not first:
        report()
        time.sleep(0.01)
        if pathlib.Path("end").exists():
            os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()

workers.Supervisor(serving, 1, 1.0).run(lambda: print("ready", flush=True))
"""


def test_a_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    hung = tmp_path / "hung"
    with subprocess.Popen(
        [sys.executable, "-c", ONE_HANGS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environ(tmp_path),
    ) as supervisor:
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        first = hung.read_text()
        wait_until(lambda: hung.read_text() not in ("", first), 30)
        (tmp_path / "end").touch()
        _, errors = supervisor.communicate(timeout=30)

    assert errors.split() == ["worker_hangs", "worker_died"]


def test_only_a_worker_that_was_ready_and_reports_nothing_is_silent() -> None:
    reports, reporting = os.pipe()
    os.set_blocking(reports, False)
    worker = workers_module._Worker(pid=1, reports=reports)
    silent = []
    for reported in (b"", b"", b"1", b"", b"", b"11", b""):
        os.write(reporting, reported)
        worker.check()
        silent.append(worker.silent)
    os.close(reporting)
    worker.ended(0.0)

    assert silent == [0, 0, 0, 1, 2, 0, 1]
    assert (worker.is_ready, worker.silent) == (False, 0)


def test_a_server_reports_for_as_long_as_its_loop_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers_module, "_REPORT_S", 0.01)
    reports: list[float] = []
    server: workers_module.ReportingServer

    def report() -> None:
        reports.append(len(reports))
        server.should_exit = len(reports) > 5

    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None)
    server = workers_module.ReportingServer(config, report)
    server.run()

    assert len(reports) > 5


async def app(scope: object, receive: object, send: object) -> None:
    """Serve nothing: no request comes."""


def test_workers_have_time_for_responses_and_then_for_background_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may take `shutdown_s`; only after both is a worker killed."""
    clock = [1000.0]
    sent: list[tuple[signal.Signals, float]] = []

    def wait(*_: object) -> tuple[list[int], list[int], list[int]]:
        clock[0] += 0.5
        return [], [], []

    def send(supervisor: workers_module.Supervisor, which: signal.Signals) -> None:
        sent.append((which, clock[0] - 1000.0))
        if which is signal.SIGKILL:
            supervisor._workers.clear()

    monkeypatch.setattr(workers_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(workers_module, "select", SimpleNamespace(select=wait))
    monkeypatch.setattr(workers_module.Supervisor, "_send", send)
    monkeypatch.setattr(workers_module.Supervisor, "_reaped", lambda _: {})
    supervisor = workers_module.Supervisor(lambda _: None, 1, 100.0)
    supervisor._workers = [workers_module._Worker(pid=1)]
    supervisor._stop(signal.SIGTERM)
    supervisor._wait_for_all(0)

    assert [which for which, _ in sent] == [signal.SIGTERM, signal.SIGKILL]
    assert 200 < sent[1][1] < 220


def test_workers_that_die_soon_are_started_ever_later() -> None:
    worker = workers_module._Worker(pid=1, started=100.0)
    delays = []
    for _ in range(9):
        worker.ended(worker.started + 1)
        delays.append(worker.due - worker.started - 1)
        worker.started = worker.due
    worker.ended(worker.started + 60)

    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert worker.due == worker.started + 60


def test_a_gateway_may_open_as_many_files_as_the_system_allows() -> None:
    """Each connection is one, and 1024 is the usual limit."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = 65_536 if before[1] == resource.RLIM_INFINITY else min(before[1], 65_536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, before[1]))
    try:
        assert allow_open_files() == hard

        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, before[1])
        assert allow_open_files() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
