"""The ways in which a stream begins, goes on and ends, for the soak."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
from attrs import frozen

from llmcore import (
    Client,
    LLMError,
    Model,
    OpenAICompatible,
    RetryPolicy,
    Timeouts,
    generate,
    request,
    stream,
    tool,
)
from llmcore.generation.abort import AbortController

_QUICK: Final = RetryPolicy(max_retries=30, base_delay=0.001)
"""The server is busy for every other request of any scenario: one of them can meet it often."""
_ONCE: Final = RetryPolicy(max_retries=0)


@frozen
class Site:
    """What a scenario works with."""

    client: Client
    url: str
    rng: random.Random

    def model(self, mode: str) -> Model:
        """Return the model of a server that behaves like *mode*."""
        provider = OpenAICompatible(name="soak", api_key="k", base_url=f"{self.url}/{mode}")
        return provider.model("m")

    def given(self, mode: str, **settings: Any) -> dict[str, Any]:
        """Return the arguments of `generate` and `stream`."""
        policy = {"retry_policy": _ONCE, **settings}
        return {"model": self.model(mode), "prompt": "Hi", "client": self.client, **policy}


@tool
async def weather(city: str) -> str:
    """Tell the weather in a city."""
    await anyio.lowlevel.checkpoint()
    return f"sunny in {city}"


@tool
def time_of_day(city: str) -> str:
    """Tell the time in a city."""
    return f"noon in {city}"


async def finished(site: Site) -> None:
    async for _ in stream(**site.given("text")):
        pass


async def generated(site: Site) -> None:
    await generate(**site.given("text"))


async def whole(site: Site) -> None:
    await site.client.complete(request(model=site.model("text"), prompt="Hi"))


async def with_tools(site: Site) -> None:
    async with stream(**site.given("tools", tools=[weather, time_of_day])) as events:
        result = await events.result()
    assert [one.content for one in result.steps[0].tool_results] == ["sunny in A", "noon in A"]


async def retried(site: Site) -> None:
    await generate(**site.given("busy", retry_policy=_QUICK))


async def lingering(site: Site) -> None:
    await stream(**site.given("lingering")).result()


async def refused(site: Site) -> None:
    await generate(**site.given("wrong"))


async def cut(site: Site) -> None:
    await stream(**site.given("cut")).result()


async def garbled(site: Site) -> None:
    await stream(**site.given("garbage")).result()


async def failing(site: Site) -> None:
    await stream(**site.given("failing")).result()


async def stalled(site: Site) -> None:
    await stream(**site.given("silent", timeout=Timeouts(idle=0.05))).result()


async def mute(site: Site) -> None:
    await generate(**site.given("mute", timeout=Timeouts(first_event=0.05)))


async def out_of_time(site: Site) -> None:
    await generate(**site.given("slow", timeout=site.rng.uniform(0.005, 0.1)))


async def left(site: Site) -> None:
    count = site.rng.randrange(10)
    async with stream(**site.given("slow")) as events:
        async for _ in events:
            count -= 1
            if count < 0:
                break


async def closed(site: Site) -> None:
    async with anyio.create_task_group() as group:
        events = site.client.stream(request(model=site.model("slow"), prompt="Hi"))
        group.start_soon(events.result)
        await anyio.sleep(site.rng.uniform(0, 0.05))
        await events.aclose()


async def cancelled(site: Site) -> None:
    mode = site.rng.choice(["slow", "silent", "mute"])
    with anyio.move_on_after(site.rng.uniform(0, 0.05)):
        await generate(**site.given(mode))


async def aborted(site: Site) -> None:
    controller = AbortController()
    count = site.rng.randrange(10)
    async for _ in stream(**site.given("slow", abort_signal=controller.signal)):
        count -= 1
        if count < 0:
            controller.abort()


async def aborted_by_a_thread(site: Site) -> None:
    controller = AbortController()

    async def abort_later() -> None:
        await anyio.sleep(site.rng.uniform(0, 0.05))
        await anyio.to_thread.run_sync(controller.abort)

    async with anyio.create_task_group() as group:
        group.start_soon(abort_later)
        try:
            await generate(**site.given("silent", abort_signal=controller.signal))
        except LLMError as error:
            kept = error
    raise kept


async def dropped(site: Site) -> None:
    events = site.client.stream(request(model=site.model("slow"), prompt="Hi"))
    await anext(events)


async def never_read(site: Site) -> None:
    stream(**site.given("text"))
    await stream(**site.given("text")).aclose()


async def by_a_new_client(site: Site) -> None:
    async with Client() as client:
        await generate(**{**site.given("text"), "client": client})


Scenario = Callable[[Site], Awaitable[None]]

SCENARIOS: Final[Mapping[Scenario, tuple[str, ...]]] = {
    finished: ("ok",),
    generated: ("ok",),
    whole: ("ok",),
    with_tools: ("ok",),
    retried: ("ok",),
    lingering: ("ok",),
    refused: ("AuthenticationError",),
    cut: ("NetworkError", "StreamError"),
    garbled: ("StreamError",),
    failing: ("OverloadedError",),
    stalled: ("RequestTimeoutError",),
    mute: ("RequestTimeoutError",),
    out_of_time: ("RequestTimeoutError",),
    left: ("ok",),
    closed: ("ok",),
    cancelled: ("ok",),
    aborted: ("AbortError",),
    aborted_by_a_thread: ("AbortError",),
    dropped: ("ok",),
    never_read: ("ok",),
    by_a_new_client: ("ok",),
}
"""How each has to end: well, or with one of these errors."""
