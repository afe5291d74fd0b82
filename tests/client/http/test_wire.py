"""URLs as they are sent."""

import pytest

from llmcore.client.http.wire import wire_url


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
    ],
)
def test_a_url_is_sent_in_ascii(url: str, sent: str) -> None:
    """The host as IDNA has it, a port as it is; what is encoded is not encoded again."""
    assert wire_url(url) == sent
