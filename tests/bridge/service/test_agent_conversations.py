"""Faults that break agents behind gateways, end to end: agents' requests, upstreams' bytes."""

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.bridge.http.app import make_app
from llmcore.bridge.service import Service
from llmcore.fronts.openai_responses.grammar import violations
from llmcore.testing.script import ScriptedTransport, scripted
from tests.fronts.openai_responses.openai_types import check_event
from tests.support.servers.bridge_service import events_of, text_of, tool_script
from tests.support.servers.loopback import DONE, chat_chunk, chat_stream, sse

pytestmark = pytest.mark.anyio

KEYS = {
    "ANTHROPIC_API_KEY": "a",
    "DEEPSEEK_API_KEY": "d",
    "GEMINI_API_KEY": "g",
    "OPENAI_API_KEY": "o",
    "OPENROUTER_API_KEY": "r",
}
TOOL = {
    "type": "function",
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    "strict": False,
}
ENCRYPTED = {"store": False, "include": ["reasoning.encrypted_content"]}


def stream(script: Sequence[bytes | float]) -> tuple[int, dict[str, str], bytes]:
    """Return a streamed response of an upstream."""
    data = b"".join(piece for piece in script if isinstance(piece, bytes))
    return 200, {"content-type": "text/event-stream"}, data


@asynccontextmanager
async def agent(provider: str, *answers: Any) -> AsyncIterator["Agent"]:
    """Run a gateway in front of *provider*, which answers so."""
    transport = scripted(*answers)
    settings = GatewaySettings(
        upstream=provider,
        environ=KEYS,
        state=StateSettings(backend="memory"),
        retries=0,
        relay=False,
    )
    service = Service.from_settings(settings, transport=transport)
    to_app = httpx.ASGITransport(app=make_app(service))
    async with httpx.AsyncClient(transport=to_app, base_url="http://localhost") as client:
        yield Agent(client, transport)
    await service.aclose()


class Agent:
    """A client that keeps the whole conversation itself, as Codex does."""

    def __init__(self, client: httpx.AsyncClient, transport: ScriptedTransport) -> None:
        self._client = client
        self._transport = transport
        self.items: list[Any] = []

    async def ask(self, *items: Any, **fields: Any) -> Any:
        """Send all items so far and *items*, streamed; return the last response."""
        self.items += items
        body = {"model": "m-1", "stream": True, **fields, "input": self.items}
        answer = await self._client.post("/v1/responses", json=body)
        assert answer.status_code == 200, answer.text
        events = events_of(answer.content)
        assert violations(events) == []
        for event in events:
            check_event(event)
        response: Any = events[-1]["response"]
        self.items += response["output"]
        return response

    def sent(self, number: int = -1) -> Any:
        """Return the body that the upstream got."""
        return json.loads(self._transport.requests[number].body)


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def output_of(call: Any, text: str = "seen") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


# -- The thinking that an upstream wants back


