"""The gateway's service, whatever API its clients speak, without HTTP."""

import logging
import os
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import TypeVar
from urllib.parse import urlsplit

import anyio

from llmcore.bridge.accounts.charges import Accounts
from llmcore.bridge.background.responses import BackgroundResponses
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.counting import TokenCounter
from llmcore.bridge.health_check import HealthCheck
from llmcore.bridge.http.logs import LOGGER, log, set_level
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
from llmcore.bridge.relayed_request import RelayedRequests
from llmcore.bridge.reload import ReadSettings, Reloader, Stamps, stamps_of
from llmcore.bridge.response_run import Run
from llmcore.bridge.state.call_states import CallStates
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.bridge.state.stores import ledger_for, store_for
from llmcore.bridge.tools_file import read_tools
from llmcore.bridge.upstream import Upstreams
from llmcore.bridge.upstream_call import RunContext, retry_policy, total_deadline
from llmcore.client.accounts import base_url_of
from llmcore.client.large_requests import is_large, run_in_thread_if
from llmcore.client.transport import Transport
from llmcore.fronts.errors import FrontError, from_llm_error, overloaded, state_unavailable
from llmcore.fronts.front import Upstream
from llmcore.fronts.policy import RegisteredTool, TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.errors import AuthenticationError, LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest

_T = TypeVar("_T")

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


