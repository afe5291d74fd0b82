"""Errors of refused requests use the words of the client's API, and name no class of ours."""

import re
from typing import Any

import pytest

import llmcore
from llmcore import Client
from llmcore.fronts.front import ClientRequest, front_by_id
from llmcore.schema.result import Failure, Result
from scripts.fronts_table import MODELS
from tests.support.upstreams import upstream_of

CLIENT = Client(environ={})
CLASSES = re.compile("|".join(rf"\b{name}\b" for name in llmcore.__all__ if name[1:].isalpha()))
CLICK = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
}
EMPTY = {"type": "base64", "media_type": "application/pdf", "data": ""}


def shown(output: Any) -> dict[str, Any]:
    result = {"type": "computer_call_output", "call_id": "c1", "output": output}
    return {"input": [{"role": "user", "content": "Hi"}, CLICK, result]}


def said(front_id: str, *parts: dict[str, Any]) -> dict[str, Any]:
    if front_id == "gemini":
        return {"contents": [{"role": "user", "parts": list(parts)}]}
    name = "input" if front_id == "openai-responses" else "messages"
    return {"max_tokens": 9, name: [{"role": "user", "content": list(parts)}]}


CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "1"}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1"}
TOOL_USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "1"}
GEMINIS_CALL = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
GEMINIS_RESULT = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": 1}}}
ONLY_F = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
STORED = "https://generativelanguage.googleapis.com/v1beta/files/abc"
GEMINIS_SECOND = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": 2}}}
TWICE = "is a second result for the call 'c1': keep one of them."

REFUSED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "computer without a screenshot": (
        "openai-responses",
        "openai-responses",
        shown({"type": "computer_screenshot"}),
        "input[2].output must be a computer_screenshot with an image_url or a file_id.",
    ),
    "computer with a text": (
        "openai-responses",
        "openai-responses",
        shown("clicked"),
        "input[2].output must be a computer_screenshot with an image_url or a file_id.",
    ),
    "document without bytes": (
        "anthropic-messages",
        "bedrock-converse",
        said("anthropic-messages", {"type": "document", "source": EMPTY}),
        "a document holds no bytes",
    ),
    "file of no known type": (
        "openai-responses",
        "gemini",
        said("openai-responses", {"type": "input_file", "file_data": "AAEC"}),
        "cannot tell what a document holds: give its media type",
    ),
    "two results of a call, in Responses": (
        "openai-responses",
        "anthropic-messages",
        {"input": [{"role": "user", "content": "Hi"}, CALL, OUTPUT, {**OUTPUT, "output": "2"}]},
        f"input[3] {TWICE}",
    ),
    "two results of a call, in Chat": (
        "openai-chat",
        "gemini",
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "tool_calls": [CHAT_CALL]},
                CHAT_RESULT,
                {**CHAT_RESULT, "content": "2"},
            ]
        },
        f"messages[4] {TWICE}",
    ),
    "two results of a call, in Messages": (
        "anthropic-messages",
        "openai-chat",
        {
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [TOOL_USE]},
                {"role": "user", "content": [TOOL_RESULT, {**TOOL_RESULT, "content": "2"}]},
            ],
        },
        f"messages[2].content[1] {TWICE}",
    ),
    "two results of a call, in Gemini's API": (
        "gemini",
        "openai-responses",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {"role": "model", "parts": [GEMINIS_CALL]},
                {"role": "user", "parts": [GEMINIS_RESULT, GEMINIS_SECOND]},
            ]
        },
        f"contents[2].parts[1].functionResponse {TWICE}",
    ),
    "file that Google stores": (
        "gemini",
        "anthropic-messages",
        said("gemini", {"fileData": {"fileUri": STORED}}),
        "contents[0].parts[0].fileData.fileUri names a file by its id, which the upstream does not",
    ),
    "MIME type with a comma": (
        "gemini",
        "openai-responses",
        said("gemini", {"inlineData": {"mimeType": "a/b,c", "data": "AAEC"}}),
        "a document has 'a/b,c', which is not a MIME type",
    ),
    "file in a bucket of no known type": (
        "openai-responses",
        "bedrock-converse",
        said("openai-responses", {"type": "input_file", "file_url": "s3://b/k"}),
        "cannot tell what s3://b/k holds: give its media type",
    ),
    "function that is not declared": (
        "gemini",
        "openai-responses",
        {**said("gemini", {"text": "Hi"}), "toolConfig": ONLY_F},
        "toolConfig.functionCallingConfig.allowedFunctionNames has 'f', which no functionDecl",
    ),
    "nothing but a block of another API": (
        "anthropic-messages",
        "openai-chat",
        said("anthropic-messages", {"type": "image_url", "image_url": {"url": "https://a/b.png"}}),
        "messages: nothing is left to answer (a block of the type image_url was left out",
    ),
    "display that is no text": (
        "anthropic-messages",
        "gemini",
        {
            **said("anthropic-messages", {"type": "text", "text": "Hi"}),
            "thinking": {"type": "adaptive", "display": ["summarized"]},
        },
        "thinking.display must be a text.",
    ),
}


