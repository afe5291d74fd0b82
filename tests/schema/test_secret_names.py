"""Which names hold credentials: `llmcore/schema/secret_names.py`."""

import pytest

from llmcore.schema.secret_names import REDACTED, holds_credential, redacted

SECRET_NAMES = (
    "Authorization",
    "Proxy-Authorization",
    "Cookie",
    "api-key",
    "x-api-key",
    "X-Goog-Api-Key",
    "X-Amz-Security-Token",
    "X-Amz-Signature",
    "X-Amz-Credential",
    "cf-aig-authorization",
    "X-Portkey-Api-Key",
    "Helicone-Auth",
    "Ocp-Apim-Subscription-Key",
    "CF-Access-Client-Secret",
    "X-Auth-Token",
    "Private-Token",
    "X-Functions-Key",
    "X-Vault-Token",
    "X-Session-Token",
    "X-Goog-IAP-JWT-Assertion",
    "subscription-key",
    "api_key",
    "apiKey",
    "APIKey",
    "apikey",
    "apitoken",
    "api-token",
    "access_token",
    "accessKey",
    "client_secret",
    "access_key",
    "token",
    "auth",
    "credential",
    "password",
    "sas",
    "sig",
    "signature",
    "code",
    "OPENAI_API_KEY",
    "DB_PASSWORD",
)

PLAIN_NAMES = (
    "content-type",
    "user-agent",
    "anthropic-beta",
    "anthropic-version",
    "openai-organization",
    "x-request-id",
    "x-team",
    "idempotency-key",
    "Sec-WebSocket-Key",
    "prompt_cache_key",
    "pageToken",
    "max_tokens",
    "x-ratelimit-limit-tokens",
    "anthropic-ratelimit-input-tokens-remaining",
    "api-version",
    "alt",
    "author",
    "x-monkey",
    "country-code",
    "",
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_name_of_a_credential_is_recognised_in_any_spelling(name: str) -> None:
    """Case does not matter: headers arrive in lower case."""
    assert holds_credential(name)
    assert holds_credential(name.lower())


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_name_of_anything_else_is_not_a_credential(name: str) -> None:
    """Names that help to find a fault stay visible."""
    assert not holds_credential(name)
    assert not holds_credential(name.lower())


def test_redacted_replaces_the_values_of_credentials_alone() -> None:
    """Names that a caller marks count as well."""
    values = {"x-auth-token": "s3cret", "x-team": "blue", "x-odd": "hidden"}

    assert redacted(values, also=("x-odd",)) == {
        "x-auth-token": REDACTED,
        "x-team": "blue",
        "x-odd": REDACTED,
    }
