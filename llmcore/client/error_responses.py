"""The errors of responses: what an error response states, what may help, and no secrets."""

import contextlib
from typing import Final

import anyio

from llmcore.client.address_hints import hint_for_model
from llmcore.client.transport import Chunks, Exchange
from llmcore.protocols.failures.errors import error_from_response
from llmcore.routes.http_request import redact
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema import json
from llmcore.schema.errors import LLMError, NetworkError
from llmcore.schema.json import JsonValue

REDIRECTED: Final = 300
"""The lowest status that is an error."""
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
    location = exchange.headers.get("location")
    error.hint = hint_for_model(error, location, sent, route) or None
    return error


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
