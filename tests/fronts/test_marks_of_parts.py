"""The lifetime of a cached prefix and the detail of a file, which OpenAI sets part by part."""

import base64
from typing import Any

import pytest
from attrs import evolve

from llmcore.fronts.front import ClientRequest, front_by_id
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.model import Model
from tests.support.upstreams import upstream_of

MARK = {"mode": "explicit", "ttl": "12h"}
MARKED = {"type": "text", "text": "Hi", "prompt_cache_breakpoint": MARK}
INPUT = {**MARKED, "type": "input_text"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a text of Chat": (
        "openai-chat",
        {"messages": [{"role": "user", "content": [MARKED]}]},
        "messages[0].content[0].prompt_cache_breakpoint.ttl",
    ),
    "a result of Chat": (
        "openai-chat",
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": [MARKED]},
            ]
        },
        "messages[2].content[0].prompt_cache_breakpoint.ttl",
    ),
    "a text of Responses": (
        "openai-responses",
        {"input": [{"role": "developer", "content": [INPUT]}]},
        "input[0].content[0].prompt_cache_breakpoint.ttl",
    ),
    "a result of Responses": (
        "openai-responses",
        {
            "input": [
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": [INPUT]},
            ]
        },
        "input[1].output[0].prompt_cache_breakpoint.ttl",
    ),
}


def sent(
    front_id: str, body: dict[str, Any], protocol_id: str, model_id: str = "gpt-5.6"
) -> tuple[Any, list[str | None]]:
    """Return the body that the upstream gets, and what is reported."""
    model = Model(model_id, "openai")
    upstream = upstream_of(protocol_id, model)
    read = front_by_id(front_id).read(ClientRequest(body={"model": "m", **body}), upstream).unwrap()
    asked = evolve(read.request, model=model)
    built = protocol_by_id(protocol_id).body.build(asked, False).unwrap()
    return built.body, [note.path for note in (*read.diagnostics, *built.diagnostics)]


def found(value: Any, name: str) -> list[Any]:
    """Return the values of all fields of that name."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value[name]] if isinstance(value, dict) and name in value else []
    return own + [one for item in inner for one in found(item, name)]


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("name", ASKS)
def test_the_lifetime_of_one_prefix_is_sent_to_an_upstream_with_openais_marks(
    name: str, protocol_id: str
) -> None:
    front_id, asked, _ = ASKS[name]
    body, reported = sent(front_id, asked, protocol_id)

    assert found(body, "prompt_cache_breakpoint") == [MARK]
    assert reported == []


@pytest.mark.parametrize("protocol_id", ["anthropic-messages", "gemini", "bedrock-converse"])
@pytest.mark.parametrize("name", ASKS)
def test_the_lifetime_of_one_prefix_is_reported_for_an_upstream_without_openais_marks(
    name: str, protocol_id: str
) -> None:
    front_id, asked, path = ASKS[name]
    body, reported = sent(front_id, asked, protocol_id)

    assert found(body, "prompt_cache_breakpoint") == []
    assert path in reported


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("name", ASKS)
def test_the_lifetime_of_one_prefix_is_reported_for_a_model_without_breakpoints(
    name: str, protocol_id: str
) -> None:
    front_id, asked, _ = ASKS[name]
    body, reported = sent(front_id, asked, protocol_id, "gpt-5.5")

    assert found(body, "prompt_cache_breakpoint") == []
    assert [str(path).rpartition(".prompt_cache")[2] for path in reported] == ["_breakpoint.ttl"]


PDF = f"data:application/pdf;base64,{base64.b64encode(b'%PDF-1.4').decode()}"
TEXT = f"data:text/plain;base64,{base64.b64encode(b'Hi').decode()}"


@pytest.mark.parametrize(
    ("source", "detail", "protocol_id", "details", "reported"),
    [
        ({"file_data": PDF}, "low", "openai-responses", ["low"], []),
        ({"file_id": "file_1"}, "high", "openai-responses", ["high"], []),
        ({"file_url": "https://a.example/b.pdf"}, "low", "openai-responses", ["low"], []),
        ({"file_data": PDF}, "auto", "openai-responses", [], []),
        ({"file_data": TEXT}, "low", "openai-responses", ["low"], []),
        ({"file_data": PDF}, "low", "openai-chat", [], ["input[0].content[0].detail"]),
        ({"file_data": PDF}, "low", "gemini", [], ["input[0].content[0].detail"]),
        ({"file_data": PDF}, "auto", "gemini", [], []),
    ],
)
def test_the_detail_of_a_file_is_sent_to_an_upstream_of_the_api_or_reported(
    source: dict[str, Any],
    detail: str,
    protocol_id: str,
    details: list[str],
    reported: list[str | None],
) -> None:
    part = {"type": "input_file", **source, "detail": detail}
    asked = {"input": [{"role": "user", "content": [part]}]}
    body, notes = sent("openai-responses", asked, protocol_id)

    assert found(body, "detail") == details
    assert notes == reported
