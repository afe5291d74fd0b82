"""Copilot API tokens: exchanged for a GitHub token, and refreshed before they expire.

    GET /copilot_internal/v2/token -> {"token": "tid=1;exp=...", "refresh_in": 1500,
     "endpoints": {"api": "https://api.individual.githubcopilot.com"}}

The exchange has no public document: see `api`.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio
from attrs import define, evolve, field

from llmcore.client.github.api import Reply, get
from llmcore.client.github.login import ExchangedToken, StoredLogin, read_login, write_login
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.forking import ForkSafeLock
from llmcore.routes.base_url import checked_base_url
from llmcore.routes.github_credentials import (
    EDITOR_HEADERS,
    LOGIN_COMMAND,
    PROVIDER,
    TOKEN_VARIABLE,
    CopilotAccess,
    CopilotLogin,
    is_github_token,
)
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    LLMError,
    StreamError,
)
from llmcore.schema.json import JsonValue

_LOG = logging.getLogger(__name__)
_exchanging: Final = ForkSafeLock()
"""Serialises exchanges in this process, so that waiting threads find the new token."""
_MIN_SECONDS: Final = 30.0
_USUAL_SECONDS: Final = 1500.0
_MAX_SECONDS: Final = 24 * 3600.0
_GRACE_SECONDS: Final = 60.0
"""How long a token stays valid after the time for its refresh."""


@define(eq=False, repr=False)
class CopilotTokens:
    """Copilot's tokens for one GitHub token: given, from the environment, or stored."""

    _source: CopilotLogin
    _environ: Mapping[str, str]
    _options: HttpOptions
    _clock: Callable[[], float] = time.time
    _cache: dict[str, ExchangedToken] = field(factory=dict, init=False)
    _refused: str | None = field(default=None, init=False)
    """The token that Copilot rejected last, although it had not expired."""

    def token(self) -> str:
        """Return a token that is currently valid. Blocks; can be called from several threads."""
        with _exchanging.held():
            return self._access().to_token()

    def refused(self, token: str) -> bool:
        """Stop using *token*, which Copilot rejected; return whether another can be fetched."""
        given = self._given()
        if given and not is_github_token(given):
            return False
        self._refused = CopilotAccess.from_token(token).token
        return True

    def _given(self) -> str:
        return self._source.token or self._environ.get(TOKEN_VARIABLE, "").strip()

    def _access(self) -> CopilotAccess:
        given = self._given()
        if not given:
            return self._of_login()
        if not is_github_token(given):
            return CopilotAccess(token=given)
        return self._fresh(given, self._source.api_url, None).access

    def _of_login(self) -> CopilotAccess:
        login = read_login(self._environ)
        if login is None:
            message = (
                f"not logged in to GitHub Copilot: run `{LOGIN_COMMAND}`, set {TOKEN_VARIABLE}, or "
                "configure the provider with token=..."
            )
            raise AuthenticationError(message, provider=PROVIDER)
        fresh = self._fresh(login.github_token, login.api_url, login.exchanged)
        if fresh != login.exchanged:
            self._keep(evolve(login, exchanged=fresh))
        return fresh.access

    def _fresh(
        self, github_token: str, api_url: str, stored: ExchangedToken | None
    ) -> ExchangedToken:
        """Return the current token until its refresh is due, then a new one.

        If the refresh fails, the current token is used until it expires.
        """
        known = [item for item in (stored, self._cache.get(github_token)) if item is not None]
        known = [item for item in known if item.access.token != self._refused]
        latest = max(known, key=lambda item: item.refresh_at, default=None)
        now = self._clock()
        if latest is not None and now < latest.refresh_at:
            return latest
        try:
            latest = anyio.run(
                partial(exchange, self._options, github_token, api_url, clock=self._clock)
            )
        except LLMError as error:
            if latest is None or not error.retryable or now >= latest.expires_at:
                raise
        self._cache[github_token] = latest
        return latest

    def _keep(self, login: StoredLogin) -> None:
        """Store the new token for other processes, unless the user has logged out meanwhile."""
        try:
            now = read_login(self._environ)
            if now is not None and now.github_token == login.github_token:
                write_login(self._environ, login)
        except OSError as error:
            _LOG.warning("the refreshed token of GitHub Copilot could not be stored: %s", error)


async def exchange(
    options: HttpOptions, github_token: str, api_url: str, *, clock: Callable[[], float] = time.time
) -> ExchangedToken:
    """Exchange *github_token* for a Copilot token.

    Raises AuthenticationError if GitHub rejects the token, AccessDeniedError for an account or
    application without Copilot.
    """
    transport = HttpTransport(options=options)
    try:
        url = f"{api_url.rstrip('/')}/copilot_internal/v2/token"
        reply = await get(transport, url, EDITOR_HEADERS, github_token)
    finally:
        await transport.aclose()
    if reply.status != 200:
        raise _error_of(reply)
    return _token_of(reply, api_url, clock())


def _error_of(reply: Reply) -> LLMError:
    error = reply.error()
    if reply.status == 401:
        why = f"GitHub rejects the token, which may have been revoked: run `{LOGIN_COMMAND}`"
        return AuthenticationError(why, provider=PROVIDER, status_code=401, cause=error)
    if reply.status in (403, 404):
        why = f"this GitHub account or login has no access to Copilot: {error.message}"
        return AccessDeniedError(
            why, provider=PROVIDER, status_code=reply.status, raw=error.raw, cause=error
        )
    return error


def _token_of(reply: Reply, api_url: str, now: float) -> ExchangedToken:
    """Read the response. Times are relative to this machine's clock, which may be wrong."""
    document = reply.document
    token, endpoints = document.get("token"), document.get("endpoints")
    if not isinstance(token, str) or not token:
        raise StreamError("GitHub's response has no Copilot token", provider=PROVIDER)
    named = endpoints.get("api") if isinstance(endpoints, dict) else None
    refresh_at = now + _lifetime(document.get("refresh_in"))
    return ExchangedToken(
        access=CopilotAccess(token=token, base_url=_base_url(named, api_url)),
        refresh_at=refresh_at,
        expires_at=refresh_at + _GRACE_SECONDS,
    )


def _lifetime(refresh_in: JsonValue) -> float:
    if isinstance(refresh_in, bool) or not isinstance(refresh_in, int | float):
        return _USUAL_SECONDS
    return min(max(float(refresh_in), _MIN_SECONDS), _MAX_SECONDS)


def _base_url(named: JsonValue, api_url: str) -> str | None:
    """Return the base URL of the account's API. It must use https if GitHub's own API does."""
    if not isinstance(named, str) or not named:
        return None
    try:
        url = checked_base_url(named)
    except ConfigurationError as error:
        message = "GitHub's response has an invalid address of Copilot's API"
        raise StreamError(message, provider=PROVIDER, cause=error) from error
    if urlsplit(url).scheme != "https" and urlsplit(api_url).scheme == "https":
        raise StreamError(
            "GitHub's response has an unencrypted address of Copilot's API", provider=PROVIDER
        )
    return url
