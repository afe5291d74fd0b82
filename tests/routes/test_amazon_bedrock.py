"""Amazon Bedrock's facade: `llmcore/routes/amazon_bedrock.py`."""

import json
from base64 import b64encode
from typing import Any

import pytest

from llmcore.client.client import Client
from llmcore.routes.amazon_bedrock import AmazonBedrock
from llmcore.routes.auth import Auth
from llmcore.routes.providers import PROVIDERS
from llmcore.routes.route import Route
from llmcore.routes.sigv4 import AwsCredentialChain
from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    LLMError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta
from llmcore.schema.json import JsonValue
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import ToolDefinition
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.anthropic import message as claude_message
from tests.support.wire.anthropic import stream_of as claude_stream
from tests.support.wire.anthropic import text as claude_text
from tests.support.wire.anthropic import tool_use as claude_tool
from tests.support.wire.bedrock import frames as aws_frames
from tests.support.wire.prepared import SECRET, failure, prepare
from tests.support.wire.protocol import ProtocolWire, response

pytestmark = pytest.mark.anyio

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET}
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"


def hello(model: Model, **given: Any) -> LLMRequest:
    """Return a greeting."""
    return request(model=model, prompt="Hi", **given)


def auth_of(bedrock: AmazonBedrock) -> Auth:
    """Return what signs."""
    route = bedrock.model("m").route
    assert isinstance(route, Route)
    return route.auth


@pytest.mark.parametrize(
    ("model", "segment"),
    [
        ("amazon.nova-lite-v1:0", "amazon.nova-lite-v1%3A0"),
        ("global.anthropic.claude-opus-5", "global.anthropic.claude-opus-5"),
        (PROFILE, PROFILE.replace(":", "%3A").replace("/", "%2F")),
    ],
)
def test_ids_profiles_and_arns(model: str, segment: str) -> None:
    """Each is one segment of the path; a stream has another verb and framing."""
    bedrock = AmazonBedrock.configure(region="us-east-1", api_key="k")
    base = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{segment}"
    streamed = prepare(hello(bedrock.model(model)), streaming=True)

    assert prepare(hello(bedrock.model(model))).url == f"{base}/converse"
    assert streamed.url == f"{base}/converse-stream"
    assert streamed.headers["accept"] == "application/vnd.amazon.eventstream"


@pytest.mark.parametrize(
    ("region", "environ", "host"),
    [
        ("eu-west-1", {"AWS_REGION": "us-east-1"}, "bedrock-runtime.eu-west-1.amazonaws.com"),
        (None, {"AWS_REGION": "us-east-1"}, "bedrock-runtime.us-east-1.amazonaws.com"),
        (None, {"AWS_DEFAULT_REGION": "us-west-2"}, "bedrock-runtime.us-west-2.amazonaws.com"),
        (
            None,
            {"AWS_DEFAULT_REGION": "us-west-2", "AWS_REGION": "us-gov-west-1"},
            "bedrock-runtime.us-gov-west-1.amazonaws.com",
        ),
        ("cn-north-1", {}, "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", {}, "bedrock-runtime.eusc-de-east-1.amazonaws.eu"),
        ("us-isob-east-1", {}, "bedrock-runtime.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
def test_the_region_makes_the_host(region: str | None, environ: dict[str, str], host: str) -> None:
    """The one given, or that of the environment; signatures hold it, too."""
    bedrock = AmazonBedrock.configure(region=region)
    ready = prepare(hello(bedrock.model("m")), environ={**KEYS, **environ})

    assert ready.url == f"https://{host}/model/m/converse"
    assert f"/{host.split('.')[1]}/bedrock/aws4_request" in ready.http.headers["authorization"]


def test_a_base_url_replaces_the_endpoint() -> None:
    """It is signed for the region all the same."""
    url = "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"
    bedrock = AmazonBedrock.configure(base_url=url, region="us-east-1")
    ready = prepare(hello(bedrock.model("m")), environ=KEYS)

    assert ready.url == f"{url}/model/m/converse"
    assert "/us-east-1/bedrock/" in ready.http.headers["authorization"]


def test_a_bedrock_key_comes_first() -> None:
    """It is a bearer token: nothing is signed and nothing fetched."""
    environ = {**KEYS, "AWS_BEARER_TOKEN_BEDROCK": "b", "AWS_REGION": "us-east-1"}
    bedrock = AmazonBedrock.configure()
    ready = prepare(hello(bedrock.model("m")), environ=environ)

    assert ready.http.headers["authorization"] == "Bearer b"
    assert "x-amz-date" not in ready.headers


@pytest.mark.parametrize(
    ("environ", "fetched"),
    [
        ({}, True),
        ({"AWS_PROFILE": "p"}, True),
        ({"AWS_ACCESS_KEY_ID": "a"}, True),
        (KEYS, False),
        ({"AWS_BEARER_TOKEN_BEDROCK": "b"}, False),
        ({"AWS_BEARER_TOKEN_BEDROCK": ""}, True),
    ],
)
def test_when_the_chain_is_asked(environ: dict[str, str], fetched: bool) -> None:
    """Only if the environment holds no key; a profile that is named is always asked for."""
    auth = auth_of(AmazonBedrock.configure())
    named = auth_of(AmazonBedrock.configure(profile="p"))

    assert auth.fetch == AwsCredentialChain()
    assert auth.fetch_when(environ) is fetched
    assert named.fetch == AwsCredentialChain(profile="p")
    assert named.fetch_when(environ)
    assert auth_of(AmazonBedrock.configure(api_key="k")).fetch is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"region": "Frankfurt"}, "region"),
        ({"region": "us-east-1.evil.example/"}, "region"),
        ({"region": ""}, "region"),
        ({"profile": "p", "api_key": "k"}, "profile"),
        ({"profile": "p", "auth": Auth.none()}, "profile"),
    ],
)
def test_invalid_arguments_raise_configuration_error_naming_the_argument(
    settings: dict[str, Any], named: str
) -> None:
    """It is refused at once, by the argument's name."""
    with pytest.raises(ConfigurationError, match=named):
        AmazonBedrock.configure(**settings)


