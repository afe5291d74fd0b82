"""Models at run time: the lists that providers give, and files of models of the user's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from attrs import evolve

from llmcore.client.unary import UnaryCalls
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.unary import LiveModel
from llmcore.routes.auth import Auth
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.route import route_of
from llmcore.routes.transport_spec import Timeouts
from llmcore.routes.unary import UnaryRoute, model_list_route
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonValue
from llmcore.schema.model import Model

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo


async def listed_models(
    calls: UnaryCalls, model: Model, models: "Sequence[ModelInfo]", timeouts: Timeouts | None
) -> "tuple[ModelInfo, ...]":
    """Return the models that the provider of *model* lists, page after page. Raises LLMError."""
    live = await calls.all_pages(model_list_route(route_of(model)), timeouts)
    return tuple(with_facts(entry, model.provider, models) for entry in live)


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
) -> "tuple[ModelInfo, ...]":
    """Return the models of a file, or of the document at an `https://` URL. Raises LLMError."""
    from llmcore.catalog.own_models import models_from

    return models_from(await _document(calls, source, timeouts), str(source))


async def _document(calls: UnaryCalls, source: str | Path, timeouts: Timeouts | None) -> JsonValue:
    url = str(source)
    if url.startswith(("https://", "http://")):
        return await calls.call(_document_route(url), None, timeouts)
    try:
        data = await anyio.Path(source).read_bytes()
        return json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{source} cannot be read: {error}", cause=error) from error


def _document_route(url: str) -> UnaryRoute[None, JsonValue]:
    def read(response: NativeResponse, _asked: None) -> JsonValue:
        return response.document

    protocol = UnaryProtocol(
        id="models-file", build=lambda _: NativeRequest(path="", method="GET"), read=read
    )
    where = Endpoint.path("", base_url=url)
    return UnaryRoute(provider="catalog", protocol=protocol, endpoint=where, auth=Auth.none())
