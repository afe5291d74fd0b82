"""Providers found in the environment: `llmcore/client/environment.py` and `Client.from_env`."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType
from typing import Any

import pytest

from llmcore.client import environment
from llmcore.client.client import Client
from llmcore.client.environment import ENTRY_POINT_GROUP, configured_by, provider_entries
from llmcore.client.middleware.fallback import Fallback
from llmcore.routes.openai import OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.providers import PROVIDERS, RETRIEVAL_PROVIDERS, ProviderEntry
from llmcore.routes.route import route_of
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.model import Model
from llmcore.schema.request import request

ACME = ProviderEntry(
    id="acme",
    home="acme_llmcore:Acme",
    docs="https://acme.example",
    key_variables=("ACME_API_KEY",),
    base_url_variable="ACME_BASE_URL",
)


class Acme:
    """A provider of another package."""

    @staticmethod
    def configure(base_url: str = "https://acme.example/v1") -> OpenAICompatible:
        """Return the configured provider."""
        return OpenAICompatible.configure(name="acme", base_url=base_url, api_key="k")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Stand in for installed packages: what the test puts into the list is announced."""
    provider_entries.cache_clear()
    points: list[EntryPoint] = []
    package: Any = ModuleType("acme_llmcore")
    package.Acme, package.ENTRY, package.NO_ENTRY = Acme, ACME, "acme"
    monkeypatch.setitem(sys.modules, "acme_llmcore", package)

    def announced(group: str) -> EntryPoints:
        return EntryPoints(points).select(group=group)

    monkeypatch.setattr(environment, "entry_points", announced)
    yield points
    provider_entries.cache_clear()


def point(value: str, name: str = "acme", group: str = ENTRY_POINT_GROUP) -> EntryPoint:
    """Return an announcement."""
    return EntryPoint(name=name, value=value, group=group)