def prepared(front_id: str, protocol_id: str, body: dict[str, Any]) -> Result[Any, Any]:
    """Return the request that the upstream gets, or the error with which it is refused."""
    upstream = upstream_of(protocol_id, MODELS[protocol_id])
    asked = ClientRequest(
        body={"model": "m", **body}, path="/v1beta/models/m:streamGenerateContent"
    )
    read = front_by_id(front_id).read(asked, upstream)
    if isinstance(read, Failure):
        assert read.error.status == 400
        return read
    return CLIENT.prepare(read.unwrap().request)


def message_of(front_id: str, protocol_id: str, body: dict[str, Any]) -> str | None:
    """Return the message with which a request is refused; None if it is sent."""
    sent = prepared(front_id, protocol_id, body)
    return sent.error.message if isinstance(sent, Failure) else None


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_is_wrong_in_the_words_of_the_clients_api(name: str) -> None:
    front_id, protocol_id, body, words = REFUSED[name]
    message = message_of(front_id, protocol_id, body)

    assert message is not None
    assert words in message
    assert CLASSES.findall(message) == []
    if front_id in ("gemini", "openai-responses"):
        assert "messages[" not in message


@pytest.mark.parametrize("protocol_id", list(MODELS))
def test_a_call_that_comes_again_has_a_result_again(protocol_id: str) -> None:
    """Servers that number their calls begin anew in each response."""
    body = {"input": [{"role": "user", "content": "Hi"}, CALL, OUTPUT, CALL, OUTPUT]}

    assert message_of("openai-responses", protocol_id, body) is None


MARKED = {**TOOL_RESULT, "cache_control": {"type": "ephemeral"}}
SENT_AGAIN: dict[str, dict[str, Any]] = {
    "openai-responses": {"input": [{"role": "user", "content": "Hi"}, CALL, OUTPUT, OUTPUT]},
    "openai-chat": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [CHAT_CALL]},
            CHAT_RESULT,
            CHAT_RESULT,
        ]
    },
    "anthropic-messages": {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [TOOL_USE]},
            {"role": "user", "content": [TOOL_RESULT, MARKED]},
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [GEMINIS_CALL]},
            {"role": "user", "parts": [GEMINIS_RESULT, GEMINIS_RESULT]},
        ]
    },
}


@pytest.mark.parametrize("front_id", SENT_AGAIN)
@pytest.mark.parametrize("protocol_id", list(MODELS))
def test_a_result_that_is_sent_twice_goes_up_once(front_id: str, protocol_id: str) -> None:
    """Gemini CLI repeats all results of a conversation that it resumes."""
    made = prepared(front_id, protocol_id, SENT_AGAIN[front_id]).unwrap()

    assert "tool-result-stray" in [one.code for one in made.diagnostics]
