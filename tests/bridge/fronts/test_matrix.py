"""Every front in front of every upstream protocol, read by the vendors' own clients."""

from typing import Any

import pytest

from tests.support.servers.front_gateways import ASKERS, ERRORS, WEATHER, gateway
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.matrix import COLUMNS, Column, Counts, Refused, Said, playing

FINISHED = {
    "openai-responses": ("completed", "completed"),
    "openai-chat": ("stop", "tool_calls"),
    "anthropic-messages": ("end_turn", "tool_use"),
    "gemini": ("STOP", "STOP"),
}
"""How a response ends: a text, and calls."""

fronts = pytest.mark.parametrize("front", list(ASKERS))
columns = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.id)
relaying = pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])


@relaying
@columns
@fronts
def test_a_text_is_the_same_streamed_and_whole(front: str, column: Column, relay: bool) -> None:
    """Its words, how it ended, and its tokens, the cached ones included."""
    said = Said(text="Grüße aus Bergen 🙂, it rains.", counts=Counts(read=8))
    with playing(column, said) as scene, gateway(scene.model, relay=relay) as url:
        streamed = ASKERS[front](url, "Hello", stream=True)
        whole = ASKERS[front](url, "Hello", stream=False)

    assert streamed == whole
    assert whole.text == said.text
    assert whole.finish == FINISHED[front][0]
    assert (whole.input_tokens, whole.output_tokens) == (said.counts.input, said.counts.output)


@relaying
@columns
@fronts
def test_parallel_calls_arrive_complete(front: str, column: Column, relay: bool) -> None:
    """Three calls with their arguments, in order, after a text."""
    said = Said(text="Let me see.", cities=("Bergen", "Oslo", "Ås"))
    with playing(column, said) as scene, gateway(scene.model, relay=relay) as url:
        streamed = ASKERS[front](url, "Hello", stream=True, **WEATHER[front])
        whole = ASKERS[front](url, "Hello", stream=False, **WEATHER[front])

    assert streamed == whole
    assert whole.calls == tuple(("weather", {"city": city}) for city in said.cities)
    assert whole.finish == FINISHED[front][1]


@columns
@fronts
def test_thinking_stays_out_of_the_text(front: str, column: Column) -> None:
    """Its tokens count as output in every API."""
    said = Said(text="Rain.", thinking="Hm, the coast.", counts=Counts(thinking=4))
    with playing(column, said) as scene, gateway(scene.model, relay=False) as url:
        streamed = ASKERS[front](url, "Hello", stream=True)
        whole = ASKERS[front](url, "Hello", stream=False)

    assert streamed == whole
    assert whole.text == said.text
    assert whole.output_tokens == said.counts.output


@relaying
@columns
@fronts
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_an_error_before_the_response_keeps_its_status(
    front: str, column: Column, relay: bool, stream: bool
) -> None:
    """And the upstream's words, in the exception of the vendor's client."""
    with (
        playing(column, Refused(status=429)) as scene,
        gateway(scene.model, relay=relay) as url,
        pytest.raises(ERRORS[front]) as caught,
    ):
        ASKERS[front](url, "Hello", stream=stream)

    error: Any = caught.value
    assert getattr(error, "status_code", None) or error.code == 429


@relaying
@columns
@fronts
def test_a_stream_that_breaks_off_is_an_error(front: str, column: Column, relay: bool) -> None:
    """Never a response that seems complete."""
    whole = column.streamed(column.whole(Said(text="It rains in Bergen, as it always does.")))

    def broken(_received: Received) -> Answer:
        half = whole[: len(whole) * 6 // 10]
        return Answer([half], headers={"content-type": column.stream_type})

    with (
        serve(broken) as server,
        gateway(column.model_at(server.url), relay=relay) as url,
        pytest.raises(ERRORS[front]),
    ):
        ASKERS[front](url, "Hello", stream=True)


@columns
@fronts
@pytest.mark.parametrize(
    "body", [b"", b"{}", b"<html>oops</html>"], ids=["nothing", "empty object", "web page"]
)
def test_a_success_without_a_response_is_an_error(front: str, column: Column, body: bytes) -> None:
    """Streamed and whole: an upstream that answers 200 with nothing has failed."""

    def empty(_received: Received) -> Answer:
        kind = "text/html" if body.startswith(b"<") else "application/json"
        return Answer([body], headers={"content-type": kind}, length=len(body))

    with serve(empty) as server, gateway(column.model_at(server.url)) as url:
        for stream in (True, False):
            with pytest.raises(ERRORS[front]):
                ASKERS[front](url, "Hello", stream=stream)
