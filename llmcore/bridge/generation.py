"""Responses, counts and lists of models in the form of any front."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, TypeAlias, cast

import anyio.lowlevel
import msgspec
from attrs import evolve
from msgspec.structs import replace

from llmcore.bridge.api import Caller, OperationRequest, Outcome
from llmcore.bridge.http.logs import REQUEST_ID
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.model_names import further_models
from llmcore.bridge.pools.affinity import conversation_of
from llmcore.bridge.pools.pooled_run import PooledRun
from llmcore.bridge.relay import RelayPlan, RelayRun
from llmcore.bridge.relayed_bytes import Renamed
from llmcore.bridge.relayed_request import holds_sealed_state
from llmcore.bridge.response_run import ResponseRun, Run, RunLabels
from llmcore.bridge.savings import (
    CachedResponse,
    cached_response,
    may_be_cached,
    with_prompt_cache_marks,
)
from llmcore.bridge.service import Service, new_id
from llmcore.bridge.state.call_states import CallLookup
from llmcore.bridge.translated_run import Keep, ResponsePlan, TranslatedRun
from llmcore.bridge.upstream_call import CallLimits
from llmcore.client.large_requests import holds_much, note_small
from llmcore.fronts.anthropic_messages.compaction import loses_thread
from llmcore.fronts.encoding import COMMENT_FRAME
from llmcore.fronts.errors import FrontError, forbidden, invalid
from llmcore.fronts.front import (
    ClientRequest,
    Front,
    FrontWriter,
    KeepAlive,
    Read,
    ReadRequest,
    ResponseIdentity,
    Routing,
    StreamEncoding,
    Upstream,
)
from llmcore.fronts.openai_responses.compaction import needs_summary
from llmcore.routes.route import Route
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

Reading: TypeAlias = Callable[[ClientRequest, Upstream], Result[Read, FrontError]]
"""Reads a request, as `Front.read` does."""

_MANY_MESSAGES: Final = 50
"""After reading a request of more messages, the event loop runs other tasks first."""
_FORMAT_LOST: Final = frozenset({"response-format-in-words"})
_FORMAT_PATH: Final = "response_format"
_HEARTBEATS: Final[Mapping[KeepAlive, bytes]] = {
    "comment": COMMENT_FRAME,
    "blank": b"\n",
    "none": b"",
}


class ChosenModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that a request is for, and its upstream."""

    name: str
    """The name by which the client calls the model."""
    streaming: bool
    target: UpstreamModel
    upstream: Upstream
    info: ResponseIdentity
    """The facts of the response that headers and logs name."""
    limits: CallLimits = CallLimits()
    calls: CallLookup | None = None
    """The state of calls that was kept for the caller, where the request may need it."""

    @property
    def model(self) -> Model:
        """The upstream's model."""
        return cast("Model", self.upstream.model)


MakeResponse: TypeAlias = Callable[[OperationRequest, ChosenModel], Awaitable[Run]]
"""Makes the response of a chosen model."""


