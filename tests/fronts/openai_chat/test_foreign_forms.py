"""Tools, blocks and requests in other APIs' forms, as Cursor sends them to Chat Completions."""

import copy
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import Client
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_chat.foreign_forms import has_foreign_forms, in_own_forms
from llmcore.schema.result import Failure, Success
from scripts.fronts_table import MODELS
from tests.support.servers.front_gateways import MODEL, gateway
from tests.support.strategies.requests import json_values
from tests.support.upstreams import upstream_of
from tests.support.wire.matrix import COMPATIBLE, Said, playing

CLIENT = Client(environ={})
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
PDF = "JVBERi0xLjQKJSVFT0Y="
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
HI = {"role": "user", "content": "Hi"}
READ: dict[str, Any] = {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}
BARE = {"name": "read", "input_schema": SCHEMA}
MARK = {"cache_control": {"type": "ephemeral"}}
LARK = {"syntax": "lark", "definition": 'start: "a"'}
CALL = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
SOURCE = {"type": "base64", "media_type": "image/png", "data": PIXEL}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}


def asked(*messages: dict[str, Any], tools: Any = (READ,), **fields: Any) -> dict[str, Any]:
    return {"messages": [HI, *messages], "tools": list(tools), **fields}


def result(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", "content": content, **fields}


def after_call(*blocks: dict[str, Any]) -> dict[str, Any]:
    spoken = {"role": "assistant", "content": [USE]}
    return asked(spoken, {"role": "user", "content": list(blocks)}, tools=[BARE])


def after_own_call(content: Any, *later: dict[str, Any], **fields: Any) -> dict[str, Any]:
    told = {"role": "tool", "tool_call_id": "t1", "content": content, **fields}
    return asked({"role": "assistant", "content": None, "tool_calls": [CALL]}, told, *later)


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a flat function": (
        asked(tools=[{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]),
        asked(tools=[{**READ, "function": {**READ["function"], "strict": False}}]),
    ),
    "a flat freeform tool": (
        asked(tools=[{"type": "custom", "name": "patch", "format": {"type": "grammar", **LARK}}]),
        asked(
            tools=[
                {
                    "type": "custom",
                    "custom": {"name": "patch", "format": {"type": "grammar", "grammar": LARK}},
                }
            ]
        ),
    ),
    "a flat freeform tool of texts": (
        asked(tools=[READ, {"type": "custom", "name": "patch", "format": {"type": "text"}}]),
        asked(
            tools=[
                READ,
                {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
            ]
        ),
    ),
    "Anthropic's tools": (
        asked(tools=[{**BARE, **MARK}, {**BARE, "name": "b", "type": "custom"}]),
        asked(
            tools=[
                {**READ, **MARK},
                {"type": "function", "function": {"name": "b", "parameters": SCHEMA}},
            ]
        ),
    ),
    "Anthropic's choice of any tool": (
        asked(tools=[BARE], tool_choice={"type": "any", "disable_parallel_tool_use": True}),
        asked(tool_choice="required", parallel_tool_calls=False),
    ),
    "Anthropic's choice of one tool": (
        asked(tools=[BARE], tool_choice={"type": "tool", "name": "read"}),
        asked(tool_choice={"type": "function", "function": {"name": "read"}}),
    ),
    "Anthropic's choice of none": (
        asked(tools=[BARE], tool_choice={"type": "none"}),
        asked(tool_choice="none"),
    ),
    "a call and its result": (
        after_call(result([{"type": "text", "text": "im"}, {"type": "text", "text": "port"}])),
        after_own_call([{"type": "text", "text": "im"}, {"type": "text", "text": "port"}]),
    ),
    "a result, and a text": (
        after_call({"type": "text", "text": "So?"}, result("import", **MARK)),
        after_own_call(
            "import", {"role": "user", "content": [{"type": "text", "text": "So?"}]}, **MARK
        ),
    ),
    "a result that failed": (
        after_call(result("no such file", is_error=True)),
        after_own_call("Error: no such file"),
    ),
    "a result without content": (after_call(result(None)), after_own_call("")),
    "an image as a result": (
        after_call(result([{"type": "image", "source": SOURCE}])),
        after_own_call([IMAGE]),
    ),
    "a text, and a call": (
        asked(
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, USE]},
            {"role": "user", "content": [result("a")]},
        ),
        asked(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [CALL],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "a"},
        ),
    ),
    "thinking": (
        asked(
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Yes."},
                ],
            },
            HI,
        ),
        asked(
            {
                "role": "assistant",
                "content": "Yes.",
                "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}],
            },
            HI,
        ),
    ),
    "images and documents": (
        asked(
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": SOURCE, **MARK},
                    {"type": "image", "source": {"type": "url", "url": "https://a.example/p.png"}},
                    {
                        "type": "document",
                        "title": "a.pdf",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    },
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "It rains."},
                    },
                ],
            }
        ),
        asked(
            {
                "role": "user",
                "content": [
                    {**IMAGE, **MARK},
                    {"type": "image_url", "image_url": {"url": "https://a.example/p.png"}},
                    {
                        "type": "file",
                        "file": {
                            "filename": "a.pdf",
                            "file_data": f"data:application/pdf;base64,{PDF}",
                        },
                    },
                    {"type": "text", "text": "It rains."},
                ],
            }
        ),
    ),
    "a request of the Responses API": (
        {
            "instructions": "Be brief.",
            "input": [
                HI,
                {"type": "function_call", "call_id": "t1", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "t1", "output": "import"},
            ],
            "tools": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}],
            "text": {"format": {"type": "json_object"}},
        },
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                HI,
                {
                    "role": "assistant",
                    "tool_calls": [{**CALL, "function": {"name": "read", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "import"},
            ],
            "tools": [{**READ, "function": {**READ["function"], "strict": False}}],
            "response_format": {"type": "json_object"},
        },
    ),
}
"""Requests in other APIs' forms, and what they are in that of Chat Completions."""