def test_missing_or_invalid_region_raises_an_error_naming_its_sources() -> None:
    """The error names argument and variables, and for an invalid region, its variable."""
    bedrock = AmazonBedrock.configure(api_key="k")
    missing = failure(hello(bedrock.model("m")))
    wrong = failure(hello(bedrock.model("m")), AWS_REGION="here")

    assert isinstance(missing, ConfigurationError)
    assert all(n in missing.message for n in ("region=", "AWS_REGION", "AWS_DEFAULT_REGION"))
    assert isinstance(wrong, ConfigurationError)
    assert "AWS_REGION 'here'" in wrong.message


def test_missing_credentials_are_an_error_that_names_each_way() -> None:
    """Every way to sign is named."""
    error = failure(hello(AmazonBedrock.configure(region="us-east-1").model("m")))

    assert isinstance(error, AuthenticationError)
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert name in error.message


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({"AWS_BEARER_TOKEN_BEDROCK": "k"}, True),
        ({"AWS_ACCESS_KEY_ID": "k"}, True),
        ({"AWS_PROFILE": "p"}, True),
        ({"AWS_REGION": "us-east-1"}, False),
    ],
)
def test_variables_that_announce_it(environ: dict[str, str], found: bool) -> None:
    """A key of either kind, or a profile; a region alone does not suffice."""
    entry = next(entry for entry in PROVIDERS if entry.id == "bedrock")

    assert entry.is_configured(environ) is found


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("chat", "bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions"),
        ("responses", "bedrock-runtime.us-east-1.amazonaws.com/openai/v1/responses"),
        ("messages", "bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages"),
    ],
)
def test_other_apis_have_their_addresses_and_plain_streams(api: str, path: str) -> None:
    """The key is the same bearer, and the model is named in the body."""
    bedrock = AmazonBedrock(region="us-east-1", api_key=SECRET)
    streamed = prepare(hello(getattr(bedrock, api)("m")), streaming=True)

    assert streamed.url == f"https://{path}"
    assert streamed.body["model"] == "m"
    assert streamed.http.headers["authorization"] == f"Bearer {SECRET}"
    assert streamed.http.headers["accept"] == "text/event-stream"


def test_messages_api_has_its_version_and_is_signed_for_its_own_service() -> None:
    """The others are signed for `bedrock`, whatever the host is called."""
    bedrock = AmazonBedrock(region="us-east-1")
    messages = prepare(hello(bedrock.messages("m")), environ=KEYS).http.headers
    chat = prepare(hello(bedrock.chat("m")), environ=KEYS).http.headers

    assert messages["anthropic-version"] == "2023-06-01"
    assert "/us-east-1/bedrock-mantle/aws4_request" in messages["authorization"]
    assert "/us-east-1/bedrock/aws4_request" in chat["authorization"]


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("anthropic.claude-opus-4-8", "bedrock-mantle.us-east-1.api.aws"),
        ("eu.anthropic.claude-opus-4-8", "bedrock-runtime.us-east-1.amazonaws.com"),
        ("us-gov.anthropic.claude-opus-5", "bedrock-runtime.us-east-1.amazonaws.com"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "bedrock-runtime.us-east-1.amazonaws.com"),
        (PROFILE, "bedrock-runtime.us-east-1.amazonaws.com"),
    ],
)
def test_the_id_decides_which_host_is_sent_messages(model: str, host: str) -> None:
    """Ids of inference profiles, versions and ARNs are of the runtime, and signed for it."""
    ready = prepare(hello(AmazonBedrock(region="us-east-1").messages(model)), environ=KEYS)

    assert ready.url == f"https://{host}/anthropic/v1/messages"
    assert ready.body["model"] == model
    assert ready.headers["anthropic-version"] == "2023-06-01"
    service = "bedrock-mantle" if "mantle" in host else "bedrock"
    assert f"/us-east-1/{service}/aws4_request" in ready.http.headers["authorization"]


