"""The messages of a process: one in a line, each within a limit of bytes."""

import codecs
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.mcp.limited_lines import LineDecoder, encoding_of_lines

MOST = 2000
TEXT = "é" * MOST
RESULT = {"content": [{"type": "text", "text": TEXT}]}


def decoded(data: bytes, size: int, *, most: int = MOST) -> str:
    """Return what is decoded of *data* in pieces of *size* bytes."""
    decoder = LineDecoder(most, "replace")
    return "".join(decoder.decode(data[at : at + size]) for at in range(0, len(data), size))


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


@given(st.lists(st.text().filter(lambda text: "\n" not in text)), st.integers(1, 99))
def test_lines_within_the_limit_are_decoded_however_they_are_cut(
    lines: list[str], size: int
) -> None:
    data = "".join(f"{each}\n" for each in lines).encode("utf-8", "replace")

    assert decoded(data, size, most=10**6) == data.decode()


@pytest.mark.parametrize("size", [1, 7, 300, 10**6])
@pytest.mark.parametrize(
    ("message", "found"),
    [
        ({"jsonrpc": "2.0", "id": 7, "result": RESULT}, 7),
        ({"id": "a-1", "jsonrpc": "2.0", "result": RESULT}, "a-1"),
        ({"result": RESULT, "jsonrpc": "2.0", "id": 7}, 7),
        ({"result": RESULT, "id": 7}, 7),
        ({"jsonrpc": "2.0", "result": {"id": 8, "text": TEXT}, "id": 7}, 7),
        ({"jsonrpc": "2.0", "result": {"text": TEXT, "id": 8}}, None),
        ({"jsonrpc": "2.0", "result": {"text": f'{TEXT}, "id": 8}}'}}, None),
        ({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": TEXT}}, None),
    ],
)
def test_a_line_over_the_limit_becomes_an_error_for_its_request(
    message: Any, found: object, size: int
) -> None:
    """The next one is decoded."""
    *errors, following = decoded(line(message) + line({"id": 9}), size).splitlines()

    assert json.loads(following) == {"id": 9}
    assert [json.loads(error)["id"] for error in errors] == ([] if found is None else [found])
    assert all("limit of 2000 bytes" in error for error in errors)


def test_of_a_line_without_end_little_is_kept() -> None:
    """Its request has failed before the line ends."""
    decoder = LineDecoder(MOST, "replace")
    first = decoder.decode(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * MOST)
    later = [decoder.decode(b"x" * 1000) for _ in range(1000)]
    last = decoder.decode(b'"}\n')

    assert json.loads(first)["id"] == 1
    assert not any(later)
    assert last == ""
    assert sum(map(len, decoder._parts)) == 0


def test_at_the_end_the_last_line_is_returned_once() -> None:
    decoder = LineDecoder(MOST, "replace")

    assert decoder.decode(b"a\nb") == "a\n"
    assert [decoder.decode(b"", final=True) for _ in range(3)] == ["b\n", "", ""]


def test_a_codec_of_the_limit_is_found_by_its_name() -> None:
    name = encoding_of_lines(10)
    decoder = codecs.getincrementaldecoder(name)(errors="replace")

    assert "é".encode(name) == "é".encode()
    assert decoder.decode(b"a\nb") == "a\n"
    assert decoder.decode(b"x" * 10 + b"\nc\n") == "c\n"


@pytest.mark.parametrize("name", ["llmcore_lines_of_", "llmcore_lines_of_x"])
def test_other_names_of_codecs_are_unknown(name: str) -> None:
    with pytest.raises(LookupError):
        codecs.lookup(name)
