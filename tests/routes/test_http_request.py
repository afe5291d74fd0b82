"""One HTTP request as a value: `llmcore/routes/http_request.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.routes.endpoint import Endpoint
from llmcore.routes.http_request import HttpRequest, redact, redacted_url, with_query
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema import json
from llmcore.schema.json import JsonObject
from llmcore.schema.secret_names import REDACTED

SECRET = "sk-very-secret"


def signed() -> HttpRequest:
    """Return a request with a secret header and a secret parameter."""
    plain = HttpRequest(method="POST", url="https://h/v1/x?a=1", headers={"X-Team": "blue"})
    return plain.with_header("Authorization", f"Bearer {SECRET}", secret=True).with_query(
        "key", SECRET, secret=True
    )


def test_names_of_headers_are_lower_case() -> None:
    """However they were written."""
    assert signed().headers == {"x-team": "blue", "authorization": f"Bearer {SECRET}"}


def test_adding_changes_no_other_request() -> None:
    """A request is a value."""
    plain = HttpRequest(method="POST", url="https://h/x", headers={"a": "1"})
    plain.with_header("a", "2", secret=True)
    plain.with_query("b", "2", secret=True)

    assert plain == HttpRequest(method="POST", url="https://h/x", headers={"a": "1"})


def test_what_is_shown_holds_no_secret() -> None:
    """Repr, text, safe URL and safe headers say only that there is one."""
    request = signed()

    assert request.safe_headers == {"x-team": "blue", "authorization": REDACTED}
    assert request.safe_url == "https://h/v1/x?a=1&key=[redacted]"
    for shown in (repr(request), str(request), f"{request}", repr([request])):
        assert SECRET not in shown
        assert REDACTED in shown


CREDENTIAL_NAMES = ["Authorization", "x-api-key", "Cookie", "X-Portkey-Api-Key", "Private-Token"]


@pytest.mark.parametrize("name", CREDENTIAL_NAMES)
def test_credentials_among_plain_headers_are_secret_too(name: str) -> None:
    """Nobody has to mark them."""
    request = HttpRequest(method="POST", url="https://h/x", headers={name: SECRET})

    assert request.safe_headers == {name.lower(): REDACTED}
    assert request.secrets == (SECRET,)


@pytest.mark.parametrize("name", ["subscription-key", "api_key", "token", "code", "client_secret"])
def test_credentials_among_plain_parameters_are_secret_too(name: str) -> None:
    """In the request and in the endpoint that they were configured with."""
    url = f"https://h/x?a=1&{name}={SECRET}&b=2"
    request = HttpRequest(method="POST", url=url)

    assert request.safe_url == f"https://h/x?a=1&{name}={REDACTED}&b=2"
    assert request.secrets == (SECRET,)
    assert SECRET not in repr(Endpoint.path("/x", base_url=url))
    assert SECRET not in repr(Endpoint.path("/x", query={name: SECRET}))
    assert SECRET not in repr(OpenAICompatible(name="srv", base_url=url))


@pytest.mark.parametrize(
    "tools",
    [
        {"tools": [{"type": "mcp", "authorization": SECRET}]},
        {"tools": [{"type": "mcp", "headers": {"X-Api-Key": SECRET, "X-Team": "blue"}}]},
        {"mcp_servers": [{"type": "url", "authorization_token": SECRET}]},
    ],
    ids=["OpenAI", "headers", "Anthropic"],
)
def test_tokens_of_remote_tools_in_a_body_are_secret(tools: JsonObject) -> None:
    """Errors, logs and cassettes are searched for them; they do not identify the account."""
    request = HttpRequest(method="POST", url="https://h/x", body=json.dumps(tools))

    assert request.secrets == (SECRET,)
    assert request.credentials == ()


@pytest.mark.parametrize("body", [b'{"authorization', b'["headers"]', b'{"tools": {"headers": 1}}'])
def test_a_body_of_another_form_has_no_secrets(body: bytes) -> None:
    assert HttpRequest(method="POST", url="https://h/x", body=body).secrets == ()


def test_redacted_url_is_unchanged_without_credentials() -> None:
    """Spelling included, even of what is not a URL."""
    for url in ("https://h/x?a=%20+b&c", "https://h/x", "http://[bad?a=1#f"):
        assert redacted_url(url) == url
    assert redacted_url("http://[bad?token=1#f") == f"http://[bad?token={REDACTED}#f"


def test_short_values_of_headers_named_like_credentials_stay_in_error_texts() -> None:
    """They are words such as `true`; the header itself is not shown."""
    request = HttpRequest(method="POST", url="https://h/x", headers={"x-auth": "true"})

    assert request.secrets == ()
    assert request.safe_headers == {"x-auth": REDACTED}


def test_secrets_are_known_with_and_without_their_scheme() -> None:
    """Some servers quote the bare key, some the header."""
    assert set(signed().secrets) == {SECRET, f"Bearer {SECRET}"}


@pytest.mark.parametrize(
    ("url", "query", "result"),
    [
        ("https://h/x", {}, "https://h/x"),
        ("https://h/x?a=1", {}, "https://h/x?a=1"),
        ("https://h/x", {"a": "1"}, "https://h/x?a=1"),
        ("https://h/x?a=1&b=2", {"a": "3"}, "https://h/x?b=2&a=3"),
        ("https://h/x?a=&b", {"c": "1"}, "https://h/x?a=&b=&c=1"),
        ("https://h/x?a=%26", {"b": "&"}, "https://h/x?a=%26&b=%26"),
        ("https://h/x", {"v": "2026-01-01:beta,x"}, "https://h/x?v=2026-01-01:beta,x"),
    ],
)
def test_query_parameters_are_added_or_replaced(
    url: str, query: dict[str, str], result: str
) -> None:
    """Parameters are added; those of the same name give way."""
    assert with_query(url, query) == result


def test_every_occurrence_of_a_secret_is_redacted() -> None:
    """Every occurrence goes; what is too short to be a key stays."""
    text = f"bad key {SECRET}, x, {SECRET}"

    assert redact(text, (SECRET, "x")) == f"bad key {REDACTED}, x, {REDACTED}"


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40))
def test_no_secret_is_ever_shown(secret: str) -> None:
    """Whatever characters it has, in a header or in the query."""
    request = (
        HttpRequest(method="GET", url="https://h/v1")
        .with_header("x-key", secret, secret=True)
        .with_query("key", secret, secret=True)
    )

    assert secret not in repr(request)
    assert secret in request.secrets