class Admissions:
    """Counts the requests under way that have a body, and reports their number to *show*."""

    def __init__(self, show: Callable[[int], None]) -> None:
        self.most = 0
        """The most that there may be."""
        self._running = 0
        self._show = show

    def enter(self) -> None:
        """Count a request as under way; FrontError, 503, if there are too many."""
        self.check_room()
        self._count(1)

    def leave(self) -> None:
        """Stop counting a request that has entered."""
        self._count(-1)

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count a request as under way for a block; FrontError, 503, if there are too many."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def check_room(self) -> None:
        """Raise FrontError, 503, if as many responses are under way as there may be."""
        if self._running >= self.most:
            raise overloaded(f"{self._running} responses are under way, which is the limit here")

    def _count(self, more: int) -> None:
        self._running += more
        self._show(self._running)


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
        self.admissions = Admissions(self.metrics.running.set)
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
        self.call_states = CallStates(
            None if settings.state.backend == "memory" else store,
            failed=self.metrics.state_errors.inc,
        )
        self._own_tools = registered_tools
        self._retired: list[Upstreams] = []
        """Earlier upstreams that no response uses any more, to be closed."""
        self.reloader: Reloader | None = None
        self._use(settings, model_map, upstreams)
        self._sealer = None if settings.seal_key is None else Sealer(settings.seal_key.encode())
        self.health = HealthCheck(store.check, self.accounts.check)
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    def _use(self, settings: GatewaySettings, model_map: ModelMap, upstreams: Upstreams) -> None:
        """Answer the requests that begin from now on by *settings*."""
        self.settings = settings
        self.admissions.most = settings.limits.max_running
        self.names = ModelNames(model_map, upstreams, prefix=settings.model_prefix)
        self._providers = {
            upstream.name: upstream.provider for upstream in settings.tables.upstreams
        }
        self.client_keys = _client_keys(settings)
        self.policy = _policy(settings, (*read_tools(settings.tools_path), *self._own_tools))
        self.counter = TokenCounter(upstreams)
        self._upstreams = upstreams
        self._read_for = lru_cache(maxsize=_MODELS_KEPT)(
            partial(_upstream_of, upstreams, self.policy, settings.environ)
        )
        # The page shows recorded responses, and telemetry may.
        skims = not (settings.ui_record or upstreams.client.middleware)
        self.relayed_requests = RelayedRequests(skims=skims)
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
        stamps: Stamps | None = None,
    ) -> "Service":
        """Return the service that *settings* describe; nothing is opened yet.

        With *read_again* it follows changes of the files that the settings are read from, which had
        the *stamps* then, or have them now.
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
            service.reloader = Reloader(service, read_again, stamps or stamps_of(settings))
        return service

    async def aclose(self) -> None:
        """Close connections and stores, once background responses have ended and are charged."""
        await self.background.aclose(self.settings.limits.shutdown_s)
        await self.health.aclose()
        await self._shared_limits.release()
        await self.accounts.aclose()
        for upstreams in (self._upstreams, *self._retired):
            await upstreams.aclose()
        await self.store.aclose()

    async def begin(self) -> None:
        """Prepare for the first request.

        A worker that takes the place of another one has the settings of the gateway's start.
        """
        if self.reloader is not None:
            await self.reloader.check()
        await self.refresh_client_keys()

    async def maintain(self) -> None:
        """Keep what changes while the gateway runs up to date, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report_store)
            tasks.start_soon(self.accounts.running.note)
            if self.reloader is not None:
                tasks.start_soon(self.reloader.reload_on_signals)
            while True:
                for key in self._upstreams.keys.values():
                    if key.has_to_run:
                        tasks.start_soon(key.begin)
                await anyio.sleep(_MAINTENANCE_S)
                try:
                    await self._maintain_once()
                except Exception:  # noqa: BLE001  a fault of the gateway, which goes on without
                    LOGGER.exception("maintenance_failed")

    async def _maintain_once(self) -> None:
        if self.reloader is not None:
            await self.reloader.check()
        await self.refresh_client_keys()
        self._ask_with_new_keys()
        self.upstream_health.measure(sorted(self._upstreams.client.providers))
        while self._retired:
            await self._retired.pop().aclose()
        await self.accounts.recover()
        if self.settings.shares_state:
            await self._shared_health.exchange()
            await self._shared_limits.release()

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

    async def upstream(self, target: UpstreamModel) -> Upstream:
        """Return the upstream that requests to *target* are read for; FrontError for its errors."""
        try:
            return self._read_for(target, self._sealer or await self.sealer())
        except LLMError as error:
            raise from_llm_error(error) from error

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
        self,
        name: str,
        pool: ModelPool,
        conversation: str,
        make: MakeRun[Run],
        *,
        is_patient: bool = False,
    ) -> PooledRun[Run]:
        """Return the response of the first target of *pool* that begins one.

        One that *is_patient* waits for limited targets as long as it takes.
        """
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
            is_patient=is_patient,
        )
        return await PooledRun.begin(plan, self.upstream_health, self.metrics, make)

    async def prepared(self, request: LLMRequest) -> PreparedRequest:
        """Return *request* as it would be sent to the upstream."""
        step = partial(self._upstreams.client.prepare, request, streaming=True)
        prepared = await self.run_in_thread_if(step, large=is_large(request))
        return prepared.alt(from_llm_error).unwrap()

    def run_in_thread_if(self, step: Callable[[], _T], *, large: bool) -> Awaitable[_T]:
        """Return what *step* returns, from one of a few threads if it is *large*."""
        return run_in_thread_if(step, large=large, limiter=self._threads)

    # -- The store

    async def sealer(self) -> Sealer:
        """Return the sealer of clients' state: with the configured key, or with the store's."""
        if self._sealer is None:
            self._sealer = Sealer(await self.from_store(self.store.sealing_key()))
        return self._sealer

    async def _report_store(self) -> None:
        """Read the key of the store, and log before a request needs it if it cannot be used.

        The key comes first: a store that is full has it for requests that are not stored.
        """
        with suppress(FrontError):
            await self.sealer()
            await self.from_store(self.store.check())

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
        return {**await self.health.result(), "upstreams": found}


def _upstream_of(
    upstreams: Upstreams,
    policy: TranslationPolicy,
    environ: Mapping[str, str],
    target: UpstreamModel,
    sealer: Sealer,
) -> Upstream:
    model = upstreams.client.providers[target.provider].model(target.model)
    route = model.route if isinstance(model.route, Route) else None
    protocol = None if route is None else route.protocol
    address = "" if route is None else base_url_of(route, environ).value_or("")
    return Upstream(
        model=model,
        provider=model.provider,
        host=urlsplit(address).hostname,
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
