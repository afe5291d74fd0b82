"""Hints for error responses to a request with a wrong address or a wrong model."""

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
    if redirect := _redirect(error, location):
        return redirect
    if not _is_not_found(error):
        return ""
    model_id = sent.request.model_id
    asked = f" [request: {sent.method} {sent.url}, model {model_id!r}]"
    return asked + _likely(route, sent.url, model_id, error)


def hint_for_address(error: LLMError, location: str | None, sent: HttpRequest) -> str:
    """Return what may help after *error*; empty if nothing is known."""
    if redirect := _redirect(error, location):
        return redirect
    if not _is_not_found(error):
        return ""
    url = sent.url.partition("?")[0]
    return f" [request: {sent.method} {url}]{_version(url)}"


def _redirect(error: LLMError, location: str | None) -> str:
    if not location or error.status_code not in _REDIRECTS:
        return ""
    return f": it redirects to {location.partition('?')[0]!r}, where base_url should point"


def _is_not_found(error: LLMError) -> bool:
    return isinstance(error, NotFoundError) or error.status_code == _WRONG_METHOD


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
