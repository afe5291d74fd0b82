"""Where named providers differ, each rule by what becomes of one request."""

from typing import Any

import pytest

from llmcore.routes.auth import AuthContext
from llmcore.routes.chat_providers import Perplexity
from llmcore.routes.providers import PROVIDERS
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart, ReasoningPart, ToolCallPart
from llmcore.schema.errors import InvalidRequestError, LLMError, UnsupportedToolChoiceError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import request
from llmcore.schema.result import Result, Success
from llmcore.schema.tools import ToolChoice, ToolDefinition
from tests.support.wire.chat import streamed, text_chunks
from tests.support.wire.protocol import response

ENTRIES = {entry.id: entry for entry in PROVIDERS}
TOOLS = [ToolDefinition("get_weather", "The weather."), ToolDefinition("get_time", "The time.")]
FORCED = {"tools": TOOLS, "tool_choice": ToolChoice.named("get_time")}
REQUIRED = {"tools": TOOLS, "tool_choice": ToolChoice.required()}
NAMED = {"type": "function", "function": {"name": "get_time"}}
PNG = "data:image/png;base64,iVBORw0KGgo="


def attempt(name: str, **given: Any) -> Result[PreparedRequest, LLMError]:
    """Return what a request for `provider:model` becomes."""
    provider, _, model_id = name.partition(":")
    facade: Any = ENTRIES[provider].load()()
    model: Model = facade.chat(model_id)
    assert isinstance(model.route, Route)
    asked = request(model=model, **({"prompt": "Hi"} | given))
    context = AuthContext(environ=dict.fromkeys(ENTRIES[provider].key_variables, "key"))
    return model.route.prepare(asked, streaming=True, context=context)


def prepared(name: str, **given: Any) -> PreparedRequest:
    """Return the native request."""
    result = attempt(name, **given)
    assert isinstance(result, Success), result
    return result.unwrap()


# -- parameters


@pytest.mark.parametrize(
    ("name", "options", "field", "value"),
    [
        ("mistral:m", {"seed": 7}, "random_seed", 7),
        ("groq:m", {"seed": 7}, "seed", 7),
        ("groq:m", {"max_tokens": 7}, "max_completion_tokens", 7),
        ("vllm:m", {"max_tokens": 7}, "max_completion_tokens", 7),
        ("mistral:m", {"max_tokens": 7}, "max_tokens", 7),
        ("together:m", {"logprobs": True}, "logprobs", 1),
        ("together:m", {"top_logprobs": 3}, "logprobs", 3),
        ("together:m", {"logprobs": True, "top_logprobs": 3}, "logprobs", 3),
        ("together:m", {"logprobs": True, "top_logprobs": 3}, "top_logprobs", None),
        ("together:m", {"logprobs": False}, "logprobs", None),
        ("fireworks:m", {"logprobs": True}, "logprobs", True),
        ("openrouter:m", {"top_k": 5}, "top_k", 5),
        ("moonshot:moonshot-v1-8k", {"temperature": 0.3}, "temperature", 0.3),
        ("moonshot:kimi-k3", {"temperature": 0.3}, "temperature", None),
        ("deepinfra:m", {"logprobs": True}, "logprobs", None),
        ("xai:grok-4.6", {"stop": "x"}, "stop", None),
        ("xai:grok-4-fast-non-reasoning", {"stop": "x"}, "stop", None),
        ("xai:grok-4.20-0309-reasoning", {"stop": "x"}, "stop", None),
        ("xai:grok-4.20-0309-non-reasoning", {"stop": "x"}, "stop", ["x"]),
        ("xai:grok-4.20-non-reasoning", {"stop": "x"}, "stop", ["x"]),
        ("xai:grok-4.20-non-reasoning", {"presence_penalty": 0.5}, "presence_penalty", None),
    ],
)
def test_parameters_go_by_the_servers_names_or_not_at_all(
    name: str, options: dict[str, Any], field: str, value: object
) -> None:
    """They go by the server's own name, in its own form, or not at all."""
    ready = prepared(name, generation=GenerationOptions(**options))

    assert ready.body.get(field) == value


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("openai:m", True),
        ("groq:m", True),
        ("vllm:m", True),
        ("mistral:m", False),
        ("openrouter:m", False),
        ("fireworks:m", False),
        ("perplexity:m", False),
        ("zai:m", False),
    ],
)
def test_usage_in_streams_is_asked_for_where_it_must_be(name: str, sent: bool) -> None:
    """Where the field is unknown, the server sends usage unasked."""
    assert ("stream_options" in prepared(name).body) is sent


