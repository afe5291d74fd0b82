"""Vertex AI's facade: `llmcore/routes/vertex.py`."""

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.client.client import Client
from llmcore.routes.auth import Auth, GoogleCredentials
from llmcore.routes.providers import PROVIDERS
from llmcore.routes.route import Route
from llmcore.routes.vertex import Vertex
from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    RateLimitError,
)
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.chat import USAGE, completion, text_chunks, usage_chunk
from tests.support.wire.chat import sse as chat_sse
from tests.support.wire.prepared import SECRET, WEATHER, failure, prepare, shown
from tests.support.wire.responses import document, events_of, message
from tests.support.wire.responses import sse as responses_sse

pytestmark = pytest.mark.anyio

VERTEX = Vertex.configure(project="p-1", location="europe-west4", auth=Auth.bearer(SECRET))
PLACE = "https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west4"


def hello(model: Model) -> LLMRequest:
    """Return a greeting."""
    return request(model=model, prompt="Hi", max_tokens=9)


MODELS = (
    "gemini-3-pro-preview",
    "claude-sonnet-4-5@20250929",
    "codestral@2405",
    "meta/muse-spark-1.3",
    "xai/grok-4.3",
)


@pytest.mark.parametrize("model", MODELS)
def test_text_request_equals_the_snapshot(model: str, snapshot: SnapshotAssertion) -> None:
    """Instructions and a question; the model stands in the path."""
    asked = request(model=VERTEX.model(model), system="Be brief.", prompt="Hello.", max_tokens=64)

    assert shown(prepare(asked)) == snapshot


@pytest.mark.parametrize("model", MODELS)
def test_tools_request_equals_the_snapshot(model: str, snapshot: SnapshotAssertion) -> None:
    asked = request(
        model=VERTEX.model(model), prompt="Weather in Oslo?", tools=[WEATHER], max_tokens=64
    )

    assert shown(prepare(asked, streaming=True)) == snapshot


@pytest.mark.parametrize(
    ("model", "streaming", "path"),
    [
        (VERTEX.gemini("g"), False, "/publishers/google/models/g:generateContent"),
        (VERTEX.gemini("g"), True, "/publishers/google/models/g:streamGenerateContent?alt=sse"),
        (VERTEX.gemini("endpoints/12"), False, "/endpoints/12:generateContent"),
        (VERTEX.claude("c@1"), False, "/publishers/anthropic/models/c@1:rawPredict"),
        (VERTEX.claude("c@1"), True, "/publishers/anthropic/models/c@1:streamRawPredict"),
        (VERTEX.claude("a/b?c"), False, "/publishers/anthropic/models/a%2Fb%3Fc:rawPredict"),
        (VERTEX.model("claude-x"), False, "/publishers/anthropic/models/claude-x:rawPredict"),
        (VERTEX.model("gemini-x"), False, "/publishers/google/models/gemini-x:generateContent"),
        (VERTEX.model("models/x"), False, "/models/x:generateContent"),
        (VERTEX.chat("meta/llama-x"), False, "/endpoints/openapi/chat/completions"),
        (VERTEX.model("qwen/qwen-x"), True, "/endpoints/openapi/chat/completions"),
        (VERTEX.model("openai/gpt-oss-120b-maas"), True, "/endpoints/openapi/chat/completions"),
        (VERTEX.model("meta/llama-x-maas"), True, "/endpoints/openapi/chat/completions"),
        (VERTEX.mistral("m"), False, "/publishers/mistralai/models/m:rawPredict"),
        (VERTEX.mistral("m@1"), True, "/publishers/mistralai/models/m@1:streamRawPredict"),
        (
            VERTEX.model("mistral-x"),
            True,
            "/publishers/mistralai/models/mistral-x:streamRawPredict",
        ),
        (VERTEX.model("codestral-2"), False, "/publishers/mistralai/models/codestral-2:rawPredict"),
        (VERTEX.model("mistralai/m"), False, "/publishers/mistralai/models/m:rawPredict"),
        (VERTEX.model("openai/gpt-6-luna"), True, "/publishers/openai/v1/responses"),
        (VERTEX.model("meta/muse-spark-1.3"), False, "/publishers/meta/v1/responses"),
        (VERTEX.responses("a?b/m"), False, "/publishers/a%3Fb/v1/responses"),
        (VERTEX.responses("xai/grok-4.3"), True, "/endpoints/openapi/responses"),
    ],
)
def test_the_path_names_model_and_verb(model: Model, streaming: bool, path: str) -> None:
    """By publisher; nothing in an id changes the URL around it."""
    assert prepare(hello(model), streaming=streaming).url == PLACE + path


