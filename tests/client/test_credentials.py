"""Tokens that are fetched before a request is signed: `llmcore/client/credentials.py`."""

import builtins
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from attrs import frozen
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from llmcore.client.client import Client
from llmcore.client.credentials import Credentials
from llmcore.routes.amazon_bedrock import AmazonBedrock
from llmcore.routes.auth import Auth, CredentialSource, GoogleCredentials
from llmcore.routes.sigv4 import AwsCredentialChain, AwsCredentials, sigv4_of_chain
from llmcore.routes.vertex import Vertex
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from llmcore.schema.request import request
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.loopback import Answer, Loopback, Received, serve

pytestmark = pytest.mark.anyio

FILES = """\
[default]
aws_access_key_id = AKIDDEFAULT
aws_secret_access_key = secret-default

[work]
aws_access_key_id = ASIAWORK
aws_secret_access_key = secret-work
aws_session_token = session-work
"""
SAID = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


@pytest.fixture
def aws_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give botocore files of our own, and nothing else to find credentials in."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "credentials"
    path.write_text(FILES)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return path


def rewrite(path: Path, text: str) -> None:
    """Put other credentials into the file."""
    path.write_text(text)


def chain(profile: str | None = None) -> Auth:
    """Return an auth that signs with what the chain finds."""
    return sigv4_of_chain("bedrock", lambda _environ: "us-east-1", profile=profile)


async def test_functions_are_awaited_each_time() -> None:
    """And not at all for an auth that fetches nothing."""
    tokens = iter(["one", "two"])

    async def fetch() -> str:
        return next(tokens)

    credentials = Credentials()

    assert await credentials.token(Auth.bearer("k"), {}) is None
    assert await credentials.token(Auth.token(fetch), {}) == "one"
    assert await credentials.token(Auth.token(fetch), {}) == "two"


