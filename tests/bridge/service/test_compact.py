"""`POST /v1/responses/compact`: a shorter conversation, in the official client's types."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.responses import ResponseCompactionItem

from tests.support.servers.bridge_service import asked, listening, refused, settings_for, streamed
from tests.support.servers.loopback import (
    DONE,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    chat_stream,
    serve,
)

SAID: Any = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": "Count to ten. ✓"}]},
    {"role": "assistant", "content": "One, two."},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "three"},
    {"role": "user", "content": "Go on."},
]


def summarising(received: Received) -> Any:
    """Write a summary if the request asks for one."""
    body: Any = received.json
    wish = "summary" in body["messages"][-1]["content"]
    return streamed(chat_stream(["They ", "count."] if wish else ["Four."]))


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(summarising) as running:
        yield running


@pytest.fixture
def client(upstream: Loopback) -> Iterator[OpenAI]:
    with (
        listening(settings_for(upstream.url)) as url,
        OpenAI(base_url=url, api_key="any", max_retries=0) as made,
    ):
        yield made


def messages(upstream: Loopback) -> Any:
    body: Any = upstream.received[-1].json
    return body["messages"]


def texts(output: Any) -> list[str]:
    """Return what users said in a compacted conversation; all but its last item are that."""
    return [item.content[0].text for item in output[:-1] if item.role == "user"]


def window(output: Any) -> Any:
    """Return the output as input; its own types have no messages of users, and warn."""
    return [item.model_dump(exclude_none=True, warnings=False) for item in output]


def test_items_are_made_short(client: OpenAI, upstream: Loopback) -> None:
    """Users' messages as they were, then one item that stands for the rest."""
    made = client.responses.compact(model="m-1", input=SAID, instructions="Mind the names.")

    assert made.object == "response.compaction"
    assert texts(made.output) == ["Count to ten. ✓", "Go on."]
    assert isinstance(made.output[-1], ResponseCompactionItem)
    assert made.usage.total_tokens == 5
    sent = messages(upstream)
    assert sent[0] == {"role": "system", "content": "Mind the names.\n\nBe brief."}
    assert [one["role"] for one in sent[-3:]] == ["tool", "user", "user"]


def test_conversation_continues_from_the_compaction(client: OpenAI, upstream: Loopback) -> None:
    """The output is the next request's input, also of the next compaction."""
    made = client.responses.compact(model="m-1", input=SAID)
    kept = window(made.output)
    again = client.responses.create(model="m-1", input=[*kept, {"role": "user", "content": "?"}])

    assert again.output_text == "Four."
    assert [one["content"] for one in messages(upstream)][::3] == ["Count to ten. ✓", "?"]
    assert "They count." in messages(upstream)[2]["content"]

    shorter = client.responses.compact(model="m-1", input=[*kept, {"role": "user", "content": "?"}])
    assert texts(shorter.output) == ["Count to ten. ✓", "Go on.", "?"]


def test_a_stored_conversation_is_made_short(client: OpenAI) -> None:
    """`previous_response_id` alone is enough; an earlier summary is not a message of the user."""
    picture = "data:image/png;base64,aGk="
    content: Any = [
        {"type": "input_text", "text": "Hi"},
        {"type": "input_image", "image_url": picture, "detail": "low"},
    ]
    first = client.responses.create(model="m-1", input=[{"role": "user", "content": content}])
    made = client.responses.compact(model="m-1", previous_response_id=first.id)
    kept = window(made.output)
    second = client.responses.create(model="m-1", input=kept)
    again = client.responses.compact(model="m-1", previous_response_id=second.id, input="And?")

    assert texts(made.output) == ["Hi"]
    assert kept[0]["content"][1] == {
        "type": "input_image",
        "image_url": picture,
        "detail": "low",
    }
    assert texts(again.output) == ["Hi", "And?"]


def test_compaction_is_not_stored(client: OpenAI) -> None:
    """A client continues from the output, not from an id."""
    made = client.responses.compact(model="m-1", input="Hi")

    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": {"role": "user"}}, 400, "input"),
        ({"input": "Hi", "previous_response_id": "resp_none"}, 400, "previous_response_id"),
        ({"input": "Hi", "model": None}, 400, "model"),
    ],
)
def test_what_cannot_be_made_short(
    client: OpenAI, fields: dict[str, Any], status: int, param: str
) -> None:
    """As for any response."""
    with pytest.raises(openai.APIStatusError) as refusal:
        client.responses.compact(**{"model": "m-1", **fields})

    error: Any = refusal.value.body
    assert (refusal.value.status_code, error["param"]) == (status, param)


@pytest.mark.anyio
async def test_incomplete_summary_is_an_error() -> None:
    """A conversation must not be replaced by half of it."""
    cut = [chat_chunk(delta={"content": "They"}), chat_chunk(finish_reason="length"), DONE]
    scripts = iter([streamed(cut), streamed(chat_stream([])), refused(429, "slow down")])
    answers: list[httpx.Response] = []
    with serve(lambda _: next(scripts)) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            for _ in range(3):
                body = {"model": "m-1", "input": SAID}
                answers.append(await client.post("/responses/compact", json=body))

    told = [(one.status_code, one.json()["error"]["code"]) for one in answers]
    assert told == [
        (502, "compaction_incomplete"),
        (502, "upstream_stream_error"),
        (429, "rate_limit_exceeded"),
    ]


@pytest.mark.anyio
async def test_an_upstream_that_does_not_count() -> None:
    """The form wants numbers."""
    script = [chat_chunk(delta={"content": "x"}), chat_chunk(finish_reason="stop"), DONE]
    with serve(lambda _: streamed(script)) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            made = await client.post("/v1/responses/compact", json={"model": "m-1", "input": "Hi"})

    assert made.json()["usage"]["total_tokens"] == 0


@pytest.mark.anyio
async def test_omissions_of_a_compaction_are_reported() -> None:
    """In the header of every response."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            body = {"model": "m-1", "input": "Hi", "image": {"context_compression": "enabled"}}
            made = await client.post("/v1/responses/compact", json=body)

    assert "unsupported-parameter image" in made.headers["x-openbridge-diagnostics"]
