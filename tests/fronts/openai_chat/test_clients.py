"""SDKs of single providers, which read less than those of OpenAI."""

from typing import Any

import pytest

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_responses import front as responses_front
from llmcore.fronts.policy import TranslationPolicy
from llmcore.schema.content import ReasoningPart, TextPart
from llmcore.schema.errors import OverloadedError
from llmcore.schema.events import ErrorEvent, ToolInputDelta, ToolInputEnd, ToolInputStart
from llmcore.schema.usage import Usage
from tests.fronts.openai_chat.chat_kit import Written, echoed, sdk_streamed
from tests.support.events import call, stream, text, thought

MISTRAL = "mistral-client-python/3.7.0"
CEREBRAS = "AsyncCerebras/Python 1.91.0"
OPENROUTER = "speakeasy-sdk/python 1.3.84 2.914.0 1.0.0 openrouter"
OPENAI = "OpenAI/Python 3.57.0"
AI_SDK = "ai-sdk/{}/3.0.138 ai-sdk/provider-utils/4.0.56 runtime/node.js/v20.20.2"
XAI, GROQ, AI_MISTRAL, DEEPSEEK = map(AI_SDK.format, ("xai", "groq", "mistral", "deepseek"))
AI_SDK_7 = "ai-sdk-{}/4.0.84 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2"
GROQ_7, AI_MISTRAL_7, DEEPSEEK_7 = map(AI_SDK_7.format, ("groq", "mistral", "deepseek"))
AI_WHOLE = "ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2"
"""How the AI SDK names itself for a response that is not streamed, with any provider."""
TOOLS: dict[str, Any] = {"stream": True, "tools": [{"type": "function", "function": {"name": "f"}}]}


def written(*segments: Any, agent: str) -> Written:
    """Return a response for the client that *agent* names."""
    return Written(stream(*segments), TOOLS, headers={"user-agent": agent})


@pytest.mark.parametrize(
    "agent", [MISTRAL, "mistral-client-typescript/2.7.0", CEREBRAS, XAI, AI_MISTRAL_7]
)
def test_a_call_is_in_one_chunk_for_sdks_that_require_its_name_in_each(agent: str) -> None:
    made = written(
        call("f", '{"a":', "1}", id="x"),
        call("g", id="y"),
        agent=agent,
    )

    assert made.values("tool_calls") == [
        [{"index": 0, "id": "x", "type": "function",
          "function": {"name": "f", "arguments": '{"a":1}'}}],
        [{"index": 1, "id": "y", "type": "function", "function": {"name": "g", "arguments": "{}"}}],
    ]  # fmt: skip
    assert sdk_streamed(made)["choices"][0]["message"]["tool_calls"][0]["function"] == {
        "name": "f",
        "arguments": '{"a":1}',
        "parsed_arguments": None,
    }


def test_interleaved_calls_that_are_not_in_pieces_are_numbered_as_they_end() -> None:
    interleaved = [
        ToolInputStart("x", "f"),
        ToolInputStart("y", "g"),
        ToolInputDelta("x", "{"),
        ToolInputDelta("y", "{}"),
        ToolInputEnd("y"),
        ToolInputDelta("x", "}"),
        ToolInputEnd("x"),
    ]
    made = written(interleaved, agent=MISTRAL)

    names = [(one["index"], one["function"]["name"]) for (one,) in made.values("tool_calls")]
    assert names == [(0, "g"), (1, "f")]
    assert [one["id"] for one in made.message["tool_calls"]] == ["y", "x"]


def test_a_freeform_call_in_one_chunk_is_a_function_of_one_string() -> None:
    made = written(call("shell", "ls", id="x", kind="custom"), agent=MISTRAL)

    ((one,),) = made.values("tool_calls")
    assert one["function"] == {"name": "shell", "arguments": '{"input":"ls"}'}


@pytest.mark.parametrize("agent", [OPENAI, OPENROUTER, AI_SDK.format("openai"), GROQ, ""])
def test_a_call_comes_in_pieces_for_all_others(agent: str) -> None:
    made = written(call("f", "{", "}"), agent=agent)

    assert len(made.values("tool_calls")) == 3


@pytest.mark.parametrize(
    ("agent", "code"), [(OPENROUTER, 404), (OPENAI, "model_not_found"), ("", "model_not_found")]
)
def test_the_code_of_an_error_is_its_status_for_openrouters_sdk(agent: str, code: object) -> None:
    request = ClientRequest(body={}, headers={"user-agent": agent})
    refusal = FrontError(status=404, message="m", code="model_not_found")
    for made in (front.error_form(request)(refusal), responses_front.error_form(request)(refusal)):
        error: Any = made.body["error"]
        assert (made.status, error["code"], error["message"]) == (404, code, "m")


