"""The bytes of Responses as OpenAI's official SDK reads them, compared with this library."""

import json
from typing import Any

import httpx2
from openai import OpenAI
from openai.types.responses import Response

from llmcore.schema.response import LLMResponse
from tests.support.wire.responses import Native, sse


def sdk_client(content: bytes, media_type: str) -> OpenAI:
    """Return the official client, answered with *content*."""

    def serve(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=content, headers={"content-type": media_type})

    transport = httpx2.MockTransport(serve)
    return OpenAI(api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0)


def sdk_streamed(events: list[Native]) -> Response:
    """Return the final response that the SDK's accumulator makes of a stream."""
    client = sdk_client(sse(events), "text/event-stream")
    with client.responses.stream(model="gpt-5.2", input="Hi") as stream:
        final = stream.get_final_response()
    client.close()
    return final


def sdk_whole(native: Native) -> Response:
    """Return what the SDK reads of a body."""
    client = sdk_client(json.dumps(native).encode(), "application/json")
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