# -- what is found


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, []),
        ({"PATH": "/bin"}, []),
        ({"OPENAI_API_KEY": "k"}, ["openai"]),
        ({"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}, ["openai", "groq"]),
        ({"GOOGLE_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "k"}, ["anthropic", "google"]),
        ({"AWS_ACCESS_KEY_ID": "k", "AZURE_OPENAI_API_KEY": "k"}, ["azure", "bedrock"]),
        ({"OLLAMA_BASE_URL": "http://h/v1", "GROQ_API_KEY": "k"}, ["groq", "ollama"]),
        ({"OPENAI_API_KEY": "", "MISTRAL_API_KEY": "k"}, ["mistral"]),
    ],
)
def test_providers_whose_variables_are_set(environ: dict[str, str], found: list[str]) -> None:
    """In the order of the table, whatever the order of the variables."""
    assert list(configured_by(environ, None).by_name) == found


def test_all_providers_with_variables_are_found_at_once() -> None:
    """Every provider that has variables can be found by them, at once."""
    environ = {name: "k" for entry in PROVIDERS for name in entry.switches if entry.needs_key}
    places = [entry.base_url_variable for entry in PROVIDERS if not entry.needs_key]
    environ |= {name: "http://localhost:1/v1" for name in places if name is not None}

    found = list(configured_by(environ, None).by_name)
    assert found == [one.id for one in PROVIDERS if one.id != "local"]


@pytest.mark.parametrize(
    ("model", "environ", "url"),
    [
        ("ollama:llama3.2", {}, "http://localhost:11434/v1/chat/completions"),
        ("ollama:llama3.2", {"OPENAI_API_KEY": "k"}, "http://localhost:11434/v1/chat/completions"),
        ("vllm:m-1", {"VLLM_BASE_URL": "http://h:1/v1"}, "http://h:1/v1/chat/completions"),
        ("github-copilot:gpt-4o", {}, "https://api.githubcopilot.com/chat/completions"),
    ],
)
def test_providers_without_a_key_take_models_that_name_them(
    model: str, environ: dict[str, str], url: str
) -> None:
    client = Client.from_env(environ=environ)

    assert client.prepare(request(model=model, prompt="Hi")).unwrap().url == url


def test_a_provider_without_a_key_takes_no_models_that_do_not_name_it() -> None:
    client = Client.from_env(environ={}, middleware=[Fallback("ollama:llama3.2")])

    assert (dict(client.providers), client.default_provider) == ({}, None)
    assert "which provider" in str(client.prepare(request(model="m-1", prompt="Hi")).failure())


def test_a_provider_without_a_key_can_be_the_default() -> None:
    client = Client.from_env(environ={"OPENAI_API_KEY": "k"}, default_provider="ollama")

    url = client.prepare(request(model="m-1", prompt="Hi")).unwrap().url
    assert url == "http://localhost:11434/v1/chat/completions"


@pytest.mark.parametrize("model", ["openai:", "openai-chat:", "ollama:"])
def test_a_provider_without_a_model_is_an_error(model: str) -> None:
    client = Client.from_env(environ={"OPENAI_API_KEY": "k"})

    message = f"'{model}' names no model: write '{model}MODEL'"
    assert client.prepare(request(model=model, prompt="Hi")).failure().message == message


def test_addresses_and_accounts_are_honoured() -> None:
    """They come from the environment that is given, and keys are looked up in it later."""
    environ = {
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": "https://gateway.example/v1",
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_PROJECT_ID": "proj-1",
    }
    client = Client.from_env(environ=environ)
    openai: Any = client.providers["openai"]
    ready = client.prepare(request(model=openai.chat("gpt-5.2"), prompt="Hi")).unwrap()

    assert ready.url == "https://gateway.example/v1/chat/completions"
    assert ready.headers["openai-organization"] == "org-1"
    assert ready.headers["openai-project"] == "proj-1"
    assert ready.http.headers["authorization"] == "Bearer sk-1"


def test_a_wrong_value_names_its_variable() -> None:
    """Before any request is made."""
    with pytest.raises(ConfigurationError, match="VLLM_BASE_URL"):
        Client.from_env(environ={"VLLM_BASE_URL": "localhost:8000"})


# -- the client


def test_the_first_is_the_default() -> None:
    """An argument overrides it."""
    environ = {"GROQ_API_KEY": "k", "MISTRAL_API_KEY": "k"}

    assert Client.from_env(environ=environ).default_provider == "mistral"
    assert Client.from_env(environ=environ, default_provider="groq").default_provider == "groq"
    with pytest.raises(ConfigurationError, match="'openai' is not configured"):
        Client.from_env(environ=environ, default_provider="openai")


def test_a_model_by_its_name() -> None:
    """It goes to the default provider, or to the one that is named."""
    client = Client.from_env(environ={"GROQ_API_KEY": "k", "MISTRAL_API_KEY": "k"})
    usual = client.prepare(request(model="m", prompt="Hi")).unwrap()
    named = client.prepare(request(model="m", provider="groq", prompt="Hi")).unwrap()

    assert usual.url == "https://api.mistral.ai/v1/chat/completions"
    assert named.url == "https://api.groq.com/openai/v1/chat/completions"


def test_client_without_configuration_has_no_default_provider() -> None:
    """The client can be made; a request without a provider raises an error that names it."""
    client = Client.from_env(environ={})
    error = client.prepare(request(model="gpt-5.2", prompt="Hi")).failure()

    assert client.default_provider is None
    assert isinstance(error, ConfigurationError)
    assert "provider" in error.message


def test_the_process_environment_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `environ`, that is where variables and keys are."""
    for entry in PROVIDERS:
        for name in entry.switches:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GROQ_API_KEY", "gsk-1")
    client = Client.from_env()
    ready = client.prepare(request(model="m", prompt="Hi")).unwrap()

    assert list(client.providers) == ["groq"]
    assert ready.http.headers["authorization"] == "Bearer gsk-1"


def test_variable_that_is_set_after_an_error_configures_its_provider() -> None:
    """In a notebook, the cell that failed is run again."""
    environ: dict[str, str] = {}
    client = Client.from_env(environ=environ)
    asked = request(model="groq:m", prompt="Hi")
    assert "set GROQ_API_KEY" in client.resolve(asked).failure().message

    environ["GROQ_API_KEY"] = "k"

    assert client.resolve(asked).unwrap().provider == "groq"
    assert client.default_provider == "groq"


def test_variable_that_is_set_later_does_not_change_the_default_provider() -> None:
    environ = {"XAI_API_KEY": "k"}
    client = Client.from_env(environ=environ)
    environ["GROQ_API_KEY"] = "k"
    client.resolve(request(model="groq:m", prompt="Hi")).unwrap()

    assert client.default_provider == "xai"


def test_invalid_value_that_is_set_later_is_the_error() -> None:
    environ: dict[str, str] = {}
    client = Client.from_env(environ=environ)
    environ |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "nonsense"}
    error = client.resolve(request(model="openai:m", prompt="Hi")).failure()

    assert isinstance(error, ConfigurationError)
    assert "OPENAI_BASE_URL" in error.message


def test_client_that_was_given_its_providers_reads_no_variables() -> None:
    client = Client(providers={"openai": OpenAI(api_key="k")}, environ={"GROQ_API_KEY": "k"})
    error = client.resolve(request(model="groq:m", prompt="Hi")).failure()

    assert isinstance(error, ConfigurationError)


# -- packages of others


def test_a_package_adds_its_provider(installed: list[EntryPoint]) -> None:
    """After our own, found and configured by its own variables."""
    installed += [point("acme_llmcore:ENTRY"), point("elsewhere:x", group="other.group")]
    environ = {"ACME_API_KEY": "k", "ACME_BASE_URL": "https://eu.acme.example", "GROQ_API_KEY": "k"}
    client = Client.from_env(environ=environ)
    ready = client.prepare(request(model="m", provider="acme", prompt="Hi")).unwrap()

    assert [*provider_entries().values()] == [*PROVIDERS, *RETRIEVAL_PROVIDERS, ACME]
    assert list(client.providers) == ["groq", "acme"]
    assert ready.url == "https://eu.acme.example/chat/completions"


def test_a_package_that_is_not_configured_is_not_imported(installed: list[EntryPoint]) -> None:
    """Its entry is read, its class is not."""
    package: Any = sys.modules["acme_llmcore"]
    del package.Acme
    installed.append(point("acme_llmcore:ENTRY"))

    assert list(configured_by({"GROQ_API_KEY": "k"}, None).by_name) == ["groq"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("acme_llmcore:MISSING", "cannot be loaded: AttributeError: .*MISSING"),
        ("no_such_package:ENTRY", "cannot be loaded: ModuleNotFoundError: .*no_such_package"),
        ("acme_llmcore:NO_ENTRY", "not a ProviderEntry"),
    ],
)
def test_broken_entry_point_raises_configuration_error_naming_its_provider(
    installed: list[EntryPoint], value: str, said: str
) -> None:
    """It is a ConfigurationError that says whose it is."""
    installed.append(point(value))

    with pytest.raises(ConfigurationError, match=said) as caught:
        configured_by({}, None)

    assert value in caught.value.message


def test_two_providers_of_one_id(installed: list[EntryPoint]) -> None:
    """Neither wins silently."""
    installed += [point("acme_llmcore:ENTRY", "a"), point("acme_llmcore:ENTRY", "b")]

    with pytest.raises(ConfigurationError, match="'acme'"):
        provider_entries()


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5", "gemini:gemini-3-pro", "mistral:7b"])
def test_model_of_a_known_provider_is_not_sent_to_the_default_one(model: str) -> None:
    environ = {"OPENAI_API_KEY": "k"}
    asked = request(model=model, prompt="Hi")
    failure = Client.from_env(environ=environ).resolve(asked).failure()
    chosen = Client.from_env(environ=environ, default_provider="openai").resolve(asked).unwrap()
    tag = Client.from_env(environ=environ).resolve(request(model="qwen:7b", prompt="Hi")).unwrap()

    assert f"{model.partition(':')[0]!r} is not configured (configured: openai)" in failure.message
    assert (chosen.provider, chosen.id) == ("openai", model)
    assert (tag.provider, tag.id) == ("openai", "qwen:7b")


@pytest.mark.parametrize(
    "model", ["opnai:gpt-5", "antropic:claude-opus-5", "gemni:flash", "OPENAI:o"]
)
def test_misspelled_provider_before_a_model_is_not_sent_to_the_default_one(model: str) -> None:
    client = Client.from_env(environ={"OPENAI_API_KEY": "k"})
    message = client.resolve(request(model=model, prompt="Hi")).failure().message

    assert f"{model.partition(':')[0]!r} is not configured" in message
    assert "did you mean" in message


@pytest.mark.parametrize("model", ["openai", "gemini", "mistral"])
def test_a_provider_alone_is_a_model_only_of_a_server_that_may_have_it(model: str) -> None:
    """Ollama has a model `mistral`; OpenAI has none with the name of a provider."""
    asked = request(model=model, prompt="Hi")
    error = Client.from_env(environ={"OPENAI_API_KEY": "k"}).resolve(asked).failure()
    ollama = Client.from_env(environ={"OLLAMA_BASE_URL": "http://localhost:11434"})

    assert f"{model!r} is a provider, not a model: write '{model}:MODEL'" in error.message
    assert ollama.resolve(asked).unwrap().id == model


@pytest.mark.parametrize("model", ["llama3:8b", "mixtral:8x7b", "deepseek-r1:8b", "opnai:gpt-5"])
def test_tag_of_a_local_model_that_is_nearly_a_provider_is_sent_to_the_local_server(
    model: str,
) -> None:
    """The catalog lists no models of such a server, so any id can be one of them."""
    client = Client.from_env(environ={"OLLAMA_BASE_URL": "http://localhost:11434"})
    found = client.resolve(request(model=model, prompt="Hi")).unwrap()

    assert (found.provider, found.id) == ("ollama", model)


@pytest.mark.parametrize(
    ("model", "provider", "message"),
    [
        ("gpt-5.2", "openai", "'openai' is not configured .*: set OPENAI_API_KEY"),
        ("openai:gpt-5.2", None, "'openai' is not configured .*: set OPENAI_API_KEY"),
        ("m", "gemini", "'gemini' is not configured .*: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("m", "copilot", "'copilot' is not configured"),
        ("gpt-5.2", None, "'gpt-5.2' is a model of the provider 'openai', .*: set OPENAI_API_KEY"),
        ("opnai:gpt-5.2", None, "did you mean 'openai'?"),
        ("m", "mistrl", "did you mean 'mistral'?"),
        ("gtp-5.2", None, "model 'gtp-5.2'. Did you mean 'openai:gpt-5.2'"),
        ("qwen-of-mine:7b", None, "model 'qwen-of-mine:7b'. 'qwen-of-mine' is not a provider"),
        ("local", None, "'local' is a provider, not a model: write 'local:MODEL'"),
        ("", None, "no default provider .*: set a key such as OPENAI_API_KEY"),
        ("Why is the sky blue?", None, "'Why is the sky blue.' is given as the model"),
        ("m", "nowhere-at-all", "'nowhere-at-all' is not configured"),
    ],
)
def test_unconfigured_provider_names_the_variable_or_the_likely_provider(
    model: str, provider: str | None, message: str
) -> None:
    client = Client.from_env(environ={"GROQ_API_KEY": "k", "XAI_API_KEY": "k"})
    client.default_provider = None
    error = client.resolve(request(model=model, provider=provider, prompt="Hi")).failure()

    assert isinstance(error, ConfigurationError)
    assert re.search(message, error.message)


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("openai-chat:m", "openai-chat"),
        ("openai-responses:m", "openai-responses"),
        ("openai-responses-websocket:m", "openai-responses-websocket"),
        ("xai-responses:m", "xai-responses"),
        ("bedrock-messages:m", "bedrock-messages"),
    ],
)
def test_name_of_a_provider_may_end_with_one_of_its_apis(name: str, route: str) -> None:
    keys = ("OPENAI_API_KEY", "XAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
    client = Client.from_env(environ=dict.fromkeys(keys, "k"))
    provider = name.partition(":")[0]
    found = client.resolve(request(model=name, prompt="Hi")).unwrap()
    apart = client.resolve(request(model="m", provider=provider, prompt="Hi")).unwrap()

    assert found == apart == Model("m", provider.partition("-")[0])
    assert route_of(found).id == route_of(apart).id == route


def test_provider_configured_under_a_name_with_an_api_goes_before_the_api() -> None:
    mine = OpenAICompatible.configure(name="mine", base_url="https://x", api_key="k")
    client = Client(providers={"openai": OpenAI(api_key="k"), "openai-chat": mine})

    found = client.resolve(request(model="openai-chat:m", prompt="Hi")).unwrap()

    assert found.provider == "mine"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("anthropic-chat:m", "'anthropic' has no API 'chat': write 'anthropic:...'"),
        ("mistral-chat:m", "'mistral' is not configured (configured: anthropic): set MISTRAL"),
    ],
)
def test_api_that_the_provider_lacks_or_without_a_configuration_is_an_error(
    model: str, message: str
) -> None:
    client = Client.from_env(environ={"ANTHROPIC_API_KEY": "k"})

    assert message in client.resolve(request(model=model, prompt="Hi")).failure().message


@pytest.mark.parametrize("model", ["gpt-5.2", "openai/gpt-5.2", "gpt-mini"])
def test_model_of_another_maker_is_not_sent_to_a_maker(model: str) -> None:
    client = Client.from_env(environ={"ANTHROPIC_API_KEY": "k"})
    failure = client.resolve(request(model=model, prompt="Hi")).failure()

    assert f"{model!r} is a model of the provider 'openai'" in failure.message
    assert "set OPENAI_API_KEY" in failure.message


@pytest.mark.parametrize(
    ("environ", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://proxy.test"}, "gpt-5.2"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://proxy.test/v1"}, "openai/gpt-5.2"),
        ({"OPENROUTER_API_KEY": "k"}, "gpt-5.2-of-tomorrow"),
        ({"GROQ_API_KEY": "k"}, "gpt-5.2"),
        (
            {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://x.test"},
            "claude-sonnet-4-5",
        ),
        ({"ANTHROPIC_API_KEY": "k"}, "claude-of-tomorrow"),
    ],
)
def test_any_id_is_sent_to_proxies_and_to_hosts_of_many_models(
    environ: dict[str, str], model: str
) -> None:
    """As it was given, since they have models by the names of others."""
    found = Client.from_env(environ=environ).resolve(request(model=model, prompt="Hi")).unwrap()

    assert found.id == model