@pytest.mark.parametrize(
    ("location", "environ", "host", "where"),
    [
        ("us-east5", {}, "us-east5-aiplatform.googleapis.com", "us-east5"),
        ("global", {}, "aiplatform.googleapis.com", "global"),
        ("eu", {}, "aiplatform.eu.rep.googleapis.com", "eu"),
        (None, {}, "aiplatform.googleapis.com", "global"),
        (
            None,
            {"GOOGLE_CLOUD_LOCATION": "us-east5"},
            "us-east5-aiplatform.googleapis.com",
            "us-east5",
        ),
    ],
)
def test_the_location_makes_the_host(
    location: str | None, environ: dict[str, str], host: str, where: str
) -> None:
    """The one given, that of the environment, or global; so with the project."""
    vertex = Vertex.configure(location=location, auth=Auth.none())
    ready = prepare(hello(vertex.gemini("g")), environ={"GOOGLE_CLOUD_PROJECT": "p-2", **environ})

    assert ready.url.startswith(f"https://{host}/v1/projects/p-2/locations/{where}/publishers/")


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (VERTEX.mistral("codestral@2405"), "codestral"),
        (VERTEX.mistral("mistralai/mistral-medium-3"), "mistral-medium-3"),
        (VERTEX.responses("openai/gpt-6-luna"), "gpt-6-luna"),
        (VERTEX.responses("xai/grok-4.3"), "xai/grok-4.3"),
        (VERTEX.chat("zai-org/glm-5-maas"), "zai-org/glm-5-maas"),
    ],
)
def test_the_body_names_the_model_as_its_api_does(model: Model, named: str) -> None:
    """Without a version for Mistral, without the publisher where the path has it."""
    assert prepare(hello(model), streaming=True).body["model"] == named


def test_a_mistral_model_is_asked_in_a_region() -> None:
    """Without any location nothing is sent; the environment's is one."""
    model = Vertex.configure(project="p-1", auth=Auth.none()).mistral("mistral-medium-3")
    told = failure(hello(model))
    ready = prepare(hello(model), environ={"GOOGLE_CLOUD_LOCATION": "us-central1"})

    assert isinstance(told, ConfigurationError)
    assert "europe-west4" in str(told)
    assert ready.url.startswith("https://us-central1-aiplatform.googleapis.com/v1/projects/p-1/")


def test_responses_need_a_publisher() -> None:
    with pytest.raises(ConfigurationError, match="publisher"):
        VERTEX.responses("gpt-6-luna")


