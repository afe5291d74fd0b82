"""Requests of clients to the gateway, kept as cassettes for the fast tests.

Prose of the clients (prompts, descriptions, grammars) is long, and not ours to keep: its length
stands in its place. Of streams the finished items and the last event are kept, without
the tools that the response repeats.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from llmcore.testing.cassette import (
    Cassette,
    Interaction,
    Metadata,
    Recorded,
    RecordedRequest,
    RecordedResponse,
)
from llmcore.testing.cassette_file import save
from llmcore.version import VERSION
from tests.support.programs.client_programs import CLIENT_KEY, pinned
from tests.support.servers.bridge_service import UPSTREAM_KEY, events_of
from tests.support.servers.loopback import Answer, Received, serve

FOLDER = Path(__file__).parents[3] / "cassettes" / "clients"

_PROSE = frozenset({"description", "definition", "instructions"})
_LONG = 60
_TEMPORARY = re.compile(r"/[^\s\"<>]*?pytest-of-[^\s\"<>/]*/[^\s\"<>/]*/[^\s\"<>/]*")
_HOP = frozenset({"host", "content-length", "connection", "transfer-encoding", "upgrade"})
_KEPT_HEADERS = frozenset({"accept", "content-type"})
_KEPT_EVENTS = frozenset(
    {
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    }
)


@contextmanager
def recorded(url: str, name: str, package: str) -> Iterator[str]:
    """Stand before the gateway at *url* for the block, and write what went by when it ends."""
    with relayed(url) as (own, exchanges):
        yield own
        _write(name, package, exchanges)


@contextmanager
def relayed(url: str) -> Iterator[tuple[str, list[tuple[Received, int, bytearray]]]]:
    """Stand before the gateway at *url* for the block: the URL to use, and what is posted there."""
    exchanges: list[tuple[Received, int, bytearray]] = []

    def relay(received: Received) -> Answer:
        root = urlsplit(url)._replace(path="").geturl()
        answer = asked.send(_passed_on(asked, root, received), stream=True)
        body = bytearray()
        if received.method == "POST":
            exchanges.append((received, answer.status_code, body))
        headers = {k: v for k, v in answer.headers.items() if k not in _HOP}
        return Answer(_copied(answer, body), answer.status_code, headers)

    with httpx.Client(timeout=120) as asked, serve(relay) as server:
        yield f"{server.url}/v1", exchanges


def _passed_on(client: httpx.Client, root: str, received: Received) -> httpx.Request:
    upgrades = {"connection", "upgrade"} if "upgrade" in received.headers else set()
    headers = {k: v for k, v in received.headers.items() if k not in _HOP - upgrades}
    headers["accept-encoding"] = "identity"
    return client.build_request(
        received.method, root + received.path, headers=headers, content=received.body
    )


def _copied(answer: httpx.Response, body: bytearray) -> Iterator[bytes]:
    try:
        for piece in answer.iter_raw():
            body += piece
            yield piece
    finally:
        answer.close()


def _write(name: str, package: str, exchanges: list[tuple[Received, int, bytearray]]) -> None:
    cassette = Cassette(
        metadata=Metadata(
            name=f"clients/{name}",
            provider="openbridge",
            protocol="openai-responses",
            tags=("client", f"{package}@{pinned()[package]}"),
            origin=Recorded(server="openbridge, a scripted Chat server behind it", version=VERSION),
        ),
        interactions=tuple(_interaction(*one) for one in exchanges),
    )
    save(cassette, FOLDER / f"{name}.json", known_secrets=(CLIENT_KEY, UPSTREAM_KEY))


def _interaction(received: Received, status: int, body: bytearray) -> Interaction:
    headers = {k: v for k, v in sorted(received.headers.items()) if k in _KEPT_HEADERS}
    return Interaction(
        request=RecordedRequest(
            method=received.method,
            url=f"http://localhost{received.path}",
            headers=headers,
            body=_data(shortened(json.loads(received.body))),
        ),
        response=_response(status, bytes(body)),
    )


def _response(status: int, body: bytes) -> RecordedResponse:
    if body.startswith((b"event:", b":")):
        kept = "".join(
            f"event: {event['type']}\ndata: {_data(_untooled(event)).decode()}\n\n"
            for event in events_of(body)
            if event["type"] in _KEPT_EVENTS
        )
        kind = {"content-type": "text/event-stream"}
        return RecordedResponse(status=status, headers=kind, body=kept.encode())
    data = _untooled(json.loads(body))
    return RecordedResponse(
        status=status, headers={"content-type": "application/json"}, body=_data(data)
    )


def _untooled(value: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(value.get("response"), dict):
        return {**value, "response": _untooled(value["response"])}
    return {**value, "tools": []} if "tools" in value else dict(value)


def shortened(value: Any, key: str = "", *, prompt: bool = False) -> Any:
    """Return a request's *value* with long prose and temporary folders taken out.

    Of texts only the prompts go, not what was said or what a tool returned.
    """
    if isinstance(value, dict):
        prompt = prompt or value.get("role") in ("developer", "user")
        return {name: shortened(item, name, prompt=prompt) for name, item in value.items()}
    if isinstance(value, list):
        return [shortened(item, key, prompt=prompt) for item in value]
    if not isinstance(value, str):
        return value
    if len(value) > _LONG and (key in _PROSE or (prompt and key == "text")):
        return f"({len(value)} characters)"
    return _TEMPORARY.sub("/tmp/test", value)


def _data(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
