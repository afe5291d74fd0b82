"""`openbridge serve` as a process: signals, configuration, two of them on one Redis."""

import ctypes
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.servers.bridge_process import PROGRAM, Gateway, environ, gateway, refusal
from tests.support.servers.bridge_service import UPSTREAM_KEY, events_of, streamed, text_of
from tests.support.servers.loopback import chat_handler, chat_stream, serve
from tests.support.servers.postgres_servers import running_postgres
from tests.support.servers.redis_servers import running_redis
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

ASK = {"model": "m-1", "input": "Hi"}


def openrouter(url: str) -> dict[str, str]:
    return {"OPENROUTER_API_KEY": UPSTREAM_KEY, "OPENROUTER_BASE_URL": f"{url}/v1"}


def post(gateway: Gateway, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(f"{gateway.url}/responses", json=body, timeout=30)


def test_openrouter_is_the_upstream_and_sqlite_the_store(tmp_path: Path) -> None:
    """A key is all it needs; responses outlive the process."""
    with serve(chat_handler) as upstream:
        named = {
            **openrouter(upstream.url),
            "OPENROUTER_HTTP_REFERER": "https://app.example",
            "OPENROUTER_X_TITLE": "App",
        }
        with gateway(tmp_path, program=PROGRAM, **named) as first:
            made = post(first, ASK).json()
        with gateway(tmp_path, **named) as second:
            again = post(second, {**ASK, "previous_response_id": made["id"]}).json()

    received = upstream.received[0]
    assert received.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert received.headers["http-referer"] == "https://app.example"
    assert "App" in received.headers.values()
    assert (text_of(made), text_of(again)) == ("Hello", "Hello")
    assert len(json.loads(upstream.received[1].body)["messages"]) == 3
    assert (tmp_path / ".local/share/llmcore/openbridge.sqlite3").exists()
    assert UPSTREAM_KEY not in json.dumps(first.lines + second.lines)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked up in /proc")
def test_memory_is_small_and_stays_so(tmp_path: Path) -> None:
    """A process with the store and all fronts, after its first responses and after many more."""
    with (
        serve(chat_handler) as upstream,
        gateway(tmp_path, program=PROGRAM, **openrouter(upstream.url)) as running,
        httpx.Client(timeout=30) as client,
    ):

        def resident_mb(answers: int) -> float:
            for number in range(answers):
                body = {**ASK, "stream": number % 2 == 0}
                assert client.post(f"{running.url}/responses", json=body).status_code == 200
            status = Path(f"/proc/{running.process.pid}/status").read_text()
            return int(status.partition("VmRSS:")[2].split()[0]) / 1024

        first, later = resident_mb(30), resident_mb(90)

    assert first < 100
    assert later < first + 8


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="needs glibc",
)
def test_freed_memory_of_large_requests_is_returned_to_the_system(tmp_path: Path) -> None:
    """Also where something small was kept after them, and larger ones were freed before."""
    program = """
from pathlib import Path
from llmcore.bridge.http.server import bound_free_memory

def resident_mb():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024

bound_free_memory()
bytearray(b"x") * 30_000_000
before = resident_mb()
large = [bytearray(b"x") * 5_000_000 for _ in range(10)]
kept = bytearray(100_000)
large.clear()
print(resident_mb() - before)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environ(tmp_path), capture_output=True, check=True)

    assert float(done.stdout) < 10


def test_a_gateway_that_listens_has_freed_what_its_imports_left_behind(tmp_path: Path) -> None:
    """Most of it are the classes that attrs replaced."""
    program = """
import gc
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.server import run

def announce(url):
    print(gc.collect())
    raise KeyboardInterrupt

url = "http://127.0.0.1:9/v1"
settings = GatewaySettings(upstream="openai-compatible", upstream_base_url=url, port=0)
gc.collect()
before = gc.get_threshold()
try:
    run(settings, announce=announce)
except KeyboardInterrupt:
    print(gc.get_threshold() == before)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environ(tmp_path), capture_output=True, check=True)

    left, is_as_before = done.stdout.split()
    assert int(left) < 1000
    assert is_as_before == b"True"


