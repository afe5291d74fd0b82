"""Every provider has a snapshot of its requests, and a class that is configured like the others."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError

from llmcore import Client, OpenAI, request
from llmcore.routes.providers import PROVIDERS, ProviderEntry
from llmcore.schema.errors import ConfigurationError

SNAPSHOTS = Path(__file__).with_name("__snapshots__")
OWN_FILES = {
    "cloudflare-ai-gateway": "test_cloudflare.ambr",
    "github-copilot": "test_github_copilot.ambr",
    "vertex": "test_vertex.ambr",
}
"""Providers whose tests have a module of their own."""

everyone = pytest.mark.parametrize("entry", PROVIDERS, ids=lambda entry: entry.id)


def shown(kind: str) -> set[str]:
    """Return the ids of providers of whose requests of *kind* there are snapshots."""
    heading = re.compile(rf"^# name: test_(?:\w+_)?{kind}_request\w*\[(.+)\]$", re.M)
    found: set[str] = set()
    for file in ("test_facades.ambr", "test_native_facades.ambr"):
        names = heading.findall((SNAPSHOTS / file).read_text())
        found |= {entry.id for entry in PROVIDERS for name in names if is_of(name, entry.id)}
    for provider, file in OWN_FILES.items():
        if heading.search((SNAPSHOTS / file).read_text()):
            found.add(provider)
    return found


def is_of(name: str, provider: str) -> bool:
    """Return whether a snapshot called *name* is of *provider*."""
    return (
        name == provider or re.fullmatch(rf"{provider}-(model|chat|responses).*", name) is not None
    )


@everyone
@pytest.mark.parametrize("kind", ["text", "tools"])
def test_its_requests_are_shown(entry: ProviderEntry, kind: str) -> None:
    """The exact native request: text alone, and a loop with tools."""
    assert entry.id in shown(kind)


@everyone
@pytest.mark.parametrize("key", ["", "sk-secret"])
def test_a_key_is_not_an_auth(entry: ProviderEntry, key: str) -> None:
    """It is not taken for one, nor left out: the error says what to write, without the key."""
    if entry.id == "local":
        pytest.skip("it runs here, and signs nothing")
    arguments = {"azure": {"resource_name": "r"}}.get(entry.id, {})

    with pytest.raises(ConfigurationError, match="api_key") as told:
        entry.load()(**arguments, auth=key).model("m")

    assert "sk-secret" not in str(told.value)


@everyone
def test_it_takes_what_all_take(entry: ProviderEntry) -> None:
    """Every argument has a default, and the environment is not read."""
    arguments = {"azure": {"resource_name": "r"}}.get(entry.id, {})
    model = entry.load()(**arguments).model("m")

    assert model.provider == entry.id
    assert re.fullmatch(r"[a-z0-9-]+", entry.id)
    assert (entry.login is None) == (entry.id != "github-copilot")


@everyone
def test_class_called_with_settings_equals_the_one_configured_with_them(
    entry: ProviderEntry,
) -> None:
    module, _, name = entry.home.partition(":")
    facade = getattr(import_module(module), name)
    special: dict[str, dict[str, Any]] = {
        "azure": {"resource_name": "r", "api_key": "k"},
        "github-copilot": {"token": "gho_k"},
        "local": {"threads": 2},
    }
    settings = special.get(entry.id, {"api_key": "k"})
    both = [repr(make(**settings)) for make in (facade, facade.configure)]

    assert len({re.sub("0x[0-9a-f]+", "", one) for one in both}) == 1  # routes have closures
    assert facade(**settings).model("m").provider == entry.id
    with pytest.raises(TypeError, match="api_kye"):
        facade(api_kye="k")
    with pytest.raises(FrozenInstanceError):
        facade(**settings).chat_route = None


@everyone
def test_a_misspelt_setting_is_answered_with_the_nearest(entry: ProviderEntry) -> None:
    module, _, facade = entry.home.partition(":")
    kind: Any = getattr(import_module(module), facade)
    name = next(iter(inspect.signature(kind).parameters))

    with pytest.raises(TypeError, match=f"did you mean '{name}'"):
        kind(**{name.replace("_", "") + "s": "x"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'"):
        kind(zzz=1)


@pytest.mark.parametrize(
    "entry",
    [entry for entry in PROVIDERS if entry.base_url_variable is not None],
    ids=lambda entry: entry.id,
)
def test_base_url_of_the_environment_counts_in_code_too(entry: ProviderEntry) -> None:
    """`OpenAI()` sends its key where `Client.from_env()` would; `base_url=` takes precedence."""
    assert entry.base_url_variable is not None
    environ = {
        entry.base_url_variable: "https://proxy.test/v1",
        "OPENAI_API_VERSION": "",
        **dict.fromkeys(entry.key_variables, "k"),
    }
    client = Client(environ=environ)

    def url_of(provider: Any) -> str:
        return client.prepare(request(model=provider.model("m"), prompt="Hi")).unwrap().url

    given = entry.load()(base_url="https://given.test/v1")
    assert url_of(entry.load()()) == url_of(entry.from_environ(environ))
    assert url_of(entry.load()()).startswith("https://proxy.test/")
    assert url_of(given).startswith("https://given.test/")


def test_wrong_base_url_of_the_environment_is_reported_with_its_variable() -> None:
    client = Client(environ={"OPENAI_BASE_URL": "localhost:8000", "OPENAI_API_KEY": "k"})

    outcome = client.prepare(request(model=OpenAI().chat("m"), prompt="Hi"))

    assert outcome.failure().message == (
        "base_url 'localhost:8000' is not an http(s) URL: write it like 'https://host/v1' "
        "(from OPENAI_BASE_URL)"
    )
