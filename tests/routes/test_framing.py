"""Laws of every framing: `llmcore/routes/framing.py`."""

import json
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path
from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmcore
from llmcore.routes.framing import MAX_FRAME_BYTES, Frame, Framing
from llmcore.schema.errors import StreamError

MAKERS = {
    "sse": Framing.sse,
    "ndjson": Framing.ndjson,
    "json-array": Framing.json_array,
    "aws-event-stream": Framing.aws_event_stream,
}
every_framing = pytest.mark.parametrize("framing_id", MAKERS)


def aws_message(name: bytes, payload: bytes) -> bytes:
    headers = pack(">B", 11) + b":event-type" + pack(">BH", 7, len(name)) + name
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + payload
    return message + pack(">I", crc32(message))


def encode(framing_id: str, frames: list[Frame]) -> bytes:
    """Return a body of *frames*; the names only where the framing has any."""
    match framing_id:
        case "sse":
            return b"".join(b"event: %b\ndata: %b\n\n" % (n.encode(), p) for n, p in frames)
        case "ndjson":
            return b"".join(payload + b"\n" for _, payload in frames)
        case "json-array":
            return b"[" + b",\r\n".join(payload for _, payload in frames) + b"]\n"
        case _:
            return b"".join(aws_message(name.encode(), payload) for name, payload in frames)


def decode(framing: Framing, chunks: list[bytes]) -> tuple[list[Frame], str]:
    """Return the frames of *chunks*, and the message of the error they end with."""
    decoder, frames = framing.new_decoder(), list[Frame]()
    try:
        for chunk in chunks:
            frames += decoder.feed(chunk)
        frames += decoder.close()
    except StreamError as error:
        return frames, error.message
    return frames, ""


def cut(body: bytes, cuts: list[int]) -> list[bytes]:
    """Return *body* in pieces; each cut is taken modulo its length."""
    edges = sorted({0, len(body), *(at % (len(body) + 1) for at in cuts)})
    return [body[start:end] for start, end in pairwise(edges)]


cuts = st.lists(st.integers(0, 10_000), max_size=30)
documents = (
    st.text(max_size=12)
    .map(lambda text: '{"a":[{"t":' + json.dumps(text, ensure_ascii=False) + "}]}")
    .map(lambda text: text.encode("utf-8", "replace"))
)
frame_lists = st.lists(st.tuples(st.sampled_from(["ping", "delta"]), documents), max_size=6)

HOSTILE = [
    b"data", b":", b" ", b"\n", b"\r", b"\r\n", b"event: e", b"\xef\xbb\xbf", b"[", b"]", b"{",
    b"}", b'"', b"\\", b",", b"1", b"null", b"\x00\x00\x00\x10", b"\x00\x00\x00\x00", b"\x05\xc2",
    b"\xe2\x80\xa8", b"\xff", aws_message(b"e", b"{}"),
]  # fmt: skip
hostile_bodies = st.one_of(
    st.binary(max_size=80), st.lists(st.sampled_from(HOSTILE), max_size=30).map(b"".join)
)


# -- the value


@every_framing
def test_a_framing_is_a_value(framing_id: str) -> None:
    """Two framings of one kind are equal, and have the same `id`."""
    assert MAKERS[framing_id]() == MAKERS[framing_id]()
    assert MAKERS[framing_id]().id == framing_id
    assert MAKERS[framing_id]().max_frame_bytes == MAX_FRAME_BYTES


def test_content_types_name_one_framing_each() -> None:
    """So the content type of a response tells its framing."""
    types = [kind for make in MAKERS.values() for kind in make().content_types]

    assert sorted(set(types)) == sorted(types)
    assert {"text/event-stream", "application/json", "application/x-ndjson"} < set(types)


@every_framing
def test_a_limit_below_one_byte_is_refused(framing_id: str) -> None:
    """It would refuse every frame."""
    with pytest.raises(ValueError, match="max_frame_bytes"):
        MAKERS[framing_id](0)


@every_framing
def test_decoders_of_one_framing_share_no_state(framing_id: str) -> None:
    """The rest of one response never shows in another."""
    framing = MAKERS[framing_id]()
    body = encode(framing_id, [("e", b"{}")])
    framing.new_decoder().feed(body[:-2])

    assert decode(framing, [body])[0] == decode(framing, [body])[0] != []


