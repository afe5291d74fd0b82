"""OpenRouter's facade: `llmcore/routes/openrouter.py`."""

from typing import Any

import pytest

from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.openrouter import OpenRouter, OpenRouterRouting
from llmcore.schema.content import ImagePart, ToolCallPart
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.request import request
from tests.support.wire.prepared import SECRET, prepare

ROUTING = OpenRouterRouting(
    order=["anthropic", "amazon-bedrock"],
    allow_fallbacks=False,
    require_parameters=True,
    data_collection="deny",
    zdr=True,
    quantizations=["bf16"],
    sort="throughput",
    max_price={"prompt": 1, "completion": 2.5},
)


def body_of(options: dict[str, JsonObject] | None = None, **settings: Any) -> JsonObject:
    """Return the body of a greeting."""
    model = OpenRouter.configure(api_key=SECRET, **settings).model("anthropic/claude-sonnet-4.5")
    return prepare(request(model=model, prompt="Hi", provider_options=options)).body


def test_the_application_is_named() -> None:
    """Its address and title are headers."""
    model = OpenRouter.configure(
        api_key=SECRET, referer="https://app.example", title="App", headers={"x-a": "1"}
    ).model("m")
    ready = prepare(request(model=model, prompt="Hi"))

    assert ready.headers["http-referer"] == "https://app.example"
    assert ready.headers["x-openrouter-title"] == "App"
    assert ready.headers["x-a"] == "1"


def test_pictures_that_tools_return_stay_in_the_result() -> None:
    """OpenRouter takes them there; servers of Chat Completions usually do not."""
    model = OpenRouter.configure(api_key=SECRET).model("m")
    messages = [
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "look")),
        Message.tool("a", ("seen", ImagePart(data=b"\x89PNG\r\n\x1a\n"))),
    ]
    body: Any = prepare(request(model=model, messages=messages)).body

    assert [part["type"] for part in body["messages"][-1]["content"]] == ["text", "image_url"]
    assert body["messages"][-1]["role"] == "tool"


def test_routing_fallbacks_and_plugins() -> None:
    """They stand in the body under their native names; what is unset is not sent."""
    body = body_of(routing=ROUTING, fallback_models=["openai/gpt-5.2"], plugins=[{"id": "web"}])

    assert body["provider"] == {
        "order": ["anthropic", "amazon-bedrock"],
        "allow_fallbacks": False,
        "require_parameters": True,
        "data_collection": "deny",
        "zdr": True,
        "quantizations": ["bf16"],
        "sort": "throughput",
        "max_price": {"prompt": 1, "completion": 2.5},
    }
    assert body["model"] == "anthropic/claude-sonnet-4.5"
    assert body["models"] == ["openai/gpt-5.2"]
    assert body["plugins"] == [{"id": "web"}]


def test_body_without_options_has_no_openrouter_fields() -> None:
    """Nor is the deprecated switch for usage, which comes anyway."""
    for routing in (None, OpenRouterRouting()):
        assert not {"provider", "models", "plugins", "usage"} & body_of(routing=routing).keys()


def test_a_request_has_the_last_word() -> None:
    """Its own options are laid over those of the defaults, and these over what is configured."""
    defaults = RouteDefaults(
        provider_options={"openrouter": {"provider": {"sort": "price", "zdr": False}}}
    )
    own: dict[str, JsonObject] = {"openrouter": {"provider": {"zdr": True}, "models": ["x/y"]}}
    body = body_of(own, routing=ROUTING, fallback_models=["a/b"], defaults=defaults)
    provider: Any = body["provider"]

    assert (provider["sort"], provider["zdr"]) == ("price", True)
    assert provider["order"] == ["anthropic", "amazon-bedrock"]
    assert body["models"] == ["x/y"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"sort": "cheapest"}, "sort"),
        ({"data_collection": "never"}, "data_collection"),
        ({"order": "anthropic"}, r"\['anthropic'\]"),
        ({"only": "anthropic"}, r"\['anthropic'\]"),
    ],
)
def test_wrong_routing_is_refused_by_name(settings: dict[str, Any], named: str) -> None:
    """It is refused at once, by name."""
    with pytest.raises(ConfigurationError, match=named):
        OpenRouterRouting(**settings)


def test_one_fallback_model_is_still_a_sequence() -> None:
    """A bare text would be taken letter by letter."""
    with pytest.raises(ConfigurationError, match="sequence"):
        OpenRouter.configure(fallback_models="openai/gpt-5.2")
