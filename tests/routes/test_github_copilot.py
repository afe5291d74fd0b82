"""GitHub Copilot's facade: `llmcore/routes/github_copilot.py`."""

from collections.abc import Sequence
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.routes.github_copilot import GithubCopilot, has_images, initiator
from llmcore.routes.github_credentials import CopilotAccess, CopilotLogin, is_github_token
from llmcore.routes.providers import PROVIDERS
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.content import ImagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.errors import AuthenticationError, ConfigurationError, InvalidRequestError
from llmcore.schema.events import ToolCall, ToolInputDelta, ToolInputStart
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.version import VERSION
from tests.support.wire.prepared import NOW, SECRET, WEATHER, failure, prepare, shown
from tests.support.wire.responses import Native, events_of, function_call, message, reasoning, sse

COPILOT = GithubCopilot.configure(token=SECRET)
PNG = "data:image/png;base64,iVBORw0KGgo="


def hello(model: Model, **given: Any) -> LLMRequest:
    """Return a greeting."""
    return request(model=model, **({"prompt": "Hi"} | given))


# -- what is sent


@pytest.mark.parametrize("model", ["claude-sonnet-4.5", "gpt-5.2"])
def test_text_request_uses_the_api_of_its_model(model: str, snapshot: SnapshotAssertion) -> None:
    """Instructions and a question, over the API that serves the model."""
    asked = request(model=COPILOT.model(model), system="Be brief.", prompt="Hello.", max_tokens=64)

    assert shown(prepare(asked)).replace(VERSION, "VERSION") == snapshot


@pytest.mark.parametrize("model", ["claude-sonnet-4.5", "gpt-5.2"])
def test_streamed_tools_request_is_marked_as_an_agents(
    model: str, snapshot: SnapshotAssertion
) -> None:
    """A tool loop, streamed: it is an agent that asks."""
    history = [
        Message.user("Weather in Oslo?"),
        Message.assistant(ToolCallPart("call_1", "get_weather", {"city": "Oslo"})),
        Message.tool("call_1", {"celsius": 4}, name="get_weather"),
    ]
    asked = request(
        model=COPILOT.model(model), messages=history, tools=[WEATHER], reasoning_effort="low"
    )

    assert shown(prepare(asked, streaming=True)).replace(VERSION, "VERSION") == snapshot


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-4.1", "/chat/completions"),
        ("gpt-4o", "/chat/completions"),
        ("gpt-41-copilot", "/chat/completions"),
        ("gpt-5-mini", "/chat/completions"),
        ("claude-opus-4.5", "/chat/completions"),
        ("gemini-3-pro-preview", "/chat/completions"),
        ("gpt-5", "/responses"),
        ("gpt-5.2", "/responses"),
        ("gpt-5.4-mini", "/responses"),
        ("gpt-5.2-codex", "/responses"),
        ("gpt-6", "/responses"),
        ("gpt-10-pro", "/responses"),
    ],
)
def test_which_api_serves_a_model(model: str, path: str) -> None:
    """Responses for GPT-5 and later but for its mini model; either can be named."""
    assert prepare(hello(COPILOT.model(model))).url == f"https://api.githubcopilot.com{path}"
    assert prepare(hello(COPILOT.chat(model))).url.endswith("/chat/completions")
    assert prepare(hello(COPILOT.responses(model))).url.endswith("/responses")


@pytest.mark.parametrize(
    ("endpoints", "path"),
    [
        (["/chat/completions", "/v1/messages"], "/v1/messages"),
        (["/v1/messages", "/responses"], "/v1/messages"),
        (["/chat/completions", "/responses", "ws:/responses"], "/responses"),
        (["/chat/completions"], "/chat/completions"),
        (["/completions"], "/chat/completions"),
        ([], "/responses"),
    ],
)
def test_listed_endpoints_decide_before_the_name(endpoints: list[str], path: str) -> None:
    ready = prepare(hello(COPILOT.model("gpt-5.2", endpoints=endpoints)))

    assert ready.url == f"https://api.githubcopilot.com{path}"


# -- Messages


