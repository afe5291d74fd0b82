"""A decoder that returns at the first delta: the events are those of one that does not."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import Framing
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, TextDelta
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest

_REQUEST = LLMRequest(model=Model("m", "acme"), messages=(Message.user("?"),))


def _chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


_START = _chunk({"role": "assistant", "content": ""})
_TEXTS = [_chunk({"content": text}) for text in ("Hel", "lo", "!")]
_END = [_chunk({}, "stop"), b"data: [DONE]\n\n"]
_WHOLE = b"".join([_START, *_TEXTS, *_END])


def _decoder(*, until_delta: bool, raw: bool = False) -> ResponseDecoder:
    protocol = protocol_by_id("openai-chat")
    assert protocol is not None
    made = ResponseDecoder(protocol, Framing.sse(), _REQUEST, raw=raw)
    made.until_delta = until_delta
    return made


def _read(decoder: ResponseDecoder, chunks: Sequence[bytes]) -> list[list[LLMEvent]]:
    """Return the events of *chunks* as a call reads them: what was kept goes before more bytes."""
    batches = []
    for chunk in chunks:
        batches.append(decoder.feed(chunk))
        if decoder.keeps_frames:
            batches.append(decoder.feed(b""))
    return [*batches, decoder.end()]


@pytest.mark.parametrize(
    "chunks",
    [
        [_WHOLE],
        [_START, b"".join([*_TEXTS, *_END])],
        [_START + _TEXTS[0], _TEXTS[1], b"".join([_TEXTS[2], *_END])],
        [_WHOLE[:150], _WHOLE[150:]],
        [_START, *_TEXTS, *_END],
        [_START + _TEXTS[0] + b"data: {\n\n" + _TEXTS[1]],
        [b": ping\n\n"],
    ],
)
def test_a_stream_has_the_same_events_up_to_the_first_delta_and_after_it(
    chunks: list[bytes],
) -> None:
    split = _read(_decoder(until_delta=True), chunks)
    plain = _read(_decoder(until_delta=False), chunks)

    assert [repr(event) for batch in split for event in batch] == [
        repr(event) for batch in plain for event in batch
    ]


def test_the_first_delta_does_not_wait_for_what_came_with_it() -> None:
    decoder = _decoder(until_delta=True)

    first = decoder.feed(_WHOLE)
    assert first[-1] == TextDelta("text_0", "Hel")
    assert decoder.keeps_frames

    rest = decoder.feed(b"")
    assert isinstance(rest[-1], Finish)
    assert not decoder.keeps_frames


def test_a_stream_without_deltas_is_read_at_once() -> None:
    decoder = _decoder(until_delta=True)

    events = decoder.feed(_START + b'data: {"error": {"message": "no"}}\n\n')

    assert isinstance(events[-1], ErrorEvent)
    assert not decoder.keeps_frames


def test_native_frames_are_read_at_once() -> None:
    decoder = _decoder(until_delta=True, raw=True)

    assert isinstance(decoder.feed(_WHOLE)[-1], Finish)
    assert not decoder.keeps_frames
