"""Responses that are cut, and continued by another model."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import anyio
import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    Anthropic,
    Client,
    Fallback,
    LLMEvent,
    LLMRequest,
    LLMResponse,
    NetworkError,
    generate,
    generate_object,
    request,
    stream,
    stream_object,
    tool,
)
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.continuation import CONTINUED
from llmcore.client.middleware.rest_request import CONTINUE
from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.schema.content import ReasoningPart
from llmcore.schema.errors import LLMError, RateLimitError, ServerError, StreamError
from llmcore.schema.events import StepStart, TextDelta, ToolInputStart
from llmcore.schema.result import Result, Success
from llmcore.testing import scripted
from llmcore.testing.script import ScriptedTransport
from tests.client.middleware.middleware_scenes import (
    LIMITED,
    OVERLOADED,
    PROVIDER,
    WANTED,
    client_of,
    run,
)
from tests.support.servers.loopback import chat_chunk, chat_stream
from tests.support.wire.matrix import COLUMNS, Column, Said

pytestmark = pytest.mark.anyio

URL = "https://cut.example"


def lost() -> NetworkError:
    """Return the error of a connection that broke."""
    return NetworkError("the connection broke")


def half(text: str, error: BaseException | None = None) -> list[Any]:
    """Return the stream of a chat answer that breaks off after *text*."""
    return [chat_chunk(delta={"role": "assistant", "content": text}), error or lost()]


def rest(text: str) -> bytes:
    """Return the stream of a complete chat answer of *text*: three tokens in, two out."""
    return b"".join(
        (
            chat_chunk(delta={"role": "assistant", "content": text}),
            *(one for one in chat_stream()[-3:] if isinstance(one, bytes)),
        )
    )


async def read(stream: EventStream) -> tuple[list[LLMEvent], Result[LLMResponse, LLMError]]:
    """Return the events of *stream*, which are checked, and its result."""
    async with stream:
        events = [event async for event in stream]
        assert violations(events) == []
        return events, await stream.result()


# -- any cut, from any protocol to any other


@frozen
class Cut:
    """The response of one provider, cut, and the rest of it by another."""

    client: Client
    transport: ScriptedTransport
    asked: LLMRequest


def cut(first: Column, second: Column, said: Said, at: int, *, by_server: bool = False) -> Cut:
    """Return a call of *first*, whose response is cut after *at* bytes, and of *second*."""
    whole = first.streamed(first.whole(said))
    more = second.streamed(second.whole(Said(text="And the rest.")))
    broken: list[Any] = [whole[: at % len(whole)]]
    broken.append(ServerError("overloaded") if by_server else lost())
    transport = scripted(
        (200, {"content-type": first.stream_type}, broken),
        (200, {"content-type": second.stream_type}, [more]),
    )
    fallback = Fallback(second.model_at(URL), continue_after_cut=1)
    asked = request(model=first.model_at(URL), prompt="Hi", tools=[weather])
    return Cut(Client(middleware=[fallback], transport=transport), transport, asked)


@tool
async def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"sunny in {city}"


@frozen
class Person:
    name: str
    age: int


WORDS = st.text("ab é\n🙂", max_size=30)
SAID = st.builds(
    Said,
    text=WORDS.filter(bool),
    thinking=st.just("") | WORDS.map("Musing: {}".format),
    cities=st.lists(st.sampled_from(["Oslo", "Rome"]), max_size=2).map(tuple),
)
COLUMN = st.sampled_from(COLUMNS)


@given(COLUMN, COLUMN, SAID, st.integers(0, 10_000), st.booleans())
def test_a_stream_that_is_cut_anywhere_is_one_response(
    first: Column, second: Column, said: Said, at: int, by_server: bool
) -> None:
    """It obeys the grammar, folds to its result, and has all that was delivered."""
    scene = cut(first, second, said, at, by_server=by_server)
    events, result = anyio.run(read, scene.client.stream(scene.asked))
    response = result.unwrap()

    assert collect(events).map(lambda one: one.message) == Success(response.message)
    delivered = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert response.text == delivered
    starts = [event for event in events if isinstance(event, ToolInputStart)]
    assert len(starts) == len(response.tool_calls)  # inputs that were cut leave no trace
    assert all(call.arguments["city"] in ("Oslo", "Rome") for call in response.tool_calls)  # type: ignore[index,call-overload,operator]
    if len(scene.transport.requests) == 1:
        assert response.finish_reason == "tool_calls"
        return
    assert response.text.endswith("And the rest.")
    assert said.text.startswith(delivered.removesuffix("And the rest."))
    assert response.provider == second.provider


@given(COLUMN, COLUMN, SAID, st.integers(0, 10_000))
def test_nothing_foreign_or_unsigned_is_sent_after_a_cut(
    first: Column, second: Column, said: Said, at: int
) -> None:
    """Neither for the rest of the response, nor with the conversation afterwards."""
    scene = cut(first, second, said, at)
    events, result = anyio.run(read, scene.client.stream(scene.asked))
    response = result.unwrap()
    if len(scene.transport.requests) == 1:
        return
    switch = next((e for e in events if isinstance(e, StepStart) and e.continues), None)
    earlier = response.message.content[: _place(response)] if switch else ()

    assert not any(
        isinstance(part, ReasoningPart) and (part.signature or part.encrypted) for part in earlier
    )
    assert not any(part.provider_metadata for part in earlier)
    if first is not second:
        sent = json.dumps(scene.transport.bodies[1])
        assert "Musing" not in sent


def _place(response: LLMResponse) -> int:
    """Return the number of parts that were written before another model went on."""
    paths = [note.path for note in response.diagnostics if note.code == CONTINUED]
    return int(paths[0].removeprefix("content[").removesuffix("]"))


# -- what the next model is sent


@pytest.mark.parametrize(
    ("model", "prefills"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-8", False),
    ],
)
async def test_text_so_far_is_a_prefill_only_where_the_model_continues_one(
    model: str, prefills: bool
) -> None:
    column = next(one for one in COLUMNS if one.id == "anthropic")
    other = Anthropic(api_key="k", base_url=URL).model(model)
    more = (
        200,
        {"content-type": column.stream_type},
        [column.streamed(column.whole(Said(text="\n\nb")))],
    )
    client, transport = client_of([Fallback(other, continue_after_cut=1)], half("a\n"), more)

    response = (await run(client, True)).unwrap()

    body: Any = transport.bodies[1]
    said = json.dumps(body["messages"][1:])
    assert body["messages"][1]["role"] == "assistant"
    assert (CONTINUE in said) is not prefills
    assert len(body["messages"]) == (2 if prefills else 3)
    # a prefill may not end with white space, so that the model begins with it again
    assert response.text == ("a\n\nb" if prefills else "a\n\n\nb")


async def test_reasoning_goes_with_the_text_only_to_the_model_that_signed_it() -> None:
    column = next(one for one in COLUMNS if one.id == "anthropic")
    said = Said(text="It is four.", thinking="Easy.")
    whole = column.streamed(column.whole(said))
    at = whole.index(b"four")
    same = column.model_at(URL)
    signature = json.dumps(column.whole(said)["content"][0]["signature"])
    for model, kept in [(same, True), (PROVIDER.model("m"), False)]:
        answer = rest(" Yes.") if not kept else whole
        transport = scripted([whole[:at], lost()], answer)
        client = Client(middleware=[Fallback(model, continue_after_cut=1)], transport=transport)
        asked = request(model=same, prompt="2 + 2?", reasoning="high")
        (await run(client, True, asked)).unwrap()

        assert (signature in json.dumps(transport.bodies[1])) is kept
        assert ("Easy." in json.dumps(transport.bodies[1])) is kept


async def test_a_response_without_text_is_requested_again() -> None:
    """Cut reasoning is delivered, and not sent."""
    thought = chat_chunk(delta={"role": "assistant", "reasoning_content": "Well,"})
    client, transport = client_of(
        [Fallback("n", continue_after_cut=1)], [thought, lost()], rest("Four.")
    )
    response = (await run(client, True)).unwrap()

    first, second = transport.bodies
    assert {**first, "model": "n"} == second
    assert (response.reasoning, response.text) == ("Well,", "Four.")


SO_FAR = "The capital of Norway is the city of "


@given(st.lists(st.integers(1, 60), max_size=4), st.sampled_from(["Oslo.", " Oslo.", ""]))
def test_a_repetition_of_the_text_so_far_is_left_out(cuts: list[int], more: str) -> None:
    """However it is cut into deltas."""
    text = SO_FAR.rstrip() + more
    places = sorted({0, len(text), *(at for at in cuts if at < len(text))})
    deltas = [chat_chunk(delta={"content": text[a:b]}) for a, b in pairwise(places)]
    ends = [one for one in chat_stream()[-3:] if isinstance(one, bytes)]
    client, _ = client_of([Fallback("n", continue_after_cut=1)], half(SO_FAR), [*deltas, *ends])
    _, result = anyio.run(read, client.stream(WANTED))

    assert result.unwrap().text == SO_FAR + more.lstrip()


@pytest.mark.parametrize(
    ("so_far", "more"),
    [("ha", "haha"), (SO_FAR, "The capital of Sweden"), (SO_FAR, "The"), (SO_FAR, " The")],
)
async def test_what_only_resembles_a_repetition_is_part_of_the_response(
    so_far: str, more: str
) -> None:
    client, _ = client_of([Fallback("n", continue_after_cut=1)], half(so_far), rest(more))

    assert (await run(client, True)).unwrap().text == so_far + more


async def test_object_that_is_repeated_from_its_beginning_is_whole() -> None:
    client, _ = client_of(
        [Fallback("n", continue_after_cut=1)],
        half('{"name": "A'),
        rest('{"name": "Ada", "age": 36}'),
    )
    made = await generate_object("m", "Hi", schema=Person, client=client, max_retries=0)

    assert made.output == Person("Ada", 36)


# -- what the reader gets


async def test_usage_and_cost_are_those_of_both_models() -> None:
    """The tokens of the one that was cut are an estimate."""
    priced = {"loop": PROVIDER}
    transport = scripted(half("x" * 40), rest("b"))
    models = [
        _info("m", 1.0),
        _info("n", 100.0),
    ]
    client = Client(
        middleware=[Fallback("n", continue_after_cut=1)],
        transport=transport,
        providers=priced,
        models=models,
    )
    events, result = await read(client.stream(WANTED))
    response = result.unwrap()

    assert response.usage.output_tokens == 10 + 2
    assert response.usage.input_tokens == 4 + 3
    assert response.usage.estimated
    assert response.cost == pytest.approx(((4 + 10) * 1.0 + 5 * 100.0) / 1e6)
    assert events[-1].usage == response.usage  # type: ignore[union-attr]


def _info(model: str, price: float) -> ModelInfo:
    rates = Rates(input=price, output=price)
    return ModelInfo(id=model, provider="loop", display_name=model, prices=Prices(standard=rates))


async def test_diagnostic_is_where_the_model_changed() -> None:
    client, _ = client_of([Fallback(("other", "o"), continue_after_cut=1)], half("a"), rest("b"))
    events, result = await read(client.stream(WANTED))
    response = result.unwrap()

    (switch,) = [event for event in events if isinstance(event, StepStart) and event.continues]
    assert switch.start is not None
    (note,) = switch.start.diagnostics
    assert (note.code, note.path, note.action) == (CONTINUED, "content[1]", "changed")
    assert note.message.startswith("loop/m was cut (NetworkError: the connection broke")
    assert "other/o continued its response" in note.message
    assert response.diagnostics == (note,)
    assert (response.provider, response.text) == ("other", "ab")


@pytest.mark.parametrize("limit", [0, 1, 2])
async def test_number_of_continuations_is_limited(limit: int) -> None:
    fallback = Fallback("n", "o", "p", continue_after_cut=limit)
    client, transport = client_of([fallback], half("a"), half("b"), half("c"), rest("d"))
    events, result = await read(client.stream(WANTED))
    error = result.failure()

    assert len(transport.requests) == limit + 1
    assert isinstance(error, NetworkError)
    assert error.partial is not None
    assert error.partial.text == "abc"[: limit + 1]
    assert [e.text for e in events if isinstance(e, TextDelta)] == list("abc"[: limit + 1])


async def test_model_that_cannot_continue_is_passed_over() -> None:
    client, transport = client_of(
        [Fallback("n", "o", continue_after_cut=1)], half("a"), OVERLOADED, rest("b")
    )
    response = (await run(client, True)).unwrap()

    assert [body["model"] for body in transport.bodies] == ["m", "n", "o"]
    assert response.text == "ab"
    assert [note.code for note in response.diagnostics] == [CONTINUED, "model-fallback"]


async def test_if_no_model_continues_the_cut_is_the_error() -> None:
    """The notes of the error name the other models."""
    client, _ = client_of([Fallback("n", continue_after_cut=1)], half("a"), LIMITED)
    _, result = await read(client.stream(WANTED))
    error = result.failure()

    assert isinstance(error, NetworkError)
    assert "loop/n failed" in error.__notes__[0]
    assert error.partial is not None
    assert error.partial.text == "a"


@pytest.mark.parametrize(
    "error",
    [RateLimitError("slow down"), StreamError("broken"), ServerError("down")],
    ids=lambda error: type(error).__name__,
)
async def test_errors_after_which_another_model_continues(error: LLMError) -> None:
    client, _ = client_of([Fallback("n", continue_after_cut=1)], half("a", error), rest("b"))

    assert (await run(client, True)).unwrap().text == "ab"


async def test_response_that_is_too_large_is_not_continued() -> None:
    error = StreamError("the response is too large", retryable=False)
    client, transport = client_of([Fallback("n", continue_after_cut=1)], half("a", error))

    assert isinstance((await run(client, True)).failure(), StreamError)
    assert len(transport.requests) == 1


async def test_closing_while_the_next_model_is_awaited_ends_the_stream() -> None:
    asked = anyio.Event()

    async def silent() -> AsyncIterator[bytes]:
        asked.set()
        await anyio.sleep_forever()
        yield b""

    client, transport = client_of(
        [Fallback("n", "o", continue_after_cut=1)], half("a"), silent(), rest("b")
    )
    stream = client.stream(WANTED)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.result)
        await asked.wait()
        await stream.aclose()

    assert len(transport.requests) == 2


async def test_an_uncut_response_is_passed_on_as_it_is() -> None:
    plain, _ = client_of([], rest("Hello"))
    client, _ = client_of([Fallback("n", continue_after_cut=3)], rest("Hello"))

    assert await read(client.stream(WANTED)) == await read(plain.stream(WANTED))


# -- runs and objects


def tool_chunk(*deltas: dict[str, Any]) -> list[Any]:
    calls = [chat_chunk(delta={"tool_calls": [delta]}) for delta in deltas]
    return [chat_chunk(delta={"role": "assistant", "content": "Let me see. "}), *calls]


def named(index: int, arguments: str) -> dict[str, Any]:
    function = {"name": "weather", "arguments": arguments}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


@pytest.mark.parametrize("streaming", [False, True])
async def test_cut_arguments_of_a_tool_are_thrown_away(streaming: bool) -> None:
    """The next model continues the text; it has not seen the call."""
    client, transport = client_of(
        [Fallback("n", continue_after_cut=1)],
        [*tool_chunk(named(0, '{"city": "Os')), lost()],
        rest("It is sunny."),
    )
    if streaming:
        async with stream("m", "Hi", client=client, tools=[weather], max_retries=0) as result:
            events = [event async for event in result]
            final = await result.result()
        assert violations(events) == []
    else:
        final = await generate("m", "Hi", client=client, tools=[weather], max_retries=0)

    assert final.text == "Let me see. It is sunny."
    assert final.tool_calls == ()
    assert "Os" not in json.dumps(transport.bodies[1])
    assert [note.code for note in final.diagnostics] == [CONTINUED]


@pytest.mark.parametrize("streaming", [False, True])
async def test_complete_calls_of_a_response_that_was_cut_are_run_once(streaming: bool) -> None:
    """Nothing else is requested for the rest: the model that gets the results continues."""
    column = next(one for one in COLUMNS if one.id == "openai")
    calls = column.streamed(column.whole(Said(text="Let me see. ", cities=("Oslo", "Rome"))))
    sunny = column.streamed(column.whole(Said(text="It is sunny.")))
    transport = scripted([calls[: calls.index(b"Rome") - 1], lost()], sunny)
    fallback = Fallback(PROVIDER.model("n"), continue_after_cut=1)
    client = Client(middleware=[fallback], transport=transport)
    model = column.model_at(URL)
    if streaming:
        async with stream(model, "Hi", client=client, tools=[weather], max_retries=0) as result:
            events = [event async for event in result]
            final = await result.result()
        assert violations(events) == []
    else:
        final = await generate(model, "Hi", client=client, tools=[weather], max_retries=0)

    assert final.text == "It is sunny."
    first = final.steps[0]
    assert [part.content for part in first.tool_results] == ["sunny in Oslo"]
    assert first.response.usage.estimated
    assert len(transport.requests) == 2


async def test_a_later_step_of_a_run_is_continued() -> None:
    """The events keep the numbers of the run."""
    calls = [*tool_chunk(named(0, '{"city": "Oslo"}')), *chat_stream()[-2:]]
    calls.insert(-2, chat_chunk(finish_reason="tool_calls"))
    client, _ = client_of(
        [Fallback("n", continue_after_cut=1)],
        b"".join(one for one in calls if isinstance(one, bytes)),
        half("It is "),
        rest("sunny."),
    )
    async with stream("m", "Hi", client=client, tools=[weather], max_retries=0) as result:
        events = [event async for event in result]
        final = await result.result()

    assert violations(events) == []
    steps = [(event.step, event.continues) for event in events if isinstance(event, StepStart)]
    assert steps == [(0, False), (1, False), (1, True)]
    assert final.text == "It is sunny."
    assert [note.code for note in final.diagnostics] == [CONTINUED]


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_object_is_continued_as_text(streaming: bool) -> None:
    """The format would be enforced on the rest alone, so that it is stated in words."""
    client, transport = client_of(
        [Fallback("n", continue_after_cut=1)], half('{"name": "Ada"'), rest(', "age": 36}')
    )
    if streaming:
        async with stream_object("m", "Hi", schema=Person, client=client, max_retries=0) as result:
            partials = [partial async for partial in result]
            value = (await result.result()).output
        assert partials[0] == {"name": "Ada"}
        assert partials[-1] == {"name": "Ada", "age": 36}
    else:
        value = (
            await generate_object("m", "Hi", schema=Person, client=client, max_retries=0)
        ).output

    assert value == Person("Ada", 36)
    body: Any = transport.bodies[1]
    assert "response_format" not in body
    assert '"age"' in body["messages"][-1]["content"]


async def test_fallback_before_the_response_and_continuation_after_it_share_the_models() -> None:
    client, transport = client_of(
        [Fallback("n", "o", continue_after_cut=1)], OVERLOADED, half("a"), rest("b")
    )
    response = (await run(client, True, evolve(WANTED, model="m"))).unwrap()

    assert [body["model"] for body in transport.bodies] == ["m", "n", "o"]
    assert [note.code for note in response.diagnostics] == ["model-fallback", CONTINUED]
    assert response.text == "ab"