def test_an_error_in_a_stream_is_a_chunk_for_openrouters_sdk() -> None:
    failed = [*stream(text("Hel"))[:-2], ErrorEvent(OverloadedError("too busy"))]
    made = Written(failed, TOOLS, headers={"user-agent": OPENROUTER})

    last = made.chunks[-1]
    assert last["error"] == {"code": 503, "message": "too busy"}
    assert last["choices"][0]["finish_reason"] == "error"
    assert last.keys() >= {"id", "object", "created", "model", "system_fingerprint"}


@pytest.mark.parametrize(
    ("agent", "provider", "passes"),
    [
        (MISTRAL, "mistral", True),
        (MISTRAL, "openai", False),
        (OPENROUTER, "openrouter", True),
        (OPENROUTER, "mistral", False),
        (CEREBRAS, "groq", False),
        (XAI, "xai", True),
        (XAI, "openrouter", False),
        (GROQ, "groq", True),
        (GROQ_7, "openai", False),
        (f"my-app/1.0 {GROQ_7}", "openai", False),
        (DEEPSEEK, "deepseek", True),
        (DEEPSEEK_7, "openai", False),
        (AI_WHOLE, "openai", True),
        (AI_MISTRAL, "openrouter", False),
        (AI_SDK.format("openai"), "groq", True),
        (OPENAI, "groq", True),
        ("speakeasy-sdk/python 1.0.0 another", "groq", True),
        ("", "groq", True),
    ],
)
def test_responses_of_other_servers_are_not_relayed_to_the_sdk_of_one(
    agent: str, provider: str, passes: bool
) -> None:
    request = ClientRequest(body={}, headers={"user-agent": agent})

    assert front.can_relay(request, provider) is passes


@pytest.mark.parametrize(
    ("agent", "provider", "passes"),
    [(XAI, "openai", True), (OPENROUTER, "openai", False), (OPENROUTER, "openrouter", True)],
)
def test_items_of_other_servers_are_relayed_to_all_that_read_errors_of_openai(
    agent: str, provider: str, passes: bool
) -> None:
    request = ClientRequest(body={}, headers={"user-agent": agent})

    assert responses_front.can_relay(request, provider) is passes


