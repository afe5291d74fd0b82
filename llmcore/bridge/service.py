"""What the gateway does: the calls of its API, without HTTP."""

import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import anyio
from attrs import evolve

from llmcore.bridge.build import build_information
from llmcore.bridge.config import Settings
from llmcore.bridge.errors import (
    BridgeError,
    from_llm_error,
    invalid,
    overloaded,
    previous_response_not_found,
    response_not_found,
)
from llmcore.bridge.http.access import Caller
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import ModelMap, Target, read_model_map
from llmcore.bridge.model_names import ModelNames
from llmcore.bridge.policy import RegisteredTool, TranslationPolicy
from llmcore.bridge.response_run import Parts, Turn, state_unavailable
from llmcore.bridge.responses.compaction import as_response_request, compacted, user_items
from llmcore.bridge.responses.native_tools import read_tools
from llmcore.bridge.responses.request import (
    Translation,
    required_references,
    structured_output_error,
    structured_output_lost,
    translate,
)
from llmcore.bridge.responses.state import Conversation, page
from llmcore.bridge.state.signer import Sealer
from llmcore.bridge.state.store import Record, StateUnavailableError, Store
from llmcore.bridge.state.stores import store_for
from llmcore.bridge.upstream import Upstreams, upstreams_from
from llmcore.client.large_requests import holds_much, is_large, off_the_loop
from llmcore.client.transport import Transport
from llmcore.protocols.notes import Notes
from llmcore.routes.route import Route
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.result import Success
from llmcore.version import VERSION

_T = TypeVar("_T")

_HEALTH_S = 1.0
_LARGE_AT_ONCE = 2
"""Large requests that threads translate at once: more would only take the loop's time."""


def new_id(prefix: str) -> str:
    """Return an id that nobody can guess, such as `resp_0f3a...`."""
    return f"{prefix}_{secrets.token_hex(24)}"


