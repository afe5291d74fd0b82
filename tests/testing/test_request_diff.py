"""How a request differs from the recorded one."""

import json
from typing import Any

import pytest
from attrs import evolve
from syrupy.assertion import SnapshotAssertion

from llmcore.testing.cassette import RecordedRequest
from llmcore.testing.request_diff import common_length, difference, same, similarity

BODY: dict[str, Any] = {
    "model": "m-1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather in Rome?"},
    ],
    "temperature": 0.5,
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {}}}],
}


def recorded(body: object = BODY, **changes: Any) -> RecordedRequest:
    request = RecordedRequest(
        method="POST",
        url="https://api.example.com/v1/chat/completions",
        headers={"accept": "text/event-stream", "content-type": "application/json"},
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
    )
    return evolve(request, **changes)


@pytest.mark.parametrize(
    "other",
    [
        recorded(dict(reversed(BODY.items()))),
        recorded(body=json.dumps(BODY, indent=2).encode()),
        recorded(headers=dict(sorted(recorded().headers.items(), reverse=True))),
    ],
)
def test_layout_and_key_order_make_no_difference(other: RecordedRequest) -> None:
    """Bodies are compared as canonical JSON."""
    assert same(recorded(), other)


@pytest.mark.parametrize(
    "other",
    [
        recorded(method="GET"),
        recorded(url="https://api.example.com/v2/chat/completions"),
        recorded(headers={"content-type": "application/json"}),
        recorded({**BODY, "temperature": 0.6}),
        recorded({**BODY, "messages": BODY["messages"][::-1]}),
        recorded(body=b"not JSON"),
        recorded(body=b""),
    ],
)
def test_every_other_change_is_a_difference(other: RecordedRequest) -> None:
    """Method, URL, headers and every value of the body; each shows in the diff."""
    assert not same(recorded(), other)
    assert "\n+" in difference(recorded(), other) or "\n-" in difference(recorded(), other)


@pytest.mark.parametrize(
    ("one", "other"), [(b"1", b"1.0"), (b"true", b"1"), (b"null", b""), (b"\xff", b"\xfe")]
)
def test_json_values_that_python_compares_equal_may_differ(one: bytes, other: bytes) -> None:
    """On the wire, 1 is not 1.0 and no body is not null."""
    assert not same(recorded(body=one), recorded(body=other))


def test_the_text_of_a_difference_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """The lines that changed, with what stands round them."""
    messages = [BODY["messages"][0], {"role": "user", "content": "What is the weather in Oslo?"}]
    sent = recorded(
        {**BODY, "messages": messages, "stream": True}, headers={"content-type": "text/plain"}
    )

    assert difference(recorded(), sent) == snapshot


def test_a_long_line_is_cut_to_the_part_that_differs() -> None:
    """Two images that differ in a byte do not fill the screen."""
    one = recorded({"image": "A" * 50_000 + "B" + "A" * 50_000})
    other = recorded({"image": "A" * 50_000 + "C" + "A" * 50_000})

    shown = difference(one, other)

    assert max(map(len, shown.splitlines())) < 300
    assert "AB" in shown
    assert "AC" in shown
    assert "characters]..." in shown
    assert "more]" in shown


def test_similarity_is_highest_for_the_intended_request() -> None:
    """The request that shares most lines is the most alike."""
    near, far = recorded({**BODY, "temperature": 1}), recorded({"input": "x"})

    assert similarity(recorded(), near) > similarity(recorded(), far)


@pytest.mark.parametrize(
    ("one", "other", "length"), [("", "", 0), ("abc", "abd", 2), ("ab", "abc", 2), ("x", "y", 0)]
)
def test_common_length_counts_equal_leading_characters(one: str, other: str, length: int) -> None:
    """In characters."""
    assert common_length(one, other) == length