@pytest.mark.parametrize(
    ("name", "sent"), [("qwen3-8b", 3000), ("qwen3p6-plus", 3000), ("gpt-oss-20b", None)]
)
def test_models_of_fireworks_that_take_a_budget_get_it(name: str, sent: int | None) -> None:
    """It is reported for others, some of which refuse a number."""
    ready = prepared(
        f"fireworks:accounts/fireworks/models/{name}",
        reasoning=ReasoningOptions(budget_tokens=3000),
    )

    assert ready.body.get("reasoning_effort") == sent
    assert [note.path for note in ready.diagnostics] == (
        ["reasoning.budget_tokens"] if sent is None else []
    )


@pytest.mark.parametrize(
    "name", ["mistral:m", "cerebras:m", "deepinfra:m", "moonshot:m", "openrouter:m"]
)
def test_a_cache_key_without_a_retention(name: str) -> None:
    """The key is sent; the retention, which only OpenAI has, is reported."""
    ready = prepared(name, cache=CachePolicy(key="k", retention="24h"))

    assert ready.body["prompt_cache_key"] == "k"
    assert "prompt_cache_retention" not in ready.body
    assert [note.path for note in ready.diagnostics] == ["cache.retention"]


# -- reasoning


@pytest.mark.parametrize(
    ("name", "effort", "sent"),
    [
        ("openai:gpt-5.2", "low", {"reasoning_effort": "low"}),
        ("groq:openai/gpt-oss-120b", "low", {"reasoning_effort": "low"}),
        ("groq:openai/gpt-oss-120b", "none", {"reasoning_effort": "low"}),
        ("groq:openai/gpt-oss-120b", "xhigh", {"reasoning_effort": "high"}),
        ("groq:qwen/qwen3.6-27b", "high", {"reasoning_effort": "default"}),
        ("groq:qwen/qwen3.6-27b", "minimal", {"reasoning_effort": "default"}),
        ("groq:qwen/qwen3.6-27b", "none", {"reasoning_effort": "none"}),
        ("groq:qwen/qwen3.8-27b", "medium", {"reasoning_effort": "medium"}),
        ("groq:qwen/qwen3.8-27b", "max", {"reasoning_effort": "high"}),
        ("cerebras:gpt-oss-120b", "none", {"reasoning_effort": "low"}),
        ("cerebras:qwen-3.8-27b", "none", {"reasoning_effort": "none"}),
        ("cerebras:qwen-3.8-27b", "minimal", {"reasoning_effort": "low"}),
        ("cerebras:qwen-3.8-27b", "xhigh", {"reasoning_effort": "high"}),
        ("fireworks:accounts/fireworks/models/gpt-oss-20b", "none", {"reasoning_effort": "low"}),
        ("fireworks:accounts/fireworks/models/glm-4p7", "none", {"reasoning_effort": "none"}),
        ("fireworks:accounts/fireworks/models/glm-4p7", "max", {"reasoning_effort": "high"}),
        ("fireworks:accounts/fireworks/models/deepseek-v4-pro", "max", {"reasoning_effort": "max"}),
        ("fireworks:accounts/fireworks/routers/kimi", "xhigh", {"reasoning_effort": "xhigh"}),
        ("perplexity:sonar-deep-research", "minimal", {"reasoning_effort": "minimal"}),
        ("perplexity:sonar-deep-research", "none", {"reasoning_effort": "minimal"}),
        ("perplexity:sonar-deep-research", "xhigh", {"reasoning_effort": "high"}),
        ("groq:moonshotai/kimi-k2", "high", {"reasoning_effort": "high"}),
        ("deepseek:deepseek-v4-flash", "none", {"thinking": {"type": "disabled"}}),
        (
            "deepseek:deepseek-v4-flash",
            "max",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        ),
        ("moonshot:kimi-k2.6", "none", {"thinking": {"type": "disabled"}}),
        ("moonshot:kimi-k2.6", "high", {"thinking": {"type": "enabled"}}),
        ("moonshot:kimi-k2.7-code", "none", {}),
        ("moonshot:kimi-k2.7-code", "high", {}),
        ("moonshot:kimi-k2-thinking", "high", {}),
        ("moonshot:kimi-k2-0905-preview", "none", {}),
        ("moonshot:kimi-k3", "high", {"reasoning_effort": "high"}),
        ("moonshot:kimi-k3", "medium", {"reasoning_effort": "low"}),
        ("moonshot:kimi-k3", "none", {"reasoning_effort": "low"}),
        ("moonshot:kimi-k3.1-pro", "low", {"reasoning_effort": "low"}),
        ("moonshot:moonshot-v1-8k", "low", {}),
        ("zai:glm-4.7", "high", {"thinking": {"type": "enabled"}}),
        ("zai:glm-5.1", "none", {"thinking": {"type": "disabled"}}),
        ("zai:glm-5.2", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("zai:glm-6", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("together:m", "low", {"reasoning_effort": "low"}),
        ("together:m", "none", {"reasoning": {"enabled": False}}),
        ("together:m", "minimal", {"reasoning_effort": "low"}),
        ("together:m", "max", {"reasoning_effort": "high"}),
        ("openrouter:m", "high", {"reasoning": {"effort": "high"}}),
        ("mistral:m", "high", {"reasoning_effort": "high"}),
        ("mistral:mistral-large-4-0", "none", {"reasoning_effort": "low"}),
        ("mistral:mistral-large-4", "xhigh", {"reasoning_effort": "high"}),
        ("mistral:zai-glm-5-3", "max", {"reasoning_effort": "max"}),
        ("mistral:zai-glm-latest", "medium", {"reasoning_effort": "low"}),
        ("mistral:mistral-medium-3-5", "low", {"reasoning_effort": "high"}),
        ("mistral:magistral-small-latest", "none", {"reasoning_effort": "none"}),
        ("mistral:codestral-latest", "high", {}),
        ("mistral:mistral-large-2512", "high", {}),
        ("groq:llama-3.3-70b-versatile", "high", {}),
        ("groq:meta-llama/llama-4-scout-17b-16e-instruct", "low", {}),
        ("xai:grok-4.6", "high", {"reasoning_effort": "high"}),
        ("xai:grok-4.5", "low", {"reasoning_effort": "low"}),
        ("xai:grok-4.3", "none", {"reasoning_effort": "none"}),
        ("xai:grok-3-mini", "low", {"reasoning_effort": "low"}),
        ("xai:grok-3-mini", "medium", {"reasoning_effort": "low"}),
        ("xai:grok-4.5", "none", {"reasoning_effort": "low"}),
        ("xai:grok-4.5", "xhigh", {"reasoning_effort": "high"}),
        ("xai:grok-4.6", "max", {"reasoning_effort": "xhigh"}),
        ("xai:grok-4.3", "xhigh", {"reasoning_effort": "high"}),
        ("xai:grok-build-0.1", "high", {}),
        ("xai:grok-4.20-multi-agent-0309", "high", {"reasoning_effort": "high"}),
        ("xai:grok-4.20-0309-reasoning", "high", {}),
        ("xai:grok-4-1-fast", "high", {}),
        ("xai:grok-4", "high", {}),
        ("xai:grok-4-0709", "high", {}),
        ("xai:grok-3", "high", {}),
        ("xai:grok-code-fast-1", "high", {}),
        ("llamacpp:m", "high", {"reasoning_effort": "high"}),
        ("ollama:m", "none", {"reasoning_effort": "none"}),
        ("ollama:m", "minimal", {"reasoning_effort": "low"}),
        ("ollama:m", "xhigh", {"reasoning_effort": "high"}),
        ("ollama:m", "max", {"reasoning_effort": "max"}),
        ("vllm:m", "xhigh", {"reasoning_effort": "xhigh"}),
        ("baseten:m", "high", {"reasoning_effort": "high"}),
        ("huggingface:m", "high", {}),
        ("local:m", "high", {}),
    ],
)
def test_how_thinking_is_asked_for(name: str, effort: str, sent: dict[str, Any]) -> None:
    """By the model's own parameter; what cannot be said is reported."""
    ready = prepared(name, reasoning_effort=effort)
    names = ("reasoning_effort", "thinking", "reasoning")

    assert {field: ready.body[field] for field in names if field in ready.body} == sent
    said = str(sent).replace("disabled", "none").replace("False", "none")
    assert bool(ready.diagnostics) is (effort not in said)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("deepseek:m", "reasoning_content"),
        ("moonshot:m", "reasoning_content"),
        ("zai:m", "reasoning_content"),
        ("together:m", "reasoning_content"),
        ("fireworks:m", "reasoning_content"),
        ("llamacpp:m", "reasoning_content"),
        ("groq:m", "reasoning"),
        ("cerebras:m", "reasoning"),
        ("ollama:m", "reasoning"),
        ("vllm:m", "reasoning"),
        ("openrouter:m", "reasoning"),
        ("openai:m", None),
        ("xai:m", None),
        ("perplexity:m", None),
    ],
)
def test_where_thinking_goes_back(name: str, field: str | None) -> None:
    """Into the server's own field, or nowhere, which is reported."""
    said = Message.assistant(ReasoningPart("Hm."), "Yes.")
    ready = prepared(name, prompt=None, messages=[Message.user("?"), said, Message.user("!")])
    body: Any = ready.body
    assistant = body["messages"][1]
    found = {key: value for key, value in assistant.items() if key.startswith("reasoning")}

    assert found == ({} if field is None else {field: "Hm."})
    assert bool(ready.diagnostics) is (field is None)


