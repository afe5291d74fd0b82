"""HTTP/2, proxies and certificates, against real servers: `llmcore/client/http/options.py`."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from llmcore.client.client import Client
from llmcore.client.http.options import HttpOptions, shared_tls_context
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.transport_spec import Http
from llmcore.schema.errors import ConfigurationError, LLMError, NetworkError
from llmcore.schema.request import request
from tests.support.programs.packages import without
from tests.support.servers.loopback import Loopback, chat_handler, model_at, serve
from tests.support.servers.tls_loopback import (
    Authority,
    Http2Loopback,
    Proxy,
    SocksProxy,
    TlsLoopback,
    new_authority,
    proxy,
    serve_http2,
    serve_tls,
)

pytestmark = pytest.mark.anyio

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing of this machine count."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def secure(authority: Authority) -> Iterator[TlsLoopback]:
    with serve_tls(chat_handler, authority) as running:
        yield running


@pytest.fixture
def plain() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


@pytest.fixture
def http2_server(authority: Authority) -> Iterator[Http2Loopback]:
    with serve_http2(chat_handler, authority) as running:
        yield running


@pytest.fixture
def relay() -> Iterator[Proxy]:
    with proxy() as running:
        yield running


async def both(options: HttpOptions | None, url: str) -> None:
    """Ask twice, whole and streamed."""
    wanted = request(model=model_at(url), prompt="Hi")
    async with Client(http=options) as client:
        assert (await client.generate(wanted)).unwrap().text == "Hello"
        assert (await client.stream(wanted).result()).unwrap().text == "Hello"


async def refused(options: HttpOptions | None, url: str) -> LLMError:
    async with Client(http=options) as client:
        return (await client.generate(request(model=model_at(url), prompt="Hi"))).failure()


# -- certificates


@pytest.mark.parametrize("way", ["ca_file", "ssl_context", "SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_private_authority_is_trusted_by_option_and_by_variables(
    secure: TlsLoopback,
    authority: Authority,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It is trusted by option, and by the variables that other programs know."""
    options = HttpOptions()
    if way == "ca_file":
        options = HttpOptions(ca_file=str(authority.file))
    elif way == "ssl_context":
        options = HttpOptions(ssl_context=authority.client_context())
    elif way == "SSL_CERT_FILE":
        monkeypatch.setenv(way, str(authority.file))
    else:
        hashed = tmp_path / f"{subject_hash(authority)}.0"
        hashed.write_bytes(authority.file.read_bytes())
        monkeypatch.setenv(way, str(tmp_path))
    await both(options, secure.url)

    assert all(secure.handshakes)


