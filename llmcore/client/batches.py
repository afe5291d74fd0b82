"""Batches: many requests as values, which a provider answers later, at a lower price.

    batches = Batches(client)
    handle = (await batches.submit({"a": request(model="gpt-5.2", prompt="Hi")})).unwrap()
    save(to_json(handle))                     # ... hours later, in another process
    if (await batches.status(handle)).unwrap().done:
        async for id_, result in batches.results(handle):
            print(id_, result)

The bodies and paths of each API are in `llmcore.protocols.batches`.
"""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from attrs import evolve

from llmcore.client.client import Client
from llmcore.protocols.batches import BatchItem, BatchProtocol, BatchStatus, batch_id, request_lines
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.protocol import BodyKind, NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.unary import multipart
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.route import Route, route_of
from llmcore.routes.unary import UnaryRoute, batch_protocol
from llmcore.schema import json
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError, ProviderError
from llmcore.schema.files import FileUpload
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.model import Model
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The ids that every provider takes."""


@frozen(kw_only=True)
class BatchHandle:
    """A submitted batch. It can be kept as JSON, with `to_json` and `from_json`."""

    id: str
    """The provider's id of the batch."""
    provider: str
    """The provider's id."""
    model: str
    """The id of the model of all its requests."""
    protocol: str
    """The API of the requests, such as `anthropic-messages`."""


