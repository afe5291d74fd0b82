"""The parts of a request that may be written."""

import pytest

from llmcore.routes.http_request import HttpRequest
from llmcore.testing.recorded_headers import request_headers, response_headers, visible_url


def post(url: str = "https://x/y", **more: object) -> HttpRequest:
    return HttpRequest(method="POST", url=url, **more)  # type: ignore[arg-type]


def test_only_known_request_headers_are_kept() -> None:
    """An unknown header may be a credential."""
    request = post(
        headers={
            "Content-Type": "application/json",
            "Anthropic-Version": "2023-06-01",
            "X-Company-Auth": "secret",
            "Cookie": "session",
            "User-Agent": "llmcore/0",
        }
    )

    assert request_headers(request) == {
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
    }
    assert request_headers(request, ["User-Agent"])["user-agent"] == "llmcore/0"


def test_a_header_marked_secret_is_left_out_even_if_asked_for() -> None:
    request = post().with_header("x-mine", "s3cret", secret=True)

    assert request_headers(request, ["x-mine"]) == {}


def test_response_headers_that_the_client_reads_are_kept() -> None:
    """Cookies and account names stay out; limits and ids stay in."""
    headers = {
        "Content-Type": "text/event-stream",
        "Set-Cookie": "id=1",
        "openai-organization": "me",
        "content-encoding": "gzip",
        "x-ratelimit-remaining-tokens": "5",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:00Z",
        "retry-after-ms": "10",
        "x-request-id": "req_1",
        "x-amzn-ErrorType": "ThrottlingException",
    }

    assert list(response_headers(headers)) == [
        "anthropic-ratelimit-requests-reset",
        "content-type",
        "retry-after-ms",
        "x-amzn-errortype",
        "x-ratelimit-remaining-tokens",
        "x-request-id",
    ]


@pytest.mark.parametrize(
    ("url", "visible"),
    [
        ("https://x/y?alt=sse&key=AIza1", "https://x/y?alt=sse"),
        ("https://x/y?API-Key=1", "https://x/y"),
        ("https://x/y?a=1&a=2&b=", "https://x/y?a=1&a=2&b="),
        ("https://x/y?q=a%20b+c", "https://x/y?q=a%20b+c"),
        ("https://x/y?X-Amz-Signature=ab&X-Amz-Security-Token=cd&z=1", "https://x/y?z=1"),
        ("https://user:pass@x:8443/y", "https://x:8443/y"),
        ("http://127.0.0.1:43121/v1", "http://localhost/v1"),
        ("http://[::1]:43121/v1", "http://localhost/v1"),
        ("http://localhost:1/v1", "http://localhost/v1"),
        ("http://10.0.0.1:1/v1", "http://10.0.0.1:1/v1"),
        ("https://localhost.example.com:1/v1", "https://localhost.example.com:1/v1"),
    ],
)
def test_credentials_and_loopback_ports_are_left_out_of_urls(url: str, visible: str) -> None:
    """Keys go, the rest stays as it was written; a loopback port is anybody's."""
    assert visible_url(post(url)) == visible


CREDENTIAL_PARAMETERS = [
    "access_key",
    "api-token",
    "apitoken",
    "auth",
    "client_secret",
    "code",
    "credential",
    "key",
    "sas",
    "sig",
    "subscription-key",
    "token",
    "x-api-key",
    "X-Goog-Credential",
]


@pytest.mark.parametrize("name", CREDENTIAL_PARAMETERS)
def test_query_parameters_are_left_out_when_their_name_is_that_of_a_credential(name: str) -> None:
    """The shared rule decides, the same as for reprs and redirects."""
    request = post("https://x/y?v=1").with_query(name, "S3CRET")

    assert visible_url(request) == "https://x/y?v=1"


@pytest.mark.parametrize("name", ["page_token", "max_tokens", "idempotency-key", "alt"])
def test_query_parameters_are_kept_when_they_only_sound_like_credentials(name: str) -> None:
    """They belong to the request, and are compared when it is replayed."""
    request = post("https://x/y?v=1").with_query(name, "7")

    assert visible_url(request) == f"https://x/y?v=1&{name}=7"


@pytest.mark.parametrize("name", ["x-portkey-api-key", "helicone-auth", "private-token"])
def test_headers_named_like_credentials_are_left_out_even_if_asked_for(name: str) -> None:
    """A cassette must not contain them."""
    request = post(headers={name: "S3CRET", "x-mine": "1"})

    assert request_headers(request, [name, "x-mine"]) == {"x-mine": "1"}


def test_a_query_parameter_marked_secret_is_left_out() -> None:
    """Whatever its name."""
    request = post("https://x/y?v=1").with_query("my code", "1234", secret=True)

    assert visible_url(request) == "https://x/y?v=1"