def subject_hash(authority: Authority) -> str:
    """Return the name that OpenSSL looks a certificate up by in a folder."""
    import subprocess

    command = ["openssl", "x509", "-hash", "-noout", "-in", str(authority.file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


async def test_an_unknown_authority_is_refused(secure: TlsLoopback) -> None:
    """The request, and its key, never leave us."""
    error = await refused(None, secure.url)

    assert isinstance(error, NetworkError)
    assert "certificate" in error.message.lower()
    assert error.message.endswith("trust its authority with HttpOptions(ca_file=...)")
    assert secure.received == []


async def test_a_name_that_is_not_in_the_certificate(
    secure: TlsLoopback, authority: Authority
) -> None:
    """An authority we trust does not make it another host."""
    url = secure.url.replace("127.0.0.1", "127.0.0.2")
    error = await refused(HttpOptions(ca_file=str(authority.file)), url)

    assert isinstance(error, NetworkError)
    assert secure.received == []


@pytest.mark.parametrize("given", [True, False])
async def test_a_client_certificate_is_shown_to_a_server_that_asks_for_one(
    authority: Authority, given: bool
) -> None:
    """From the caller's own context; without one, the server refuses."""
    demanding = authority.server_context("http/1.1")
    demanding.verify_mode = ssl.CERT_REQUIRED
    demanding.load_verify_locations(str(authority.file))
    own = authority.client_context()
    if given:
        authority.ca.issue_cert("client.example").configure_cert(own)
    server = TlsLoopback(chat_handler, demanding)
    try:
        if given:
            await both(HttpOptions(ssl_context=own), server.url)
        else:
            error = await refused(HttpOptions(ssl_context=own), server.url)
            assert isinstance(error, NetworkError)
    finally:
        server.close()

    assert len(server.received) == (2 if given else 0)


@pytest.mark.parametrize("source", ["ca_file", "SSL_CERT_FILE"])
async def test_certificates_that_are_not_there(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source and file are named."""
    missing = str(tmp_path / "none.pem")
    options = HttpOptions(ca_file=missing) if source == "ca_file" else HttpOptions()
    if source == "SSL_CERT_FILE":
        monkeypatch.setenv(source, missing)
    error = await refused(options, "https://127.0.0.1:9")

    assert isinstance(error, ConfigurationError)
    assert source in error.message
    assert "none.pem" in error.message


def test_one_context_for_all(authority: Authority) -> None:
    """Making one takes milliseconds; each file has its own."""
    own = HttpOptions(ca_file=str(authority.file))

    assert own.tls_context() is HttpOptions(ca_file=str(authority.file)).tls_context()
    assert HttpOptions().tls_context() is shared_tls_context(None, None)
    assert own.tls_context() is not HttpOptions().tls_context()


# -- proxies


@pytest.mark.parametrize("way", ["option", "HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_plain_requests_through_a_proxy(
    plain: Loopback, relay: Proxy, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy receives the whole URL."""
    options = HttpOptions(proxy=relay.url) if way == "option" else HttpOptions()
    if way != "option":
        monkeypatch.setenv(way, relay.url)
    await both(options, plain.url)

    assert set(relay.targets) == {f"POST {plain.url}/chat/completions"}
    assert len(plain.received) == 2


@pytest.mark.parametrize("way", ["option", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_tls_through_a_tunnel(
    secure: TlsLoopback,
    authority: Authority,
    relay: Proxy,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proxy learns host and port and nothing else; the certificate is the server's."""
    ca = str(authority.file)
    options = HttpOptions(ca_file=ca, proxy=relay.url if way == "option" else None)
    if way != "option":
        monkeypatch.setenv(way, relay.url)
    await both(options, secure.url)

    assert set(relay.targets) == {f"CONNECT {secure.url.removeprefix('https://')}"}
    assert "sk-secret" not in "".join(relay.heads)
    assert secure.received[0].headers["authorization"] == "Bearer sk-secret-key"


async def test_a_tunnel_does_not_excuse_a_certificate(secure: TlsLoopback, relay: Proxy) -> None:
    """An unknown authority is refused behind a proxy, too."""
    error = await refused(HttpOptions(proxy=relay.url), secure.url)

    assert isinstance(error, NetworkError)
    assert secure.received == []


async def test_a_proxy_behind_tls(secure: TlsLoopback, authority: Authority) -> None:
    """The same authorities count for it."""
    with proxy(authority.server_context("http/1.1")) as relay:
        await both(HttpOptions(ca_file=str(authority.file), proxy=relay.url), secure.url)

        assert relay.targets[0].startswith("CONNECT ")


async def test_proxy_gets_the_password_of_its_url(
    secure: TlsLoopback, authority: Authority, relay: Proxy
) -> None:
    """It gets it from its URL, which is not shown."""
    url = relay.url.replace("://", "://ada:s%40fe@")
    options = HttpOptions(ca_file=str(authority.file), proxy=url)
    await both(options, secure.url)

    assert "Proxy-Authorization: Basic YWRhOnNAZmU=" in relay.heads[0]
    assert "fe@" not in repr(options)


@pytest.mark.parametrize(
    ("refusal", "hint", "retryable"),
    [
        ("407 Proxy Authentication Required", "; the proxy needs a name and a password", False),
        ("403 Forbidden", "; the proxy does not allow connections to this address", False),
        ("503 Service Unavailable", "; check the proxy (HttpOptions, HTTPS_PROXY", True),
    ],
)
async def test_a_proxy_that_refuses(
    secure: TlsLoopback,
    authority: Authority,
    relay: Proxy,
    refusal: str,
    hint: str,
    retryable: bool,
) -> None:
    """It is an error of the network; the provider was not reached."""
    relay.refusal = refusal
    url = relay.url.replace("://", "://ada:hidden@")
    error = await refused(HttpOptions(ca_file=str(authority.file), proxy=url), secure.url)

    assert isinstance(error, NetworkError)
    assert f" through the proxy {relay.url.partition('//')[2]} failed: " in error.message
    assert f"{refusal}{hint}" in error.message
    assert error.retryable is retryable
    assert "hidden" not in repr(error)
    assert secure.received == []


@pytest.mark.parametrize("credentials", [None, ("ada", "s3cret")])
@pytest.mark.parametrize("way", ["option", "ALL_PROXY"])
async def test_requests_through_a_socks_proxy(
    secure: TlsLoopback,
    plain: Loopback,
    authority: Authority,
    way: str,
    credentials: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever engine is installed: what aiohttp cannot do goes over httpx."""
    relay = SocksProxy(credentials)
    ca = str(authority.file)
    options = HttpOptions(ca_file=ca, proxy=relay.url if way == "option" else None)
    if way != "option":
        monkeypatch.setenv(way, relay.url)
    try:
        await both(options, secure.url)
        await both(options, plain.url)
    finally:
        relay.close()

    servers = [url.partition("://")[2] for url in (secure.url, plain.url)]
    assert list(dict.fromkeys(relay.targets)) == [f"SOCKS {server}" for server in servers]
    assert "s3cret" not in repr(options)


async def test_a_socks_proxy_that_refuses_is_an_error_of_the_network(plain: Loopback) -> None:
    """Its password is not in the error."""
    relay = SocksProxy(("ada", "right"))
    try:
        error = await refused(HttpOptions(proxy=relay.url.replace("right", "hidden")), plain.url)
    finally:
        relay.close()

    assert isinstance(error, NetworkError)
    assert "the proxy needs a name and a password" in error.message
    assert not error.retryable
    assert "hidden" not in repr(error)
    assert plain.received == []


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
async def test_a_proxy_that_cannot_be_reached_is_named_with_what_to_check(scheme: str) -> None:
    """The address of the provider may be right; the proxy's password is not in the message."""
    options = HttpOptions(proxy=f"{scheme}://ada:hidden@127.0.0.1:9")
    error = await refused(options, "https://localhost:8443")

    assert error.message.startswith(
        "the connection to https://localhost:8443 through the proxy 127.0.0.1:9 failed: "
    )
    assert error.message.endswith(
        "; check the proxy (HttpOptions, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY)"
    )
    assert "hidden" not in repr(error)


@pytest.mark.parametrize("way", ["NO_PROXY", "option"])
async def test_hosts_without_a_proxy_are_called_directly(
    plain: Loopback, relay: Proxy, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts can be left out, or the environment's proxies altogether."""
    monkeypatch.setenv("HTTP_PROXY", relay.url)
    if way == "NO_PROXY":
        monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    await both(HttpOptions(proxies_from_environment=way == "NO_PROXY"), plain.url)

    assert relay.heads == []
    assert len(plain.received) == 2


@pytest.mark.parametrize("value", ["ftp://h:1", "http://", "gopher:x"])
def test_what_is_not_a_proxy(value: str) -> None:
    """It is refused at once."""
    with pytest.raises(ConfigurationError, match="proxy"):
        HttpOptions(proxy=value)


def test_two_settings_of_trust_raise_configuration_error() -> None:
    """They contradict each other."""
    with pytest.raises(ConfigurationError, match="ca_file or ssl_context"):
        HttpOptions(ca_file="x.pem", ssl_context=ssl.create_default_context())


# -- HTTP/2


async def test_one_http2_connection_carries_requests_at_once(
    http2_server: Http2Loopback, authority: Authority
) -> None:
    """One connection carries everything, also at once."""
    options = HttpOptions(http2=True, ca_file=str(authority.file))
    wanted = request(model=model_at(http2_server.url), prompt="Hi")
    texts: list[str] = []
    async with Client(http=options) as client:
        assert (await client.stream(wanted).result()).unwrap().text == "Hello"

        async def ask() -> None:
            texts.append((await client.generate(wanted)).unwrap().text)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)

    assert texts == ["Hello"] * 5
    assert http2_server.connections == 1
    assert http2_server.received[0].headers["authorization"] == "Bearer sk-secret-key"


async def test_http2_is_a_choice(http2_server: Http2Loopback, authority: Authority) -> None:
    """Without it HTTP/1.1 is spoken, to a server that has both."""
    await both(HttpOptions(ca_file=str(authority.file)), http2_server.url)

    assert http2_server.received[0].headers["host"] == http2_server.url.removeprefix("https://")


async def test_a_server_without_http2(secure: TlsLoopback, authority: Authority) -> None:
    """It is spoken to as it can."""
    await both(HttpOptions(http2=True, ca_file=str(authority.file)), secure.url)

    assert "host" in secure.received[0].headers


async def test_a_route_may_want_http2(http2_server: Http2Loopback, authority: Authority) -> None:
    """By its transport; certificates are the client's."""
    facade = OpenAICompatible.configure(name="loop", base_url=http2_server.url, api_key="k")
    model = facade.chat_route.with_(transport=Http(http2=True)).model("m")
    async with Client(http=HttpOptions(ca_file=str(authority.file))) as client:
        assert (await client.generate(request(model=model, prompt="Hi"))).unwrap().text == "Hello"

    assert "host" not in http2_server.received[0].headers


async def test_leaving_a_stream_of_http2(http2_server: Http2Loopback, authority: Authority) -> None:
    """The connection goes on for others."""
    wanted = request(model=model_at(http2_server.url), prompt="Hi")
    async with Client(http=HttpOptions(http2=True, ca_file=str(authority.file))) as client:
        async with client.stream(wanted) as stream:
            async for _ in stream:
                break
        assert (await client.generate(wanted)).unwrap().text == "Hello"

    assert http2_server.connections == 1


async def test_http2_through_a_tunnel(
    http2_server: Http2Loopback, authority: Authority, relay: Proxy
) -> None:
    """All three at once."""
    ca = str(authority.file)
    await both(HttpOptions(http2=True, ca_file=ca, proxy=relay.url), http2_server.url)

    assert len(relay.heads) == 1
    assert "host" not in http2_server.received[0].headers


@pytest.mark.parametrize(
    ("package", "options", "said"),
    [
        ("h2", HttpOptions(http2=True), r"llmcore-routes[http2]"),
        ("socksio", HttpOptions(proxy="socks5://127.0.0.1:9"), r"llmcore-routes[socks]"),
    ],
)
async def test_missing_package_raises_an_error_naming_what_to_install(
    package: str, options: HttpOptions, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    without(monkeypatch, package)
    error = await refused(options, "https://127.0.0.1:9")

    assert isinstance(error, ConfigurationError)
    assert said in error.message
