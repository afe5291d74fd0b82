"""Clients of Chat Completions and Responses that are made for one provider's server.

They cannot read all that OpenAI's clients read, and what each reads is a row of `_CLIENTS`. The
SDKs of Mistral and Cerebras require the name or the type of a call in each piece of it, which
OpenAI's clients would join: they get each call in one chunk, as from Mistral's API. So does the AI
SDK's provider of xAI, which adds the tokens of thinking to those of the completion. Those of
Mistral and Groq do not ask for the tokens of a stream, as these servers state them in its last
chunk. Groq's reads thinking in `reasoning`, and Mistral's in the content:

    {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, ...}}
    {"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {...}}}
    {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [
     {"type": "text", "text": "Hm."}]}]}, "finish_reason": null}]}

For a response that is not streamed, the AI SDK names itself and not its provider. Mistral's is
known by a text that is a list of one part, which all others send as a text. The others get thinking
in both fields that they read, and errors in the forms of OpenAI and Mistral together:

    {"error": {"message": "...", ...}, "object": "error", "message": "...", "type": "...", ...}

OpenRouter's SDKs require the status of an error as its `code`, where OpenAI has a word that
clients match:

    {"error": {"code": 429, "message": "..."}}
    {"id": "chatcmpl-1", ..., "error": {"code": 502, "message": "..."}, "choices": [
     {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}

Sources, read November 2026: https://openrouter.ai/docs/api/reference/errors-and-debugging,
https://docs.mistral.ai/capabilities/reasoning, and the types of the packages `mistralai` 3.7.0
(`FunctionCall`, `ThinkChunk`), `cerebras-cloud-sdk` 1.91.0
(`ChatChunkResponseChoiceDeltaToolCall`), `openrouter` 1.3.84 (`ChatStreamChunk`),
`@ai-sdk/xai` 3.0.138 (`xaiChatChunkSchema`, `convertXaiChatUsage`), `@ai-sdk/groq` 3.0.71 and
4.0.84, `@ai-sdk/mistral` 3.0.69 and 4.0.87 (`mistralErrorDataSchema`,
`convertToMistralChatMessages`) and `@ai-sdk/deepseek` 3.0.56. Those of xAI and Mistral have no form
of an error in a stream: they report any as a chunk that they cannot read, with its text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from attrs import evolve

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, FailureResponse
from llmcore.fronts.openai_forms import message_of
from llmcore.fronts.policy import ChatReasoning
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty, objects

UsagePlace = Literal["", "chunk", "finish", "x_groq"]
"""Where the tokens of a stream are: nowhere, in a chunk of their own, or in the last chunk."""
ThinkingPlace = ChatReasoning | Literal["content"]
"""The fields that thinking is in: those of the policy, or parts of the content."""


@frozen(kw_only=True)
class ChatClient:
    """The forms that a client reads; by default those of OpenAI."""

    provider: str = ""
    """The provider whose server it is made for; none for most clients."""
    whole_calls: bool = False
    """Whether it reads a call of a stream only if it comes in one chunk."""
    usage_place: UsagePlace = ""
    """Where it reads the tokens of a stream without asking for them."""
    thinking: ThinkingPlace | None = None
    """The only place where it reads thinking; None for where the policy puts it."""
    adds_thinking: bool = False
    """Whether it adds the tokens of thinking to `completion_tokens`, as xAI's server means them."""
    error: Literal["", "flat", "status"] = ""
    """How it reads errors: those of OpenAI, fields beside them, or with the status as the code."""


_AGENT: Final = re.compile(
    r"(?P<mistral>mistral-client-)|(?P<cerebras>(?:Async)?Cerebras/)"
    r"|(?P<openrouter>speakeasy-sdk/.* (?:@openrouter/sdk|openrouter)$)"
    r"|(?:.* )?(?:ai-sdk[-/](?:(?P<ai_deepseek>deepseek)|(?P<ai_groq>groq)|(?P<ai_mistral>mistral)"
    r"|(?P<ai_xai>xai))/|(?P<ai>ai/))"
)
"""How clients name themselves: `mistral-client-python/3.7.0`, `Cerebras/Python 1.91.0`,
`speakeasy-sdk/typescript 1.3.19 2.914.0 1.0.0 @openrouter/sdk`,
`ai-sdk/xai/3.0.138 ai-sdk/provider-utils/4.0.56 runtime/node.js/v20.20.2`, since version 7 of the
AI SDK `ai-sdk-groq/4.0.84 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2`, and for whole responses
`ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2`."""

_OTHER: Final = ChatClient()
_MISTRAL: Final = ChatClient(
    provider="mistral", whole_calls=True, usage_place="finish", thinking="content", error="flat"
)
_CLIENTS: Final[Mapping[str | None, ChatClient]] = {
    "ai": ChatClient(thinking="both", error="flat"),
    "ai_deepseek": ChatClient(provider="deepseek", thinking="reasoning_content"),
    "ai_groq": ChatClient(provider="groq", usage_place="x_groq", thinking="reasoning"),
    "ai_mistral": _MISTRAL,
    "ai_xai": ChatClient(
        provider="xai", whole_calls=True, thinking="reasoning_content", adds_thinking=True
    ),
    "cerebras": ChatClient(provider="cerebras", whole_calls=True),
    "mistral": _MISTRAL,
    "openrouter": ChatClient(provider="openrouter", error="status"),
}


def client_of(request: ClientRequest) -> ChatClient:
    """Return the forms that the client that sent *request* reads."""
    named = _AGENT.match(request.headers.get("user-agent", ""))
    if named is None:
        return _OTHER
    if named.lastgroup == "ai" and any(map(_lists_its_text, objects(request.body.get("messages")))):
        return _MISTRAL
    return _CLIENTS[named.lastgroup]


def _lists_its_text(message: JsonObject) -> bool:
    content = message.get("content")
    if message.get("role") != "user" or type(content) is not list or len(content) != 1:
        return False
    return object_or_empty(content[0]).keys() == {"text", "type"}


def can_relay(request: ClientRequest, provider: str) -> bool:
    """Return whether the client reads the chunks that the server of *provider* sends."""
    return client_of(request).provider in ("", provider)


def can_relay_items(request: ClientRequest, provider: str) -> bool:
    """Return whether the client reads what the server of *provider* sends as Responses."""
    return client_of(request).error != "status" or provider == "openrouter"


def error_change(request: ClientRequest) -> Callable[[FailureResponse], FailureResponse] | None:
    """Return a function that adapts the error responses to *request*; None for most clients."""
    return _ERROR_CHANGES.get(client_of(request).error)


def stream_error(error: FrontError, head: JsonObject) -> dict[str, Any]:
    """Return the chunk that ends a stream for a client of OpenRouter's; *head* begins a chunk."""
    choice = {"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "error"}
    stated = {"code": error.status, "message": message_of(error)}
    return {**head, "choices": [choice], "error": stated}


def _with_status_as_code(failure: FailureResponse) -> FailureResponse:
    error: Any = failure.body["error"]
    return evolve(failure, body={"error": {**error, "code": failure.status}})


def _with_flat_fields(failure: FailureResponse) -> FailureResponse:
    error: Any = failure.body["error"]
    return evolve(failure, body={**failure.body, **error, "object": "error"})


_ERROR_CHANGES: Final[Mapping[str, Callable[[FailureResponse], FailureResponse]]] = {
    "flat": _with_flat_fields,
    "status": _with_status_as_code,
}
