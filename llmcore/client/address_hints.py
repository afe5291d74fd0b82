"""Hints for error responses to a request with a wrong address or a wrong model."""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.errors import LLMError, NotFoundError

_REDIRECTS: Final = range(300, 400)
_WRONG_METHOD: Final = 405
_WITHOUT_VERSION: Final = frozenset(
    {
        "/audio/speech",
        "/audio/transcriptions",
        "/batches",
        "/chat/completions",
        "/embeddings",
        "/files",
        "/images/generations",
        "/models",
        "/responses",
    }
)
"""The paths of OpenAI's API where nothing stands before them."""


def hint_for_model(
    error: LLMError, location: str | None, sent: PreparedRequest, route: Route
) -> str:
    """Return what may help after *error*, where *sent* names a model; empty if nothing is known.

    *location* is the header of that name, by which servers redirect.
    """
    model_id = sent.request.model_id
    asked = f"{sent.method} {sent.url}, model {model_id!r}"
    return _hint(error, location, asked, lambda: _likely(route, sent.url, model_id, error))


def hint_for_address(error: LLMError, location: str | None, sent: HttpRequest) -> str:
    """Return what may help after *error*; empty if nothing is known."""
    url = sent.url.partition("?")[0]
    return _hint(error, location, f"{sent.method} {url}", lambda: _version(url))


def _hint(error: LLMError, location: str | None, asked: str, likely: Callable[[], str]) -> str:
    """Return where a server redirects, or what was *asked* and *likely* meant if not found."""
    if location and error.status_code in _REDIRECTS:
        return f": it redirects to {location.partition('?')[0]!r}, where base_url should point"
    if isinstance(error, NotFoundError) or error.status_code == _WRONG_METHOD:
        return f" [request: {asked}]{likely()}"
    return ""


def _likely(route: Route[Any], url: str, model_id: str, error: LLMError) -> str:
    """Return what was likely meant where *url* or *model_id* was not found, by *error*."""
    from llmcore.catalog.lookup import likely_model  # loads the catalog's modules

    if found := likely_model(model_id, route.provider):
        return f": did you mean {found!r}?"
    if version := _version(url):
        return version
    has_api = "://api.openai.com/" in url or error.error_code == "model_not_found"
    if has_api or route.protocol.usual_api is None:
        return ""
    usual = protocol_by_id(route.protocol.usual_api)
    return f"; for a server of {usual.api} {usual.advice}"


def _version(url: str) -> str:
    path = urlsplit(url).path
    if path in _WITHOUT_VERSION:
        return "; most servers have their API below /v1: end base_url with it"
    if path.removeprefix("/api") in _WITHOUT_VERSION:  # the address of Ollama's own API
        return "; Ollama has this API below /v1: end base_url with it instead of /api"
    if "/v1/v1/" in path:
        return "; base_url has /v1 twice: write it once"
    return ""