PLACES = [("usage",), ("x_groq", "usage")]
COUNTED = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@pytest.mark.parametrize(
    ("agent", "asked", "places"),
    [
        (MISTRAL, False, [("usage",)]),
        (AI_MISTRAL, False, [("usage",)]),
        (AI_MISTRAL, True, [("usage",)]),
        (AI_MISTRAL_7, False, [("usage",)]),
        (GROQ, False, [("x_groq", "usage")]),
        (GROQ_7, False, [("x_groq", "usage")]),
        (XAI, False, []),
        (OPENAI, False, []),
    ],
)
def test_tokens_of_a_stream_are_in_the_last_chunk_for_sdks_that_do_not_ask_for_them(
    agent: str, asked: bool, places: list[tuple[str, ...]]
) -> None:
    options = {"stream_options": {"include_usage": True}} if asked else {}
    counted = stream(text("Hi"), usage=Usage(input_tokens=7, output_tokens=5))
    made = Written(counted, {**TOOLS, **options}, headers={"user-agent": agent})

    last = made.chunks[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    found = [
        path
        for path in (("usage",), ("x_groq", "usage"))
        if (_at(last, path) or {}).items() >= COUNTED.items()
    ]
    assert found == places
    assert not any("usage" in chunk or "x_groq" in chunk for chunk in made.chunks[:-1])


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value


@pytest.mark.parametrize(
    ("agent", "names"),
    [
        (GROQ, {"reasoning"}),
        (GROQ_7, {"reasoning"}),
        (XAI, {"reasoning_content"}),
        (DEEPSEEK, {"reasoning_content"}),
        (AI_WHOLE, {"reasoning", "reasoning_content"}),
        (AI_SDK.format("openai-compatible"), {"reasoning_content"}),
        ("", {"reasoning_content"}),
    ],
)
def test_thinking_is_in_the_fields_that_the_client_reads(agent: str, names: set[str]) -> None:
    made = written(thought("Hm."), text("Hi"), agent=agent)

    for delta in [*(chunk["choices"][0]["delta"] for chunk in made.chunks), made.message]:
        assert delta.keys() & {"reasoning", "reasoning_content"} in (set(), names)
    assert {made.message[name] for name in names} == {"Hm."}


@pytest.mark.parametrize("agent", [MISTRAL, AI_MISTRAL, AI_MISTRAL_7])
def test_thinking_is_a_part_of_the_content_for_sdks_of_mistral(agent: str) -> None:
    made = written(thought("H", "m."), text("Hi"), agent=agent)

    part = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert made.message["content"] == [part, {"type": "text", "text": "Hi"}]
    streamed = [words for words in made.values("content") if words]
    assert [[part["thinking"][0]["text"] for part in parts] for parts in streamed[:2]] == [
        ["H"],
        ["m."],
    ]
    assert streamed[2:] == ["Hi"]
    thinking, words = echoed(made).content
    assert (thinking, words) == (ReasoningPart("Hm."), TextPart("Hi"))


def test_a_message_of_thinking_alone_has_no_empty_text_for_sdks_of_mistral() -> None:
    made = written(thought("Hm."), call("f"), agent=MISTRAL)

    (part,) = made.message["content"]
    assert part["type"] == "thinking"


@pytest.mark.parametrize("agent", [GROQ, XAI, AI_WHOLE, MISTRAL, ""])
def test_thinking_that_the_policy_hides_is_shown_to_no_client(agent: str) -> None:
    made = Written(
        stream(thought("Hm."), text("Hi")),
        TOOLS,
        headers={"user-agent": agent},
        policy=TranslationPolicy(chat_reasoning="none"),
    )

    assert made.message["content"] == "Hi"
    assert "Hm." not in made.body.decode()


@pytest.mark.parametrize(
    ("agent", "completion"), [(XAI, 3), (AI_SDK_7.format("xai"), 3), (AI_WHOLE, 5), ("", 5)]
)
def test_thinking_is_not_counted_twice_by_a_client_that_adds_it(
    agent: str, completion: int
) -> None:
    usage = Usage(input_tokens=7, output_tokens=5, reasoning_tokens=2)
    body = {**TOOLS, "stream_options": {"include_usage": True}}
    made = Written(stream(text("Hi"), usage=usage), body, headers={"user-agent": agent})

    for counted in (made.chunks[-1]["usage"], made.whole["usage"]):
        assert (counted["completion_tokens"], counted["total_tokens"]) == (completion, 12)
        assert counted["completion_tokens_details"]["reasoning_tokens"] == 2


@pytest.mark.parametrize("agent", [DEEPSEEK, DEEPSEEK_7, AI_WHOLE, OPENAI, ""])
@pytest.mark.parametrize("read", [0, 4])
def test_cached_tokens_are_also_where_clients_of_deepseek_read_them(agent: str, read: int) -> None:
    usage = Usage(input_tokens=7, cache_read_tokens=read, output_tokens=5)
    made = Written(stream(text("Hi"), usage=usage), TOOLS, headers={"user-agent": agent})

    counted = made.whole["usage"]
    assert counted["prompt_tokens_details"]["cached_tokens"] == read
    assert counted.get("prompt_cache_hit_tokens", 0) == read


@pytest.mark.parametrize(
    ("agent", "flat"),
    [(MISTRAL, True), (AI_MISTRAL_7, True), (AI_WHOLE, True), (GROQ_7, False), ("", False)],
)
def test_an_error_has_the_fields_of_mistrals_beside_those_of_openai(agent: str, flat: bool) -> None:
    request = ClientRequest(body={}, headers={"user-agent": agent})
    body = front.error_form(request)(FrontError(status=404, message="m", code="c")).body

    error: Any = body["error"]
    assert error["message"] == "m"
    assert body == {"error": error, **({**error, "object": "error"} if flat else {})}


@pytest.mark.parametrize(
    ("agent", "content", "in_content"),
    [
        (AI_WHOLE, [{"type": "text", "text": "Hi"}], True),
        (AI_WHOLE, "Hi", False),
        (AI_WHOLE, [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}], False),
        (AI_WHOLE, [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}], False),
        (OPENAI, [{"type": "text", "text": "Hi"}], False),
    ],
    ids=["list", "text", "marked", "two parts", "another client"],
)
def test_the_ai_sdks_provider_of_mistral_is_known_by_its_texts_where_it_names_no_provider(
    agent: str, content: Any, in_content: bool
) -> None:
    """Others send one text as a text, and cannot read a list of parts."""
    fields = {"messages": [{"role": "user", "content": content}]}
    headers = {"user-agent": agent}
    made = Written(stream(thought("Hm."), text("Hello")), fields, headers=headers)
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Hello"},
    ]

    assert made.message["content"] == (parts if in_content else "Hello")
    assert ("reasoning_content" in made.message) is not in_content
    request = ClientRequest(body=fields, headers=headers)
    assert front.can_relay(request, "openai") is not in_content
