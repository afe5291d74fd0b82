"""The official client's request types accept every body we build, and it reads what we read."""

import json
from collections.abc import Iterable
from typing import Any

import httpx2
import openai
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import completion_create_params as params

from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import OPENAI
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from llmcore.schema.errors import LLMError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Failure
from tests.support.strategies.values import requests
from tests.support.wire.chat import (
    body,
    call,
    calls_chunks,
    chunk,
    sse,
    streamed,
    text_chunks,
    usage_chunk,
)
from tests.support.wire.protocol import response
from tests.support.wire.vendor_types import misfits


def _wrong(sent: Any, *, stream: bool = False) -> list[str]:
    declared = (
        params.CompletionCreateParamsStreaming
        if stream
        else params.CompletionCreateParamsNonStreaming
    )
    return misfits(sent, declared)


@pytest.mark.parametrize(
    "broken",
    [
        {"model": "m"},
        {"model": "m", "messages": [{"role": "user"}]},
        {"model": "m", "messages": [{"role": "bot", "content": "a"}]},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"model": "m", "messages": [], "temperature": "hot"},
        {"model": "m", "messages": [], "later": 1},
        {"model": "m", "messages": [], "tools": [{"type": "function"}]},
    ],
)
def test_the_check_finds_what_is_wrong(broken: dict[str, Any]) -> None:
    """A check that accepts everything would show nothing."""
    assert _wrong(broken)


_MODEL = Model("gpt-4.1", "openai")


def _all_parts() -> LLMRequest:
    said: list[ContentPart] = [
        TextPart("a"),
        ImagePart(url="https://a.example/b.png", detail="high"),
        AudioPart(data=b"RIFF\x00\x00\x00\x00WAVEfmt "),
        DocumentPart(data=b"%PDF-1.7", name="a.pdf"),
        DocumentPart(file_id="file-1"),
    ]
    answered: list[ContentPart] = [
        ReasoningPart("Hm."),
        TextPart("b"),
        RefusalPart("No."),
        ToolCallPart("x", "one", {"a": 1}),
        ToolCallPart("y", "sh", "ls", kind="custom"),
        AudioPart(file_id="audio_1"),
    ]
    return request(
        model=_MODEL,
        system=["Be brief.", "Be kind."],
        messages=[
            Message.developer("Rules."),
            Message.user(said, name="ann"),
            Message.assistant(answered),
            Message.tool("x", ("see", ImagePart(data=b"\x89PNG\r\n\x1a\n"))),
            Message.tool("y", {"a": [1]}),
        ],
    )


@pytest.mark.parametrize("stream", [True, False])
def test_every_kind_of_part_fits(stream: bool) -> None:
    """Whatever a conversation can hold."""
    assert _wrong(body(_all_parts(), stream=stream), stream=stream) == []


@given(requests(), st.booleans())
def test_body_of_any_request_fits_the_official_type(asked: LLMRequest, stream: bool) -> None:
    """Any request gives a body of the official type, or a typed error; never an exception."""
    own = evolve(asked, model=_MODEL, provider=None, provider_options={})
    built = openai_chat.make(OPENAI).body.build(own, stream)

    if isinstance(built, Failure):
        assert isinstance(built.error, LLMError)
        return
    sent = built.value.body
    wrong = [line for line in _wrong(sent, stream=stream) if not _free_text(line)]
    assert wrong == []
    assert json.loads(json.dumps(sent)) == sent
    assert openai_chat.make(OPENAI).body.build(own, stream).unwrap().body == sent


def _free_text(line: str) -> bool:
    """Return whether the words are the caller's own, which no conversion may judge."""
    return line.startswith(("body.reasoning_effort", "body.prompt_cache_retention"))


# -- the official client, on recorded-like bytes


def _client(answer: bytes, seen: list[Any]) -> openai.OpenAI:
    def handle(sent: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(sent.content))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=answer)

    return openai.OpenAI(
        api_key="test",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(handle)),
    )


STREAMS: dict[str, list[Any]] = {
    "text": [*text_chunks("Hel", "lo"), usage_chunk()],
    "parallel calls": [
        *calls_chunks(
            call(0, id="a", type="function", name="one", arguments=""),
            call(0, arguments='{"a":'),
            call(0, arguments="1}"),
            call(1, id="b", type="function", name="two", arguments=""),
            call(1, arguments="{}"),
        ),
        usage_chunk(),
    ],
    "length": [chunk({"content": "Hel"}), chunk({}, "length"), usage_chunk()],
}


@pytest.mark.parametrize("chunks", STREAMS.values(), ids=STREAMS.keys())
def test_the_official_client_reads_the_same(chunks: list[Any]) -> None:
    """It sends our body unchanged, and the same bytes give it the same response."""
    seen: list[Any] = []
    sent = body(_all_parts(), stream=True)
    client = _client(sse(chunks), seen)

    theirs = _accumulated(client.chat.completions.create(**sent))
    ours = response(streamed(chunks))

    client.close()
    assert seen == [sent]
    assert theirs == {
        "text": ours.text,
        "calls": [(c.id, c.name, c.arguments) for c in ours.tool_calls],
        "finish": ours.finish_reason.raw,
        "total": ours.usage.total_tokens if ours.usage else None,
    }


def _accumulated(chunks: Iterable[Any]) -> dict[str, Any]:
    """Put the client's chunks together as its documentation shows."""
    text, finish, total = "", None, None
    calls: dict[int, list[str]] = {}
    for one in chunks:
        total = one.usage.total_tokens if one.usage else total
        for choice in one.choices:
            finish = choice.finish_reason or finish
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                slot = calls.setdefault(piece.index, ["", "", ""])
                slot[0] += piece.id or ""
                slot[1] += piece.function.name or ""
                slot[2] += piece.function.arguments or ""
    return {
        "text": text,
        "calls": [(id_, name, json.loads(args)) for id_, name, args in calls.values()],
        "finish": finish,
        "total": total,
    }