@pytest.mark.parametrize("fields", [ENCRYPTED, {"store": False}, {}])
async def test_reasoning_content_goes_back_with_its_calls(fields: Any) -> None:
    """DeepSeek refuses a tool loop without it, though the client sends Responses items only."""
    thinking = chat_chunk(delta={"reasoning_content": "I should look."})
    calls = [thinking, *tool_script(("call_1", "look", '{"at": "x"}'))]
    async with agent("deepseek", stream(calls), stream(chat_stream())) as codex:
        first = await codex.ask(said("Look"), tools=[TOOL], **fields)
        await codex.ask(output_of(first["output"][-1]), tools=[TOOL], **fields)

        sent = codex.sent()["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["reasoning_content"] == "I should look."
    assert sent[1]["tool_calls"][0]["function"]["name"] == "look"


# -- Ids of calls


@pytest.mark.parametrize(
    "ids",
    [
        ("a", "b"),
        ("toolu_" + "x" * 300, "toolu_" + "x" * 299 + "y"),
        ("call|1", "call/1"),
        ("ü" * 40, "é" * 40),
        ("functions.look:0", "functions.look:1"),
    ],
)
async def test_every_output_finds_its_call(ids: tuple[str, str]) -> None:
    """Whatever the upstream calls its calls; the client's ids are short, and not the same."""
    calls = tool_script((ids[0], "look", '{"at": "x"}'), (ids[1], "look", '{"at": "y"}'))
    async with agent("openrouter", stream(calls), stream(chat_stream())) as codex:
        first = await codex.ask(said("Look"), tools=[TOOL])
        outputs = [output_of(call, call["arguments"]) for call in first["output"]]
        await codex.ask(*reversed(outputs), tools=[TOOL])
        sent = codex.sent()["messages"]

    shown = [call["call_id"] for call in first["output"]]
    assert len(set(shown)) == 2
    assert all(len(one) <= 64 for one in shown)
    asked = {c["id"]: json.loads(c["function"]["arguments"]) for c in sent[1]["tool_calls"]}
    answered = {m["tool_call_id"]: json.loads(m["content"]) for m in sent if m["role"] == "tool"}
    assert asked == answered


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}"])
async def test_a_call_without_arguments_is_an_empty_object(arguments: str) -> None:
    """For the client, and for the upstream that gets it back."""
    calls = tool_script(("call_1", "look", arguments))
    async with agent("openrouter", stream(calls), stream(chat_stream())) as codex:
        first = await codex.ask(said("Look"), tools=[TOOL], store=False)
        await codex.ask(output_of(first["output"][0]), tools=[TOOL], store=False)
        sent = codex.sent()["messages"][1]["tool_calls"][0]["function"]["arguments"]

    assert json.loads(first["output"][0]["arguments"]) in ({}, None)
    assert json.loads(sent) == {}


# -- Upstreams of the same API that send less than its documents say


WORDS = ["Hel", "lo"]


def native(variant: str, *, wandering: bool = False) -> tuple[int, dict[str, str], bytes]:
    """Return a Responses stream with only so many of its events.

    With *wandering* ids every event names its item anew, as GitHub Copilot's do.
    """
    part = {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}
    message: Any = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
    call: Any = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look"}
    done = [{**message, "status": "completed"}, {**call, "arguments": '{"at": "x"}'}]
    empty = [{**message, "content": []}, {**call, "arguments": ""}]
    response = {"id": "resp_up", "object": "response", "model": "m-1", "status": "in_progress"}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    at = {"item_id": "fc_1", "output_index": 1}
    deltas: list[dict[str, Any]] = []
    finals: list[dict[str, Any]] = []
    if "delta" in variant:
        deltas = [{"type": "response.output_text.delta", **place, "delta": w} for w in WORDS]
        text = {"type": "response.function_call_arguments.delta", **at}
        finals = [{**text, "delta": '{"at"'}, {**text, "delta": ': "x"}'}]
    if "done" in variant:
        deltas.append({"type": "response.output_text.done", **place, "text": "Hello"})
        finals.append(
            {"type": "response.function_call_arguments.done", **at, "arguments": '{"at": "x"}'}
        )
    events: list[dict[str, Any]] = [{"type": "response.created", "response": response}]
    for number, more in enumerate((deltas, finals)):
        if variant != "completed":
            added = {"type": "response.output_item.added", "output_index": number}
            events += [{**added, "item": empty[number]}, *more]
            ended = {"type": "response.output_item.done", "output_index": number}
            events.append({**ended, "item": done[number]})
    whole = {**response, "status": "completed", "output": done}
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events if wandering else ()):
        if "item_id" in event:
            event["item_id"] = f"wandering_{number}"
        elif "item" in event:
            event["item"] = {**event["item"], "id": f"wandering_{number}"}
    return stream([sse(event) for event in events])


@pytest.mark.parametrize("wandering", [False, True])
@pytest.mark.parametrize("variant", ["delta+done", "delta", "done", "completed"])
async def test_a_responses_upstream_may_leave_events_out(variant: str, wandering: bool) -> None:
    """The client gets each character once, each call once, and ids that stay."""
    async with agent("openai", native(variant, wandering=wandering)) as codex:
        response = await codex.ask(said("Hi"), tools=[TOOL], store=False)

    assert text_of(response) == "Hello"
    message, call = response["output"]
    assert (message["type"], call["type"], call["call_id"]) == (
        "message",
        "function_call",
        "call_1",
    )
    assert json.loads(call["arguments"]) == {"at": "x"}


