"""Upstream providers beside their answers: counting tokens, listing models."""

from collections.abc import Mapping, Sequence
from functools import partial

import anyio
from attrs import evolve, field, frozen

from llmcore.bridge.configuration.reading import COMPATIBLE
from llmcore.bridge.pools.keys import RotatingKey
from llmcore.client.client import Client
from llmcore.client.large_requests import is_large, off_the_loop
from llmcore.client.transport import Exchange
from llmcore.protocols.failures.errors import error_from_response
from llmcore.routes.http_request import HttpRequest, redact
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.transport import Timeouts
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError, LLMError, RequestTimeoutError, StreamError
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Success

_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_ASIDE_S = 30.0
"""For counting and listing."""

_CHAT_PATH = "/chat/completions"
_RESPONSES_PATH = "/responses"


@frozen
class Upstreams:
    """A client of every configured provider, which also counts tokens and lists models."""

    client: Client
    timeouts: Mapping[str, Timeouts] = field(factory=dict)
    """The time limits of upstreams that have their own."""

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()

    async def count_tokens(self, request: LLMRequest) -> int | None:
        """Return how many tokens the upstream counts in *request*; None if it cannot count.

        Raises LLMError where it can and fails.
        """
        await self._refresh_key(request)
        step = partial(self._prepared, request)
        prepared = await off_the_loop(step, large=is_large(request))
        aside = _counting(_route(request), prepared)
        if aside is None or self._fetches_token(request):
            return None
        try:
            answer = await self._answer(aside, prepared)
        except LLMError as error:
            if error.status_code in (404, 405, 501):  # another server behind the same protocol
                return None
            raise
        count = next((answer[n] for n in _COUNTS if isinstance(answer.get(n), int)), None)
        return count if isinstance(count, int) else None

    async def models(self, provider: str) -> Sequence[str]:
        """Return the ids of the models that *provider* lists; empty if it has no list.

        Raises LLMError where it has one and fails.
        """
        source = self.client.providers.get(provider)
        if source is None:
            return ()
        any_request = LLMRequest(model=source.model("any"), messages=(Message.user("any"),))
        await self._refresh_key(any_request)
        prepared = self._prepared(any_request)
        base = _base_url(prepared)
        if base is None or self._fetches_token(any_request):
            return ()
        listing = evolve(prepared.http, method="GET", url=f"{base}/models", body=b"")
        answer = await self._answer(listing, prepared)
        data = answer.get("data")
        items = data if isinstance(data, list) else []
        ids = [item.get("id") for item in items if isinstance(item, Mapping)]
        return tuple(name for name in ids if isinstance(name, str))

    def _fetches_token(self, request: LLMRequest) -> bool:
        """Whether a prepared request holds a placeholder where its token will be."""
        auth = _route(request).auth
        if auth.fetch is None or isinstance(auth.fetch, RotatingKey):
            return False
        return auth.fetch_when(self.client.environ)

    async def _refresh_key(self, request: LLMRequest) -> None:
        """Read the key of the request's upstream again if that is due."""
        fetch = _route(request).auth.fetch
        if isinstance(fetch, RotatingKey):
            await fetch()

    def _prepared(self, request: LLMRequest) -> PreparedRequest:
        result = self.client.prepare(request)
        if isinstance(result, Success):
            return result.unwrap()
        raise result.failure()

    async def _answer(self, request: HttpRequest, prepared: PreparedRequest) -> JsonObject:
        provider = prepared.request.provider_id
        try:
            with anyio.fail_after(_ASIDE_S):
                exchange = await self.client.send(evolve(prepared, http=request))
                try:
                    body = await _whole(exchange)
                finally:
                    await exchange.aclose()
        except TimeoutError as error:
            message = f"no answer within {_ASIDE_S:g} seconds"
            raise RequestTimeoutError(message, provider=provider, cause=error) from error
        if exchange.status >= 300:
            refusal = error_from_response(
                provider=provider or "upstream",
                status=exchange.status,
                headers=exchange.headers,
                body=body,
            )
            refusal.message = redact(refusal.message, request.secrets)
            raise refusal
        return _object(body, provider)


_COUNTS = ("input_tokens", "totalTokens")
_LLAMA_CPP = frozenset({"local", "llamacpp", COMPATIBLE})
"""Upstreams that may be llama.cpp, which counts for the Chat API too."""


def _counting(route: Route, prepared: PreparedRequest) -> HttpRequest | None:
    """Return the request that counts what *prepared* would send; None if there is none.

    llama.cpp counts for the Chat API too
    (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md); others do not.
    """
    protocol = route.protocol
    if protocol.count_tokens is None:
        return None
    if protocol.id == "openai-chat" and route.provider not in _LLAMA_CPP:
        return None
    http = prepared.http
    found = protocol.count_tokens.request(http.url, prepared.body, prepared.request.model_id)
    return None if found is None else evolve(http, url=found[0], body=json.dumps(found[1]))


def _base_url(prepared: PreparedRequest) -> str | None:
    """Return where `/models` is, for the APIs that have it beside what they generate by."""
    url = prepared.http.url.partition("?")[0]
    for ending in (_CHAT_PATH, _RESPONSES_PATH, "/messages"):
        if url.endswith(ending):
            return url.removesuffix(ending)
    return None


def _route(request: LLMRequest) -> Route:
    model = request.model
    if isinstance(model, Model) and isinstance(model.route, Route):
        return model.route
    raise ConfigurationError(f"the model {request.model_id!r} has no route")


async def _whole(exchange: Exchange) -> bytes:
    body = bytearray()
    async for chunk in exchange.chunks():
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise StreamError(f"the answer is larger than {_MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _object(body: bytes, provider: str | None) -> JsonObject:
    try:
        value: JsonValue = json.loads(body)
    except ValueError as error:
        message = "the answer is not JSON"
        raise StreamError(message, provider=provider, cause=error) from error
    return value if isinstance(value, dict) else {}
