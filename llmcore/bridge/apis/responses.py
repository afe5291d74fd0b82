"""The operations of the Responses API, and the plans of its answers.

Source: https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from attrs import evolve

from llmcore.bridge.api import Api, Caller, Operation, OperationRequest
from llmcore.bridge.http.logs import log
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import AnswerPlan, ResponseRun
from llmcore.bridge.service import Service, new_id
from llmcore.client.large_requests import holds_much
from llmcore.fronts.encoding import COMMENT, named_event
from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.openai_forms import envelope
from llmcore.fronts.openai_responses.answer import ResponsesFold
from llmcore.fronts.openai_responses.compaction import as_response_request, compacted, user_items
from llmcore.fronts.openai_responses.errors import (
    previous_response_not_found,
    response_not_found,
)
from llmcore.fronts.openai_responses.grammar import Checker
from llmcore.fronts.openai_responses.request import (
    Translation,
    required_references,
    structured_output_error,
    structured_output_lost,
    translate,
)
from llmcore.fronts.openai_responses.state import Conversation, Record, page
from llmcore.protocols.diagnostics import Notes
from llmcore.routes.route import Route
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.result import Success


def responses_front(service: Service) -> Api:
    """Return the Responses API over *service*. Clients may leave `/v1` out."""
    calls = Responses(service)
    one = "/responses/{response_id}"
    return Api(
        id="openai-responses",
        prefixes=("/v1", ""),
        error_form=envelope,
        operations=(
            _posted("create", "/responses", calls.create),
            _posted("input_tokens", "/responses/input_tokens", calls.input_tokens),
            _posted("compact", "/responses/compact", calls.compact),
            Operation(name="upgrade", method="GET", path="/responses", answer=calls.upgrade),
            Operation(name="get", method="GET", path=one, answer=calls.get),
            Operation(name="delete", method="DELETE", path=one, answer=calls.delete),
            Operation(
                name="input_items",
                method="GET",
                path=f"{one}/input_items",
                answer=calls.input_items,
            ),
            Operation(name="cancel", method="POST", path=f"{one}/cancel", answer=calls.cancel),
            Operation(name="models", method="GET", path="/models", answer=calls.models),
            Operation(
                name="model", method="GET", path="/models/{model_id:path}", answer=calls.model
            ),
        ),
    )


def _posted(
    name: str, path: str, answer: Callable[[OperationRequest], Awaitable[JsonObject | ResponseRun]]
) -> Operation:
    return Operation(name=name, method="POST", path=path, answer=answer, takes_body=True)


class Responses:
    """The calls of the Responses API. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._policy = service.policy

    # -- answers

    async def create(self, call: OperationRequest) -> ResponseRun:
        """`POST /responses`."""
        target, model = self._model(call.body)
        translation = await self._translated(call.body, call.caller, target, model)
        await self._check_structured(translation)
        if translation.store:
            await self._service.from_store(self._service.store.check())
        return self._service.run(self._plan(translation, call, target))

    async def compact(self, call: OperationRequest) -> ResponseRun:
        """`POST /responses/compact`."""
        target, model = self._model(call.body)
        body = as_response_request(call.body)
        translation = await self._translated(body, call.caller, target, model)
        notes = Notes()
        said = user_items(translation.before, translation.input_items, new_id, notes)
        noted = evolve(translation, diagnostics=(*translation.diagnostics, *notes.entries))
        plan = self._plan(noted, call, target, form=partial(compacted, said=said))
        return self._service.run(plan)

    def _plan(
        self,
        translation: Translation,
        call: OperationRequest,
        target: UpstreamModel,
        form: Callable[[JsonObject], JsonObject] | None = None,
    ) -> AnswerPlan:
        response_id = new_id("resp")
        return AnswerPlan(
            id=response_id,
            model=str(call.body.get("model")),
            provider=target.provider,
            request=translation.request,
            writer=ResponsesFold(
                translation,
                response_id=response_id,
                created_at=int(time.time()),
                new_id=new_id,
                owner=call.caller.owner,
                form=form,
            ),
            streamed=translation.stream,
            stored=translation.store,
            is_large=holds_much(translation.echo),
            encode=named_event,
            heartbeat=COMMENT,
            error_form=envelope,
            check=Checker().check if self._service.settings.check_stream else None,
        )

    async def input_tokens(self, call: OperationRequest) -> JsonObject:
        """`POST /responses/input_tokens`."""
        target, model = self._model(call.body)
        body = {**call.body, "store": False, "stream": False}
        translation = await self._translated(body, call.caller, target, model)
        count = await self._service.count_tokens(translation.request, target.provider)
        return {"object": "response.input_tokens", "input_tokens": count}

    def _model(self, body: JsonObject) -> tuple[UpstreamModel, Model]:
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise invalid("model must name a model", "model", "missing_required_parameter")
        return self._service.model(name)

    async def _translated(
        self, body: JsonObject, caller: Caller, target: UpstreamModel, model: Model
    ) -> Translation:
        large = holds_much(body)
        previous, items = await self._references(body, caller, large=large)
        sealer = await self._service.sealer()
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
        result = await self._service.off_the_loop(step, large=large)
        if isinstance(result, Success):
            return result.unwrap()
        raise result.failure()

    async def _references(
        self, body: JsonObject, caller: Caller, *, large: bool
    ) -> tuple[Conversation | None, Mapping[str, JsonObject]]:
        """Fetch from the store what *body* refers to."""
        service = self._service
        wanted = await service.off_the_loop(partial(required_references, body), large=large)
        previous = None
        if wanted.previous_response_id is not None:
            record = await service.record(wanted.previous_response_id, caller.owner)
            if record is None or record.conversation is None:
                raise previous_response_not_found(wanted.previous_response_id)
            read = partial(_conversation, record)
            previous = await service.off_the_loop(read, large=holds_much(record.conversation))
        names = tuple(dict.fromkeys((*wanted.items, *wanted.hints)))
        if len(names) > self._policy.max_items:
            raise invalid(f"input has more than {self._policy.max_items} items", "input")
        ours = [name for name in names if name.isascii()]
        return previous, await service.from_store(service.store.items(ours, caller.owner))

    async def _check_structured(self, translation: Translation) -> None:
        """Refuse a schema that the upstream would not hold the answer to, if that is the policy."""
        if self._policy.structured_output != "error" or not translation.structured:
            return
        prepared = await self._service.prepared(translation.request)
        lost = structured_output_lost(prepared.diagnostics)
        if lost is not None:
            raise structured_output_error(lost)

    async def upgrade(self, call: OperationRequest) -> JsonObject:
        """`GET /responses`: a WebSocket, which clients give up for POST when they get a 426."""
        if call.headers.get("upgrade", "").lower() != "websocket":
            raise FrontError(
                status=405, message="/responses does not take GET", code="method_not_allowed"
            )
        raise FrontError(
            status=426,
            message="there are no WebSockets here: send POST /v1/responses",
            code="websocket_not_supported",
            headers=(("upgrade", "HTTP/1.1"), ("connection", "close")),
        )

    # -- stored responses

    async def get(self, call: OperationRequest) -> JsonObject:
        """`GET /responses/{response_id}`."""
        if call.query.get("stream", "").lower() == "true":
            message = "a stored response cannot be streamed again; leave out stream=true"
            raise FrontError(status=501, message=message, code="not_implemented", param="stream")
        return (await self._existing(call)).response

    async def delete(self, call: OperationRequest) -> JsonObject:
        """`DELETE /responses/{response_id}`."""
        record = await self._existing(call)
        await self._service.from_store(self._service.store.delete(record.id))
        return {"id": record.id, "object": "response.deleted", "deleted": True}

    async def cancel(self, call: OperationRequest) -> JsonObject:
        """`POST /responses/{response_id}/cancel`: 404, or 501."""
        await self._existing(call)
        raise FrontError(
            status=501,
            message="there are no background responses here: close the connection of a running "
            "response to cancel it",
            code="not_implemented",
        )

    async def input_items(self, call: OperationRequest) -> JsonObject:
        """`GET /responses/{response_id}/input_items`, in pages."""
        return page((await self._existing(call)).input_items, call.query)

    async def _existing(self, call: OperationRequest) -> Record:
        name = call.path["response_id"]
        record = await self._service.record(name, call.caller.owner)
        if record is None:
            raise response_not_found(name)
        return record

    # -- models

    async def models(self, _call: OperationRequest) -> JsonObject:
        """`GET /models`: the names of the map, and the upstream's own."""
        return {"object": "list", "data": self._listed(await self._service.names.all())}

    async def model(self, call: OperationRequest) -> JsonObject:
        """`GET /models/{model_id}`."""
        name = call.path["model_id"]
        self._service.names.target(name)
        return self._listed([name])[0]

    def _listed(self, names: Sequence[str]) -> list[JsonObject]:
        owner = self._service.names.owner
        return [
            {"id": name, "object": "model", "created": 0, "owned_by": owner(name)} for name in names
        ]


def _conversation(record: Record) -> Conversation:
    try:
        return Conversation.from_json(record.conversation)
    except LLMError as error:
        log(logging.ERROR, "conversation_unreadable", response_id=record.id, error=str(error))
        raise previous_response_not_found(record.id) from error
