"""The client of calls that name none."""

import threading
from collections.abc import Iterator

import anyio
import pytest

from llmcore.client.client import Client
from llmcore.generation.default_client import default_client, set_default_client
from llmcore.generation.generate import generate
from llmcore.generation.stream import stream
from llmcore.testing import scripted
from tests.support.servers.loopback import Answer, serve
from tests.support.wire.generation import SSE, any_model, model_at, text_of


@pytest.fixture(autouse=True)
def no_client() -> Iterator[None]:
    set_default_client(None)
    yield
    set_default_client(None)


@pytest.mark.anyio
async def test_calls_take_the_client_that_was_set() -> None:
    """Unless they name one."""
    transport = scripted(text_of(), text_of())
    set_default_client(Client(transport=transport))

    assert (await generate(any_model(), "Hi")).text == "Hello"
    assert (await stream(any_model(), "Hi").response()).text == "Hello"
    own = scripted(text_of())
    assert (await generate(any_model(), "Hi", client=Client(transport=own))).text == "Hello"
    assert (len(transport.requests), len(own.requests)) == (2, 1)


def test_it_is_made_from_the_environment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if many threads ask for it at the same time."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    barrier, found = threading.Barrier(8), list[Client]()

    def ask() -> None:
        barrier.wait()
        found.append(default_client())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(map(id, found))) == 1
    assert "openai" in found[0].providers


def test_it_serves_one_event_loop_after_another() -> None:
    """On asyncio and trio, in turn and at once."""
    with serve(lambda _: Answer(text_of(), headers=SSE)) as server:
        texts: list[str] = []

        async def ask() -> None:
            texts.append((await generate(model_at(server.url), "Hi")).text)

        for backend in ("asyncio", "trio", "asyncio"):
            anyio.run(ask, backend=backend)
        threads = [threading.Thread(target=anyio.run, args=(ask,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert texts == ["Hello"] * 7
