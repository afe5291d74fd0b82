"""The official SDK reads the same bytes to the same answer, and takes every body that we build."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx2
import pytest
from attrs import evolve
from openai import OpenAI
from openai.types.responses import Response
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
from llmcore.schema.response import LLMResponse
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    ANSWERS,
    CLIENT_RUN,
    ORIGIN,
    USAGE,
    Native,
    body,
    document,
    events_of,
    said,
    sse,
    streamed,
    whole,
)

# -- the same bytes


def _client(content: bytes, media_type: str) -> OpenAI:
    def serve(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=content, headers={"content-type": media_type})

    transport = httpx2.MockTransport(serve)
    return OpenAI(api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0)


def sdk_streamed(events: list[Native]) -> Response:
    """Return the final response that the SDK's accumulator makes of a stream."""
    client = _client(sse(events), "text/event-stream")
    with client.responses.stream(model="gpt-5.2", input="Hi") as stream:
        final = stream.get_final_response()
    client.close()
    return final


def sdk_whole(native: Native) -> Response:
    """Return what the SDK reads of a body."""
    client = _client(json.dumps(native).encode(), "application/json")
    final = client.responses.create(model="gpt-5.2", input="Hi")
    client.close()
    return final


def _calls_of(final: Response) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for item in final.output:
        if item.type == "function_call":
            found.append((item.call_id, item.name, json.loads(item.arguments)))
        elif item.type == "custom_tool_call":
            found.append((item.call_id, item.name, item.input))
    return found


def _calls(answer: LLMResponse) -> list[tuple[str, str, Any]]:
    names = {"weather", "run"}
    return [(c.id, c.name, c.arguments) for c in answer.tool_calls if c.name in names]


def _reasoning(final: Response) -> str:
    texts: list[str] = []
    for item in final.output:
        if item.type == "reasoning":
            texts += [part.text for part in item.summary]
            texts += [part.text for part in item.content or []]
    return "".join(texts)


def assert_agrees(answer: LLMResponse, final: Response) -> None:
    """Compare text, reasoning, calls, status and usage."""
    assert final.usage is not None
    assert answer.usage is not None
    assert answer.id == final.id
    assert answer.text == final.output_text
    assert (answer.reasoning or "") == _reasoning(final)
    assert _calls(answer) == _calls_of(final)
    assert answer.finish_reason.raw in (
        final.status,
        final.incomplete_details.reason if final.incomplete_details else None,
    )
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (
        final.usage.input_tokens,
        final.usage.output_tokens,
        final.usage.total_tokens,
    )
    assert answer.usage.reasoning_tokens == final.usage.output_tokens_details.reasoning_tokens
    assert answer.usage.cache_read_tokens == final.usage.input_tokens_details.cached_tokens


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
    client = _client(sse(events), "text/event-stream")
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
    """The SDK's own replay of an answer's items, without their output-only fields, is ours."""
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