def test_messages_request_has_bearer_token_and_cache_marks(snapshot: SnapshotAssertion) -> None:
    """A tool loop with a picture and thinking, streamed: bearer token, marks of the cache."""
    history = [
        Message.user("Weather?", ImagePart(url=PNG)),
        Message.assistant(ToolCallPart("call_1", "get_weather", {"city": "Oslo"})),
        Message.tool("call_1", {"celsius": 4}, name="get_weather"),
    ]
    asked = request(
        model=COPILOT.messages("claude-sonnet-4.5"),
        system="Be brief.",
        messages=history,
        tools=[WEATHER],
        reasoning_effort="low",
    )

    assert shown(prepare(asked, streaming=True)).replace(VERSION, "VERSION") == snapshot


@pytest.mark.parametrize(
    ("model", "given", "betas"),
    [
        ("claude-sonnet-4.5", {}, None),
        ("claude-sonnet-4.5", {"reasoning_effort": "low"}, "interleaved-thinking-2025-05-14"),
        ("claude-opus-4.7", {"reasoning_effort": "low"}, None),
        (
            "claude-sonnet-4.5",
            {
                "reasoning_effort": "low",
                "provider_options": {"anthropic": {"betas": ["context-1m-2025-08-07"]}},
            },
            "interleaved-thinking-2025-05-14,context-1m-2025-08-07",
        ),
    ],
)
def test_thinking_between_calls_is_a_beta_feature_of_models_with_a_budget(
    model: str, given: dict[str, Any], betas: str | None
) -> None:
    ready = prepare(hello(COPILOT.messages(model), **given))

    assert ready.headers.get("anthropic-beta") == betas
    assert ready.headers["anthropic-version"] == "2023-06-01"
    assert "x-api-key" not in ready.headers


def test_a_service_tier_over_messages_is_reported() -> None:
    """Copilot has none."""
    ready = prepare(hello(COPILOT.messages("claude-sonnet-4.5"), service_tier="priority"))

    assert "service_tier" not in ready.body
    assert [note.path for note in ready.diagnostics] == ["generation.service_tier"]


RESULT = ToolResultPart("c", "4")
PICTURED = ToolResultPart("c", (TextPart("see"), ImagePart(url=PNG)))


@pytest.mark.parametrize(
    ("messages", "who"),
    [
        ([Message.user("Hi")], "user"),
        ([Message.user("Hi"), Message.assistant("Yes"), Message.user("More")], "user"),
        ([Message.user("Hi"), Message.system("Be brief.")], "user"),
        ([Message.user("Hi"), Message.tool("c", "4")], "agent"),
        ([Message.user("Hi"), Message.assistant("Ye")], "agent"),
        ([Message.system("Be brief.")], "user"),
    ],
)
def test_the_initiator_is_the_user_or_an_agent(messages: Sequence[Message], who: str) -> None:
    """The user by their own words, an agent by what it works on."""
    assert initiator(messages) == who
    ready = prepare(hello(COPILOT.model("gpt-5.2"), prompt=None, messages=messages))
    assert ready.headers["x-initiator"] == who


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        ([Message.user("Hi")], False),
        ([Message.user("Hi", ImagePart(url=PNG))], True),
        ([Message.user("Hi", ImagePart(url=PNG)), Message.assistant("?"), Message.user(".")], True),
        ([Message.user("Hi"), Message("tool", (RESULT,))], False),
        ([Message.user("Hi"), Message("tool", (PICTURED,))], True),
    ],
)
def test_images_anywhere_in_the_conversation_set_the_vision_header(
    messages: Sequence[Message], shown: bool
) -> None:
    """Wherever in the conversation they are."""
    assert has_images(messages) is shown
    ready = prepare(hello(COPILOT.model("gpt-4.1"), prompt=None, messages=messages))
    assert ("copilot-vision-request" in ready.headers) is shown


def test_a_picture_by_url_is_reported_and_not_sent() -> None:
    """The server refuses it."""
    picture = Message.user("?", ImagePart(url="https://example.com/x.png"))
    ready = prepare(hello(COPILOT.chat("gpt-4.1"), prompt=None, messages=[picture]))

    assert "example.com" not in str(ready.body)
    assert ready.diagnostics


