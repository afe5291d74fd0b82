"""A background response whose stream was cut continues where it was."""

import json

import pytest

from llmcore import (
    Client,
    ConfigurationError,
    InvalidRequestError,
    LLMRequest,
    NetworkError,
    OpenAI,
    OpenAICompatible,
    TextDelta,
    request,
)
from llmcore.client.event_stream import EventStream
from tests.support.servers.loopback import Answer, Loopback, Received, chat_chunk, serve, sse

pytestmark = pytest.mark.anyio

HEADERS = {"content-type": "text/event-stream"}
RESPONSE = {"id": "resp_1", "object": "response", "model": "m-1", "background": True, "output": []}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
PART = {"type": "output_text", "text": "Hello world", "annotations": []}
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
DONE = {
    **RESPONSE,
    "status": "completed",
    "output": [{**ITEM, "status": "completed", "content": [PART]}],
    "usage": USAGE,
}
EVENTS: list[dict[str, object]] = [
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.content_part.added", **PLACE, "part": {**PART, "text": ""}},
    {"type": "response.output_text.delta", **PLACE, "delta": "Hello"},
    {"type": "response.output_text.delta", **PLACE, "delta": " world"},
    {"type": "response.output_text.done", **PLACE, "text": "Hello world"},
    {"type": "response.output_item.done", "output_index": 0, "item": DONE["output"]},
    {"type": "response.completed", "response": DONE},
]
EVENTS[6]["item"] = {**ITEM, "status": "completed", "content": [PART]}


def numbered(first: int, last: int) -> list[bytes | float]:
    return [sse({**EVENTS[i], "sequence_number": i}) for i in range(first, last)]


def background(received: Received) -> Answer:
    """Cut the first stream after four events, and give the rest to the next request."""
    if received.method == "POST":
        return Answer(numbered(0, 4), headers=HEADERS, cut=True)
    return Answer(numbered(4, 8), headers=HEADERS)


def question(server: Loopback) -> LLMRequest:
    model = OpenAI.configure(base_url=server.url + "/v1", api_key="sk-secret").responses("m-1")
    options = {"openai": {"background": True, "store": True}}
    return request(model=model, prompt="Hi", provider_options=options)


async def test_a_cut_background_response_goes_on() -> None:
    """The request names the last number; every event arrives exactly once."""
    with serve(background) as server:
        async with Client() as client:
            first = client.stream(question(server))
            cut = (await first.result()).failure()
            assert isinstance(cut, NetworkError)
            rest = first.resumed()
            pieces = [event.text async for event in rest if isinstance(event, TextDelta)]
            response = (await rest.result()).unwrap()

    assert cut.partial is not None
    assert cut.partial.text == "Hello"
    assert cut.partial.provider_metadata["openai"]["resume"] == {
        "response_id": "resp_1",
        "sequence_number": 3,
    }
    assert pieces == [" world"]
    assert response.text == "Hello world"
    assert response.usage is not None
    assert response.usage.total_tokens == 5
    asked = server.received[1]
    assert (asked.method, asked.body) == ("GET", b"")
    assert asked.path == "/v1/responses/resp_1?stream=true&starting_after=3"
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert json.loads(server.received[0].body)["background"] is True


async def test_what_the_server_does_not_keep_cannot_be_resumed() -> None:
    """Responses without background, other protocols and middleware's streams give an error."""
    script = [chat_chunk(delta={"content": "Half"})]
    with serve(lambda _: Answer(script, headers=HEADERS, cut=True)) as server:
        chat = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k").model("m")
        async with Client() as client:
            stream = client.stream(request(model=chat, prompt="Hi"))
            await stream.result()
            other = (await stream.resumed().result()).failure()
            server.handler = lambda _: Answer([], headers=HEADERS, cut=True)
            unstarted = client.stream(question(server))
            await unstarted.result()
            never = (await unstarted.resumed().result()).failure()

    assert isinstance(other, ConfigurationError)
    assert isinstance(never, InvalidRequestError)
    with pytest.raises(ConfigurationError, match="middleware"):
        EventStream.of([]).resumed()
