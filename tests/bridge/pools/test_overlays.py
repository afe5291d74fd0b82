"""Headers, fields of bodies and variables that the configuration file sets for an upstream."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from llmcore.bridge.configuration.document import parse_document
from llmcore.bridge.configuration.reading import settings_and_values, settings_of
from llmcore.bridge.configuration.show import shown
from llmcore.bridge.model_map import model_map_of
from llmcore.bridge.pools.providers import upstreams_from
from llmcore.bridge.upstream import Upstreams
from llmcore.routes.auth import GoogleCredentials
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.request import request
from llmcore.testing.script import scripted
from tests.support.servers.pooled_gateway import Scene, pooled_gateway, says

MODEL = '[models.m]\ntargets = ["a/up"]\n'
OWN = """key = "sk-a"
headers = { x-team = "research", user-agent = "ours" }
body = { temperature = 0.5, provider = { sort = "price" }, user = "gateway" }
"""


def of_messages(scene: Scene) -> httpx.Response:
    """Ask by Messages."""
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    return httpx.post(f"{scene.url}/messages", json={**body, "temperature": 0.1}, timeout=30)


@pytest.mark.parametrize("relay", ["true", "false"])
@pytest.mark.parametrize("stream", [False, True])
def test_every_request_has_them_relayed_or_not(relay: str, stream: bool) -> None:
    """Objects are merged, and other values win over those of the client."""
    settings = f"[policies]\nrelay = {relay}\n"
    with pooled_gateway(MODEL, settings=settings, own={"a": OWN}, a=says("from a")) as scene:
        asked: Any = {"temperature": 0.1, "provider": {"only": ["x"]}, "seed": 7}
        assert scene.ask(stream=stream, **asked).status_code == 200
        assert of_messages(scene).status_code == 200
        first, second = scene.upstreams["a"].received
    native: Any = first.json
    translated: Any = second.json

    assert (native["temperature"], translated["temperature"]) == (0.5, 0.5)
    assert native["provider"]["sort"] == translated["provider"]["sort"] == "price"
    assert (
        native["provider"].get("only") == (["x"] if relay == "true" else None) or relay == "false"
    )
    assert native["seed"] == 7
    assert native["messages"] == [{"role": "user", "content": "Hi"}]
    for received in (first, second):
        assert received.headers["x-team"] == "research"
        assert received.headers["user-agent"] == "ours"
        assert received.headers["authorization"] == "Bearer sk-a"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('provider = "local"\nheaders = { a = "b" }', "the local model gets no requests"),
        ('provider = "openai"\nkey = "k"\nbody = { at = 2026-01-01 }', "line 1: the upstream 'x'"),
        ('provider = "openai"\nkey = "k"\nheaders = { a = 1 }', "headers"),
    ],
)
def test_what_cannot_be_sent_is_refused(
    table: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmcore.client.local.model_files.installed", lambda _: Path("model"))
    text = f'[[upstreams]]\nname = "x"\n{table}\n'
    with pytest.raises(ConfigurationError, match=message):
        _made(text)


def _made(text: str) -> Upstreams:
    settings = settings_of({}, parse_document(Path("openbridge.toml"), text))
    return upstreams_from(settings, model_map_of(settings))


@pytest.mark.parametrize("overlay", ["", 'headers = { a = "b" }', "body = { a = 1 }"])
def test_the_key_of_an_upstream_is_watched_whatever_else_it_has(overlay: str) -> None:
    """With a new one, requests go to it at once, although it refused the old one."""
    made = _made(f'[[upstreams]]\nname = "x"\nprovider = "openai"\nkey_file = "k"\n{overlay}\n')

    assert list(made.keys) == ["x"]


async def sent_by(upstream: str, environ: dict[str, str]) -> HttpRequest:
    """Return what an upstream with the settings *upstream* sends for a prompt."""
    text = f'[[upstreams]]\nname = "x"\n{upstream}\n'
    settings = settings_of(environ, parse_document(Path("openbridge.toml"), text))
    network = scripted({})
    made = upstreams_from(settings, model_map_of(settings), transport=network)
    await made.client.generate(request(model="x:up", prompt="Hi"))
    await made.aclose()

    [sent] = network.requests
    return sent


@pytest.mark.parametrize(
    ("provider", "own", "url", "header", "key"),
    [
        (
            "azure",
            'key = "own"\nvariables = { AZURE_OPENAI_RESOURCE_NAME = "r" }',
            "https://r.openai.azure.com/openai/v1/responses",
            "api-key",
            "own",
        ),
        (
            "cloudflare-workers-ai",
            'key = "own"\nvariables = { CLOUDFLARE_ACCOUNT_ID = "a" }',
            "https://api.cloudflare.com/client/v4/accounts/a/ai/v1/chat/completions",
            "authorization",
            "Bearer own",
        ),
        (
            "bedrock",
            'variables = { AWS_REGION = "eu-west-1", AWS_BEARER_TOKEN_BEDROCK = "own" }',
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/up/converse",
            "authorization",
            "Bearer own",
        ),
        (
            "openai",
            'variables = { OPENAI_API_KEY = "own" }',
            "https://api.openai.com/v1/responses",
            "authorization",
            "Bearer own",
        ),
        (
            "openai",
            'key = "own"\nvariables = { OPENAI_API_KEY = "variable" }',
            "https://api.openai.com/v1/responses",
            "authorization",
            "Bearer own",
        ),
    ],
)
@pytest.mark.anyio
async def test_variables_of_an_upstream_decide_where_it_is_and_who_asks(
    provider: str, own: str, url: str, header: str, key: str
) -> None:
    """Also those that a provider reads with each request, and over those of the process."""
    environ = {
        "AZURE_OPENAI_RESOURCE_NAME": "other",
        "AWS_REGION": "us-east-1",
        "CLOUDFLARE_ACCOUNT_ID": "other",
        "OPENAI_API_KEY": "other",
    }
    sent = await sent_by(f'provider = "{provider}"\n{own}', environ)

    assert (sent.url, sent.headers[header]) == (url, key)


GOOGLE_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
PROFILES = """
[mine]
aws_access_key_id = AKIAPROFILE
aws_secret_access_key = s
[other]
aws_access_key_id = AKIAOTHER
aws_secret_access_key = s
"""


@pytest.mark.parametrize(
    ("variables", "access_key"),
    [
        ('AWS_PROFILE = "mine"', "AKIAPROFILE"),
        ('AWS_ACCESS_KEY_ID = "AKIAOWN", AWS_SECRET_ACCESS_KEY = "s"', "AKIAOWN"),
        ("", "AKIAPROCESS"),
    ],
    ids=["profile", "key", "none"],
)
@pytest.mark.anyio
async def test_aws_credentials_of_an_upstream_replace_all_of_the_process(
    variables: str, access_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token of the process's session would be sent with another key, which fails."""
    (tmp_path / "credentials").write_text(PROFILES)
    process = {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_ACCESS_KEY_ID": "AKIAPROCESS",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_SESSION_TOKEN": "of the process",
        "AWS_PROFILE": "other",
    }
    for name, value in process.items():
        monkeypatch.setenv(name, value)
    own = f'variables = {{ AWS_REGION = "eu-west-1"{", " * bool(variables)}{variables} }}'
    sent = await sent_by(f'provider = "bedrock"\n{own}', process)

    assert f"Credential={access_key}/" in sent.headers["authorization"]
    assert ("x-amz-security-token" in sent.headers) is (access_key == "AKIAPROCESS")


@pytest.mark.parametrize(("own", "file"), [({}, None), ({GOOGLE_FILE: "a.json"}, "a.json")])
def test_google_credentials_of_an_upstream_are_those_of_its_file(
    own: dict[str, str], file: str | None
) -> None:
    """It is not the process's, which google-auth reads itself."""
    assert GoogleCredentials().named_by(own).service_account_file == file


def test_headers_are_not_shown() -> None:
    """They may be credentials."""
    text = f'[[upstreams]]\nname = "x"\nprovider = "openai"\n{OWN}'
    output = shown(*settings_and_values({}, parse_document(Path("openbridge.toml"), text)))

    assert 'headers = { x-team = "[set]", user-agent = "[set]" }' in output
    assert 'body = { temperature = 0.5, provider = { sort = "price" }, user = "gateway" }' in output
