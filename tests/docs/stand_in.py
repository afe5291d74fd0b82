"""A provider for the documentation's code: it answers "Hello" in every API.

Asked with tools, it calls the first of them once, with arguments that fit; asked for an object, it
gives one that fits. The responses are whole where nothing is lost by it: a client reads either.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from tests.support.servers.loopback import chat_stream, chat_whole, sse

Json: TypeAlias = dict[str, Any]


class Wanted(NamedTuple):
    """The response that a request asks for: a tool's name and arguments, or text."""

    tool: str | None
    arguments: Json
    text: str


class StandIn:
    """A transport that answers for every provider that is not on this machine."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "Answered":
        """Answer one request."""
        assert timeouts
        return Answered(request)

    async def aclose(self) -> None:
        """Hold nothing."""


class Answered:
    """The response to one request."""

    status = 200

    def __init__(self, request: HttpRequest) -> None:
        self._chunks = _answer(urlsplit(request.url).path, _body(request))
        self.headers: Mapping[str, str] = {"content-type": _content_type(self._chunks[0])}

    def limit_reads(self, _seconds: float | None) -> bool:
        """Leave it to the caller."""
        return False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body."""
        for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        """Hold nothing."""


def _content_type(chunk: bytes) -> str:
    if chunk.startswith(b"data:"):
        return "text/event-stream"
    return "audio/mpeg" if chunk.startswith(b"ID3") else "application/json"


def _body(request: HttpRequest) -> Json:
    """Return the JSON body of *request*; empty for one without."""
    kind = request.headers.get("content-type", "")
    body: Json = json.loads(request.body) if request.body and "json" in kind else {}
    return body


def _answer(path: str, body: Json) -> Sequence[bytes]:
    if path.endswith("/audio/speech"):
        return [b"ID3..."]
    document = _document(path, body)
    if document is not None:
        return [_dumped(document)]
    wanted = _wanted(body)
    if path.endswith("/responses"):
        response = _responses(wanted)
        done = sse({"type": "response.completed", "response": response})
        return [done] if body.get("stream") else [_dumped(response)]
    if path.endswith("/messages"):
        return [_dumped(_messages(wanted))]
    if "enerateContent" in path:
        return [_dumped(_gemini(wanted))]
    if wanted.tool is not None:
        return [_dumped(_chat_call(wanted))]
    texts = (wanted.text[:3], wanted.text[3:])
    streamed = [chunk for chunk in chat_stream(texts) if isinstance(chunk, bytes)]
    return streamed if body.get("stream") else [chat_whole(wanted.text)]


def _document(path: str, body: Json) -> Json | None:
    """Return the response to a unary call; None for a generation."""
    if path.endswith("/input_tokens"):
        return {"input_tokens": 9}
    if path.endswith("/models"):
        return {"data": [{"id": "gpt-5.2"}]}
    if path.endswith("/models.json"):
        return {"models": [{"id": "house-1", "provider": "house"}]}
    if "/cachedContents" in path:
        kept: Json = {"name": "cachedContents/abc", "model": "models/gemini-2.5-pro"}
        return kept
    if "/batches" in path:
        return {"id": "batch_1", "status": "completed", "output_file_id": "file-2"}
    if path.endswith("/content"):  # of the file with the responses of a batch
        answered = {"status_code": 200, "body": _responses(Wanted(None, {}, "Hello"))}
        return {"custom_id": "norway", "response": answered}
    if path.endswith("/files"):
        return {"id": "file-1", "data": []}
    if "/files/" in path:
        return {"deleted": True}
    if path.endswith("/embeddings"):
        vectors = [{"index": n, "embedding": [0.6, 0.8]} for n in range(len(body["input"]))]
        return {"data": vectors, "model": body["model"], "usage": {"prompt_tokens": 3}}
    if path.endswith(("/images/generations", "/images/edits")):
        return {"data": [{"b64_json": "iVBORw0KGgo="}], "usage": {"input_tokens": 3}}
    if path.endswith("/audio/transcriptions"):
        return {"text": "Hello", "segments": [{"start": 0.0, "end": 0.5, "text": "Hello"}]}
    if path.endswith("/rerank"):
        scores = [
            {"index": n, "relevance_score": 1 / (n + 2)} for n in range(len(body["documents"]))
        ]
        return {"results": scores}
    return None


def _dumped(value: Json) -> bytes:
    return json.dumps(value).encode()


# -- what a request asks for

_RESULTS = ('"tool_call_id"', '"function_call_output"', '"tool_use_id"', '"functionResponse"')
_SCHEMAS = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("generationConfig", "responseJsonSchema"),
)


def _wanted(body: Json) -> Wanted:
    said = json.dumps({name: value for name, value in body.items() if name != "tools"})
    tool = next(iter(_functions(body.get("tools", []))), None)
    if tool is not None and not any(word in said for word in _RESULTS):
        names = ("parameters", "input_schema", "parametersJsonSchema")
        parameters: Json = next((tool[name] for name in names if name in tool), {})
        return Wanted(tool["name"], _fitting(parameters), "")
    schema = next(filter(None, (_found(body, path) for path in _SCHEMAS)), None)
    return Wanted(None, {}, "Hello" if schema is None else json.dumps(_fitting(schema)))


def _found(body: Any, path: Sequence[str]) -> Any:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _functions(tools: Iterable[Json]) -> Iterable[Json]:
    for tool in tools:
        for one in tool.get("functionDeclarations", [tool.get("function", tool)]):
            if "name" in one:
                yield one


def _fitting(schema: Json, root: Json | None = None) -> Any:
    """Return a small value of *schema*."""
    root = root or schema
    if "$ref" in schema:
        return _fitting(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _fitting(schema["anyOf"][0], root)
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _fitting(fields[name], root) for name in schema.get("required", ())}
        case "array":
            return [_fitting(schema.get("items", {}), root)]
        case "integer" | "number":
            return 3
        case "boolean":
            return True
        case _:
            return "Hello"


# -- in the words of each API


def _chat_call(wanted: Wanted) -> Json:
    function = {"name": wanted.tool, "arguments": json.dumps(wanted.arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {"id": "chatcmpl-1", "model": "m-1", "choices": [choice], "usage": usage}


def _responses(wanted: Wanted) -> Json:
    item: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": wanted.text, "annotations": []}],
    }
    if wanted.tool is not None:
        arguments = json.dumps(wanted.arguments)
        item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1"}
        item |= {"name": wanted.tool, "arguments": arguments}
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m-1",
        "output": [item],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    }


def _messages(wanted: Wanted) -> Json:
    block: Json = {"type": "text", "text": wanted.text}
    if wanted.tool is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": wanted.tool}
        block["input"] = wanted.arguments
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [block],
        "stop_reason": "end_turn" if wanted.tool is None else "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


def _gemini(wanted: Wanted) -> Json:
    part: Json = {"text": wanted.text}
    if wanted.tool is not None:
        part = {"functionCall": {"name": wanted.tool, "args": wanted.arguments}}
    return {
        "responseId": "r-1",
        "modelVersion": "m-1",
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    }
