"""The event loop behind blocking calls: interrupted, forked, shut down, and at the end."""

import asyncio
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llmcore import Client as AsyncClient
from llmcore import Model, request, sync
from llmcore.generation.default_client import default_client
from llmcore.schema.errors import AbortError
from llmcore.sync.background import background
from llmcore.sync.iterate import Connection
from tests.support.programs.forked_child import in_child
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.loopback import Answer, Loopback, chat_chunk, chat_handler, serve
from tests.support.waiting import PATIENCE_S
from tests.support.wire.generation import SSE, calls_of, model_at, text_of

pytestmark = pytest.mark.slow

SLOW = [chat_chunk(delta={"content": "Hel"}), 10.0, *text_of()]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running
    sync.shutdown()


@pytest.fixture
def model(server: Loopback) -> Model:
    return model_at(server.url)


def eventually(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Wait at most *seconds* for *condition*."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.01)
    return condition()


def ours() -> list[threading.Thread]:
    """Return the threads of the event loop."""
    return [one for one in threading.enumerate() if one.name == "llmcore.sync"]


# -- interrupts


CALLS: list[Callable[[Model], object]] = [
    lambda model: sync.generate(model, "Hi"),
    lambda model: list(sync.stream(model, "Hi")),
    lambda model: sync.Client().complete(request(model=model, prompt="Hi")),
]


@pytest.mark.parametrize("call", CALLS, ids=["generate", "stream", "client"])
def test_an_interrupt_cancels_the_call(
    server: Loopback, model: Model, call: Callable[[Model], object]
) -> None:
    """Ctrl-C while waiting is raised there, and the connection is closed by then."""
    server.handler = lambda _: Answer(SLOW, headers=SSE)

    def interrupt() -> None:
        assert eventually(lambda: len(server.received) == 1)
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        call(model)
    interrupter.join()

    assert eventually(lambda: len(server.disconnects) == 1)
    server.handler = chat_handler
    assert sync.generate(model, "Hi").text == "Hello"


def test_what_is_entered_when_the_interrupt_comes_is_left_again() -> None:
    """Nobody else could: the caller's `with` block never began."""
    seen: list[str] = []

    class Entering:
        async def __aenter__(self) -> None:
            seen.append("entering")
            try:
                await asyncio.sleep(10)
            finally:
                seen.append("left")

        async def __aexit__(self, *exc: object) -> None:
            seen.append("exited")

        async def aclose(self) -> None:
            seen.append("closed")

    def interrupt() -> None:
        assert eventually(lambda: seen == ["entering"])
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        Connection(Entering()).enter()
    interrupter.join()

    assert eventually(lambda: seen == ["entering", "left"])
    sync.shutdown()


def test_a_tool_that_exits_ends_the_call_only(server: Loopback, model: Model) -> None:
    """asyncio lets SystemExit end a loop, which would be that of other threads' calls, too."""
    left = [calls_of(("a", "leave", {})), text_of()]
    server.handler = lambda _: Answer(left.pop(0), headers=SSE)

    async def leave() -> str:
        """Raise an error in place of waiting."""
        raise SystemExit(3)

    before = background()
    with pytest.raises(SystemExit):
        sync.generate(model, "Hi", tools=[leave])

    assert background() is before
    assert sync.generate(model, "Hi").text == "Hello"


# -- forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_calls_work_after_a_fork(server: Loopback, model: Model) -> None:
    """In the child, on a new loop and connection; and in the parent, on the old ones."""
    client, asked = sync.Client(), request(model=model, prompt="Hi")
    assert client.complete(asked).text == "Hello"
    before = background()

    assert in_child(lambda: client.complete(asked).text == "Hello") == 0
    assert client.complete(asked).text == "Hello"
    assert (len(server.received), server.connections) == (3, 2)

    assert in_child(lambda: list(sync.stream(model, "Hi").text_stream) == ["Hel", "lo"]) == 0
    assert sync.generate(model, "Hi").text == "Hello"
    assert background() is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_may_come_at_any_moment(server: Loopback, model: Model) -> None:
    """Also while other threads are in the middle of calls with the same client."""
    client, asked = sync.Client(), request(model=model, prompt="Hi")
    client.complete(asked)
    done = threading.Event()

    def ask_on() -> None:
        while not done.is_set():
            client.complete(asked)

    askers = [threading.Thread(target=ask_on) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(5):
            assert in_child(lambda: client.complete(asked).text == "Hello") == 0
    finally:
        done.set()
        for asker in askers:
            asker.join()
        client.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_may_come_while_the_default_client_is_made(
    server: Loopback, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child makes its own one; the lock would never be released there."""
    sync.set_default_client(None)
    forked, made = threading.Event(), AsyncClient()

    def from_env() -> AsyncClient:
        if os.getpid() == parent:
            forked.wait(30)
        return made

    parent = os.getpid()
    monkeypatch.setattr("llmcore.generation.default_client.Client.from_env", from_env)
    asking = threading.Thread(target=default_client)
    asking.start()
    try:
        assert in_child(lambda: default_client() is made) == 0
    finally:
        forked.set()
        asking.join()
        sync.set_default_client(None)


def _ask(url: str, answers: "multiprocessing.SimpleQueue[str]") -> None:
    answers.put(sync.generate(model_at(url), "Hi").text)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_calls_work_in_worker_processes(server: Loopback, model: Model) -> None:
    """Several, forked from a process that has called before."""
    assert sync.generate(model, "Hi").text == "Hello"
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    workers = [context.Process(target=_ask, args=(server.url, answers)) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for worker in workers:
            worker.start()
    for worker in workers:
        worker.join(20)

    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert [answers.get() for _ in workers] == ["Hello"] * 3
    answers.close()


# -- the end


def test_there_is_one_loop_and_shutdown_ends_it(server: Loopback, model: Model) -> None:
    """No thread and no socket is left, nor a warning; the next call starts afresh."""
    sync.shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            sync.generate(model, "Hi")
        assert len(ours()) == 1
        next(iter(sync.stream(model, "Hi")))

        sync.shutdown()
        sync.shutdown()
        gc.collect()

    assert ours() == []
    assert sync.generate(model, "Hi").text == "Hello"


def test_shutdown_ends_calls_that_run(server: Loopback, model: Model) -> None:
    """They raise, instead of waiting without a limit."""
    server.handler = lambda _: Answer(SLOW, headers=SSE)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            sync.generate(model, "Hi")
        except AbortError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert eventually(lambda: len(server.received) == 1)
    sync.shutdown()
    asking.join(10)

    assert len(failed) == 1
    assert eventually(lambda: len(server.disconnects) == 1)


def test_streams_outlive_the_loop(server: Loopback, model: Model) -> None:
    """One that is left open can be closed and left after a shutdown; there is nothing to do."""
    server.handler = lambda _: Answer(SLOW, headers=SSE)
    with sync.stream(model, "Hi") as events:
        next(iter(events))
        sync.shutdown()
    events.close()

    assert eventually(lambda: len(server.disconnects) == 1)


def test_an_iterator_may_be_dropped_on_the_loop_itself(server: Loopback, model: Model) -> None:
    """The garbage collector runs wherever it likes, and must not wait there."""
    server.handler = lambda _: Answer(SLOW, headers=SSE)
    held = [iter(sync.stream(model, "Hi"))]
    next(held[0])

    async def drop() -> None:
        held.clear()
        await asyncio.sleep(0)

    background().run(drop)

    assert eventually(lambda: len(server.disconnects) == 1)


HEAD = """
import json, os, sys
from llmcore import OpenAICompatible, sync

provider = OpenAICompatible.configure(name="x", base_url=sys.argv[1], api_key="k")
model = provider.model("m-1")
"""
FORKING = """
import aiohttp, llmcore.client.environment, llmcore.client.http.aiohttp_engine, llmcore.catalog.cost

codes = {}
for name, program in json.loads(sys.argv[2]).items():
    pid = os.fork()
    if pid == 0:
        for descriptor, end in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{name}.{end}", os.O_CREAT | os.O_WRONLY), descriptor)
        exec(program)
        break  # and so it ends like any program
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
else:
    print(json.dumps(codes))
"""

ENDINGS = {
    "answered": ("print(sync.generate(model, 'Hi').text)", "Hello"),
    "half read": (
        "events = iter(sync.stream(model, 'Hi')); print(next(events).type)",
        "stream-start",
    ),
    "inside a block": (
        "events = sync.stream(model, 'Hi').__enter__(); print(next(iter(events)).type)",
        "stream-start",
    ),
    "client left open": (
        (
            "from llmcore import request\n"
            "client = sync.Client(); print(client.complete(request(model=model, prompt='Hi')).text)"
        ),
        "Hello",
    ),
    "a plain tool ran": (
        (
            "import time\n"
            "def slow() -> str:\n    'Wait.'\n    time.sleep(0.01); return 'x'\n"
            "print(sync.generate(model, 'Hi', tools=[slow]).text)"
        ),
        "Hello",
    ),
    "failing": ("sync.generate(model, 'Hi'); raise SystemExit(0)", ""),
    "a thread that calls later": (
        (
            "import threading, time\n"
            "def later():\n    time.sleep(0.3); print(sync.generate(model, 'Hi').text)\n"
            "sync.generate(model, 'Hi')\n"
            "threading.Thread(target=later).start()"
        ),
        "Hello",
    ),
    **{
        f"a child after {calls} calls": (
            (
                "import warnings\n"
                "warnings.simplefilter('ignore', DeprecationWarning)  # threads, in 3.12\n"
                "sync.generate(model, 'Hi')\n"
                "pid = os.fork()\n"
                "if pid == 0:\n"
                f"    for _ in range({calls}): sync.generate(model, 'Hi')\n"
                "    sys.exit(7)\n"
                "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                "print(code, sync.generate(model, 'Hi').text)"
            ),
            "7 Hello",
        )
        for calls in (0, 1)
    },
}
"""Programs, and what they print. Threads and children may call until they end, by sys.exit too."""


def run_program(folder: Path, code: str, *given: str) -> "subprocess.CompletedProcess[str]":
    """Run a program that ends in the ordinary way, every warning of which is an error."""
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", HEAD + code, *given],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def without_noise(stderr: str) -> list[str]:
    """Return the lines of *stderr*, without asyncio's reports of slow steps."""
    return [line for line in stderr.splitlines() if not line.startswith("Executing <")]


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, list[str]]]:
    """Run all programs: exit codes, outputs, errors. They are forks of one that imports alone.

    Such a fork has no thread of before, and ends as the interpreter ends. Each start from nothing
    would take most of a second.
    """
    folder = tmp_path_factory.mktemp("endings")
    programs = json.dumps({name: program for name, (program, _) in ENDINGS.items()})
    with serve(chat_handler) as server:
        ended = run_program(folder, FORKING, named(server), programs)
    assert (ended.returncode, without_noise(ended.stderr)) == (0, [])
    return {
        name: (
            code,
            (folder / f"{name}.out").read_text("utf-8"),
            without_noise((folder / f"{name}.err").read_text("utf-8")),
        )
        for name, code in json.loads(ended.stdout).items()
    }


def named(server: Loopback) -> str:
    """Return its URL with a name, which threads look up."""
    return server.url.replace("127.0.0.1", "localhost")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("name", ENDINGS)
def test_a_program_ends_quietly(endings: dict[str, tuple[int, str, list[str]]], name: str) -> None:
    """No hang, no ResourceWarning, nothing unraisable, whatever was left open."""
    _, printed = ENDINGS[name]

    assert endings[name] == (0, f"{printed}\n" if printed else "", [])


def test_a_program_that_has_imported_nothing_before_its_call_ends_quietly(
    server: Loopback, tmp_path: Path
) -> None:
    """The first call then imports the HTTP library, on the thread of the loop."""
    ended = run_program(tmp_path, ENDINGS["half read"][0], named(server))

    assert (ended.returncode, without_noise(ended.stderr)) == (0, [])
    assert ended.stdout == "stream-start\n"


def test_importing_sync_starts_no_thread_and_loads_no_http_library() -> None:
    """No thread, no HTTP library, before the first call."""
    code = (
        "import sys, threading, llmcore.sync\n"
        "assert threading.active_count() == 1\n"
        "assert not {'httpx', 'jsonschema_rs', 'trio'} & set(sys.modules)\n"
    )
    run_fresh(code)
