"""Providers with an API or a way to sign of their own, and how every provider is configured."""

from importlib import import_module
from typing import Any

import pytest
from attrs import field, frozen
from syrupy.assertion import SnapshotAssertion

from llmcore.routes.anthropic import AnthropicCompatible
from llmcore.routes.auth import Auth
from llmcore.routes.chat_provider import ChatProvider
from llmcore.routes.providers import PROVIDERS, ProviderEntry
from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ResponseFormat
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.prepared import SECRET, WEATHER, failure, prepare, shown

KEY_HEADERS = {"authorization", "x-api-key", "api-key", "x-goog-api-key"}
ENTRIES = {entry.id: entry for entry in PROVIDERS}


def class_of(entry: ProviderEntry) -> type:
    """Return the class of a provider."""
    module, _, name = entry.home.partition(":")
    kind: type = getattr(import_module(module), name)
    return kind


@frozen(kw_only=True)
class Native:
    """A way to models, and where it shows its key."""

    provider: str
    model_id: str
    method: str = "model"
    settings: dict[str, Any] = field(factory=dict)
    key: str = "authorization: Bearer "
    path: str = ""

    @property
    def entry(self) -> ProviderEntry:
        """The provider's row."""
        return ENTRIES[self.provider]

    def model(self, **settings: Any) -> Model:
        """Return the example model, configured."""
        facade: Any = self.entry.load()(**{**self.settings, **settings})
        model: Model = getattr(facade, self.method)(self.model_id)
        return model

    def __str__(self) -> str:
        return f"{self.provider}-{self.method}-{self.settings.get('api_version', '')}".rstrip("-")


