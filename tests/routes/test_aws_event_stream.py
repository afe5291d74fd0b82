"""AWS event stream: `llmcore/routes/aws_event_stream.py`."""

import json
from struct import pack
from zlib import crc32

import pytest

from llmcore.routes.aws_event_stream import _known_head
from llmcore.routes.framing import Frame, Framing
from llmcore.schema.errors import StreamError

EXCEPTIONS = [
    "internalServerException",
    "modelStreamErrorException",
    "serviceUnavailableException",
    "throttlingException",
    "validationException",
]


# -- an encoder, for there is no other use for one


def header(name: str, kind: int, value: bytes) -> bytes:
    return pack(">B", len(name)) + name.encode() + pack(">B", kind) + value


def text_header(name: str, value: str) -> bytes:
    data = value.encode()
    return header(name, 7, pack(">H", len(data)) + data)


def message(headers: bytes, payload: bytes = b"") -> bytes:
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + pack(">I", crc32(prelude)) + headers + payload
    return body + pack(">I", crc32(body))


def event(name: str, payload: bytes) -> bytes:
    return message(
        text_header(":event-type", name)
        + text_header(":content-type", "application/json")
        + text_header(":message-type", "event"),
        payload,
    )


STREAM = [
    event("messageStart", b'{"role":"assistant"}'),
    event("contentBlockDelta", b'{"delta":{"text":"caf\xc3\xa9\n\n"}}'),
    event("contentBlockDelta", b""),
    event("messageStop", b'{"stopReason":"end_turn"}'),
]
FRAMES = [
    ("messageStart", b'{"role":"assistant"}'),
    ("contentBlockDelta", b'{"delta":{"text":"caf\xc3\xa9\n\n"}}'),
    ("contentBlockDelta", b""),
    ("messageStop", b'{"stopReason":"end_turn"}'),
]


def frames(*chunks: bytes, limit: int = 100_000) -> list[Frame]:
    """Return the frames of a body that comes as *chunks*."""
    decoder = Framing.aws_event_stream(limit).new_decoder()
    found = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    return [*found, *decoder.close()]


def outcome(*chunks: bytes, limit: int = 100_000) -> tuple[list[Frame], str]:
    """Return the frames, and the message of the error they end with."""
    decoder = Framing.aws_event_stream(limit).new_decoder()
    found = list[Frame]()
    try:
        for chunk in chunks:
            found += decoder.feed(chunk)
        decoder.close()
    except StreamError as error:
        return found, error.message
    return found, ""


