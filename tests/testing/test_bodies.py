"""Bodies in cassettes: readable, and exact to the byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.testing.bodies import pack, unpack
from llmcore.testing.cassette import CassetteError


def rebuilt(body: bytes, content_type: str = "") -> bytes:
    """Return *body* after a way through a file."""
    fields = json.loads(json.dumps(pack(body, content_type)))
    return unpack(fields.get("body"), fields.get("body_encoding"), fields.get("body_layout"))


JSON_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON_DOCUMENTS)
SPACING: list[dict[str, Any]] = [
    {"separators": (",", ":")},
    {},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
]


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_round_trip(body: bytes) -> None:
    """Whatever a body holds, a cassette gives back the same bytes."""
    assert rebuilt(body) == body
    assert rebuilt(body, "application/octet-stream") == body


@given(OBJECTS, st.sampled_from(SPACING), st.booleans(), st.sampled_from(["", "\n"]))
def test_json_in_any_layout_round_trips_to_the_byte(
    value: dict[str, Any], spacing: dict[str, Any], escaped: bool, end: str
) -> None:
    """JSON bodies come back to the byte, however the server wrote them."""
    text = json.dumps(value, ensure_ascii=escaped, **spacing) + end
    body = text.encode("utf-8", "surrogatepass")

    assert rebuilt(body, "application/json") == body


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"", {}),
        (b'{"b":1,"a":[1.0,"x"]}', {"body": {"b": 1, "a": [1.0, "x"]}}),
        (b'{"a": 1}', {"body": {"a": 1}, "body_layout": "spaced"}),
        (b'{\n  "a": 1\n}\n', {"body": {"a": 1}, "body_layout": "indented-2-newline"}),
        (b'{"a":"\\u00e9"}', {"body": {"a": "é"}, "body_layout": "compact-ascii"}),
        ('{"a":"é"}'.encode(), {"body": {"a": "é"}}),
        (b'{"id":12345678901234567890123}', {"body": {"id": 12345678901234567890123}}),
        (b"plain", {"body": "plain"}),
        (b"data: 1\n\ndata: 2\n\n", {"body": ["data: 1", "", "data: 2", "", ""]}),
        (b"data: 1\r\n\r\n", {"body": ["data: 1\r", "\r", ""]}),
        (b"\xff\x00", {"body": "/wA=", "body_encoding": "base64"}),
    ],
)
def test_bodies_are_stored_as_object_text_or_base64(body: bytes, fields: dict[str, object]) -> None:
    """Objects stand as JSON, text as its lines, anything else as base64."""
    assert pack(body) == fields


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":1e5}',
        b'{"a":0.10}',
        b'{ "a":1}',
        b'{"a":"\\/"}',
        b'{"a":NaN}',
        b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
        b"[1,2]",
        b'"text"',
        b"null",
    ],
)
def test_json_in_an_unusual_layout_is_stored_as_text(body: bytes) -> None:
    """Nothing about a document is lost: a second key, a digit, a blank."""
    assert pack(body) == {"body": body.decode()}


@pytest.mark.parametrize("kind", ["application/vnd.amazon.eventstream", "audio/mpeg", "image/png"])
def test_binary_types_are_base64_even_if_they_are_text(kind: str) -> None:
    """A binary format that happens to be ASCII is still no text."""
    assert pack(b"abc", kind) == {"body": "YWJj", "body_encoding": "base64"}


def test_long_base64_is_stored_in_lines() -> None:
    """No editor chokes on a line of a megabyte."""
    lines: Any = pack(bytes(range(256)))["body"]

    assert {len(line) for line in lines[:-1]} == {76}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ((5, None, None), "neither a JSON object"),
        ((["a", 1], None, None), "neither a JSON object"),
        (("a", "gzip", None), "body_encoding is 'gzip'"),
        (("?", "base64", None), "not base64"),
        (({"a": 1}, None, "pretty"), "body_layout is 'pretty'"),
    ],
)
def test_fields_that_describe_no_body_are_refused(
    fields: tuple[Any, Any, Any], complaint: str
) -> None:
    """A hand-edited cassette says what is wrong with it."""
    with pytest.raises(CassetteError, match=complaint):
        unpack(*fields)
