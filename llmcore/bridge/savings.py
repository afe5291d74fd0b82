"""The cache of responses, and the marks that make an upstream cache prompts.

Both are off unless they are configured. The header `x-openbridge-cache` shows `hit` or `miss` where
a response could come from the response cache; `x-openbridge-diagnostics` shows added marks.
"""

import hashlib
import logging
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeAlias

import anyio.to_thread
from attrs import define, field
from msgspec.structs import replace

from llmcore.bridge.configuration.settings import CacheSettings
from llmcore.bridge.http.logs import log
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.client.event_stream import EventStream
from llmcore.client.large_requests import is_large, run_in_thread_if
from llmcore.client.middleware.cache_key import cache_key
from llmcore.client.middleware.cached_events import Recording, unpacked
from llmcore.client.middleware.target import ModelChoice
from llmcore.fronts.front import ClientRequest
from llmcore.protocols.protocol import CacheMark, Protocol, protocol_by_id
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result, Success

CACHE_HEADER: Final = "x-openbridge-cache"
MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024
"""Responses whose events take more bytes of JSON are not stored."""
_KEPT_REASONS: Final = frozenset({"stop", "length", "tool_calls"})
_KEY_CHARS: Final = 32

# -- the response cache


@define(eq=False)
class CachedResponse:
    """A response that may come from the cache; if not, it is stored there at its end."""

    store: ResponseStore
    name: Callable[[], str]
    """Computes the name of the response in the store."""
    ttl_s: float
    large: bool
    """Whether the request is so large that the name is computed in a thread."""
    is_fresh: bool
    """Whether the client asks for a new response, which replaces a stored one."""
    state: Literal["hit", "miss"] = field(default="miss", init=False)

    @property
    def headers(self) -> Mapping[str, str]:
        """The header that shows whether the response came from the cache."""
        return {CACHE_HEADER: self.state}

    def through(self, call: Callable[[], EventStream]) -> EventStream:
        """Return the stored events, or those of *call*."""
        return EventStream.deferred(partial(self._events, call))

    async def _events(self, call: Callable[[], EventStream]) -> EventStream:
        name = await run_in_thread_if(self.name, large=self.large)
        if not self.is_fresh and (events := await self._stored_events(name)) is not None:
            self.state = "hit"
            return EventStream.of(events)
        recording = Recording()
        keep = partial(self._keep, name, recording)
        return call().watch(each=recording.add).on_result(keep)

    async def _stored_events(self, name: str) -> list[LLMEvent] | None:
        try:
            data = await self.store.value(name)
            if data is None:
                return None
            return await anyio.to_thread.run_sync(_unpacked, data)
        except (StateUnavailableError, LLMError, ValueError, zlib.error) as error:
            log(logging.WARNING, "response_cache_unreadable", error=str(error))
            return None

    async def _keep(
        self, name: str, recording: Recording, result: Result[LLMResponse, LLMError]
    ) -> None:
        if not isinstance(result, Success):
            return
        if result.value.finish_reason.reason not in _KEPT_REASONS:
            return
        data = await anyio.to_thread.run_sync(_packed, recording)
        if data is None:
            return
        try:
            await self.store.keep(name, data, self.ttl_s)
        except StateUnavailableError as error:
            log(logging.WARNING, "response_cache_unwritten", error=str(error))


def _packed(recording: Recording) -> bytes | None:
    data = recording.packed()
    return zlib.compress(data, 1) if len(data) <= MAX_RESPONSE_BYTES else None


def _unpacked(data: bytes) -> list[LLMEvent]:
    return unpacked(zlib.decompressobj().decompress(data, MAX_RESPONSE_BYTES))


def may_be_cached(settings: CacheSettings, request: ClientRequest) -> bool:
    """Return whether the response of a request may come from the cache.

    `deterministic` is for requests with a temperature of 0. `cache-control: no-store` is obeyed.
    """
    if settings.responses == "off" or "no-store" in request.headers.get("cache-control", ""):
        return False
    return settings.responses == "all" or _temperature(request.body) == 0