@pytest.mark.parametrize("name", ["deepseek:deepseek-v4-pro", "moonshot:kimi-k2.6"])
def test_thinking_that_must_go_back_is_there_even_if_there_was_none(name: str) -> None:
    """A turn that another model made has the field too: without it, the server says 400."""
    elsewhere = Origin(provider="openai", model="gpt-5.2", protocol="openai-chat")
    foreign = Message.assistant(ToolCallPart("call_1", "get_time", {}), origin=elsewhere)
    history = [Message.user("?"), foreign, Message.tool("call_1", "noon")]
    ready = prepared(name, prompt=None, messages=history, tools=TOOLS)
    body: Any = ready.body
    assistant = body["messages"][1]

    assert assistant["reasoning_content"] == ""


# -- tools


@pytest.mark.parametrize(
    ("name", "choice", "offered"),
    [
        ("openai:m", NAMED, 2),
        ("groq:m", NAMED, 2),
        ("mistral:m", NAMED, 2),
        ("lmstudio:m", "required", 1),
        ("llamacpp:m", "required", 1),
        ("perplexity:m", "required", 1),
        ("moonshot:kimi-k3", "required", 1),
    ],
)
def test_one_tool_is_forced_by_name_or_by_offering_it_alone(
    name: str, choice: object, offered: int
) -> None:
    """By its name, or by offering no other where names are not taken."""
    ready = prepared(name, **FORCED)
    tools: Any = ready.body["tools"]

    assert ready.body["tool_choice"] == choice
    assert len(tools) == offered
    assert tools[-1]["function"]["name"] == "get_time"
    assert bool(ready.diagnostics) is (offered == 1)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("zai:m", "required"),
        ("zai:m", "named"),
        ("deepinfra:m", "required"),
        ("deepinfra:m", "named"),
    ],
)
def test_choices_that_the_api_lacks_are_refused(name: str, mode: str) -> None:
    """They are a typed error before anything is sent."""
    choice = ToolChoice(mode, "get_time" if mode == "named" else None)  # type: ignore[arg-type]
    result = attempt(name, tools=TOOLS, tool_choice=choice)

    assert isinstance(result.failure(), UnsupportedToolChoiceError)