NATIVES = [
    Native(
        provider="anthropic",
        model_id="claude-sonnet-4-5",
        key="x-api-key: ",
        path="/v1/messages",
    ),
    Native(
        provider="google",
        model_id="gemini-3-pro-preview",
        key="x-goog-api-key: ",
        path="/models/gemini-3-pro-preview:generateContent",
    ),
    Native(
        provider="bedrock",
        model_id="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        settings={"region": "eu-west-1"},
        path="/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    ),
    Native(
        provider="azure",
        model_id="my-gpt",
        method="responses",
        settings={"resource_name": "res"},
        key="api-key: ",
        path="/responses",
    ),
    Native(
        provider="azure",
        model_id="my-gpt",
        method="chat",
        settings={"resource_name": "res"},
        key="api-key: ",
        path="/chat/completions",
    ),
    Native(
        provider="azure",
        model_id="my-gpt",
        method="chat",
        settings={"resource_name": "res", "api_version": "2024-10-21"},
        key="api-key: ",
        path="/deployments/my-gpt/chat/completions?api-version=2024-10-21",
    ),
    Native(
        provider="cloudflare-workers-ai",
        model_id="@cf/openai/gpt-oss-120b",
        method="chat",
        settings={"account_id": "acc0"},
        path="/chat/completions",
    ),
    Native(
        provider="openai",
        model_id="gpt-5.2",
        method="responses",
        path="/responses",
    ),
    Native(
        provider="xai",
        model_id="grok-4.6",
        method="responses",
        path="/responses",
    ),
]


def over_chat(provider: str) -> Native:
    """Return the usual way to the models of a provider of Chat Completions."""
    return Native(provider=provider, model_id="m", method="chat", path="/chat/completions")


WAYS = [
    *NATIVES,
    over_chat("openai"),
    *(over_chat(entry.id) for entry in PROVIDERS if issubclass(class_of(entry), ChatProvider)),
]
"""Those, and one of each provider whose requests are in `test_facades.py`."""

everyone = pytest.mark.parametrize("native", NATIVES, ids=str)
every_way = pytest.mark.parametrize("native", WAYS, ids=str)
every_way_with_a_key = pytest.mark.parametrize(
    "native", [native for native in WAYS if native.entry.needs_key], ids=str
)


def greeting(model: Model) -> LLMRequest:
    """Return the smallest request."""
    return request(model=model, prompt="Hi")


def protocol_of(model: Model) -> str:
    """Return which protocol reaches *model*."""
    route: Any = model.route
    name: str = route.protocol.id
    return name


# -- what is sent


@everyone
def test_text_request_equals_the_snapshot(native: Native, snapshot: SnapshotAssertion) -> None:
    """Instructions, a question, limits and sampling, whole."""
    asked = request(
        model=native.model(api_key=SECRET),
        system="Be brief.",
        messages=[
            Message.user("Hello."),
            Message.assistant("Hello, Ada."),
            Message.user("How are you?"),
        ],
        generation=GenerationOptions(max_tokens=64, temperature=0.5, stop="END"),
        cache=CachePolicy(key="ada"),
    )

    assert shown(prepare(asked)) == snapshot


@everyone
def test_streamed_tools_request_equals_the_snapshot(
    native: Native, snapshot: SnapshotAssertion
) -> None:
    """A tool loop, streamed."""
    model = native.model(api_key=SECRET)
    said = Message.assistant(
        ReasoningPart("I must look."),
        ToolCallPart("call_0123456789abcdef", "get_weather", {"city": "Oslo"}),
        origin=Origin(provider=model.provider, model=model.id, protocol=protocol_of(model)),
    )
    asked = request(
        model=model,
        messages=[
            Message.user("Weather in Oslo?"),
            said,
            Message.tool("call_0123456789abcdef", {"celsius": 4}, name="get_weather"),
        ],
        tools=[WEATHER],
        max_tokens=4096,
        reasoning_effort="low",
    )

    assert shown(prepare(asked, streaming=True)) == snapshot


@everyone
def test_a_response_in_a_schema(native: Native, snapshot: SnapshotAssertion) -> None:
    """The form of the format in each native request."""
    asked = request(
        model=native.model(api_key=SECRET),
        prompt="The capital of Norway?",
        max_tokens=64,
        response_format=ResponseFormat.json_schema(WEATHER.parameters, name="city"),
    )

    assert shown(prepare(asked)) == snapshot


# -- configuration


@everyone
def test_table_and_class_agree_on_id_protocol_and_variables(native: Native) -> None:
    """Ids, protocols and variables stand in both; the class is where the table has it."""
    entry = native.entry
    home = entry.home.partition(":")[0]
    facade: Any = entry.load()(**native.settings)

    assert type(facade).__module__ == home
    assert facade.model("m").provider == entry.id
    assert protocol_of(native.model()) in entry.protocols
    module_doc = import_module(home).__doc__ or ""
    assert all(variable in module_doc for variable in entry.key_variables)
    assert entry.docs.startswith("https://")


@every_way_with_a_key
def test_the_key_comes_from_the_environment(native: Native) -> None:
    """At the moment a request is prepared, into the header where it is looked for."""
    name, _, prefix = native.key.partition(": ")
    given = prepare(greeting(native.model(api_key=SECRET)))
    for variable in native.entry.key_variables:
        if variable == "ANTHROPIC_AUTH_TOKEN":  # a bearer token: see `test_anthropic.py`
            continue
        ready = prepare(greeting(native.model()), environ={variable: SECRET})

        assert ready.http.headers[name] == given.http.headers[name] == prefix + SECRET
        assert ready.headers[name] == "[redacted]"
        assert KEY_HEADERS & set(ready.headers) == {name}


@every_way_with_a_key
def test_missing_key_fails_only_when_a_request_is_prepared(native: Native) -> None:
    """It is configured all the same; preparing a request fails and names the variables."""
    error = failure(greeting(native.model()))

    assert isinstance(error, AuthenticationError)
    assert error.provider == native.provider
    assert all(variable in error.message for variable in native.entry.key_variables)


@every_way
def test_an_empty_key_is_not_a_key(native: Native) -> None:
    """The argument is named, and the environment is not asked behind the caller's back."""
    variables = dict.fromkeys(native.entry.key_variables, SECRET)
    error = failure(greeting(native.model(api_key="")), **variables)

    assert isinstance(error, AuthenticationError)
    assert "api_key" in error.message


@every_way
def test_what_can_be_configured(native: Native) -> None:
    """Key or auth, base URL, headers and query; the result is a frozen value without secrets."""
    model = native.model(
        auth=Auth.header("x-gateway-key", SECRET),
        base_url="https://gateway.example/proxy/x?tenant=a",
        headers={"X-Team": "blue"},
        query={"trace": "1"},
        **({"resource_name": None} if native.provider == "azure" else {}),
    )
    ready = prepare(greeting(model))
    path, _, own = native.path.partition("?")
    query = "&".join(filter(None, ["tenant=a", own, "trace=1"]))

    assert ready.url == f"https://gateway.example/proxy/x{path}?{query}"
    assert ready.headers["x-team"] == "blue"
    assert ready.headers["x-gateway-key"] == "[redacted]"
    assert not KEY_HEADERS & set(ready.headers)
    assert SECRET not in repr(model.route)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"api_key": "k", "auth": Auth.none()}, "either api_key or auth"),
        ({"base_url": "localhost:8000", "resource_name": None}, "base_url"),
        ({"base_url": "https://u:p@h", "resource_name": None}, "base_url"),
        ({"base_url": "", "resource_name": None}, "base_url"),
    ],
)
@every_way
def test_wrong_settings_are_refused_by_name(
    native: Native, settings: dict[str, Any], named: str
) -> None:
    """It is a ConfigurationError, at once, that names the argument."""
    if native.provider != "azure":
        settings = {name: value for name, value in settings.items() if name != "resource_name"}
    with pytest.raises(ConfigurationError, match=named):
        native.model(**settings)


def test_any_server_that_speaks_messages(snapshot: SnapshotAssertion) -> None:
    """By name and address; a bearer token where it wants one."""
    acme = AnthropicCompatible.configure(
        name="acme", base_url="https://acme.example/anthropic", auth=Auth.bearer(SECRET)
    )
    asked = request(model=acme.model("acme-1"), prompt="Weather?", tools=[WEATHER], max_tokens=64)

    assert shown(prepare(asked, streaming=True)) == snapshot