@with_settings_in_repr
class Batches:
    """Submits batches with the providers of *client*, and reads their results.

    OpenAI and servers with its batches, Anthropic, Gemini and Mistral have them. *model* is the
    configured model of the batches, where the client has no provider that makes one.
    """

    def __init__(self, client: Client, model: Model | None = None) -> None:
        self._client = client
        self._model = model

    async def submit(self, requests: Mapping[str, LLMRequest]) -> Result[BatchHandle, LLMError]:
        """Send *requests*, by ids of your own, as one batch of one model.

        The ids have at most 64 letters, digits, `_` and `-`. Nothing is sent if any request is
        invalid, or would lose something and is `strict`. Middleware is not run.
        """
        try:
            model, bodies = self._bodies(requests)
            route = route_of(model)
            protocol = batch_protocol(route)
            path = route.protocol.batch_path
            if protocol.upload is not None:
                uploaded = await self._call(route, _upload(protocol.upload, bodies, path))
                bodies = {batch_id(uploaded): {}}
            created = await self._call(route, protocol.create(bodies, model.id, path))
            return Success(
                BatchHandle(
                    id=batch_id(created),
                    provider=model.provider,
                    model=model.id,
                    protocol=route.protocol.id,
                )
            )
        except LLMError as error:
            return Failure(error)

    async def status(self, handle: BatchHandle) -> Result[BatchStatus, LLMError]:
        """Return the state of the batch and its counts of requests."""
        try:
            route, protocol = self._place_of(handle)
            return Success(protocol.read(await self._batch(route, protocol, handle)))
        except LLMError as error:
            return Failure(error)

    async def cancel(self, handle: BatchHandle) -> Result[None, LLMError]:
        """Ask the provider to end the batch; finished requests keep their results."""
        try:
            route, protocol = self._place_of(handle)
            await self._call(route, protocol.cancel(_quoted(handle.id)))
            return Success(None)
        except LLMError as error:
            return Failure(error)

    async def results(
        self, handle: BatchHandle, requests: Mapping[str, LLMRequest] | None = None
    ) -> AsyncIterator[tuple[str, Result[LLMResponse, LLMError]]]:
        """Yield the id and the response, or the error, of each request, in any order.

        *requests* are those that were submitted; they are needed only for tools whose names the
        API does not take, and for formats of responses that a tool represents. The cost
        of the responses is not set, since catalogs list no prices of batches. Raises LLMError if
        the results cannot be read or the batch failed without any, and InvalidRequestError while it
        is running.
        """
        route, protocol = self._place_of(handle)
        native = await self._batch(route, protocol, handle)
        status = protocol.read(native)
        if not status.done:
            message = f"the batch {handle.id} is running: ask for its status until it is done"
            raise InvalidRequestError(message, provider=handle.provider)
        requests_by_id = dict(requests or {})
        inline = tuple(protocol.inline(native))
        paths = protocol.results(_quoted(handle.id), native)
        if status.state == "failed" and not (inline or paths):
            reason = "; ".join(status.errors) or "the provider states no reason"
            raise ProviderError(f"the batch {handle.id} failed: {reason}", provider=route.provider)
        for line in inline:
            yield self._read(route, protocol.item(line), requests_by_id, handle)
        for path in paths:
            get = NativeRequest(path=path, method="GET")
            for line in objects(await self._call(route, get, response_kind="json-lines")):
                yield self._read(route, protocol.item(line), requests_by_id, handle)

    # -- requests

    def _bodies(self, requests: Mapping[str, LLMRequest]) -> tuple[Model, dict[str, JsonObject]]:
        """Return the model of *requests*, and their native bodies; raises LLMError."""
        bodies: dict[str, JsonObject] = {}
        models: dict[tuple[str, str], Model] = {}
        for id_, request in requests.items():
            if not _ID.fullmatch(id_):
                message = f"the id {id_!r} has to be 1 to 64 letters, digits, '_' and '-'"
                raise InvalidRequestError(message)
            model = self._client.resolve(request).unwrap()
            models[model.provider, model.id] = model
            ready = self._client.prepare(request).unwrap()
            bodies[id_] = ready.body
        if not models:
            raise InvalidRequestError("there are no requests: a batch needs at least one")
        if len(models) > 1:
            named = ", ".join(f"{provider}:{id_}" for provider, id_ in models)
            raise InvalidRequestError(f"a batch needs requests of one model, not of {named}")
        return next(iter(models.values())), bodies

    def _place_of(self, handle: BatchHandle) -> tuple[Route[Any], BatchProtocol]:
        request = LLMRequest(model=handle.model, provider=handle.provider, messages=())
        route = route_of(self._model or self._client.resolve(request).unwrap())
        if (route.provider, route.protocol.id) != (handle.provider, handle.protocol):
            raise ConfigurationError(
                f"the batch {handle.id} is one of {handle.protocol} at {handle.provider!r}, not of "
                f"{route.protocol.id} at {route.provider!r}: give Batches the model=..."
            )
        return route, batch_protocol(route)

    async def _batch(
        self, route: Route[Any], protocol: BatchProtocol, handle: BatchHandle
    ) -> JsonObject:
        get = NativeRequest(path=protocol.get(_quoted(handle.id)), method="GET")
        return object_or_empty(await self._call(route, get))

    async def _call(
        self, route: Route[Any], request: NativeRequest, *, response_kind: BodyKind = "json"
    ) -> JsonValue:
        """Return the document that answers *request*; raises LLMError."""

        def read(response: NativeResponse, _asked: None) -> JsonValue:
            return response.document

        protocol = UnaryProtocol(
            id="batches", build=lambda _: request, read=read, response_kind=response_kind
        )
        return await self._client.unary.call(UnaryRoute.beside(route, protocol), None)

    # -- results

    def _read(
        self,
        route: Route[Any],
        item: BatchItem,
        requests: Mapping[str, LLMRequest],
        handle: BatchHandle,
    ) -> tuple[str, Result[LLMResponse, LLMError]]:
        if item.body is None:
            error = error_from_body(
                provider=route.provider,
                body=item.error if isinstance(item.error, dict) else {"message": str(item.error)},
                status=item.status,
            )
            return item.id, Failure(error)
        request = requests.get(item.id, LLMRequest(model=handle.model, messages=()))
        named = evolve(request, model=handle.model, provider=handle.provider)
        decoder = ResponseDecoder(route.protocol, route.framing, named)
        decoder.whole(json.dumps(item.body))
        return item.id, decoder.accumulator.response()


def _quoted(id_: str) -> str:
    """Return *id_* for a path; Gemini's ids have a slash."""
    return quote(id_, safe="/")


def _upload(path: str, bodies: Mapping[str, JsonObject], api: str) -> NativeRequest:
    """Return the upload of the requests as a file of JSON lines."""
    data = request_lines(bodies, api)
    file = FileUpload(data=data, filename="requests.jsonl", media_type="application/jsonl")
    content, kind = multipart([("purpose", "batch")], [("file", file)])
    return NativeRequest(path=path, content=content, content_type=kind)
