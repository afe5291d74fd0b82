"""The blocking functions and client, over a real server on loopback."""

import asyncio
import contextvars
import inspect
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
from attrs import frozen

import llmcore
from llmcore import (
    ConfigurationError,
    Finish,
    InvalidRequestError,
    LLMError,
    LLMEvent,
    Model,
    RateLimitError,
    RetryPolicy,
    request,
    sync,
)
from llmcore.schema.errors import NoObjectGeneratedError, NotFoundError
from llmcore.schema.events import ErrorEvent, ToolResult
from llmcore.schema.result import Failure, Success
from tests.support.servers.loopback import Answer, Loopback, chat_chunk, chat_handler, serve
from tests.support.waiting import PATIENCE_S
from tests.support.wire.generation import SSE, calls_of, client_of, model_at, text_of


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


@pytest.fixture
def model(server: Loopback) -> Model:
    return model_at(server.url)


def answering(server: Loopback, *scripts: Any) -> None:
    """Have *server* answer with each of *scripts* once, and with the last one without a limit."""
    left = list(scripts)
    server.handler = lambda _: Answer(left.pop(0) if len(left) > 1 else left[0], headers=SSE)


def eventually(condition: Any, seconds: float = PATIENCE_S) -> bool:
    """Wait at most *seconds* for *condition*."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.01)
    return bool(condition())


# -- what the asynchronous ones do, too


def test_generate_returns_the_response(model: Model) -> None:
    """The same value that the asynchronous function gives."""
    result = sync.generate(model, "Hi", system="Be brief.")

    assert result.text == "Hello"
    assert result.usage.total_tokens == 5
    assert result.messages[-1].role == "assistant"


def test_stream_gives_events_and_then_the_result(model: Model) -> None:
    """In a `with` block."""
    with sync.stream(model, "Hi") as events:
        seen = list(events)

        assert isinstance(seen[-1], Finish)
        assert events.result().text == "Hello"
        assert events.response().text == "Hello"
        assert events.partial_response is not None
        assert [step.text for step in events.steps] == ["Hello"]
        assert events.messages[-1].text == "Hello"


def test_text_stream_gives_the_text(model: Model) -> None:
    """Also without a `with` block."""
    assert list(sync.stream(model, "Hi").text_stream) == ["Hel", "lo"]


def test_tools_run_and_their_results_are_streamed(server: Loopback, model: Model) -> None:
    """Asynchronous and plain ones, at once."""
    answering(server, calls_of(("a", "plain", {}), ("b", "waiting", {})), text_of("Done"))

    def plain() -> str:
        """Return a plain response."""
        return "1"

    async def waiting() -> str:
        """Answer later."""
        await asyncio.sleep(0)
        return "2"

    with sync.stream(model, "Hi", tools=[plain, waiting]) as events:
        results = {e.tool_call_id: e.content for e in events if isinstance(e, ToolResult)}

        assert set(results) == {"a", "b"}
        assert events.result().text == "Done"


@frozen
class City:
    """A city."""

    name: str
    people: int


@frozen
class CitySoFar:
    """A city, as far as it has arrived."""

    name: str = ""
    people: int | None = None


def test_objects_come_whole_or_as_growing_partials(server: Loopback, model: Model) -> None:
    """Whole ones, and partial ones that grow."""
    answering(server, text_of('{"name": "Ur', 'uk", "peo', 'ple": 40000}'))

    assert sync.generate_object(model, "Hi", schema=City).output == City("Uruk", 40000)
    with sync.stream_object(model, "Hi", schema=City) as arriving:
        partials = list(arriving)
        assert partials[-1] == {"name": "Uruk", "people": 40000}
        assert len(partials) > 1
        assert arriving.object() == City("Uruk", 40000)
        assert arriving.result().output == City("Uruk", 40000)


def test_partial_objects_are_typed(server: Loopback, model: Model) -> None:
    answering(server, text_of('{"name": "Ur', 'uk", "peo', 'ple": 40000}'))

    with sync.stream_object(model, "Hi", schema=City) as arriving:
        partials = list(arriving.typed_partials(CitySoFar))
        assert arriving.object() == City("Uruk", 40000)
    assert partials[0] == CitySoFar("Ur")
    assert partials[-1] == CitySoFar("Uruk", 40000)


def test_elements_of_an_array(server: Loopback, model: Model) -> None:
    """One by one, while the events can be read as well."""
    answering(server, text_of('{"value": [1, ', "2, 3]}"))

    with sync.stream_object(model, "Hi", schema=list[int]) as arriving:
        assert list(arriving.element_stream) == [1, 2, 3]
    with sync.stream_object(model, "Hi", schema=list[int]) as arriving:
        assert isinstance(list(arriving.stream)[-1], Finish)
        assert arriving.object() == [1, 2, 3]


def test_a_response_that_is_not_an_object_raises(model: Model) -> None:
    """As the asynchronous function does, by whatever way it is read."""
    with pytest.raises(NoObjectGeneratedError):
        sync.generate_object(model, "Hi", schema=City)
    with pytest.raises(NoObjectGeneratedError):
        list(sync.stream_object(model, "Hi", schema=City))
    with pytest.raises(InvalidRequestError, match="array"):
        _ = sync.stream_object(model, "Hi", schema=City).element_stream  # type: ignore[misc]  # a type checker says it too


def test_the_client_returns_results_or_raises_errors(model: Model) -> None:
    """Results as values, or raised errors; streams that do not raise."""
    asked = request(model=model, prompt="Hi")
    with sync.Client() as client:
        assert client.prepare(asked).unwrap().body["messages"]
        assert client.supports_tool_choice("required", model)
        assert isinstance(client.generate(asked), Success)
        assert client.complete(asked).text == "Hello"
        assert isinstance(list(client.events(asked))[-1], Finish)
        with client.stream(asked) as stream:
            assert list(stream.text_stream) == ["Hel", "lo"]
            assert stream.result().unwrap().text == "Hello"
            assert stream.partial_response.text == "Hello"


def test_client_errors_are_failures_exceptions_or_events(server: Loopback, model: Model) -> None:
    """A Failure, a raised error, or an event, as with the asynchronous client."""
    body = b'{"error": {"message": "no such model"}}'
    server.handler = lambda _: Answer([body], 404, {}, len(body))
    asked = request(model=model, prompt="Hi")
    client = sync.Client()

    outcome = client.generate(asked)
    assert isinstance(outcome, Failure)
    assert isinstance(outcome.failure(), NotFoundError)
    with pytest.raises(NotFoundError, match="no such model"):
        client.complete(asked)
    assert isinstance(list(client.stream(asked))[-1], ErrorEvent)
    client.close()


def test_clients_are_given_and_set(server: Loopback) -> None:
    """A blocking or an asynchronous one, for a call or for all."""
    made, transport = client_of(text_of("A"), text_of("B"), text_of("C"))
    model = model_at(server.url)

    assert sync.generate(model, "Hi", client=made).text == "A"
    assert sync.generate(model, "Hi", client=sync.Client.of(made)).text == "B"
    sync.set_default_client(sync.Client.of(made))
    try:
        assert sync.generate(model, "Hi").text == "C"
    finally:
        sync.set_default_client(None)
    assert len(transport.requests) == 3


def test_a_client_from_the_environment() -> None:
    """It has the providers whose variables are set."""
    client = sync.Client.from_env(environ={"OPENAI_API_KEY": "k"})

    assert list(client.asynchronous.providers) == ["openai"]


def test_many_prompts_at_once_have_their_answers_in_order() -> None:
    """Blocking, like everything here."""
    with serve(chat_handler) as server:
        made = sync.generate_many(model_at(server.url), ["a", "b", "c"], concurrency=2)

    assert [one.unwrap().text for one in made] == ["Hello"] * 3


@pytest.mark.parametrize("name", ["generate", "stream", "generate_object", "stream_object"])
def test_signatures_are_those_of_the_asynchronous_functions(name: str) -> None:
    """Parameter by parameter."""
    ours = inspect.signature(getattr(sync, name)).parameters
    theirs = inspect.signature(getattr(llmcore, name)).parameters

    assert list(ours) == list(theirs)
    assert ours == theirs


def test_blocking_functions_can_be_sent_to_other_processes() -> None:
    """As `ProcessPoolExecutor.map(sync.embed, ...)` does, by their module and name."""
    assert pickle.loads(pickle.dumps(sync.embed)) is sync.embed


def test_the_client_takes_what_the_asynchronous_one_takes() -> None:
    """A new argument there is not forgotten here."""
    for ours, theirs in (
        (sync.Client, llmcore.Client),
        (sync.Client.from_env, llmcore.Client.from_env),
    ):
        assert inspect.signature(ours).parameters == inspect.signature(theirs).parameters


# -- errors


def test_errors_keep_their_type_and_say_where_they_come_from(
    server: Loopback, model: Model
) -> None:
    """The traceback begins at the caller and ends with the waiting."""
    server.handler = lambda _: Answer([b"{}"], 429, {"retry-after": "999"}, 2)

    with pytest.raises(RateLimitError) as caught:
        sync.generate(model, "Hi")

    assert caught.value.retry_after == 999
    names = [entry.name for entry in caught.traceback]
    assert names[0] == "test_errors_keep_their_type_and_say_where_they_come_from"
    assert len(names) <= 4


def test_a_stream_that_fails_raises_after_its_last_event(server: Loopback, model: Model) -> None:
    """Nobody takes half a response for a whole one."""
    server.handler = lambda _: Answer([chat_chunk(delta={"content": "Ha"})], 200, SSE, cut=True)
    in_block: list[LLMEvent] = []
    in_loop: list[LLMEvent] = []

    with pytest.raises(LLMError), sync.stream(model, "Hi", max_retries=0) as events:
        in_block.extend(events)
    with pytest.raises(LLMError):
        in_loop.extend(sync.stream(model, "Hi", max_retries=0))

    assert isinstance(in_block[-1], ErrorEvent)
    assert isinstance(in_loop[-1], ErrorEvent)


def test_wrong_arguments_are_raised_at_once(model: Model) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidRequestError):
        sync.stream(model, "Hi", messages=[])
    with pytest.raises(InvalidRequestError):
        sync.generate(model, "Hi", tool_errors="typo")  # type: ignore[arg-type]


# -- leaving early


SLOW = [chat_chunk(delta={"content": "Hel"}), 10.0, *text_of()]


def test_leaving_a_loop_closes_the_connection(server: Loopback, model: Model) -> None:
    """Without a `with` block."""
    answering(server, SLOW)

    for _ in sync.stream(model, "Hi").text_stream:
        break
    for _ in sync.Client().stream(request(model=model, prompt="Hi")).text_stream:
        break

    assert eventually(lambda: len(server.disconnects) == 2)


def test_leaving_a_block_closes_the_connection(server: Loopback, model: Model) -> None:
    """However it is left; what had come is still there."""
    answering(server, SLOW)

    with pytest.raises(ZeroDivisionError), sync.stream(model, "Hi") as events:
        list(map(lambda _: 1 / 0, events.text_stream))  # noqa: C417  (a mistake on purpose)

    assert eventually(lambda: len(server.disconnects) == 1)
    assert events.partial_response is not None
    assert events.partial_response.text == "Hel"


def test_closing_a_stream_closes_its_connection(server: Loopback, model: Model) -> None:
    """Before, in the middle, and twice."""
    answering(server, SLOW)
    never = sync.stream(model, "Hi")
    never.close()
    stream = sync.stream_object(model, "Hi", schema=City)
    next(iter(stream.stream))
    stream.close()
    stream.close()

    assert eventually(lambda: len(server.disconnects) == 1)
    assert len(server.received) == 1


def test_stream_in_a_with_block_continues_after_a_break(model: Model) -> None:
    """Nothing that came is lost between two loops."""
    with sync.stream(model, "Hi") as events:
        first = list(islice(events.text_stream, 1))
        rest = list(events.text_stream)

    assert "".join(first + rest) == "Hello"


def test_the_result_of_a_half_read_stream_is_whole(model: Model) -> None:
    """The rest is read."""
    with sync.stream(model, "Hi") as events:
        next(iter(events))

        assert events.result().text == "Hello"


# -- where they may be called


def test_inside_a_running_event_loop(model: Model) -> None:
    """In a notebook's cell there is one already."""

    async def cell() -> str:
        with sync.stream(model, "Hi") as events:
            return "".join(events.text_stream) + sync.generate(model, "Hi").text

    assert asyncio.run(cell()) == "HelloHello"


