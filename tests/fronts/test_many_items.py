"""Requests and responses of very many items: each costs the same, however many there are."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from llmcore.fronts.front import FRONT_IDS, ClientRequest, ResponseIdentity, front_by_id
from llmcore.protocols.openai_chat.names import PROTOCOL_ID as CHAT
from llmcore.schema.events import LLMEvent
from llmcore.testing import recorded_events
from tests.support.opcodes import opcodes
from tests.support.upstreams import upstream_of

HELLO = {"role": "user", "content": "Hi"}
GEMINIS = {"role": "user", "parts": [{"text": "Hi"}]}


def function(number: int) -> dict[str, Any]:
    return {"type": "function", "function": {"name": f"f{number}", "parameters": {}}}


def allowed_tools(count: int) -> dict[str, Any]:
    functions = [function(number) for number in range(count)]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": functions}}
    return {"messages": [HELLO], "tools": functions, "tool_choice": choice}


def chat_calls(count: int) -> dict[str, Any]:
    calls = [{"id": f"c{n}", **function(n)} for n in range(count)]
    for call in calls:
        call["function"] = {"name": "f", "arguments": "{}"}
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "r"} for n in range(count)]
    return {"messages": [HELLO, {"role": "assistant", "tool_calls": calls}, *results[::-1]]}


def responses_calls(count: int) -> dict[str, Any]:
    base = {"type": "function_call", "name": "f", "arguments": "{}"}
    calls = [{**base, "call_id": f"c{n}"} for n in range(count)]
    output = {"type": "function_call_output", "output": "r"}
    return {"input": [HELLO, *calls, *({**output, "call_id": f"c{n}"} for n in range(count))]}


def messages_calls(count: int) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}} for n in range(count)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}"} for n in range(count)]
    turn = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return {"max_tokens": 9, "messages": [HELLO, *turn]}


def gemini_calls(count: int, *, ids: bool, reverse: bool) -> dict[str, Any]:
    named = [{"name": f"f{n}", **({"id": f"c{n}"} if ids else {})} for n in range(count)]
    calls = [{"functionCall": {**call, "args": {}}} for call in named]
    results = [{"functionResponse": {**call, "response": {"a": 1}}} for call in named]
    answer = {"role": "user", "parts": results[::-1] if reverse else results}
    return {"contents": [GEMINIS, {"role": "model", "parts": calls}, answer]}


BODIES: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "allowed tools": ("openai-chat", allowed_tools),
    "calls of Chat": ("openai-chat", chat_calls),
    "calls of Responses": ("openai-responses", responses_calls),
    "calls of Messages": ("anthropic-messages", messages_calls),
    "calls of Gemini": ("gemini", lambda n: gemini_calls(n, ids=False, reverse=False)),
    "calls of Gemini, reversed": ("gemini", lambda n: gemini_calls(n, ids=False, reverse=True)),
    "ids of Gemini, reversed": ("gemini", lambda n: gemini_calls(n, ids=True, reverse=True)),
}


@pytest.mark.parametrize("name", BODIES)
def test_an_item_of_a_request_costs_the_same_beside_many(name: str) -> None:
    front_id, body = BODIES[name]
    front = front_by_id(front_id)
    upstream = upstream_of(CHAT)

    def steps(count: int) -> int:
        request = ClientRequest(
            body={"model": "m-1", **body(count)}, path="/v1beta/models/m-1:generateContent"
        )
        return opcodes(lambda: front.read(request, upstream).unwrap())

    steps(1)  # what is done once
    assert steps(400) < 13 * steps(40)


# -- responses


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "model": "m", "choices": [choice]}


def call(number: int) -> dict[str, Any]:
    made = {"index": number, "id": f"c{number}", "function": {"name": "f", "arguments": "{}"}}
    return chunk({"tool_calls": [made]})


def source(number: int) -> dict[str, Any]:
    cited = {"url": f"https://example.com/{number}", "start_index": 0, "end_index": 1}
    return chunk({"annotations": [{"type": "url_citation", "url_citation": cited}]})


def responding(chunks: list[dict[str, Any]], reason: str) -> Sequence[LLMEvent]:
    chunks = [*chunks, chunk({}, reason)]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
    body += b"data: [DONE]\n\n"
    headers = {"content-type": "text/event-stream"}
    return recorded_events(CHAT, status=200, headers=headers, body=body, streaming=True)


RESPONSES: dict[str, Callable[[int], Sequence[LLMEvent]]] = {
    "calls": lambda n: responding([call(number) for number in range(n)], "tool_calls"),
    "sources": lambda n: responding(
        [chunk({"content": "a"}), *(source(number) for number in range(n))], "stop"
    ),
}


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("name", RESPONSES)
def test_an_item_of_a_response_costs_the_same_beside_many(name: str, front_id: str) -> None:
    front = front_by_id(front_id)
    upstream = upstream_of(CHAT)

    def steps(count: int) -> int:
        events = RESPONSES[name](count)
        info = ResponseIdentity(id=f"{front.id_prefix}_1", created_at=1, model="m-1")
        writer = front.writer(info, front.no_request, upstream)
        return opcodes(lambda: [writer.feed(event) for event in events])

    steps(1)  # what is done once
    assert steps(400) < 13 * steps(40)
