"""The embedded model's facade: `llmcore/routes/local.py`."""

from pathlib import Path
from typing import Any

import pytest

from llmcore.routes.auth import AuthContext
from llmcore.routes.local import MAX_TOKENS, Local
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.transport_spec import Embedded
from llmcore.schema.content import ImagePart
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.schema.tools import ToolChoice, ToolDefinition

TOOLS = [ToolDefinition("get_weather", "The weather."), ToolDefinition("get_time", "The time.")]


def prepared(model: Model, **given: Any) -> PreparedRequest:
    """Return the native request."""
    assert isinstance(model.route, Route)
    asked = request(model=model, **({"prompt": "Hi"} | given))
    return model.route.prepare(asked, streaming=True, context=AuthContext()).unwrap()


def test_it_is_a_route_like_any_other() -> None:
    """Chat Completions, without a key; only the transport differs."""
    model = Local.configure().model()
    route = model.route

    assert (model.id, model.provider) == ("smollm2-135m-instruct", "local")
    assert isinstance(route, Route)
    assert (route.protocol.id, route.auth.id) == ("openai-chat", "none")
    assert route.transport == Embedded()
    assert prepared(model).url == "http://local/v1/chat/completions"


def test_the_server_is_configured() -> None:
    """File, context, threads and parallel requests reach the transport; equal ones share it."""
    settings: dict[str, Any] = {"context_tokens": 2048, "threads": 2, "parallel": 4}
    routes = [
        Local.configure(model_path=path, **settings).chat_route
        for path in ("models/a.gguf", Path("models/a.gguf"))
    ]

    assert routes[0].transport == Embedded(
        model_path=Path("models/a.gguf"), context_tokens=2048, threads=2, parallel=4
    )
    assert hash(routes[0].transport) == hash(routes[1].transport)


@pytest.mark.parametrize("name", ["context_tokens", "threads", "parallel"])
def test_invalid_counts_raise_configuration_error_naming_the_argument(name: str) -> None:
    """They are a ConfigurationError that names the argument."""
    settings: dict[str, Any] = {name: 0}

    with pytest.raises(ConfigurationError, match=name):
        Local.configure(**settings)


@pytest.mark.parametrize(("context", "limit"), [(4096, MAX_TOKENS), (512, 256), (1, 1)])
def test_there_is_always_a_limit(context: int, limit: int) -> None:
    """The request's own, or one that fits the context."""
    model = Local.configure(context_tokens=context).model()

    assert prepared(model).body["max_tokens"] == limit
    assert prepared(model, max_tokens=5).body["max_tokens"] == 5


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (ToolChoice.required(), ["get_weather", "get_time"]),
        (ToolChoice.named("get_time"), ["get_time"]),
    ],
)
def test_calls_that_must_happen_are_held_to_a_schema(choice: ToolChoice, names: list[str]) -> None:
    """The response can be nothing but one of the calls."""
    body: Any = prepared(Local.configure().model(), tools=TOOLS, tool_choice=choice).body
    allowed = body["response_format"]["json_schema"]["schema"]["anyOf"]

    assert "tools" not in body
    assert [one["properties"]["name"]["const"] for one in allowed] == names


@pytest.mark.parametrize("choice", [None, ToolChoice.auto(), ToolChoice.none()])
def test_calls_that_may_happen_are_the_models_own(choice: ToolChoice | None) -> None:
    """The tools are offered natively."""
    body: Any = prepared(Local.configure().model(), tools=TOOLS, tool_choice=choice).body

    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_weather", "get_time"]
    assert "response_format" not in body


def test_pictures_are_not_for_it() -> None:
    """They are left out, and a diagnostic reports it."""
    message = Message.user("What is this?", ImagePart(url="https://example.com/x.png"))
    ready = prepared(Local.configure().model(), prompt=None, messages=[message])

    assert [note.code for note in ready.diagnostics] == ["unsupported-content"]
    assert "image_url" not in str(ready.body)
