"""Newline-delimited JSON: `llmcore/routes/ndjson.py`."""

import pytest

from llmcore.routes.framing import Frame, Framing
from llmcore.schema.errors import StreamError


def documents(*chunks: bytes, limit: int = 10_000) -> list[bytes]:
    """Return the documents of a body that comes as *chunks*."""
    decoder = Framing.ndjson(limit).new_decoder()
    frames: list[Frame] = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    frames += decoder.close()
    assert {name for name, _ in frames} <= {""}
    return [payload for _, payload in frames]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", []),
        (b"{}\n[]\n", [b"{}", b"[]"]),
        (b"{}\r\n[]\r\n", [b"{}", b"[]"]),
        (b"\n\r\n  \n{}\n\n \t\r\n[]\n\n", [b"{}", b"[]"]),
        (b"{}\n[]", [b"{}", b"[]"]),
        (b"{}\n[]\r", [b"{}", b"[]"]),
        (b'{"error":"model not found"}', [b'{"error":"model not found"}']),
        (b' {"a": 1} \n', [b'{"a": 1}']),
        (b'{"a":"x\ry"}\n', [b'{"a":"x\ry"}']),
        (b'{"cut":', [b'{"cut":']),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_line_is_a_document(body: bytes, expected: list[bytes], size: int) -> None:
    """Blank lines are skipped, and the last line needs no line end."""
    assert documents(*(body[at : at + size] for at in range(0, len(body), size))) == expected


def test_only_lf_ends_a_line() -> None:
    """Whatever else `str.splitlines` would cut at stays in the document."""
    document = '{"t":"\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"}'.encode()

    assert documents(document + b"\n" + document) == [document, document]


def test_a_document_goes_out_with_its_line_end() -> None:
    """Not with the next line."""
    decoder = Framing.ndjson().new_decoder()

    assert decoder.feed(b'{"a"') == []
    assert decoder.feed(b":1}\n{") == [("", b'{"a":1}')]
    assert decoder.feed(b"}") == []
    assert decoder.close() == [("", b"{}")]


def test_the_limit_is_that_of_a_line() -> None:
    """Exactly the limit passes; the line end does not count."""
    for body in (b'{"a":1}\r\n' * 9, b'{"a":1}\n' * 9):
        assert len(documents(body, limit=7)) == 9
        with pytest.raises(StreamError, match="6 bytes"):
            documents(body, limit=6)


def test_endless_white_space_is_a_line_too_long() -> None:
    """Though it holds no document."""
    with pytest.raises(StreamError, match="50 bytes"):
        documents(*[b" " * 10] * 10, limit=50)


# -- server-sent events that are labelled as lines of JSON


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: {}\n\ndata: []\n\n", [("", b"{}"), ("", b"[]")]),
        (b"\n: ping\n\nevent: a\ndata: {}\n\n", [("a", b"{}")]),
        (b"id: 1\ndata: {}\n\n", [("", b"{}")]),
        (b"retry: 1\n\ndata: {}", [("", b"{}")]),
        (b"dat", [("", b"dat")]),
        (b"data", [("", b"data")]),
        (b'{"a": 1}\ndata: 2\n', [("", b'{"a": 1}'), ("", b"data: 2")]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_body_that_begins_like_events_is_read_as_events(
    body: bytes, expected: list[Frame], size: int
) -> None:
    """The first line decides."""
    decoder = Framing.ndjson().new_decoder()
    frames: list[Frame] = []
    for at in range(0, len(body), size):
        frames += decoder.feed(body[at : at + size])

    assert [*frames, *decoder.close()] == expected