def built(body: dict[str, Any], protocol_id: str) -> Any:
    """Return the body that an upstream of *protocol_id* gets."""
    upstream = upstream_of(protocol_id, MODELS[protocol_id])
    request = ClientRequest(body={"model": "m", **body})
    read = front.read(request, upstream).unwrap()
    return json.loads(json.dumps(CLIENT.prepare(read.request).unwrap().body, default=dict))


@pytest.mark.parametrize("protocol_id", list(MODELS))
@pytest.mark.parametrize("name", list(FORMS))
def test_an_upstream_gets_the_same_as_of_the_apis_own_form(name: str, protocol_id: str) -> None:
    foreign, own = FORMS[name]
    before = copy.deepcopy(foreign)

    assert has_foreign_forms(foreign)
    assert not has_foreign_forms(own)
    assert in_own_forms(own) is own
    assert built(foreign, protocol_id) == built(own, protocol_id)
    assert foreign == before


@given(json_values(), st.sampled_from(["tool_use", "tool_result", "image", "document", "custom"]))
def test_a_block_of_any_content_is_read_or_refused(value: Any, kind: str) -> None:
    """With a 400 that says which field is wrong."""
    fields = (
        "type",
        "id",
        "name",
        "input",
        "content",
        "source",
        "tool_use_id",
        "input_schema",
        "format",
    )
    upstream = upstream_of()
    for field in fields:
        block = {"type": kind, "id": "t1", "name": "f", "tool_use_id": "t1", field: value}
        for role in ("user", "assistant"):
            body = asked({"role": role, "content": [block, "x"]}, tools=[block], tool_choice=block)
            match front.read(ClientRequest(body={"model": "m", **body}), upstream):
                case Success(read):
                    assert read.request.messages
                case Failure(error):
                    assert error.status == 400


# -- through the gateway


@pytest.mark.parametrize("name", ["Anthropic's tools", "a request of the Responses API"])
def test_a_chat_server_gets_the_apis_own_form_through_a_gateway_that_relays(name: str) -> None:
    """And the client a response of Chat Completions, streamed as it asks."""
    foreign, own = FORMS[name]
    with playing(COMPATIBLE, Said(text="It rains.")) as scene, gateway(scene.model) as url:
        response = post(url, {**foreign, "stream": True, "stream_options": {"include_usage": True}})

    (sent,) = scene.bodies
    chunks = [json.loads(line[6:]) for line in response.splitlines() if line.startswith("data: {")]
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
    assert text == "It rains."
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert [message["role"] for message in sent["messages"]] == [
        message["role"] for message in own["messages"]
    ]
    assert [sorted(tool) for tool in sent["tools"]] == [["function", "type"]] * len(own["tools"])


def post(url: str, body: dict[str, Any]) -> str:
    """Return the text of the response to *body*."""
    answer = httpx.post(f"{url}/v1/chat/completions", json={"model": MODEL, **body})
    assert answer.status_code == 200, answer.text
    return answer.text
