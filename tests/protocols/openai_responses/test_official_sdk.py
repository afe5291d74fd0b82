"""The official SDK reads the same bytes as the same response, and takes all our bodies."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from llmcore.schema.content import ImagePart, ToolCallPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.openai_sdk import assert_agrees, sdk_client, sdk_streamed, sdk_whole
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    ANSWERS,
    CLIENT_RUN,
    ORIGIN,
    USAGE,
    body,
    document,
    events_of,
    said,
    sse,
    streamed,
    whole,
)

# -- the same bytes

KNOWN = [name for name in ANSWERS if name != "unknown item"]
"""The SDK has no types for what OpenAI does not have yet."""


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", KNOWN)
def test_a_stream_reads_the_same(name: str, size: int) -> None:
    """The SDK's accumulator and ours agree."""
    events = events_of(ANSWERS[name], size=size)

    assert_agrees(response(streamed(events)), sdk_streamed(events))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_body_reads_the_same(name: str) -> None:
    """The SDK's model and ours agree."""
    native = document(ANSWERS[name])

    assert_agrees(response(whole(native)), sdk_whole(native))


def test_an_incomplete_stream_reads_the_same() -> None:
    """The SDK passes the event on; status and reason are ours."""
    details = {"reason": "max_output_tokens"}
    events = events_of(ANSWERS["text"], "incomplete", incomplete_details=details)
    client = sdk_client(sse(events), "text/event-stream")
    with client.responses.stream(model="gpt-5.2", input="Hi") as stream:
        last = list(stream)[-1]
    client.close()

    assert last.type == "response.incomplete"
    assert_agrees(response(streamed(events)), last.response)


# -- the same bodies


@cache
def _adapter(streaming: bool) -> TypeAdapter[Any]:
    kind = ResponseCreateParamsStreaming if streaming else ResponseCreateParamsNonStreaming
    return TypeAdapter(kind)


def rejections(asked: LLMRequest, *, stream: bool = False) -> list[str]:
    """Return what the SDK's request types say against the body of *asked*."""
    built = body(asked, stream=stream)
    strict = json.loads(json.dumps(built))
    try:
        read = _exhausted(_adapter(stream).validate_python(strict))
    except ValueError as error:
        return str(error).splitlines()[:12]
    lost = sorted(strict.keys() - read.keys())
    return [f"unknown field {name}" for name in lost]


def _exhausted(value: Any) -> Any:
    """Return *value* with the lists that pydantic reads lazily read; they are checked thereby."""
    if isinstance(value, dict):
        return {key: _exhausted(item) for key, item in value.items()}
    if isinstance(value, Iterator | list) or type(value).__name__ == "ValidatorIterator":
        return [_exhausted(item) for item in value]
    return value


def _conversation(name: str) -> LLMRequest:
    answer = evolve(said(*ANSWERS[name]), origin=ORIGIN)
    shot = [ImagePart(file_id="file-1")]
    results = [Message.tool(c.id, shot, name=c.name) for c in answer.tool_calls]
    return request(
        model=Model("gpt-5.2", "openai"),
        messages=[Message.user("Hi"), answer, *results, Message.user("And?")],
    )


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", KNOWN)
def test_answers_go_back_in_types_that_the_sdk_takes(name: str, stream: bool) -> None:
    """Every item that is replayed, and every output, has a type of the SDK's."""
    assert rejections(_conversation(name), stream=stream) == []


SCHEMA: Any = {"type": "object", "properties": {"a": {"type": "string"}}}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all tools": {
        "tools": [
            ToolDefinition("f", "Does.", SCHEMA),
            ToolDefinition("g", "Does.", SCHEMA, strict=True),
            CustomTool("run", grammar=Grammar(syntax="lark", definition="start: /a/")),
            CustomTool("say"),
            HostedTool.web_search(allowed_domains=("a.example",), user_location={"city": "Riga"}),
            HostedTool.file_search(vector_store_ids=("vs_1",), max_results=2),
            HostedTool.code_execution(),
            HostedTool.computer_use(display_width=8, display_height=6),
            HostedTool.mcp(
                server_label="d", server_url="https://mcp.example", allowed_tools=("f",)
            ),
            HostedTool.shell(environment={"type": "container_auto"}),
            HostedTool.image_generation(quality="low"),
            HostedTool.tool_search(),
            HostedTool.raw("openai", {"type": "apply_patch"}),
        ],
        "tool_choice": ToolChoice.named("f"),
        "parallel_tool_calls": True,
    },
    "schema": {"response_format": ResponseFormat.json_schema(SCHEMA, description="d")},
    "json": {"response_format": ResponseFormat.json()},
    "options": {
        "provider_options": {
            "openai": {
                "background": True,
                "service_tier": "flex",
                "truncation": "auto",
                "max_tool_calls": 2,
                "safety_identifier": "u",
                "context_management": [{"type": "compaction", "compact_threshold": 9}],
                "text": {"verbosity": "low"},
                "include": ["web_search_call.action.sources"],
                "prompt": {"id": "pmpt_1"},
            }
        }
    },
    "parameters": {"temperature": 0.5, "max_tokens": 5, "metadata": {"a": "b"}},
    "reasoning": {"reasoning_effort": "high", "system": "Be brief."},
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_requests_are_of_types_that_the_sdk_takes(name: str, stream: bool) -> None:
    """Tools, formats, parameters and options."""
    asked = request(model=Model("gpt-5.4", "openai"), prompt="Hi", **FORMS[name])

    assert rejections(asked, stream=stream) == []


def test_the_check_can_fail() -> None:
    """A body that the types do not take is rejected."""
    odd = request(
        model=Model("gpt-5.4", "openai"),
        prompt="Hi",
        provider_options={"openai": {"truncation": "sometimes"}},
    )
    unknown = request(
        model=Model("gpt-5.4", "openai"), prompt="Hi", provider_options={"openai": {"x_new": 1}}
    )

    assert any("truncation" in line for line in rejections(odd))
    assert rejections(unknown) == ["unknown field x_new"]


def test_what_the_sdk_sends_is_what_we_send() -> None:
    """The SDK's own replay of a response's items, without their output-only fields, is ours."""
    output = [*ANSWERS["two reasonings"]]
    dumped = [
        item.model_dump(exclude_none=True, exclude={"status"})
        for item in sdk_whole(document(output)).output
    ]
    asked = request(model=Model("gpt-5.2", "openai"), messages=[Message.user("Hi"), said(*output)])
    lowered = [
        {k: v for k, v in item.items() if k != "status"}
        for item in body(asked)["input"][1:]
        if item["type"] != "function_call_output"
    ]
    for item in dumped:
        for part in item.get("content", []):
            part.pop("logprobs", None)

    assert [json.dumps(item, sort_keys=True) for item in lowered] == [
        json.dumps(item, sort_keys=True) for item in dumped
    ]
    assert all(isinstance(call, ToolCallPart) for call in said(CLIENT_RUN["shell"]).tool_calls)
    assert USAGE["total_tokens"] == 30
