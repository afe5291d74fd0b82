"""Which proxy a URL goes through, as the environment says.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case, as Python's own
`urllib.request` reads them; macOS and Windows settings are not read.
"""

import functools
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from llmcore.schema.errors import ConfigurationError

SCHEMES = ("http", "https", "socks5", "socks5h")


def environment_proxy(url: str) -> str | None:
    """Return the proxy the process's environment names for *url*; None for no proxy.

    ConfigurationError for a proxy of a kind that is not supported.
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
    """Return the URL of *proxy*; `host:port` alone means http. ConfigurationError if it is none."""
    whole = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(whole)
        if parts.scheme in SCHEMES and parts.hostname and parts.port != 0:
            return whole
    except ValueError:  # a port that is no number, brackets that make no sense
        pass
    kinds = ", ".join(SCHEMES)
    raise ConfigurationError(f"a proxy is a URL of the schemes {kinds}, with a host")
