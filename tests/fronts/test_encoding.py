"""Events as bytes."""

from collections.abc import Callable

import pytest

from llmcore.fronts.encoding import COMMENT, COMMENT_FRAME, data_event, json_line, named_event
from llmcore.fronts.front import Event
from llmcore.schema import json

LINE_ENDS = "a\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029b"


def test_an_event_is_one_line_whatever_a_reader_takes_for_a_line_end() -> None:
    """Clients cut streams with `str.splitlines`, which knows ten of them."""
    line = json_line({"delta": LINE_ENDS})

    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {"delta": LINE_ENDS}


@pytest.mark.parametrize(
    ("encode", "head"),
    [(data_event, b"data: {"), (named_event, b"event: message_stop\ndata: {")],
)
def test_a_frame_has_its_head_and_ends_with_an_empty_line(
    encode: Callable[[Event], bytes], head: bytes
) -> None:
    """Named after the type, or not at all."""
    frame = encode({"type": "message_stop", "text": "日本語🙂"})

    assert frame.startswith(head)
    assert frame.endswith(b"}\n\n")
    assert json.loads(frame.partition(b"data: ")[2]) == {
        "type": "message_stop",
        "text": "日本語🙂",
    }


def test_a_comment_is_read_as_nothing() -> None:
    """Alone, and as a frame of its own."""
    assert COMMENT.startswith(b":")
    assert COMMENT.count(b"\n") == 1
    assert COMMENT_FRAME == COMMENT + b"\n"
