"""Clients of Chat Completions and Responses that are made for one provider's server.

They cannot read all that OpenAI's clients read. The SDKs of Mistral and Cerebras require the name
or the type of a call in each piece of it, which OpenAI's clients would join: they get each call in
one chunk, as from Mistral's API. OpenRouter's SDKs require the status of an error as its `code`,
where OpenAI has a word that clients match:

    {"error": {"code": 429, "message": "..."}}
    {"id": "chatcmpl-1", ..., "error": {"code": 502, "message": "..."}, "choices": [
     {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}

Sources, read November 2026: https://openrouter.ai/docs/api/reference/errors-and-debugging, and the
types of the packages `mistralai` 3.7.0 (`FunctionCall`), `cerebras-cloud-sdk` 1.91.0
(`ChatChunkResponseChoiceDeltaToolCall`) and `openrouter` 1.3.84 (`ChatStreamChunk`).
"""

import re
from collections.abc import Callable
from typing import Any, Final

from attrs import evolve

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, FailureResponse
from llmcore.fronts.openai_forms import message_of
from llmcore.schema.json import JsonObject

_SDK: Final = re.compile(
    r"(?P<mistral>mistral-client-)|(?P<cerebras>(?:Async)?Cerebras/)"
    r"|(?P<openrouter>speakeasy-sdk/.* (?:@openrouter/sdk|openrouter)$)"
)
"""How the SDKs of providers name themselves: `mistral-client-python/3.7.0`, `Cerebras/Python
1.91.0`, `speakeasy-sdk/typescript 1.3.19 2.914.0 1.0.0 @openrouter/sdk`."""


def can_relay(request: ClientRequest, provider: str) -> bool:
    """Return whether the client reads what the server of *provider* sends."""
    return _made_for(request) in (None, provider)


def wants_whole_calls(request: ClientRequest) -> bool:
    """Return whether the client reads a call of a stream only if it comes in one chunk."""
    return _made_for(request) in ("mistral", "cerebras")


def wants_status_as_code(request: ClientRequest) -> bool:
    """Return whether the client requires the status of an error as its code."""
    return _made_for(request) == "openrouter"


def error_change(request: ClientRequest) -> Callable[[FailureResponse], FailureResponse] | None:
    """Return a function that adapts the error responses to *request*; None for most clients."""
    return _with_status_as_code if wants_status_as_code(request) else None


def stream_error(error: FrontError, head: JsonObject) -> dict[str, Any]:
    """Return the chunk that ends a stream for a client of OpenRouter's; *head* begins a chunk."""
    choice = {"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "error"}
    stated = {"code": error.status, "message": message_of(error)}
    return {**head, "choices": [choice], "error": stated}


def _made_for(request: ClientRequest) -> str | None:
    """Return the provider whose own SDK sent *request*; None for any other client."""
    named = _SDK.match(request.headers.get("user-agent", ""))
    return None if named is None else named.lastgroup


def _with_status_as_code(failure: FailureResponse) -> FailureResponse:
    error: Any = failure.body["error"]
    return evolve(failure, body={"error": {**error, "code": failure.status}})
