"""Requests in the form of another API: the error names the path that they belong to."""

from typing import Any

import pytest

from llmcore.fronts.checked_read import api_of
from llmcore.fronts.front import FRONT_IDS, ClientRequest, front_by_id
from llmcore.schema.result import Failure
from tests.fronts.test_legal_requests import REQUESTS
from tests.support.upstreams import upstream_of

USER = {"role": "user", "content": "Hi"}
FUNCTION = {"name": "f", "description": "F.", "parameters": {"type": "object"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OF_CHAT: dict[str, dict[str, Any]] = {
    "result": {"messages": [USER, {"role": "tool", "tool_call_id": "c", "content": "r"}]},
    "call": {"messages": [USER, {"role": "assistant", "content": 7, "tool_calls": [CALL]}]},
    "image": {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]}]
    },
    "tool": {"messages": [USER], "tools": [{"type": "function", "function": FUNCTION}]},
    "choice": {"messages": [USER], "tools": [], "tool_choice": "auto"},
}
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}


def refusal(front_id: str, body: dict[str, Any]) -> str:
    request = ClientRequest(body=body, path="/v1beta/models/m:generateContent")
    result = front_by_id(front_id).read(request, upstream_of("bedrock-converse"))
    assert isinstance(result, Failure)
    assert result.error.status == 400
    return str(result.error.message)


@pytest.mark.parametrize("form", list(OF_CHAT))
@pytest.mark.parametrize("front_id", ["anthropic-messages", "gemini", "openai-responses"])
def test_a_request_of_chat_completions_is_named_by_the_error(front_id: str, form: str) -> None:
    message = refusal(front_id, {"model": "m", "max_tokens": 9, **OF_CHAT[form]})

    assert message.endswith("for /v1/chat/completions, another API: send it there.")


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("api", ["openai-responses", "anthropic-messages", "gemini"])
def test_a_request_of_another_api_is_named_by_the_error(front_id: str, api: str) -> None:
    """The Chat front reads those of Responses and Messages, as Cursor sends them."""
    bodies: dict[str, dict[str, Any]] = {
        "openai-responses": {"input": "Hi"},
        "anthropic-messages": {
            "system": "S",
            "messages": [{"role": "user", "content": [{"type": "tool_result"}]}],
        },
        "gemini": {"contents": [{"parts": [{"text": "Hi"}]}]},
    }
    body = {"model": "m", **bodies[api]}
    if front_id == api or (front_id, api) == ("openai-chat", "openai-responses"):
        return

    assert f"for {PATHS[api]}, another API" in refusal(front_id, body)


@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_legal_request_is_of_its_own_api(front_id: str) -> None:
    assert {api_of(body) for body in REQUESTS[front_id].values()} <= {front_id, None}
