"""Requests to GitHub: the login, and the exchange of tokens.

Documents, read November 2026: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/
authorizing-oauth-apps#device-flow. The exchange has no public document; what is known of it is in
the source of https://github.com/microsoft/vscode-copilot-chat.
"""

import contextlib
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import anyio

from llmcore.client.http.http_transport import HttpTransport
from llmcore.protocols.failures.errors import error_from_response
from llmcore.routes.github_credentials import PROVIDER
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema import json
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty
from llmcore.version import VERSION

_MAX_BYTES: Final = 256 * 1024
_SECONDS: Final = 30.0
_LIMITS: Final = Timeouts(connect=10, first_event=_SECONDS)
_HEADERS: Final = {"accept": "application/json", "user-agent": f"llmcore/{VERSION}"}


@frozen(kw_only=True)
class Reply:
    """A response of GitHub."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> JsonObject:
        """The body as a JSON object; empty if it is not one."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return object_or_empty(value)

    def error(self) -> LLMError:
        """Return the response as an error."""
        return error_from_response(
            provider=PROVIDER, status=self.status, headers=self.headers, body=self.body
        )


async def get(transport: HttpTransport, url: str, headers: Mapping[str, str], token: str) -> Reply:
    """Send a GET to *url* with GitHub's *token*. Raises NetworkError and RequestTimeoutError."""
    request = HttpRequest(method="GET", url=url, headers={**_HEADERS, **headers})
    return await _ask(transport, request.with_header("authorization", f"token {token}"))


async def post(transport: HttpTransport, url: str, form: Mapping[str, str]) -> Reply:
    """Send *form* to *url* in a POST. Raises NetworkError and RequestTimeoutError."""
    headers = {**_HEADERS, "content-type": "application/x-www-form-urlencoded"}
    body = urlencode(form).encode()
    return await _ask(transport, HttpRequest(method="POST", url=url, headers=headers, body=body))


async def _ask(transport: HttpTransport, request: HttpRequest) -> Reply:
    try:
        with anyio.fail_after(_SECONDS):
            exchange = await transport.send(request, _LIMITS)
            body = b""
            chunks = exchange.chunks()
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        raise NetworkError(
                            f"the response of {request.url} is larger than {_MAX_BYTES} bytes"
                        )
    except TimeoutError as error:
        message = f"{request.url} did not answer within {_SECONDS:g} seconds"
        raise RequestTimeoutError(message, error_code="total", cause=error) from error
    return Reply(status=exchange.status, headers=exchange.headers, body=body)
