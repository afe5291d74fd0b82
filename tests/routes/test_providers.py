"""The table of providers: `llmcore/routes/providers.py`."""

import pytest

from llmcore.routes.chat_servers import VLLM
from llmcore.routes.openai import OpenAI
from llmcore.routes.providers import PROVIDERS, ProviderEntry
from llmcore.schema.errors import ConfigurationError
from tests.support.programs.fresh_interpreter import run_fresh

BY_ID = {entry.id: entry for entry in PROVIDERS}


def test_ids_and_variables_are_unambiguous() -> None:
    """No two providers share an id, a class or a variable."""
    ids = [entry.id for entry in PROVIDERS]
    homes = [entry.home for entry in PROVIDERS]
    variables = [name for entry in PROVIDERS for name in entry.key_variables]

    assert len(set(ids)) == len(ids)
    assert len(set(homes)) == len(homes)
    assert len(set(variables)) == len(variables)


def test_the_order_is_documented() -> None:
    """The three largest makers first, then makers, hosts, clouds and local servers."""
    needs = [entry.needs_key for entry in PROVIDERS]
    ids = [entry.id for entry in PROVIDERS]
    clouds = ["bedrock", "vertex", "cloudflare-ai-gateway", "cloudflare-workers-ai"]

    assert ids[:3] == ["openai", "anthropic", "google"]
    assert ids.index("xai") < ids.index("azure") < ids.index("openrouter")
    assert ids[ids.index("ollama") - 4 : ids.index("ollama")] == clouds
    assert needs == sorted(needs, reverse=True)


@pytest.mark.parametrize(
    ("provider", "environ", "found"),
    [
        ("openai", {"OPENAI_API_KEY": "k"}, True),
        ("openai", {"OPENAI_API_KEY": ""}, False),
        ("openai", {"OPENAI_API_KEY": "  "}, False),
        ("openai", {"OPENAI_BASE_URL": "https://h"}, False),
        ("deepinfra", {"DEEPINFRA_TOKEN": "k"}, True),
        ("ollama", {"OLLAMA_API_KEY": "k"}, False),
        ("ollama", {"OLLAMA_BASE_URL": "http://h:11434/v1"}, True),
        ("local", {}, False),
    ],
)
def test_what_makes_a_provider_configured(
    provider: str, environ: dict[str, str], found: bool
) -> None:
    """A key, or for local servers, their address; empty is unset."""
    assert BY_ID[provider].is_configured(environ) is found


def test_variables_set_arguments_and_empty_ones_set_nothing() -> None:
    """Each sets its argument; empty ones set nothing."""
    environ = {"OPENAI_BASE_URL": "https://h/v1/", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": ""}
    openai = BY_ID["openai"].from_environ(environ)

    assert isinstance(openai, OpenAI)
    assert openai.chat_route.endpoint.base_url == "https://h/v1"
    assert dict(openai.chat_route.defaults.headers) == {"openai-organization": "o"}


def test_without_variables_everything_is_as_usual() -> None:
    """The same as `configure()`."""
    vllm = BY_ID["vllm"].from_environ({})

    assert isinstance(vllm, VLLM)
    assert vllm.chat_route.endpoint == VLLM.configure().chat_route.endpoint


def test_a_wrong_variable_is_named() -> None:
    """The error says which argument, and where its value came from."""
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL") as caught:
        BY_ID["openai"].from_environ({"OPENAI_BASE_URL": "localhost:8000"})

    assert "base_url" in caught.value.message
    assert caught.value.provider == "openai"


@pytest.mark.parametrize(
    "home", ["no.such.module:X", "llmcore.routes.openai:Nothing", "llmcore.routes.openai", ""]
)
def test_a_class_that_is_not_there(home: str) -> None:
    """It is a ConfigurationError that names the provider and the place."""
    with pytest.raises(ConfigurationError, match="acme"):
        ProviderEntry(id="acme", home=home, docs="https://acme.example").load()


def test_reading_the_table_imports_no_provider() -> None:
    """They are loaded one by one, when they are used."""
    code = (
        "import sys, llmcore.routes.providers as p;"
        "homes = {entry.home.partition(':')[0] for entry in p.PROVIDERS};"
        "assert not homes & set(sys.modules), homes & set(sys.modules)"
    )
    run_fresh(code)