def test_collections_are_rare_and_leave_out_what_was_imported(tmp_path: Path) -> None:
    """Responses leave no cycles behind; failures do, which are still collected."""
    program = """
import gc
from llmcore.bridge.http import server

server.load()
server.reduce_garbage_collection()
collections = sum(one["collections"] for one in gc.get_stats())
kept = [[] for _ in range(9_000)]
assert sum(one["collections"] for one in gc.get_stats()) == collections
for _ in range(20_000):
    cycle = []
    cycle.append(cycle)
print(sum(one["collected"] for one in gc.get_stats()) > 9_000)
print(gc.get_freeze_count() > len(gc.get_objects()))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environ(tmp_path), capture_output=True, check=True)

    assert done.stdout.split() == [b"True", b"True"]


@pytest.mark.parametrize(("running", "expected"), [("16", False), ("100000", True)])
def test_a_limit_of_open_files_that_is_too_low_is_logged(
    tmp_path: Path, running: str, expected: bool
) -> None:
    """Clients see their connections closed then, and the log would have no reason."""
    named = {**openrouter("http://127.0.0.1:1"), "OPENBRIDGE_MAX_RUNNING": running}
    with gateway(tmp_path, **named) as started:
        httpx.get(f"{started.url.removesuffix('/v1')}/healthz")
        events = [line["event"] for line in started.lines]
    assert ("too_few_open_files" in events) is expected


def test_a_dotenv_file_configures_it(tmp_path: Path) -> None:
    """The file in the folder it is started in."""
    with serve(chat_handler) as upstream:
        lines = [f"{name}={value}" for name, value in openrouter(upstream.url).items()]
        (tmp_path / ".env").write_text("\n".join([*lines, "OPENBRIDGE_STATE_BACKEND=memory"]))
        with gateway(tmp_path) as running:
            assert text_of(post(running, ASK).json()) == "Hello"


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_running_streams_are_finished_first(tmp_path: Path, which: signal.Signals) -> None:
    """A signal stops the listening; the responses under way come to their end."""
    with (
        serve(lambda _: streamed(chat_stream(["a", "b", "c"], pause=0.4))) as upstream,
        gateway(tmp_path, **openrouter(upstream.url)) as running,
    ):
        body = {**ASK, "stream": True}
        with httpx.stream("POST", f"{running.url}/responses", json=body) as stream:
            pieces = stream.iter_bytes()
            received = next(pieces)
            running.process.send_signal(which)
            received += b"".join(pieces)
        code = running.process.wait(10)

    last = events_of(received)[-1]
    assert (last["type"], text_of(last["response"])) == ("response.completed", "abc")
    assert code == (130 if which is signal.SIGINT else -which)


def test_streams_that_outlast_the_patience_are_reported(tmp_path: Path) -> None:
    """They end as failed, not in the middle."""
    with serve(lambda _: streamed(chat_stream(["a"] * 200, pause=0.1))) as upstream:
        named = {**openrouter(upstream.url), "OPENBRIDGE_SHUTDOWN_SECONDS": "1"}
        with gateway(tmp_path, **named) as running:
            body = {**ASK, "stream": True}
            with httpx.stream("POST", f"{running.url}/responses", json=body) as stream:
                pieces = stream.iter_bytes()
                received = next(pieces)
                running.process.terminate()
                received += b"".join(pieces)

    assert events_of(received)[-1]["type"] == "response.failed"
    assert "response_cut" in [line["event"] for line in running.lines]
    assert not any("exception" in line for line in running.lines)


def test_a_second_interrupt_ends_what_is_running(tmp_path: Path) -> None:
    """As failed, and without a traceback."""
    with (
        serve(lambda _: streamed(chat_stream(["a"] * 200, pause=0.1))) as upstream,
        gateway(tmp_path, **openrouter(upstream.url)) as running,
    ):
        body = {**ASK, "stream": True}
        with httpx.stream("POST", f"{running.url}/responses", json=body) as stream:
            pieces = stream.iter_bytes()
            received = next(pieces)
            running.process.send_signal(signal.SIGINT)
            wait_until(lambda: "Shutting down" in [line["event"] for line in running.lines])
            running.process.send_signal(signal.SIGINT)
            received += b"".join(pieces)
        assert running.process.wait(20) == 130

    assert events_of(received)[-1]["type"] == "response.failed"
    assert not any("exception" in line for line in running.lines)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"OPENBRIDGE_UPSTREAM": "openrouter"}, "OPENROUTER_API_KEY"),
        ({"OPENROUTER_API_KEY": "k", "OPENBRIDGE_HOST": "0.0.0.0"}, "OPENBRIDGE_CLIENT_API_KEY"),
        ({"OPENBRIDGE_UPSTREAM": "nobody"}, "no provider 'nobody'"),
        ({"OPENBRIDGE_UPSTREAM": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"OPENBRIDGE_MODEL_MAP_PATH": "missing.json"}, "missing.json"),
    ],
)
def test_what_cannot_work_is_reported_at_once(
    tmp_path: Path, variables: dict[str, str], says: str
) -> None:
    """One line, and the exit code of a wrong configuration."""
    code, output = refusal(tmp_path, **variables)

    assert code == 9
    assert says in output
    assert output.count("\n") == 1


def test_wrong_configuration_is_reported_on_stderr(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0"],
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env=environ(tmp_path, OPENBRIDGE_UPSTREAM="openrouter"),
        timeout=30,
    )

    assert (done.returncode, done.stdout) == (9, "")
    assert "OPENROUTER_API_KEY" in done.stderr


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Configure a store that several gateways share."""
    if request.param == "sqlite":
        yield {}
        return
    with ExitStack() as stack:
        if request.param == "redis":
            url = stack.enter_context(running_redis()).url
        else:
            url = stack.enter_context(running_postgres()).url
        name = f"OPENBRIDGE_{request.param.upper()}_URL"
        yield {"OPENBRIDGE_STATE_BACKEND": request.param, name: url}


