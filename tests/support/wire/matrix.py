"""Five providers as values: what each one's responses and requests look like on the wire.

A column holds all that differs between them; the rows of the matrix are written once.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import field, frozen

from llmcore import AmazonBedrock, Anthropic, Google, Model, OpenAI, OpenAICompatible
from llmcore.schema.json import JsonObject, JsonValue
from tests.support.servers.loopback import Answer, Loopback, Received, serve
from tests.support.wire import anthropic, bedrock, chat, gemini, responses
from tests.support.wire.protocol import pieces

Native = dict[str, Any]

KEY = "sk-matrix-0123456789"
PIXEL = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
PIXEL_64 = b64encode(PIXEL).decode()
HTTPS_URL = "https://a.example/pixel.png"
PIECE = 5
"""Characters of a delta."""

# -- what a provider says, in our words


@frozen(kw_only=True)
class Counts:
    """Tokens, none of them counted twice."""

    uncached: int = 20
    read: int = 0
    written: int = 0
    answer: int = 6
    thinking: int = 0

    @property
    def input(self) -> int:
        return self.uncached + self.read + self.written

    @property
    def output(self) -> int:
        return self.answer + self.thinking


@frozen(kw_only=True)
class Said:
    """One response: thinking, then text, then calls of `weather`."""

    text: str = ""
    thinking: str = ""
    cities: tuple[str, ...] = ()
    """One call for each."""
    first_call: int = 1
    """Its number, which the ids are made of."""
    counts: Counts = Counts()

    @property
    def calls(self) -> list[tuple[int, str]]:
        """The number of each call, and its city."""
        return list(enumerate(self.cities, self.first_call))


@frozen(kw_only=True)
class Refused:
    """An error instead of a response."""

    status: int
    headers: dict[str, str] = field(factory=dict)


Reply = Said | Refused | Callable[[Received], Said]


# -- a column


@frozen(kw_only=True)
class Column:
    """One provider."""

    id: str
    provider: str
    model_id: str
    model_at: Callable[[str], Model]
    """Returns the model of its facade at a base URL."""
    path: str
    """The path of requests whose response is not streamed."""
    streamed_path: str
    """The path of the others, which may be the same."""
    stream_field: str = "stream"
    """The field of the body that asks for a stream, where the path does not."""
    stream_value: JsonValue = True
    """The value by which it does."""
    key_header: tuple[str, str]
    answered_model: str | None
    """The model that responses name; None if they name none."""

    # responses
    whole: Callable[[Said], Any]
    """Returns the body of a response."""
    streamed: Callable[[Any], bytes]
    """The bytes of the stream that has the content of a body."""
    stream_type: str
    call_id: Callable[[int], str | None]
    """The id of a call; None where the provider gives none."""
    stop: str
    """The finish reason of a response that is complete."""
    calls: str
    """The finish reason of a response that ends with calls."""
    errors: dict[int, tuple[Any, str]]
    """Body and code of errors, by status."""
    thinks: bool = True
    """Whether responses can have thinking."""
    counts_cached: bool = True
    """Whether usage has the number of tokens that were read from the cache."""
    calls_in_history: bool = True
    """Whether calls that are sent back have fields of their own, rather than being text."""
    counts_thinking: bool = True
    """Whether usage has the number of tokens of the thinking."""
    usage_field: str = "usage"
    """The field of a response's body with its usage."""

    # requests
    history: Callable[[Native], list[Any]]
    """Returns the messages of a request's body, without those of the system and without marks for
    the cache."""
    asked: Callable[[str], list[Any]]
    """Returns what `history` is for a conversation of one prompt."""
    turn: Callable[[Said, Sequence[str]], list[Any]]
    """Returns what a response, and the results of its calls, add to `history`."""
    basics: JsonObject
    """The fields of a body for at most 50 tokens, and for the system prompt "Be brief." where that
    is a field and not a message."""
    parts: Callable[[Native], list[Any]]
    """Returns the parts of the user's first message."""
    image: Native | None = None
    """The part of an image that is sent as bytes; None where the API takes none."""
    image_url: str = ""
    """A URL that the provider fetches images from; empty if it fetches none."""
    image_at: Native | None = None
    """The part of the image at that URL."""
    tools: Callable[[JsonObject], JsonObject]
    """Returns the fields of a body that offer the tool `weather`, whose schema is given."""
    schema_of: Callable[[Native], Any] | None = None
    """Returns the schema of structured output in a body; None where the API has no such field."""
    effort: JsonObject
    """The fields of a body for the effort "low", with at most 4000 tokens."""
    options: JsonObject
    """A provider option, which is sent as it is."""
    caches_by_mark: bool = False
    """Whether the request marks what is to be cached."""

    def streams(self, received: Received) -> bool:
        """Whether a request asks for a stream."""
        body = received.json
        return received.path != self.path or bool(
            isinstance(body, dict) and body.get(self.stream_field) == self.stream_value
        )

    def answer(self, said: Said, received: Received) -> Answer:
        """Return *said* as the server would, streamed or whole as asked."""
        document = self.whole(said)
        if self.streams(received):
            return Answer([self.streamed(document)], headers={"content-type": self.stream_type})
        return _json(200, document)

    def refusal(self, refused: Refused) -> Answer:
        """Return an error as the server would."""
        body, _ = self.errors[refused.status]
        return _json(refused.status, body, refused.headers)