# -- Ends


@pytest.mark.parametrize(
    ("reason", "status", "detail"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
    ],
)
@pytest.mark.parametrize("texts", [(), ("Hel",)])
async def test_response_end_has_its_reason_and_usage(
    reason: str, status: str, detail: str | None, texts: tuple[str, ...]
) -> None:
    """Also of a response without a word; its usage is kept."""
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    script = [
        *(chat_chunk(delta={"content": text}) for text in texts),
        chat_chunk(finish_reason=reason),
        sse({"id": "c", "model": "m-1", "choices": [], "usage": usage}),
        DONE,
    ]
    async with agent("openrouter", stream(script)) as codex:
        response = await codex.ask(said("Hi"))

    told = response["incomplete_details"]
    assert (response["status"], told and told["reason"]) == (status, detail)
    assert (response["usage"]["input_tokens"], text_of(response)) == (7, "".join(texts))


# -- What goes up


@pytest.mark.parametrize("fields", [ENCRYPTED, {}])
async def test_each_request_begins_with_the_one_before(fields: Any) -> None:
    """Byte for byte, so that the upstream's prompt cache stays warm."""
    thinking = chat_chunk(delta={"reasoning": "Hm."})
    calls = [thinking, *tool_script(("call_1", "look", '{"b": 1, "a": 2}'))]
    words = [thinking, *chat_stream(["Done", " it."])]
    async with agent("openrouter", *map(stream, (calls, words, calls, words))) as codex:
        for _ in range(2):
            first = await codex.ask(said("Look"), tools=[TOOL], **fields)
            await codex.ask(output_of(first["output"][-1]), tools=[TOOL], **fields)
        bodies = [codex.sent(number) for number in range(4)]

    texts = [json.dumps(body.pop("messages")).removesuffix("]") for body in bodies]
    for before, after in itertools.pairwise(texts):
        assert after.startswith(before)
    assert all(body == bodies[0] for body in bodies)


async def test_a_choice_of_no_tool_keeps_the_tools() -> None:
    """The history has calls of them, which some upstreams refuse without their definitions."""
    calls = tool_script(("call_1", "look", "{}"))
    async with agent("openrouter", stream(calls), stream(chat_stream())) as codex:
        first = await codex.ask(said("Look"), tools=[TOOL])
        await codex.ask(output_of(first["output"][0]), tools=[TOOL], tool_choice="none")
        sent = codex.sent()

    assert sent["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["look"]


NODE: Any = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
    },
    "required": ["title"],
    "additionalProperties": False,
    "$defs": {"node": {"type": "object", "properties": {"n": {"$ref": "#/$defs/node"}}}},
}


@pytest.mark.parametrize("provider", ["google", "anthropic", "openai", "openrouter", "deepseek"])
async def test_a_schema_of_an_agent_is_taken_everywhere(provider: str) -> None:
    """It refers to itself, and says what not every upstream knows; its own names survive."""
    answer: Any = (400, {}, {"error": {"message": "as far as this test goes"}})
    async with agent(provider, answer) as codex:
        with pytest.raises(AssertionError, match="as far as this test goes"):
            await codex.ask(said("Hi"), tools=[{**TOOL, "parameters": NODE}])
        sent = json.dumps(codex.sent())

    assert len(sent) < 4000
    assert '"title"' in sent


async def test_a_forced_call_goes_with_thinking() -> None:
    """Anthropic refuses both together; a diagnostic reports the loss, and the request succeeds."""
    answer: Any = (400, {}, {"error": {"message": "as far as this test goes"}})
    choice = {"type": "function", "name": "look"}
    async with agent("anthropic", answer) as codex:
        with pytest.raises(AssertionError, match="as far as this test goes"):
            await codex.ask(
                said("Look"), tools=[TOOL], tool_choice=choice, reasoning={"effort": "high"}
            )
        sent = codex.sent()

    thinks = sent.get("thinking", {}).get("type") not in (None, "disabled")
    assert not (thinks and sent.get("tool_choice", {}).get("type") in ("any", "tool"))
