"""Responses that the vendors' packages declare, in the words of every front.

What a front writes has its grammar and its vendor's types, and is the same response streamed and
whole; so it is of streams in which an event is missing, comes twice or comes too early.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, TypeAlias

import pytest
from anthropic.types import ModelInfo
from anthropic.types.beta import BetaMessage, BetaModelInfo
from google.genai.types import GenerateContentResponse
from openai.types import model as openai_models
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel

from llmcore.folds.response import collect
from llmcore.fronts.front import (
    FRONT_IDS,
    ClientRequest,
    FrontWriter,
    ListedModel,
    ResponseIdentity,
    front_by_id,
)
from llmcore.schema.content import ReasoningPart, TextPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure
from llmcore.testing import recorded_events
from tests.fronts.openai_responses.openai_types import check_event, check_response
from tests.support.upstreams import upstream_of
from tests.support.wire.matrix import ANTHROPIC, COMPATIBLE, GEMINI, OPENAI, Column, Said
from tests.support.wire.sdk_responses import PROTOCOL_IDS, answers

fronts = pytest.mark.parametrize("front_id", FRONT_IDS)


def read(protocol_id: str, body: bytes, *, streaming: bool, kind: str = "") -> Sequence[LLMEvent]:
    """Return the events of a body of *protocol_id*."""
    usual = "text/event-stream" if streaming else "application/json"
    headers = {"content-type": kind or usual}
    return recorded_events(protocol_id, status=200, headers=headers, body=body, streaming=streaming)


# -- what a front writes

_CHUNKS: Mapping[str, type[BaseModel]] = {
    "openai-chat": ChatCompletionChunk,
    "gemini": GenerateContentResponse,
}
_WHOLE: Mapping[str, type[BaseModel]] = {
    "openai-chat": ChatCompletion,
    "anthropic-messages": BetaMessage,
    "gemini": GenerateContentResponse,
}
_NEWER = frozenset({"serviceTier"})
"""Fields of Gemini's usage that its package does not have yet."""


@cache
def check_chunk(front_id: str, text: str) -> None:
    """Raise for what the vendor's types do not have. Most responses begin and end alike."""
    chunk = json.loads(text)
    if front_id == "openai-responses":
        check_event(chunk)
    elif front_id in _CHUNKS:
        _CHUNKS[front_id].model_validate(_known(chunk))


def check_whole(front_id: str, whole: Any) -> None:
    """Raise for what the vendor's types do not have."""
    if front_id == "openai-responses":
        check_response(whole)
    else:
        _WHOLE[front_id].model_validate(_known(whole))


def _known(chunk: Mapping[str, Any]) -> dict[str, Any]:
    counts = {k: v for k, v in chunk.get("usageMetadata", {}).items() if k not in _NEWER}
    return {**chunk, **({"usageMetadata": counts} if counts else {})}


def written(front_id: str, events: Iterable[LLMEvent]) -> tuple[FrontWriter, list[Any]]:
    """Return the writer of a response, and the chunks of its stream as JSON."""
    numbers = count(1)
    upstream = upstream_of(front_id, new_id=lambda prefix: f"{prefix}_{next(numbers):024d}")
    front = front_by_id(front_id)
    info = ResponseIdentity(id=f"{front.id_prefix}_1", created_at=1, model="")
    writer = front.writer(info, front.no_request, upstream)
    made = [*writer.start()]
    for event in events:
        made += writer.feed(event)
    made += () if writer.ended else writer.close()
    return writer, [json.loads(json.dumps(one)) for one in made]


def check_answer(front_id: str, events: Sequence[LLMEvent]) -> None:
    """Raise unless the response that a front writes is a good one, streamed and whole."""
    front = front_by_id(front_id)
    writer, chunks = written(front_id, events)
    assert front.checker().violations(chunks) == []
    whole = None if writer.error is not None else json.loads(json.dumps(writer.whole()))
    for chunk in chunks:
        if "error" not in chunk:
            check_chunk(front_id, json.dumps(chunk))
    if whole is not None:
        check_whole(front_id, whole)

    encoding = front.encoding(ClientRequest(body={}, query={"alt": "sse"}))
    tail = encoding.tail if writer.error is None else b""
    body = b"".join(map(encoding.encode, chunks)) + tail
    streamed = collect(read(front_id, body, streaming=True))
    assert isinstance(streamed, Failure) == (writer.error is not None)
    if whole is not None and all(call.is_valid for call in collect(events).unwrap().tool_calls):
        single = collect(read(front_id, json.dumps(whole).encode(), streaming=False))
        assert _said(single.unwrap()) == _said(streamed.unwrap())