@pytest.mark.parametrize("forced", [FORCED, REQUIRED], ids=["named", "required"])
def test_ollama_calls_by_schema_what_it_must_call(forced: dict[str, Any]) -> None:
    """It has no tool_choice, but holds responses to a schema."""
    body: Any = prepared("ollama:m", **forced).body

    assert "tools" not in body
    assert "tool_choice" not in body
    assert body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("forced", [FORCED, REQUIRED], ids=["named", "required"])
@pytest.mark.parametrize(
    ("name", "stops"),
    [
        ("deepseek:deepseek-v4-flash", True),
        ("moonshot:kimi-k2.6", True),
        ("moonshot:kimi-k2.5", True),
        ("moonshot:kimi-k2.7-code", False),  # always thinks
        ("moonshot:kimi-k3", False),
        ("openai:gpt-5.2", False),
    ],
)
def test_some_models_must_not_think_to_be_forced(
    name: str, stops: bool, forced: dict[str, Any]
) -> None:
    """Their thinking, which is on unless told otherwise, is turned off, and that is reported."""
    ready = prepared(name, **forced)
    codes = {note.code for note in ready.diagnostics}

    assert (ready.body.get("thinking") == {"type": "disabled"}) is stops
    assert ("reasoning-turned-off" in codes) is stops
    assert isinstance(attempt(name, **forced, strict=True), Success) is not bool(codes)