@pytest.mark.slow
def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path, store: dict[str, str]) -> None:
    """Two gateways on one store, killed while they answer."""
    ids: list[str] = []
    with serve(chat_handler) as upstream:
        named = {**openrouter(upstream.url), **store}
        with (
            gateway(tmp_path, **named) as one,
            gateway(tmp_path, **named) as two,
            ThreadPoolExecutor(4) as threads,
        ):

            def ask(url: str) -> None:
                with suppress(httpx.TransportError), httpx.Client(timeout=30) as client:
                    while True:
                        made = client.post(f"{url}/responses", json=ASK).json()
                        ids.append(made["id"])

            for number in range(4):
                threads.submit(ask, (one, two)[number % 2].url)
            deadline = time.monotonic() + 20
            while len(ids) < 40 and time.monotonic() < deadline:
                time.sleep(0.01)
            one.process.kill()
            two.process.kill()
        with gateway(tmp_path, **named) as after, httpx.Client(base_url=after.url) as client:
            found = {client.get(f"/responses/{name}").status_code for name in ids}

    assert len(ids) >= 40
    assert found == {200}


def test_two_gateways_share_a_redis(tmp_path: Path) -> None:
    """A conversation moves between them; without Redis they answer with an error, and recover."""
    with running_redis() as redis, serve(chat_handler) as upstream:
        named = {
            **openrouter(upstream.url),
            "OPENBRIDGE_STATE_BACKEND": "redis",
            "OPENBRIDGE_REDIS_URL": redis.url,
        }
        with gateway(tmp_path, **named) as one, gateway(tmp_path, **named) as two:
            made = post(one, ASK).json()
            moved = post(two, {**ASK, "previous_response_id": made["id"]}).json()
            back = post(one, {**ASK, "previous_response_id": moved["id"], "stream": True})
            item = {"type": "item_reference", "id": moved["output"][0]["id"]}
            by_item = post(one, {"model": "m-1", "input": [item, {"role": "user", "content": "x"}]})

            redis.stop()
            down = [post(one, body) for body in (ASK, {**ASK, "stream": True})]
            continued = post(two, {**ASK, "previous_response_id": made["id"]})
            unstored = post(two, {**ASK, "store": False})
            asked_meanwhile = len(upstream.received)
            redis.start()
            recovered = post(two, ASK)
            found = httpx.get(f"{one.url}/responses/{recovered.json()['id']}")

    assert len(json.loads(upstream.received[2].body)["messages"]) == 5
    assert events_of(back.content)[-1]["type"] == "response.completed"
    assert by_item.status_code == 200
    assert [answer.status_code for answer in (*down, continued)] == [503] * 3
    assert down[0].json()["error"]["code"] == "state_unavailable"
    assert unstored.status_code == 200
    assert asked_meanwhile == 5  # the four before, and the one that needs no store
    assert (recovered.status_code, found.status_code) == (200, 200)


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_is_reported_at_the_start(tmp_path: Path) -> None:
    """Before a request needs it: most often its folder is missing, or of another user."""
    (tmp_path / "file").touch()
    path = str(tmp_path / "file" / "responses.sqlite3")
    variables = {
        "OPENBRIDGE_UPSTREAM_BASE_URL": "http://127.0.0.1:1",
        "OPENBRIDGE_STATE_PATH": path,
    }
    with gateway(tmp_path, **variables) as running:
        deadline = time.monotonic() + 20
        while not (found := [line for line in running.lines if line["level"] == "error"]):
            assert time.monotonic() < deadline, running.lines
            time.sleep(0.02)

    assert found[0]["event"] == "state_unavailable"
    assert path in found[0]["error"]


def test_a_store_that_fails_in_the_middle_fails_the_response(tmp_path: Path) -> None:
    """The client hears of it in place of the completion, and nothing half-written is left."""
    with running_redis() as redis:

        def handler(received: object) -> Any:
            redis.stop()
            return streamed(chat_stream())

        with serve(handler) as upstream:
            named = {
                **openrouter(upstream.url),
                "OPENBRIDGE_STATE_BACKEND": "redis",
                "OPENBRIDGE_REDIS_URL": redis.url,
            }
            with gateway(tmp_path, **named) as running:
                answer = post(running, {**ASK, "stream": True})
                last = events_of(answer.content)[-1]
                redis.start()
                got = httpx.get(f"{running.url}/responses/{last['response']['id']}")

    assert last["type"] == "response.failed"
    assert "store" in last["response"]["error"]["message"]
    assert got.status_code == 404


def test_the_log_of_responses_that_clients_took_whole(tmp_path: Path) -> None:
    """A line for each, and none about clients that went away or libraries that are not there."""
    with serve(chat_handler) as upstream, gateway(tmp_path, **openrouter(upstream.url)) as running:
        post(running, ASK)
        post(running, {**ASK, "stream": True})
        httpx.get(f"{running.url}/responses")

    told = [(line["event"], line.get("status")) for line in running.lines]
    after = told[told.index(("Application startup complete.", None)) + 1 :]
    lines = sorted(after[:3])  # that of a stream may come after that of the next request
    assert lines == [("request", 200), ("request", 200), ("request", 405)]
    assert "client_gone" not in dict(told)
