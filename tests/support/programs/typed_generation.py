"""A user's program: its types are stated, and checked by mypy and pyright in strict mode."""

# pyright: standard
# pyright: strict

import dataclasses
from typing import Any, TypedDict, assert_type

from llmcore import (
    LLMResponse,
    Tool,
    generate,
    generate_object,
    request,
    stream,
    stream_object,
    sync,
    tool,
)
from llmcore.schema.errors import NoObjectGeneratedError
from llmcore.schema.events import StepFinish, TextDelta


@dataclasses.dataclass
class Town:
    name: str


class PartialTown(TypedDict, total=False):
    name: str


@tool
async def look(city: str, *, days: int = 1) -> Town:
    """Look at the weather."""
    return Town(f"{city}{days}")


@tool(name="total", output=int)
def add(a: int, b: int) -> int:
    """Return the sum."""
    return a + b


def offered(more: Tool) -> list[Tool]:
    """Name the type of any tool without arguments."""
    return [look, add, more]


async def tools() -> None:
    assert_type(add(1, b=2), int)
    assert_type(await look("Rome"), Town)
    result = await generate("m", "Hi", tools=offered(add), max_tool_rounds=3)
    assert_type(result.output, None)
    await generate(request=request(model="m", prompt="Hi"), tools=[look, len])
    assert_type(result.response, LLMResponse)


async def objects() -> None:
    town = await generate_object("m", "Hi", schema=Town)
    assert_type(town.output, Town)
    towns = await generate_object("m", "Hi", schema=list[Town])
    assert_type(towns.output, list[Town])
    try:
        loose = await generate_object("m", "Hi", schema={"type": "object"})
        assert_type(loose.output, Any)
    except NoObjectGeneratedError as error:
        assert_type(error.response, LLMResponse)


async def streams() -> None:
    async with stream("m", "Hi", raw=True) as events:
        async for event in events:
            match event.type:
                case "text-delta":
                    assert_type(event, TextDelta)
                case _:
                    pass
            if event.type == "step-finish":
                assert_type(event, StepFinish)
        assert_type((await events.result()).output, None)
    arriving = stream_object("m", "Hi", schema=list[Town])
    async for town in arriving.element_stream:
        assert_type(town, Town)
    assert_type(await arriving.object(), list[Town])
    async for partial in stream_object("m", "Hi", schema=Town).typed_partials(PartialTown):
        assert_type(partial, PartialTown)
    async for plain in stream_object("m", "Hi", schema=Town):
        assert_type(plain, Any)
    assert_type(await stream_object("m", "Hi", schema=Town).object(), Town)


def blocking() -> None:
    assert_type(sync.generate("m", "Hi").output, None)
    assert_type(sync.generate_object("m", "Hi", schema=Town).output, Town)
    assert_type(sync.generate_object("m", "Hi", schema=list[Town | int]).output, list[Town | int])
    assert_type(sync.generate_object("m", "Hi", schema={"type": "object"}).output, Any)
    arriving = sync.stream_object("m", "Hi", schema=tuple[Town, ...])
    for town in arriving.element_stream:
        assert_type(town, Town)
    for partial in arriving.typed_partials(list[PartialTown]):
        assert_type(partial, list[PartialTown])
    assert_type(arriving.object(), tuple[Town, ...])
    assert_type(arriving.result().output, tuple[Town, ...])