def _temperature(body: JsonObject) -> object:
    config = body.get("generationConfig")  # Gemini's
    return (config if isinstance(config, Mapping) else body).get("temperature")


def cached_response(
    settings: CacheSettings,
    store: ResponseStore,
    owner: str,
    client_request: ClientRequest,
    model: Model,
    request: LLMRequest,
) -> CachedResponse | None:
    """Return where the response to *request* may come from; None if it must be a new one.

    Responses are kept for the same caller, the same model behind the same route, and a request that
    is the same in everything that determines its response.
    """
    route = model.route
    if not may_be_cached(settings, client_request) or not isinstance(route, Route):
        return None
    return CachedResponse(
        store=store,
        name=partial(_stored_name, owner, model, route, request),
        ttl_s=settings.ttl_s,
        large=is_large(request),
        is_fresh="no-cache" in client_request.headers.get("cache-control", ""),
    )


def _stored_name(owner: str, model: Model, route: Route[Any], request: LLMRequest) -> str:
    url = route.endpoint.base_url
    target = ModelChoice(
        provider=model.provider,
        model=model.id,
        route=route,
        base_url=url if isinstance(url, str) else None,
    )
    return f"response:{cache_key(request, target, route, owner)}"


# -- marks for the cache of prompts


Marked: TypeAlias = tuple[ClientRequest, tuple[Diagnostic, ...]]
"""A request, and what was added to it."""


def with_prompt_cache_marks(
    request: ClientRequest, front_id: str, model: Model, owner: str
) -> Marked:
    """Return *request* with marks for *model* to cache its prompt; unchanged if it has some.

    Requests of the Messages API to Anthropic or Bedrock get `cache_control`, which caches up to the
    last message (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Requests
    of OpenAI's APIs to an upstream of these get a `prompt_cache_key` of the conversation's
    beginning (https://developers.openai.com/api/docs/guides/prompt-caching), read November 2026.
    Models and servers that take no such marks get none.
    """
    mark = protocol_by_id(front_id).cache_mark
    protocol = model.route.protocol if isinstance(model.route, Route) else None
    native = None if protocol is None else protocol.cache_mark
    if protocol is None or mark is None or native is None or mark.kind != native.kind:
        return request, ()
    if not _takes_marks(protocol, native, model.id, model.provider):
        return request, ()
    if mark.kind == "breakpoint" and not _has(request.body, mark):
        return _with_mark(request, mark.field, {"type": "ephemeral"})
    if mark.kind == "key" and request.body.get(mark.field) is None:
        return _with_mark(request, mark.field, _conversation_key(request.body, owner))
    return request, ()


@lru_cache(maxsize=256)
def _takes_marks(
    protocol: Protocol[Any, Any, Any], mark: CacheMark, model_id: str, provider: str
) -> bool:
    """Return whether requests to a model are sent with the marks that they ask for."""
    asking = LLMRequest(
        model=Model(model_id, provider),
        messages=(Message.user("?"),),
        cache=CachePolicy(key="?"),
    )
    built = protocol.body.build(asking, False)
    return built.map(lambda made: _has(made.body, mark)).value_or(False)


def _has(body: JsonObject, mark: CacheMark) -> bool:
    """Return whether a body has the field of *mark* in any place."""
    return f'"{mark.field}"'.encode() in json.dumps(body)


def _with_mark(request: ClientRequest, name: str, value: Any) -> Marked:
    note = Diagnostic(
        "prompt-cache-mark",
        name,
        action="added",
        message=f"{name} was added, so that the upstream caches the prompt",
    )
    return replace(request, body={**request.body, name: value}), (note,)


def _conversation_key(body: JsonObject, owner: str) -> str:
    """Return a key that all requests of a conversation share: a digest of their beginning."""
    items = body.get("messages", body.get("input"))
    first = items[:2] if isinstance(items, list) else items
    parts = [owner, body.get("model"), body.get("instructions"), body.get("tools"), first]
    text = json.canonical(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_CHARS]
