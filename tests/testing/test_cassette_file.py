"""Cassettes and their files."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from llmcore.schema.errors import NetworkError, RequestTimeoutError
from llmcore.testing.cassette import (
    Authored,
    Cassette,
    CassetteError,
    Chunk,
    Interaction,
    Metadata,
    NoResponse,
    Recorded,
    RecordedRequest,
    RecordedResponse,
)
from llmcore.testing.cassette_file import dumps, load, loads, pretty, save
from llmcore.testing.secret_scan import SecretFoundError

URL = "https://api.example.com/v1/chat/completions"
REQUEST = RecordedRequest(
    method="POST",
    url=URL,
    headers={"content-type": "application/json"},
    body=b'{"model":"m-1","messages":[{"role":"user","content":"Hi"}],"stream":true}',
)
SSE = b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\ndata: [DONE]\n\n'


def cassette_of(*interactions: Interaction, **metadata: Any) -> Cassette:
    facts: dict[str, Any] = {"name": "example/streams-text", **metadata}
    return Cassette(metadata=Metadata(**facts), interactions=interactions)


EXAMPLE = cassette_of(
    Interaction(
        request=REQUEST,
        response=RecordedResponse(
            headers={"content-type": "text/event-stream"},
            body=SSE,
            delay_ms=120.5,
            chunks=(Chunk(20, 1.5), Chunk(len(SSE) - 20, 30.0)),
        ),
    ),
    Interaction(request=REQUEST, response=NoResponse(failure=NetworkError("gone"), delay_ms=3.0)),
    Interaction(
        request=REQUEST,
        response=RecordedResponse(
            headers={"content-type": "application/vnd.amazon.eventstream"},
            body=bytes(range(90)),
            abandoned=True,
        ),
    ),
    provider="example",
    protocol="openai-chat",
    tags=["stream", "text"],
    origin=Recorded(server="llama.cpp", version="b1", model="m-1"),
)

NAMES = st.text(max_size=8)
HEADERS = st.dictionaries(st.text(min_size=1, max_size=5), NAMES, max_size=2)
FAILURES = st.none() | st.builds(NetworkError, NAMES) | st.builds(RequestTimeoutError, NAMES)
DELAYS = st.floats(0, 1e6)


@st.composite
def cut_responses(draw: st.DrawFn) -> RecordedResponse:
    pieces = draw(st.lists(st.tuples(st.binary(max_size=12), DELAYS), max_size=4))
    return RecordedResponse(
        status=draw(st.integers(100, 999)),
        headers=draw(HEADERS),
        body=b"".join(piece for piece, _ in pieces),
        delay_ms=draw(DELAYS),
        chunks=tuple(Chunk(len(piece), delay_ms) for piece, delay_ms in pieces),
        failure=draw(FAILURES),
        abandoned=draw(st.booleans()),
    )


REQUESTS = st.builds(RecordedRequest, method=NAMES, url=NAMES, headers=HEADERS, body=st.binary())
INTERACTIONS = st.builds(
    Interaction,
    request=REQUESTS,
    response=cut_responses() | st.builds(NoResponse, failure=FAILURES, delay_ms=DELAYS),
)
ORIGINS = st.builds(
    Recorded, server=st.none() | NAMES, version=st.none() | NAMES, model=st.none() | NAMES
) | st.builds(Authored, source=st.text(min_size=1, max_size=8))
CASSETTES = st.builds(
    Cassette,
    metadata=st.builds(
        Metadata,
        name=NAMES,
        provider=st.none() | NAMES,
        protocol=st.none() | NAMES,
        tags=st.lists(NAMES, max_size=2),
        origin=ORIGINS,
    ),
    interactions=st.lists(INTERACTIONS, max_size=3),
)


@given(CASSETTES)
def test_any_cassette_round_trips(cassette: Cassette) -> None:
    """A written cassette reads as the same value."""
    assert loads(dumps(cassette)) == cassette


def test_a_saved_file_equals_the_readable_snapshot(snapshot: SnapshotAssertion) -> None:
    """Pretty-printed, keys in a fixed order, streams line by line."""
    assert dumps(EXAMPLE) == snapshot


def test_lone_surrogates_round_trip() -> None:
    """Servers cut emoji in two; what UTF-8 cannot say stands as an escape."""
    response = RecordedResponse(body=b'{"text":"\\ud83d"}')
    cassette = cassette_of(Interaction(request=REQUEST, response=response))

    text = dumps(cassette)

    assert '"text": "\\ud83d"' in text
    assert loads(text.encode().decode()) == cassette


def test_an_authored_cassette_names_its_document() -> None:
    """An exchange that was never recorded names the document that it was written after."""
    authored = cassette_of(origin=Authored(source="https://docs.example.com, 2026-11-01"))

    assert json.loads(dumps(authored))["metadata"]["origin"] == {
        "kind": "authored",
        "source": "https://docs.example.com, 2026-11-01",
    }
    with pytest.raises(ValueError, match="source"):
        Authored(source="")


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({}, 1),
        ([], 1),
        ([1, 2.5, -3], 1),
        ([[1, 2.0], [3, 4.5]], 1),
        ({"a": 1}, 3),
        (["a", 1], 4),
        ([[1, 0.5]] * 100, 14),
    ],
)
def test_chunk_sizes_share_lines_of_the_file(value: Any, lines: int) -> None:
    """Chunk sizes take a few lines, not thousands; what is printed stays the same JSON."""
    text = pretty(value)

    assert len(text.splitlines()) == lines
    assert max(map(len, text.splitlines())) <= 100
    assert json.loads(text) == value


def test_saving_creates_folders_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    """A file appears whole, under its name only."""
    path = tmp_path / "deep" / "down" / "a.json"
    save(EXAMPLE, path, environ={})
    save(EXAMPLE, path, environ={})

    assert load(path) == EXAMPLE
    assert [found.name for found in path.parent.iterdir()] == ["a.json"]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """Editors of Windows write one."""
    path = tmp_path / "edited.json"
    save(EXAMPLE, path, environ={})
    path.write_text(path.read_text("utf-8"), "utf-8-sig")

    assert load(path) == EXAMPLE


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk does not destroy the cassette that was there."""
    path = tmp_path / "a.json"
    save(EXAMPLE, path, environ={})

    def full(self: Path, _data: bytes) -> int:
        self.touch()
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        save(cassette_of(), path, environ={})
    monkeypatch.undo()

    assert load(path) == EXAMPLE
    assert [found.name for found in tmp_path.iterdir()] == ["a.json"]


