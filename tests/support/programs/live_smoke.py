"""Checks that must pass against the real API of any provider, as functions of a model.

Each raises AssertionError where it does not. They cost a few cents: `test_live_smoke.py` runs them
on demand, and always against scripted responses.
"""

import struct
import zlib
from typing import Final

import pytest

from llmcore import (
    Client,
    ImagePart,
    Message,
    Model,
    TextDelta,
    evolve,
    generate,
    generate_object,
    stream,
    tool,
)
from llmcore.schema.errors import NotFoundError

TURNS: Final = 5
LONG: Final = "You are a patient librarian. " + " ".join(
    f"Shelf {number} holds the books about subject {number}." for number in range(600)
)
"""Longer than what the providers cache at least (some 4,000 tokens)."""

PERSON: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


_SIDE = 64
RED_SQUARE: Final = b"".join(
    (
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress((b"\0" + b"\xff\0\0" * _SIDE) * _SIDE)),
        _chunk(b"IEND", b""),
    )
)
"""A picture that real providers take."""


@tool
async def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"72F and sunny in {city}"


async def basic_answer(model: Model, client: Client) -> None:
    """Check that there is a text, counted, that ends by itself."""
    result = await generate(model, "Say hello in one sentence.", max_tokens=2000, client=client)
    assert result.text
    assert (result.usage.input_tokens or 0) > 0
    assert (result.usage.output_tokens or 0) > 0
    assert result.finish_reason.reason == "stop"


async def streamed_answer(model: Model, client: Client) -> None:
    """Check that deltas add up to the text."""
    async with stream(model, "Write a haiku.", client=client) as events:
        texts = [event.text async for event in events if isinstance(event, TextDelta)]
    assert texts
    assert "".join(texts) == (await events.response()).text


async def parallel_tools(model: Model, client: Client) -> None:
    """Check that calls are run, and the response is made of their results."""
    result = await generate(
        model,
        "What is the weather in San Francisco and New York?",
        tools=[weather],
        max_tool_rounds=3,
        client=client,
    )
    assert len(result.steps) >= 2
    assert "San Francisco" in result.text
    assert "New York" in result.text


async def picture(model: Model, client: Client) -> None:
    """Check that a picture is answered."""
    image = ImagePart(data=RED_SQUARE, media_type="image/png")
    question = Message.user("What do you see?", image)
    assert (await generate(model, messages=[question], client=client)).text


async def structured_output(model: Model, client: Client) -> None:
    """Check that the object has the wanted shape."""
    result = await generate_object(
        model, "Extract: Alice is 30 years old", schema=PERSON, client=client
    )
    assert result.output == {"name": "Alice", "age": 30}


async def unknown_model(model: Model, client: Client) -> None:
    """Check that the error has the right class."""
    with pytest.raises(NotFoundError):
        await generate(evolve(model, id="nonexistent-model-xyz"), "test", client=client)


async def cached_conversation(model: Model, client: Client) -> None:
    """Check that more than half of the fifth turn's input is read from the cache."""
    messages: tuple[Message, ...] = ()
    for turn in range(TURNS):
        question = Message.user(f"Which subject is on shelf {turn * 7}? Answer with its number.")
        result = await generate(
            model, messages=[*messages, question], system=LONG, tools=[weather], client=client
        )
        messages = result.messages
    read, whole = result.usage.cache_read_tokens or 0, result.usage.input_tokens or 0
    assert read > whole / 2, f"{read} of {whole} input tokens were read from the cache"


CHECKS: Final = (
    basic_answer,
    streamed_answer,
    parallel_tools,
    picture,
    structured_output,
    unknown_model,
    cached_conversation,
)
