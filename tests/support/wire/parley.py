"""Parley's responses on the wire, and its column of the matrix."""

import json
from collections.abc import Sequence
from typing import Any

from llmcore.routes.auth import Auth
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.framing import Framing
from llmcore.routes.route import Route
from tests.support.parley import protocol
from tests.support.parley.names import ParleyBody
from tests.support.wire.matrix import KEY, PIXEL_64, Column, Native, Said
from tests.support.wire.protocol import ProtocolWire, pieces

WIRE = ProtocolWire(protocol, Framing.sse(), "text/event-stream")


def route_at(base_url: str, key: str) -> Route[ParleyBody]:
    """Return the route to a server."""
    return Route.make(
        id="parley",
        provider="parley",
        protocol=protocol,
        endpoint=Endpoint.path("/talk", base_url=base_url),
        auth=Auth.bearer(key),
        framing=Framing.sse(),
    )


def streamed(document: Native, size: int = 3) -> bytes:
    """Return *document* as the API streams it, texts in pieces of *size* characters."""
    events: list[Native] = [{"open": {n: document[n] for n in ("id", "model")}}]
    for part in document["say"]:
        ((name, value),) = part.items()
        if name == "call":
            events.append({"call": {n: value[n] for n in ("id", "name")}})
            events += [{"input": piece} for piece in pieces(json.dumps(value["input"]), size)]
        else:
            events += [{name: piece} for piece in pieces(value, size)]
    events.append({"close": {n: document[n] for n in ("why", "tokens")}})
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def _calls(said: Said) -> list[Native]:
    return [
        {"call": {"id": f"c{number}", "name": "weather", "input": {"city": city}}}
        for number, city in said.calls
    ]


def _whole(said: Said) -> Native:
    counts = said.counts
    return {
        "id": "t1",
        "model": "parley-2",
        "say": [
            *([{"thought": said.thinking}] if said.thinking else ()),
            *([{"text": said.text}] if said.text else ()),
            *_calls(said),
        ],
        "why": "call" if said.cities else "done",
        "tokens": {"in": counts.input, "out": counts.output, "saved": counts.read},
    }


def _turn(said: Said, results: Sequence[str]) -> list[Any]:
    answers = [
        {"result": {"id": f"c{number}", "text": result}}
        for (number, _), result in zip(said.calls, results, strict=True)
    ]
    return [{"by": "model", "say": _calls(said)}, {"by": "person", "say": answers}]


def _error(kind: str, message: str) -> tuple[Any, str]:
    return {"error": {"type": kind, "message": message}}, kind


COLUMN = Column(
    id="parley",
    provider="parley",
    model_id="parley-2",
    model_at=lambda url: route_at(f"{url}/v1", KEY).model("parley-2"),
    path="/v1/talk",
    streamed_path="/v1/talk",
    stream_field="live",
    key_header=("authorization", f"Bearer {KEY}"),
    answered_model="parley-2",
    whole=_whole,
    streamed=streamed,
    stream_type="text/event-stream",
    call_id=lambda number: f"c{number}",
    stop="done",
    calls="call",
    errors={
        401: _error("authentication_error", f"not a key: {KEY}"),
        429: _error("rate_limit_error", "too much talk"),
    },
    counts_thinking=False,
    usage_field="tokens",
    history=lambda body: list(body["turns"]),
    asked=lambda text: [{"by": "person", "say": [{"text": text}]}],
    turn=_turn,
    basics={"model": "parley-2", "rules": "Be brief.", "limit": 50},
    parts=lambda body: list(body["turns"][0]["say"]),
    image={"picture": {"kind": "image/png", "data": PIXEL_64}},
    tools=lambda schema: {
        "tools": [{"name": "weather", "about": "Tell the weather in a city.", "schema": schema}]
    },
    effort={"effort": "low", "limit": 4000},
    options={"mood": "kind"},
)
