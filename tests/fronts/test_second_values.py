"""Fields of requests that are beside another one of the same purpose, or that have no effect."""

from typing import Any

import pytest
from attrs import evolve

from llmcore import Client, OpenAI
from llmcore.fronts.anthropic_messages import front as messages
from llmcore.fronts.front import ClientRequest, Front
from llmcore.fronts.gemini import front as gemini
from llmcore.fronts.openai_chat import front as chat
from llmcore.fronts.openai_responses import front as responses
from llmcore.schema.content import DocumentPart
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure
from tests.support.upstreams import upstream_of

TEXTS: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "m", "input": "Hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
FRONTS: dict[str, Front[Any]] = {"chat": chat, "responses": responses, "gemini": gemini}
GPT_5: Any = ("openai-responses", "openai", "gpt-5.2")
GPT_6: Any = ("openai-responses", "openai", "gpt-6-astra")
CLAUDE: Any = ("anthropic-messages", "anthropic", "claude-opus-4-6")
FLASH: Any = ("gemini", "google", "gemini-3-flash-preview")


def reported(name: str, body: dict[str, Any], target: Any = GPT_5) -> list[str]:
    """Return the paths of what reading *body* reports."""
    protocol_id, provider, model = target
    upstream = evolve(upstream_of(protocol_id, model), provider=provider)
    request = ClientRequest(body={**TEXTS[name], **body}, path="/v1beta/models/m:generateContent")
    return [one.path for one in FRONTS[name].read(request, upstream).unwrap().diagnostics]


@pytest.mark.parametrize("name", ["chat", "responses"])
def test_a_second_lifetime_of_the_cache_is_reported_where_it_differs(name: str) -> None:
    options = {"prompt_cache_options": {"ttl": "12h"}}

    both = reported(name, {**options, "prompt_cache_retention": "24h"})

    assert both == ["prompt_cache_options.ttl"]
    assert reported(name, {**options, "prompt_cache_retention": "12h"}) == []
    assert reported(name, options) == []


@pytest.mark.parametrize(("name", "ttl"), [("chat", "30m"), ("responses", "12h")])
def test_a_lifetime_beside_a_retention_is_sent_to_openai_which_takes_both(
    name: str, ttl: str
) -> None:
    """The one is the least, the other the most: https://pypi.org/project/openai/3.57.0."""
    vendor = OpenAI(api_key="k")
    model: Any = {"chat": vendor.chat, "responses": vendor.responses}[name]("gpt-6-astra")
    upstream = evolve(upstream_of(f"openai-{name}", model), provider="openai")
    body: dict[str, Any] = {
        "prompt_cache_options": {"ttl": ttl},
        "prompt_cache_retention": "24h",
    }
    read = FRONTS[name].read(ClientRequest(body={**TEXTS[name], **body}), upstream).unwrap()
    sent = Client().prepare(read.request).unwrap()

    assert {field: sent.body[field] for field in body} == body
    assert read.diagnostics == sent.diagnostics == ()


@pytest.mark.parametrize("name", ["chat", "responses"])
def test_padding_that_a_client_asks_for_is_reported(name: str) -> None:
    """A client that wants none gets none of OpenAI either."""
    asked = {"stream": True, "stream_options": {"include_obfuscation": True}}
    refused: dict[str, Any] = {"stream": True, "stream_options": {"include_obfuscation": False}}
    upstream = evolve(upstream_of("openai-responses", GPT_5[2]), provider="openai")
    read = FRONTS[name].read(ClientRequest(body={**TEXTS[name], **refused}), upstream).unwrap()

    assert reported(name, asked) == ["stream_options.include_obfuscation"]
    assert reported(name, refused) == []
    assert read.request.provider_options["openai"]["stream_options"] == refused["stream_options"]


@pytest.mark.parametrize("name", ["chat", "responses"])
@pytest.mark.parametrize(
    ("target", "expected"),
    [(GPT_5, True), (FLASH, True), (GPT_6, False), (CLAUDE, False)],
    ids=["no breakpoints", "gemini", "breakpoints", "marks"],
)
def test_explicit_caching_is_reported_where_the_provider_caches_by_itself(
    name: str, target: Any, expected: bool
) -> None:
    found = reported(name, {"prompt_cache_options": {"mode": "explicit"}}, target)

    assert ("prompt_cache_options.mode" in found) is expected
    assert "prompt_cache_options.mode" not in reported(name, {}, target)


