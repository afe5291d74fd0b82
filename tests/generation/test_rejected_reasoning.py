"""A conversation whose encrypted reasoning is rejected is sent again without it, once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from llmcore.client.client import Client
from llmcore.generation.generate import generate
from llmcore.generation.rejected_reasoning import is_rejected_reasoning, without_opaque_reasoning
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.stream import stream
from llmcore.protocols.failures.errors import error_from_body
from llmcore.routes.openai import OpenAI
from llmcore.schema.content import ProviderPart, TextPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from tests.support.servers.loopback import Answer, Loopback, Received, serve
from tests.support.wire.responses import (
    document,
    events_of,
    function_call,
    message,
    reasoning,
    said,
    sse,
)

pytestmark = pytest.mark.anyio

BAD = {
    "error": {
        "message": "The encrypted content gAAA could not be verified.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_encrypted_content",
    }
}
CALL = function_call(n=1)
HISTORY = (
    Message.user("What is the weather?"),
    said(reasoning(encrypted="gAAA"), message("I will look."), CALL),
    Message.tool(CALL["call_id"], "sunny"),
)


def verifying(received: Received) -> Answer:
    """Refuse whatever holds encrypted content."""
    if b"gAAA" in received.body:
        return Answer([json.dumps(BAD).encode()], 400, {"content-type": "application/json"})
    said = [message("Sunny.")]
    if b'"stream":true' in received.body:
        return Answer([sse(events_of(said))], headers={"content-type": "text/event-stream"})
    whole = json.dumps(document(said)).encode()
    return Answer([whole], headers={"content-type": "application/json"})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(verifying) as running:
        yield running


async def ask(server: Loopback, *, streamed: bool = False, **settings: Any) -> Any:
    model = OpenAI.configure(api_key="k", base_url=server.url).responses("gpt-5.2")
    async with Client() as client:
        given = {"messages": HISTORY, "client": client, **settings}
        if streamed:
            return await stream(model, **given).result()
        return await generate(model, **given)


@pytest.mark.parametrize("streamed", [False, True])
async def test_it_is_left_out_once(server: Loopback, streamed: bool) -> None:
    """The words and calls stay; the ids that belong to the reasoning go with it."""
    result = await ask(server, streamed=streamed)

    assert result.text == "Sunny."
    assert result.steps[0].requests == len(server.received) == 2
    again = server.received[1].body
    assert b"I will look." in again
    assert CALL["call_id"].encode() in again
    assert b"rs_1" not in again
    assert b"msg_1" not in again
    assert "reasoning-dropped" in {note.code for note in result.diagnostics}


@pytest.mark.parametrize(
    "policy", [RetryPolicy(drop_rejected_reasoning=False), RetryPolicy(max_retries=0)]
)
async def test_it_can_be_an_error(server: Loopback, policy: RetryPolicy) -> None:
    """For those who would rather know."""
    with pytest.raises(InvalidRequestError) as caught:
        await ask(server, retry_policy=policy)

    assert caught.value.error_code == "invalid_encrypted_content"
    assert len(server.received) == 1


async def test_what_is_rejected_again_is_an_error(server: Loopback) -> None:
    """There is nothing more to leave out."""
    refused = [json.dumps(BAD).encode()]
    server.handler = lambda _: Answer(refused, 400, {"content-type": "application/json"})
    with pytest.raises(InvalidRequestError):
        await ask(server, retry_policy=RetryPolicy(max_retries=5))

    assert len(server.received) == 2


_WORDS = "The encrypted content gAAA could not be verified. Reason: it could not be decrypted."
_NATIVE: Any = {"error": {"code": "invalid_encrypted_content", "message": _WORDS}}


@pytest.mark.parametrize(
    "document",
    [
        _NATIVE,
        {"type": "error", **_NATIVE},
        {"error": {"message": _WORDS, "code": None}},
        {"error": {"message": "reasoning `encrypted_content` was not issued to this caller"}},
        {"error": {"code": 400, "message": "Error", "metadata": {"raw": json.dumps(_NATIVE)}}},
        {"error": {"code": "400", "message": f"BadRequestError: {json.dumps(_NATIVE)}"}},
    ],
)
def test_rejected_reasoning_is_known_by_code_or_message(document: Any) -> None:
    """Proxies replace the code by a number, and keep the message."""
    assert is_rejected_reasoning(error_from_body(provider="openai", body=document))
    assert not is_rejected_reasoning(error_from_body(provider="openai", body={"error": "No."}))


def test_a_native_item_of_reasoning_is_left_out() -> None:
    """As a gateway reads it from a client; what is not encrypted stays."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    found = {"type": "web_search_call", "id": "ws_1"}
    parts = (ProviderPart("openai", item), ProviderPart("openai", found), TextPart("Hi."))
    asked = LLMRequest(model="m", messages=(Message.assistant(parts),))

    assert without_opaque_reasoning(asked).messages[0].content == parts[1:]
