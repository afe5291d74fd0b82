"""Azure's facade: `llmcore/routes/azure.py`."""

from typing import Any

import pytest

from llmcore.client.client import Client
from llmcore.routes.azure import Azure
from llmcore.routes.providers import PROVIDERS
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.prepared import failure, prepare

HOST = "https://res.openai.azure.com"
FOUNDRY = "https://res.services.ai.azure.com"
DATED = "2024-10-21"


def hello(model: Model) -> LLMRequest:
    """Return a greeting."""
    return request(model=model, prompt="Hi")


def url_of(model: Model, **environ: str) -> str:
    """Return where a greeting goes."""
    return prepare(hello(model), environ={"AZURE_OPENAI_API_KEY": "k", **environ}).url


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        (HOST, HOST),
        (f"{HOST}/", HOST),
        (f"{HOST}/openai", HOST),
        (f"{HOST}/openai/", HOST),
        (f"{HOST}/openai/v1", HOST),
        (f"{HOST}/openai/v1/", HOST),
        (f"{HOST}/openai/v1/responses", HOST),
        (f"{HOST}/openai/responses", HOST),
        (f"{HOST}/openai/deployments", HOST),
        (f"{HOST}/openai/deployments/other", HOST),
        (f"{HOST}/openai/deployments/other/chat/completions", HOST),
        (FOUNDRY, FOUNDRY),
        (f"{FOUNDRY}/models", FOUNDRY),
        (f"{FOUNDRY}/models/chat/completions", FOUNDRY),
        (f"{FOUNDRY}/api/projects/p/openai/v1", f"{FOUNDRY}/api/projects/p"),
        ("https://gateway.example/team/openai/v1", "https://gateway.example/team"),
    ],
)
def test_any_url_that_azure_shows(base_url: str, root: str) -> None:
    """The same place, in both shapes of the API."""
    current = Azure.configure(base_url=base_url)
    dated = Azure.configure(base_url=base_url, api_version=DATED)
    query = f"?api-version={DATED}"

    assert url_of(current.responses("d")) == f"{root}/openai/v1/responses"
    assert url_of(current.chat("d")) == f"{root}/openai/v1/chat/completions"
    assert url_of(dated.responses("d")) == f"{root}/openai/responses{query}"
    assert url_of(dated.chat("d")) == f"{root}/openai/deployments/d/chat/completions{query}"


def test_a_gateways_path_is_its_own() -> None:
    """Nothing is guessed of it; a query stays, and one's own api-version counts."""
    azure = Azure.configure(base_url="https://h/llm?a=1", query={"api-version": "preview"})

    assert url_of(azure.chat("d")) == "https://h/llm/chat/completions?a=1&api-version=preview"


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({"AZURE_OPENAI_RESOURCE_NAME": "res"}, HOST),
        ({"AZURE_OPENAI_ENDPOINT": f"{HOST}/"}, HOST),
        ({"AZURE_OPENAI_ENDPOINT": FOUNDRY, "AZURE_OPENAI_RESOURCE_NAME": "res"}, FOUNDRY),
    ],
)
def test_the_resource_of_the_environment(environ: dict[str, str], host: str) -> None:
    """It is looked up when a request is prepared; the endpoint says more than the name."""
    assert url_of(Azure.configure().responses("d"), **environ) == f"{host}/openai/v1/responses"


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, "resource_name=.*base_url=.*AZURE_OPENAI_ENDPOINT.*AZURE_OPENAI_RESOURCE_NAME"),
        ({"AZURE_OPENAI_ENDPOINT": "res"}, "AZURE_OPENAI_ENDPOINT"),
        ({"AZURE_OPENAI_RESOURCE_NAME": HOST}, "AZURE_OPENAI_RESOURCE_NAME"),
    ],
)
def test_a_missing_resource_is_an_error_that_names_the_settings(
    environ: dict[str, str], named: str
) -> None:
    """The error names variables and arguments."""
    error = failure(hello(Azure.configure(api_key="k").model("d")), **environ)

    assert isinstance(error, ConfigurationError)
    assert error.provider == "azure"
    with pytest.raises(ConfigurationError, match=named):
        raise error


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"resource_name": "res", "base_url": HOST}, "either resource_name or base_url"),
        ({"resource_name": HOST}, "resource_name"),
        ({"resource_name": "res/openai"}, "resource_name"),
        ({"resource_name": ""}, "resource_name"),
        ({"api_version": "V2"}, "api_version"),
        ({"api_version": ""}, "api_version"),
        ({"api_version": "2024-10-21&x=1"}, "api_version"),
        ({"base_url": "https://h/x/chat/completions"}, "base_url"),
        ({"api_key": "k", "token_provider": lambda: "t"}, "token_provider"),
    ],
)
def test_contradictory_arguments_raise_configuration_error(
    settings: dict[str, Any], named: str
) -> None:
    """It is refused at once, by the argument's name."""
    with pytest.raises(ConfigurationError, match=named):
        Azure.configure(**settings)


def test_a_deployments_name_is_one_segment() -> None:
    """Whatever is in it; in v1 it stands in the body."""
    dated = Azure.configure(resource_name="res", api_version=DATED)
    path = "/openai/deployments/a%2Fb%3Fc/chat/completions"

    assert url_of(dated.chat("a/b?c")) == f"{HOST}{path}?api-version={DATED}"
    current = Azure.configure(resource_name="res", api_key="k").chat("a/b?c")
    assert prepare(hello(current)).body["model"] == "a/b?c"


@pytest.mark.anyio
async def test_an_entra_token_provider_is_called_for_each_request() -> None:
    """The provider is called for each request, and its token is a bearer token."""
    tokens = iter(["first", "second"])

    async def provide() -> str:
        return next(tokens)

    azure = Azure.configure(resource_name="res", token_provider=provide)
    auth = azure.responses_route.auth

    assert auth.fetch is provide
    ready = Client().prepare(hello(azure.chat("d"))).unwrap()
    assert "api-key" not in ready.http.headers
    assert ready.http.headers["authorization"] == "Bearer [fetched when sent]"
    assert [await provide(), await provide()] == ["first", "second"]


def test_variables_set_endpoint_key_and_version() -> None:
    """Endpoint, key and version."""
    entry = next(entry for entry in PROVIDERS if entry.id == "azure")
    azure: Any = entry.from_environ(
        {"AZURE_OPENAI_ENDPOINT": HOST, "OPENAI_API_VERSION": "2025-04-01-preview"}
    )

    assert url_of(azure.responses("d")) == f"{HOST}/openai/responses?api-version=2025-04-01-preview"
