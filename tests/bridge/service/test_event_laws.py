"""Laws of events that are kept and passed on: in whatever batches, none is lost or sent twice."""

import json
from typing import Any

import anyio
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.background.event_log import EventLog, Piece
from llmcore.bridge.background.lifecycle import Lifecycle
from llmcore.bridge.background.replay import ReplayRun
from llmcore.bridge.background.responses import BackgroundResponses
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.websocket.messages import in_lane, lane_of
from llmcore.fronts.openai_responses import front
from llmcore.fronts.openai_responses.state import Record
from tests.support.servers.bridge_service import events_of

TEXTS = st.text(max_size=20)
BATCHES = st.lists(st.tuples(st.lists(TEXTS, min_size=1, max_size=4), st.booleans()), max_size=6)
"""The texts of events that come together, and whether they are written to the store at once."""
LANES = st.text("abcXYZ019_.-", min_size=1, max_size=256)


async def replayed(batches: list[tuple[list[str], bool]], after: int) -> tuple[Any, Any]:
    """Return all events of a response, and those that another process streams after *after*."""
    store = SqliteResponseStore(None, ttl_s=60, max_entries=10, max_bytes=10**6)
    states, log = Lifecycle(store), EventLog(store, "resp_1")
    queued = Record(id="resp_1", owner="me", response={"id": "resp_1", "status": "queued"})
    final = evolve(queued, response={"id": "resp_1", "status": "completed"})
    await states.begin(queued)
    events: list[Any] = []
    texts = [*batches, ([""], True)]
    for number, (batch, flushed) in enumerate(texts):
        made: list[Any] = [
            {"type": "delta", "sequence_number": len(events) + place, "delta": text}
            for place, text in enumerate(batch)
        ]
        if number == len(texts) - 1:
            made[-1] = {**made[-1], "type": "response.completed"}
        events += made
        log.add([json.dumps(event).encode() for event in made])
        if flushed:
            await log.flush()
    await states.end(final)
    others = BackgroundResponses(store, Metrics(), at_once=1)
    run, received = ReplayRun(others, final, after, front.error), b""
    while data := await run.next_bytes():
        received += data
    await store.aclose()
    return events, events_of(received)


@given(BATCHES, st.integers(-1, 30))
def test_a_stream_that_is_resumed_has_the_events_that_follow(
    batches: list[tuple[list[str], bool]], after: int
) -> None:
    events, found = anyio.run(replayed, batches, after)

    assert found == events[after + 1 :]


@given(st.integers(0, 2**40), st.lists(st.text().map(lambda t: json.dumps(t).encode()), min_size=1))
def test_a_piece_is_read_as_it_was_written(first: int, lines: list[bytes]) -> None:
    piece = Piece(first, tuple(lines))

    assert Piece.unpacked(piece.packed()) == piece


@given(LANES, st.dictionaries(TEXTS, TEXTS, min_size=1))
def test_an_event_in_a_lane_is_the_event_and_its_lane(lane: str, fields: dict[str, str]) -> None:
    event = {"type": "x", **{f"f{name}": value for name, value in fields.items()}}
    line = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")

    assert lane_of({"stream_id": lane}) == lane
    assert json.loads(in_lane(line, None)) == json.loads(line)
    assert json.loads(in_lane(line, lane)) == {**json.loads(line), "stream_id": lane}
