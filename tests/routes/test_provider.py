"""Routes under one id: `llmcore/routes/provider.py`."""

import copy
import inspect
import pickle

import pytest

from llmcore import AmazonBedrock, Anthropic, Client, ConfigurationError, Model, OpenAI, request
from llmcore.protocols import openai_chat, openai_responses
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.provider import Provider
from llmcore.routes.route import Route

CHAT = Route.make(
    id="acme-chat",
    provider="acme",
    protocol=openai_chat.protocol,
    endpoint=Endpoint.path("/chat/completions", base_url="https://api.acme.example/v1"),
)
RESPONSES = CHAT.with_(
    id="acme-responses",
    protocol=openai_responses.protocol,
    endpoint=Endpoint.path("/responses", base_url="https://api.acme.example/v1"),
)


def test_models_of_a_static_provider_are_reached_over_its_first_route() -> None:
    """A client looks string models up in it."""
    acme = Provider.make(id="acme", routes=[CHAT, RESPONSES])
    client = Client(providers={"acme": acme}, default_provider="acme")
    prepared = client.prepare(request(model="acme-1", prompt="Hi")).unwrap()

    assert prepared.url == "https://api.acme.example/v1/chat/completions"
    assert acme.model("acme-1").provider == "acme"


def test_another_route_is_named_by_its_id() -> None:
    """One that is not there is an error that lists those that are."""
    acme = Provider.make(id="acme", routes=[CHAT, RESPONSES])

    assert acme.route("acme-responses").model("acme-1").route is RESPONSES
    with pytest.raises(ConfigurationError, match="no route 'x' \\(there are: acme-chat, acme-resp"):
        acme.route("x")


@pytest.mark.parametrize(
    ("routes", "named"),
    [
        ([], "at least one route"),
        ([CHAT.with_(provider="other")], "'other', not 'acme'"),
        ([CHAT, CHAT], "same id"),
    ],
)
def test_invalid_provider_is_refused(routes: list[Route], named: str) -> None:
    """When it is made."""
    with pytest.raises(ConfigurationError, match=named):
        Provider.make(id="acme", routes=routes)


@pytest.mark.parametrize("facade", [OpenAI, Anthropic, AmazonBedrock])
def test_configure_has_the_signature_and_the_docstring_of_its_facade(facade: type) -> None:
    """As `help` and notebooks show them."""
    configure = facade.configure  # type: ignore[attr-defined]

    assert inspect.signature(configure).parameters == inspect.signature(facade).parameters
    assert configure.__doc__ == facade.__init__.__doc__  # type: ignore[misc]


@pytest.mark.parametrize(
    "configured",
    [
        OpenAI(api_key="sk-1"),
        OpenAI(api_key="sk-1").chat("gpt-5.2"),
        OpenAI(api_key="sk-1").chat_route.auth,
        Anthropic().model("claude-sonnet-4-5"),
        request(model=AmazonBedrock().model("m"), prompt="Hi"),
        Client(providers={"openai": OpenAI(api_key="sk-1")}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_may_hold_a_key_is_copied_and_not_pickled(configured: object) -> None:
    """The error names what to pass to another process instead."""
    assert copy.copy(configured) == copy.deepcopy(configured) == configured
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="may hold a key: pass the name of a model"):
            pickle.dumps(configured, protocol)


def test_a_model_that_is_only_named_can_be_pickled() -> None:
    named = request(model=Model("gpt-5.2", "openai"), prompt="Hi")
    assert pickle.loads(pickle.dumps(named)) == named
