"""The table of `docs/fronts.md` is what clients of a running gateway and its upstreams see."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from llmcore.fronts.front import FRONT_IDS
from scripts.fronts_table import FEATURES, HI, body_of, cell, models
from tests.support.servers.front_gateways import gateway
from tests.support.servers.loopback import Answer, Loopback, Received, serve
from tests.support.wire.matrix import ANTHROPIC, BEDROCK, COMPATIBLE, GEMINI, OPENAI, Said

SERVERS = {
    "openai-responses": OPENAI,
    "openai-chat": COMPATIBLE,
    "anthropic-messages": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock-converse": BEDROCK,
}
PATHS = {
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "anthropic-messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
NOT_WRITTEN = {"cache marks"}
"""Features that some upstreams have without a field of the request."""


@contextmanager
def running(protocol_id: str) -> Iterator[tuple[str, Loopback]]:
    """Run a gateway in front of a server of a protocol: its URL, and the server."""
    data = json.dumps(SERVERS[protocol_id].whole(Said(text="Yes."))).encode()

    def handler(_received: Received) -> Answer:
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    with serve(handler) as server:
        model = models(server.url)[protocol_id]
        with gateway(model, relay=False, structured_output="error") as url:
            yield url, server


def seen(url: str, front_id: str, body: Mapping[str, Any]) -> str:
    """Return what the client of a running gateway hears of its request."""
    model = {} if front_id == "gemini" else {"model": "m"}
    answer = httpx.post(url + PATHS[front_id], json={**body, **model})
    if answer.status_code >= 400:
        return "refused"
    notes = answer.headers.get("x-openbridge-diagnostics", "")
    actions = {note.split()[0] for note in notes.split(";") if note.strip()} - {"noted"}
    return "left out" if "dropped" in actions else "changed" if actions else "yes"


@pytest.mark.parametrize("protocol_id", list(SERVERS))
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_feature_is_carried_as_the_table_has_it(front_id: str, protocol_id: str) -> None:
    """By the headers of the response; and the upstream gets more than of a plain request."""
    found: dict[str, str] = {}
    unwritten: list[str] = []
    with running(protocol_id) as (url, server):
        plain = body_of(front_id, HI)
        assert plain is not None
        assert seen(url, front_id, plain) == "yes"
        bodies = {name: body_of(front_id, wanted) for name, wanted in FEATURES.items()}
        asked = {name: body for name, body in bodies.items() if body is not None}
        for name, body in asked.items():
            found[name] = seen(url, front_id, body)
            sent = server.received[-1].body
            if found[name] in ("yes", "changed") and sent == server.received[0].body:
                unwritten.append(name)

    assert found == {name: cell(front_id, protocol_id, body) for name, body in asked.items()}
    assert set(unwritten) <= NOT_WRITTEN
