"""Server-sent events: `llmcore/routes/sse.py`."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.routes.framing import Frame, Framing
from llmcore.schema.errors import StreamError

BOM = b"\xef\xbb\xbf"
LINE_ENDS = {"LF": b"\n", "CRLF": b"\r\n", "CR": b"\r"}
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\x00"


def events(*chunks: bytes, limit: int = 10_000) -> list[Frame]:
    """Return the events of a body that comes as *chunks*."""
    decoder = Framing.sse(limit).new_decoder()
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    return [*frames, *decoder.close()]


def by_the_standard(body: bytes) -> list[Frame]:
    """Return what WHATWG HTML 9.2.6 says of *body*, in the order of its steps."""
    frames, data, event_type = list[Frame](), b"", ""
    *lines, _incomplete = re.split(rb"\r\n|\n|\r", body.removeprefix(BOM))
    for line in lines:
        if line == b"":
            if data != b"":
                frames.append((event_type, data[:-1]))
            data, event_type = b"", ""
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"event":
            event_type = value.decode("utf-8", "replace")
        elif name == b"data":
            data += value + b"\n"
    return frames


# -- the standard's own examples (9.2.6, "Interpreting an event stream")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("", b"YHOO\n+2\n10")]),
        (
            b": test\n\ndata: 1st event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [("", b"1st event"), ("", b"second event"), ("", b" third event")],
        ),
        (b"data\n\ndata\ndata\n\n", [("", b""), ("", b"\n")]),
        (b"data:test\n\ndata: test\n\n", [("", b"test"), ("", b"test")]),
        (
            b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
            [("add", b"73857293"), ("remove", b"2153")],
        ),
    ],
)
def test_examples_of_the_standard(body: bytes, expected: list[Frame]) -> None:
    """The standard shows these bodies and says what they are."""
    assert events(body, limit=100_000) == expected


# -- fields


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b": comment\n\n", []),
        (b": OPENROUTER PROCESSING\n\ndata: 1\n\n", [("", b"1")]),
        (b": ping\ndata: 1\n\n", [("", b"1")]),
        (b"retry: 3000\n\ndata: 1\n\n", [("", b"1")]),
        (b"id: 7\n\nid\n\ndata: 1\nid: 8\n\n", [("", b"1")]),
        (b"event: ping\n\ndata: 1\n\n", [("", b"1")]),
        (b"event: ping\ndata:\n\n", [("ping", b"")]),
        (b"event: ping\ndata: \n\n", [("ping", b"")]),
        (b"event: ping\ndata\n\n", [("ping", b"")]),
        (b"data: 1\nevent: late\n\n", [("late", b"1")]),
        (b"event: a\nevent: b\ndata: 1\n\n", [("b", b"1")]),
        (b"event: a\nevent\ndata: 1\n\n", [("", b"1")]),
        (b"event:a\ndata:1\n\n", [("a", b"1")]),
        (b"event:  a\ndata: 1\n\n", [(" a", b"1")]),
        (b"event: \xff\ndata: 1\n\n", [("\ufffd", b"1")]),
        (b"data: a: b\n\n", [("", b"a: b")]),
        (b"Data: 1\n data: 2\ndata : 3\n\n", []),
        (b"database: 1\nevents: 2\n\n", []),
        (b"data: 1\ndata:2\ndata\ndata: 4\n\n", [("", b"1\n2\n\n4")]),
        (b"data:a\nid: 1\ndata:b\n\n", [("", b"a\nb")]),
        (b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n", [("", b"1"), ("", b"2")]),
        (b'{"error":{"message":"no"}}\n\n', [("", b'{"error":{"message":"no"}}')]),
        (b'{\n "error":\n {"data": 1}\n}\n\n', [("", b'{\n "error":\n {"data": 1}\n}')]),
        (
            b'data: 1\n\n{"error": 2}\n\ndata: 3\n\n',
            [("", b"1"), ("", b'{"error": 2}'), ("", b"3")],
        ),
        (b'x: {"error": 2}\n\n', []),
        (b'{"a": 1}\n{"a": 2}\n', [("", b'{"a": 1}'), ("", b'{"a": 2}')]),
        (b'{"a": 1}\r\n{"a": 2}', [("", b'{"a": 1}'), ("", b'{"a": 2}')]),
        (b'{"a": 1} \ndata: 2\n\n', [("", b'{"a": 1} '), ("", b"2")]),
        (b'error: {"code":500}\n\ndata: 1\n\n', [("error", b'{"code":500}'), ("", b"1")]),
        (b'error:{"message":"a: b, data: c"}\n\n', [("error", b'{"message":"a: b, data: c"}')]),
        (b"error: 2\n\nerrors: {}\n\n", []),
        (b"data: [DONE]\n\n", [("", b"[DONE]")]),
    ],
)
def test_only_event_and_data_are_read(body: bytes, expected: list[Frame]) -> None:
    """Only `event` and `data` count, with or without one space, in any order."""
    assert events(body, limit=100_000) == expected


@pytest.mark.parametrize("prefix", [b"data: ", b"data:"])
def test_only_cr_and_lf_end_a_line(prefix: bytes) -> None:
    """Whatever `str.splitlines` would cut at stays in the payload."""
    payload = f'{{"t":"{SEPARATORS}"}}'.encode()

    assert events(prefix + payload + b"\n\n") == [("", payload)]
    assert events(*(bytes([byte]) for byte in prefix + payload + b"\n\n")) == [("", payload)]


# -- line ends


@pytest.mark.parametrize("bom", [b"", BOM])
@pytest.mark.parametrize("line_end", LINE_ENDS.values(), ids=LINE_ENDS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_line_ends_and_byte_order_marks_do_not_show(bom: bytes, line_end: bytes, size: int) -> None:
    """Neither do slices that go through a CRLF or the mark."""
    lines = [b"event: a", b"data: 1", b"data: 2", b"", b": ping", b"", b"data: 3", b"", b""]
    body = bom + line_end.join(lines)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]

    assert events(*chunks) == [("a", b"1\n2"), ("", b"3")]


def test_only_one_byte_order_mark_is_dropped_and_only_at_the_start() -> None:
    """Elsewhere it is text, and makes an unknown field of `data`."""
    assert events(BOM + BOM + b"data: 1\n\n") == []
    assert events(b"data: 1\n\n" + BOM + b"data: 2\n\n") == [("", b"1")]
    assert events(b"\xef\xbb", b"data: 1\n\n") == []


pieces = st.sampled_from(
    [b"data", b"data: ", b"data:1", b"data: {", b"event: e", b"id: 1", b"retry: 1", b":", b" "]
    + [b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"] * 2
    + [BOM, b"\xef", "\u2028".encode(), b"\xff"]
)


@given(
    bom=st.sampled_from([b"", BOM]),
    body=st.lists(pieces, max_size=40).map(b"".join),
    cuts=st.lists(st.integers(0, 200), max_size=20),
)
def test_any_body_in_any_slices_gives_the_events_of_the_standard(
    bom: bytes, body: bytes, cuts: list[int]
) -> None:
    """Mixed line ends included; the blank line at the end is ours."""
    body = bom + body + b"\n\n"
    edges = sorted({0, len(body), *(at for at in cuts if at < len(body))})

    assert events(*(body[a:b] for a, b in pairwise(edges))) == by_the_standard(body)


def test_an_event_larger_than_what_is_split_at_once_is_whole_among_small_ones() -> None:
    """Also where a chunk ends within it."""
    small, large = b"event: e\ndata: 1\n\n" * 200, b"event: f\ndata: " + b"x" * 50_000 + b"\n\n"
    body = small + large + small
    expected = [("e", b"1")] * 200 + [("f", b"x" * 50_000)] + [("e", b"1")] * 200

    assert events(body, limit=100_000) == expected
    assert events(body[:20_000], body[20_000:], limit=100_000) == expected


usual = st.sampled_from([b"data: 1", b"data: 22", b"event: e\ndata: 1", b"event: f\ndata: 22"])
unusual = st.sampled_from(
    [b"data: ", b"data:1", b"data: 1\ndata: 2", b":", b"", b"data: \r1", b"1"]
)


long = b"data: " + b"x" * 300


@given(
    runs=st.lists(st.tuples(usual | unusual, st.integers(0, 9)), min_size=1, max_size=8),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
    other_end=st.sampled_from([b"\n", b"\r\n", b"\r", b": ping\n\n"]),
    cuts=st.lists(st.integers(0, 30_000), max_size=5),
)
def test_bursts_of_several_runs_give_the_events_of_the_standard(
    runs: list[tuple[bytes, int]], line_end: bytes, other_end: bytes, cuts: list[int]
) -> None:
    """Also with another line end among them, and cut anywhere."""
    events_of = (event.replace(b"data: ", long, 1) + b"\n\n" for event, _ in runs)
    run_of = (one * times for one, (_, times) in zip(events_of, runs, strict=True))
    body = b"".join(run_of).replace(b"\n", line_end) + other_end
    body += body + line_end * 2
    edges = sorted({0, len(body), *(at for at in cuts if at < len(body))})

    assert events(*(body[a:b] for a, b in pairwise(edges))) == by_the_standard(body)


@given(
    runs=st.lists(st.tuples(usual | unusual, st.integers(1, 5)), max_size=8),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
    cuts=st.lists(st.integers(0, 200), max_size=5),
)
def test_runs_of_like_events_give_the_events_of_the_standard(
    runs: list[tuple[bytes, int]], line_end: bytes, cuts: list[int]
) -> None:
    """Also with others among them, and cut anywhere."""
    body = b"".join((event + b"\n\n") * times for event, times in runs)
    body = body.replace(b"\n", line_end)
    edges = sorted({0, len(body), *(at for at in cuts if at < len(body))})

    assert events(*(body[a:b] for a, b in pairwise(edges))) == by_the_standard(body)


@given(body=st.lists(pieces, max_size=30).map(b"".join))
def test_an_event_goes_out_with_the_byte_that_completes_it(body: bytes) -> None:
    """After each byte, exactly the events that are complete by then have come."""
    decoder, frames = Framing.sse().new_decoder(), list[Frame]()
    for end in range(1, len(body) + 1):
        frames += decoder.feed(body[end - 1 : end])

        assert frames == by_the_standard(body[:end])


@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r", b"\r\r", b"\n\r", b"\r\n\n"])
def test_no_waiting_for_the_byte_after_a_cr(ending: bytes) -> None:
    """The LF of the last CRLF may come with the next event, minutes later."""
    decoder = Framing.sse().new_decoder()

    assert decoder.feed(b"data: 1" + ending) == [("", b"1")]
    assert decoder.feed(b"\ndata: 2" + ending) == [("", b"2")]


# -- the end


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: 1", [("", b"1")]),
        (b"data: 1\n", [("", b"1")]),
        (b"data: 1\r\n", [("", b"1")]),
        (b"data: 1\r", [("", b"1")]),
        (b'event: a\ndata: {"x":', [("a", b'{"x":')]),
        (b"event: a\ndat", []),
        (b"event: a\n", []),
        (b"\xef\xbb", []),
        (b"", []),
    ],
)
def test_close_delivers_an_event_without_its_blank_line(body: bytes, expected: list[Frame]) -> None:
    """Our one deviation from the standard."""
    decoder = Framing.sse().new_decoder()

    assert decoder.feed(body) == []
    assert decoder.close() == expected


# -- limits


def test_the_limit_counts_the_lines_of_one_event() -> None:
    """Exactly the limit passes, whatever blank lines stand around it."""
    event = b"data: 45678\n: 4567"

    for body in (event + b"\n\n", b"\n\n\n" + event + b"\n\n\n", event + b"\r\n\r\n"):
        assert events(body, limit=18) == events(*(body[i : i + 1] for i in range(99)), limit=18)
        assert events(body, limit=18) == [("", b"45678")]
        with pytest.raises(StreamError, match="17 bytes"):
            events(body, limit=17)


def test_a_long_body_of_short_events_is_not_a_long_event() -> None:
    """The limit is not that of a chunk."""
    assert len(events(b"data: 1\n\n" * 1000, limit=10)) == 1000
    assert len(events(b"x\n\n" + b"data: 1\n\n" * 1000, limit=10)) == 1000


# -- events without the blank line between them


@pytest.mark.parametrize(
    ("body", "frames"),
    [
        (b'data: {"a": 1}\ndata: {"a": 2}\n\n', [("", b'{"a": 1}'), ("", b'{"a": 2}')]),
        (b'data:{"a": 1}\ndata:[DONE]\n\n', [("", b'{"a": 1}'), ("", b"[DONE]")]),
        (
            b'event: x\ndata: {"a": 1}\nevent: y\ndata: {"a": 2}\n\n',
            [("x", b'{"a": 1}'), ("y", b'{"a": 2}')],
        ),
        (
            b'data: {"a":\ndata: {"b": 1}}\ndata: {"c": 2}\n\n',
            [("", b'{"a":\n{"b": 1}}'), ("", b'{"c": 2}')],
        ),
        (b'data: [{"a": 1}\ndata: , {"a": 2}]\n\n', [("", b'[{"a": 1}\n, {"a": 2}]')]),
        (b"data: a}\ndata: {b\n\n", [("", b"a}\n{b")]),
        (b'data: {"a": 1}\nevent: x\n\n', [("x", b'{"a": 1}')]),
    ],
)
def test_a_line_of_data_that_begins_an_object_after_a_whole_one_is_another_event(
    body: bytes, frames: list[Frame]
) -> None:
    """No JSON has two objects in a row without a comma between them."""
    assert events(body) == frames


# -- lines of JSON that are labelled as server-sent events


def test_a_line_of_json_goes_out_with_its_line_end() -> None:
    """Without a blank line: each is an event by itself."""
    decoder = Framing.sse().new_decoder()

    assert decoder.feed(b'{"a": 1') == []
    assert decoder.feed(b'}\n{"a": 2}\n{"a"') == [("", b'{"a": 1}'), ("", b'{"a": 2}')]
    assert decoder.feed(b": 3}") == []
    assert decoder.close() == [("", b'{"a": 3}')]


@given(
    lines=st.lists(
        st.sampled_from(
            [b'{"a": 1}', b'{"a": 22}', b"data: 1", b"data: 1\n", b"", b"{", b"event: e"]
        ),
        max_size=12,
    ),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    limit=st.sampled_from([7, 9, 20, 1000]),
)
@example([b"", b'{"a": 1}', b"data: 1", b"data: 1\n"], b"\n", [20], 9)
def test_lines_of_json_among_events_are_the_same_in_any_slices(
    lines: list[bytes], line_end: bytes, cuts: list[int], limit: int
) -> None:
    """The frames before an event that is too long too."""
    body = b"".join(line + b"\n" for line in lines).replace(b"\n", line_end)
    edges = sorted({0, len(body), *(at for at in cuts if at < len(body))})

    assert _outcome([body[a:b] for a, b in pairwise(edges)], limit) == _outcome([body], limit)


def _outcome(chunks: list[bytes], limit: int) -> tuple[list[Frame], bool]:
    """Return the frames of *chunks*, and whether an event was too long."""
    decoder, frames = Framing.sse(limit).new_decoder(), list[Frame]()
    try:
        for chunk in chunks:
            frames += decoder.feed(chunk)
        frames += decoder.close()
    except StreamError:
        return frames, True
    return frames, False
