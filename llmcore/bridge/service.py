"""The gateway's service, whatever API its clients speak, without HTTP."""

import logging
import math
import os
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

import anyio

from llmcore.bridge.accounts.charges import Accounts
from llmcore.bridge.background.responses import BackgroundResponses
from llmcore.bridge.build import build_information
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.counting import TokenCounter
from llmcore.bridge.http.logs import log, set_level
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import ModelMap, ModelPool, UpstreamModel, model_map_of
from llmcore.bridge.model_names import ModelNames
from llmcore.bridge.pools.affinity import DIGITS
from llmcore.bridge.pools.choice import choose
from llmcore.bridge.pools.keys import RotatingKey
from llmcore.bridge.pools.pooled_run import MakeRun, PooledRun, PoolPlan
from llmcore.bridge.pools.providers import upstreams_from
from llmcore.bridge.pools.shared_health import SharedHealth
from llmcore.bridge.pools.shared_limits import SharedLimits
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.relayed_request import RelayedRequest
from llmcore.bridge.reload import ReadSettings, Reloader
from llmcore.bridge.response_run import Run
from llmcore.bridge.state.call_states import CallStates
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.bridge.state.stores import ledger_for, store_for
from llmcore.bridge.tools_file import read_tools
from llmcore.bridge.upstream import Upstreams
from llmcore.bridge.upstream_call import RunContext, retry_policy, total_deadline
from llmcore.client.large_requests import is_large, run_in_thread_if
from llmcore.client.loop_task import LoopTask
from llmcore.client.transport import Transport
from llmcore.fronts.errors import FrontError, from_llm_error, overloaded, state_unavailable
from llmcore.fronts.front import ClientRequest, Upstream
from llmcore.fronts.policy import RegisteredTool, TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.errors import AuthenticationError, LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.version import VERSION

_T = TypeVar("_T")

_HEALTH_S = 1.0
"""Seconds for which the result of a health check of the store is reused."""
_HEALTH_WAIT_S = 1.0
"""The longest wait for that result."""
_DEGRADED: Final[JsonObject] = {"status": "degraded", "state": "unavailable"}
_MAINTENANCE_S = 1.0
"""Seconds between two checks for changed settings and keys."""
_MODELS_KEPT = 256
"""Targets whose models are kept; clients can ask for any name."""
_LARGE_AT_ONCE = 2
"""Large requests that threads translate at once: more would only take the loop's time."""


