"""Fields that OpenAI may add to items pass between a client and a server of the same API."""

import json
from typing import Any

import pytest

from llmcore.fronts.openai_responses.request import ReadResponsesRequest
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.schema.events import LLMEvent
from llmcore.schema.result import Success
from llmcore.testing.recorded import framing_of
from tests.fronts.openai_responses.responses_kit import ENCRYPTED, folded, translated
from tests.support.wire.responses import (
    Native,
    custom_call,
    document,
    function_call,
    message,
    reasoning,
    text_part,
)

RESPONSES = "openai-responses"
FUTURE: Native = {"tone": "calm", "proof": {"of": [1, 2]}}
TOOLS: Any = [
    {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "run"},
]
OUTPUT: list[Native] = [
    {**reasoning("Hm.", id="rs_1"), **FUTURE},
    message(text_part("Hi.", script="latin"), id="msg_1", **FUTURE),
    {**reasoning(id="rs_2"), **FUTURE},
    function_call(**FUTURE),
    {**custom_call(), **FUTURE},
]
RESULTS: list[Native] = [
    {"type": "function_call_output", "call_id": "call_1", "output": "19 C", **FUTURE},
    {"type": "custom_tool_call_output", "call_id": "call_c1", "output": "ok", **FUTURE},
]
HELLO: Native = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "Hello", "script": "latin"}],
    **FUTURE,
}


def built(made: ReadResponsesRequest) -> Native:
    """Return the body that an upstream of the same API gets."""
    result = protocol_by_id(RESPONSES).body.build(made.request, False)
    assert isinstance(result, Success), result
    body: Native = json.loads(json.dumps(result.unwrap().body))
    return body


def _asked(*items: Native, protocol_id: str = RESPONSES, **fields: Any) -> ReadResponsesRequest:
    return translated({"input": list(items), "tools": TOOLS, **fields}, protocol_id=protocol_id)


def _events(output: list[Native], made: ReadResponsesRequest) -> list[LLMEvent]:
    """Return the events of a response of the upstream."""
    protocol = protocol_by_id(RESPONSES)
    return decode_response(
        protocol,
        framing_of(protocol, {"content-type": "application/json"}),
        made.request,
        status=200,
        headers={"content-type": "application/json"},
        chunks=[json.dumps(document(output)).encode()],
        streaming=False,
    )


def _future_of(items: list[Native]) -> list[Native]:
    return [{name: item[name] for name in FUTURE if name in item} for item in items]


@pytest.mark.parametrize("shows_state", [True, False])
def test_a_client_sees_them_and_its_next_request_has_them(shows_state: bool) -> None:
    options: Any = ENCRYPTED if shows_state else {"store": False}
    asked = _asked(HELLO, **options)
    answer = folded(_events(OUTPUT, asked), asked, strict=False)
    shown = answer.output[: len(OUTPUT)]

    assert _future_of(shown) == [FUTURE] * len(OUTPUT)
    assert shown[1]["content"][0]["script"] == "latin"
    echoed = [item for item in answer.output if shows_state or item["type"] != "reasoning"]
    again = _asked(HELLO, *echoed, *RESULTS, **options)
    sent = built(again)["input"]
    assert _future_of(sent) == [FUTURE] * len(sent)
    assert (sent[0]["content"][0]["script"], "latin" in json.dumps(sent[1:])) == ("latin", True)
    assert [note.code for note in again.diagnostics] == []


@pytest.mark.parametrize("protocol_id", ["openai-chat", "anthropic-messages", "gemini"])
def test_an_upstream_with_another_api_gets_none_of_them_and_each_is_reported(
    protocol_id: str,
) -> None:
    made = _asked(HELLO, OUTPUT[1], OUTPUT[3], OUTPUT[4], *RESULTS, protocol_id=protocol_id)
    reported = [note.path for note in made.diagnostics if note.code == "unknown-parameter"]

    assert "calm" not in str(made.request)
    assert sorted(reported) == sorted(
        [
            "input[0].content[0].script",
            "input[1].content[0].script",
            *(f"input[{index}].{name}" for index in range(6) for name in FUTURE),
        ]
    )


def test_the_name_that_an_output_repeats_of_its_call_is_no_loss() -> None:
    output = {**RESULTS[0], "name": "weather", "namespace": "sky"}
    plain = {name: value for name, value in output.items() if name not in FUTURE}

    assert _asked(function_call(), plain, protocol_id="gemini").diagnostics == ()
    (sent,) = built(_asked(function_call(), plain))["input"][1:]
    assert sent == plain


AGENTS: list[Native] = [
    {**reasoning("A", id="rs_1"), "agent": {"agent_name": "/root"}},
    {**reasoning("B", id="rs_2"), "agent": {"agent_name": "/root/alpha"}},
    message("Cheap.", id="msg_1", phase="final_answer", agent={"agent_name": "/root/alpha"}),
    message("Take it.", id="msg_2", phase="final_answer", agent={"agent_name": "/root"}),
]


def test_a_client_that_asks_for_several_agents_sees_which_one_wrote_what() -> None:
    """And the conversation goes back as it came."""
    options: Any = {"multi_agent": {"enabled": True}, **ENCRYPTED}
    asked = _asked(HELLO, **options)
    answer = folded(_events(AGENTS, asked), asked, strict=False)
    again = _asked(HELLO, *answer.output, HELLO, **options)
    sent = built(again)

    agents = [item["agent"] for item in AGENTS]
    assert [item.get("agent") for item in answer.output][: len(AGENTS)] == agents
    assert [item.get("agent") for item in sent["input"][1:-1]] == agents
    assert [item.get("id") for item in sent["input"][1:-1]] == [item["id"] for item in AGENTS]
    assert sent["multi_agent"] == {"enabled": True}
