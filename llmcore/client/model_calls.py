"""Unary calls of models, such as embedding and making images: one request each, with its cost."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio.to_thread
from attrs import evolve

from llmcore.client.byte_stream import ByteStream
from llmcore.client.media_files import load_unary_files
from llmcore.client.unary import UnaryCalls
from llmcore.routes.route import Route, route_of
from llmcore.routes.transport_spec import Timeouts
from llmcore.routes.unary import UnaryRoute
from llmcore.schema.audio import SpeechRequest
from llmcore.schema.errors import ConfigurationError, StreamError
from llmcore.schema.model import Model
from llmcore.schema.unary import UnaryRequest, UnaryResponse

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

_Request = TypeVar("_Request", bound=UnaryRequest)
_Response = TypeVar("_Response", bound=UnaryResponse)

FindRoute: TypeAlias = Callable[[Route[Any], str], UnaryRoute[_Request, _Response]]
"""Returns the route of an operation for a generating route and a model's id."""


async def model_response(
    calls: UnaryCalls,
    find: FindRoute[_Request, _Response],
    request: _Request,
    model: Model,
    models: "Sequence[ModelInfo]",
    timeouts: Timeouts | None,
) -> _Response:
    """Return the response of *model* to *request*, over the route that *find* returns.

    Raises LLMError.
    """
    route = find(route_of(model), model.id)
    named = evolve(request, model=model, provider=None)
    loaded = await anyio.to_thread.run_sync(load_unary_files, named)
    return _with_cost(await calls.call(route, loaded, timeouts), model, models)


async def speech_stream(
    calls: UnaryCalls, request: SpeechRequest, model: Model, timeouts: Timeouts | None
) -> ByteStream:
    """Return *request* spoken by *model*, to be read while it arrives. Raises LLMError."""
    from llmcore.protocols.audio import NOT_RECORDINGS
    from llmcore.routes.media import speech_route

    route = speech_route(route_of(model), model.id)
    if route.protocol.response_kind != "bytes":
        message = f"the API of {model.provider!r} answers with the whole recording: use "
        raise ConfigurationError(message + "generate_speech", provider=model.provider)
    opened = await calls.opened(route, evolve(request, model=model, provider=None), timeouts)
    stated = opened.media_type or ""
    if stated.startswith(NOT_RECORDINGS):
        await opened.aclose()
        message = f"the response is not a recording, but {stated}"
        raise StreamError(message, provider=model.provider, retryable=False)
    return opened


def _with_cost(response: _Response, model: Model, models: "Sequence[ModelInfo]") -> _Response:
    from llmcore.catalog.cost import cost_of  # a data file is behind it

    for name in dict.fromkeys((response.model, model.id)):
        cost = cost_of(model.provider, name, response.usage, models=models)
        if cost is not None:
            return evolve(response, cost=cost)
    return response
