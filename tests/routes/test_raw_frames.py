"""The native frame of each event, and the native document of the response."""

import json
import pickle
from typing import Any

from llmcore.folds.response import collect
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent, TextDelta
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.wire import chat

ASKED = request(model=Model("m", "p"), prompt="Hello")


def read(
    protocol: str, framing: Framing, body: bytes, *, streaming: bool = True, size: int = 11
) -> list[LLMEvent]:
    """Decode *body*, in pieces of *size* bytes, with the native frames asked for."""
    content_type = framing.content_types[0] if streaming else "application/json"
    return decode_response(
        protocol_by_id(protocol),
        framing,
        ASKED,
        status=200,
        headers={"content-type": content_type},
        chunks=[body[at : at + size] for at in range(0, len(body), size)],
        streaming=streaming,
        raw=True,
    )


CHUNKS = chat.text_chunks("Hel", "lo")


def test_each_event_of_a_stream_has_the_frame_it_was_read_from() -> None:
    """Also where the network cuts frames, and on the path that decodes a delta alone."""
    events = read("openai-chat", Framing.sse(), chat.sse(CHUNKS))

    deltas = [event.native for event in events if isinstance(event, TextDelta)]
    assert deltas == [CHUNKS[1], CHUNKS[2]]
    assert events[0].native == CHUNKS[0]


def test_the_response_of_a_stream_has_the_list_of_its_frames() -> None:
    """The mark of the end is one of them, as text."""
    events = read("openai-chat", Framing.sse(), chat.sse(CHUNKS))

    assert collect(events).unwrap().raw == [*CHUNKS, "[DONE]"]


def test_each_event_of_a_whole_body_has_the_document() -> None:
    """There is one frame, which is the response's document too."""
    document: Any = chat.completion({"content": "Hi"})
    events = read("openai-chat", Framing.sse(), json.dumps(document).encode(), streaming=False)

    assert all(event.native == document for event in events)
    assert collect(events).unwrap().raw == document


def test_frames_whose_kind_is_their_name_are_objects_of_that_name() -> None:
    """As botocore gives the events of a Bedrock stream."""
    framing = Framing.aws_event_stream()

    assert framing.native(("contentBlockStop", b'{"contentBlockIndex":0}')) == {
        "contentBlockStop": {"contentBlockIndex": 0}
    }


def test_frames_are_not_kept_unless_asked_for() -> None:
    """An event costs no more, and a response of a stream holds no document."""
    body = chat.sse(CHUNKS)
    events = decode_response(
        protocol_by_id("openai-chat"),
        Framing.sse(),
        ASKED,
        status=200,
        headers={"content-type": "text/event-stream"},
        chunks=[body],
        streaming=True,
    )

    assert {event.native for event in events} == {None}
    assert collect(events).unwrap().raw is None


def test_the_frame_takes_no_part_in_the_value_of_an_event() -> None:
    """Two events are equal whatever they were read from, and pickle with or without a frame."""
    events = read("openai-chat", Framing.sse(), chat.sse(CHUNKS), size=1)

    assert TextDelta("text_0", "Hel") in events
    assert pickle.loads(pickle.dumps(events)) == events
