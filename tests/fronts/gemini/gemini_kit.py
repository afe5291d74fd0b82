"""Requests and responses through the Gemini front, and everything that must hold of them."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx2
from google import genai
from google.genai import types

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, ResponseIdentity, Upstream
from llmcore.fronts.gemini import front, grammar
from llmcore.fronts.gemini.request import ReadGeminiRequest
from llmcore.fronts.gemini.response import GeminiWriter
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema import json
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Success
from tests.support.upstreams import numbered_ids, upstream_of

SEALER = Sealer(b"a key of the tests")
HELLO: dict[str, Any] = {"role": "user", "parts": [{"text": "Hello"}]}
PATH = "/v1beta/models/client-model:generateContent"
STREAM_PATH = "/v1beta/models/client-model:streamGenerateContent"
SEES_THOUGHTS = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def upstream(protocol_id: str = "openai-chat", **policy: Any) -> Upstream:
    """Return an upstream that speaks *protocol_id*."""
    native = protocol_id == "gemini"
    model = Model("gemini-3-pro", "google") if native else Model("test-model", "acme")
    return upstream_of(
        protocol_id,
        model,
        policy=TranslationPolicy(**policy),
        sealer=SEALER,
        new_id=numbered_ids(),
    )


# -- requests


def asked(body: Mapping[str, Any], path: str = PATH, **query: str) -> ClientRequest:
    """Return a request as a server gets it; *body* needs no contents of its own."""
    return ClientRequest(body={"contents": [HELLO], **body}, path=path, query=query)


def read(
    body: Mapping[str, Any], protocol_id: str = "openai-chat", *, path: str = PATH, **policy: Any
) -> ReadGeminiRequest:
    """Return what *body* is read as; the test fails if it is refused."""
    result = front.read(asked(body, path), upstream(protocol_id, **policy))
    assert isinstance(result, Success), result
    made: ReadGeminiRequest = result.unwrap()
    return made


def request_of(body: Mapping[str, Any], protocol_id: str = "openai-chat") -> LLMRequest:
    """Return the request that *body* is."""
    return read(body, protocol_id).request


def refused(body: Mapping[str, Any], protocol_id: str = "openai-chat", **policy: Any) -> FrontError:
    """Return why *body* is refused."""
    result = front.read(asked(body), upstream(protocol_id, **policy))
    assert isinstance(result, Failure), result
    error: FrontError = result.failure()
    return error


def messages_of(*contents: Any, protocol_id: str = "openai-chat") -> tuple[Message, ...]:
    """Return the messages that contents are."""
    return request_of({"contents": list(contents)}, protocol_id).messages


def codes(made: ReadGeminiRequest) -> list[str]:
    """Return the codes of a request's diagnostics."""
    return [diagnostic.code for diagnostic in made.diagnostics]


# -- responses


class Written:
    """A response that was written, and all that a client gets of it."""

    def __init__(self, writer: GeminiWriter, events: Iterable[LLMEvent]) -> None:
        self.writer = writer
        self.chunks: list[dict[str, Any]] = list(writer.start())
        for event in events:
            self.chunks += writer.feed(event)
        self.chunks += writer.close()

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts of all chunks."""
        return [
            part
            for chunk in self.chunks
            for candidate in chunk.get("candidates", ())
            for part in candidate["content"]["parts"]
        ]

    @property
    def last(self) -> dict[str, Any]:
        """The last chunk."""
        return self.chunks[-1]

    @property
    def candidate(self) -> dict[str, Any]:
        """The candidate of the last chunk."""
        found: dict[str, Any] = self.last["candidates"][0]
        return found

    @property
    def whole(self) -> dict[str, Any]:
        """The response as one object."""
        return dict(self.writer.whole())

    @property
    def sse(self) -> bytes:
        """The stream as server-sent events."""
        return self.encoded(alt="sse")

    def encoded(self, **query: str) -> bytes:
        """Return the stream as a request with *query* gets it."""
        encoding = front.encoding(asked({}, STREAM_PATH, **query))
        sent = b"".join(map(encoding.encode, self.chunks))
        return sent + (b"" if self.writer.error else encoding.tail)

    @property
    def codes(self) -> list[str]:
        """The codes of the response's diagnostics."""
        return [diagnostic.code for diagnostic in self.writer.diagnostics]


