"""Chooses the proxy of a URL from the environment.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case, as Python's own
`urllib.request` reads them; macOS and Windows settings are not read.
"""

import functools
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import shown_kind

SCHEMES = ("http", "https", "socks5", "socks5h")


def environment_proxy(url: str) -> str | None:
    """Return the proxy for *url* in the process's environment; None for a direct connection.

    Raises ConfigurationError for a proxy whose scheme is not supported.
    """
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment

    scheme, host, *_ = urlsplit(url)
    return _chosen(scheme, host, tuple(sorted(getproxies_environment().items())))


@functools.lru_cache(maxsize=256)
def _chosen(scheme: str, host: str, named: tuple[tuple[str, str], ...]) -> str | None:
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    proxies: Mapping[str, str] = dict(named)
    proxy = proxies.get(scheme) or proxies.get("all")
    if proxy is None or proxy_bypass_environment(host, proxies):
        return None
    return checked_proxy(proxy)


def checked_proxy(proxy: str) -> str:
    """Return the URL of *proxy*; `host:port` alone means http.

    Raises ConfigurationError for an invalid URL.
    """
    if not isinstance(proxy, str):
        raise ConfigurationError(f"proxy must be a URL, not {shown_kind(proxy)}")
    whole = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(whole)
        if parts.scheme in SCHEMES and parts.hostname and parts.port != 0:
            return whole
    except ValueError:  # an invalid port or invalid brackets
        pass
    kinds = ", ".join(SCHEMES)
    raise ConfigurationError(f"a proxy must be a URL with a host and one of the schemes {kinds}")
