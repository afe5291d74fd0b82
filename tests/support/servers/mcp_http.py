"""MCP servers of tests over streamable HTTP on loopback, also with an authorization server."""

import socket
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.support.servers.asgi import serving
from tests.support.servers.mcp_program import made_server
from tests.support.waiting import PATIENCE_S


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now; others may take it."""
    with port_of_nobody() as port:
        return port


@contextmanager
def port_of_nobody() -> Iterator[int]:
    """Yield a port of 127.0.0.1 that nothing listens on, and nothing can, until the block ends."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def until(happened: Callable[[], bool]) -> None:
    """Wait until *happened* returns True; fail where it does not."""
    with anyio.fail_after(PATIENCE_S):
        while not happened():  # noqa: ASYNC110  (another library's state)
            await anyio.sleep(0.01)


class Watched:
    """An application whose requests are kept; with `legacy`, of a version without discovery."""

    app: Any

    def __init__(self, *, legacy: bool) -> None:
        self.legacy = legacy
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.forgotten: set[str] = set()
        """Ids of sessions that the server has forgotten, as after a restart."""
        self.late = b"no request"
        """A request in a forgotten session is refused 0.2 seconds late if its body contains it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Keep the request's method, path and headers, and pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((scope["method"], scope["path"], headers))
        undiscovered = self.legacy and headers.get("mcp-method") == "server/discover"
        if undiscovered or headers.get("mcp-session-id") in self.forgotten:
            if self.late in (await receive()).get("body", b""):
                await anyio.sleep(0.2)
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self.app(scope, receive, send)

    def forget(self) -> None:
        """Forget all sessions so far."""
        sessions = (headers.get("mcp-session-id") for _, _, headers in self.requests)
        self.forgotten.update(filter(None, sessions))


@contextmanager
def serving_app(make_app: Callable[[str], Any]) -> Iterator[str]:
    """Serve an ASGI application from a thread, in which it is made for its URL; yield that."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            partial(make_app, url),
            factory=True,
            log_level="critical",
            timeout_graceful_shutdown=1,
        )
        with serving(config, [listener]):
            yield url


@contextmanager
def http_server(*, legacy: bool = False, **options: Any) -> Iterator[tuple[str, Watched]]:
    """Serve the test server; yield the URL of its endpoint, and its requests."""
    watched = Watched(legacy=legacy)

    def make_app(_url: str) -> Watched:
        watched.app = made_server().streamable_http_app(**options)
        return watched

    with serving_app(make_app) as url:
        yield f"{url}/mcp", watched


class Authorization:
    """An authorization server that lets everyone in, and whose tokens can be made to expire."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshing: dict[str, RefreshToken] = {}
        self.refusal: str | None = None
        self.grants: list[str] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        if self.refusal is not None:
            back = str(params.redirect_uri)
            return construct_redirect_uri(back, error=self.refusal, state=params.state)
        code = AuthorizationCode(
            code=token_hex(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.grants.append("authorization_code")
        del self.codes[authorization_code.code]
        return self._issued(authorization_code.client_id, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.grants.append("refresh_token")
        del self.refreshing[refresh_token.token]
        return self._issued(refresh_token.client_id, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise NotImplementedError

    def _issued(self, client_id: str, resource: str | None) -> OAuthToken:
        access = AccessToken(token=token_hex(16), client_id=client_id, scopes=[], resource=resource)
        refresh = RefreshToken(
            token=token_hex(16), client_id=client_id, scopes=[], resource=resource
        )
        self.access[access.token] = access
        self.refreshing[refresh.token] = refresh
        return OAuthToken(access_token=access.token, refresh_token=refresh.token, expires_in=3600)


@contextmanager
def protected_server() -> Iterator[tuple[str, Authorization]]:
    """Serve the test server behind an authorization server on the same port."""
    authorization = Authorization()

    def make_app(root: str) -> Any:
        settings = AuthSettings.model_validate(
            {
                "issuer_url": root,
                "resource_server_url": f"{root}/mcp",
                "client_registration_options": ClientRegistrationOptions(enabled=True),
                "validate_token_resource": True,
            }
        )
        made = made_server(auth_server_provider=authorization, auth=settings)
        return made.streamable_http_app()

    with serving_app(make_app) as url:
        yield f"{url}/mcp", authorization


class _Issued:
    """A verifier of the tokens that were issued."""

    def __init__(self) -> None:
        self.tokens: dict[str, AccessToken] = {}

    async def verify_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)


@contextmanager
def program_server(client_id: str, secret: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve the test server for programs that log in by a secret; yield its URL and the logins."""
    issued = _Issued()
    asked: list[dict[str, str]] = []
    expected = "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()

    async def token(request: Request) -> JSONResponse:
        if request.headers.get("authorization") != expected:
            return JSONResponse({"error": "invalid_client"}, 401)
        form = {name: str(value) for name, value in (await request.form()).items()}
        asked.append(form)
        made = token_hex(16)
        issued.tokens[made] = AccessToken(
            token=made, client_id=client_id, scopes=[], resource=form.get("resource")
        )
        return JSONResponse({"access_token": made, "token_type": "Bearer", "expires_in": 3600})

    def make_app(root: str) -> Any:
        async def described(_request: Request) -> JSONResponse:
            return JSONResponse(
                {
                    "issuer": root,
                    "authorization_endpoint": f"{root}/authorize",
                    "token_endpoint": f"{root}/token",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["client_credentials"],
                    "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                }
            )

        settings = AuthSettings.model_validate(
            {
                "issuer_url": root,
                "resource_server_url": f"{root}/mcp",
                "validate_token_resource": True,
            }
        )
        app = made_server(token_verifier=issued, auth=settings).streamable_http_app()
        app.add_route("/token", token, methods=["POST"])
        app.add_route("/.well-known/oauth-authorization-server", described)
        return app

    with serving_app(make_app) as url:
        yield f"{url}/mcp", asked