def test_references_to_stored_responses_are_dropped_or_refused() -> None:
    """Such options are left out and reported, or refused in strict mode."""
    options: dict[str, JsonObject] = {
        "openai": {"previous_response_id": "resp_1"},
        "github-copilot": {"conversation": "conv_1", "truncation": "auto"},
    }
    asked = hello(COPILOT.responses("gpt-5.2"), provider_options=options)
    ready = prepare(asked)
    refused = failure(hello(COPILOT.responses("m"), provider_options=options, strict=True))

    assert not {"previous_response_id", "conversation"} & ready.body.keys()
    assert ready.body["store"] is False
    assert ready.body["truncation"] == "auto"
    assert [note.path for note in ready.diagnostics] == [
        "provider_options.github-copilot.conversation",
        "provider_options.openai.previous_response_id",
    ]
    assert isinstance(refused, InvalidRequestError)


# -- ids that change with every event


def rotated(events: Sequence[Native]) -> list[Native]:
    """Give every item a new id in every event, and encrypt the pieces of arguments."""
    changed = []
    for number, event in enumerate(events):
        new = dict(event)
        if "item_id" in new:
            new["item_id"] = f"opaque+{number}=="
        if "item" in new:
            new["item"] = {**new["item"], "id": f"opaque+{number}=="}
        if new.get("type") == "response.function_call_arguments.delta":
            new["delta"] = f"Zm9v{number}"
        if "response" in new and new["response"].get("output"):
            output = [
                {**o, "id": f"last+{number}+{n}"} for n, o in enumerate(new["response"]["output"])
            ]
            new["response"] = {**new["response"], "output": output}
        changed.append(new)
    return changed


def test_rotating_ids_and_encrypted_deltas() -> None:
    """Each call comes once, with one id and the arguments of its end."""
    output = [
        reasoning("I must look."),
        message("Looking."),
        function_call('{"city":"Oslo"}', n=1),
        function_call('{"city":"Rome"}', n=2),
    ]
    events = decode_response(
        COPILOT.responses_route.protocol,
        Framing.sse(),
        hello(COPILOT.responses("gpt-5.2")),
        status=200,
        headers={"content-type": "text/event-stream"},
        chunks=[sse(rotated(events_of(output)))],
        streaming=True,
    )
    answer = collect(events).unwrap()
    calls = [event for event in events if isinstance(event, ToolCall)]
    ids = {event.id for event in events if isinstance(event, ToolInputStart | ToolInputDelta)}

    assert not violations(events)
    assert answer.text == "Looking."
    assert answer.reasoning == "I must look."
    assert [(call.id, call.arguments) for call in answer.tool_calls] == [
        ("call_1", {"city": "Oslo"}),
        ("call_2", {"city": "Rome"}),
    ]
    assert len(calls) == 2
    assert ids == {"call_1", "call_2"}


