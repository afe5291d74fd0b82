"""`EventStream`: one reader at a time."""

import anyio
import pytest

from llmcore import Failure, Finish, LLMEvent, TextDelta, request
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit
from llmcore.schema.errors import AbortError, InvalidRequestError
from llmcore.schema.events import ErrorEvent
from llmcore.testing import Delay, FakeModel
from tests.support.waiting import pass_time, until

pytestmark = pytest.mark.anyio


async def test_a_second_reader_is_refused_while_the_first_one_waits() -> None:
    """The first one goes on as if nothing had happened."""
    fake = FakeModel(["first", Delay(600), " last"])
    seen: list[str] = []
    async with fake.client.stream(request(model=fake.model, prompt="?")) as events:

        async def read() -> None:
            seen.extend([event.text async for event in events if isinstance(event, TextDelta)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(InvalidRequestError, match="let it pass on what it reads"):
                await anext(events)
            pass_time(600)

    assert "".join(seen) == "first last"


async def test_readers_one_after_another_share_the_events() -> None:
    """An event that one reader has read is not given to the next."""
    fake = FakeModel("one two")
    async with fake.client.stream(request(model=fake.model, prompt="?")) as events:
        first = await anext(events)
        rest = [event async for event in events]

    assert first not in rest
    assert isinstance(rest[-1], Finish)


async def test_a_tapped_stream_gives_each_event_to_the_function_first() -> None:
    fake = FakeModel("one two")
    seen: list[LLMEvent] = []
    read: list[LLMEvent] = []
    async with fake.client.stream(request(model=fake.model, prompt="?")).tap(seen.append) as events:
        async for event in events:
            assert event in seen
            read.append(event)

    assert read == seen
    assert isinstance(read[-1], Finish)


async def test_a_cancelled_read_closes_the_stream_and_is_reported_by_the_next() -> None:
    """The place held for the call is free at once, and reading on does not look like the end."""
    limit = ConcurrencyLimit(1)
    fake = FakeModel(["first", Delay(60), " last"])
    client = fake.client.with_middleware(limit)
    events = client.stream(request(model=fake.model, prompt="?"))
    async with anyio.create_task_group() as group:

        async def read() -> None:
            async for _ in events:
                assert limit.running == 1

        group.start_soon(read)
        assert await until(lambda: events.partial_response.text == "first")
        group.cancel_scope.cancel()

    assert limit.running == 0
    last = await anext(events)
    assert isinstance(last, ErrorEvent)
    assert isinstance(last.error, AbortError)
    assert last.error.partial is not None
    assert last.error.partial.text == "first"
    assert [event async for event in events] == []
    assert isinstance(await events.result(), Failure)