def new_id(prefix: str, conversation: str = "") -> str:
    """Return an id that cannot be guessed, such as `resp_0f3a...`.

    It begins with the digits of its *conversation*, if there are any.
    """
    digits = os.urandom(20 if conversation else 20 + DIGITS // 2).hex()
    return f"{prefix}_{conversation}{digits}"


class Service:
    """Models, calls, stores and limits for the operations of all APIs. Raises FrontError.

    Safe for concurrent use.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        model_map: ModelMap,
        upstreams: Upstreams,
        store: ResponseStore,
        registered_tools: tuple[RegisteredTool, ...] = (),
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.store = store
        self.background = BackgroundResponses(
            store, self.metrics, at_once=settings.limits.max_background
        )
        self.accounts = Accounts(settings, ledger_for(settings), self.metrics)
        self._shared_limits = SharedLimits(
            self.accounts.ledger,
            self.accounts.worker,
            hold_lease=self.accounts.hold_lease,
            failed=self.metrics.state_errors.inc,
        )
        self.upstream_health = UpstreamHealth(
            settings.cool_downs,
            self.metrics,
            settings.tables.upstreams,
            shared=self._shared_limits if settings.shares_state else None,
        )
        self._shared_health = SharedHealth(self.upstream_health, store)
        self.call_states = CallStates()
        self._own_tools = registered_tools
        self._retired: list[Upstreams] = []
        """Earlier upstreams that no response uses any more, to be closed."""
        self.reloader: Reloader | None = None
        self._use(settings, model_map, upstreams)
        self._sealer = None if settings.seal_key is None else Sealer(settings.seal_key.encode())
        self._running = 0
        self._check: LoopTask | None = None
        """The health check that is under way."""
        self._checked = anyio.Event()
        self._checked_until = -math.inf
        self._health: JsonObject = _DEGRADED
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    def _use(self, settings: GatewaySettings, model_map: ModelMap, upstreams: Upstreams) -> None:
        """Answer the requests that begin from now on by *settings*."""
        self.settings = settings
        self.names = ModelNames(model_map, upstreams, prefix=settings.model_prefix)
        self._providers = {
            upstream.name: upstream.provider for upstream in settings.tables.upstreams
        }
        self.client_keys = _client_keys(settings)
        self.policy = _policy(settings, (*read_tools(settings.tools_path), *self._own_tools))
        self.counter = TokenCounter(upstreams)
        self._upstreams = upstreams
        self._read_for = lru_cache(maxsize=_MODELS_KEPT)(
            partial(_upstream_of, upstreams, self.policy)
        )
        self._relayed: dict[int, tuple[Model, RelayedRequest]] = {}
        self.context = RunContext(
            settings=settings,
            client=upstreams.client,
            metrics=self.metrics,
            policy=self.policy,
            health=self.upstream_health,
            timeouts=upstreams.timeouts,
        )
        """The settings and connections of responses that begin now."""

    def reconfigure(self, settings: GatewaySettings) -> None:
        """Answer the requests that begin from now on by *settings*.

        Responses under way keep the upstreams that they began with, which are closed after the last
        of them. Raises ConfigurationError, and changes nothing, for settings that cannot work.
        """
        model_map = model_map_of(settings)
        upstreams = upstreams_from(settings, model_map)
        read_tools(settings.tools_path)
        self.accounts.configure(settings)
        old, context = self._upstreams, self.context
        self.upstream_health.configure(settings.cool_downs, settings.tables.upstreams)
        self._use(settings, model_map, upstreams)
        set_level(settings.log_level)
        weakref.finalize(context, self._retired.append, old).atexit = False

    @classmethod
    def from_settings(
        cls,
        settings: GatewaySettings,
        *,
        registered_tools: tuple[RegisteredTool, ...] = (),
        transport: Transport | None = None,
        read_again: ReadSettings | None = None,
    ) -> "Service":
        """Return the service that *settings* describe; nothing is opened yet.

        With *read_again* it follows changes of the files that the settings are read from.
        *transport*, such as recorded responses, takes the place of the network. Raises
        ConfigurationError for settings that cannot work.
        """
        model_map = model_map_of(settings)
        service = cls(
            settings,
            model_map=model_map,
            upstreams=upstreams_from(settings, model_map, transport=transport),
            store=store_for(settings),
            registered_tools=registered_tools,
        )
        if read_again is not None:
            service.reloader = Reloader(service, read_again)
        return service

    async def aclose(self) -> None:
        """Close connections and stores, once background responses have ended and are charged."""
        await self.background.aclose(self.settings.limits.shutdown_s)
        if self._check is not None:
            await self._check.stop()
        await self._shared_limits.release()
        await self.accounts.aclose()
        for upstreams in (self._upstreams, *self._retired):
            await upstreams.aclose()
        await self.store.aclose()

    async def maintain(self) -> None:
        """Keep what changes while the gateway runs up to date, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report_store)
            if self.reloader is not None:
                tasks.start_soon(self.reloader.reload_on_signals)
            while True:
                for key in self._upstreams.keys.values():
                    if key.has_to_run:
                        tasks.start_soon(key.begin)
                await anyio.sleep(_MAINTENANCE_S)
                await self.refresh_client_keys()
                self._ask_with_new_keys()
                await self.accounts.recover()
                self.upstream_health.measure(sorted(self._upstreams.client.providers))
                if self.settings.shares_state:
                    await self._shared_health.exchange()
                    await self._shared_limits.release()
                if self.reloader is not None:
                    await self.reloader.check()
                while self._retired:
                    await self._retired.pop().aclose()

    async def refresh_client_keys(self) -> None:
        """Read clients' keys again whose files have changed or whose time has come."""
        for key in self.client_keys.values():
            with suppress(AuthenticationError):  # logged; the client has no key until there is one
                await key()

    def _ask_with_new_keys(self) -> None:
        """Let upstreams with another key be asked at once, also if they refused the old one."""
        for upstream, key in self._upstreams.keys.items():
            if key.is_renewed():
                self.upstream_health.key_renewed(upstream)

    # -- Responses

    def admitted(self) -> "Admission":
        """Return what counts a request with a body as under way, for a block or until released."""
        return Admission(self)

    def count_running(self, more: int) -> None:
        """Count *more* responses as under way."""
        self._running += more
        self.metrics.running.set(self._running)

    def check_room(self) -> None:
        """Raise FrontError, 503, if as many responses are under way as there may be."""
        if self._running >= self.settings.limits.max_running:
            raise overloaded(f"{self._running} responses are under way, which is the limit here")

    async def upstream(self, target: UpstreamModel) -> Upstream:
        """Return what requests to *target* are read for; FrontError if the name is rejected."""
        try:
            return self._read_for(target, self._sealer or await self.sealer())
        except LLMError as error:
            raise from_llm_error(error) from error

    def relayed(self, request: ClientRequest, model: Model, route: Route[Any]) -> RelayedRequest:
        """Return the request that sends the body of *request* to *model*, that of an upstream."""
        known = self._relayed.get(id(model))
        if known is None or known[0] is not model:
            if len(self._relayed) >= _MODELS_KEPT:
                self._relayed.clear()
            # The page shows recorded responses, and telemetry may.
            skims = not (self.settings.ui_record or self._upstreams.client.middleware)
            known = (model, RelayedRequest.to(model, route, skims=skims))
            self._relayed[id(model)] = known
        return known[1].of(request)

    def is_pooled(self, pool: ModelPool) -> bool:
        """Return whether a response of *pool* may have to wait, or go to another target."""
        return bool(
            len(pool.targets) > 1 or pool.others or self.upstream_health.has_limits(pool.first)
        )

    def provider_of(self, target: UpstreamModel) -> str:
        """Return the provider of *target*, by which prices are known."""
        return self._providers.get(target.provider, target.provider)

    def first_of(self, pool: ModelPool, conversation: str) -> UpstreamModel:
        """Return the target of *pool* that a conversation is sent to first."""
        health = self.upstream_health
        choice = choose(pool, health.free_at, now=health.now(), conversation=conversation)
        return pool.first if choice is None else choice.target

    async def pooled(
        self, name: str, pool: ModelPool, conversation: str, make: MakeRun[Run]
    ) -> PooledRun[Run]:
        """Return the response of the first target of *pool* that begins one."""
        pools = [pool]
        for known in pools:  # those that are found are searched, too
            found = map(self.names.find, known.others)
            pools += [other for other in found if other is not None and other not in pools]
        plan = PoolPlan(
            others=tuple(target for known in pools for target in known.targets),
            name=name,
            pool=pool,
            conversation=conversation,
            policy=retry_policy(self.settings),
            deadline=total_deadline(self.settings),
            find=self.names.find,
        )
        return await PooledRun.begin(plan, self.upstream_health, self.metrics, make)

    async def prepared(self, request: LLMRequest) -> PreparedRequest:
        """Return what the upstream would be sent for *request*."""
        step = partial(self._upstreams.client.prepare, request, streaming=True)
        prepared = await self.run_in_thread_if(step, large=is_large(request))
        return prepared.alt(from_llm_error).unwrap()

    def run_in_thread_if(self, step: Callable[[], _T], *, large: bool) -> Awaitable[_T]:
        """Return what *step* returns, from one of a few threads if it is *large*."""
        return run_in_thread_if(step, large=large, limiter=self._threads)

    # -- The store

    async def sealer(self) -> Sealer:
        """Return what signs clients' state: with the configured key, or with the store's."""
        if self._sealer is None:
            self._sealer = Sealer(await self.from_store(self.store.sealing_key()))
        return self._sealer

    async def _report_store(self) -> None:
        """Log that the store cannot be reached, before a request needs it; else read its key."""
        with suppress(FrontError):
            await self.from_store(self.store.check())
            await self.sealer()

    async def from_store(self, work: Awaitable[_T]) -> _T:
        """Return what the store returns; FrontError, 503, if it cannot be reached."""
        try:
            return await work
        except StateUnavailableError as error:
            self.metrics.state_errors.inc()
            log(logging.ERROR, "state_unavailable", error=str(error))
            raise state_unavailable() from error

    # -- About the gateway

    async def deep_health(self) -> JsonObject:
        """Return the health of the store, and of every upstream as its last requests showed it."""
        keys = self._upstreams.keys.items()
        unread = {name: key.current is not None for name, key in keys if key.fault}
        found = self.upstream_health.report(sorted(self._upstreams.client.providers), unread)
        return {**await self.health(), "upstreams": found}

    async def health(self) -> JsonObject:
        """Return whether the store can be reached; a result is reused for a second.

        Callers need no key, so each call must not cost a call of the store. They have time limits,
        so a store that takes longer than a second counts as unavailable.
        """
        if self._check is None and anyio.current_time() >= self._checked_until:
            self._checked = anyio.Event()
            self._check = LoopTask(self._check_stores)
        if self._check is None:
            return self._health
        with anyio.move_on_after(_HEALTH_WAIT_S):
            await self._checked.wait()
            return self._health
        return _DEGRADED

    async def _check_stores(self) -> None:
        try:
            await self.store.check()
            await self.accounts.check()
        except StateUnavailableError:
            self._health = _DEGRADED
        else:
            self._health = {"status": "ok", "state": "ok"}
        finally:
            self._checked_until = anyio.current_time() + _HEALTH_S
            self._check = None
            self._checked.set()

    def version(self) -> JsonObject:
        """Return the version and what is configured, without secrets."""
        settings, limits = self.settings, self.settings.limits
        return {
            "name": "openbridge",
            "version": VERSION,
            "build": build_information(),
            "upstream": settings.upstream,
            "models": self.names.mapped,
            "state": {"backend": settings.state.backend, "ttl_seconds": settings.state.ttl_s},
            "client_key_required": settings.needs_key,
            "hosted_tools": settings.hosted_tools,
            "structured_output": settings.structured_output,
            "retry_without": list(settings.retry_without),
            "limits": {
                "max_body_bytes": limits.max_body_bytes,
                "max_running": limits.max_running,
                "rate_per_minute": limits.rate_per_minute,
            },
        }


