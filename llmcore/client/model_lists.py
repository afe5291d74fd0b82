"""Models at run time: the lists that providers give, and files of models of the user's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from attrs import evolve

from llmcore.client.unary import UnaryCalls
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.unary import LiveModel
from llmcore.routes.auth import Auth
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.route import Route
from llmcore.routes.transport import Timeouts
from llmcore.routes.unary import UnaryRoute, model_list_route
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.json import JsonValue
from llmcore.schema.result import Failure, Result, Success

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo


async def listed_models(
    calls: UnaryCalls, route: Route[Any], timeouts: Timeouts | None
) -> Result[tuple[LiveModel, ...], LLMError]:
    """Return the models that the provider of *route* lists, page after page."""
    try:
        lists = model_list_route(route)
    except LLMError as error:
        return Failure(error)
    return await calls.all_pages(lists, timeouts)


def with_facts(live: LiveModel, provider: str, models: "Sequence[ModelInfo]" = ()) -> "ModelInfo":
    """Return *live* with what the catalog, or *models* of the user's own, know of it."""
    from llmcore.catalog.lookup import get_model_info
    from llmcore.catalog.model_info import ModelInfo

    info = get_model_info(live.id, provider, models=models)
    if info is None:
        info = ModelInfo(id=live.id, provider=provider, display_name=live.id)
    return evolve(
        info,
        id=live.id,
        provider=provider,
        display_name=live.display_name or info.display_name,
        context_window=live.context_window or info.context_window,
        max_output=live.max_output or info.max_output,
        endpoints=live.endpoints or info.endpoints,
        release_date=info.release_date or live.created,
    )


async def loaded_models(
    calls: UnaryCalls, source: str | Path, timeouts: Timeouts | None
) -> Result["tuple[ModelInfo, ...]", LLMError]:
    """Return the models of a file, or of the document at an `https://` URL."""
    from llmcore.catalog.own_models import models_from

    found = await _document(calls, source, timeouts)
    try:
        return found.map(lambda document: models_from(document, str(source)))
    except LLMError as error:
        return Failure(error)


async def _document(
    calls: UnaryCalls, source: str | Path, timeouts: Timeouts | None
) -> Result[JsonValue, LLMError]:
    url = str(source)
    if url.startswith(("https://", "http://")):
        return await calls.call(_document_route(url), None, timeouts)
    try:
        data = await anyio.Path(source).read_bytes()
        return Success(json.loads(data))
    except (OSError, ValueError, RecursionError) as error:
        return Failure(ConfigurationError(f"{source} cannot be read: {error}", cause=error))


def _document_route(url: str) -> UnaryRoute[None, JsonValue]:
    def read(response: NativeResponse, _asked: None) -> JsonValue:
        return response.document

    protocol = UnaryProtocol(
        id="models-file", build=lambda _: NativeRequest(path="", method="GET"), read=read
    )
    where = Endpoint.path("", base_url=url)
    return UnaryRoute(provider="catalog", protocol=protocol, endpoint=where, auth=Auth.none())