def _json(status: int, document: Any, headers: dict[str, str] | None = None) -> Answer:
    data = json.dumps(document).encode()
    named = {"content-type": "application/json", **(headers or {})}
    return Answer([data], status, named, len(data))


@frozen
class Scene:
    """A server that speaks a column's protocol."""

    column: Column
    server: Loopback

    @property
    def model(self) -> Model:
        """Its model."""
        return self.column.model_at(self.server.url)

    @property
    def bodies(self) -> list[Native]:
        """The bodies that arrived."""
        return [json.loads(received.body) for received in self.server.received]


@contextmanager
def playing(column: Column, *replies: Reply) -> Iterator[Scene]:
    """Run a server that gives *replies* in order, and the last one without a limit."""
    left = list(replies)

    def handler(received: Received) -> Answer:
        if received.method == "GET":
            return _json(404, {})  # it has no list of models
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Refused):
            return column.refusal(reply)
        return column.answer(reply if isinstance(reply, Said) else reply(received), received)

    with serve(handler) as server:
        yield Scene(column, server)


def contains(whole: Any, part: Any) -> bool:
    """Whether *whole* has all fields of *part*, at any depth; lists and values are equal."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and contains(whole[name], item) for name, item in part.items())
    return bool(whole == part)


# -- OpenAI: Responses


def _responses_whole(said: Said) -> Native:
    output = []
    if said.thinking:
        output.append(responses.reasoning(said.thinking))
    if said.text:
        output.append(responses.message(said.text))
    for number, city in said.calls:
        arguments = json.dumps({"city": city})
        output.append(responses.function_call(arguments, n=number))
    counts = said.counts
    usage = {
        "input_tokens": counts.input,
        "input_tokens_details": {"cached_tokens": counts.read},
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": counts.thinking},
        "total_tokens": counts.input + counts.output,
    }
    return responses.document(output, usage=usage)


def _responses_streamed(document: Native) -> bytes:
    events = responses.events_of(document["output"], size=PIECE)
    events[-1] |= {"type": f"response.{document['status']}", "response": document}
    return responses.sse(events)


def _responses_turn(said: Said, results: Sequence[str]) -> list[Any]:
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "weather",
            "arguments": json.dumps({"city": city}),
        }
        for number, city in said.calls
    ]
    outputs = [
        {"type": "function_call_output", "call_id": f"call_{number}", "output": result}
        for (number, _), result in zip(said.calls, results, strict=True)
    ]
    return [*calls, *outputs]


OPENAI = Column(
    id="openai",
    provider="openai",
    model_id="gpt-5.2",
    model_at=lambda url: OpenAI.configure(api_key=KEY, base_url=f"{url}/v1").model("gpt-5.2"),
    path="/v1/responses",
    streamed_path="/v1/responses",
    key_header=("authorization", f"Bearer {KEY}"),
    answered_model="gpt-5.2-2026-01-01",
    whole=_responses_whole,
    streamed=_responses_streamed,
    stream_type="text/event-stream",
    call_id=lambda number: f"call_{number}",
    stop="completed",
    calls="completed",
    errors={
        401: (
            {
                "error": {
                    "message": f"Incorrect API key provided: {KEY}.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "invalid_api_key",
                }
            },
            "invalid_api_key",
        ),
        429: (
            {
                "error": {
                    "message": "Rate limit reached for gpt-5.2.",
                    "type": "requests",
                    "param": None,
                    "code": "rate_limit_exceeded",
                }
            },
            "rate_limit_exceeded",
        ),
        404: (
            {
                "error": {
                    "message": "The requested model does not exist.",
                    "type": "invalid_request_error",
                    "param": "model",
                    "code": "model_not_found",
                }
            },
            "model_not_found",
        ),
    },
    history=lambda body: list(body["input"]),
    asked=lambda text: [{"type": "message", "role": "user", "content": text}],
    turn=_responses_turn,
    basics={"model": "gpt-5.2", "instructions": "Be brief.", "max_output_tokens": 50},
    parts=lambda body: list(body["input"][0]["content"]),
    image={
        "type": "input_image",
        "detail": "auto",
        "image_url": f"data:image/png;base64,{PIXEL_64}",
    },
    image_url=HTTPS_URL,
    image_at={"type": "input_image", "detail": "auto", "image_url": HTTPS_URL},
    tools=lambda schema: {
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tell the weather in a city.",
                "parameters": schema,
                "strict": None,
            }
        ]
    },
    schema_of=lambda body: body["text"]["format"]["schema"],
    effort={"reasoning": {"effort": "low"}, "max_output_tokens": 4000},
    options={"service_tier": "flex"},
)

# -- Anthropic: Messages


def _messages_whole(said: Said) -> Native:
    blocks = [anthropic.thinking(said.thinking)] if said.thinking else []
    if said.text:
        blocks.append(anthropic.text(said.text))
    for number, city in said.calls:
        blocks.append(anthropic.tool_use("weather", {"city": city}, f"toolu_{number}"))
    counts = said.counts
    usage: Native = {
        "input_tokens": counts.uncached,
        "cache_read_input_tokens": counts.read,
        "cache_creation_input_tokens": counts.written,
        "output_tokens": counts.output,
    }
    if counts.thinking:
        usage["output_tokens_details"] = {"thinking_tokens": counts.thinking}
    stop = "tool_use" if said.cities else "end_turn"
    return dict(anthropic.message(*blocks, stop=stop, model="claude-opus-4-6", usage=usage))


def _messages_streamed(document: Native) -> bytes:
    *events, end, stop = anthropic.stream_of(document, PIECE)
    return anthropic.sse([*events, {**end, "usage": document["usage"]}, stop])


def _messages_turn(said: Said, results: Sequence[str]) -> list[Any]:
    uses = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "weather", "input": {"city": city}}
        for number, city in said.calls
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
        for (number, _), result in zip(said.calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": answers}]


def _messages_error(kind: str, message: str) -> tuple[Any, str]:
    return {"type": "error", "error": {"type": kind, "message": message}}, kind


ANTHROPIC = Column(
    id="anthropic",
    provider="anthropic",
    model_id="claude-opus-4-6",
    model_at=lambda url: Anthropic.configure(api_key=KEY, base_url=url).model("claude-opus-4-6"),
    path="/v1/messages",
    streamed_path="/v1/messages",
    key_header=("x-api-key", KEY),
    answered_model="claude-opus-4-6",
    whole=_messages_whole,
    streamed=_messages_streamed,
    stream_type="text/event-stream",
    call_id=lambda number: f"toolu_{number}",
    stop="end_turn",
    calls="tool_use",
    errors={
        401: _messages_error("authentication_error", f"invalid x-api-key: {KEY}"),
        429: _messages_error("rate_limit_error", "This request would exceed your rate limit."),
        404: _messages_error("not_found_error", "model: nonexistent-model-xyz"),
    },
    history=lambda body: list(anthropic.unmarked(body["messages"])),
    asked=lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    turn=_messages_turn,
    basics={
        "model": "claude-opus-4-6",
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "max_tokens": 50,
    },
    parts=lambda body: list(anthropic.unmarked(body["messages"][0]["content"])),
    image={
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL_64},
    },
    image_url=HTTPS_URL,
    image_at={"type": "image", "source": {"type": "url", "url": HTTPS_URL}},
    tools=lambda schema: {
        "tools": [
            {
                "name": "weather",
                "description": "Tell the weather in a city.",
                "input_schema": schema,
                "cache_control": {"type": "ephemeral"},
            }
        ]
    },
    schema_of=lambda body: body["output_config"]["format"]["schema"],
    effort={
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "max_tokens": 4000,
    },
    options={"service_tier": "standard_only"},
    caches_by_mark=True,
)

# -- Gemini


def _gemini_whole(said: Said) -> Native:
    parts: list[Native] = []
    if said.thinking:
        parts.append({"text": said.thinking, "thought": True})
    if said.text:
        parts.append({"text": said.text})
    for number, city in said.calls:
        call = {"functionCall": {"id": f"g{number}", "name": "weather", "args": {"city": city}}}
        signed = {"thoughtSignature": _signature(number)} if number == said.first_call else {}
        parts.append({**call, **signed})
    counts = said.counts
    usage = {
        "promptTokenCount": counts.input,
        "cachedContentTokenCount": counts.read,
        "candidatesTokenCount": counts.answer,
        "thoughtsTokenCount": counts.thinking,
        "totalTokenCount": counts.input + counts.output,
    }
    said_usage = {name: number for name, number in usage.items() if number}
    return gemini.chunk(*parts, finish="STOP", usageMetadata=said_usage)


def _signature(number: int) -> str:
    return b64encode(f"signed {number}".encode()).decode()


def _gemini_streamed(document: Native) -> bytes:
    parts: list[Native] = []
    for part in document["candidates"][0]["content"]["parts"]:
        if "text" in part:
            parts += [{**part, "text": piece} for piece in pieces(part["text"], PIECE)]
        else:
            parts.append(part)
    usage = document["usageMetadata"]
    early = {name: usage[name] for name in ("promptTokenCount", "totalTokenCount")}
    *first, last = parts
    chunks = [gemini.chunk(piece, usageMetadata=early) for piece in first]
    end = document["candidates"][0]["finishReason"]
    return gemini.sse([*chunks, gemini.chunk(last, finish=end, usageMetadata=usage)])


def _gemini_turn(said: Said, results: Sequence[str]) -> list[Any]:
    answers = [
        {"functionResponse": {"id": f"g{number}", "name": "weather", "response": {"output": text}}}
        for (number, _), text in zip(said.calls, results, strict=True)
    ]
    called = _gemini_whole(said)["candidates"][0]["content"]["parts"]
    return [{"role": "model", "parts": called}, {"role": "user", "parts": answers}]


def _gemini_error(code: int, status: str, message: str) -> tuple[Any, str]:
    return {"error": {"code": code, "message": message, "status": status}}, status


_GEMINI_PATH = "/v1beta/models/gemini-3-flash-preview"

GEMINI = Column(
    id="gemini",
    usage_field="usageMetadata",
    provider="google",
    model_id="gemini-3-flash-preview",
    model_at=lambda url: Google.configure(api_key=KEY, base_url=url).model(
        "gemini-3-flash-preview"
    ),
    path=f"{_GEMINI_PATH}:generateContent",
    streamed_path=f"{_GEMINI_PATH}:streamGenerateContent?alt=sse",
    key_header=("x-goog-api-key", KEY),
    answered_model="gemini-3-flash-preview",
    whole=_gemini_whole,
    streamed=_gemini_streamed,
    stream_type="text/event-stream",
    call_id=lambda number: f"g{number}",
    stop="STOP",
    calls="STOP",
    errors={
        401: _gemini_error(401, "UNAUTHENTICATED", f"API key not valid: {KEY}"),
        429: _gemini_error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted."),
        404: _gemini_error(404, "NOT_FOUND", "models/nonexistent-model-xyz is not found."),
    },
    history=lambda body: list(body["contents"]),
    asked=lambda text: [{"role": "user", "parts": [{"text": text}]}],
    turn=_gemini_turn,
    basics={
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"maxOutputTokens": 50},
    },
    parts=lambda body: list(body["contents"][0]["parts"]),
    image={"inlineData": {"mimeType": "image/png", "data": PIXEL_64}},
    image_url=HTTPS_URL,
    image_at={"fileData": {"mimeType": "image/png", "fileUri": HTTPS_URL}},
    tools=lambda schema: {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "Tell the weather in a city.",
                        "parametersJsonSchema": schema,
                    }
                ]
            }
        ]
    },
    schema_of=lambda body: body["generationConfig"]["responseJsonSchema"],
    effort={
        "generationConfig": {
            "maxOutputTokens": 4000,
            "thinkingConfig": {"thinkingLevel": "LOW"},
        }
    },
    options={"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]},
)

# -- Bedrock: Converse


def _converse_whole(said: Said) -> Native:
    blocks = [bedrock.reasoning(said.thinking)] if said.thinking else []
    if said.text:
        blocks.append({"text": said.text})
    for number, city in said.calls:
        blocks.append(bedrock.tool_use("weather", {"city": city}, f"tooluse_{number}"))
    counts = said.counts
    usage = {
        "inputTokens": counts.uncached,
        "cacheReadInputTokens": counts.read,
        "cacheWriteInputTokens": counts.written,
        "outputTokens": counts.output,
        "totalTokens": counts.input + counts.output,
    }
    stop = "tool_use" if said.cities else "end_turn"
    return bedrock.document(*blocks, stop=stop, usage=usage)


def _converse_turn(said: Said, results: Sequence[str]) -> list[Any]:
    uses = [
        {"toolUse": {"toolUseId": f"tooluse_{n}", "name": "weather", "input": {"city": city}}}
        for n, city in said.calls
    ]
    answers = [
        {"toolResult": {"toolUseId": f"tooluse_{n}", "content": [{"text": result}]}}
        for (n, _), result in zip(said.calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": answers}]


_POINT = {"cachePoint": {"type": "default"}}
_BEDROCK_PATH = f"/model/{bedrock.CLAUDE.replace(':', '%3A')}"

BEDROCK = Column(
    id="bedrock",
    provider="bedrock",
    model_id=bedrock.CLAUDE,
    model_at=lambda url: AmazonBedrock.configure(
        region="us-east-1", api_key=KEY, base_url=url
    ).model(bedrock.CLAUDE),
    path=f"{_BEDROCK_PATH}/converse",
    streamed_path=f"{_BEDROCK_PATH}/converse-stream",
    key_header=("authorization", f"Bearer {KEY}"),
    answered_model=None,
    whole=_converse_whole,
    streamed=lambda document: bedrock.frames(bedrock.stream_of(document, PIECE)),
    stream_type="application/vnd.amazon.eventstream",
    call_id=lambda number: f"tooluse_{number}",
    stop="end_turn",
    calls="tool_use",
    errors={
        401: (
            {
                "message": f"The security token {KEY} is invalid.",
                "__type": "UnrecognizedClientException",
            },
            "UnrecognizedClientException",
        ),
        429: (
            {"message": "Too many requests, please wait.", "__type": "ThrottlingException"},
            "ThrottlingException",
        ),
    },
    counts_thinking=False,
    history=lambda body: list(bedrock.unmarked(body["messages"])),
    asked=lambda text: [{"role": "user", "content": [{"text": text}]}],
    turn=_converse_turn,
    basics={"system": [{"text": "Be brief."}, _POINT], "inferenceConfig": {"maxTokens": 50}},
    parts=lambda body: list(bedrock.unmarked(body["messages"][0]["content"])),
    image={"image": {"format": "png", "source": {"bytes": PIXEL_64}}},
    image_url="s3://bucket/pixel.png",
    image_at={
        "image": {
            "format": "png",
            "source": {"s3Location": {"uri": "s3://bucket/pixel.png"}},
        }
    },
    tools=lambda schema: {
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "weather",
                        "description": "Tell the weather in a city.",
                        "inputSchema": {"json": schema},
                    }
                },
                _POINT,
            ]
        }
    },
    schema_of=lambda body: json.loads(
        body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]
    ),
    effort={
        "inferenceConfig": {"maxTokens": 4000},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    },
    options={"performanceConfig": {"latency": "optimized"}},
    caches_by_mark=True,
)

# -- OpenAI-compatible: Chat Completions


def _chat_whole(said: Said) -> Native:
    message: Native = {"content": said.text or None}
    if said.thinking:
        message["reasoning_content"] = said.thinking
    if said.cities:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": "weather", "arguments": json.dumps({"city": city})},
            }
            for number, city in said.calls
        ]
    counts = said.counts
    usage = {
        "prompt_tokens": counts.input,
        "prompt_tokens_details": {"cached_tokens": counts.read},
        "completion_tokens": counts.output,
        "completion_tokens_details": {"reasoning_tokens": counts.thinking},
        "total_tokens": counts.input + counts.output,
    }
    finish = "tool_calls" if said.cities else "stop"
    return dict(chat.completion(message, finish, model="acme-1", usage=usage))


def _chat_streamed(document: Native) -> bytes:
    choice = document["choices"][0]
    message = choice["message"]
    deltas: list[Native] = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "content"):
        deltas += [{name: piece} for piece in pieces(message.get(name) or "", PIECE)]
    for index, call in enumerate(message.get("tool_calls", ())):
        head = {**call, "index": index, "function": {"name": "weather", "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        for piece in pieces(call["function"]["arguments"], PIECE):
            rest = {"index": index, "function": {"arguments": piece}}
            deltas.append({"tool_calls": [rest]})
    chunks = [chat.chunk(delta, model="acme-1") for delta in deltas]
    end = chat.chunk({}, choice["finish_reason"], model="acme-1")
    return chat.sse([*chunks, end, chat.usage_chunk(**document["usage"])])


def _chat_turn(said: Said, results: Sequence[str]) -> list[Any]:
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": "weather",
                "arguments": json.dumps({"city": city}),
            },
        }
        for number, city in said.calls
    ]
    answers = [
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result}
        for (number, _), result in zip(said.calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


COMPATIBLE = Column(
    id="compatible",
    provider="acme",
    model_id="acme-1",
    model_at=lambda url: OpenAICompatible.configure(
        name="acme", api_key=KEY, base_url=f"{url}/v1"
    ).model("acme-1"),
    path="/v1/chat/completions",
    streamed_path="/v1/chat/completions",
    key_header=("authorization", f"Bearer {KEY}"),
    answered_model="acme-1",
    whole=_chat_whole,
    streamed=_chat_streamed,
    stream_type="text/event-stream",
    call_id=lambda number: f"call_{number}",
    stop="stop",
    calls="tool_calls",
    errors={
        401: (
            {"error": {"message": f"Bad key {KEY}", "type": "auth", "code": "invalid_api_key"}},
            "invalid_api_key",
        ),
        429: (
            {"error": {"message": "Slow down.", "type": "requests", "code": "rate_limited"}},
            "rate_limited",
        ),
    },
    history=lambda body: [one for one in body["messages"] if one["role"] != "system"],
    asked=lambda text: [{"role": "user", "content": text}],
    turn=_chat_turn,
    basics={"model": "acme-1", "max_tokens": 50},
    parts=lambda body: list(body["messages"][0]["content"]),
    image={"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL_64}"}},
    image_url=HTTPS_URL,
    image_at={"type": "image_url", "image_url": {"url": HTTPS_URL}},
    tools=lambda schema: {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tell the weather in a city.",
                    "parameters": schema,
                },
            }
        ]
    },
    schema_of=lambda body: body["response_format"]["json_schema"]["schema"],
    effort={"reasoning_effort": "low", "max_tokens": 4000},
    options={"top_a": 0.5},
)

COLUMNS = (OPENAI, ANTHROPIC, GEMINI, BEDROCK, COMPATIBLE)