class Admission:
    """The place of one request among those under way, once it is admitted."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._admitted = False

    def admit(self) -> None:
        """Count the request as under way; FrontError, 503, if there are too many."""
        self._service.check_room()
        self._service.count_running(1)
        self._admitted = True

    def release(self) -> None:
        """Stop counting the request, if it was admitted."""
        if self._admitted:
            self._admitted = False
            self._service.count_running(-1)

    def __enter__(self) -> None:
        self.admit()

    def __exit__(self, *_exc: object) -> None:
        self.release()


def _upstream_of(
    upstreams: Upstreams, policy: TranslationPolicy, target: UpstreamModel, sealer: Sealer
) -> Upstream:
    model = upstreams.client.providers[target.provider].model(target.model)
    protocol = model.route.protocol if isinstance(model.route, Route) else None
    return Upstream(
        model=model,
        provider=model.provider,
        protocol_id=protocol.id if protocol is not None else None,
        native_tools=protocol is None or protocol.native_tools,
        policy=policy,
        sealer=sealer,
        new_id=new_id,
    )


def _client_keys(settings: GatewaySettings) -> Mapping[str, RotatingKey]:
    return {
        client.name: RotatingKey(client, owner=f"client {client.name}", folder=settings.folder)
        for client in settings.tables.clients
    }


def _policy(settings: GatewaySettings, tools: tuple[RegisteredTool, ...]) -> TranslationPolicy:
    return TranslationPolicy(
        hosted_tools=settings.hosted_tools,
        custom_tools=settings.custom_tools,
        reasoning_text=settings.reasoning_text,
        chat_reasoning=settings.chat_reasoning,
        retry_without=settings.retry_without,
        registered_tools=tools,
        max_choices=settings.limits.max_choices,
    )