def test_thinking_stays_on_where_no_tool_is_forced() -> None:
    """Turning it off on purpose is not reported as a loss."""
    chosen = prepared("deepseek:m", tools=TOOLS, tool_choice=ToolChoice.auto())
    off = prepared("deepseek:m", **FORCED, reasoning_effort="none", strict=True)

    assert "thinking" not in chosen.body
    assert off.body["thinking"] == {"type": "disabled"}
    assert off.diagnostics == ()


def test_a_strict_request_is_not_changed() -> None:
    """Thinking that would be turned off is an error then."""
    error = attempt("deepseek:m", **FORCED, strict=True).failure()

    assert isinstance(error, InvalidRequestError)
    assert "think" in error.message


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("openai:m", True),
        ("baseten:m", True),
        ("vllm:m", True),
        ("huggingface:m", False),
        ("ollama:m", False),
        ("llamacpp:m", False),
    ],
)
def test_strict_functions_are_sent_or_reported(name: str, kept: bool) -> None:
    """The server holds calls to their schema, or cannot be told to, which is reported."""
    ready = prepared(name, tools=[ToolDefinition("get_time", "The time.", strict=True)])
    tools: Any = ready.body["tools"]

    assert tools[0]["function"].get("strict") is (True if kept else None)
    assert [note.path for note in ready.diagnostics] == ([] if kept else ["tools[0].strict"])


@pytest.mark.parametrize(
    ("given", "sent", "reported"),
    [
        ([True, None], [False, False], ["tools[0].strict"]),
        ([False, True], [False, False], ["tools[1].strict"]),
        ([True, True], [True, True], []),
        ([None, None], [None, None], []),
    ],
)
def test_functions_of_cerebras_are_all_strict_or_none(
    given: list[bool | None], sent: list[bool | None], reported: list[str]
) -> None:
    """It refuses "tools with mixed values for 'strict'", and an absent one counts as false."""
    tools = [ToolDefinition(f"t{number}", strict=strict) for number, strict in enumerate(given)]
    made = prepared("cerebras:m", tools=tools)
    offered: Any = made.body["tools"]

    assert [tool["function"].get("strict") for tool in offered] == sent
    assert [one.path for one in made.diagnostics] == reported


def test_schemas_for_moonshot_have_types_in_the_branches_of_unions() -> None:
    """Its validator refuses a type beside `anyOf`, and schemas without a type."""
    pair = {"properties": {"q": {"type": "string"}}, "required": ["q"]}
    inner = {"type": "object", "anyOf": [pair, {"properties": {"z": {}}}]}
    schema = {"type": "object", "properties": {"t": inner, "e": {"enum": ["a", "b"]}}}
    offered: Any = prepared("moonshot:kimi-k3", tools=[ToolDefinition("f", "", schema)]).body[
        "tools"
    ]
    properties = offered[0]["function"]["parameters"]["properties"]

    assert properties["e"] == {"type": "string", "enum": ["a", "b"]}
    assert "type" not in properties["t"]
    assert [branch["type"] for branch in properties["t"]["anyOf"]] == ["object", "object"]


