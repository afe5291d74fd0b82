"""Requests in bytes that no client library sends: refused with a reason, or read as HTTP has it."""

import json
import socket
import time

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


H2C = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n"
"""The fields that Java's client and `curl --http2` add to requests without TLS."""


@pytest.mark.parametrize(
    "body",
    [
        b"content-length: %d\r\n\r\n%b" % (len(BODY), BODY),
        b"transfer-encoding: chunked\r\n\r\n" + CHUNKS + b"\r\n",
    ],
    ids=["whole", "in chunks"],
)
@pytest.mark.parametrize("pieces", [1, 7], ids=["at once", "in pieces"])
def test_a_request_that_offers_http_2_is_answered_in_http_1(
    settings: GatewaySettings, body: bytes, pieces: int
) -> None:
    """As are those that follow it on its connection."""
    data = (POST + OWN + JSON + H2C + body) * 2
    with listening(settings) as url:
        host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            size = -(-len(data) // pieces)
            for begin in range(0, len(data), size):
                client.sendall(data[begin : begin + size])
                time.sleep(0.01)
            received = b""
            while received.count(b'"total_tokens"') < 2 and (piece := client.recv(65536)):
                received += piece

    assert received.count(b"HTTP/1.1 200 OK") == 2


SOCKET = (
    b"GET /v1/responses HTTP/1.1\r\n" + OWN + b"connection: Upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SOCKET + b"content-length: 2\r\n\r\n{}", "unsupported request body"),
        (SOCKET + b"cookie: " + b"a" * 9000 + b"\r\n\r\n", "more than 8192 bytes"),
        (SOCKET + b"a: b\r\n" * 200 + b"\r\n", "more than 128"),
    ],
    ids=["a body", "a long header", "many headers"],
)
def test_a_request_that_opens_no_socket_is_refused(
    settings: GatewaySettings, data: bytes, said: str
) -> None:
    """Its connection would stay open without a limit."""
    with listening(settings) as url:
        status, message = answer(url, data)

    assert status == 400
    assert said in message