def test_features_that_are_not_beta_at_bedrock_are_not_named() -> None:
    """It rejects names that it does not know; others go up."""
    bedrock = AmazonBedrock(region="us-east-1", api_key="k")
    options = {"bedrock": {"betas": ["context-1m-2025-08-07"]}}
    for model in (bedrock.messages("eu.anthropic.claude-opus-5"), bedrock.messages("anthropic.m")):
        asked = request(
            model=model, prompt="Hi", system="Be brief. " * 999, provider_options=options
        )
        assert prepare(asked).headers["anthropic-beta"] == "context-1m-2025-08-07"
        assert "anthropic-beta" not in prepare(hello(model)).headers


@pytest.mark.parametrize(
    ("streaming", "operation", "accept"),
    [
        (False, "invoke", "application/json"),
        (True, "invoke-with-response-stream", "application/vnd.amazon.eventstream"),
    ],
)
def test_invoke_model_names_model_and_stream_in_the_path(
    streaming: bool, operation: str, accept: str
) -> None:
    """Version and beta features are in the body; it is signed as Converse is."""
    asked = request(
        model=AmazonBedrock(region="us-east-1").invoke(PROFILE),
        prompt="Hi",
        provider_options={"bedrock": {"betas": ["context-1m-2025-08-07"]}},
    )
    ready = prepare(asked, streaming=streaming, environ=KEYS)
    segment = PROFILE.replace(":", "%3A").replace("/", "%2F")

    assert ready.url == (
        f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{segment}/{operation}"
    )
    assert not {"model", "stream"} & set(ready.body)
    assert ready.body["anthropic_version"] == "bedrock-2023-05-31"
    assert ready.body["anthropic_beta"] == ["context-1m-2025-08-07"]
    assert "anthropic-beta" not in ready.headers
    assert ready.headers["accept"] == accept
    assert "/us-east-1/bedrock/aws4_request" in ready.http.headers["authorization"]


@pytest.mark.parametrize(
    ("tier", "header"),
    [
        ("flex", "flex"),
        ("priority", "priority"),
        ("default", "default"),
        ("reserved", "reserved"),
        ("auto", None),
    ],
)
def test_invoke_model_has_the_service_tier_as_a_header(tier: str, header: str | None) -> None:
    model = AmazonBedrock(region="us-east-1").invoke(PROFILE)
    ready = prepare(hello(model, service_tier=tier), environ=KEYS)

    assert ready.headers.get("x-amzn-bedrock-service-tier") == header
    assert "service_tier" not in ready.body
    assert ready.diagnostics == ()


@pytest.mark.parametrize(
    ("model_id", "enforced"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("us.anthropic.claude-opus-4-6-v1", True),
        ("us.anthropic.claude-opus-4-7", False),
        ("eu.anthropic.claude-opus-5", False),
    ],
)
def test_invoke_model_enforces_no_schemas_for_newer_models(model_id: str, enforced: bool) -> None:
    """They call a tool whose input is the response, and tools are not strict."""
    schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    model = AmazonBedrock(region="us-east-1").invoke(model_id)
    assert isinstance(model.route, Route)

    asked = hello(model, response_format=ResponseFormat.json_schema(schema))
    body = prepare(asked, environ=KEYS).body
    tool = ToolDefinition("f", parameters=schema, strict=True)
    (sent,) = prepare(hello(model, tools=[tool]), environ=KEYS).body["tools"]

    assert ("format" in body.get("output_config", {})) is enforced
    assert (body.get("tool_choice", {}).get("type") == "tool") is not enforced
    assert sent.get("strict", False) is enforced
    name = body["tools"][0]["name"] if not enforced else ""
    said = claude_message(
        claude_text('{"a":"b"}') if enforced else claude_tool(name, {"a": "b"}),
        stop="end_turn" if enforced else "tool_use",
    )
    wire = ProtocolWire(model.route.protocol, model.route.framing, "application/json")
    assert response(wire.whole(said, asked)).text == '{"a":"b"}'


