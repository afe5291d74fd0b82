"""The errors of responses: what an error response states, what may help, and no secrets."""

import contextlib
from typing import Final
from urllib.parse import urlsplit

import anyio

from llmcore.client.transport import Chunks, Exchange
from llmcore.protocols.failures.errors import error_from_response
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.http_request import redact
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema import json
from llmcore.schema.errors import LLMError, NetworkError, NotFoundError
from llmcore.schema.json import JsonValue

REDIRECTED: Final = 300
"""The lowest status that is an error."""
_FAILED = 400
"""The lowest status above those of redirects."""
_WRONG_METHOD = 405
_WITHOUT_VERSION = frozenset({"/chat/completions", "/responses", "/embeddings"})
"""The paths of OpenAI's API where nothing stands before them."""

MAX_ERROR_BYTES = 1024 * 1024
"""The most bytes that are read of an error body."""
_ERROR_BODY_SECONDS = 5.0
"""How long the body of an error is waited for, which servers send with its head."""


async def response_error(exchange: Exchange, provider: str) -> LLMError:
    """Return the error of an error response, after reading its body and closing it.

    The status and headers suffice where the body breaks off or stalls.
    """
    body = bytearray()
    chunks = exchange.chunks()
    try:
        with contextlib.suppress(NetworkError), anyio.move_on_after(_ERROR_BODY_SECONDS):
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_ERROR_BYTES:
                    break
    finally:
        await close_response(exchange, chunks)
    return error_from_response(
        provider=provider,
        status=exchange.status,
        headers=exchange.headers,
        body=bytes(body[:MAX_ERROR_BYTES]),
    )


async def explained_error(exchange: Exchange, sent: PreparedRequest, route: Route) -> LLMError:
    """Return the error of the response to *sent*, with what may help."""
    error = await response_error(exchange, route.provider)
    error.hint = _hint(error, sent, route, exchange.headers.get("location")) or None
    return error


def _hint(error: LLMError, sent: PreparedRequest, route: Route, location: str | None) -> str:
    """Return what may help: a redirect, a wrong URL and a wrong model are likely mistakes."""
    status = error.status_code
    if location and status is not None and REDIRECTED <= status < _FAILED:
        return f": it redirects to {location.partition('?')[0]!r}, where base_url should point"
    if not isinstance(error, NotFoundError) and status != _WRONG_METHOD:
        return ""
    asked = f" [request: {sent.method} {sent.url}, model {sent.request.model_id!r}]"
    return asked + _likely(route, sent.url, sent.request.model_id, error)


def _likely(route: Route, url: str, model_id: str, error: LLMError) -> str:
    """Return what was likely meant where *url* or *model_id* was not found, by *error*."""
    from llmcore.catalog.lookup import likely_model  # loads the catalog's modules

    if found := likely_model(model_id, route.provider):
        return f": did you mean {found!r}?"
    if urlsplit(url).path in _WITHOUT_VERSION:
        return "; most servers have their API below /v1: end base_url with it"
    has_api = "://api.openai.com/" in url or error.error_code == "model_not_found"
    if has_api or route.protocol.usual_api is None:
        return ""
    usual = protocol_by_id(route.protocol.usual_api)
    return f"; for a server of {usual.api} {usual.advice}"


async def close_response(exchange: Exchange, chunks: Chunks) -> None:
    """Free the connection of a response, also where the task was cancelled."""
    with anyio.CancelScope(shield=True):
        await chunks.aclose()
        await exchange.aclose()  # a generator that never started closes nothing


def redact_error(error: LLMError, secrets: tuple[str, ...]) -> None:
    """Remove the request's *secrets* from *error*: some servers quote them."""
    error.message = redact(error.message, secrets)
    error.args = (error.message,)
    for name in ("error_code", "request_id", "hint"):
        quoted = getattr(error, name)
        setattr(error, name, quoted if quoted is None else redact(quoted, secrets))
    text = json.canonical(error.raw) if error.raw is not None else ""
    if any(secret in text for secret in secrets):
        error.raw = _redacted(error.raw, secrets)


def _redacted(value: JsonValue, secrets: tuple[str, ...]) -> JsonValue:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {redact(key, secrets): _redacted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, secrets) for item in value]
    return value