class Generation(Generic[Read]):
    """The operations that all fronts have, for one of them. Raises FrontError.

    Each response is begun in `pooled`, be it relayed or translated, streamed or in the background.
    """

    def __init__(self, front: Front[Read], service: Service, *, format_field: str) -> None:
        """Serve *front*; *format_field* is where its requests ask for structured output."""
        self.front = front
        self._service = service
        self._format_field = format_field

    def generate(self, call: OperationRequest) -> Awaitable[ResponseRun]:
        """Return the response of a model, to be run."""
        return self.pooled(call, self.respond)

    async def pooled(
        self, call: OperationRequest, respond: MakeResponse[Run], *, in_background: bool = False
    ) -> Run | PooledRun[Run]:
        """Return what *respond* makes for the model of the request.

        Where a name has several targets, it is made for one after another until one begins. Those
        *in_background* wait for a limited upstream as long as it takes.
        """
        service, request = self._service, call.request
        routing = self._allowed(request, call.caller)
        pool = service.names.pool_for(call.caller, routing.model)
        if not service.is_pooled(pool):
            info = self._info(routing.model)
            return await respond(call, await self._chosen(routing, pool.first, info))
        conversation = conversation_of(request)
        info = self._info(routing.model, conversation)

        async def make(target: UpstreamModel, limits: CallLimits) -> Run:
            chosen = await self._chosen(routing, target, info)
            return await respond(call, replace(chosen, limits=limits))

        name = routing.model
        return await service.pooled(name, pool, conversation, make, is_patient=in_background)

    async def respond(self, call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
        """Return the response of the *chosen* model, to be run."""
        call = self.with_cache_marks(call, chosen)
        if route := self.relay_route(call, chosen):
            return self.relayed(call, chosen, route)
        chosen = self.with_kept_state(chosen, call)
        read = await self.read(call.request, chosen, large=call.is_large)
        await self.check(read.request)
        return self.translated(call, chosen, read)

    def translated(self, call: OperationRequest, chosen: ChosenModel, read: Read) -> ResponseRun:
        """Return the response to a request that was read for its upstream."""
        writer = self.front.writer(chosen.info, read, chosen.upstream)
        keep = self.keeping_calls(writer, call)
        cached = self.cached(call, chosen, read.request)
        return self.run(call, chosen, read, writer, keep=keep, cached=cached)

    def with_kept_state(self, chosen: ChosenModel, call: OperationRequest) -> ChosenModel:
        """Return *chosen* with the state of calls that was kept for the caller of *call*."""
        calls = self._service.call_states.of(call.caller.owner, stored=_stores_calls(call))
        upstream = changed(chosen.upstream, kept_state=calls)
        return replace(chosen, upstream=upstream, calls=calls)

    def keeping_calls(self, writer: FrontWriter, call: OperationRequest) -> Keep:
        """Return a function that keeps the state of the calls that *writer* writes for *call*.

        Of a request with `store: false`, it is in memory alone.
        """
        stored, keep_states = _stores_calls(call), self._service.call_states.keep

        async def keep() -> None:
            await keep_states(call.caller.owner, writer.sealed_calls, stored=stored)

        return keep

    def with_cache_marks(self, call: OperationRequest, chosen: ChosenModel) -> OperationRequest:
        """Return *call* with marks for the upstream's cache of prompts, where they are wanted."""
        if not self._service.settings.cache.prompt_marks:
            return call
        model, owner = chosen.model, call.caller.owner
        request, diagnostics = with_prompt_cache_marks(call.request, self.front.id, model, owner)
        return replace(call, request=request, diagnostics=(*call.diagnostics, *diagnostics))

    def cached(
        self, call: OperationRequest, chosen: ChosenModel, request: LLMRequest
    ) -> CachedResponse | None:
        """Return where the response to *request* may come from instead of the upstream."""
        service, owner = self._service, call.caller.owner
        cache = service.settings.cache
        return cached_response(cache, service.store, owner, call.request, chosen.model, request)

    def _allowed(self, request: ClientRequest, caller: Caller) -> Routing:
        """Return the model that *request* is for; 403 if the key does not allow it.

        A key must also allow the other models that the request lets its upstream use.
        """
        routing = self.front.routing(request)
        if caller.key is None or not caller.key.limits.models:
            return routing
        for name in (routing.model, *further_models(request.body)):
            if not caller.allows(self._service.names.plain(name)):
                raise forbidden(f"this key does not allow the model {name!r}", "model_not_allowed")
        return routing

    async def chosen(self, request: ClientRequest, caller: Caller) -> ChosenModel:
        """Return the model that *request* is for.

        Raises FrontError: 404 if no provider has it, 403 if the caller's key does not allow it.
        """
        routing = self._allowed(request, caller)
        pool = self._service.names.pool_for(caller, routing.model)
        conversation = conversation_of(request) if self._service.is_pooled(pool) else ""
        target = self._service.first_of(pool, conversation)
        return await self._chosen(routing, target, self._info(routing.model, conversation))

    async def _chosen(
        self, routing: Routing, target: UpstreamModel, info: ResponseIdentity
    ) -> ChosenModel:
        upstream = await self._service.upstream(target)
        return ChosenModel(
            name=routing.model,
            streaming=routing.streaming,
            target=target,
            upstream=upstream,
            info=info,
        )

    def _info(self, name: str, conversation: str = "") -> ResponseIdentity:
        return ResponseIdentity(
            id=new_id(self.front.id_prefix, conversation),
            created_at=int(time.time()),
            model=name,
            request_id=REQUEST_ID.get(),
        )

    def relay_route(self, call: OperationRequest, chosen: ChosenModel) -> Route | None:
        """Return the route to an upstream of the same API, which gets the request as it came.

        None where the gateway must change or keep something: sealed state of earlier responses,
        policies on tools, a cache of responses, a summary that the upstream does not make, a
        thread that it does not keep, tools that it does not have, or a form of response that it
        does not send.
        """
        service, policy, route = self._service, self._service.policy, chosen.model.route
        request = call.request
        if not isinstance(route, Route) or route.protocol.id != self.front.id:
            return None
        lacks_tools = not route.protocol.native_tools
        is_translated = (
            not service.settings.relay
            or policy.hosted_tools != "native"
            or policy.registered_tools
            or may_be_cached(service.settings.cache, request)
            or needs_summary(request.body, chosen.upstream)
            or loses_thread(request.body, chosen.upstream)
            or (lacks_tools and self.front.has_native_tools(request.body))
            or not self.front.can_relay(request, chosen.model.provider)
            or holds_sealed_state(request.body, call.body_bytes)
        )
        return None if is_translated else route

    def relayed(self, call: OperationRequest, chosen: ChosenModel, route: Route) -> ResponseRun:
        """Return the response of an upstream of the same API, to pass as it comes."""
        request = call.request
        info, upstream = chosen.info, chosen.upstream
        plan = RelayPlan(
            info=self.labels(chosen, streamed=chosen.streaming),
            request=self._service.relayed_requests.of(request, chosen.model, route),
            route=route,
            writer=lambda: self.front.writer(info, self.front.no_request, upstream),
            encoding=self.encoding(request),
            error=self.front.error_form(request),
            choices=_choices(request.body),
            limits=chosen.limits,
            diagnostics=call.diagnostics,
            renamed=_renamed(self.front, chosen),
            read=lambda: self.front.read(request, upstream).unwrap().request,
        )
        return RelayRun(self._service.context, plan)

    async def read(
        self,
        request: ClientRequest,
        chosen: ChosenModel,
        reading: Reading[Read] | None = None,
        *,
        large: bool,
    ) -> Read:
        """Return *request* as a request to the upstream; *large* ones are read in a thread.

        Others are not large for their upstream either, whose requests hold about as much.
        """
        upstream, calls = chosen.upstream, chosen.calls
        if self._service.call_states.are_none:  # calls need not be looked up
            upstream = changed(upstream, kept_state=None)
        step = partial(reading or self.front.read, request, upstream)
        read = (await self._service.run_in_thread_if(step, large=large)).unwrap()
        while calls is not None and await calls.fetch():  # another process has kept their state
            read = (await self._service.run_in_thread_if(step, large=large)).unwrap()
        if not large:
            note_small(read.request)
        if len(read.request.messages) > _MANY_MESSAGES:  # building the upstream's takes as long
            await anyio.lowlevel.checkpoint()
        return read

    def labels(self, chosen: ChosenModel, *, streamed: bool) -> RunLabels:
        """Return the facts of the response of *chosen* that headers and logs name."""
        return RunLabels(
            id=chosen.info.id,
            model=chosen.name,
            provider=self._service.provider_of(chosen.target),
            upstream=chosen.target,
            streamed=streamed,
        )

    def run(
        self,
        call: OperationRequest,
        chosen: ChosenModel,
        read: ReadRequest,
        writer: FrontWriter,
        *,
        keep: Keep | None = None,
        echo: object = None,
        encoding: StreamEncoding | None = None,
        cached: CachedResponse | None = None,
        form: Callable[[JsonObject], JsonObject] | None = None,
    ) -> ResponseRun:
        """Return the response that *writer* writes, to be run; *encoding* replaces the front's.

        The writer repeats *echo*, a part of the request, in what it writes. *form* returns the
        object that is sent in place of a response that is not streamed; it may raise FrontError.
        """
        front = self.front
        checks = self._service.settings.check_stream
        plan = ResponsePlan(
            info=self.labels(chosen, streamed=read.streaming),
            request=read.request,
            writer=writer,
            encoding=encoding or self.encoding(call.request),
            error=front.error_form(call.request),
            checker=front.checker() if checks else None,
            keep=keep,
            limits=chosen.limits,
            is_large=echo is not None and call.is_large and holds_much(echo),
            cached=cached,
            form=form,
            diagnostics=call.diagnostics,
            continues=not front.shows_pauses and _can_pause(chosen.model),
        )
        return TranslatedRun(self._service.context, plan)

    def encoding(self, request: ClientRequest) -> StreamEncoding:
        """Return how events become bytes, with the heartbeat that is configured."""
        encoding = self.front.encoding(request)
        word = self._service.settings.keep_alive_by_front.get(self.front.id)
        return encoding if word is None else evolve(encoding, heartbeat=_HEARTBEATS[word])

    async def check(self, request: LLMRequest) -> None:
        """Raise FrontError if the upstream would ignore a part of *request* that must be kept.

        By the settings, these are a schema for the response and a last message that the response is
        to continue. JSON without a schema is requested in words where the upstream has no mode for
        it, as clients do in their prompts.
        """
        settings = self._service.settings
        formats = settings.structured_output_by_front
        format_policy = formats.get(self.front.id, settings.structured_output)
        form = request.response_format
        checks_format = format_policy == "error" and form is not None and form.schema is not None
        checks_prefill = settings.prefill == "error" and _ends_with_response(request)
        if not (checks_format or checks_prefill):
            return
        for diagnostic in (await self._service.prepared(request)).diagnostics:
            if checks_format and _loses_format(diagnostic):
                raise invalid(
                    f"The upstream does not hold the model to a schema ({diagnostic.message}). "
                    f"Leave {self._format_field} out, or let the gateway ask in words "
                    "(structured_output: degrade).",
                    self._format_field,
                    "structured_output_unsupported",
                )
            if checks_prefill and diagnostic.code == "last-message-added":
                raise invalid(
                    "This model does not support assistant message prefill. The conversation must "
                    "end with a user message.",
                    "messages",
                    "unsupported_value",
                )

    async def count(self, call: OperationRequest) -> Outcome:
        """Return how many tokens a request has."""
        return await self.counted(call, partial(self.read, call.request, large=call.is_large))

    async def counted(
        self, call: OperationRequest, read: Callable[[ChosenModel], Awaitable[Read]]
    ) -> Outcome:
        """Return the number of tokens of a request, which *read* reads unless its count is kept."""
        client_request = call.request
        chosen = await self.chosen(client_request, call.caller)

        async def request() -> LLMRequest:
            return (await read(chosen)).request

        name = f"{self.front.id} {chosen.target.provider} {chosen.target.model}"
        route, requests = self.relay_route(call, chosen), self._service.relayed_requests
        relayed = None if route is None else requests.of(client_request, chosen.model, route)
        count = await self._service.counter.count(client_request.body, name, request, relayed)
        return Outcome(body=self.front.token_count(count.tokens), diagnostics=count.diagnostics)


def _renamed(front: Front[Any], chosen: ChosenModel) -> Renamed | None:
    """Return a function that writes the client's name of the model into an upstream's response."""
    renamed = front.renamed
    if renamed is None or chosen.name == chosen.model.id:
        return None
    return lambda event: renamed(event, chosen.name)


def _can_pause(model: Model) -> bool:
    """Return whether tools of the upstream's own can pause a turn."""
    return isinstance(model.route, Route) and model.route.protocol.paused is not None


def _stores_calls(call: OperationRequest) -> bool:
    """Return whether the state of calls may be stored elsewhere than in memory."""
    return call.body.get("store") is not False


def _ends_with_response(request: LLMRequest) -> bool:
    return bool(request.messages) and request.messages[-1].role == "assistant"


def _choices(body: JsonObject) -> int:
    """Return the number of responses that the body of a relayed request asks for."""
    config = body.get("generationConfig")
    count = body.get("n") or (config.get("candidateCount") if isinstance(config, dict) else None)
    return count if isinstance(count, int) and count > 0 else 1


def _loses_format(diagnostic: Diagnostic) -> bool:
    """Return whether a prepared request gives up the wanted shape of the response."""
    dropped = diagnostic.path == _FORMAT_PATH and diagnostic.action == "dropped"
    return diagnostic.code in _FORMAT_LOST or dropped
