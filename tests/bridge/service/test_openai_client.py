"""The official `openai` client against a running gateway."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from attrs import evolve
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests.support.servers.bridge_service import (
    listening,
    refused,
    settings_for,
    streamed,
    tool_script,
)
from tests.support.servers.loopback import Loopback, Received, chat_chunk, chat_stream


@pytest.fixture
def client(upstream: Loopback) -> Iterator[OpenAI]:
    settings = evolve(settings_for(upstream.url), client_api_keys=("sk-client",))
    with (
        listening(settings) as url,
        OpenAI(base_url=url, api_key="sk-client", max_retries=0) as made,
    ):
        yield made


def messages(upstream: Loopback) -> Any:
    body: Any = upstream.received[-1].json
    return body["messages"]


TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def calls_then_text(received: Received) -> Any:
    """Call the tool until its result is there."""
    body: Any = received.json
    if body["messages"][-1]["role"] == "tool":
        return streamed(chat_stream(["It is ", "sunny."]))
    return streamed(tool_script(("call_1", "get_weather", '{"city": "Rome"}')))


def test_create_returns_text_usage_and_the_request_id(client: OpenAI) -> None:
    """A whole response, with usage and our request id."""
    response = client.responses.create(model="m-1", input="Hi")

    assert response.output_text == "Hello"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.total_tokens) == (3, 5)
    assert response._request_id is not None
    assert response._request_id.startswith("req_")


def test_stream_gives_deltas_and_the_response_of_them(client: OpenAI) -> None:
    """Deltas, and a final response that they add up to."""
    with client.responses.stream(model="m-1", input="Hi") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()

    assert deltas == ["Hel", "lo"]
    assert (final.output_text, final.status) == ("Hello", "completed")


def test_create_with_stream_gives_events_up_to_completed(client: OpenAI) -> None:
    """`create(stream=True)`."""
    types = [event.type for event in client.responses.create(model="m", input="x", stream=True)]

    assert types[0] == "response.created"
    assert types[-1] == "response.completed"


class City(BaseModel):
    name: str
    country: str


def test_parse_sends_the_schema_and_returns_an_object(upstream: Loopback, client: OpenAI) -> None:
    """A schema goes up, an object comes back."""
    upstream.handler = lambda _: streamed(chat_stream(['{"name":"Rome",', '"country":"Italy"}']))

    response = client.responses.parse(model="m-1", input="Which city?", text_format=City)

    body: Any = upstream.received[0].json
    assert response.output_parsed == City(name="Rome", country="Italy")
    assert body["response_format"]["json_schema"]["name"] == "City"


@pytest.mark.parametrize("stored", [True, False])
def test_the_loop_of_tools(upstream: Loopback, client: OpenAI, stored: bool) -> None:
    """By `previous_response_id`, or with all items sent again."""
    upstream.handler = calls_then_text
    asked: Any = [{"role": "user", "content": "Weather in Rome?"}]
    first = client.responses.create(model="m-1", input=asked, tools=[TOOL], store=stored)
    call = first.output[0]
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Rome"}
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}

    if stored:
        second = client.responses.create(
            model="m-1", input=[result], tools=[TOOL], previous_response_id=first.id
        )
    else:
        again = [*asked, *(item.model_dump() for item in first.output), result]
        second = client.responses.create(model="m-1", input=again, tools=[TOOL], store=False)

    assert second.output_text == "It is sunny."
    assert [message["role"] for message in messages(upstream)] == ["user", "assistant", "tool"]
    assert messages(upstream)[2] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "sunny",
    }


def test_the_loop_of_tools_streamed(upstream: Loopback, client: OpenAI) -> None:
    """The arguments come in pieces and are whole at the end."""
    upstream.handler = calls_then_text
    with client.responses.stream(model="m-1", input="Weather?", tools=[TOOL]) as stream:
        deltas = [e.delta for e in stream if e.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()

    call = final.output[0]
    assert call.type == "function_call"
    assert json.loads("".join(deltas)) == json.loads(call.arguments) == {"city": "Rome"}


def test_stored_responses_are_retrieved_listed_and_deleted(client: OpenAI) -> None:
    """retrieve, input_items.list over its pages, delete."""
    made = client.responses.create(
        model="m-1", input=[{"role": "user", "content": f"{n}"} for n in range(5)]
    )

    assert client.responses.retrieve(made.id).output_text == "Hello"
    items = list(client.responses.input_items.list(made.id, limit=2, order="asc"))
    assert len(items) == 5
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)


def test_encrypted_thinking_returns_to_the_upstream_without_a_store(
    client: OpenAI, upstream: Loopback
) -> None:
    """Without a store: all items go back, and the upstream gets its own thinking again."""
    script = [chat_chunk(delta={"reasoning_content": "Look first."}), *chat_stream()]
    upstream.handler = lambda _: streamed(script)
    asked: Any = [{"role": "user", "content": "Hi"}]
    fields: Any = {"store": False, "include": ["reasoning.encrypted_content"]}
    first = client.responses.create(model="m-1", input=asked, **fields)
    again = [*asked, *(item.model_dump() for item in first.output), *asked]
    client.responses.create(model="m-1", input=again, **fields)

    thought, message = first.output
    assert thought.type == "reasoning"
    assert thought.encrypted_content
    assert message.type == "message"
    assert [one["role"] for one in messages(upstream)] == ["user", "assistant", "user"]
    assert "Look first." not in messages(upstream)[1]["content"]


def test_what_is_not_here(client: OpenAI) -> None:
    """Cancelling a response that was waited for, and unknown paths."""
    made = client.responses.create(model="m-1", input="Hi")

    with pytest.raises(openai.BadRequestError, match="background"):
        client.responses.cancel(made.id)
    with pytest.raises(openai.NotFoundError, match="no POST /v1/images/generations"):
        client.images.generate(model="m-1", prompt="Hi")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the client sleeps and locks with it
async def test_asynchronous_client_creates_streams_and_parses(upstream: Loopback) -> None:
    """create, stream and parse."""
    with listening(settings_for(upstream.url)) as url:
        async with AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as client:
            whole = await client.responses.create(model="m-1", input="Hi")
            async with client.responses.stream(model="m-1", input="Hi") as stream:
                types = [event.type async for event in stream]
                final = await stream.get_final_response()
            upstream.handler = lambda _: streamed(chat_stream(['{"name":"a","country":"b"}']))
            parsed = await client.responses.parse(model="m-1", input="Hi", text_format=City)

    assert (whole.output_text, final.output_text) == ("Hello", "Hello")
    assert types[-1] == "response.completed"
    assert parsed.output_parsed == City(name="a", country="b")


def test_models_can_be_listed_and_retrieved(upstream: Loopback, client: OpenAI) -> None:
    """Any name that passes can be retrieved; the upstream's own are listed."""
    data = b'{"object": "list", "data": [{"id": "m-1", "object": "model"}]}'
    kind = {"content-type": "application/json"}
    upstream.handler = lambda _: streamed([data], headers=kind, length=len(data))

    assert client.models.retrieve("any").id == "any"
    assert [model.id for model in client.models.list()] == ["m-1"]


def test_errors_become_the_clients_own(upstream: Loopback, client: OpenAI) -> None:
    """Each class by its status, with code and parameter."""
    with pytest.raises(openai.BadRequestError) as missing:
        client.responses.create(model="m-1", input="x", previous_response_id="resp_no")
    assert missing.value.code == "previous_response_not_found"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").responses.create(model="m-1", input="x")
    upstream.handler = lambda _: refused(429, "slow down")
    with pytest.raises(openai.RateLimitError):
        client.responses.create(model="m-1", input="x")
    upstream.handler = lambda _: refused(500, "broken")
    with pytest.raises(openai.InternalServerError):
        client.responses.create(model="m-1", input="x", stream=True)


def test_keep_alives_are_not_events(upstream: Loopback) -> None:
    """The client's reader skips them."""
    upstream.handler = lambda _: streamed([0.3, *chat_stream(), 0.2])
    settings = evolve(settings_for(upstream.url), keep_alive_s=0.05)
    with (
        listening(settings) as url,
        OpenAI(base_url=url, api_key="x") as client,
        client.responses.stream(model="m-1", input="Hi") as stream,
    ):
        assert stream.get_final_response().output_text == "Hello"
