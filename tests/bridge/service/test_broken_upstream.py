"""Upstreams that break HTTP: the client gets an error, and the log no traceback.

Relayed and translated, streamed and whole; the engines' own part is tested in `tests/client/http`.
"""

import logging
from typing import Any

import httpx
import pytest

from tests.support.servers.bridge_service import listening, settings_for
from tests.support.servers.loopback import chat_stream, chat_whole
from tests.support.servers.raw_http import RESET, Piece, chunk, head, raw

CHUNKED = "transfer-encoding: chunked"
EVENTS = b"".join(piece for piece in chat_stream() if isinstance(piece, bytes))
UNREACHABLE = "upstream_unreachable"
UNREADABLE = "upstream_stream_error"
A_MOMENT: float = 0.03


def begun(body: bytes, kind: str) -> tuple[Piece, ...]:
    return (head(CHUNKED, kind=kind) + chunk(body[:200]), A_MOMENT)


def sent(name: str, body: bytes, kind: str) -> tuple[Piece, ...]:
    """Return what the upstream sends, whose whole response is *body*."""
    whole = head(f"content-length: {len(body)}", kind=kind) + body
    return {
        "a broken chunk": (*begun(body, kind), b"zz\r\n", 5.0),
        "a reset": (head(kind=kind) + body[:200], A_MOMENT, RESET),
        "half a body": (whole[:-100], A_MOMENT, RESET),
        "damaged gzip": (whole.replace(b"\r\n", b"\r\ncontent-encoding: gzip\r\n", 1),),
        "nothing": (head("content-length: 0", kind=kind),),
        "a page": (head("content-length: 6", kind="text/html") + b"<p>Hi!",),
        "another protocol": (head("upgrade: x", status="101 X"), 5.0),
    }[name]


FAULTS = {
    "a broken chunk": UNREACHABLE,
    "a reset": UNREACHABLE,
    "half a body": UNREACHABLE,
    "damaged gzip": UNREACHABLE,
    "nothing": UNREADABLE,
    "a page": UNREADABLE,
    "another protocol": UNREACHABLE,
}


def asked(url: str, *, stream: bool) -> httpx.Response:
    messages = [{"role": "user", "content": "Hi"}]
    body: Any = {"model": "m-1", "messages": messages, "stream": stream}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=4)


def content(*, stream: bool) -> tuple[bytes, str]:
    """Return the body of a response of the upstream, and its content type."""
    return (EVENTS, "text/event-stream") if stream else (chat_whole(), "application/json")


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize(("fault", "code"), FAULTS.items(), ids=FAULTS)
def test_a_broken_response_of_the_upstream_is_an_error_for_the_client(
    fault: str, code: str, relay: bool, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Of status 502, or at the end of a stream that has begun."""
    pieces = sent(fault, *content(stream=stream))
    with raw(*pieces) as upstream, listening(settings_for(upstream.url, relay=relay)) as url:
        answer = asked(url, stream=stream)

    if answer.status_code == 200:
        assert stream
        last = answer.text.rstrip().rpartition("data: ")[2]
    else:
        assert answer.status_code == 502
        last = answer.text
    assert f'"code":"{code}"' in last
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_content_type_that_is_not_valid_is_no_fault_of_the_gateway(
    relay: bool, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    body, kind = content(stream=stream)
    odd = head(f"content-length: {len(body)}", kind=f'{kind}; charset="\x07"') + body
    with raw(odd) as upstream, listening(settings_for(upstream.url, relay=relay)) as url:
        answer = asked(url, stream=stream)

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