def _said(answer: LLMResponse) -> tuple[Any, ...]:
    """Return what a response says; in Chat, thoughts and texts have no common order."""
    texts: dict[type, str] = {}
    cited: list[str] = []
    for part in answer.message.content:
        if isinstance(part, TextPart | ReasoningPart):
            texts[type(part)] = texts.get(type(part), "") + part.text
        if isinstance(part, TextPart):
            cited += [f"{one.url} {one.start_index} {one.end_index}" for one in part.citations]
    calls = [(call.name, call.arguments) for call in answer.message.tool_calls]
    usage = answer.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
    return {k: v for k, v in texts.items() if v}, cited, calls, answer.finish_reason, counts


# -- of the types

Read: TypeAlias = tuple[tuple[str, Sequence[LLMEvent]], ...]
"""Responses, each by what it is of, and their events: all that a front sees of them."""


def different(answers: Iterable[tuple[str, Sequence[LLMEvent]]]) -> Read:
    """Return one of the responses with the same events."""
    return tuple({repr(events): (what, events) for what, events in answers}.values())


@cache
def declared_answers(protocol_id: str) -> Read:
    """Return the responses that the types of *protocol_id* declare."""
    bodies = map(json.dumps, answers(protocol_id))
    return different((body, read(protocol_id, body.encode(), streaming=False)) for body in bodies)


@pytest.mark.slow
@fronts
@pytest.mark.parametrize("protocol_id", PROTOCOL_IDS)
def test_a_response_of_any_declared_kind_is_one_in_every_front(
    protocol_id: str, front_id: str
) -> None:
    """Every content, every reason to end and every count, one at a time."""
    for body, events in declared_answers(protocol_id):
        try:
            check_answer(front_id, events)
        except Exception as error:
            raise AssertionError(body) from error


# -- lists of models


@pytest.mark.parametrize(
    ("front_id", "kind"),
    [
        ("openai-chat", openai_models.Model),
        ("openai-responses", openai_models.Model),
        ("anthropic-messages", ModelInfo),
        ("anthropic-messages", BetaModelInfo),
    ],
)
@pytest.mark.parametrize("limit", [None, 4096])
def test_a_listed_model_has_every_field_that_its_vendor_declares_as_required(
    front_id: str, kind: type[BaseModel], limit: int | None
) -> None:
    """The strict mode of the packages refuses a list without one."""
    model = ListedModel(id="m", owner="acme", max_input_tokens=limit, max_output_tokens=limit)
    made = dict(front_by_id(front_id).model(model))

    read = kind.model_validate(made)
    assert made.keys() - read.model_dump(by_alias=True).keys() <= {"max_model_len"}


# -- of streams

SAID = Said(text="It rains in both.", thinking="Two cities.", cities=("Oslo", "Rome"))
STREAMED: Mapping[str, Column] = {
    "openai-chat": COMPATIBLE,
    "openai-responses": OPENAI,
    "anthropic-messages": ANTHROPIC,
    "gemini": GEMINI,
}


def disturbed(column: Column) -> Iterable[tuple[str, bytes]]:
    """Yield streams in which one event is missing, comes twice, or comes before the one before."""
    whole = column.streamed(column.whole(SAID))
    frames = [one + b"\n\n" for one in whole.replace(b"\r\n", b"\n").split(b"\n\n") if one]
    for at, frame in enumerate(frames):
        if b'.delta"' in frame:
            continue  # its text comes again, as a whole
        before, after = frames[:at], frames[at + 1 :]
        yield f"without {frame!r}", b"".join([*before, *after])
        yield f"twice {frame!r}", b"".join([*before, frame, frame, *after])
        if before:
            yield f"early {frame!r}", b"".join([*before[:-1], frame, before[-1], *after])


@cache
def disturbed_answers(protocol_id: str) -> Read:
    """Return the disturbed streams of *protocol_id*."""
    bodies = disturbed(STREAMED[protocol_id])
    return different((what, read(protocol_id, body, streaming=True)) for what, body in bodies)


@pytest.mark.slow
@fronts
@pytest.mark.parametrize("protocol_id", list(STREAMED))
def test_a_stream_out_of_order_is_a_response_or_an_error_in_every_front(
    protocol_id: str, front_id: str
) -> None:
    """Nothing of it breaks the grammar of the front, or makes two responses of one."""
    for what, events in disturbed_answers(protocol_id):
        try:
            check_answer(front_id, events)
        except Exception as error:
            raise AssertionError(what) from error
