"""The event loop behind blocking calls: interrupted, forked, shut down, and at the end."""

import asyncio
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import pytest

from llmcore import Client as AsyncClient
from llmcore import Model, request, sync
from llmcore.generation.settings import default_client
from llmcore.schema.errors import AbortError
from llmcore.sync.background import background
from llmcore.sync.iterate import Connection
from tests.support.programs.forked_child import in_child
from tests.support.servers.loopback import Answer, Loopback, chat_chunk, chat_handler, serve
from tests.support.wire.generation import SSE, calls_of, model_at, text_of

SLOW = [chat_chunk(delta={"content": "Hel"}), 10.0, *text_of()]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running
    sync.shutdown()


@pytest.fixture
def model(server: Loopback) -> Model:
    return model_at(server.url)


def eventually(condition: Callable[[], bool], seconds: float = 5) -> bool:
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
    """asyncio lets SystemExit end the loop; the caller gets it, and the next call a new loop."""
    left = [calls_of(("a", "leave", {})), text_of()]
    server.handler = lambda _: Answer(left.pop(0), headers=SSE)

    async def leave() -> str:
        """Raise an error in place of waiting."""
        raise SystemExit(3)

    with pytest.raises((SystemExit, BaseExceptionGroup)):
        sync.generate(model, "Hi", tools=[leave])

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
    monkeypatch.setattr("llmcore.generation.settings.Client.from_env", from_env)
    asking = threading.Thread(target=default_client)
    asking.start()
    try:
        assert in_child(lambda: default_client() is made) == 0
    finally:
        forked.set()
        asking.join()
        sync.set_default_client(None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("calls", [0, 1])
def test_a_child_may_end_like_any_program(server: Loopback, calls: int) -> None:
    """By sys.exit, whether or not it has called: at once, quietly, with its own exit code."""
    code = f"""
        import os, sys, warnings
        warnings.simplefilter('ignore', DeprecationWarning)  # threads and forks, since 3.12
        sync.generate(model, 'Hi')
        pid = os.fork()
        if pid == 0:
            for _ in range({calls}):
                sync.generate(model, 'Hi')
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sync.generate(model, 'Hi').text)
    """

    ended = run_program(code, server.url)

    noise = [line for line in ended.stderr.splitlines() if not line.startswith("Executing <")]
    assert (ended.returncode, ended.stdout, noise) == (0, "7 Hello\n", [])


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


def run_program(code: str, url: str) -> "subprocess.CompletedProcess[str]":
    """Run a program that ends in the ordinary way, every warning of which is an error."""
    head = (
        "from llmcore import OpenAICompatible, sync\n"
        f"provider = OpenAICompatible.configure(name='x', base_url={url!r}, api_key='k')\n"
        "model = provider.model('m-1')\n"
    )
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ENDINGS = {
    "answered": "print(sync.generate(model, 'Hi').text)",
    "half read": "events = iter(sync.stream(model, 'Hi')); print(next(events).type)",
    "inside a block": (
        "events = sync.stream(model, 'Hi').__enter__(); print(next(iter(events)).type)"
    ),
    "client left open": (
        "from llmcore import request\n"
        "client = sync.Client(); print(client.complete(request(model=model, prompt='Hi')).text)"
    ),
    "a plain tool ran": (
        "import time\n"
        "def slow() -> str:\n    'Wait.'\n    time.sleep(0.01); return 'x'\n"
        "print(sync.generate(model, 'Hi', tools=[slow]).text)"
    ),
    "failing": "sync.generate(model, 'Hi'); raise SystemExit(0)",
}


@pytest.mark.parametrize("code", ENDINGS.values(), ids=ENDINGS.keys())
def test_a_program_ends_quietly(server: Loopback, code: str) -> None:
    """No hang, no ResourceWarning, nothing unraisable, whatever was left open."""
    url = server.url.replace("127.0.0.1", "localhost")  # a name, which threads look up

    ended = run_program(code, url)

    noise = [line for line in ended.stderr.splitlines() if not line.startswith("Executing <")]
    assert (ended.returncode, noise) == (0, [])


def test_a_thread_may_call_until_it_ends(server: Loopback) -> None:
    """The loop lasts as long as threads that the interpreter waits for."""
    code = """
        import threading, time
        def later():
            time.sleep(0.3)
            print(sync.generate(model, 'Hi').text)
        sync.generate(model, 'Hi')
        threading.Thread(target=later).start()
    """

    ended = run_program(code, server.url)

    assert (ended.returncode, ended.stdout) == (0, "Hello\n")


def test_importing_starts_nothing() -> None:
    """No thread, no HTTP library, before the first call."""
    code = (
        "import sys, threading, llmcore.sync\n"
        "assert threading.active_count() == 1\n"
        "assert not {'httpx', 'jsonschema_rs', 'trio'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