def test_a_secret_keeps_the_file_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys of the process are always looked for."""
    path = tmp_path / "a.json"
    leaky = evolve(REQUEST, body=b'{"note":"my-private-value-77"}')
    cassette = cassette_of(Interaction(request=leaky, response=NoResponse()))
    monkeypatch.setenv("EXAMPLE_API_KEY", "my-private-value-77")

    with pytest.raises(SecretFoundError, match=r"interactions\[0\]\.request\.body\.note"):
        save(cassette, path)

    assert not path.exists()
    save(cassette, path, not_secret=["my-private-value-77"])
    assert load(path) == cassette


ONE = '{"version":1,"metadata":{"name":"x","origin":{"kind":"recorded"}},"interactions":[%s]}'
EXCHANGE = (
    '{"kind":"http","request":{"method":"POST","url":"u","headers":{}},'
    '"response":{"status":200,"headers":{},"body":"abc",%s}}'
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "expected an object"),
        ("{}", r"required field missing @ \$\.version"),
        ('{"version":2}', "format version 2; this llmcore reads 1"),
        (ONE % '{"kind":"websocket"}', r"interactions\[0\]"),
        (ONE % (EXCHANGE % '"chunks":[[5,0]]'), "the chunks have 5 bytes, the body has 3"),
        (ONE % (EXCHANGE % '"speed":1'), "unknown fields: speed"),
        (ONE % (EXCHANGE % '"delay_ms":-1'), "delay_ms"),
        (
            ONE % (EXCHANGE % '"failure":{"type":"Nope","message":""}'),
            "not the name of an error class",
        ),
        (ONE.replace('"recorded"', '"authored"') % "", "source"),
    ],
)
def test_a_malformed_cassette_is_refused_with_the_reason(
    text: str, complaint: str, tmp_path: Path
) -> None:
    """A bad file is named, and the place in it."""
    path = tmp_path / "bad.json"
    path.write_text(text)

    with pytest.raises(CassetteError, match=complaint):
        loads(text)
    with pytest.raises(CassetteError, match=r"bad\.json"):
        load(path)


def test_a_missing_file_is_a_cassette_error(tmp_path: Path) -> None:
    """So is one that cannot be read as text."""
    with pytest.raises(CassetteError, match="cannot read"):
        load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff")
    with pytest.raises(CassetteError, match="no cassette"):
        load(tmp_path / "binary.json")


def test_chunks_must_add_up() -> None:
    """A response whose chunks are not its body cannot be made."""
    with pytest.raises(CassetteError, match="the chunks have 1 bytes, the body has 2"):
        RecordedResponse(body=b"ab", chunks=(Chunk(1),))
