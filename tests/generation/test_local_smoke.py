"""The public functions and a real model: the embedded one, started once for the module.

What it says is its own affair; these tests look at types, structure and numbers.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import anyio
import pytest
from attrs import frozen

from llmcore import (
    Client,
    Finish,
    Local,
    Message,
    RequestTimeoutError,
    TextDelta,
    generate,
    generate_object,
    stream,
    tool,
)
from llmcore.folds.grammar import violations
from llmcore.generation.abort import AbortController
from llmcore.routes.endpoint import Endpoint
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import AbortError, NotFoundError
from llmcore.schema.events import StreamStart, ToolResult
from tests.support.servers.local_scenes import EXAMPLE

pytestmark = [pytest.mark.anyio, pytest.mark.local_model]

LOCAL: Final = Local.configure()
MODEL: Final = LOCAL.model()
SHORT: Final[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 12}
ENDLESS: Final[dict[str, Any]] = {
    "temperature": 0.0,
    "max_tokens": 3000,
    "provider_options": {"local": {"ignore_eos": True}},
}
"""A response that would take minutes."""

PRACTICE: Final = (
    *EXAMPLE,
    Message.user("What are the weather and the time in Lima?"),
    Message.assistant(
        ToolCallPart("call_3", "get_weather", {"city": "Lima"}),
        ToolCallPart("call_4", "get_time", {"city": "Lima"}),
    ),
    Message.tool("call_3", "20 degrees, foggy"),
    Message.tool("call_4", "09:30"),
    Message.assistant("It is 20 degrees and foggy in Lima, and the time is 09:30."),
)
"""Seen twice, the pattern is so likely that no rounding of another processor changes it."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """One client, and so one server, for both event loops."""
    pytest.importorskip("xllamacpp")
    made = Client()
    yield made
    anyio.run(made.aclose)


@frozen
class Answer:
    yes: bool
    because: int


async def test_generate_returns_text_within_the_token_limit(client: Client) -> None:
    """Text, its end, and as many tokens as were allowed at most."""
    result = await generate(MODEL, "Say hello.", client=client, **SHORT)

    assert result.text
    assert result.finish_reason.reason in ("stop", "length")
    assert result.usage.input_tokens
    assert result.usage.output_tokens
    assert 0 < result.usage.output_tokens <= 12
    assert result.response.provider == "local"
    assert result.steps[0].requests == 1


async def test_streamed_deltas_add_up_to_the_text(client: Client) -> None:
    """Deltas that add up to the text, between one start and one end."""
    async with stream(MODEL, "Count to ten.", client=client, **SHORT) as running:
        events = [event async for event in running]
        response = await running.response()

    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 1
    assert "".join(deltas) == response.text
    assert isinstance(events[0], StreamStart)
    assert isinstance(events[-1], Finish)
    assert violations(events) == []


async def test_two_calls_of_one_response_run_in_parallel(client: Client) -> None:
    """Two calls in one response run at once; the model answers with their results before it."""
    both = anyio.Event()
    running: list[str] = []

    async def meet(name: str, city: str) -> None:
        running.append(name)
        if len(running) == 2:
            both.set()
        with anyio.fail_after(30):
            await both.wait()
        assert city == "Oslo"

    @tool
    async def get_weather(city: str) -> str:
        """Get the current weather in a city."""
        await meet("get_weather", city)
        return "3 degrees, snow"

    @tool
    async def get_time(city: str) -> str:
        """Get the local time in a city."""
        await meet("get_time", city)
        return "15:30"

    asked = Message.user("What are the weather and the time in Oslo?")
    async with stream(
        MODEL,
        messages=[*PRACTICE, asked],
        tools=[get_weather, get_time],
        temperature=0.0,
        max_tokens=80,
        client=client,
    ) as read:
        events = [event async for event in read]
        result = await read.result()

    first, last = result.steps
    assert [call.name for call in first.tool_calls] == ["get_weather", "get_time"]
    assert [one.content for one in first.tool_results] == ["3 degrees, snow", "15:30"]
    assert first.finish_reason.reason == "tool_calls"
    assert sum(isinstance(event, ToolResult) for event in events) == 2
    assert violations(events) == []
    assert last.text
    assert last.usage.input_tokens is not None
    assert first.usage.input_tokens is not None
    assert last.usage.input_tokens > first.usage.input_tokens


async def test_generate_object_enforces_the_schema(client: Client) -> None:
    """The model is held to the schema, and the response comes back as the type."""
    result = await generate_object(
        MODEL, "Is water wet?", schema=Answer, temperature=0.0, max_tokens=60, client=client
    )

    assert isinstance(result.output, Answer)
    assert isinstance(result.output.yes, bool)
    assert isinstance(result.output.because, int)


async def test_what_is_not_there(client: Client) -> None:
    """A path that the server does not have is a NotFoundError, at once."""
    nowhere = LOCAL.chat_route.with_(
        endpoint=Endpoint.path("/nowhere", base_url="http://local/v1")
    ).model("smollm2")

    with pytest.raises(NotFoundError) as caught:
        await generate(nowhere, "Hello?", client=client)

    assert caught.value.status_code == 404
    assert caught.value.provider == "local"
    assert not caught.value.retryable


async def test_abort_in_the_middle(client: Client) -> None:
    """From another thread; what had come is kept, and the server is free for the next call."""
    controller = AbortController()
    text: list[str] = []
    with anyio.fail_after(60), pytest.raises(AbortError) as caught:  # noqa: PT012  (the loop raises)
        async with stream(
            MODEL, "Tell a story.", client=client, abort_signal=controller.signal, **ENDLESS
        ) as running:
            async for event in running:
                if isinstance(event, TextDelta):
                    text.append(event.text)
                    if len(text) == 3:
                        threading.Thread(target=controller.abort, args=["enough"]).start()
    after = await generate(MODEL, "Say hello.", client=client, **SHORT)

    assert caught.value.message == "enough"
    assert caught.value.partial is not None
    assert caught.value.partial.text.startswith("".join(text[:3]))
    assert after.text


@pytest.mark.parametrize("streamed", [False, True], ids=["generate", "stream"])
async def test_timeout_of_a_run_frees_the_server(client: Client, streamed: bool) -> None:
    """The time of the whole run is a limit, and the server is free afterwards."""
    given: dict[str, Any] = {"prompt": "Tell a story.", "client": client, "timeout": 0.8, **ENDLESS}
    with anyio.fail_after(60), pytest.raises(RequestTimeoutError) as caught:
        await (stream(MODEL, **given).result() if streamed else generate(MODEL, **given))
    after = await generate(MODEL, "Say hello.", client=client, **SHORT)

    assert caught.value.error_code == "total"
    assert after.text


async def test_stream_left_early_frees_the_server(client: Client) -> None:
    """A caller that has enough goes, and the server is free for the next call."""
    async with stream(MODEL, "Tell a story.", client=client, **ENDLESS) as running:
        async for text in running.text_stream:
            if text:
                break
    with suppress(AbortError):
        await running.result()
    with anyio.fail_after(60):
        after = await generate(MODEL, "Say hello.", client=client, **SHORT)

    assert after.text
