"""Translates exceptions of HTTP libraries to LLMErrors."""

import errno
from collections.abc import Iterator
from inspect import currentframe
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError
from llmcore.tracebacks import remove_frames

_TRANSPORT_FAULTS: Final = frozenset(
    {"RequestError", "InvalidURL", "NetworkError", "ProtocolError", "ProxyError"}
    | {"UnsupportedProtocol", "ConnectionNotAvailable", "ClientError", "HttpProcessingError"}
)
_TIMEOUT_NAMES: Final = {
    "ConnectTimeout": "connect",
    "ConnectionTimeoutError": "connect",
    "PoolTimeout": "pool",
    "WriteTimeout": "write",
}


_NO_CONNECTION: Final = frozenset({"ConnectError", "ClientConnectorError"})
_CONNECTING_HINT: Final = "; check the address (base_url) and the network"
_PROXY_HINT: Final = "; check the proxy (HttpOptions, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY)"
_LOCAL_HINT: Final = "; start the server there, or set another address (base_url)"
_TLS_HINTS: Final = {
    "WRONG_VERSION_NUMBER": "; the server does not use TLS there: write http:// in base_url",
    "RECORD_LAYER_FAILURE": "; the server does not use TLS there: write http:// in base_url",
    "self-signed certificate": "; trust its authority with HttpOptions(ca_file=...)",
    "unable to get local issuer": "; trust its authority with HttpOptions(ca_file=...)",
}
"""By words of the errors of Python's `ssl`."""
_PROXY_FAULTS: Final = frozenset({"ProxyError", "ClientHttpProxyError"})
_PROXY_LOGIN_HINT: Final = "; the proxy needs a name and a password: http://name:password@host:port"
_PROXY_RULE_HINT: Final = "; the proxy does not allow connections to this address"
_PROXY_REFUSALS: Final = {
    "407 ": _PROXY_LOGIN_HINT,
    "Invalid username/password": _PROXY_LOGIN_HINT,
    "NO ACCEPTABLE METHODS": _PROXY_LOGIN_HINT,
    "403 ": _PROXY_RULE_HINT,
    "not allowed by ruleset": _PROXY_RULE_HINT,
}
"""By words of proxies that refuse a tunnel, and would again: statuses, and httpcore's of SOCKS."""
_OF_RESPONSES: Final = frozenset({"ClientResponseError", "HttpProcessingError"})
_CANCELLATIONS: Final = frozenset({"CancelledError", "Cancelled"})
"""By which anyio ends what exceeds a limit: asyncio's and trio's. Their texts are about scopes."""
TOO_MANY_FILES: Final = "too_many_open_files"
"""The code of a NetworkError whose reason is a limit of this process, or of its machine."""
_FILES_HINT: Final = "; let the process open more files (ulimit -n), or send fewer requests at once"
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def translate(error: Exception, url: str, proxy: str | None = None) -> Exception:
    """Return an HTTP library's exception at *url* as an LLMError; any other exception unchanged.

    Its message names the *proxy* that was to open the connection, without its password.

    Exceptions are recognised by the names of their classes, so that one function handles httpx,
    httpx2, httpcore and aiohttp.
    """
    if isinstance(error, LLMError):
        return error
    names = _names(error)
    where = urlsplit(url)
    target = f"{where.scheme}://{where.netloc}"
    if proxy is not None:
        target += f" through the proxy {urlsplit(proxy).netloc.rpartition('@')[2]}"
    text = detail(error)
    cause = None if "ClientResponseError" in names else error  # it shows the request's headers
    if not _TRANSPORT_FAULTS.isdisjoint(names) or isinstance(error, OSError):
        remove_frames(_chain(error))
    root = next(islice(_chain(error), 1, None), None)
    refused = isinstance(root, OSError) and not isinstance(root, TimeoutError)
    if ("TimeoutException" in names and not refused) or isinstance(error, TimeoutError):
        code = next((_TIMEOUT_NAMES[name] for name in names if name in _TIMEOUT_NAMES), "read")
        message = f"{target} did not answer in time ({code}): {text}"
        return RequestTimeoutError(message, error_code=code, cause=cause)
    if not _TRANSPORT_FAULTS.isdisjoint(names) or isinstance(error, OSError | ValueError):
        refusal, too_many_files = _refusal_of_proxy(names, text), _is_of_files(error)
        if too_many_files:
            hint = _FILES_HINT
        else:
            hint = refusal or _connecting_hint(names, where.hostname, text, proxy)
        return NetworkError(
            f"the connection to {target} failed: {text}{hint}",
            error_code=TOO_MANY_FILES if too_many_files else None,
            cause=cause,
            retryable=refusal is None,
        )
    return error


def _connecting_hint(names: list[str], host: str | None, text: str, proxy: str | None) -> str:
    """Return what to do about a fault of TLS, or a connection that was not opened; else ""."""
    for fault, words in _TLS_HINTS.items():
        if fault in text:
            return words
    if proxy is not None:
        return _PROXY_HINT
    if _NO_CONNECTION.isdisjoint(names):
        return ""
    return _LOCAL_HINT if host in _LOCAL_HOSTS else _CONNECTING_HINT


def _refusal_of_proxy(names: list[str], detail: str) -> str | None:
    """Return the hint for a proxy that does not open this tunnel; None for any other fault."""
    if _PROXY_FAULTS.isdisjoint(names):
        return None
    return next((hint for words, hint in _PROXY_REFUSALS.items() if words in detail), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield *error* and its causes, the outermost first."""
    while error is not None:
        yield error
        context = error.__context__
        error = error.__cause__ or (None if _is_handled_by_caller(context) else context)


def _is_handled_by_caller(error: BaseException | None) -> bool:
    """Return whether *error* was caught by a function that made this call while handling it.

    Python makes it the context of the first error within the call, which it did not cause.
    """
    if error is None or error.__traceback__ is None:
        return False
    caught_in, frame = error.__traceback__.tb_frame, currentframe()
    while frame is not None and frame is not caught_in:
        frame = frame.f_back
    return frame is not None


def _is_of_files(error: Exception) -> bool:
    """Return whether no connection could be opened since too many files are open."""
    full = (errno.EMFILE, errno.ENFILE)
    return any(isinstance(link, OSError) and link.errno in full for link in _chain(error))


def detail(error: Exception) -> str:
    """Return the first message in the chain of causes; the outer ones are often empty."""
    names = _names(error)
    if not _OF_RESPONSES.isdisjoint(names):  # its status is aiohttp's own, unless a proxy sent it
        status = "" if _PROXY_FAULTS.isdisjoint(names) else getattr(error, "status", "")
        return _in_one_line(f"{status} {getattr(error, 'message', '')}")
    if "ClientConnectorError" in names:  # its own text has the address of an SSLContext in it
        error = getattr(error, "os_error", error)
    links = (link for link in _chain(error) if _has_text_of_its_own(link))
    return _in_one_line(next(filter(None, map(str, links)), type(error).__name__))


def _names(error: Exception) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]


def _has_text_of_its_own(error: BaseException) -> bool:
    """Return whether the text of *error* is about a fault, and not about scopes and groups."""
    return type(error).__name__ not in _CANCELLATIONS and not isinstance(error, BaseExceptionGroup)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
