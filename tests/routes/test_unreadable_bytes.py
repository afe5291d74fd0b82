"""Responses with bytes that cannot be read: not UTF-8, and text in place of a stream.

Servers that write one token at a time cut characters in two, and proxies change encodings. Such
bytes are read as U+FFFD, and reported, as JavaScript's SDKs read them.
"""

import json

import pytest

from llmcore.folds.response import collect
from llmcore.routes.decoding import decode_response
from llmcore.routes.route import Route
from llmcore.schema.errors import StreamError
from llmcore.schema.request import request
from llmcore.schema.response import LLMResponse
from tests.support.wire.matrix import COLUMNS, COMPATIBLE, Column, Said

SAID = Said(text="Kaf@ og sm@r.", cities=("Troms@",))
HALF = b"\xc3"
IN_SSE = [column for column in COLUMNS if column.stream_type == "text/event-stream"]


def read(column: Column, body: bytes, *, streaming: bool, size: int = 7) -> LLMResponse:
    model = column.model_at("http://127.0.0.1")
    assert isinstance(model.route, Route)
    events = decode_response(
        model.route.protocol,
        model.route.framing,
        request(model=model, prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream" if streaming else "application/json"},
        chunks=[body[at : at + size] for at in range(0, len(body), size)],
        streaming=streaming,
    )
    return collect(events).unwrap()


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("column", IN_SSE, ids=lambda column: column.id)
def test_half_a_character_is_read_as_the_replacement_character(
    column: Column, streaming: bool
) -> None:
    whole = column.whole(SAID)
    body = column.streamed(whole) if streaming else json.dumps(whole).encode()

    response = read(column, body.replace(b"@", HALF), streaming=streaming)

    assert response.text == "Kaf\ufffd og sm\ufffdr."
    assert [call.arguments for call in response.tool_calls] == [{"city": "Troms\ufffd"}]
    assert [d.code for d in response.diagnostics].count("invalid-utf8-replaced") == 1
    usual = read(column, body.replace(b"@", "é".encode()), streaming=streaming)
    assert [d.code for d in usual.diagnostics].count("invalid-utf8-replaced") == 0


@pytest.mark.parametrize("column", IN_SSE, ids=lambda column: column.id)
def test_half_a_character_of_a_response_that_is_one_text_is_reported(column: Column) -> None:
    """It is read without the state machine."""
    body = json.dumps(column.whole(Said(text="Kaf@"))).encode()

    response = read(column, body.replace(b"@", HALF), streaming=False)

    assert response.text == "Kaf\ufffd"
    assert [d.code for d in response.diagnostics] == ["invalid-utf8-replaced"]


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("column", IN_SSE, ids=lambda column: column.id)
def test_half_a_surrogate_pair_is_read_as_the_replacement_character(
    column: Column, streaming: bool
) -> None:
    """Once for each text that has one; pairs are joined."""
    said = Said(text="Kaf@ og sm@r.")
    whole = column.whole(said)
    body = column.streamed(whole) if streaming else json.dumps(whole).encode()

    response = read(column, body.replace(b"@", rb"\ud83d"), streaming=streaming)

    assert response.text == "Kaf\ufffd og sm\ufffdr."
    found = [d.path for d in response.diagnostics if d.code == "lone-surrogates-replaced"]
    assert len(found) == 1
    assert found[0].startswith("text[")
    paired = read(column, body.replace(b"@", rb"\ud83d\ude00"), streaming=streaming)
    assert paired.text == "Kaf\U0001f600 og sm\U0001f600r."
    assert [d for d in paired.diagnostics if d.code == "lone-surrogates-replaced"] == []


@pytest.mark.parametrize("body", [b"\xff\xfe no JSON", b'{"choices": ["\xff'])
def test_what_is_not_json_with_the_replacement_character_either_is_an_error(body: bytes) -> None:
    with pytest.raises(StreamError, match="the response is not JSON"):
        read(COMPATIBLE, body, streaming=False)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"upstream timed out", "is not JSON: 'upstream timed out'"),
        (b"error: no capacity\n\n", "is not JSON: 'error: no capacity"),
        (b"<h1>502 Bad Gateway</h1>", "web page, not with JSON: check base_url: '<h1>502"),
        (b": ping\n\n", "ended before the response was complete"),
        (b"retry: 10\n\n", "ended before the response was complete"),
        (b"", "ended before the response was complete"),
    ],
)
def test_text_in_place_of_a_stream_is_quoted_by_the_error(
    body: bytes, message: str, size: int
) -> None:
    with pytest.raises(StreamError, match=message):
        read(COMPATIBLE, body, streaming=True, size=size)
