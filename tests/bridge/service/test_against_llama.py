"""The gateway over llama.cpp's Chat API responds as llama.cpp's own Responses API does.

Not compared: schemas and required tools, which llama.cpp's own API takes and does not hold the
model to.
"""

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.client.local import model_files
from llmcore.client.local.embedded import EmbeddedServer
from llmcore.routes.transport_spec import Embedded
from tests.support.servers.bridge_service import events_of, listening, text_of

pytestmark = pytest.mark.local_model

ASK: dict[str, Any] = {
    "model": "smollm2-135m-instruct",
    "input": "Say hello.",
    "temperature": 0,
    "stream": True,
}
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {},
    "instructions": {"instructions": "Answer with one word."},
    "cut": {"max_output_tokens": 5},
    "items": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Name a colour."}]},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Red.", "annotations": []}],
            },
            {"role": "user", "content": [{"type": "input_text", "text": "And another one."}]},
        ]
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[httpx.Client]:
    """Run llama.cpp's own server."""
    pytest.importorskip("xllamacpp")
    model_files.install(os.environ, lambda line: None)
    with EmbeddedServer.start(Embedded(context_tokens=8192), os.environ) as running:
        address = running.address
        transport = httpx.HTTPTransport(uds=address.socket_path, verify=False)
        headers = {"connection": "close", "authorization": f"Bearer {address.api_key}"}
        with httpx.Client(
            transport=transport, base_url=address.base_url, headers=headers, timeout=120
        ) as client:
            yield client


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """Run the gateway in front of a server of its own."""
    settings = GatewaySettings(
        upstream="local",
        state=StateSettings(backend="memory"),
        check_stream=True,
        environ=os.environ,
    )
    with listening(settings) as url:
        yield url


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """Return the types of events, deltas in a row as one."""
    types = [event["type"] for event in events]
    return [one for one, before in zip(types, [None, *types], strict=False) if one != before]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_words_in_the_same_events(server: httpx.Client, gateway: str, name: str) -> None:
    """Kinds of events in order, text and tokens; but llama.cpp calls cut responses complete."""
    body = {**ASK, "max_output_tokens": 100, **REQUESTS[name]}
    direct = events_of(server.post("/v1/responses", json=body).content)
    ours = events_of(httpx.post(f"{gateway}/responses", json=body, timeout=120).content)

    assert kinds(ours)[:-1] == kinds(direct)[:-1]
    theirs, mine = direct[-1]["response"], ours[-1]["response"]
    assert text_of(mine)
    assert text_of(mine) == text_of(theirs)
    for count in ("input_tokens", "output_tokens"):
        assert mine["usage"][count] == theirs["usage"][count]
    cut = mine["usage"]["output_tokens"] == body["max_output_tokens"]
    assert (mine["status"], theirs["status"]) == (
        "incomplete" if cut else "completed",
        "completed",
    )