def written(
    events: Iterable[LLMEvent],
    body: Mapping[str, Any] | None = None,
    *,
    model: str = "client-model",
) -> Written:
    """Return the response that *events* are, checked against grammar and the SDK's strict types.

    Without a *body* all that is optional is written.
    """
    context = front.no_request if body is None else read(body)
    info = ResponseIdentity(id="gen_1", created_at=1_700_000_000, model=model)
    made = Written(GeminiWriter(info, context, upstream()), events)
    assert grammar.violations(made.chunks) == []
    for chunk in made.chunks:
        if "error" not in chunk:
            check_response(chunk)
    if made.writer.error is None:
        check_response(made.whole)
    return made


def check_response(response: Mapping[str, Any]) -> None:
    """Raise for a response with a field or a value that the SDK's types do not have."""
    types.GenerateContentResponse.model_validate(response)


# -- clients


def sdk(body: bytes, *, status: int = 200, kind: str = "text/event-stream") -> genai.Client:
    """Return Google's client, whose network answers *body*."""
    response = httpx2.Response(status, headers={"content-type": kind}, content=body)
    transport = httpx2.MockTransport(lambda _request: response)
    network: Any = {"transport": transport}
    options = types.HttpOptions(
        base_url="http://front", client_args=network, async_client_args=network
    )
    return genai.Client(api_key="k", http_options=options)


def heard(body: bytes) -> Iterator[types.GenerateContentResponse]:
    """Yield what Google's client reads in a stream."""
    client = sdk(body)
    yield from client.models.generate_content_stream(model="m", contents="x")


def echo(made: Written, client: str) -> list[dict[str, Any]]:
    """Return the contents that *client* sends back of a response."""
    return _ECHOES[client](made)


def _whole(made: Written) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [made.whole["candidates"][0]["content"]]
    return found


def _streamed(made: Written) -> list[dict[str, Any]]:
    """Return a content for each chunk, as chats of `google-genai` keep them."""
    return [chunk["candidates"][0]["content"] for chunk in made.chunks if "candidates" in chunk]


def _recoded(made: Written) -> list[dict[str, Any]]:
    """Return what the SDK's types write: bytes in the other alphabet of base64."""
    content = types.Content.model_validate(_whole(made)[0])
    return [json.loads(content.model_dump_json(by_alias=True, exclude_none=True))]  # type: ignore[list-item]


def _without_thoughts(made: Written) -> list[dict[str, Any]]:
    """Return no thoughts, as Gemini CLI does."""
    (content,) = _whole(made)
    return [{**content, "parts": [part for part in content["parts"] if not part.get("thought")]}]


def _without_ids(made: Written) -> list[dict[str, Any]]:
    """Return calls by name and arguments, as the AI SDK writes them."""
    (content,) = _without_thoughts(made)
    return [{**content, "parts": [_nameless(part) for part in content["parts"]]}]


def _nameless(part: dict[str, Any]) -> dict[str, Any]:
    called = part.get("functionCall")
    if called is None:
        return part
    return {**part, "functionCall": {name: called[name] for name in ("name", "args")}}


def _snake(made: Written) -> list[dict[str, Any]]:
    """Return fields in snake_case, as programs in Python write them by hand."""
    names = {"functionCall": "function_call", "thoughtSignature": "thought_signature"}
    return [
        {
            **content,
            "parts": [
                {names.get(name, name): item for name, item in part.items()}
                for part in content["parts"]
            ],
        }
        for content in _whole(made)
    ]


_ECHOES: dict[str, Callable[[Written], list[dict[str, Any]]]] = {
    "whole": _whole,
    "streamed": _streamed,
    "google-genai": _recoded,
    "gemini-cli": _without_thoughts,
    "ai-sdk": _without_ids,
    "snake": _snake,
}
CLIENTS = tuple(_ECHOES)


def signature(data: bytes = b"native") -> str:
    """Return a thought signature that a model made."""
    return base64.b64encode(data).decode()