# -- slicing


@every_framing
@given(frames=frame_lists, places=cuts)
def test_frames_survive_any_slicing(
    framing_id: str, frames: list[Frame], places: list[int]
) -> None:
    """Where the network cuts the body never shows."""
    body = encode(framing_id, frames)
    named = framing_id in {"sse", "aws-event-stream"}
    expected = [(name if named else "", payload) for name, payload in frames]

    assert decode(MAKERS[framing_id](), cut(body, places)) == (expected, "")


@every_framing
@given(body=hostile_bodies, places=cuts, limit=st.sampled_from([1, 5, 40, 1000]))
def test_hostile_bytes_end_alike_in_any_slicing(
    framing_id: str, body: bytes, places: list[int], limit: int
) -> None:
    """Frames and error depend on the bytes alone, and the error is a StreamError."""
    framing = MAKERS[framing_id](limit)
    whole = decode(framing, [body])

    assert decode(framing, cut(body, places)) == whole
    assert decode(framing, [bytes([byte]) for byte in body]) == whole
    assert all(len(payload) <= limit for _, payload in whole[0])


@every_framing
def test_empty_chunks_give_no_frames(framing_id: str) -> None:
    """A transport may hand over empty chunks, anywhere."""
    body = encode(framing_id, [("e", b'{"a":"\\""}'), ("e", b"{}")])
    chunks = [piece for byte in body for piece in (b"", bytes([byte]))]

    assert decode(MAKERS[framing_id](), [*chunks, b""]) == decode(MAKERS[framing_id](), [body])
    assert decode(MAKERS[framing_id](), [b""]) == ([], "")


# -- limits


@every_framing
def test_a_frame_over_the_limit_is_an_error_before_it_is_complete(framing_id: str) -> None:
    """An endless frame is given up at the limit, not at the end, and is not asked for again."""
    body = encode(framing_id, [("e", b'{"a":"' + b"x" * 1000 + b'"}')])
    chunks = [body[at : at + 10] for at in range(0, 800, 10)]
    decoder = MAKERS[framing_id](500).new_decoder()

    with pytest.raises(StreamError, match="500") as caught:
        assert [decoder.feed(chunk) for chunk in chunks] == []
    assert not caught.value.retryable


@every_framing
def test_frames_before_an_error_are_delivered_first(framing_id: str) -> None:
    """One chunk with good frames and a bad one gives the good ones, then the error for good."""
    good, bad = ("", b'{"a":1}'), ("", b'"' + b"x" * 1000 + b'"')
    decoder = MAKERS[framing_id](500).new_decoder()

    assert decoder.feed(encode(framing_id, [good, good, bad, good])) == [good, good]
    for _ in range(2):
        with pytest.raises(StreamError):
            decoder.feed(b"")
        with pytest.raises(StreamError):
            decoder.close()


@pytest.mark.slow
@every_framing
def test_a_large_frame_takes_linear_time_and_little_memory(framing_id: str) -> None:
    """20 MB in pieces of 1 KiB: quadratic work would take minutes."""
    payload = b'{"a":"' + b"x" * 20_000_000 + b'"}'
    body = encode(framing_id, [("", payload)])
    decoder, frames = MAKERS[framing_id]().new_decoder(), list[Frame]()
    tracemalloc.start()
    try:
        start = time.thread_time()
        for at in range(0, len(body), 1024):
            frames += decoder.feed(body[at : at + 1024])
        took_s = time.thread_time() - start
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert frames == [("", payload)]
    assert took_s < 5
    assert peak_bytes < 4 * len(payload)


# -- the code


def test_no_module_splits_wire_text_by_lines() -> None:
    """`splitlines` and `iter_lines` cut at U+2028 and others, which JSON strings may hold."""
    modules = list(Path(llmcore.__file__).parent.rglob("*.py"))
    guilty = [
        module.name
        for module in modules
        if any(call in module.read_text("utf-8") for call in (".splitlines(", "iter_lines"))
    ]

    assert modules
    assert guilty == []
