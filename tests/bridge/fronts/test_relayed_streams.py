"""Streams of an upstream of the same API pass without being read event by event."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from types import FrameType
from typing import Any, Final

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import wire
from llmcore.bridge.api import Caller, OperationRequest
from llmcore.bridge.apis.chat import ChatCompletions
from llmcore.bridge.apis.responses import Responses
from llmcore.bridge.configuration.reading import settings_of
from llmcore.bridge.generation import Generation
from llmcore.bridge.relay import RelayRun
from llmcore.bridge.response_run import ResponseRun, has_ended
from llmcore.bridge.service import Service
from llmcore.fronts import anthropic_messages, gemini
from llmcore.fronts.front import ClientRequest
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import NetworkError
from llmcore.schema.response import LLMResponse
from tests.support.opcodes import uncollected
from tests.support.strategies.examples import costly

_USER: Final = [{"role": "user", "content": "Hi"}]


@frozen
class Api:
    """One API: a provider that speaks it, and a request for a stream."""

    environ: Mapping[str, str]
    body: Mapping[str, Any]
    generation: Callable[[Service], Generation[Any]]
    path: str = ""


APIS: Final = {
    "chat": Api(
        {
            "OPENBRIDGE_UPSTREAM": "openai-compatible",
            "OPENBRIDGE_UPSTREAM_BASE_URL": "http://127.0.0.1:9/v1",
        },
        {"model": "m", "messages": _USER, "stream": True},
        ChatCompletions,
    ),
    "responses": Api(
        {"OPENBRIDGE_UPSTREAM": "openai", "OPENAI_API_KEY": "k"},
        {"model": "m", "input": "Hi", "store": False, "stream": True},
        Responses,
    ),
    "messages": Api(
        {"OPENBRIDGE_UPSTREAM": "anthropic", "ANTHROPIC_API_KEY": "k"},
        {"model": "m", "max_tokens": 9, "messages": _USER, "stream": True},
        lambda service: Generation(anthropic_messages.front, service, format_field=""),
    ),
    "gemini": Api(
        {"OPENBRIDGE_UPSTREAM": "google", "GEMINI_API_KEY": "k"},
        {"contents": [{"parts": [{"text": "Hi"}]}]},
        lambda service: Generation(gemini.front, service, format_field=""),
        "/v1beta/models/m:streamGenerateContent",
    ),
}
apis = pytest.mark.parametrize("api", APIS)
kinds = pytest.mark.parametrize("kind", wire.KINDS)


class _Streaming:
    """A transport with one response; *breaks* ends it by an error of the network."""

    def __init__(self, chunks: Sequence[bytes], *, breaks: bool = False) -> None:
        self._chunks = chunks
        self._breaks = breaks
        self.status = 200
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "_Streaming":
        """Answer at once."""
        return self

    def limit_reads(self, _seconds: float | None, /) -> bool:
        """Have no limits: nothing is waited for."""
        return True

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body."""
        for chunk in self._chunks:
            yield chunk
        if self._breaks:
            raise NetworkError("the connection broke")

    async def aclose(self) -> None:
        """Hold nothing."""


async def _made(
    api: str, transport: _Streaming, *, relay: bool = True
) -> tuple[Service, ResponseRun]:
    """Return a response of an upstream of the same API; or translated, of Chat Completions."""
    one = APIS[api]
    environ = {
        **(one if relay else APIS["chat"]).environ,
        "OPENBRIDGE_STATE_BACKEND": "memory",
        "OPENBRIDGE_RETRIES": "0",
        "OPENBRIDGE_RELAY": str(relay).lower(),
    }
    service = Service.from_settings(settings_of(environ, None), transport=transport)
    asked = ClientRequest(body=one.body, path=one.path, query={"alt": "sse"})
    call = OperationRequest(caller=Caller(owner="o", counted_as="o"), request=asked)
    run = await one.generation(service).generate(call)
    assert isinstance(run, RelayRun) == relay
    return service, run


async def _all_bytes(run: ResponseRun) -> bytes:
    pieces = []
    while data := await run.next_bytes():
        pieces.append(data)
    await run.aclose()
    return b"".join(pieces)


def _relayed(
    api: str, chunks: Sequence[bytes], *, breaks: bool = False
) -> tuple[bytes, ResponseRun]:
    """Return the bytes that a client gets of *chunks*, and the run."""

    async def relay() -> tuple[bytes, ResponseRun]:
        service, run = await _made(api, _Streaming(chunks, breaks=breaks))
        data = await _all_bytes(run)
        await service.aclose()
        return data, run

    return asyncio.run(relay())


