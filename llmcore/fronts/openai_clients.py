"""Clients of Chat Completions and Responses that are made for one provider's server.

They cannot read all that OpenAI's clients read. The SDKs of Mistral and Cerebras require the name
or the type of a call in each piece of it, which OpenAI's clients would join: they get each call in
one chunk, as from Mistral's API. So does the AI SDK's provider of xAI. Those of Mistral and Groq
do not ask for the tokens of a stream, as these servers state them in its last chunk, and the one
of Groq reads thinking in `reasoning`:

    {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, ...}}
    {"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {...}}}

OpenRouter's SDKs require the status of an error as its `code`, where OpenAI has a word that
clients match:

    {"error": {"code": 429, "message": "..."}}
    {"id": "chatcmpl-1", ..., "error": {"code": 502, "message": "..."}, "choices": [
     {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}

Sources, read November 2026: https://openrouter.ai/docs/api/reference/errors-and-debugging, and the
types of the packages `mistralai` 3.7.0 (`FunctionCall`), `cerebras-cloud-sdk` 1.91.0
(`ChatChunkResponseChoiceDeltaToolCall`), `openrouter` 1.3.84 (`ChatStreamChunk`), `@ai-sdk/xai`
3.0.138 (`xaiChatChunkSchema`), `@ai-sdk/groq` 3.0.71 and `@ai-sdk/mistral` 3.0.69.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from attrs import evolve

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, FailureResponse
from llmcore.fronts.openai_forms import message_of
from llmcore.schema.json import JsonObject

_SDK: Final = re.compile(
    r"(?P<mistral>mistral-client-)|(?P<cerebras>(?:Async)?Cerebras/)"
    r"|(?P<openrouter>speakeasy-sdk/.* (?:@openrouter/sdk|openrouter)$)"
    r"|(?:.* )?ai-sdk/(?:(?P<ai_mistral>mistral)|(?P<groq>groq)|(?P<xai>xai))/"
)
"""How the SDKs of providers name themselves: `mistral-client-python/3.7.0`, `Cerebras/Python
1.91.0`, `speakeasy-sdk/typescript 1.3.19 2.914.0 1.0.0 @openrouter/sdk`,
`ai-sdk/xai/3.0.138 ai-sdk/provider-utils/4.0.56 runtime/node.js/v20.20.2`."""

UsagePlace = Literal["", "chunk", "finish", "x_groq"]
"""Where the tokens of a stream are: nowhere, in a chunk of their own, or in the last chunk."""

_USAGE_PLACES: Final[Mapping[str | None, UsagePlace]] = {"mistral": "finish", "groq": "x_groq"}


def can_relay(request: ClientRequest, provider: str) -> bool:
    """Return whether the client reads the chunks that the server of *provider* sends."""
    return _made_for(request) in (None, provider)


def can_relay_items(request: ClientRequest, provider: str) -> bool:
    """Return whether the client reads what the server of *provider* sends as Responses."""
    return not wants_status_as_code(request) or provider == "openrouter"


def wants_whole_calls(request: ClientRequest) -> bool:
    """Return whether the client reads a call of a stream only if it comes in one chunk."""
    return _made_for(request) in ("mistral", "cerebras", "xai")


def usage_place(request: ClientRequest) -> UsagePlace:
    """Return where the client reads the tokens of a stream without asking for them."""
    return _USAGE_PLACES.get(_made_for(request), "")


def wants_short_reasoning(request: ClientRequest) -> bool:
    """Return whether the client reads thinking in the field `reasoning` alone."""
    return _made_for(request) == "groq"


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
    return None if named is None or named.lastgroup is None else named.lastgroup.removeprefix("ai_")


def _with_status_as_code(failure: FailureResponse) -> FailureResponse:
    error: Any = failure.body["error"]
    return evolve(failure, body={"error": {**error, "code": failure.status}})