def test_a_response_goes_back_without_references() -> None:
    """Calls and texts carry no ids, since these are good for nothing; reasoning keeps its data."""
    thought: JsonObject = {"id": "rs_9", "index": 0, "part": "summary_text"}
    called: JsonObject = {"id": "fc_9", "index": 1}
    model = COPILOT.responses("gpt-5.2")
    said = Message.assistant(
        ReasoningPart("Look.", encrypted="enc==", provider_metadata={"openai": thought}),
        ToolCallPart(
            "call_1", "get_weather", {"city": "Oslo"}, provider_metadata={"openai": called}
        ),
        origin=Origin(provider=model.provider, model=model.id, protocol="openai-responses"),
    )
    history = [Message.user("?"), said, Message.tool("call_1", "4")]
    body = prepare(hello(model, prompt=None, messages=history)).body
    items: Any = body["input"]

    assert "item_reference" not in str(body)
    assert "fc_9" not in str(body)
    assert [item["type"] for item in items[1:]] == [
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert (items[1]["id"], items[1]["encrypted_content"]) == ("rs_9", "enc==")


# -- credentials


@pytest.mark.parametrize(
    ("token", "github"),
    [
        ("gho_abc", True),
        ("ghu_abc", True),
        ("github_pat_abc", True),
        ("tid=1;exp=2;sku=x", False),
        ("ghost", False),
    ],
)
def test_whose_token_it_is(token: str, github: bool) -> None:
    """GitHub's are exchanged by the client, Copilot's own are sent as they are."""
    assert is_github_token(token) is github
    auth = GithubCopilot.configure(token=token).chat_route.auth
    assert (auth.fetch == CopilotLogin(token=token)) is github
    assert token not in repr(GithubCopilot.configure(token=token))


def test_base_url_comes_from_the_exchanged_token() -> None:
    """Unless an address is configured; path and query stay."""
    access = CopilotAccess(token=SECRET, base_url="https://api.business.githubcopilot.com")
    context = AuthContext(now=NOW, token=access.to_token())
    usual = GithubCopilot.configure(query={"a": "1"}).model("gpt-5.2").route
    fixed = GithubCopilot.configure(base_url="https://proxy.example/x").model("gpt-4.1").route
    assert isinstance(usual, Route)
    assert isinstance(fixed, Route)

    moved = usual.prepare(hello(COPILOT.model("gpt-5.2")), streaming=False, context=context)
    stays = fixed.prepare(hello(COPILOT.model("gpt-4.1")), streaming=False, context=context)

    assert moved.unwrap().url == "https://api.business.githubcopilot.com/responses?a=1"
    assert moved.unwrap().http.headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(moved)
    assert stays.unwrap().url == "https://proxy.example/x/chat/completions"
    assert SECRET not in repr(access)


def test_a_bare_token_is_access_alone() -> None:
    """As a user's own token provider returns it; access reads back what it wrote."""
    access = CopilotAccess(token="t", base_url="https://h")

    assert CopilotAccess.from_token("tid=1;exp=2") == CopilotAccess(token="tid=1;exp=2")
    assert CopilotAccess.from_token(access.to_token()) == access
    assert CopilotAccess.from_token("{}") == CopilotAccess(token="{}")


async def fetch() -> str:
    """Return a token without GitHub."""
    return "tid=1"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"token": "t", "auth": Auth.none()}, "token or token_provider or auth"),
        ({"token": "t", "token_provider": fetch}, "token or token_provider or auth"),
        ({"token": " "}, "token is empty"),
        ({"base_url": "localhost"}, "base_url"),
        ({"github_api_url": "localhost"}, "base_url"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    """It is refused at once, by the argument's name."""
    with pytest.raises(ConfigurationError, match=named):
        GithubCopilot.configure(**settings)


def test_missing_login_raises_an_error_naming_the_command() -> None:
    """The error says which command to run; nothing is sent."""
    error = failure(hello(GithubCopilot.configure().model("gpt-5.2")))

    assert isinstance(error, AuthenticationError)
    assert "llmcore login github-copilot" in error.message


def test_what_can_be_configured() -> None:
    """A custom auth, headers, and the integration id."""
    copilot = GithubCopilot.configure(
        auth=Auth.header("x-key", SECRET), integration_id="acme", headers={"Editor-Version": "a/1"}
    )
    ready = prepare(hello(copilot.model("gpt-4.1")))

    assert ready.headers["copilot-integration-id"] == "acme"
    assert ready.headers["editor-version"] == "a/1"
    assert ready.headers["x-key"] == "[redacted]"
    assert "authorization" not in ready.headers


def test_a_variable_announces_it() -> None:
    """It is found by its own variable alone, and never by a GitHub token lying around."""
    entry = next(entry for entry in PROVIDERS if entry.id == "github-copilot")

    assert entry.is_configured({"GITHUB_COPILOT_TOKEN": "gho_x"})
    assert not entry.is_configured({"GITHUB_TOKEN": "gho_x", "GH_TOKEN": "gho_x"})
    assert isinstance(entry.from_environ({}), GithubCopilot)


def test_a_response_in_two_choices() -> None:
    """As Claude's come over Chat Completions: text in one, calls in another of the same number."""
    call: JsonObject = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    spoken: JsonObject = {"role": "assistant", "content": "Looking.", "reasoning_text": "Hm."}
    called: JsonObject = {"role": "assistant", "tool_calls": [call]}
    choices: list[JsonValue] = [
        {"index": 0, "finish_reason": "tool_calls", "message": message_}
        for message_ in (spoken, called)
    ]
    asked = hello(COPILOT.chat("claude-sonnet-4.5"))
    events = decode_response(
        COPILOT.chat_route.protocol,
        Framing.sse(),
        asked,
        status=200,
        headers={"content-type": "application/json"},
        chunks=[json.dumps({"id": "x", "model": "claude", "choices": choices})],
        streaming=False,
    )
    answer = collect(events).unwrap()

    assert (answer.reasoning, answer.text) == ("Hm.", "Looking.")
    assert [call.name for call in answer.tool_calls] == ["f"]