def test_inside_a_trio_loop(model: Model) -> None:
    """The loop of the calls is another one, of another kind."""
    import trio

    async def cell() -> str:
        return sync.generate(model, "Hi").text

    assert trio.run(cell) == "Hello"


def test_calls_of_twenty_threads_are_each_sent_once(server: Loopback, model: Model) -> None:
    """At once, over one loop; every request is sent exactly once."""
    client = sync.Client()

    def ask(number: int) -> str:
        if number % 2:
            return sync.generate(model, "Hi", client=client).text
        return "".join(sync.stream(model, "Hi", client=client).text_stream)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(60)))

    assert answers == ["Hello"] * 60
    assert len(server.received) == 60
    client.close()


def test_tools_see_the_callers_context(server: Loopback, model: Model) -> None:
    """Plain tools, in their threads, and asynchronous ones, streamed or not."""
    user = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    def plain() -> str:
        """Note who asks."""
        seen.append(user.get())
        return "ok"

    async def waiting() -> str:
        """Note who asks."""
        seen.append(user.get())
        return "ok"

    calls = calls_of(("a", "plain", {}), ("b", "waiting", {}))
    answering(server, calls, text_of(), calls, text_of())

    def ask() -> None:
        user.set("ada")
        sync.generate(model, "Hi", tools=[plain, waiting])
        with sync.stream(model, "Hi", tools=[plain, waiting]) as events:
            events.result()

    contextvars.copy_context().run(ask)

    assert seen == ["ada"] * 4


