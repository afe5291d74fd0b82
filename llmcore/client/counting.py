"""The tokens of a request, counted by its provider or estimated, and the model's window."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from llmcore.client.large_requests import is_large, run_in_thread_if
from llmcore.client.media_files import load_files, names_files
from llmcore.client.unary import UnaryCalls
from llmcore.routes.route import CANNOT_COUNT, PreparedRequest, Route
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.changed import changed
from llmcore.schema.errors import LLMError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import TokenCount, cached_tokens, estimated_tokens, overflow_note

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

_CANNOT: Final = (404, 405, 501)
"""The statuses by which servers without such a service refuse a count."""
_FEWEST_BYTES: Final = 4096
"""Requests of fewer bytes are not compared with a window."""


async def counted(
    calls: UnaryCalls,
    route: Route[Any],
    request: LLMRequest,
    models: "Sequence[ModelInfo]",
    timeouts: Timeouts | None,
) -> TokenCount:
    """Return the input tokens of *request*, whose model is resolved. Raises LLMError."""
    window = context_window(request, models)
    counting = route.protocol.count_tokens
    tokens = None
    try:
        if names_files(request):
            request = await anyio.to_thread.run_sync(load_files, request)
        if counting is not None:
            prepare = partial(route.prepare_count, request)
            tokens = counting.read((await calls.exchange(route, prepare, timeouts)).document)
    except LLMError as error:
        if error.error_code != CANNOT_COUNT and error.status_code not in _CANNOT:
            raise
    if tokens is not None:
        if counting is not None and counting.fields is not None:  # the content is not sent
            tokens += cached_tokens(request)
        return TokenCount(tokens=tokens, context_window=window)
    step = partial(estimated_tokens, request)
    estimate = await run_in_thread_if(step, large=is_large(request))
    return TokenCount(tokens=estimate, estimated=True, context_window=window)


def context_window(request: LLMRequest, models: "Sequence[ModelInfo]") -> int | None:
    """Return the window of the model of *request*: the route's limit, or the catalog's."""
    model = request.model
    if isinstance(model, Model) and isinstance(model.route, Route):
        limit = model.route.defaults.limits.context
        if limit is not None:
            return limit
    from llmcore.catalog.lookup import get_model_info  # reads a data file

    info = get_model_info(request.model_id, request.provider_id or None, models=models)
    return None if info is None else info.context_window


def with_overflow_note(
    prepared: PreparedRequest[Any], models: "Sequence[ModelInfo]"
) -> PreparedRequest[Any]:
    """Return *prepared* with a Diagnostic if it seems larger than the model's window.

    A token is at least a byte, so only requests with more bytes than the window has tokens are
    estimated: others cost a comparison.
    """
    size = len(prepared.http.body)
    if size < _FEWEST_BYTES:
        return prepared
    window = context_window(prepared.request, models)
    if window is None or size <= window:
        return prepared
    tokens = estimated_tokens(prepared.request)
    if tokens <= window:
        return prepared
    diagnostics = (*prepared.diagnostics, overflow_note(tokens, window))
    return changed(prepared, diagnostics=diagnostics)
