"""SDKs of single providers, which read less than those of OpenAI."""

from typing import Any

import pytest

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_responses import front as responses_front
from llmcore.schema.errors import OverloadedError
from llmcore.schema.events import ErrorEvent, ToolInputDelta, ToolInputEnd, ToolInputStart
from llmcore.schema.usage import Usage
from tests.fronts.openai_chat.chat_kit import Written, sdk_streamed
from tests.support.events import call, stream, text, thought

MISTRAL = "mistral-client-python/3.7.0"
CEREBRAS = "AsyncCerebras/Python 1.91.0"
OPENROUTER = "speakeasy-sdk/python 1.3.84 2.914.0 1.0.0 openrouter"
OPENAI = "OpenAI/Python 3.57.0"
AI_SDK = "ai-sdk/{}/3.0.138 ai-sdk/provider-utils/4.0.56 runtime/node.js/v20.20.2"
XAI, GROQ, AI_MISTRAL = (AI_SDK.format(name) for name in ("xai", "groq", "mistral"))
TOOLS: dict[str, Any] = {"stream": True, "tools": [{"type": "function", "function": {"name": "f"}}]}


def written(*segments: Any, agent: str) -> Written:
    """Return a response for the client that *agent* names."""
    return Written(stream(*segments), TOOLS, headers={"user-agent": agent})


@pytest.mark.parametrize("agent", [MISTRAL, "mistral-client-typescript/2.7.0", CEREBRAS, XAI])
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
        (GROQ, False, [("x_groq", "usage")]),
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
    ("agent", "name"),
    [(GROQ, "reasoning"), (XAI, "reasoning_content"), ("", "reasoning_content")],
)
def test_thinking_is_in_the_field_that_the_sdk_of_groq_reads(agent: str, name: str) -> None:
    made = written(thought("Hm."), text("Hi"), agent=agent)

    for delta in [*(chunk["choices"][0]["delta"] for chunk in made.chunks), made.message]:
        assert delta.keys() & {"reasoning", "reasoning_content"} <= {name}
    assert made.message[name] == "Hm."
