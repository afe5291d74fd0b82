"""Headers and URLs of requests in the form that HTTP requires."""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from llmcore.routes.http_request import HttpRequest

_COMPRESSED: Final = "gzip, deflate"
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")
_PORT: Final = re.compile(r":\d+$")
_ZONE: Final = re.compile(r"^(\w+://\[[0-9A-Fa-f:.]+)%25(?=[^\]/]+\])")
"""An IPv6 address with a zone, whose `%` is percent-encoded in URLs (RFC 6874)."""
_ZONE_OF_HOST: Final = re.compile(r"%[^\]]*\]")
"""A zone has a meaning for the sender only, and is not sent."""
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def wire_headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers of *request* with those that HTTP requires."""
    headers = headers_before_length(request.url, request.headers)
    if states_length(request):
        headers["content-length"] = str(len(request.body))
    return headers


def headers_before_length(url: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return *headers* of a request to *url* with what HTTP requires, besides `content-length`."""
    sent = dict(headers)
    if "host" not in sent:
        sent = {"host": _authority(url), **sent}
    sent.setdefault("accept-encoding", _COMPRESSED)
    return sent


def states_length(request: HttpRequest) -> bool:
    """Return whether *request* has the header `content-length`."""
    return bool(request.body) or request.method == "POST"


def wire_url(url: str) -> str:
    """Return *url* in ASCII: the host in IDNA, unsafe characters percent-encoded.

    The zone of an IPv6 address is separated by `%` alone, as systems have it.
    """
    url = _ZONE.sub(r"\1%", url)
    if url.isascii() and not _UNSAFE.search(url):
        return url
    scheme, authority, path, query, _ = urlsplit(url)
    port = _PORT.search(authority)
    host = authority[: port.start()] if port else authority
    safe = "%/:=&?~+!$,;'@()*"
    encoded = host.encode("idna").decode() + (port.group() if port else "")
    return urlunsplit((scheme, encoded, quote(path, safe), quote(query, safe), ""))


def joined_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return *headers* by lower-case name; repeated ones are joined (RFC 9110, 5.3)."""
    joined: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


@functools.lru_cache(maxsize=256)
def _authority(url: str) -> str:
    scheme, authority, *_ = urlsplit(wire_url(url))
    host = _ZONE_OF_HOST.sub("]", authority.rpartition("@")[2])
    return host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
