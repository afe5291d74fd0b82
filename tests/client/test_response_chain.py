"""Responses that continue stored ones by their ids, against a server on loopback."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from attrs import define, evolve, field
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from llmcore import Client, LLMRequest, LLMResponse, Message, Model, OpenAI, generate, request, tool
from llmcore.generation.conversation import Conversation
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import TextPart
from llmcore.sessions.memory_store import MemoryStore
from tests.support.servers.loopback import Answer, Received, serve, sse
from tests.support.wire.responses import document, events_of, function_call, message, reasoning

pytestmark = pytest.mark.anyio

CHAIN: dict[str, Any] = {"openai": {"previous_response_id": "auto"}}
NOT_FOUND = {
    "error": {
        "message": "Previous response with id 'resp_1' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
}

Native = dict[str, Any]


@define
class Stored:
    """A server that keeps its responses, and responses in order."""

    outputs: list[list[Native]]
    asked: list[Native] = field(factory=list)
    kept: dict[str, list[Native]] = field(factory=dict)
    """The whole conversation up to the end of each response."""

    def __call__(self, received: Received) -> Answer:
        body: Native = json.loads(received.body)
        self.asked.append(body)
        previous = body.get("previous_response_id")
        if previous is not None and previous not in self.kept:
            return Answer([json.dumps(NOT_FOUND).encode()], status=400)
        output = self.outputs.pop(0)
        id_ = f"resp_{len(self.asked)}"
        if body.get("store") is not False:
            before = self.kept[previous] if previous else []
            self.kept[id_] = [*before, *body["input"], *output]
        if not body.get("stream"):
            return Answer([json.dumps({**document(output), "id": id_}).encode()])
        events = events_of(output)
        for event in events:
            if "response" in event:
                event["response"] = {**event["response"], "id": id_}
        return Answer([*map(sse, events)], headers={"content-type": "text/event-stream"})

    @property
    def sent(self) -> list[tuple[str | None, int]]:
        """The id that each request continues, and the number of its items."""
        return [(one.get("previous_response_id"), len(one["input"])) for one in self.asked]


@contextmanager
def storing(*outputs: list[Native]) -> Iterator[tuple[Stored, Model]]:
    """Run a server with *outputs* for the block; also return its model."""
    server = Stored(list(outputs))
    with serve(server) as loopback:
        yield (
            server,
            OpenAI.configure(api_key="k", base_url=f"{loopback.url}/v1").responses("gpt-5.2"),
        )


def after(asked: LLMRequest, said: LLMResponse, *messages: Message) -> LLMRequest:
    """Return *asked*, its response, and what comes next."""
    return evolve(asked, messages=(*asked.messages, said.message, *messages))


def chain_notes(response: LLMResponse) -> list[str]:
    """Return the messages about the chain."""
    return [note.message for note in response.diagnostics if note.code == "response-chain"]


HI, MORE, END = ([message(text)] for text in ("Hi.", "More.", "End."))


@pytest.mark.parametrize("streamed", [False, True])
async def test_only_new_items_follow_a_stored_response(streamed: bool) -> None:
    """Instructions and tools are sent every time; the server has the whole conversation."""
    with storing([reasoning("Hm."), message("Hi.")], MORE, END) as (server, model):
        asked = request(model=model, system="Be brief.", prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            ask: Callable[[LLMRequest], Any] = client.generate
            if streamed:
                ask = lambda one: client.stream(one).result()  # noqa: E731
            first = (await ask(asked)).unwrap()
            second = (await ask(after(asked, first, Message.user("Go on.")))).unwrap()
            third = after(after(asked, first, Message.user("Go on.")), second, Message.user("And?"))
            last = (await ask(third)).unwrap()

    assert server.sent == [(None, 1), ("resp_1", 1), ("resp_2", 1)]
    assert [one["store"] for one in server.asked] == [True] * 3
    assert [one["instructions"] for one in server.asked] == ["Be brief."] * 3
    assert len(server.kept["resp_3"]) == 7
    if not streamed:
        read = TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(server.asked[1])
        assert (read.get("previous_response_id"), read.get("store")) == ("resp_1", True)
    assert (last.text, chain_notes(last)) == ("End.", [])


async def test_a_run_with_tools_sends_only_the_results() -> None:
    """The loop of `generate`."""

    @tool
    def weather(city: str) -> str:
        """Return the weather of a city."""
        return f"Fine in {city}."

    with storing([reasoning("Hm."), function_call('{"city":"A"}')], END) as (server, model):
        async with Client() as client:
            result = await generate(
                model, "Weather?", tools=[weather], provider_options=CHAIN, client=client
            )

    assert server.sent == [(None, 1), ("resp_1", 1)]
    assert server.asked[1]["input"][0]["type"] == "function_call_output"
    assert "encrypted_content" not in json.dumps(server.asked[1]["input"])
    assert result.text == "End."


async def test_a_conversation_goes_on_from_its_store() -> None:
    """The stored entries keep the id."""
    with storing(HI, MORE) as (server, model):
        async with Client() as client:
            store = MemoryStore()
            chat = await Conversation.open(store, "trip")
            await chat.generate(model, "Hello", provider_options=CHAIN, client=client)
            again = await Conversation.open(store, "trip")
            await again.generate(model, "Go on.", provider_options=CHAIN, client=client)

    assert server.sent == [(None, 1), ("resp_1", 1)]


EDITS: dict[str, Callable[[LLMRequest], LLMRequest]] = {
    "the question": lambda one: evolve(one, messages=(Message.user("Hallo"), *one.messages[1:])),
    "the response": lambda one: evolve(
        one,
        messages=(
            one.messages[0],
            evolve(one.messages[1], content=(TextPart("Ho."),)),
            *one.messages[2:],
        ),
    ),
    "its metadata": lambda one: evolve(
        one,
        messages=(one.messages[0], evolve(one.messages[1], provider_metadata={}), one.messages[2]),
    ),
    "the model": lambda one: evolve(one, model=evolve(cast("Model", one.model), id="o3")),
    "nothing new": lambda one: evolve(one, messages=one.messages[:2]),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
async def test_a_changed_conversation_is_sent_whole(
    edit: Callable[[LLMRequest], LLMRequest],
) -> None:
    """The stored response belongs to another conversation; a Diagnostic reports it."""
    with storing(HI, MORE) as (server, model):
        asked = request(model=model, prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            first = (await client.generate(asked)).unwrap()
            next_ = edit(after(asked, first, Message.user("Go on.")))
            second = (await client.generate(next_)).unwrap()

    assert server.sent == [(None, 1), (None, len(next_.messages))]
    assert len(chain_notes(second)) == 1


async def test_an_edit_after_an_earlier_response_continues_that_one() -> None:
    """A conversation that forks."""
    with storing(HI, MORE, END) as (server, model):
        asked = request(model=model, prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            first = (await client.generate(asked)).unwrap()
            next_ = after(asked, first, Message.user("Go on."))
            second = (await client.generate(next_)).unwrap()
            fork = after(after(asked, first, Message.user("Stop.")), second, Message.user("Why?"))
            await client.generate(fork)

    assert server.sent == [(None, 1), ("resp_1", 1), ("resp_1", 3)]


async def test_a_lost_response_is_answered_from_the_whole_conversation() -> None:
    """Once, with a Diagnostic; the next request continues the new response."""
    with storing([reasoning("Hm."), message("Hi.")], MORE, END) as (server, model):
        asked = request(model=model, prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            first = (await client.generate(asked)).unwrap()
            server.kept.clear()
            next_ = after(asked, first, Message.user("Go on."))
            second = (await client.generate(next_)).unwrap()
            await client.generate(after(next_, second, Message.user("And?")))

    assert server.sent == [(None, 1), ("resp_1", 1), (None, 4), ("resp_3", 1)]
    assert "encrypted_content" in json.dumps(server.asked[2]["input"])
    assert len(chain_notes(second)) == 1


async def test_a_server_that_never_finds_a_response_is_asked_twice_at_most() -> None:
    """The error of the second request is the result."""

    def refuse(received: Received) -> Answer:
        return Answer([json.dumps(NOT_FOUND).encode()], status=404)

    with serve(refuse) as loopback:
        model = OpenAI.configure(api_key="k", base_url=loopback.url).responses("gpt-5.2")
        asked = request(model=model, prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            error = (await client.generate(asked)).failure()

    assert error.error_code == "previous_response_not_found"
    assert len(loopback.received) == 2


async def test_an_id_of_the_callers_own_is_sent_as_it_is() -> None:
    """Only `auto` is ours to continue, and no error of another id is retried."""
    with storing(HI) as (server, model):
        asked = request(
            model=model, prompt="Hello", provider_options={"openai": {"previous_response_id": "r9"}}
        )
        async with Client() as client:
            error = (await client.generate(asked)).failure()

    assert error.error_code == "previous_response_not_found"
    assert server.sent == [("r9", 1)]


async def test_nothing_is_continued_where_nothing_is_stored() -> None:
    """`store: false` goes before; no id is kept."""
    options: dict[str, Any] = {"openai": {"previous_response_id": "auto", "store": False}}
    with storing(HI, MORE) as (server, model):
        asked = request(model=model, prompt="Hello", provider_options=options)
        async with Client() as client:
            first = (await client.generate(asked)).unwrap()
            await client.generate(after(asked, first, Message.user("Go on.")))

    assert server.sent == [(None, 1), (None, 3)]
    assert [one["store"] for one in server.asked] == [False, False]
    assert first.message.provider_metadata == {}


async def test_the_option_may_be_a_default_of_the_route() -> None:
    """It survives the codec with the message."""
    with storing(HI, MORE, END) as (server, model):
        assert model.route is not None
        route: Any = model.route
        defaults = evolve(route.defaults, provider_options=CHAIN)
        asked = request(model=route.with_(defaults=defaults).model("gpt-5.2"), prompt="Hello")
        async with Client() as client:
            first = (await client.generate(asked)).unwrap()
            kept = from_json(Message, to_json(first.message))
            first = evolve(first, message=kept)
            next_ = after(asked, first, Message.user("Go on."))
            await client.generate(next_)
            server.kept.clear()
            await client.generate(next_)

    assert server.sent == [(None, 1), ("resp_1", 1), ("resp_1", 1), (None, 3)]


async def test_a_run_whose_calls_got_other_ids_at_the_end_sends_the_whole_conversation() -> None:
    """vLLM stores other ids than it streamed, so that the results of the calls fit none of them."""
    events = events_of([function_call()])
    stored = {**function_call(), "call_id": "call_stored"}
    events[-1] = {**events[-1], "response": document([stored])}
    asked: list[Native] = []

    def answer(received: Received) -> Answer:
        asked.append(json.loads(received.body))
        said = events if len(asked) == 1 else events_of(END)
        return Answer([*map(sse, said)], headers={"content-type": "text/event-stream"})

    with serve(answer) as loopback:
        facade = OpenAI.configure(api_key="k", base_url=f"{loopback.url}/v1")
        first = request(model=facade.responses("gpt-5.2"), prompt="Hello", provider_options=CHAIN)
        async with Client() as client:
            called = (await client.stream(first).result()).unwrap()
            then = after(first, called, Message.tool("call_1", "Fine."))
            ended = (await client.stream(then).result()).unwrap()

    assert ended.text == "End."
    assert "previous_response_id" not in asked[1]
    assert [item.get("call_id") for item in asked[1]["input"]] == [None, "call_1", "call_1"]
    assert chain_notes(ended) != []
