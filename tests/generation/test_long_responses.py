"""Responses that take minutes, on a clock that jumps."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from llmcore import Anthropic, Client, Model, OpenAICompatible, Timeouts, generate, request, stream
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts as Limits
from tests.support.servers.loopback import chat_chunk, chat_stream, chat_whole
from tests.support.wire import anthropic as anthropic_wire

LONG = 64_000
WORDS = ["words "] * 5


def in_virtual_time(test: Callable[[], Any]) -> float:
    """Run *test* on trio with a clock that jumps to the next thing to do; return its seconds."""
    clock = MockClock(autojump_threshold=0)
    anyio.run(test, backend="trio", backend_options={"clock": clock})
    return float(clock.current_time())


class Slow:
    """A transport whose every piece takes a minute and a half."""

    pause_s = 90.0

    def __init__(self, *pieces: bytes, streamed: bool = True) -> None:
        self.pieces = pieces
        self.requests: list[HttpRequest] = []
        self.status = 200
        kind = "text/event-stream" if streamed else "application/json"
        self.headers: Mapping[str, str] = {"content-type": kind}

    async def send(self, sent: HttpRequest, timeouts: Limits) -> "Slow":
        assert timeouts
        self.requests.append(sent)
        await anyio.sleep(self.pause_s)
        return self

    def limit_reads(self, _seconds: float | None) -> bool:
        return False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for piece in self.pieces:
            await anyio.sleep(self.pause_s)
            yield piece

    async def aclose(self) -> None:
        """Hold nothing."""


def chat() -> Model:
    return OpenAICompatible.configure(name="any", base_url="https://x", api_key="k").model("m-1")


def streamed_pieces() -> list[bytes]:
    return [piece for piece in chat_stream(WORDS) if isinstance(piece, bytes)]


@pytest.mark.parametrize("live", [False, True], ids=["generate", "stream"])
def test_a_long_response_is_waited_for(live: bool) -> None:
    """Without a setting, and without the caller choosing to stream: one request, which streams."""
    transport = Slow(*streamed_pieces())

    async def run() -> None:
        given: dict[str, Any] = {"max_tokens": LONG, "client": Client(transport=transport)}
        result = await (
            stream(chat(), "Tell all.", **given).result()
            if live
            else generate(chat(), "Tell all.", **given)
        )
        assert result.text == "".join(WORDS)

    assert in_virtual_time(run) > 5 * transport.pause_s
    assert len(transport.requests) == 1
    assert b'"stream":true' in transport.requests[0].body


def test_a_response_in_one_piece_may_take_minutes() -> None:
    """The server may think before its first byte."""
    transport = Slow(chat_whole("Done."), streamed=False)

    async def run() -> None:
        async with Client(transport=transport) as client:
            response = await client.complete(request(model=chat(), prompt="Tell all."))
        assert response.text == "Done."

    assert in_virtual_time(run) >= 2 * transport.pause_s


def test_a_provider_that_refuses_long_responses_in_one_piece_is_asked_to_stream() -> None:
    """Assembled, the response is the same as in one piece."""
    document = anthropic_wire.message(anthropic_wire.text("Very long."))
    events = anthropic_wire.stream_of(document)
    transport = Slow(*[anthropic_wire.sse([event]) for event in events])
    model = Anthropic.configure(api_key="k").model("claude-opus-4-6")

    async def run() -> None:
        client = Client(transport=transport)
        result = await generate(model, "Tell all.", max_tokens=LONG, client=client)
        assert result.text == "Very long."
        assert result.finish_reason.reason == "stop"

    in_virtual_time(run)
    assert b'"max_tokens":64000' in transport.requests[0].body
    assert b'"stream":true' in transport.requests[0].body


def test_pauses_of_seconds_are_compared_with_limits_in_seconds() -> None:
    """Pauses of 90 of them are within a limit of 1000, and not within one of 80."""
    outcomes: list[str] = []

    async def run() -> None:
        for idle in (1000.0, 80.0):
            transport = Slow(chat_chunk(delta={"content": "a"}), *streamed_pieces())
            limits = Timeouts(first_event=1000.0, idle=idle)
            async with Client(transport=transport, timeouts=limits) as client:
                asked = request(model=chat(), prompt="Hi")
                outcome = await client.stream(asked).result()
            outcomes.append(type(outcome).__name__)

    in_virtual_time(run)
    assert outcomes == ["Success", "Failure"]