def test_a_plain_tool_may_call_again(server: Loopback, model: Model) -> None:
    """It runs in a thread of its own, and can wait there."""
    answering(server, calls_of(("a", "ask", {})), text_of("inner"), text_of("outer"))

    def ask() -> str:
        """Ask another model."""
        return sync.generate(model, "Hi").text

    result = sync.generate(model, "Hi", tools=[ask])

    assert result.text == "outer"
    assert result.steps[0].tool_results[0].content == "inner"


def test_blocking_call_in_an_asynchronous_tool_raises_an_error(
    server: Loopback, model: Model
) -> None:
    """A blocking call there would never return."""
    answering(server, calls_of(("a", "ask", {})), text_of())

    async def ask() -> str:
        """Ask another model, the wrong way."""
        return sync.generate(model, "Hi").text

    with pytest.raises(ConfigurationError, match="asynchronous functions"):
        sync.generate(model, "Hi", tools=[ask], tool_errors="raise")


# -- retry


def test_retry_runs_a_call_again() -> None:
    """In this thread, with the policy's waits."""
    waits: list[float] = []
    failures: list[LLMError] = [RateLimitError("slow down")] * 2

    def call() -> str:
        if failures:
            raise failures.pop()
        return "done"

    policy = RetryPolicy(base_delay=1, jitter=False)

    assert sync.retry(call, policy, sleep=waits.append) == "done"
    assert waits == [1, 2]


def test_exhausted_retries_raise_the_last_error() -> None:
    """With the last error, or the last Failure."""

    def call() -> str:
        raise InvalidRequestError("never")

    with pytest.raises(InvalidRequestError, match="never"):
        sync.retry(call)
    failure = Failure(RateLimitError("slow down", retry_after=9999))
    assert sync.retry(lambda: failure) is failure
