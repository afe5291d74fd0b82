"""Cloudflare's facades: `llmcore/routes/cloudflare.py`."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.routes.anthropic import Anthropic
from llmcore.routes.auth import Auth
from llmcore.routes.chat_providers import DeepSeek
from llmcore.routes.cloudflare import UPSTREAMS, CloudflareAIGateway, CloudflareWorkersAI
from llmcore.routes.google import Google
from llmcore.routes.openai import OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.providers import PROVIDERS
from llmcore.routes.route import PreparedRequest
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.prepared import SECRET, WEATHER, failure, prepare, shown

GATEWAY = "https://gateway.ai.cloudflare.com/v1/acc0/default"
MODELS = {
    "openai/chat/completions": OpenAI.configure(api_key="k").chat("m"),
    "openai/responses": OpenAI.configure(api_key="k").responses("m"),
    "anthropic/v1/messages": Anthropic.configure(api_key="k").model("m"),
    "google-ai-studio/v1beta/models/m:generateContent": Google.configure(api_key="k").model("m"),
    "deepseek/chat/completions": DeepSeek.configure(api_key="k").model("m"),
    "workers-ai/v1/chat/completions": CloudflareWorkersAI.configure(
        account_id="acc0", api_key="k"
    ).model("m"),
}
CLAUDE = Anthropic.configure(api_key=SECRET).model("claude-sonnet-4-5")


def hello(model: Model) -> LLMRequest:
    """Return a greeting."""
    return request(model=model, prompt="Hi", max_tokens=9)


def headers_of(ready: PreparedRequest) -> dict[str, str]:
    """Return what of the headers signs."""
    names = ("authorization", "cf-aig-authorization", "x-api-key", "x-goog-api-key")
    return {name: ready.http.headers[name] for name in names if name in ready.http.headers}


BOTH_KEYS = CloudflareAIGateway.configure(account_id="acc0", api_key=SECRET, upstream_key=SECRET)


@pytest.mark.parametrize(
    "model", [BOTH_KEYS.chat("openai/gpt-5.2"), BOTH_KEYS.through(CLAUDE)], ids=["compat", "own"]
)
def test_text_request_over_each_api_equals_the_snapshot(
    model: Model, snapshot: SnapshotAssertion
) -> None:
    """Over the gateway's one API, and over the upstream's own."""
    asked = request(model=model, system="Be brief.", prompt="Hello.", max_tokens=64)

    assert shown(prepare(asked)) == snapshot


@pytest.mark.parametrize(
    "model", [BOTH_KEYS.chat("openai/gpt-5.2"), BOTH_KEYS.through(CLAUDE)], ids=["compat", "own"]
)
def test_tools_request_over_each_api_equals_the_snapshot(
    model: Model, snapshot: SnapshotAssertion
) -> None:
    asked = request(model=model, prompt="Weather in Oslo?", tools=[WEATHER], max_tokens=64)

    assert shown(prepare(asked, streaming=True)) == snapshot


@pytest.mark.parametrize(
    ("settings", "signs"),
    [
        ({}, {}),
        ({"api_key": "g"}, {"cf-aig-authorization": "Bearer g"}),
        (
            {"api_key": "g", "upstream_key": "u"},
            {"cf-aig-authorization": "Bearer g", "authorization": "Bearer u"},
        ),
        ({"upstream_key": "u"}, {"authorization": "Bearer u"}),
        ({"auth": Auth.header("x-api-key", "g")}, {"x-api-key": "g"}),
    ],
)
def test_one_api_for_all_upstreams(settings: dict[str, Any], signs: dict[str, str]) -> None:
    """The model names its upstream; each key has its header, and either can be missing."""
    gateway = CloudflareAIGateway.configure(account_id="acc0", **settings)
    ready = prepare(hello(gateway.model("openai/gpt-5.2")))

    assert ready.url == f"{GATEWAY}/compat/chat/completions"
    assert ready.body["model"] == "openai/gpt-5.2"
    assert headers_of(ready) == signs
    assert set(headers_of(ready)) <= {n for n, v in ready.headers.items() if v == "[redacted]"}


def test_the_gateways_key_of_the_environment() -> None:
    """If it is set."""
    gateway = CloudflareAIGateway.configure(account_id="acc0")
    ready = prepare(hello(gateway.model("a/m")), environ={"CF_AIG_TOKEN": SECRET})

    assert headers_of(ready) == {"cf-aig-authorization": f"Bearer {SECRET}"}
    assert SECRET not in repr(ready)


@pytest.mark.parametrize("path", MODELS)
def test_each_upstream_in_its_own_api(path: str) -> None:
    """Provider, protocol and key stay; address and the gateway's key are new."""
    gateway = CloudflareAIGateway.configure(
        account_id="acc0", api_key="g", headers={"cf-aig-cache-ttl": "60"}
    )
    direct, through = MODELS[path], gateway.through(MODELS[path])
    ready = prepare(hello(through))

    assert through.provider == direct.provider
    assert ready.url == f"{GATEWAY}/{path}"
    assert ready.body == prepare(hello(direct)).body
    assert ready.headers["cf-aig-cache-ttl"] == "60"
    expected = {**headers_of(prepare(hello(direct))), "cf-aig-authorization": "Bearer g"}
    assert headers_of(ready) == expected