@pytest.mark.parametrize(
    ("model", "settings", "sent"),
    [
        ("xai/grok-4.1-fast-reasoning", {"reasoning_effort": "high"}, {}),
        ("xai/grok-4.20-reasoning", {"reasoning_effort": "high"}, {}),
        ("xai/grok-4.3", {"reasoning_effort": "max"}, {"reasoning_effort": "high"}),
        ("xai/grok-4.3", {"stop": "x"}, {}),
        ("xai/grok-4.20-non-reasoning", {"stop": "x"}, {"stop": ["x"]}),
        ("xai/grok-4.3", {"presence_penalty": 0.5}, {}),
        ("deepseek-ai/deepseek-v3.1-maas", {"stop": "x"}, {"stop": ["x"]}),
    ],
)
def test_grok_gets_the_settings_that_its_own_api_takes(
    model: str, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    """The rules of its models are the same at Google; what is left out is reported."""
    ready = prepare(request(model=VERTEX.model(model), prompt="Hi", max_tokens=9, **settings))
    names = ("reasoning_effort", "stop", "presence_penalty")

    assert {name: ready.body[name] for name in names if name in ready.body} == sent
    assert ready.body["max_tokens"] == 9
    assert bool(ready.diagnostics) is (sent == {} or "max" in settings.values())


@pytest.mark.parametrize("model", ["grok-4-1-fast", "grok-4.20-reasoning"])
def test_the_degree_of_thinking_is_not_sent_to_a_grok_that_has_none(model: str) -> None:
    asked = request(
        model=VERTEX.responses(f"xai/{model}"), prompt="Hi", max_tokens=9, reasoning_effort="low"
    )

    ready = prepare(asked)

    assert "reasoning" not in ready.body
    assert "unsupported-parameter" in {note.code for note in ready.diagnostics}


def test_express_mode_needs_a_key_and_no_project() -> None:
    """A key, and neither project nor location."""
    ready = prepare(hello(Vertex.configure(api_key=SECRET).gemini("g")))

    assert ready.url == (
        "https://aiplatform.googleapis.com/v1/publishers/google/models/g:generateContent"
    )
    assert ready.http.headers["x-goog-api-key"] == SECRET
    assert ready.headers["x-goog-api-key"] == "[redacted]"


def test_a_base_url_replaces_the_address() -> None:
    """It stands for all before the publishers; headers and query are added."""
    vertex = Vertex.configure(
        base_url="https://h/v1?a=1", auth=Auth.none(), headers={"x-a": "1"}, query={"b": "2"}
    )
    ready = prepare(hello(vertex.claude("c")))

    assert ready.url == "https://h/v1/publishers/anthropic/models/c:rawPredict?a=1&b=2"
    assert ready.headers["x-a"] == "1"


def test_claude_takes_no_instructions_among_the_messages() -> None:
    """Those of Anthropic's own API do, but not on this platform."""
    said = [Message.user("Hi"), Message.assistant("Hi."), Message.user("So?"), Message.system("Ok")]
    asked = request(model=VERTEX.claude("claude-opus-5"), messages=said)

    messages: Any = prepare(asked).body["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_a_service_tier_of_claude_is_reported() -> None:
    """The header of Priority and Flex PayGo is documented for Gemini alone."""
    ready = prepare(request(model=VERTEX.claude("claude-opus-5"), prompt="Hi", service_tier="flex"))

    assert "service_tier" not in ready.body
    assert "x-vertex-ai-llm-shared-request-type" not in ready.headers
    assert [note.path for note in ready.diagnostics] == ["generation.service_tier"]


def test_google_credentials_are_fetched_unless_auth_is_given() -> None:
    """They are fetched, unless another way to sign is given; without them nothing is sent."""
    usual = Vertex.configure(project="p-1")
    file = Vertex.configure(project="p-1", service_account_file="/x.json")
    route = usual.gemini("g").route
    assert isinstance(route, Route)

    assert route.auth.fetch == GoogleCredentials()
    assert file.claude_route.auth.fetch == GoogleCredentials(service_account_file="/x.json")
    assert VERTEX.gemini_route.auth.fetch is None
    assert isinstance(failure(hello(usual.gemini("g"))), AuthenticationError)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"project": "P/x"}, "project"),
        ({"location": "https://h"}, "location"),
        ({"location": ""}, "location"),
        ({"api_key": "k", "project": "p"}, "express"),
        ({"api_key": "k", "auth": Auth.none()}, "either api_key or auth"),
        ({"service_account_file": "f", "api_key": "k"}, "service_account_file"),
        ({"base_url": "h"}, "base_url"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    """It is refused at once, by the argument's name."""
    with pytest.raises(ConfigurationError, match=named):
        Vertex.configure(**settings)


def test_missing_or_invalid_project_raises_an_error_naming_its_sources() -> None:
    """The error names argument and variable, and for an invalid value, its variable."""
    vertex = Vertex.configure(auth=Auth.none())
    missing = failure(hello(vertex.gemini("g")))
    wrong = failure(hello(vertex.gemini("g")), GOOGLE_CLOUD_PROJECT="a/b")

    assert isinstance(missing, ConfigurationError)
    assert "GOOGLE_CLOUD_PROJECT" in missing.message
    assert "project=" in missing.message
    assert isinstance(wrong, ConfigurationError)
    assert "GOOGLE_CLOUD_PROJECT 'a/b'" in wrong.message


def test_a_project_announces_it() -> None:
    """Its variable is what `Client.from_env` looks for."""
    entry = next(entry for entry in PROVIDERS if entry.id == "vertex")

    assert entry.is_configured({"GOOGLE_CLOUD_PROJECT": "p"})
    assert not entry.is_configured({"GOOGLE_API_KEY": "k"})
    assert isinstance(entry.from_environ({"GOOGLE_CLOUD_PROJECT": "p"}), Vertex)


def test_open_models_are_named_in_the_body_with_their_publisher() -> None:
    """With the project's own credentials."""
    prepared = prepare(hello(VERTEX.model("deepseek-ai/deepseek-x")))

    assert prepared.body["model"] == "deepseek-ai/deepseek-x"
    assert prepared.http.headers["authorization"] == f"Bearer {SECRET}"


# -- responses over loopback


async def test_answers_of_partners_models_arrive_streamed_and_whole() -> None:
    """Chat Completions of `rawPredict` and Responses of a publisher, signed by Google's token."""
    spoken = {
        "/publishers/mistralai/models/mistral-medium-3": (
            chat_sse([*text_chunks("Oslo", "."), usage_chunk()]),
            completion({"content": "Oslo."}, usage=USAGE),
        ),
        "/publishers/meta/v1/responses": (
            responses_sse(events_of([message("Oslo.")])),
            document([message("Oslo.")]),
        ),
    }

    def answer(received: Received) -> Answer:
        path, _, verb = received.path.partition(":")
        stream, whole = spoken[path]
        streamed = json.loads(received.body).get("stream") is True
        assert verb in ("", "streamRawPredict" if streamed else "rawPredict")
        assert received.headers["authorization"] == f"Bearer {SECRET}"
        if streamed:
            return Answer([stream], headers={"content-type": "text/event-stream"})
        return Answer([json.dumps(whole).encode()], headers={"content-type": "application/json"})

    with serve(answer) as server:
        vertex = Vertex(base_url=server.url, auth=Auth.bearer(SECRET))
        async with Client() as client:
            for name in ("mistral-medium-3", "meta/muse-spark-1.3"):
                asked = hello(vertex.model(name))
                streamed = await client.stream(asked).result()
                generated = (await client.generate(asked)).unwrap()
                assert streamed.unwrap().text == generated.text == "Oslo."
                assert generated.usage.input_tokens


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            429,
            {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}},
            RateLimitError,
        ),
        (
            404,
            {"error": {"code": 404, "message": "Publisher Model not found", "status": "NOT_FOUND"}},
            NotFoundError,
        ),
        (
            422,
            {"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "Extra inputs"}]}},
            InvalidRequestError,
        ),
    ],
)
async def test_errors_of_google_and_of_the_partner_are_typed(
    status: int, body: dict[str, Any], kind: type[LLMError]
) -> None:
    """Google's own, and those that a partner's server answers through `rawPredict`."""
    with serve(
        lambda _: Answer([json.dumps(body).encode()], status, {"content-type": "application/json"})
    ) as server:
        vertex = Vertex(base_url=server.url, auth=Auth.none())
        async with Client() as client:
            told = (await client.generate(hello(vertex.mistral("mistral-medium-3")))).failure()

    assert type(told) is kind
