"""A streamed JSON array: `llmcore/routes/json_array.py`."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.routes.framing import Frame, Framing
from llmcore.schema.errors import StreamError


def elements(*chunks: bytes, limit: int = 1_000_000) -> list[bytes]:
    """Return the elements of a body that comes as *chunks*."""
    decoder = Framing.json_array(limit).new_decoder()
    frames: list[Frame] = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    frames += decoder.close()
    assert {name for name, _ in frames} <= {""}
    return [payload for _, payload in frames]


def sliced(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", []),
        (b" \r\n", []),
        (b"[]", []),
        (b' [ {"a":1},\r\n{"b":2}\n,\n{} ] \n', [b'{"a":1}', b'{"b":2}', b"{}"]),
        (b'[{"a":"]}[{,"}]', [b'{"a":"]}[{,"}']),
        (b'[{"a":"\\"}"}]', [b'{"a":"\\"}"}']),
        (b'[{"a":"\\\\"},{}]', [b'{"a":"\\\\"}', b"{}"]),
        (b'[{"a":"\\\\\\""},{}]', [b'{"a":"\\\\\\""}', b"{}"]),
        (b'[{"\\u007d\\n":[{"x":[]}]}]', [b'{"\\u007d\\n":[{"x":[]}]}']),
        (b'["a\\"]", "b"]', [b'"a\\"]"', b'"b"']),
        (b"[1, -2.5e3,true ,null\n]", [b"1", b"-2.5e3", b"true", b"null"]),
        (b"[[1,[2]],[]]", [b"[1,[2]]", b"[]"]),
        ('[{"t":"\v\x1c\x85\u2028 é"}]'.encode(), ['{"t":"\v\x1c\x85\u2028 é"}'.encode()]),
        (b'{"error":{"code":400}}', [b'{"error":{"code":400}}']),
        (b'{"a":1}{"b":2}\n{"c":3}', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_top_level_elements_are_frames(body: bytes, expected: list[bytes], size: int) -> None:
    """In an array, or objects in a row."""
    assert elements(*sliced(body, size)) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(
    values=st.lists(json_values, max_size=5),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    size=st.integers(1, 40),
)
def test_any_array_in_any_slices(
    values: list[object], indent: int | None, ascii_only: bool, size: int
) -> None:
    """The frames are the elements, whatever is in them."""
    body = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")

    frames = elements(*sliced(body, size))

    assert [json.loads(frame) for frame in frames] == json.loads(body)


@pytest.mark.parametrize("quoted", [b"\\n" * 5000, b'","' * 3000, b'\\"' * 3001, b"\\\\" * 777])
def test_more_strings_and_escapes_than_one_match_takes(quoted: bytes) -> None:
    """The patterns repeat a bounded number of times, and are matched again."""
    element = b'{"a":["' + quoted + b'"]}'

    assert elements(b"[" + element + b"," + element + b"]") == [element, element]
    assert elements(*sliced(b"[" + element + b"]", 10)) == [element]


def test_an_element_goes_out_with_its_last_byte() -> None:
    """Not with the comma after it, which comes with the next one."""
    decoder = Framing.json_array().new_decoder()

    assert decoder.feed(b'[{"a":1') == []
    assert decoder.feed(b"}") == [("", b'{"a":1}')]
    assert decoder.feed(b"\n,\r\n") == []
    assert decoder.feed(b'"x"') == [("", b'"x"')]
    assert decoder.feed(b"]") == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[", "before its JSON array does"),
        (b'[{"a":1}', "before its JSON array does"),
        (b'[{"a":1},', "before its JSON array does"),
        (b'[{"a":', "inside a JSON document"),
        (b'[{"a":"]}', "inside a JSON document"),
        (b'["a\\', "inside a JSON document"),
        (b"[12", "inside a JSON document"),
        (b'{"error":', "inside a JSON document"),
        (b"<html>", "starts with b'<'"),
        (b"null", "starts with b'n'"),
        (b"[]]", "followed by b']'"),
        (b"[] {}", "followed by b'{'"),
        (b"{}[]", "followed by b'['"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_cut_and_foreign_bodies_are_errors(body: bytes, message: str, size: int) -> None:
    """However they are sliced."""
    with pytest.raises(StreamError, match=re.escape(message)):
        elements(*sliced(body, size))


def test_every_cut_of_an_array_is_an_error() -> None:
    """So a broken connection never looks like the end."""
    body = b'[{"a":"\\"x"},\r\n{"b":[1,{}]}]'

    for end in range(1, len(body)):
        with pytest.raises(StreamError):
            elements(body[:end])


def test_the_limit_is_that_of_an_element() -> None:
    """Exactly the limit passes."""
    body = b'[{"a":1},\n{"b":2}]'

    for size in (1, 3, 100):
        assert elements(*sliced(body, size), limit=7) == [b'{"a":1}', b'{"b":2}']
        with pytest.raises(StreamError, match="6 bytes"):
            elements(*sliced(body, size), limit=6)
