"""AWS Signature Version 4: `llmcore/routes/sigv4.py`, against botocore's."""

from datetime import UTC, datetime
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.routes.auth import TOKEN_TO_COME, Auth, AuthContext
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.sigv4 import AwsCredentials, signed, sigv4_of_chain, sigv4_of_environ
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from tests.support.wire.prepared import NOW, SECRET

KEY = AwsCredentials(access_key="AKIDEXAMPLE", secret_key=SECRET)
TEMPORARY = AwsCredentials(access_key="ASIAEXAMPLE", secret_key=SECRET, session_token="session/+=")
PLAIN = HttpRequest(
    method="POST",
    url="https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
    headers={"content-type": "application/json", "user-agent": "llmcore/1"},
    body=b"{}",
)


def botocores(
    request: HttpRequest, credentials: AwsCredentials, region: str, now: datetime
) -> dict[str, str]:
    """Return the headers as botocore signs them at *now*."""
    native = AWSRequest(
        method=request.method, url=request.url, headers=dict(request.headers), data=request.body
    )
    known: Any = Credentials(
        credentials.access_key, credentials.secret_key, credentials.session_token or None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda *_args, **_kwargs: now)
        botocore.auth.SigV4Auth(known, "bedrock", region).add_auth(native)
    return {name.lower(): value for name, value in native.headers.items()}


def ours(
    request: HttpRequest,
    credentials: AwsCredentials = KEY,
    region: str = "us-east-1",
    now: datetime = NOW,
) -> dict[str, str]:
    """Return the headers as we sign them at *now*."""
    whole = signed(request, credentials, service="bedrock", region=region, now=now)
    return dict(whole.headers)


CHARACTERS = "abcXYZ019-...._~:%///+ é!$&'()*,;=@"
segments = st.text(st.sampled_from(CHARACTERS), max_size=12).map(
    lambda text: text.replace(" ", "%20").replace("é", "%C3%A9")
)
pairs = st.lists(
    st.tuples(st.sampled_from("abcAB"), st.text(st.sampled_from("xyz019-_.%3A"), max_size=4)),
    max_size=4,
)
extra = st.dictionaries(
    st.sampled_from(["x-team", "accept", "x-amzn-bedrock-trace", "authorization", "x-amz-date"]),
    st.text(st.sampled_from("ab  c/;=,"), max_size=10).map(str.strip),
    max_size=3,
)


@given(
    host=st.sampled_from(["h.example", "H.example:8443", "h.example:443", "127.0.0.1:9", "[::1]"]),
    path=segments,
    query=pairs,
    headers=extra,
    body=st.binary(max_size=40),
    credentials=st.sampled_from([KEY, TEMPORARY]),
    region=st.sampled_from(["us-east-1", "eu-central-1", "us-gov-west-1"]),
    now=st.integers(1_600_000_000, 3_800_000_000).map(lambda s: datetime.fromtimestamp(s, UTC)),
)
@example(
    host="bedrock-runtime.us-east-1.amazonaws.com",
    path="model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa/converse-stream",
    query=[],
    headers={},
    body=b'{"messages":[]}',
    credentials=TEMPORARY,
    region="us-east-1",
    now=NOW,
)
@example(
    host="h.example",
    path="a/../../b/./c//d/",
    query=[],
    headers={},
    body=b"",
    credentials=KEY,
    region="us-east-1",
    now=NOW,
)
def test_signatures_equal_those_of_botocore(
    host: str,
    path: str,
    query: list[tuple[str, str]],
    headers: dict[str, str],
    body: bytes,
    credentials: AwsCredentials,
    region: str,
    now: datetime,
) -> None:
    """For the same request, key, region and moment, whatever they are."""
    text = "&".join(f"{name}={value}" for name, value in query)
    url = f"https://{host}/{path}" + (f"?{text}" if text else "")
    request = HttpRequest(
        method="POST", url=url, headers={"content-type": "application/json", **headers}, body=body
    )

    assert ours(request, credentials, region, now) == botocores(request, credentials, region, now)


def test_what_the_signature_covers() -> None:
    """Body, path, headers and the moment; not what agents and proxies write."""
    base = ours(PLAIN)["authorization"]
    agent = PLAIN.with_header("user-agent", "other")

    assert ours(agent)["authorization"] == base
    assert "user-agent" not in base
    for other in (
        HttpRequest(method="POST", url=PLAIN.url, headers=PLAIN.headers, body=b"{ }"),
        HttpRequest(method="POST", url=PLAIN.url + "2", headers=PLAIN.headers, body=b"{}"),
        PLAIN.with_header("x-a", "1"),
    ):
        assert ours(other)["authorization"] != base
    assert ours(PLAIN, now=datetime(2026, 11, 23, tzinfo=UTC))["authorization"] != base