@pytest.mark.parametrize(
    ("name", "added"), [("zai:m", True), ("vllm:m", True), ("openai:m", False)]
)
@pytest.mark.parametrize(
    ("history", "place"),
    [
        ([Message.assistant(ToolCallPart("c1", "get_time", {})), Message.tool("c1", "noon")], 1),
        ([], 1),
    ],
    ids=["calls", "instructions"],
)
def test_a_conversation_without_a_user_gets_a_message_of_theirs(
    name: str, added: bool, history: list[Message], place: int
) -> None:
    """Templates of open models refuse it: "No user query found in messages"."""
    made = prepared(name, prompt=None, system="Hi", messages=history, tools=TOOLS)
    messages: Any = made.body["messages"]
    users = [at for at, one in enumerate(messages) if one["role"] == "user"]

    assert users == ([place] if added else [])
    assert [one.code for one in made.diagnostics] == (["first-message-added"] if added else [])


@pytest.mark.parametrize(
    ("name", "field"), [("mistral:m", "prefix"), ("moonshot:kimi-k3", "partial"), ("groq:m", None)]
)
def test_a_response_that_is_begun_is_marked_where_the_server_requires_it(
    name: str, field: str | None
) -> None:
    """Mistral refuses a conversation that ends with the assistant, unless it is marked."""
    begun = [Message.user("Hi"), Message.assistant("Once"), Message.user("?")]
    begins = [*begun, Message.assistant("upon")]
    last: Any = prepared(name, prompt=None, messages=begins).body["messages"]
    calls = [*begun, Message.assistant(ToolCallPart("c1", "get_time", {}))]
    others: Any = prepared(name, prompt=None, messages=calls, tools=TOOLS).body["messages"]

    marks = [[name for name in ("prefix", "partial") if one.get(name)] for one in last]
    assert marks == [[], [], [], [field] if field else []]
    assert not any(one.get("prefix") or one.get("partial") for one in others)


def test_call_ids_of_mistral_have_nine_characters_in_calls_and_results() -> None:
    """Mistral takes nine letters and digits; a call and its result keep the same one."""
    history = [
        Message.user("?"),
        Message.assistant(ToolCallPart("toolu_01A-b", "get_time", {})),
        Message.tool("toolu_01A-b", "noon"),
    ]
    messages: Any = prepared("mistral:m", prompt=None, messages=history, tools=TOOLS).body[
        "messages"
    ]
    call_id = messages[1]["tool_calls"][0]["id"]

    assert len(call_id) == 9
    assert call_id.isalnum()
    assert messages[2]["tool_call_id"] == call_id


# -- messages and formats


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("openai:m", True),
        ("cerebras:m", True),
        ("groq:m", False),
        ("mistral:m", False),
        ("ollama:m", False),
    ],
)
def test_names_of_speakers_are_sent_or_reported_by_dialect(name: str, kept: bool) -> None:
    """They are sent where they are taken, and reported where not."""
    ready = prepared(name, prompt=None, messages=[Message.user("Hi", name="Ada")])
    messages: Any = ready.body["messages"]

    assert ("name" in messages[0]) is kept
    assert [note.path for note in ready.diagnostics] == ([] if kept else ["messages[0].name"])


@pytest.mark.parametrize(
    ("name", "url", "data"),
    [
        ("openai:m", True, True),
        ("xai:m", True, True),
        ("ollama:m", False, True),
        ("cerebras:m", False, True),
        ("lmstudio:m", False, True),
        ("moonshot:m", False, True),
        ("deepseek:m", True, True),
        ("local:m", False, False),
    ],
)
def test_pictures_go_by_url_by_bytes_or_not_at_all(name: str, url: bool, data: bool) -> None:
    """By URL, by their bytes, or not at all."""
    for taken, address in ((url, "https://example.com/x.png"), (data, PNG)):
        picture = Message.user("What is this?", ImagePart(url=address))
        ready = prepared(name, prompt=None, messages=[picture])

        assert ("image_url" in str(ready.body)) is taken
        assert bool(ready.diagnostics) is not taken


