"""The options of HTTP connections: engine, HTTP/2, proxies, certificates.

Without an option, the proxy of a URL is that of the environment: `HTTP_PROXY`, `HTTPS_PROXY`,
`ALL_PROXY` and `NO_PROXY`, in either case, as Python's own `urllib.request` reads them; macOS and
Windows settings are not read.
"""

import functools
import importlib.util
import os
import ssl
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from attrs import field

from llmcore.schema.errors import ConfigurationError, missing_extra
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_checked_arguments


def _proxy(proxy: str | None) -> str | None:
    return None if proxy is None else checked_proxy(proxy)


@with_checked_arguments(
    proxies="proxy",
    **dict.fromkeys(
        ("verify", "ssl_verify", "verify_ssl"), "write ca_file=... with the certificate to trust"
    ),
    **dict.fromkeys(("timeout", "timeouts"), "write Client(timeouts=Timeouts(...))"),
)
@frozen(kw_only=True)
class HttpOptions:
    """Options of the HTTP connections that the client opens itself."""

    engine: Literal["httpx", "aiohttp"] | None = None
    """The library that sends requests; by default aiohttp where it can be used, otherwise httpx.

    aiohttp needs the extra `fast`. On trio, for HTTP/2, and through SOCKS and TLS proxies, httpx is
    used in any case.
    """
    http2: bool = False
    """Whether HTTP/2 is offered to https servers; needs the extra `http2`."""
    proxy: str | None = field(default=None, converter=_proxy, repr=False)
    """The URL of the proxy for all requests, with name and password if it requires them."""
    proxies_from_environment: bool = True
    """Whether HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are used if `proxy` is not set."""
    ca_file: str | None = None
    """A PEM file of trusted certificate authorities, instead of the default ones."""
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False)
    """A TLS context for other needs, such as client certificates; instead of `ca_file`."""
    debug: bool = False
    """Whether each response has a Diagnostic, `http-engine`, that names the library it came by."""

    def __attrs_post_init__(self) -> None:
        if self.engine not in (None, "httpx", "aiohttp"):
            raise ConfigurationError(f"engine must be 'httpx' or 'aiohttp', not {self.engine!r}")
        if self.ca_file is not None and self.ssl_context is not None:
            raise ConfigurationError("give either ca_file or ssl_context, and not both")

    def proxy_for(self, url: str) -> str | None:
        """Return the URL of the proxy for *url*; None for a direct connection.

        Raises ConfigurationError for a proxy whose scheme is not supported or not installed.
        """
        proxy = self.proxy
        if proxy is None and self.proxies_from_environment:
            proxy = environment_proxy(url)
        if proxy is not None and proxy.startswith("socks") and not _installed("socksio"):
            raise missing_extra("a SOCKS proxy", "socks")
        return proxy

    def check_extras(self) -> None:
        """Raise ConfigurationError if a required package is not installed."""
        if self.engine == "aiohttp" and not _installed("aiohttp"):
            raise missing_extra("the engine aiohttp", "fast")
        if self.http2 and not _installed("h2"):
            raise missing_extra("HTTP/2", "http2")

    @property
    def uses_aiohttp(self) -> bool:
        """Whether requests on asyncio are sent by aiohttp."""
        if self.engine is not None:
            return self.engine == "aiohttp" and not self.http2
        return not self.http2 and _installed("aiohttp")

    def engine_on(self, library: str) -> Literal["httpx", "aiohttp"]:
        """Return the engine for requests on *library*, asyncio or trio, that need no other one."""
        return "aiohttp" if self.uses_aiohttp and library == "asyncio" else "httpx"

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS context. The variables SSL_CERT_FILE and SSL_CERT_DIR are used.

        Raises ConfigurationError, naming file and source, for certificates that cannot be read.
        """
        if self.ssl_context is not None:
            return self.ssl_context
        if self.ca_file is not None:
            return shared_tls_context(self.ca_file, None, "ca_file", http2=self.http2)
        file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        return shared_tls_context(file, folder, http2=self.http2)


@functools.cache
def with_version(package: str) -> str:
    """Return the name of an installed package, with its version."""
    from importlib.metadata import version  # loads the parts of email

    return f"{package} {version(package)}"


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def shared_tls_context(
    cert_file: str | None,
    cert_dir: str | None,
    source: str = "SSL_CERT_FILE",
    *,
    http2: bool = False,
) -> ssl.SSLContext:
    """Return the process's shared context of these certificates; making one takes 10 ms.

    Without a file and a folder they are those of certifi. The values of the environment are
    arguments, so that a change makes a new context. HTTP/2 has a separate context, since httpcore
    changes the protocols that a context offers.
    """
    return _tls_context(cert_file or None, cert_dir or None, source, http2)


@functools.cache
def _tls_context(
    cert_file: str | None, cert_dir: str | None, source: str, _http2: bool
) -> ssl.SSLContext:
    if cert_file is None and cert_dir is None:
        import certifi

        return ssl.create_default_context(cafile=certifi.where())
    try:
        return ssl.create_default_context(cafile=cert_file, capath=cert_dir)
    except OSError as error:
        what = cert_file or cert_dir
        message = f"{source} is {what!r}, which has no readable certificates: {error}"
        raise ConfigurationError(message, cause=error) from error


# -- proxies of the environment


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
