"""One client used from event loops, threads and blocking code at the same time."""

import gc
import logging
import threading
import warnings

import pytest

from llmcore import Client, Model, OpenAICompatible, request, sync
from tests.client.http.conftest import Run
from tests.support.servers.loopback import chat_handler, serve

CALLS = 4


def test_loops_threads_and_blocking_code_share_a_client(
    caplog: pytest.LogCaptureFixture, run: Run
) -> None:
    """Every call is answered and sent exactly once; no warning is given, and nothing is logged."""
    with serve(chat_handler) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        caplog.set_level(logging.WARNING)
        route = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
        client, model = Client(), route.model("m")
        texts: list[str] = []

        async def several(model: Model) -> None:
            asked = request(model=model, prompt="Hi")
            texts.extend([(await client.complete(asked)).text for _ in range(CALLS)])

        def blocking() -> None:
            texts.extend(sync.generate(model, "Hi", client=client).text for _ in range(CALLS))

        async def from_inside_a_loop() -> None:
            blocking()

        work = [
            *[lambda: run(several(model))] * 4,
            *[blocking] * 2,
            lambda: run(from_inside_a_loop()),
        ]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        for _ in range(5):
            run(several(model))
        for thread in threads:
            thread.join()
        sync.Client.of(client).close()
        gc.collect()

    assert texts == ["Hello"] * len(texts)
    assert len(texts) == len(server.received) == CALLS * (len(work) + 5)
    assert [record.message for record in caplog.records] == []