def sliced(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


# -- messages


@pytest.mark.parametrize("size", [1, 2, 5, 11, 12, 13, 97, 10_000])
def test_events_in_any_slices(size: int) -> None:
    """The name is the event type."""
    assert frames(*sliced(b"".join(STREAM), size)) == FRAMES


def test_a_message_goes_out_with_its_last_byte() -> None:
    """Not with the next prelude."""
    decoder = Framing.aws_event_stream().new_decoder()

    assert decoder.feed(STREAM[0][:-1]) == []
    assert decoder.feed(STREAM[0][-1:]) == FRAMES[:1]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_becomes_a_frame_with_its_name(name: str) -> None:
    """Its headers name the exception, and the payload is kept."""
    headers = text_header(":exception-type", name) + text_header(":message-type", "exception")
    body = STREAM[0] + message(headers, b'{"message":"Too many tokens"}')

    assert frames(body)[1:] == [(f"exception:{name}", b'{"message":"Too many tokens"}')]


def test_the_text_of_an_error_becomes_its_payload() -> None:
    """An error has its text in a header: it becomes a payload like the others'."""
    headers = (
        text_header(":message-type", "error")
        + text_header(":error-code", "InternalError")
        + text_header(":error-message", 'An "internal" error, désolé')
    )
    [(name, payload)] = frames(message(headers))

    assert name == "error:InternalError"
    assert json.loads(payload) == {"message": 'An "internal" error, désolé'}


def test_anthropic_chunks_pass_as_they_are() -> None:
    """The protocol decodes the `chunk` of `invoke-with-response-stream`."""
    assert frames(event("chunk", b'{"bytes":"e30="}')) == [("chunk", b'{"bytes":"e30="}')]


@pytest.mark.parametrize("headers", [b"", text_header(":message-type", "event")])
def test_a_message_without_a_type_has_no_name(headers: bytes) -> None:
    """The payload is not lost."""
    assert frames(message(headers, b"{}")) == [("", b"{}")]


# -- headers


HEADER_VALUES = {
    0: b"",
    1: b"",
    2: b"\x01",
    3: b"\x01\x02",
    4: b"\x01\x02\x03\x04",
    5: b"\x01\x02\x03\x04\x05\x06\x07\x08",
    6: b"\x00\x03\x07\x07\x07",
    7: b"\x00\x03\x07\x07\x07",
    8: b"\x01\x02\x03\x04\x05\x06\x07\x08",
    9: bytes(range(16)),
}


@pytest.mark.parametrize(("kind", "value"), HEADER_VALUES.items())
def test_headers_of_every_type_are_passed_over(kind: int, value: bytes) -> None:
    """Before and after the one that counts."""
    other = header("x-other", kind, value)
    body = message(other + text_header(":event-type", "e") + other, b"{}")

    assert frames(body) == [("e", b"{}")]


def test_all_types_at_once_and_strings_that_are_not_utf_8() -> None:
    """A bad character in a header is replaced; it does not end the stream."""
    headers = b"".join(header("h", kind, value) for kind, value in HEADER_VALUES.items())
    headers += header(":event-type", 7, b"\x00\x02e\xff")

    assert frames(message(headers, b"{}")) == [("e\ufffd", b"{}")]


@pytest.mark.parametrize(
    "headers",
    [
        b"\x05",
        b"\x05abc",
        b"\x01a",
        header("a", 10, b"1234"),
        header("a", 255, b""),
        header("a", 4, b"\x00"),
        header("a", 7, b""),
        header("a", 7, b"\x00"),
        header("a", 7, b"\x00\x05abc"),
        header("a", 6, b"\xff\xffabc"),
        header("a", 9, b"123456789012345"),
        text_header(":event-type", "e") + b"\x00",
    ],
)
def test_malformed_headers_are_errors(headers: bytes) -> None:
    """Though both checksums are right."""
    with pytest.raises(StreamError, match="malformed header"):
        frames(message(headers, b"{}"))


def test_many_different_headers_are_not_all_remembered() -> None:
    """A hostile server cannot fill the memory with names."""
    names = [f"e{number}" for number in range(200)]

    assert [name for name, _ in frames(*(event(name, b"") for name in names * 2))] == names * 2


def test_headers_that_another_stream_had_are_not_read_again() -> None:
    """Streams of one API have the same few, with some hundred lengths of messages."""
    body = b"".join(event("delta", b"x" * length) for length in range(20))
    first = frames(body)
    read = _known_head.cache_info()

    assert frames(body) == first
    assert _known_head.cache_info() == read


# -- damage


def test_every_cut_is_an_error_except_between_messages() -> None:
    """The whole messages before the cut are delivered."""
    body = b"".join(STREAM)
    ends = [sum(map(len, STREAM[:count])) for count in range(len(STREAM) + 1)]

    for end in range(len(body) + 1):
        whole = sum(edge <= end for edge in ends[1:])
        error = "" if end in ends else "the event stream ends inside a message"
        assert outcome(body[:end]) == (FRAMES[:whole], error)


@pytest.mark.parametrize("before", [0, 1])
def test_every_flipped_bit_is_noticed(before: int) -> None:
    """In the prelude at once, elsewhere when the message is complete, also in a repeated one."""
    for at in range(len(STREAM[1])):
        damaged = bytearray(STREAM[1])
        damaged[at] ^= 1 << at % 8

        found, error = outcome(STREAM[before] + damaged + STREAM[2])

        assert found == [FRAMES[before]]
        assert "checksum" in error


@pytest.mark.parametrize("size", [1, 13, 100, 10_000])
def test_repeated_messages_of_any_length_are_read_like_the_first(size: int) -> None:
    """Those with the same length and headers, and others between them."""
    texts = [b"x" * (number % 7) for number in range(40)]
    body = b"".join(event("ab"[len(text) % 2], text) for text in texts)

    assert frames(*sliced(body, size)) == [("ab"[len(text) % 2], text) for text in texts]


@pytest.mark.parametrize(
    ("total", "headers"),
    [(2**31, 0), (2**32 - 1, 2**32 - 1), (100_001, 0), (0, 0), (15, 0), (50, 35), (100, 2**31)],
)
@pytest.mark.parametrize("size", [1, 12])
def test_wrong_lengths_are_refused_at_once(total: int, headers: int, size: int) -> None:
    """With the last byte of the prelude, before anything is buffered."""
    prelude = pack(">II", total, headers)
    decoder = Framing.aws_event_stream(100_000).new_decoder()
    *chunks, last = sliced(prelude + pack(">I", crc32(prelude)), size)

    assert [decoder.feed(chunk) for chunk in chunks] == [[] for _ in chunks]
    with pytest.raises(StreamError, match=f"declares {total} bytes, {headers} of them headers"):
        decoder.feed(last)


def test_the_limit_is_that_of_a_message() -> None:
    """Exactly the limit passes."""
    longest = max(map(len, STREAM))

    assert frames(*STREAM, limit=longest) == FRAMES
    with pytest.raises(StreamError, match="allowed are"):
        frames(*STREAM, limit=longest - 1)


# -- bodies that are not an event stream


@pytest.mark.parametrize("size", [1, 7, 12, 499, 500, 10_000])
@pytest.mark.parametrize(
    "body",
    [
        b'{"message":"The provided model identifier is invalid."}',
        b"{}",
        b"{",
        b'[{"error":1}]',
        b"<html><body>502 Bad Gateway</body></html>",
        b'{"message":"' + "é".encode() * 1000 + b'"}',
    ],
)
def test_a_text_body_is_quoted(body: bytes, size: int) -> None:
    """An error body under the wrong content type is not a wrong checksum to the reader."""
    found, error = outcome(*sliced(body, size))

    assert found == []
    assert (
        error
        == f"the body is not an event stream but text: {body[:500].decode('utf-8', 'replace')}"
    )


def test_text_after_a_message_is_damage() -> None:
    """It could be anything, so it is not quoted; also where another stream had the message."""
    for _ in range(2):
        assert outcome(STREAM[0] + b'{"message":"no"}') == (
            FRAMES[:1],
            "an event stream message begins with a wrong checksum",
        )


def test_binary_that_is_not_an_event_stream() -> None:
    """A wrong checksum is all that can be said."""
    with pytest.raises(StreamError, match="begins with a wrong checksum"):
        frames(b"\x1f\x8b\x08\x00" + bytes(20))
