"""The headers, and the parts of a URL, that a cassette may hold.

Headers are an allow-list, so that a credential in an unknown header cannot end up in a file.
"""

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote_plus, urlsplit

from llmcore.protocols.failures.errors import REQUEST_ID_HEADERS
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.secret_names import holds_credential

REQUEST_HEADERS = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "x-amz-target"}
)
"""The headers that cassettes hold of a request, and compare when it is replayed."""

_RESPONSE_HEADERS = re.compile(
    r"content-type|content-language|date|retry-after(?:-ms)?|x-should-retry"
    r"|cf-ray|x-amzn-errortype"
    rf"|{'|'.join(REQUEST_ID_HEADERS)}"
    r"|(?:x-|anthropic-)?ratelimit-[a-z0-9-]+"
)

_OF_ONE_SIGNATURE = re.compile(r"x-(?:amz|goog)-date", re.IGNORECASE)
"""Parameters that belong to a signature and are not needed without it."""


def request_headers(request: HttpRequest, also: Iterable[str] = ()) -> dict[str, str]:
    """Return the headers of *request* that cassettes may contain, in the order of their names.

    *also* names more headers. Those that the request marks as secret, or whose names show that
    they hold credentials, are left out even then.
    """
    allowed = (REQUEST_HEADERS | {name.lower() for name in also}) - request.secret_headers
    return {
        name: value
        for name, value in sorted(request.headers.items())
        if name in allowed and not holds_credential(name)
    }


def response_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response that cassettes may contain: those that the client reads."""
    lowered = {name.lower(): value for name, value in headers.items()}
    return {
        name: value for name, value in sorted(lowered.items()) if _RESPONSE_HEADERS.fullmatch(name)
    }


def visible_url(request: HttpRequest) -> str:
    """Return the URL without credentials, as cassettes hold and compare it.

    The port of a loopback address is removed too, since test servers listen on any free one.
    """
    parts = urlsplit(request.url)
    kept = [pair for pair in parts.query.split("&") if not _is_secret(pair, request.secret_query)]
    host = parts.netloc.rpartition("@")[2]
    visible = parts._replace(netloc="localhost" if _is_loopback(parts) else host)
    return visible._replace(query="&".join(kept), fragment="").geturl()


def _is_secret(pair: str, names: frozenset[str]) -> bool:
    name = unquote_plus(pair.partition("=")[0])
    marked = name in names or holds_credential(name)
    return marked or _OF_ONE_SIGNATURE.fullmatch(name) is not None


def _is_loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name
        return False
