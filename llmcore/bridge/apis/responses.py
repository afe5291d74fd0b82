"""The operations of the Responses API: those of all fronts, and those on stored responses.

Source: https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType

from attrs import evolve
from msgspec.structs import replace

from llmcore.bridge.api import Api, Caller, Operation, OperationRequest, Outcome, posted
from llmcore.bridge.apis.stored_responses import StoredResponses, may_be_ours
from llmcore.bridge.generation import ChosenModel, Generation
from llmcore.bridge.http.logs import log
from llmcore.bridge.response_run import ResponseRun, SentResponse
from llmcore.bridge.service import Service, new_id
from llmcore.bridge.translated_run import Keep
from llmcore.client.large_requests import holds_much, is_large, run_in_thread_if
from llmcore.fronts.encoding import JSON_LINES
from llmcore.fronts.errors import FrontError, invalid, method_not_allowed
from llmcore.fronts.front import ResponseIdentity, Upstream
from llmcore.fronts.openai_responses import front
from llmcore.fronts.openai_responses.compaction import as_response_request, compacted, user_items
from llmcore.fronts.openai_responses.errors import previous_response_not_found
from llmcore.fronts.openai_responses.request import ReadResponsesRequest, read_request
from llmcore.fronts.openai_responses.response import ResponsesWriter
from llmcore.fronts.openai_responses.state import (
    NOTHING_STORED,
    Record,
    StoredContext,
    StoredConversation,
    required_references,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError, ServerError
from llmcore.schema.events import ErrorEvent, Finish, FinishReason
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage


def responses_api(service: Service, prefixes: tuple[str, ...]) -> Api:
    """Return the Responses API over *service*, below each of *prefixes*."""
    calls = Responses(service)
    stored = calls.stored
    response_path = "/responses/{response_id}"
    return Api(
        id=front.id,
        prefixes=prefixes,
        error_form=front.error_form,
        operations=(
            posted("create", "/responses", calls.create),
            posted("input_tokens", "/responses/input_tokens", calls.count),
            posted("compact", "/responses/compact", calls.compact),
            Operation(name="upgrade", method="GET", path="/responses", handle=calls.upgrade),
            Operation(name="get", method="GET", path=response_path, handle=stored.get),
            Operation(name="delete", method="DELETE", path=response_path, handle=stored.delete),
            Operation(
                name="input_items",
                method="GET",
                path=f"{response_path}/input_items",
                handle=stored.input_items,
            ),
            Operation(
                name="cancel", method="POST", path=f"{response_path}/cancel", handle=stored.cancel
            ),
        ),
    )


class Responses(Generation[ReadResponsesRequest]):
    """The calls of the Responses API. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        super().__init__(front, service, format_field="text.format")
        self._store = service.store
        self.stored = StoredResponses(service)

    # -- responses

    async def create(self, call: OperationRequest) -> SentResponse | Outcome:
        """`POST /responses`."""
        if call.body.get("background") is not True:
            return await self.generate(call)
        if call.body.get("store") is False:
            raise invalid("A background response is stored: leave out store: false.", "background")
        return await self._in_background(call)

    async def respond(self, call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
        """Return the response of a request whose client waits for it."""
        call = self.with_cache_marks(call, chosen)
        if call.body.get("store") is False:
            route = self.relay_route(call, chosen)
            if route is not None and not _refers_to_stored(call.body):
                return self.relayed(call, chosen, route)
        chosen = self.with_kept_state(chosen, call)
        return self._run(call, chosen, await self._read_checked(call, chosen))

    # -- requests over a WebSocket, whose connection remembers conversations

    async def turn(self, call: OperationRequest, memory: "TurnMemory") -> ResponseRun:
        """Return the response of a request as lines of JSON, which *memory* is to remember."""

        async def make(call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
            call = self.with_cache_marks(call, chosen)
            chosen = self.with_kept_state(chosen, call)
            read, writer = await self._read_turn(call, chosen, memory)
            return self.run(
                call,
                chosen,
                read,
                writer,
                keep=self._remembering(call, read, writer, memory),
                echo=read.echo,
                encoding=JSON_LINES,
            )

        return await self.pooled(call, make)

    async def warm_up(self, call: OperationRequest, memory: "TurnMemory") -> bytes:
        """Return the events of a request that asks for no response yet, as lines of JSON.

        The next request continues from it. The upstream is not called: it has no such request.
        """
        chosen = await self.chosen(call.request, call.caller)
        read, writer = await self._read_turn(call, chosen, memory)
        stop, nothing = FinishReason("stop"), Usage.make(input_tokens=0, output_tokens=0)
        events = [*writer.start(), *writer.feed(Finish(finish_reason=stop, usage=nothing))]
        keep = self._remembering(call, read, writer, memory)
        await self._service.from_store(keep())
        return b"".join(map(JSON_LINES.encode, events))

    async def _read_turn(
        self, call: OperationRequest, chosen: ChosenModel, memory: "TurnMemory"
    ) -> tuple[ReadResponsesRequest, ResponsesWriter]:
        read = await self._read_checked(call, chosen, memory.known)
        return read, ResponsesWriter(chosen.info, read, chosen.upstream)

    def _remembering(
        self,
        call: OperationRequest,
        read: ReadResponsesRequest,
        writer: ResponsesWriter,
        memory: "TurnMemory",
    ) -> Keep:
        """Return a function that stores the response if requested, and keeps it in *memory*."""
        store = self._storing(call, read, writer, self._store.put)

        async def keep() -> None:
            await store()
            if writer.error is None:
                memory.remember(str(writer.response["id"]), writer.conversation())

        return keep

    def _storing(
        self,
        call: OperationRequest,
        read: ReadResponsesRequest,
        writer: ResponsesWriter,
        put: Callable[[Record], Awaitable[None]],
    ) -> Keep:
        """Return a function that stores the response by *put*, or the state of its calls alone."""
        owner = call.caller.owner
        keep_calls = self.keeping_calls(writer, call)
        if not read.store:
            return keep_calls
        large = is_large(read.request)

        async def keep() -> None:
            await put(await run_in_thread_if(partial(writer.record, owner), large=large))
            await keep_calls()

        return keep

    # -- reading

    async def _read_checked(
        self,
        call: OperationRequest,
        chosen: ChosenModel,
        known: Mapping[str, StoredConversation] = MappingProxyType({}),
    ) -> ReadResponsesRequest:
        """Return a request that can be answered, as far as is known before it is sent."""
        read = await self._read_with_stored(call, chosen, known)
        await self.check(read.request)
        if read.store:
            await self._service.from_store(self._store.check())
        return read

    async def _in_background(self, call: OperationRequest) -> SentResponse | Outcome:
        """Start a response that continues without its client."""
        service, owner = self._service, call.caller.owner
        # Before anything is reserved for it.
        service.background.check_room((owner, self.front.routing(call.request).model))
        ending = _BackgroundEnding(owner)

        async def make(call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
            call, chosen = self.with_cache_marks(call, chosen), self.with_kept_state(chosen, call)
            read = await self._read_checked(call, chosen)
            writer = ending.begin(chosen.info, read, chosen.upstream)
            return self.run(
                call,
                chosen,
                evolve(read, streaming=True),
                writer,
                keep=self._storing(call, read, writer, ending.keep),
                echo=read.echo,
                encoding=JSON_LINES,
            )

        run = await self.pooled(call, make, in_background=True)
        record = ending.queued(run.info.id)
        charge = await service.accounts.open(call.caller, run, call.body)
        begun = service.background.start(
            record, run, lambda: ending.record, ending.refused, charge.close
        )
        await service.from_store(begun)
        if call.body.get("stream") is True:
            return self.stored.replay(record, -1)
        return Outcome(body=record.response, diagnostics=tuple(run.diagnostics))

    async def compact(self, call: OperationRequest) -> ResponseRun:
        """`POST /responses/compact`."""
        return await self.pooled(call, self._compacted)

    async def _compacted(self, call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
        request = replace(call.request, body=as_response_request(call.body))
        read = await self._read_with_stored(replace(call, request=request), chosen)
        diagnostics = Diagnostics()
        items = user_items(read.before, read.input_items, new_id, diagnostics)
        noted = evolve(read, diagnostics=(*read.diagnostics, *diagnostics.entries))
        return self._run(call, chosen, noted, form=partial(compacted, messages=items))

    def _run(
        self,
        call: OperationRequest,
        chosen: ChosenModel,
        read: ReadResponsesRequest,
        form: Callable[[JsonObject], JsonObject] | None = None,
    ) -> ResponseRun:
        writer = ResponsesWriter(chosen.info, read, chosen.upstream)
        return self.run(
            call,
            chosen,
            read,
            writer,
            keep=self._storing(call, read, writer, self._store.put),
            echo=read.echo,
            cached=None if form is not None else self.cached(call, chosen, read.request),
            form=form,
        )

    async def count(self, call: OperationRequest) -> Outcome:
        """`POST /responses/input_tokens`."""
        request = replace(call.request, body={**call.body, "store": False, "stream": False})
        call = replace(call, request=request)
        return await self.counted(call, partial(self._read_with_stored, call))

    async def _read_with_stored(
        self,
        call: OperationRequest,
        chosen: ChosenModel,
        known: Mapping[str, StoredConversation] = MappingProxyType({}),
    ) -> ReadResponsesRequest:
        """Return *call* as a request, with what it refers to.

        That is one of the *known* conversations, or stored.
        """
        large = call.is_large
        stored = await self._stored_context(call.body, call.caller, known, large=large)
        if stored.previous is not None:
            large = large or holds_much(call.body, stored.previous.messages)
        read = partial(read_request, stored=stored)
        return await self.read(call.request, chosen, read, large=large)

    async def _stored_context(
        self,
        body: JsonObject,
        caller: Caller,
        known: Mapping[str, StoredConversation],
        *,
        large: bool,
    ) -> StoredContext:
        """Fetch from the store what *body* refers to and is not *known*."""
        service = self._service
        references = await service.run_in_thread_if(partial(required_references, body), large=large)
        previous = known.get(references.previous_response_id or "")
        if references.previous_response_id is not None and previous is None:
            record = await self.stored.record(references.previous_response_id, caller.owner)
            if record is None or record.conversation is None:
                raise previous_response_not_found(references.previous_response_id)
            load = partial(_conversation, record)
            previous = await service.run_in_thread_if(load, large=holds_much(record.conversation))
        names = tuple(dict.fromkeys((*references.items, *references.hints, *references.ends)))
        if previous is None and not names:
            return NOTHING_STORED
        if len(names) > service.policy.max_items:
            raise invalid(f"input has more than {service.policy.max_items} items", "input")
        ours = [name for name in names if may_be_ours(name)]
        items = await service.from_store(self._store.items(ours, caller.owner))
        return StoredContext(previous=previous, find_item=items.get)

    async def upgrade(self, call: OperationRequest) -> JsonObject:
        """`GET /responses` where the server opens no WebSocket: clients send POST after a 426."""
        if call.headers.get("upgrade", "").lower() != "websocket":
            raise method_not_allowed(call.request.path, "GET", "POST")
        raise FrontError(
            status=426,
            message="this server opens no WebSockets: send POST /v1/responses",
            code="websocket_not_supported",
            headers=(("upgrade", "HTTP/1.1"), ("connection", "close")),
        )


@frozen
class TurnMemory:
    """The conversations that a connection remembers, and what adds one."""

    known: Mapping[str, StoredConversation]
    remember: Callable[[str, StoredConversation], None]


class _BackgroundEnding:
    """How a background response ends: by its writer, or refused by all upstreams.

    Each upstream that is tried has a writer of its own.
    """

    _new_writer: Callable[[], ResponsesWriter]
    _input_items: tuple[JsonObject, ...]

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self.record: Record | None = None
        """The record to store, once the response has ended."""

    def begin(
        self, info: ResponseIdentity, request: ReadResponsesRequest, upstream: Upstream
    ) -> ResponsesWriter:
        """Return the writer of the next try."""
        self._new_writer = partial(ResponsesWriter, info, request, upstream)
        self._input_items = request.input_items
        return self._new_writer()

    def queued(self, response_id: str) -> Record:
        """Return what is stored before the response begins."""
        return Record(
            id=response_id,
            owner=self._owner,
            response={**self._new_writer().response, "status": "queued"},
            input_items=self._input_items,
        )

    async def keep(self, final: Record) -> None:
        """Keep the record of the writer that ended."""
        self.record = final

    async def refused(self, error: FrontError) -> bytes:
        """Return the events of a response that failed before its first, as lines of JSON."""
        writer, cause = self._new_writer(), error.__cause__
        llm_error = cause if isinstance(cause, LLMError) else ServerError(error.message)
        events = [*writer.start(), *writer.feed(ErrorEvent(llm_error))]
        self.record = writer.record(self._owner)
        return b"".join(map(JSON_LINES.encode, events))


def _refers_to_stored(body: JsonObject) -> bool:
    """Return whether a request refers to what the gateway keeps."""
    references = required_references(body)
    return bool(body.get("previous_response_id") or references.items or references.hints)


def _conversation(record: Record) -> StoredConversation:
    try:
        return StoredConversation.from_json(record.conversation)
    except LLMError as error:
        log(logging.ERROR, "conversation_unreadable", response_id=record.id, error=str(error))
        raise previous_response_not_found(record.id) from error