@pytest.mark.parametrize(
    ("name", "form", "kept"),
    [
        ("openai:m", "mpeg", True),
        ("openai:m", "flac", False),
        ("baseten:m", "wav", True),
        ("baseten:m", "flac", False),
        ("llamacpp:m", "flac", True),
        ("llamacpp:m", "ogg", False),
        ("vllm:m", "ogg", True),
        ("mistral:m", "wav", True),
        ("mistral:m", "aac", False),
    ],
)
def test_sound_is_sent_in_the_servers_formats(name: str, form: str, kept: bool) -> None:
    """In the formats that the server reads; the loss of others is reported."""
    sound = AudioPart(url=f"data:audio/{form};base64,AAAA")
    ready = prepared(name, prompt=None, messages=[Message.user("What is this?", sound)])

    assert ("input_audio" in str(ready.body)) is kept
    assert bool(ready.diagnostics) is not kept


MP3 = "data:audio/mpeg;base64,AAAA"
PDF = "data:application/pdf;base64,JVBERg=="
REMOTE = "https://h.example/"


@pytest.mark.parametrize(
    ("part", "native"),
    [
        (AudioPart(url=MP3), {"type": "input_audio", "input_audio": "AAAA"}),
        (
            AudioPart(url=f"{REMOTE}a.mp3"),
            {"type": "input_audio", "input_audio": f"{REMOTE}a.mp3"},
        ),
        (
            DocumentPart(url=PDF, name="a.pdf"),
            {"type": "document_url", "document_url": PDF, "document_name": "a.pdf"},
        ),
        (
            DocumentPart(url=f"{REMOTE}a.pdf", name="a.pdf"),
            {
                "type": "document_url",
                "document_url": f"{REMOTE}a.pdf",
                "document_name": "a.pdf",
            },
        ),
        (DocumentPart(file_id="f-1"), {"type": "file", "file_id": "f-1"}),
    ],
    ids=["sound", "sound by address", "document", "document by address", "stored file"],
)
def test_sounds_and_files_have_the_form_of_mistral(
    part: AudioPart | DocumentPart, native: dict[str, Any]
) -> None:
    ready = prepared("mistral:m", prompt=None, messages=[Message.user("Look.", part)])
    messages: Any = ready.body["messages"]

    assert messages[0]["content"] == [{"type": "text", "text": "Look."}, native]
    assert ready.diagnostics == ()


@pytest.mark.parametrize(
    ("name", "wanted", "kind"),
    [
        ("deepseek:m", ResponseFormat.json(), "json_object"),
        ("deepseek:m", ResponseFormat.json_schema({"type": "object"}), "json_object"),
        ("zai:m", ResponseFormat.json_schema({"type": "object"}), "json_object"),
        ("lmstudio:m", ResponseFormat.json(), None),
        ("lmstudio:m", ResponseFormat.json_schema({"type": "object"}), "json_schema"),
        ("perplexity:m", ResponseFormat.json(), None),
        ("groq:m", ResponseFormat.json_schema({"type": "object"}), "json_schema"),
    ],
)
def test_a_format_is_sent_or_put_into_the_prompt(
    name: str, wanted: ResponseFormat, kind: str | None
) -> None:
    """A schema that the server does not enforce goes into the prompt."""
    ready = prepared(name, prompt="Answer in JSON.", response_format=wanted)
    sent: Any = ready.body.get("response_format") or {}
    expected = {"json": "json_object"}.get(wanted.type, wanted.type)

    assert sent.get("type") == kind
    assert ("JSON document" in str(ready.body["messages"])) is (kind != expected)


def test_perplexity_hears_both_sides_in_turn() -> None:
    """Instructions come first, and what one side says in a row is one message."""
    history = [
        Message.user("One."),
        Message.user("Two."),
        Message.assistant("Three."),
        Message.system("Be brief."),
        Message.user("Four."),
    ]
    messages: Any = prepared("perplexity:m", prompt=None, messages=history).body["messages"]

    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user"]
    assert "One." in messages[1]["content"]
    assert "Two." in messages[1]["content"]


def test_perplexity_thinks_in_tags() -> None:
    """Text between them at the head of a response is thinking, and not part of its JSON."""
    chunks = text_chunks("<think>Oslo, of course.</th", 'ink>\n\n{"city": "Oslo"}')
    answer = response(streamed(chunks, dialect=Perplexity.profile.dialect))

    assert answer.reasoning == "Oslo, of course."
    assert answer.text == '{"city": "Oslo"}'