@pytest.mark.parametrize("target", [FLASH, GPT_5], ids=["gemini", "openai"])
def test_a_second_schema_of_a_gemini_client_is_reported_where_it_differs(target: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    same = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}

    def found(openapi: Any) -> list[str]:
        return reported(
            "gemini", {"generationConfig": {**config, "responseSchema": openapi}}, target
        )

    assert found({"type": "STRING"}) == ["generationConfig.responseSchema"]
    assert found(same) == []


def test_a_reasoning_item_with_nothing_in_it_is_reported() -> None:
    empty = {"type": "reasoning", "id": "rs_1", "summary": []}
    shown = {**empty, "summary": [{"type": "summary_text", "text": "Hm."}]}
    user = {"role": "user", "content": "Hi"}

    assert reported("responses", {"input": [user, empty]}) == ["input[1]"]
    assert reported("responses", {"input": [user, shown]}) == []


@pytest.mark.parametrize(
    ("part", "paths"),
    [
        (DocumentPart(url="https://a.example/b.pdf", title="B"), ["title"]),
        (DocumentPart(url="https://a.example/b.pdf", name="b.pdf"), ["name"]),
        (DocumentPart(url="https://a.example/b.pdf"), []),
        (DocumentPart(data=b"%PDF", media_type="application/pdf", title="B"), []),
    ],
    ids=["title", "name", "none", "data"],
)
def test_the_name_of_a_document_by_address_is_reported_towards_responses(
    part: DocumentPart, paths: list[str]
) -> None:
    """OpenAI refuses `filename` beside `file_url`."""
    model = OpenAI.configure(api_key="k").model("gpt-5.2")
    request = LLMRequest(model=model, messages=(Message("user", (part,)),))
    prepared = Client().prepare(request).unwrap()

    found = [one.path.rpartition(".")[2] for one in prepared.diagnostics]
    assert found == paths


def test_the_mode_that_validates_calls_is_reported_where_an_upstream_has_none() -> None:
    functions = {"tools": [{"functionDeclarations": [{"name": "f", "description": "F."}]}]}
    calling = {"mode": "VALIDATED"}
    config = {"functionCallingConfig": calling, "includeServerSideToolInvocations": True}
    body = {**functions, "toolConfig": config}
    paths = ["toolConfig.functionCallingConfig.mode", "toolConfig.includeServerSideToolInvocations"]

    assert reported("gemini", body, CLAUDE) == paths
    assert reported("gemini", body, FLASH) == []


def test_the_phase_and_the_agent_of_messages_are_reported_once_to_other_apis() -> None:
    said = {"role": "assistant", "content": "Yes?", "phase": "commentary", "agent": "/root"}
    body = {"input": [{"role": "user", "content": "Hi"}, said, {"role": "user", "content": "Go."}]}

    more = {"input": [*body["input"], {**said, "id": "msg_2"}, body["input"][0]]}

    assert reported("responses", more, CLAUDE) == ["input[1].phase", "input[1].agent"]
    assert reported("responses", body, GPT_5) == []


def test_the_betas_in_a_body_are_those_of_the_header() -> None:
    """As Bedrock's clients and the SDKs name them; they are texts."""
    user = {"role": "user", "content": "Hi"}
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [user]}
    headers = {"anthropic-beta": "a, b"}
    fields = {"anthropic_beta": ["b", "c"], "betas": ["d"]}
    asked = ClientRequest(body={**body, **fields}, headers=headers)
    read = messages.read(asked, upstream_of("anthropic-messages")).unwrap()
    wrong = messages.read(
        ClientRequest(body={**body, "betas": "a"}), upstream_of("anthropic-messages")
    )

    assert read.request.provider_options["anthropic"] == {"betas": ["a", "b", "c", "d"]}
    assert isinstance(wrong, Failure)
    assert wrong.error.param == "betas"


def test_a_field_of_a_function_that_is_not_known_is_reported() -> None:
    """Nulls are left out, and marks of the cache are read."""
    function = {"name": "f", "parameters": {"type": "object"}, "strict": False}
    usual = {"type": "function", "function": function, "cache_control": None, "other": None}
    flat = {"type": "function", **function}
    odd = {**usual, "function": {**function, "timeout": 3}, "strict": True}

    assert reported("chat", {"tools": [usual]}) == []
    assert reported("chat", {"tools": [flat]}) == []
    assert reported("chat", {"tools": [odd]}) == ["tools[0].strict", "tools[0].function.timeout"]
    assert reported("responses", {"tools": [flat]}) == []
    assert reported("responses", {"tools": [{**flat, "timeout": 3}]}) == ["tools[0].timeout"]