def _cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    ends = sorted({place % len(data) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]


def _known(run: ResponseRun) -> tuple[LLMResponse, str]:
    (call,) = run.calls
    return call.response, call.outcome


@cache
def _in_full_and_by_frames(api: str, kind: str) -> tuple[LLMResponse, str]:
    """Return what is known of a stream that is read in full, and frame by frame alike."""
    frames = wire.stream(api, kind, 30)
    sent = b"".join(frames)
    _, in_full = _relayed(api, [sent])
    framed, by_frames = _relayed(api, frames)
    assert framed == sent
    assert _known(by_frames) == _known(in_full)
    return _known(in_full)


@apis
@kinds
@costly
@given(places=st.lists(st.integers(0, 20_000), max_size=30))
def test_any_cut_of_the_network_gives_the_same_bytes_and_the_same_metering(
    api: str, kind: str, places: list[int]
) -> None:
    """As frame by frame, and as read in full."""
    sent = b"".join(wire.stream(api, kind, 30))

    data, run = _relayed(api, _cut(sent, places))

    assert data == sent
    assert _known(run) == _in_full_and_by_frames(api, kind)
    response, outcome = _known(run)
    assert outcome == "completed"
    assert response.usage.output_tokens is not None


@apis
@costly
@given(place=st.integers(1, 20_000), size=st.integers(1, 400), breaks=st.booleans())
def test_a_stream_that_stops_anywhere_ends_in_an_error(
    api: str, place: int, size: int, breaks: bool
) -> None:
    """Of the client's own API, after whole frames alone; what was received is counted."""
    sent = b"".join(wire.stream(api, "text", 30))
    first = sent.index(wire.WORD.encode() + b'"')
    begun = first + sent[first:].index(b"data: ")
    last = sent.rindex({"chat": b'"stop"', "gemini": b'"STOP"'}.get(api, b"\n\nevent: "))
    cut = sent[: begun + place % (last - begun)]

    data, run = _relayed(api, _cut(cut, range(0, len(cut), size)), breaks=breaks)
    _, in_full = _relayed(api, [cut], breaks=breaks)

    blank = b"\r\n\r\n" if api == "gemini" else b"\n\n"
    whole = cut[: cut.rindex(blank) + len(blank)]
    assert data.startswith(whole)
    assert b'"error"' in data[len(whole) :]
    assert _known(run) == (_known(in_full)[0], "failed")
    assert type(run.error) is type(in_full.error)


@apis
def test_the_text_that_a_client_left_in_the_middle_of_is_counted(api: str) -> None:
    """Its tokens are estimated, as of every response that did not end."""
    frames = wire.stream(api, "text", 60)

    async def leave() -> LLMResponse:
        service, run = await _made(api, _Streaming(frames))
        seen = 0
        while seen < 40:
            seen += (await run.next_bytes()).count(wire.WORD.encode())
        await run.aclose()
        await service.aclose()
        response, outcome = _known(run)
        assert outcome == "cancelled"
        return response

    response = asyncio.run(leave())

    assert response.text == wire.WORD * 40
    assert response.usage.estimated


@apis
def test_the_first_delta_of_a_stream_is_sent_before_what_came_with_it_is_read(api: str) -> None:
    """All text that was received is counted also if the client leaves then."""
    frames = wire.stream(api, "text", 30)

    async def leave() -> tuple[bytes, LLMResponse]:
        service, run = await _made(api, _Streaming([b"".join(frames)]))
        first = await run.next_bytes()
        assert not has_ended(run)
        await run.aclose()
        await service.aclose()
        return first, _known(run)[0]

    first, response = asyncio.run(leave())
    _, read_on = _relayed(api, [b"".join(frames)])

    assert first in accumulate(frames)
    assert len(first) < len(b"".join(frames[:9]))
    assert response.message == _known(read_on)[0].message


def test_a_response_larger_than_the_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that pass unread count, too."""
    frames = wire.stream("messages", "text", 400)
    made = RelayRun.__init__

    def limited(self: RelayRun, *arguments: Any) -> None:
        made(self, *arguments)
        self._copy._max_bytes = 20_000

    monkeypatch.setattr(RelayRun, "__init__", limited)
    data, run = _relayed("messages", frames)

    assert len(data) < 21_000
    assert "larger than 20000 bytes" in str(run.error)


def _calls(api: str, events: int, per_chunk: int, *, relay: bool) -> int:
    """Return how many Python functions a stream of so many *events* calls."""
    frames = wire.stream(api if relay else "chat", "text", events)
    chunks = [b"".join(frames[at : at + per_chunk]) for at in range(0, len(frames), per_chunk)]
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    async def read() -> None:
        service, run = await _made(api, _Streaming(chunks), relay=relay)
        with uncollected():
            sys.setprofile(note)
            try:
                await _all_bytes(run)
            finally:
                sys.setprofile(None)
        await service.aclose()

    asyncio.run(read())
    return count


@apis
@pytest.mark.parametrize("per_chunk", [1, 8])
def test_a_relayed_event_costs_a_third_of_a_translated_one(api: str, per_chunk: int) -> None:
    """In calls of functions, which no other work on the machine changes."""

    def per_event(*, relay: bool) -> float:
        few, many = (_calls(api, events, per_chunk, relay=relay) for events in (80, 240))
        return (many - few) / 160

    assert 0 < per_event(relay=True) <= per_event(relay=False) / 3
