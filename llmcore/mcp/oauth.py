"""Logins at MCP servers by OAuth 2.1: of a person in a browser, and of a program by its secret.

The SDK discovers the authorization server, registers the client, and fetches and refreshes
tokens (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization). This module
has the parts that it leaves to programs: where tokens are kept, and the page that the browser
returns to, which is served on the loopback interface (RFC 8252).
"""

import os
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from anyio.abc import SocketListener, SocketStream
from attrs import field
from attrs.converters import optional

from llmcore.client.user_folders import write_for_owner
from llmcore.schema import json
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

_MAX_REQUEST_BYTES = 16 << 10


@frozen(kw_only=True)
class OAuthLogin:
    """A login of a person in a browser, with PKCE; tokens are refreshed afterwards.

    *port* is part of the address that is registered with the authorization server, to which the
    browser returns: `http://127.0.0.1:{port}/callback`.
    """

    file: Path | None = field(default=None, converter=optional(Path))
    """Where tokens are kept, readable by its owner alone; None keeps them for the connection."""
    scope: str | None = None
    """The scopes to request, separated by spaces; None takes those that the server names."""
    client_name: str = "llmcore"
    """The name that the authorization server shows to the person."""
    port: int = 33419
    """The port on 127.0.0.1 that the browser returns to."""
    open_page: Callable[[str], object] = webbrowser.open
    """Called in a thread with the URL of the page to log in at."""
    seconds: float = 300.0
    """How many seconds the person has."""

    def build(self, url: str) -> "httpx2.Auth":
        """Return the SDK's authentication for the server at *url*."""
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientMetadata

        page = _ReturnPage(self)
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": self.client_name,
                "redirect_uris": [f"http://127.0.0.1:{self.port}/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": "none",
                "scope": self.scope,
            }
        )
        tokens = _Tokens(self.file)
        auth = OAuthClientProvider(url, metadata, tokens, page.open, page.authorization_code)
        tokens.context = auth.context
        return auth


@frozen(kw_only=True)
class ClientCredentials:
    """A login of a program by its own id and secret (`client_credentials`), without a person.

    The secret is sent only to the authorization server *issuer*, whatever the MCP server names.
    """

    client_id: str
    """The id that the authorization server gave to the program."""
    client_secret: str = field(repr=False)
    """Its secret."""
    issuer: str
    """The URL of the authorization server."""
    scope: str | None = None
    """The scopes to request, separated by spaces; None takes those that the server names."""

    def build(self, url: str) -> "httpx2.Auth":
        """Return the SDK's authentication for the server at *url*."""
        from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

        return ClientCredentialsOAuthProvider(
            url,
            _Tokens(None),
            self.client_id,
            self.client_secret,
            scope=self.scope,
            issuer=self.issuer,
        )


# -- where tokens are kept


class _Tokens:
    """Tokens and the client's registration, in a file or in memory: a `TokenStorage` of the SDK."""

    def __init__(self, file: Path | None) -> None:
        self.context: OAuthContext | None = None
        """The state of the SDK, which needs the expiry of stored tokens to refresh them."""
        self._file = file
        self._kept: dict[str, JsonValue] | None = None

    async def get_tokens(self) -> "OAuthToken | None":
        from mcp.shared.auth import OAuthToken

        kept = await self._read()
        expires_at, tokens = kept.get("expires_at"), kept.get("tokens")
        if self.context is not None and isinstance(expires_at, int | float):
            self.context.token_expiry_time = expires_at
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        seconds = tokens.expires_in
        await self._write(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=None if seconds is None else time.time() + seconds,
        )

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        from mcp.shared.auth import OAuthClientInformationFull

        kept = (await self._read()).get("client")
        return None if kept is None else OAuthClientInformationFull.model_validate(kept)

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        await self._write(client=client_info.model_dump(mode="json", exclude_none=True))

    async def _read(self) -> dict[str, JsonValue]:
        if self._kept is None:
            self._kept = dict(await anyio.to_thread.run_sync(_read, self._file))
        return self._kept

    async def _write(self, **values: JsonValue) -> None:
        kept = await self._read()
        kept.update(values)
        if self._file is not None:
            await anyio.to_thread.run_sync(write_for_owner, self._file, json.dumps(kept))


def _read(file: Path | None) -> JsonObject:
    if file is None or not file.exists():
        return {}
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        message = f"the login in {os.fspath(file)} cannot be read; delete the file to log in again"
        raise AuthenticationError(message, cause=error) from error
    return object_or_empty(kept)


# -- the page that the browser returns to


class _ReturnPage:
    """Opens the browser, and serves the address that it returns to with the authorization code."""

    def __init__(self, login: OAuthLogin) -> None:
        self._login = login
        self._url = ""

    async def open(self, url: str) -> None:
        self._url = url  # opened when the address that it leads to is served

    async def authorization_code(self) -> "AuthorizationCodeResult":
        from mcp.shared.auth import AuthorizationCodeResult

        response: dict[str, str] | None = None
        async with await self._listener() as listener, anyio.create_task_group() as tasks:
            tasks.start_soon(self._open_page)
            with anyio.move_on_after(self._login.seconds):
                while response is None:
                    async with await listener.accept() as stream:
                        response = await _authorization_response(stream)
            tasks.cancel_scope.cancel()
        if response is None:
            seconds = f"{self._login.seconds:g} seconds"
            raise AuthenticationError(f"no login was completed within {seconds}")
        if "code" not in response:
            reason = response.get("error_description") or response["error"]
            raise AuthenticationError(f"the login was refused: {reason}")
        return AuthorizationCodeResult.model_validate(response)

    async def _listener(self) -> SocketListener:
        port = self._login.port
        try:
            opened = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        except OSError as error:
            message = f"port {port} of 127.0.0.1 is in use: give another, OAuthLogin(port=...)"
            raise ConfigurationError(message, cause=error) from error
        listener = opened.listeners[0]
        assert isinstance(listener, SocketListener)  # noqa: S101  (TCP)
        return listener

    async def _open_page(self) -> None:
        # It may return at once, or when the page is closed, as browsers in a terminal do.
        await anyio.to_thread.run_sync(self._login.open_page, self._url, abandon_on_cancel=True)


async def _authorization_response(stream: SocketStream) -> dict[str, str] | None:
    """Serve one request; return the parameters of the callback, None for any other request."""
    data = b""
    with anyio.move_on_after(5):
        while b"\r\n\r\n" not in data and len(data) < _MAX_REQUEST_BYTES:
            try:
                data += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                break
    target = urlsplit([*data.split(b" ", 2), b"", b""][1].decode("latin-1"))
    parameters = {name: values[0] for name, values in parse_qs(target.query).items()}
    is_response = target.path == "/callback" and ("code" in parameters or "error" in parameters)
    status, text = ("200 OK", "You can close this page.") if is_response else ("404 Not Found", "")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
    # The browser may go away once it has sent the code.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(f"{head}Connection: close\r\n\r\n{text}".encode())
    return parameters if is_response else None
