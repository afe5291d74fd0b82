"""One client across event loops and threads, with nothing left behind."""

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable

import anyio
import pytest

from llmcore import Client, Finish, Model, Success, request
from llmcore.client.event_stream import EventStream
from llmcore.client.http.options import shared_tls_context
from llmcore.client.pool import PerLoop
from tests.client.http.conftest import Run
from tests.support.programs.forked_child import in_child, needs_fork
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.loopback import Answer, chat_handler, chat_stream, model_at, serve


async def ask(client: Client, model: Model) -> bool:
    return isinstance(await client.generate(request(model=model, prompt="Hi")), Success)


def test_one_client_in_five_loops_one_after_the_other(run: Run) -> None:
    """A client outlives the loops it is used from; no socket is left open, no warning given."""
    with serve(chat_handler) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        client, model = Client(), model_at(server.url)
        for _ in range(5):
            assert run(ask(client, model))
            gc.collect()
        assert anyio.run(ask, client, model, backend="trio")
        gc.collect()

        assert len(server.received) == 6


@pytest.mark.parametrize("closed", [True, False])
def test_a_stream_may_be_dropped_after_its_loop_has_ended(run: Run, closed: bool) -> None:
    """Without a warning, also if the client was *closed* in the meantime."""
    opened: list[EventStream] = []

    async def begin(url: str, client: Client) -> None:
        opened.append(client.stream(request(model=model_at(url), prompt="Hi")))
        await anext(opened[0])
        if closed:
            await client.aclose()

    script = [*chat_stream()[:2], 5.0]
    answer = Answer(script, headers={"content-type": "text/event-stream"})
    with serve(lambda _: answer) as server:
        run(begin(server.url, Client()))
        opened.clear()
        gc.collect()


def test_one_client_in_eight_threads_at_once(run: Run) -> None:
    """Each thread's loop has a pool of its own; every request is sent exactly once."""
    with serve(chat_handler) as server:
        client, model = Client(), model_at(server.url)
        done: list[bool] = []

        async def several() -> None:
            done.extend([await ask(client, model) for _ in range(5)])

        threads = [threading.Thread(target=lambda: run(several())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert done == [True] * 40
        assert len(server.received) == 40


def test_closed_loops_are_forgotten() -> None:
    """A loop's connections are closed with it and not kept."""
    closed: list[int] = []

    async def close(number: int) -> None:
        closed.append(number)

    numbers = iter(range(10))
    pool = PerLoop(lambda: next(numbers), close)

    async def use() -> int:
        assert await pool.get() == await pool.get()
        return await pool.get()

    assert [asyncio.run(use()) for _ in range(3)] == [0, 1, 2]
    gc.collect()

    assert closed == [0, 1, 2]
    assert len(pool) == 0


@pytest.mark.anyio
async def test_connections_are_reused_within_a_loop() -> None:
    """Calls in a row need one connection, streamed or not."""
    with serve(chat_handler) as server:
        model = model_at(server.url)
        async with Client() as client:
            for _ in range(3):
                assert await ask(client, model)
                async with client.stream(request(model=model, prompt="Hi")) as stream:
                    assert isinstance([event async for event in stream][-1], Finish)

        assert server.connections == 1
        assert len(server.received) == 6


@needs_fork
def test_a_forked_child_has_connections_of_its_own(run: Run) -> None:
    """The parent's stay the parent's, which goes on using them."""
    with serve(chat_handler) as server:
        client, model = Client(), model_at(server.url)

        async def around_a_fork() -> tuple[bool, int, bool]:
            before = await ask(client, model)
            child = in_child(lambda: _in_a_thread(lambda: run(ask(client, model))))
            return before, child, await ask(client, model)

        assert run(around_a_fork()) == (True, 0, True)
        assert len(server.received) == 3
        assert server.connections == 2


def _in_a_thread(work: Callable[[], bool]) -> bool:
    """Return what *work* returns in a thread where no event loop runs."""
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    thread.join()
    return done == [True]


def test_all_clients_share_one_tls_context() -> None:
    """A TLS context takes ten milliseconds to make; a client takes next to nothing."""
    assert shared_tls_context(None, None) is shared_tls_context(None, None)


def test_a_client_can_be_closed_twice_and_used_again(run: Run) -> None:
    """Closing frees the connections; the client itself stays usable."""

    async def use(client: Client, model: Model) -> None:
        for _ in range(2):
            assert await ask(client, model)
            await client.aclose()
            await client.aclose()

    with serve(chat_handler) as server:
        run(use(Client(), model_at(server.url)))


@pytest.mark.parametrize(
    "module", ["httpx", "anyio", "attrs", "cattrs", "trio", "orjson", "msgspec"]
)
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    """`import llmcore` imports no HTTP library, no provider, nothing but itself."""
    code = f"import llmcore, sys; sys.exit({module!r} in sys.modules)"

    run_fresh(code)


def test_importing_the_client_loads_no_http_library() -> None:
    """httpx comes with the first request."""
    code = "import llmcore, sys; llmcore.Client; llmcore.request; sys.exit('httpx' in sys.modules)"

    run_fresh(code)


def test_importing_does_no_io() -> None:
    """Importing opens no socket and reads no file but Python's own."""
    code = """
import sys
seen = []
def hook(event, args):
    name = str(args[0]) if event == "open" else ""
    data = "llmcore" in name and "site-packages" not in name and not name.endswith((".py", ".pyc"))
    if event.startswith("socket.") or data:
        seen.append((event, args))
sys.addaudithook(hook)
import llmcore
llmcore.Client, llmcore.OpenAI
sys.exit(str(seen) if seen else 0)
"""

    command = [sys.executable, "-B", "-c", code]  # -B: no bytecode is written either
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
