"""Caches responses: a repeated request is answered without sending it."""

import logging
from collections.abc import Callable

import anyio.to_thread

from llmcore.client.event_stream import EventStream
from llmcore.client.media_files import load_files, names_files
from llmcore.client.middleware.cache_key import cache_key
from llmcore.client.middleware.cached_events import Recording, unpacked
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.memory_cache import CacheStore, MemoryCache
from llmcore.client.middleware.serial import SerialExecutor, Waiter
from llmcore.client.middleware.target import target_of
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.hints import shown_kind, with_checked_arguments
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result, Success

_LOG = logging.getLogger("llmcore.cache")

_WORTH_KEEPING = frozenset({"stop", "length", "tool_calls"})


@with_checked_arguments(
    ttl="ttl_s", max_age="ttl_s", expires="ttl_s", path="write ResponseCache(SqliteCache(path))"
)
@with_settings_in_repr
class ResponseCache:
    """Stores complete responses and returns them for equal requests, streamed or not.

    Requests are equal if the model, the route and all fields are. Credentials are not compared:
    use *scope* to separate users who must not get each other's responses. Failures and
    filtered responses are not stored. A cached response has the Diagnostic `response-from-cache`
    and its original usage.

    Of several equal requests at the same time, only one is sent, unless they are streamed.

    - `ttl_s`: the seconds for which a response is used; None has no limit.
    - `when`: whether a request uses the cache; by default all do.
    """

    def __init__(
        self,
        store: CacheStore | None = None,
        *,
        ttl_s: float | None = 3600.0,
        when: Callable[[LLMRequest], bool] | None = None,
        scope: str = "",
    ) -> None:
        if ttl_s is not None and not ttl_s > 0:
            raise ConfigurationError(f"ttl_s must be more than 0 seconds, not {ttl_s}")
        if store is not None and not hasattr(store, "put"):
            message = "store must be a cache, such as SqliteCache('responses.db')"
            raise ConfigurationError(f"{message}, not {shown_kind(store)}")
        self.store: CacheStore = MemoryCache() if store is None else store
        self._ttl_s = ttl_s
        self._when = when
        self._scope = scope
        self._running: dict[str, list[Waiter]] = {}
        """By key of a running request, the calls that wait for its response."""
        self._serial = SerialExecutor(forget=self._running.clear)

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Answer from the cache, or run the call and store its response."""
        key = await self._key(request, next)
        if key is None:
            return next(request)
        stored = await self._found(key)
        if stored is not None:
            return EventStream.of(stored)
        return (
            self._run_and_store(key, request, next)
            if next.streaming
            else await self._run_once(key, request, next)
        )

    async def _key(self, request: LLMRequest, next: Next) -> str | None:
        """Return the key of *request*; None if it is not cached, or cannot be sent."""
        target = target_of(request, next)
        if target.route is None or (self._when is not None and not self._when(request)):
            return None
        if names_files(request):
            try:
                request = await anyio.to_thread.run_sync(load_files, request)
            except LLMError:  # sending it raises the same error
                return None
        return cache_key(request, target, target.route, self._scope)

    async def _found(self, key: str) -> list[LLMEvent] | None:
        data = await self.store.get(key)
        if data is None:
            return None
        try:
            return unpacked(data)
        except (LLMError, ValueError) as error:
            _LOG.warning("an entry of the response cache cannot be read: %s", error)
            return None

    async def _run_once(self, key: str, request: LLMRequest, next: Next) -> EventStream:
        """Run the call, unless an equal one is running: then wait for its response first."""
        waiter = Waiter()
        if await self._serial.submit(lambda: self._is_first(key, waiter)):
            return self._run_and_store(key, request, next).watch(
                end=lambda _result: self._serial.run(lambda: self._wake(key))
            )
        await waiter.wait()
        stored = await self._found(key)
        return self._run_and_store(key, request, next) if stored is None else EventStream.of(stored)

    def _is_first(self, key: str, waiter: Waiter) -> bool:
        if key in self._running:
            self._running[key].append(waiter)
            return False
        self._running[key] = []
        return True

    def _wake(self, key: str) -> None:
        for waiter in self._running.pop(key, ()):
            waiter.wake()

    def _run_and_store(self, key: str, request: LLMRequest, next: Next) -> EventStream:
        recording = Recording()

        async def keep(result: Result[LLMResponse, LLMError]) -> None:
            if isinstance(result, Success) and result.value.finish_reason.reason in _WORTH_KEEPING:
                await self.store.put(key, recording.packed(), ttl_s=self._ttl_s)

        return next(request).watch(each=recording.add).on_result(keep)
