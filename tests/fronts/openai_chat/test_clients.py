"""SDKs of single providers, which read less than those of OpenAI."""

from typing import Any

import pytest

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_responses import front as responses_front
from llmcore.schema.errors import OverloadedError
from llmcore.schema.events import ErrorEvent, ToolInputDelta, ToolInputEnd, ToolInputStart
from tests.fronts.openai_chat.chat_kit import Written, sdk_streamed
from tests.support.events import call, stream, text

MISTRAL = "mistral-client-python/3.7.0"
CEREBRAS = "AsyncCerebras/Python 1.91.0"
OPENROUTER = "speakeasy-sdk/python 1.3.84 2.914.0 1.0.0 openrouter"
OPENAI = "OpenAI/Python 3.57.0"
TOOLS: dict[str, Any] = {"stream": True, "tools": [{"type": "function", "function": {"name": "f"}}]}


def written(*segments: Any, agent: str) -> Written:
    """Return a response for the client that *agent* names."""
    return Written(stream(*segments), TOOLS, headers={"user-agent": agent})


@pytest.mark.parametrize("agent", [MISTRAL, "mistral-client-typescript/2.7.0", CEREBRAS])
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


@pytest.mark.parametrize("agent", [OPENAI, OPENROUTER, ""])
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
