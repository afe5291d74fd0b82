"""URLs as they are sent."""

import pytest

from llmcore.client.http.wire import wire_headers, wire_url
from llmcore.routes.http_request import HttpRequest


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.example/v1?a=%20b", "https://api.example/v1?a=%20b"),
        ("http://bücher.example:8080/v1", "http://xn--bcher-kva.example:8080/v1"),
        (
            "http://bücher.example/Ü b?q=ß&r=<1>",
            "http://xn--bcher-kva.example/%C3%9C%20b?q=%C3%9F&r=%3C1%3E",
        ),
        ("http://127.0.0.1:9/a|b%2Fc", "http://127.0.0.1:9/a%7Cb%2Fc"),
        ("http://[fe80::1%25eth0]:9/%25", "http://[fe80::1%eth0]:9/%25"),
        ("http://[fe80::1%eth0]/v1", "http://[fe80::1%eth0]/v1"),
        ("http://[::1]:9/?a=[%25]", "http://[::1]:9/?a=[%25]"),
    ],
)
def test_a_url_is_sent_in_ascii(url: str, sent: str) -> None:
    """The host as IDNA has it, a port as it is; what is encoded is not encoded again."""
    assert wire_url(url) == sent


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[fe80::1%25eth0]:9/v1", "[fe80::1]:9"),
        ("http://[fe80::1%eth0]:80/v1", "[fe80::1]"),
        ("http://[::1]:9/v1", "[::1]:9"),
        ("https://api.example:443/v1", "api.example"),
    ],
)
def test_the_host_has_neither_zone_nor_default_port(url: str, host: str) -> None:
    assert wire_headers(HttpRequest(method="POST", url=url))["host"] == host
