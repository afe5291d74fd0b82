"""Anthropic's facade: `llmcore/routes/anthropic.py`."""

import pytest

from llmcore.routes.anthropic import Anthropic, AnthropicCompatible
from llmcore.routes.auth import Auth
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.route import PreparedRequest
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, HttpOverlay
from llmcore.schema.request import request
from tests.support.wire.prepared import prepare


def hello(model: Model, **environ: str) -> PreparedRequest:
    """Return the native request of a greeting."""
    return prepare(request(model=model, prompt="Hi", max_tokens=9), environ=environ)


@pytest.mark.parametrize(
    ("environ", "header", "value"),
    [
        ({"ANTHROPIC_API_KEY": "a"}, "x-api-key", "a"),
        ({"ANTHROPIC_AUTH_TOKEN": "b"}, "authorization", "Bearer b"),
        ({"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "b"}, "x-api-key", "a"),
        ({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "b"}, "authorization", "Bearer b"),
    ],
)
def test_key_and_token_have_one_header_each(
    environ: dict[str, str], header: str, value: str
) -> None:
    """Each has its header, and only one of them is sent."""
    ready = hello(Anthropic.configure().model("claude-sonnet-4-5"), **environ)

    assert ready.http.headers[header] == value
    assert len({"x-api-key", "authorization"} & set(ready.http.headers)) == 1


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (None, "https://api.anthropic.com/v1/messages"),
        ("https://h", "https://h/v1/messages"),
        ("https://h/", "https://h/v1/messages"),
        ("https://h/v1", "https://h/v1/messages"),
        ("https://h/v1/", "https://h/v1/messages"),
        ("https://h/anthropic?a=1", "https://h/anthropic/v1/messages?a=1"),
    ],
)
def test_base_urls_may_end_with_the_version(base_url: str | None, url: str) -> None:
    """With the version in them or without."""
    assert hello(Anthropic.configure(api_key="k", base_url=base_url).model("m")).url == url


def test_version_is_configurable_and_betas_are_joined() -> None:
    """The version can be another; betas of provider, caller and body go out together."""
    provider = Anthropic.configure(
        api_key="k", version="2099-01-01", betas=["one", "two"], headers={"Anthropic-Beta": "three"}
    )
    asked = request(
        model=provider.model("claude-sonnet-4-5"),
        prompt="Hi",
        max_tokens=9,
        provider_options={"anthropic": {"betas": ["two", "four"]}},
        http=HttpOverlay(headers={"anthropic-beta": "five"}),
        cache=CachePolicy(mode="off"),
    )
    ready = prepare(asked)

    assert ready.headers["anthropic-version"] == "2099-01-01"
    assert ready.headers["anthropic-beta"] == "one,two,three,four,five"
    assert hello(Anthropic.configure(api_key="k").model("m")).headers["anthropic-version"] == (
        "2023-06-01"
    )


def test_betas_are_a_list() -> None:
    """A string would be taken letter by letter."""
    with pytest.raises(ConfigurationError, match=r"betas=\['one'\]"):
        Anthropic.configure(api_key="k", betas="one")


def test_headers_of_defaults_are_merged_with_given_headers() -> None:
    """Headers of `defaults` stand beside those given, and can change the version."""
    defaults = RouteDefaults(headers={"x-b": "2", "anthropic-version": "2020-01-01"})
    provider = Anthropic.configure(api_key="k", headers={"x-a": "1"}, defaults=defaults)
    ready = hello(provider.model("m"))

    assert (ready.headers["x-a"], ready.headers["x-b"]) == ("1", "2")
    assert ready.headers["anthropic-version"] == "2020-01-01"


def test_compatible_server_has_its_own_provider_id_and_no_default_auth() -> None:
    """It is a provider under its own name, signed only if auth is given."""
    bare = AnthropicCompatible.configure(name="acme", base_url="https://h")
    keyed = AnthropicCompatible.configure(name="acme", base_url="https://h", api_key="k")
    bearer = AnthropicCompatible.configure(name="acme", base_url="https://h", auth=Auth.bearer("k"))

    assert bare.model("m").provider == "acme"
    assert not {"x-api-key", "authorization"} & set(hello(bare.model("m")).headers)
    assert hello(keyed.model("m")).http.headers["x-api-key"] == "k"
    assert hello(bearer.model("m")).http.headers["authorization"] == "Bearer k"
    with pytest.raises(ConfigurationError, match="name"):
        AnthropicCompatible.configure(name="a b", base_url="https://h")
