"""A Chat server that repeats a call's arguments in every chunk, behind each front."""

import json
from typing import Any

import pytest

from tests.support.servers.front_gateways import ASKERS, WEATHER, gateway
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.chat import call, calls_chunks
from tests.support.wire.matrix import COMPATIBLE

CITIES = ("Bergen", "Oslo")


def _repeating(_received: Received) -> Answer:
    fragments: list[Any] = []
    for index, city in enumerate(CITIES):
        text = json.dumps({"city": city})
        fragments.append(call(index, id=f"call_{index}", name="weather", arguments=""))
        fragments += [call(index, arguments=text[:end]) for end in (1, 9, 12, len(text), len(text))]
    chunks = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in calls_chunks(*fragments)]
    return Answer([*chunks, b"data: [DONE]\n\n"], headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize("front", list(ASKERS))
def test_the_clients_stream_has_the_arguments_once(front: str) -> None:
    """The deltas of each call add up to one JSON object."""
    with (
        serve(_repeating) as server,
        gateway(COMPATIBLE.model_at(server.url), relay=False) as url,
    ):
        heard = ASKERS[front](url, "Hello", stream=True, **WEATHER[front])

    assert heard.calls == tuple(("weather", {"city": city}) for city in CITIES)