class Service:
    """The gateway's calls. Raises BridgeError; safe for concurrent use."""

    def __init__(
        self,
        settings: Settings,
        *,
        model_map: ModelMap,
        upstreams: Upstreams,
        store: Store,
        metrics: Metrics | None = None,
        registered_tools: tuple[RegisteredTool, ...] = (),
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics()
        self._names = ModelNames(model_map, upstreams)
        self._upstreams = upstreams
        self._store = store
        self._sealer = None if settings.seal_key is None else Sealer(settings.seal_key.encode())
        self._policy = _policy(settings, registered_tools)
        self._parts = Parts(
            settings=settings,
            client=upstreams.client,
            store=store,
            metrics=self.metrics,
            policy=self._policy,
            new_id=new_id,
        )
        self._running = 0
        self._build = build_information()
        self._checking = anyio.Lock()
        self._checked_until = -math.inf
        self._health: JsonObject = {}
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        registered_tools: tuple[RegisteredTool, ...] = (),
        transport: Transport | None = None,
    ) -> "Service":
        """Return the service that *settings* describe; nothing is opened yet.

        *transport*, such as recorded answers, takes the place of the network. Raises
        ConfigurationError for settings that cannot work.
        """
        model_map = read_model_map(settings.model_map_path, settings.upstream)
        return cls(
            settings,
            model_map=model_map,
            upstreams=upstreams_from(settings, model_map, transport=transport),
            store=store_for(settings),
            registered_tools=(*read_tools(settings.tools_path), *registered_tools),
        )

    async def aclose(self) -> None:
        """Close connections and the store."""
        await self._upstreams.aclose()
        await self._store.aclose()

    # -- Creating

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count a request with a body as under way for the block; 503 if there are too many."""
        self.check_room()
        self._running += 1
        self.metrics.running.set(self._running)
        try:
            yield
        finally:
            self._running -= 1
            self.metrics.running.set(self._running)

    def check_room(self) -> None:
        """Raise BridgeError, 503, if as many answers are under way as there may be."""
        if self._running >= self.settings.limits.max_running:
            message = f"{self._running} answers are under way, which is the limit here"
            raise overloaded(message)

    async def create(self, body: JsonObject, caller: Caller) -> Turn:
        """Return the answer to *body*, to be run; nothing was sent yet."""
        target, model = self._model(body)
        translation = await self._translated(body, caller, target, model)
        await self._check_structured(translation)
        if translation.store:
            await self._from_store(self._store.check())
        return self._turn(translation, caller, target)

    async def compact(self, body: JsonObject, caller: Caller) -> Turn:
        """Return the answer to *body*, which asks for a shorter conversation; nothing was sent."""
        target, model = self._model(body)
        asked = as_response_request(body)
        translation = await self._translated(asked, caller, target, model)
        notes = Notes()
        said = user_items(translation.before, translation.input_items, new_id, notes)
        told = evolve(translation, diagnostics=(*translation.diagnostics, *notes.entries))
        turn = self._turn(told, caller, target)
        turn.form = partial(compacted, said=said)
        return turn

    def _turn(self, translation: Translation, caller: Caller, target: Target) -> Turn:
        return Turn(
            self._parts,
            translation,
            response_id=new_id("resp"),
            owner=caller.owner,
            provider=target.provider,
        )

    async def input_tokens(self, body: JsonObject, caller: Caller) -> JsonObject:
        """Return how many tokens the input of *body* has; 501 if the upstream cannot count."""
        target, model = self._model(body)
        asked = {**body, "store": False, "stream": False}
        translation = await self._translated(asked, caller, target, model)
        try:
            count = await self._upstreams.count_tokens(translation.request)
        except LLMError as error:
            raise from_llm_error(error) from error
        if count is None:
            raise BridgeError(
                status=501,
                message=f"the upstream {target.provider!r} has no way to count tokens",
                code="not_implemented",
            )
        return {"object": "response.input_tokens", "input_tokens": count}

    def _model(self, body: JsonObject) -> tuple[Target, Model]:
        """Return who answers to the model that *body* names."""
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise invalid("model must name a model", "model", "missing_required_parameter")
        target = self._names.target(name)
        try:
            return target, self._upstreams.client.providers[target.provider].model(target.model)
        except LLMError as error:
            raise from_llm_error(error) from error

    async def _translated(
        self, body: JsonObject, caller: Caller, target: Target, model: Model
    ) -> Translation:
        large = holds_much(body)
        previous, items = await self._references(body, caller, large=large)
        sealer = await self._key_holder()
        route = model.route
        step = partial(
            translate,
            body,
            previous=previous,
            find_item=items.get,
            model=model,
            provider=target.provider,
            policy=self._policy,
            seal=sealer,
            protocol_id=route.protocol.id if isinstance(route, Route) else None,
            new_id=new_id,
        )
        large = large or holds_much(previous and previous.messages)
        result = await self._off_the_loop(step, large=large)
        if isinstance(result, Success):
            return result.unwrap()
        raise result.failure()

    async def _references(
        self, body: JsonObject, caller: Caller, *, large: bool
    ) -> tuple[Conversation | None, Mapping[str, JsonObject]]:
        """Fetch from the store what *body* refers to."""
        wanted = await self._off_the_loop(partial(required_references, body), large=large)
        previous = None
        if wanted.previous_response_id is not None:
            record = await self._record(wanted.previous_response_id, caller)
            if record is None or record.conversation is None:
                raise previous_response_not_found(wanted.previous_response_id)
            read = partial(self._conversation, record)
            previous = await self._off_the_loop(read, large=holds_much(record.conversation))
        names = tuple(dict.fromkeys((*wanted.items, *wanted.hints)))
        if len(names) > self._policy.max_items:
            raise invalid(f"input has more than {self._policy.max_items} items", "input")
        ours = [name for name in names if name.isascii()]
        return previous, await self._from_store(self._store.items(ours, caller.owner))

    async def _key_holder(self) -> Sealer:
        """Return what seals, with the configured key or the one that the store keeps."""
        if self._sealer is None:
            self._sealer = Sealer(await self._from_store(self._store.sealing_key()))
        return self._sealer

    def _conversation(self, record: Record) -> Conversation:
        try:
            return Conversation.from_json(record.conversation)
        except LLMError as error:
            log(logging.ERROR, "conversation_unreadable", response_id=record.id, error=str(error))
            raise previous_response_not_found(record.id) from error

    async def _check_structured(self, translation: Translation) -> None:
        """Refuse a schema that the upstream would not hold the answer to, if that is the policy."""
        if self._policy.structured_output != "error" or not translation.structured:
            return
        request = translation.request
        step = partial(self._upstreams.client.prepare, request, streaming=True)
        prepared = await self._off_the_loop(step, large=is_large(request))
        if not isinstance(prepared, Success):
            raise from_llm_error(prepared.failure())
        lost = structured_output_lost(prepared.unwrap().diagnostics)
        if lost is not None:
            raise structured_output_error(lost)

    # -- What is stored

    async def get(self, response_id: str, caller: Caller) -> JsonObject:
        """Return a stored response; 404 if there is none."""
        return (await self._existing(response_id, caller)).response

    async def delete(self, response_id: str, caller: Caller) -> JsonObject:
        """Forget a stored response; 404 if there is none."""
        await self._existing(response_id, caller)
        await self._from_store(self._store.delete(response_id))
        return {"id": response_id, "object": "response.deleted", "deleted": True}

    async def cancel(self, response_id: str, caller: Caller) -> JsonObject:
        """Explain that there is nothing to cancel: 404, or 501."""
        await self._existing(response_id, caller)
        raise BridgeError(
            status=501,
            message="there are no background responses here: close the connection of a running "
            "response to cancel it",
            code="not_implemented",
        )

    async def input_items(
        self, response_id: str, caller: Caller, query: Mapping[str, str]
    ) -> JsonObject:
        """Return a page of a stored response's input items, as `order`, `limit`, `after` say."""
        record = await self._existing(response_id, caller)
        return page(record.input_items, query)

    async def _existing(self, response_id: str, caller: Caller) -> Record:
        record = await self._record(response_id, caller)
        if record is None:
            raise response_not_found(response_id)
        return record

    async def _record(self, response_id: str, caller: Caller) -> Record | None:
        if not response_id.isascii():  # none that we made
            return None
        record = await self._from_store(self._store.get(response_id))
        return record if record is not None and record.owner == caller.owner else None

    async def _off_the_loop(self, step: Callable[[], _T], *, large: bool) -> _T:
        return await off_the_loop(step, large=large, limiter=self._threads)

    async def _from_store(self, work: Awaitable[_T]) -> _T:
        try:
            return await work
        except StateUnavailableError as error:
            self.metrics.state_errors.inc()
            log(logging.ERROR, "state_unavailable", error=str(error))
            raise state_unavailable() from error

    # -- About the gateway

    async def models(self) -> JsonObject:
        """Return the models that clients may name: the map's, and the upstream's own."""
        return await self._names.all()

    async def model(self, name: str) -> JsonObject:
        """Return one model; 404 if no provider answers to that name."""
        return self._names.one(name)

    async def health(self) -> JsonObject:
        """Return that we are here, and whether the store is, looked at once in a second.

        Anybody may ask, without a key: they must not keep the store busy.
        """
        async with self._checking:
            if anyio.current_time() >= self._checked_until:
                try:
                    await self._store.check()
                except StateUnavailableError:
                    self._health = {"status": "degraded", "state": "unavailable"}
                else:
                    self._health = {"status": "ok", "state": "ok"}
                self._checked_until = anyio.current_time() + _HEALTH_S
            return self._health

    def version(self) -> JsonObject:
        """Return the version and what is configured, without secrets."""
        settings, limits = self.settings, self.settings.limits
        return {
            "name": "openbridge",
            "version": VERSION,
            "build": self._build,
            "upstream": settings.upstream,
            "models": self._names.mapped,
            "state": {"backend": settings.state.backend, "ttl_seconds": settings.state.ttl_s},
            "client_key_required": bool(settings.client_api_keys),
            "hosted_tools": settings.hosted_tools,
            "structured_output": settings.structured_output,
            "retry_without": list(settings.retry_without),
            "limits": {
                "max_body_bytes": limits.max_body_bytes,
                "max_running": limits.max_running,
                "rate_per_minute": limits.rate_per_minute,
            },
        }


def _policy(settings: Settings, tools: tuple[RegisteredTool, ...]) -> TranslationPolicy:
    return TranslationPolicy(
        hosted_tools=settings.hosted_tools,
        structured_output=settings.structured_output,
        custom_tools=settings.custom_tools,
        reasoning_text=settings.reasoning_text,
        retry_without=settings.retry_without,
        registered_tools=tools,
    )
