"""Fetches tokens for an `Auth` before it signs a request.

A function of the caller is awaited; a `CredentialSource`, which is data, is interpreted here.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import anyio.to_thread

from llmcore.client.http.options import HttpOptions
from llmcore.forking import reset_after_fork
from llmcore.routes.auth import Auth, CredentialSource, Fetch, GoogleCredentials
from llmcore.routes.github_credentials import CopilotLogin
from llmcore.routes.sigv4 import AwsCredentialChain, AwsCredentials
from llmcore.schema.errors import AuthenticationError, ConfigurationError, LLMError, install_extra


class Tokens(Protocol):
    """A source of tokens."""

    def token(self) -> str:
        """Return a token that is valid at this moment. Blocks; safe from several threads."""
        ...


@runtime_checkable
class Renewable(Protocol):
    """A source that can get another token before the one it has expires."""

    def refused(self, token: str) -> bool:
        """Stop using *token*, which a server rejected; return whether another may be available."""
        ...


class Credentials:
    """A client's sources of tokens. Each is created on first use and refreshes expiring tokens."""

    def __init__(self, options: HttpOptions | None = None) -> None:
        self._options = options or HttpOptions()
        self._chains: dict[CredentialSource, Tokens] = {}

    async def token(self, auth: Auth, environ: Mapping[str, str]) -> str | None:
        """Return the token that *auth* signs with; None if it needs none.

        Raises AuthenticationError if no token is available, ConfigurationError if a package is
        missing.
        """
        fetch = auth.fetch
        if fetch is None or not auth.fetch_when(environ):
            return None
        if isinstance(fetch, CredentialSource):
            chain = self._chains.get(fetch) or self._chains.setdefault(
                fetch, _interpreter(fetch, environ, self._options)
            )
            return await anyio.to_thread.run_sync(chain.token, abandon_on_cancel=True)
        return await _provided(fetch)

    def refused(self, auth: Auth, token: str | None) -> bool:
        """Record that a server refused *token*; return whether another one may be available."""
        fetch = auth.fetch
        chain = self._chains.get(fetch) if isinstance(fetch, CredentialSource) else fetch
        return token is not None and isinstance(chain, Renewable) and chain.refused(token)


async def _provided(fetch: Fetch) -> str:
    """Return the token of the caller's function; AuthenticationError if it fails."""
    try:
        return await fetch()
    except LLMError:
        raise
    except Exception as error:
        message = f"the token provider failed with a {type(error).__name__}"
        raise AuthenticationError(message, cause=error) from error


def _interpreter(
    source: CredentialSource, environ: Mapping[str, str], options: HttpOptions
) -> Tokens:
    match source:
        case AwsCredentialChain():
            return AwsChain(source)
        case GoogleCredentials():
            return GoogleTokens(source)
        case CopilotLogin():
            from llmcore.client.github.copilot import CopilotTokens  # loads the whole login

            return CopilotTokens(source, environ, options)
        case _:
            name = type(source).__name__
            raise ConfigurationError(f"{name} is not a known source of credentials")


class _OncePerProcess:
    """Credentials that are looked up once in each process."""

    def __init__(self) -> None:
        self.reset_in_child()
        reset_after_fork(self)

    def reset_in_child(self) -> None:
        """Look again: what was found may have been refreshing, under locks of its own."""
        self._lock = Lock()
        self._found: Any = None


class GoogleTokens(_OncePerProcess):
    """Tokens of google-auth, which reads files and asks token and metadata servers."""

    def __init__(self, source: GoogleCredentials) -> None:
        self._source = source
        super().__init__()

    def token(self) -> str:
        """Return a token that is valid at this moment. Blocks; safe from several threads."""
        with self._lock:
            try:
                self._found = self._found or self._look()
                if not self._found.valid:
                    from google.auth.transport.requests import Request

                    self._found.refresh(Request())
            except ImportError as error:
                raise ConfigurationError(
                    f"Google's credentials require google-auth: {install_extra('vertex')}, or "
                    "configure the provider with api_key=...",
                    cause=error,
                ) from error
            except Exception as error:  # invalid files, rejected requests
                raise AuthenticationError(f"no Google credentials: {error}", cause=error) from error
            return str(self._found.token)

    def _look(self) -> Any:
        if self._source.service_account_file is None:
            import google.auth

            return google.auth.default(scopes=self._source.scopes)[0]
        from google.oauth2.service_account import Credentials as ServiceAccount

        return ServiceAccount.from_service_account_file(  # type: ignore[no-untyped-call]
            self._source.service_account_file, scopes=self._source.scopes
        )


class AwsChain(_OncePerProcess):
    """The credential chain of botocore, which reads files and asks metadata services."""

    def __init__(self, source: AwsCredentialChain) -> None:
        self._profile = source.profile
        super().__init__()

    def token(self) -> str:
        """Return the credentials of this moment. Blocks; safe for use from several threads."""
        with self._lock:
            self._found = self._found or self._look()
            try:
                frozen = self._found.get_frozen_credentials()
            except Exception as error:  # sources raise many types of errors
                raise _refused(error) from error
        return AwsCredentials(
            access_key=frozen.access_key,
            secret_key=frozen.secret_key,
            session_token=frozen.token or "",
        ).to_token()

    def _look(self) -> Any:
        try:
            from botocore.session import Session
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"AWS credentials require botocore: {install_extra('bedrock')}, or set "
                "AWS_BEARER_TOKEN_BEDROCK, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                cause=error,
            ) from error
        try:
            credentials = Session(profile=self._profile).get_credentials()
        except Exception as error:  # an invalid file, a missing profile
            raise _refused(error) from error
        if credentials is None:
            raise AuthenticationError(
                "no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or configure the provider with api_key=... or profile=..."
            )
        return credentials


def _refused(error: Exception) -> AuthenticationError:
    return AuthenticationError(f"no AWS credentials: {error}", cause=error)