def test_keys_that_cloudflare_stores() -> None:
    """Then the provider's own is not needed."""
    gateway = CloudflareAIGateway.configure(account_id="acc0", api_key="g")
    model = Anthropic.configure().model("m")

    assert isinstance(failure(hello(gateway.through(model))), AuthenticationError)
    stored = prepare(hello(gateway.through(model, stored_key=True)))
    assert headers_of(stored) == {"cf-aig-authorization": "Bearer g"}


def test_an_upstream_we_do_not_know() -> None:
    """It has to be named; a model without a route leads nowhere."""
    gateway = CloudflareAIGateway.configure(account_id="acc0")
    acme = OpenAICompatible.configure(name="acme", base_url="https://acme.example/v1").model("m")

    with pytest.raises(ConfigurationError, match="upstream="):
        gateway.through(acme)
    with pytest.raises(ConfigurationError, match="route"):
        gateway.through(Model("m", "openai"))
    url = prepare(hello(gateway.through(acme, upstream="custom-acme/v1"))).url
    assert url == f"{GATEWAY}/custom-acme/v1/chat/completions"


def test_upstreams_in_the_table_are_ids_of_providers() -> None:
    """Every key of the table is one of ours."""
    assert set(UPSTREAMS) <= {entry.id for entry in PROVIDERS}


def test_a_base_url_replaces_the_address() -> None:
    """A gateway may have a domain; a query stays where it is."""
    gateway = CloudflareAIGateway.configure(base_url="https://ai.example/g/?a=1")
    openai = OpenAI.configure(api_key="k")

    assert prepare(hello(gateway.chat("a/m"))).url == (
        "https://ai.example/g/compat/chat/completions?a=1"
    )
    assert prepare(hello(gateway.through(openai.chat("m")))).url == (
        "https://ai.example/g/openai/chat/completions?a=1"
    )


@pytest.mark.parametrize(
    "model",
    [
        CloudflareAIGateway.configure().model("a/m"),
        CloudflareWorkersAI.configure(api_key="k").model("m"),
        CloudflareAIGateway.configure().through(OpenAI.configure(api_key="k").chat("m")),
    ],
)
def test_the_account_of_the_environment(model: Model) -> None:
    """It is looked up when a request is prepared, and named if it is missing or wrong."""
    found = prepare(hello(model), environ={"CLOUDFLARE_ACCOUNT_ID": "acc9"})
    missing = failure(hello(model))
    wrong = failure(hello(model), CLOUDFLARE_ACCOUNT_ID="a/b")

    assert "/acc9/" in found.url
    for error in (missing, wrong):
        assert isinstance(error, ConfigurationError)
        assert "CLOUDFLARE_ACCOUNT_ID" in error.message
    assert "account_id=" in missing.message


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"account_id": "a/b"}, "account_id"),
        ({"account_id": ""}, "account_id"),
        ({"gateway": "a/b"}, "gateway"),
        ({"gateway": ""}, "gateway"),
        ({"base_url": "h"}, "base_url"),
        ({"api_key": "k", "auth": Auth.none()}, "either api_key or auth"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    """It is refused at once, by the argument's name."""
    with pytest.raises(ConfigurationError, match=named):
        CloudflareAIGateway.configure(**settings)


def test_content_beside_calls_is_never_null_for_workers_ai() -> None:
    """It is refused there; other servers expect it."""
    history = [Message.user("Hi"), Message.assistant(ToolCallPart("c", "f")), Message.tool("c", 1)]
    models = (MODELS["workers-ai/v1/chat/completions"], BOTH_KEYS.model("openai/gpt-5.2"))

    sent = [prepare(request(model=model, messages=history)).body["messages"][1] for model in models]

    assert [message["content"] for message in sent] == ["", None]


def test_the_url_of_workers_ai_has_the_account() -> None:
    """The account is in the URL."""
    workers = CloudflareWorkersAI.configure(account_id="acc0", api_key="k")
    ready = prepare(hello(workers.model("@cf/openai/gpt-oss-120b")))

    assert ready.url == "https://api.cloudflare.com/client/v4/accounts/acc0/ai/v1/chat/completions"
    assert ready.body["model"] == "@cf/openai/gpt-oss-120b"