async def test_a_function_that_fails_is_an_authentication_error() -> None:
    """Whatever it raises; what it said may hold a secret and stays in the cause."""

    async def fail() -> str:
        raise KeyError("sk-secret")

    with pytest.raises(AuthenticationError, match="KeyError") as caught:
        await Credentials().token(Auth.token(fail), {})

    assert "sk-secret" not in str(caught.value)
    assert isinstance(caught.value.cause, KeyError)


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        (None, AwsCredentials(access_key="AKIDDEFAULT", secret_key="secret-default")),
        (
            "work",
            AwsCredentials(
                access_key="ASIAWORK", secret_key="secret-work", session_token="session-work"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("aws_files")
async def test_the_chain_of_botocore(profile: str | None, found: AwsCredentials) -> None:
    """The files are read, whichever profile is named."""
    token = await Credentials().token(chain(profile), {})

    assert token is not None
    assert AwsCredentials.from_token(token) == found


async def test_the_chain_is_set_up_once(aws_files: Path) -> None:
    """Later requests use what it found, until botocore refreshes it."""
    credentials = Credentials()
    first = await credentials.token(chain(), {})
    rewrite(aws_files, "")

    assert await credentials.token(chain(), {}) == first


async def test_missing_aws_credentials_are_an_error_until_they_are_found(aws_files: Path) -> None:
    """The error says what to set; found later, they are used."""
    credentials = Credentials()
    rewrite(aws_files, "")

    with pytest.raises(AuthenticationError, match="AWS_BEARER_TOKEN_BEDROCK"):
        await credentials.token(chain(), {})
    rewrite(aws_files, FILES)
    assert await credentials.token(chain(), {}) is not None


@pytest.mark.usefixtures("aws_files")
async def test_a_profile_that_is_not_there() -> None:
    """It is named."""
    with pytest.raises(AuthenticationError, match="nobody"):
        await Credentials().token(chain("nobody"), {})


async def test_missing_extra_raises_an_error_naming_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra, and what does without it."""
    real = builtins.__import__

    def without_botocore(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "botocore":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_botocore)

    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[bedrock\]"):
        await Credentials().token(chain(), {})
    auth = AmazonBedrock.configure().route.auth
    assert await Credentials().token(auth, {"AWS_BEARER_TOKEN_BEDROCK": "k"}) is None


# -- Google


def service_account(folder: Path, token_uri: str) -> str:
    """Write the file of a service account whose tokens come from *token_uri*; return its path."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / "account.json"
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "robot@p.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_uri,
    }
    path.write_text(json.dumps(account))
    return str(path)


def token_server(status: int = 200, seconds: int = 3600) -> Loopback:
    """Serve tokens: the first is `token-1`."""
    given: list[int] = []

    def answer(_received: Received) -> Answer:
        given.append(1)
        said = {"access_token": f"token-{len(given)}", "expires_in": seconds}
        body = said if status == 200 else {"error": "invalid_grant", "error_description": "gone"}
        headers = {"content-type": "application/json"}
        return Answer([json.dumps(body).encode()], status=status, headers=headers)

    return Loopback(answer)


@pytest.mark.parametrize("by_variable", [False, True])
async def test_tokens_of_a_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    """google-auth gets them from the account's token server, and keeps them while they last."""
    server = token_server()
    path = service_account(tmp_path, f"{server.url}/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", path if by_variable else "")
    vertex = Vertex.configure(project="p", service_account_file=None if by_variable else path)
    credentials = Credentials()
    try:
        first = await credentials.token(vertex.gemini_route.auth, {})
        second = await credentials.token(vertex.claude_route.auth, {})
    finally:
        server.close()

    assert (first, second) == ("token-1", "token-1")
    assert len(server.received) == 1
    assert b"jwt-bearer" in server.received[0].body


async def test_token_about_to_expire_is_refreshed(tmp_path: Path) -> None:
    """One that is about to expire is not used again."""
    server = token_server(seconds=1)
    auth = Vertex.configure(
        project="p", service_account_file=service_account(tmp_path, server.url)
    ).gemini_route.auth
    credentials = Credentials()
    try:
        tokens = [await credentials.token(auth, {}), await credentials.token(auth, {})]
    finally:
        server.close()

    assert tokens == ["token-1", "token-2"]


async def test_a_refused_google_token_is_an_error_with_the_servers_message(tmp_path: Path) -> None:
    """The token server's message is in the error; a missing file is named."""
    server = token_server(status=400)
    path = service_account(tmp_path, server.url)
    try:
        with pytest.raises(AuthenticationError, match="invalid_grant"):
            await Credentials().token(Auth.token(GoogleCredentials(service_account_file=path)), {})
    finally:
        server.close()
    nowhere = GoogleCredentials(service_account_file=str(tmp_path / "none.json"))
    with pytest.raises(AuthenticationError, match=r"none\.json"):
        await Credentials().token(Auth.token(nowhere), {})


async def test_missing_google_auth_raises_an_error_naming_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error names the extra."""
    real = builtins.__import__

    def without_google(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "google":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_google)

    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[vertex\]"):
        await Credentials().token(Auth.token(GoogleCredentials()), {})


def test_credential_sources_import_nothing_before_their_use() -> None:
    """A client loads neither the libraries nor the facades that need them, nor any API."""
    code = (
        "import sys, llmcore.client.client;"
        "heavy = {'botocore', 'google.auth', 'llmcore.routes.vertex', 'llmcore.protocols.gemini',"
        "'llmcore.protocols.openai_chat', 'llmcore.protocols.openai_responses',"
        "'llmcore.protocols.embeddings', 'llmcore.protocols.images', 'llmcore.protocols.files'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    run_fresh(code)


async def test_an_unknown_source_is_an_error() -> None:
    """It is a ConfigurationError that names its class."""

    @frozen
    class Elsewhere(CredentialSource):
        pass

    auth = Auth(id="x", sign=Auth.none().sign, fetch=Elsewhere())

    with pytest.raises(ConfigurationError, match="Elsewhere"):
        await Credentials().token(auth, {})
    assert AwsCredentialChain() == AwsCredentialChain()


# -- over the wire


def verified(received: Received, host: str, secret: str) -> bool:
    """Return whether botocore gives what arrived the signature that it has."""
    names = received.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    kept = {name: received.headers[name] for name in names if name != "x-amz-date"}
    native = AWSRequest(
        method=received.method,
        url=f"http://{host}{received.path}",
        headers=kept,
        data=received.body,
    )
    access = received.headers["authorization"].split("Credential=")[1].split("/")[0]
    known: Any = BotocoreCredentials(access, secret, kept.get("x-amz-security-token"))
    now = datetime.strptime(received.headers["x-amz-date"] + "+0000", "%Y%m%dT%H%M%SZ%z")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda *_args, **_kwargs: now)
        botocore.auth.SigV4Auth(known, "bedrock", "us-east-1").add_auth(native)
    return bool(native.headers["Authorization"] == received.headers["authorization"])


@pytest.mark.usefixtures("aws_files")
@pytest.mark.parametrize("model", ["amazon.nova-lite-v1:0", "arn:aws:bedrock:us-east-1:1:x/y"])
async def test_a_signed_request_arrives_as_it_was_signed(model: str) -> None:
    """The HTTP library changes nothing that the signature covers: path, body, headers."""

    def answer(_received: Received) -> Answer:
        return Answer([json.dumps(SAID).encode()], headers={"content-type": "application/json"})

    with serve(answer) as server:
        bedrock = AmazonBedrock.configure(
            base_url=server.url, region="us-east-1", profile="work", headers={"x-team": "a  b"}
        )
        async with Client(environ={}) as client:
            response = await client.complete(request(model=bedrock.model(model), prompt="Hi"))

        (received,) = server.received
        assert response.text == "Hello"
        assert received.headers["x-amz-security-token"] == "session-work"
        assert verified(received, server.url.removeprefix("http://"), "secret-work")
        assert not verified(received, server.url.removeprefix("http://"), "another secret")