@pytest.mark.parametrize("target", [FLASH, CLAUDE], ids=["gemini", "claude"])
def test_signatures_that_litellm_gathers_are_reported_by_their_place(target: Any) -> None:
    """It has those of texts in the message, and those of calls in each call."""
    signed = {"provider_specific_fields": {"thought_signatures": ["c2ln"]}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    call |= {"provider_specific_fields": {"thought_signature": "c2ln"}}
    user = {"role": "user", "content": "Hi"}
    messages = [
        user,
        {"role": "assistant", "content": "Yes?", **signed},
        user,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]

    assert reported("chat", {"messages": messages}, target) == [
        "messages[1].provider_specific_fields",
        "messages[3].tool_calls[0].provider_specific_fields",
    ]


def test_signatures_that_litellm_gathers_go_to_a_server_of_the_same_api() -> None:
    signed = {"provider_specific_fields": {"thought_signatures": ["c2ln"]}}
    said: Any = {"role": "assistant", "content": "Yes?", **signed}
    user = {"role": "user", "content": "Hi"}
    asked = ClientRequest(body={"model": "m", "messages": [user, said, user]})
    model: Any = OpenAI(api_key="k").chat("gpt-5.2")
    read = chat.read(asked, upstream_of("openai-chat", model)).unwrap()

    assert dict(Client().prepare(read.request).unwrap().body)["messages"][1] == said


@pytest.mark.parametrize("name", ["tool_calls", "refusal", "images", "audio"])
def test_a_field_of_a_response_in_the_users_message_is_reported(name: str) -> None:
    values = {"tool_calls": [{}], "refusal": "No.", "images": [{}], "audio": {"id": "a"}}
    user = {"role": "user", "content": "Hi", name: values[name]}

    empty = {**user, name: type(values[name])()}

    assert reported("chat", {"messages": [user]}) == [f"messages[0].{name}"]
    assert reported("chat", {"messages": [empty]}) == []


def test_a_tier_of_responses_alone_is_reported_to_chat_completions() -> None:
    body = {"service_tier": "ultrafast"}

    assert reported("responses", body, ("openai-chat", "openai", "gpt-5.2")) == ["service_tier"]
    assert reported("responses", body, GPT_5) == []


PARSED: dict[str, tuple[str, Any]] = {
    "chat": (
        "messages",
        {
            "role": "assistant",
            "content": '{"a": 1}',
            "parsed": {"a": 1},
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}", "parsed_arguments": {}},
                }
            ],
        },
    ),
    "responses": (
        "input",
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": '{"a": 1}', "parsed": {"a": 1}}],
        },
    ),
    "responses, a call": (
        "input",
        {
            "type": "function_call",
            "call_id": "c",
            "name": "f",
            "arguments": "{}",
            "parsed_arguments": {"a": 1},
        },
    ),
}


@pytest.mark.parametrize("target", [GPT_5, FLASH, CLAUDE], ids=["openai", "gemini", "claude"])
@pytest.mark.parametrize("name", list(PARSED))
def test_what_openais_sdk_read_of_a_response_is_neither_sent_back_nor_reported(
    name: str, target: Any
) -> None:
    """Clients of `parse` send the whole message back, `model_dump` of it."""
    field, said = PARSED[name]
    user = {"role": "user", "content": "Hi"}
    protocol_id, provider, model = target
    upstream = evolve(upstream_of(protocol_id, model), provider=provider)
    asked = ClientRequest(body={"model": "m", field: [user, said, user]})
    read = FRONTS[name.partition(",")[0]].read(asked, upstream).unwrap()

    assert read.diagnostics == ()
    assert "parsed" not in str(read.request)


def test_the_end_of_a_message_that_a_client_sends_back_whole_is_not_reported() -> None:
    """As the SDKs have it: `message.model_dump()`."""
    ended = {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"output_tokens": 1}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}], **ended}
    user = {"role": "user", "content": "Hi"}
    asked = ClientRequest(body={"model": "m", "max_tokens": 9, "messages": [user, said, user]})

    assert messages.read(asked, upstream_of("gemini")).unwrap().diagnostics == ()
