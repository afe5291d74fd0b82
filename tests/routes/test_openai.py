"""OpenAI's facade: `llmcore/routes/openai.py`."""

from llmcore.routes.auth import AuthContext
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.openai import OpenAI
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import request


def prepared(model: Model) -> PreparedRequest:
    """Return the native request of a greeting."""
    assert isinstance(model.route, Route)
    context = AuthContext(environ={"OPENAI_API_KEY": "sk-1"})
    return model.route.prepare(
        request(model=model, prompt="Hi"), streaming=False, context=context
    ).unwrap()


def test_organization_and_project_are_headers() -> None:
    """And only if they are given; the caller's own headers stand beside them."""
    plain = prepared(OpenAI.configure().chat("gpt-5.2"))
    openai = OpenAI.configure(organization="org-1", project="proj-1", headers={"x-a": "1"})
    both = prepared(openai.chat("gpt-5.2"))

    assert not {"openai-organization", "openai-project"} & plain.headers.keys()
    assert both.headers["openai-organization"] == "org-1"
    assert both.headers["openai-project"] == "proj-1"
    assert both.headers["x-a"] == "1"


def test_defaults_are_kept_beside_headers() -> None:
    """The headers given do not replace those of `defaults`."""
    defaults = RouteDefaults(headers={"x-b": "2"}, generation=GenerationOptions(max_tokens=9))
    ready = prepared(OpenAI.configure(headers={"x-a": "1"}, defaults=defaults).chat("gpt-5.2"))

    assert (ready.headers["x-a"], ready.headers["x-b"]) == ("1", "2")
    assert ready.body["max_completion_tokens"] == 9


def test_responses_is_the_usual_api() -> None:
    """Another path and protocol, everything else as it was configured."""
    openai = OpenAI.configure(base_url="https://h/v1?a=1", organization="org-1", query={"b": "2"})

    usual, responses = openai.model("gpt-5.2"), openai.responses("gpt-5.2")

    assert usual.route == responses.route
    assert isinstance(usual.route, Route)
    assert (usual.route.id, usual.route.protocol.id) == ("openai-responses", "openai-responses")
    assert prepared(usual).url == "https://h/v1/responses?a=1&b=2"
    assert prepared(usual).headers["openai-organization"] == "org-1"
    assert prepared(usual).body["input"]
    assert prepared(openai.chat("gpt-5.2")).url == "https://h/v1/chat/completions?a=1&b=2"
