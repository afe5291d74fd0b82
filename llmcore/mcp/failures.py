"""Errors of the SDK and of its transports, as errors of this library."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    LLMError,
    NetworkError,
    NotFoundError,
    ProviderError,
    RequestTimeoutError,
    StreamError,
)

if TYPE_CHECKING:
    from mcp import MCPError

_CONNECTION_CLOSED: Final = -32000
_REQUEST_TIMEOUT: Final = -32001
"""Codes of the SDK for errors that the server did not send."""
_CLOSED: Final = "Connection closed"
"""The SDK's message for its code; servers send the same code for errors of their own."""
_STAND_INS: Final = ("Not Found", "Session terminated", "Server returned an error response")
"""Messages of the SDK for failed responses whose body is not an error of the protocol."""

_WRONG_PATH: Final = (404, 405)
_WRONG_PATH_HINT: Final = (
    "check the path of its URL, which often ends with /mcp; a server of the older transport, whose "
    "URL often ends with /sse, is given as SdkServer(mcp.client.sse.sse_client(url))"
)


def as_llm_error(name: str, error: BaseException) -> LLMError:
    """Return *error*, raised while the server called *name* was used, as an LLMError."""
    causes = list(_causes(error))
    known = next((cause for cause in causes if isinstance(cause, LLMError)), None)
    if known is not None:
        return known
    for cause in causes:
        found = _known(name, cause)
        if found is not None:
            return found
    first = causes[0]
    message = f"the MCP server {name!r} failed: {type(first).__name__}: {first}"
    return StreamError(message, provider=_provider(name), retryable=False, cause=first)


def _provider(name: str) -> str:
    return f"mcp:{name}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions in *error*, those of groups one by one, each with what caused it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
        return
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        cause = cause.__cause__
    yield from seen


def _known(name: str, cause: BaseException) -> LLMError | None:
    import httpx2
    from mcp import MCPError
    from mcp.client.auth import OAuthFlowError

    provider = _provider(name)
    if isinstance(cause, OAuthFlowError):
        message = f"the login at the MCP server {name!r} failed: {cause}"
        return AuthenticationError(message, provider=provider, cause=cause)
    if isinstance(cause, httpx2.HTTPStatusError):
        return of_status(name, cause.response.status_code, cause)
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        message = f"the MCP server {name!r} did not answer in time"
        return RequestTimeoutError(message, provider=provider, cause=cause)
    if isinstance(cause, httpx2.TransportError):
        message = f"the MCP server {name!r} cannot be reached: {cause}"
        return NetworkError(message, provider=provider, cause=cause)
    if isinstance(cause, MCPError):
        return _of_code(name, cause)
    if isinstance(cause, OSError):
        message = f"the MCP server {name!r} cannot be started: {cause}"
        if isinstance(cause, FileNotFoundError) and " " in str(cause.filename):
            message += "; give the arguments apart: StdioServer(command, [argument, ...])"
        return ConfigurationError(message, provider=provider, cause=cause)
    return None


def of_status(name: str, status: int, cause: BaseException, login_url: str = "") -> LLMError:
    """Return the error of a response with *status*, with the message of its body.

    *login_url* is the address that answered, if it is not the server's own.
    """
    from mcp import MCPError

    kind = {401: AuthenticationError, 403: AuthenticationError, 404: NotFoundError}
    message = f"the MCP server {name!r} answered with status {status}"
    if login_url:
        message = f"the login at the MCP server {name!r} failed: {login_url} answered with {status}"
    stated = str(cause)
    if isinstance(cause, MCPError) and stated not in _STAND_INS:
        message = f"{message}: {stated}"
    elif status in _WRONG_PATH and not login_url:
        message = f"{message}: {_WRONG_PATH_HINT}"
    return kind.get(status, ProviderError)(
        message, provider=_provider(name), status_code=status, cause=cause
    )


def _of_code(name: str, error: "MCPError") -> LLMError:
    kind: type[LLMError] = ProviderError
    if error.code == _CONNECTION_CLOSED and str(error) == _CLOSED:
        message = (
            f"the MCP server {name!r} ended the connection; where it is a process, its stderr may "
            "have the reason"
        )
        return NetworkError(message, provider=_provider(name), cause=error)
    if error.code == _REQUEST_TIMEOUT:
        kind = RequestTimeoutError
    message = f"the MCP server {name!r} answered with an error: {error}"
    return kind(message, provider=_provider(name), error_code=str(error.code), cause=error)
