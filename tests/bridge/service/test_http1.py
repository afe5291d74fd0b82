"""Requests in bytes that no client library sends: refused with a reason, or read as HTTP has it."""

import json
import socket

import pytest
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings
from tests.support.servers.bridge_service import listening
from tests.support.servers.loopback import Loopback

KEY = b"a-key-of-a-client"
JSON = b"content-type: application/json\r\n"
OWN = b"host: localhost\r\nauthorization: Bearer " + KEY + b"\r\n"
POST = b"POST /v1/responses HTTP/1.1\r\n"
BODY = json.dumps({"model": "m-1", "input": "Hi", "store": False}).encode()
CHUNKS = b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)


def answer(url: str, data: bytes) -> tuple[int, str]:
    """Return the status and the error's message of the first response to *data*."""
    host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(data)
        received = b""
        while b"\r\n\r\n" not in received or not received.endswith(b"}"):
            piece = client.recv(65536)
            assert piece, received
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    shown = json.loads(body[body.index(b"{") :])
    return int(head[9:12]), (shown.get("error") or {}).get("message", "")


REFUSED = {
    "a tunnel": (b"CONNECT api.example:443 HTTP/1.1\r\n" + OWN + b"\r\n", "is not a path"),
    "a path without end": (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", "url is too long"),
    "a second coding": (
        POST + OWN + JSON + b"transfer-encoding: gzip, chunked\r\n\r\n" + CHUNKS + b"\r\n",
        "the only transfer-encoding that is read is chunked",
    ),
    "a coding that changes nothing": (
        POST
        + OWN
        + JSON
        + b"transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n"
        + CHUNKS
        + b"\r\n",
        "the only transfer-encoding that is read is chunked",
    ),
}


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_is_not_served_is_refused_with_the_reason(
    upstream: Loopback, settings: GatewaySettings, data: bytes, said: str
) -> None:
    with listening(settings) as url:
        status, message = answer(url, data)

    assert status == 400
    assert said in message
    assert upstream.received == []


@pytest.mark.parametrize(
    ("head", "trailer", "status"),
    [
        (OWN, b"", 200),
        (OWN, b"x-a: b\r\n", 200),
        (OWN, b"authorization: Bearer another\r\n", 200),
        (b"host: localhost\r\n", b"authorization: Bearer " + KEY + b"\r\n", 401),
    ],
    ids=["none", "a field", "another key", "the key"],
)
def test_a_trailer_adds_nothing_to_the_headers(
    settings: GatewaySettings, head: bytes, trailer: bytes, status: int
) -> None:
    """A proxy in front of the gateway checks the headers only."""
    chunked = POST + head + JSON + b"transfer-encoding: Chunked\r\n\r\n" + CHUNKS
    with listening(evolve(settings, client_api_keys=(KEY.decode(),))) as url:
        assert answer(url, chunked + trailer + b"\r\n")[0] == status