def test_a_service_tier_of_the_messages_endpoint_is_reported() -> None:
    """Its documents name none."""
    model = AmazonBedrock(region="us-east-1").messages("anthropic.claude-opus-5")
    ready = prepare(hello(model, service_tier="flex"), environ=KEYS)

    assert "service_tier" not in ready.body
    assert [note.path for note in ready.diagnostics] == ["generation.service_tier"]


# -- responses of InvokeModel over loopback


def chunks(*events: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Return *events* as InvokeModelWithResponseStream sends them, but for the framing."""
    encoded = [b64encode(json.dumps(event).encode()).decode() for event in events]
    return [
        ("chunk", {"bytes": text, "p": "abcd"[: index % 4]}) for index, text in enumerate(encoded)
    ]


DOCUMENT = claude_message(claude_text("Oslo is the capital."))


async def test_answers_of_invoke_model_arrive_streamed_and_whole() -> None:
    stream = aws_frames(chunks(*claude_stream(DOCUMENT)))

    def answer(received: Received) -> Answer:
        if received.path.endswith("/invoke"):
            body = json.dumps(DOCUMENT).encode()
            served = {"x-amzn-bedrock-service-tier": "flex"}
            return Answer([body], headers={"content-type": "application/json", **served})
        cut = [stream[at : at + 37] for at in range(0, len(stream), 37)]
        return Answer(cut, headers={"content-type": "application/vnd.amazon.eventstream"})

    with serve(answer) as server:
        bedrock = AmazonBedrock(region="us-east-1", api_key=SECRET, base_url=server.url)
        async with Client() as client:
            asked = hello(bedrock.invoke("eu.anthropic.claude-opus-5"))
            streamed = (await client.stream(asked).result()).unwrap()
            whole = (await client.generate(asked)).unwrap()

    assert streamed.text == whole.text == "Oslo is the capital."
    assert streamed.usage.output_tokens == whole.usage.output_tokens == 7
    assert (streamed.usage.service_tier, whole.usage.service_tier) == (None, "flex")


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (("exception:throttlingException", {"message": "Too many tokens"}), RateLimitError),
        (("exception:modelStreamErrorException", {"message": "No"}), ServerError),
        (("error:InternalFailure", {"message": "No"}), ServerError),
        (("chunk", {"p": "abcd"}), StreamError),
        (("chunk", {"bytes": "%"}), StreamError),
    ],
)
async def test_a_fault_within_a_stream_of_invoke_model_is_a_typed_error(
    last: Any, kind: type[LLMError]
) -> None:
    events = chunks(*claude_stream(DOCUMENT)[:3])
    body = aws_frames([*events, last])
    with serve(
        lambda _: Answer([body], headers={"content-type": "application/vnd.amazon.eventstream"})
    ) as server:
        bedrock = AmazonBedrock(region="us-east-1", api_key=SECRET, base_url=server.url)
        async with Client() as client:
            asked = hello(bedrock.invoke("eu.anthropic.claude-opus-5"))
            told = (await client.stream(asked).result()).failure()

    assert type(told) is kind
    assert kind is StreamError or told.message.startswith(last[1]["message"])


def test_other_apis_follow_a_base_url() -> None:
    bedrock = AmazonBedrock(region="us-east-1", api_key="k", base_url="https://vpc.example")

    assert prepare(hello(bedrock.chat("m"))).url == "https://vpc.example/openai/v1/chat/completions"
    assert prepare(hello(bedrock.messages("m"))).url == "https://vpc.example/anthropic/v1/messages"


@pytest.mark.parametrize(
    ("model_id", "deltas"),
    [
        (
            "openai.gpt-oss-120b-1:0",
            [ReasoningDelta("reasoning_0", "Hm."), TextDelta("text_1", "Done.")],
        ),
        ("deepseek.v3.2", [TextDelta("text_0", "<reasoning>Hm.</reasoning>Done.")]),
    ],
)
def test_thinking_of_gpt_oss_stands_in_tags(model_id: str, deltas: list[LLMEvent]) -> None:
    """Of this model alone: others may be asked for such tags."""
    protocol = AmazonBedrock(region="eu-west-1").chat_route.protocol
    message: JsonValue = {"role": "assistant", "content": "<reasoning>Hm.</reasoning>Done."}
    choice: JsonValue = {"index": 0, "message": message, "finish_reason": "stop"}
    asked = request(model=Model(model_id, "bedrock"), prompt="Hello")

    events = protocol.whole({"id": "1", "choices": [choice]}, asked)

    found = [event for event in events if isinstance(event, ReasoningDelta | TextDelta)]
    assert found == deltas