def test_signing_again_replaces_the_first_signature() -> None:
    """As a retry does."""
    once = signed(PLAIN, TEMPORARY, service="bedrock", region="us-east-1", now=NOW)

    assert signed(once, TEMPORARY, service="bedrock", region="us-east-1", now=NOW) == once


def test_secrets_of_a_signed_request_are_marked() -> None:
    """Neither the request nor the credentials show them."""
    whole = signed(PLAIN, TEMPORARY, service="bedrock", region="us-east-1", now=NOW)

    assert whole.safe_headers["authorization"] == "[redacted]"
    assert whole.safe_headers["x-amz-security-token"] == "[redacted]"
    assert "session/+=" in whole.secrets
    assert SECRET not in repr(TEMPORARY)
    assert "session" not in repr(TEMPORARY).replace("session_token", "")


@pytest.mark.parametrize("credentials", [KEY, TEMPORARY])
def test_credentials_travel_as_a_token(credentials: AwsCredentials) -> None:
    """And come back whole."""
    assert AwsCredentials.from_token(credentials.to_token()) == credentials


@given(st.text(max_size=30) | st.just('{"access": 1}') | st.just("[]"))
def test_any_other_token_is_a_value_error(token: str) -> None:
    """Nothing is guessed."""
    with pytest.raises((ValueError, TypeError)) as caught:
        AwsCredentials.from_token(token)
    assert isinstance(caught.value, ValueError)


# -- as an auth


def region_of(_environ: object) -> str:
    """Return the region."""
    return "us-east-1"


def no_region(_environ: object) -> str:
    """Find no region."""
    raise ConfigurationError("no AWS region")


def test_with_the_key_of_the_environment() -> None:
    """Access key, secret and, where there is one, session token."""
    environ = {"AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET}
    auth = sigv4_of_environ("bedrock", region_of)
    context = AuthContext(environ={**environ, "AWS_SESSION_TOKEN": "session/+="}, now=NOW)

    assert auth.fetch is None
    assert dict(auth.sign(PLAIN, context).unwrap().headers) == ours(PLAIN, TEMPORARY)
    bare = auth.sign(PLAIN, AuthContext(environ=environ, now=NOW)).unwrap()
    assert "x-amz-security-token" not in bare.headers


def test_with_what_was_fetched() -> None:
    """The token of the context holds the credentials."""
    context = AuthContext(token=TEMPORARY.to_token(), now=NOW)
    auth = sigv4_of_chain("bedrock", region_of)

    assert dict(auth.sign(PLAIN, context).unwrap().headers) == ours(PLAIN, TEMPORARY)


def test_unsent_request_has_a_placeholder_for_its_signature() -> None:
    """A placeholder stands for the signature."""
    context = AuthContext(token=TOKEN_TO_COME, now=NOW)
    ready = sigv4_of_chain("bedrock", region_of).sign(PLAIN, context).unwrap()

    assert ready.headers["authorization"] == TOKEN_TO_COME
    assert ready.safe_headers["authorization"] == "[redacted]"


@pytest.mark.parametrize(
    ("auth", "context", "kind", "named"),
    [
        (sigv4_of_environ("s", region_of), {}, AuthenticationError, "AWS_ACCESS_KEY_ID"),
        (
            sigv4_of_environ("s", region_of),
            {"environ": {"AWS_ACCESS_KEY_ID": "a"}},
            AuthenticationError,
            "AWS_SECRET_ACCESS_KEY",
        ),
        (sigv4_of_chain("s", region_of), {}, AuthenticationError, "none were fetched"),
        (sigv4_of_chain("s", region_of), {"token": "x"}, AuthenticationError, "fetched"),
        (sigv4_of_chain("s", no_region), {"token": KEY.to_token()}, ConfigurationError, "region"),
        (
            sigv4_of_chain("s", region_of),
            {"token": KEY.to_token(), "now": None},
            ConfigurationError,
            "now",
        ),
    ],
)
def test_missing_credentials_raise_typed_errors(
    auth: Auth, context: dict[str, Any], kind: type[Exception], named: str
) -> None:
    """Each has its typed error."""
    error = auth.sign(PLAIN, AuthContext(**{"now": NOW, **context})).failure()

    assert type(error) is kind
    assert named in error.message
