"""Refusals of requests speak of the client's API, and of no class of the library."""

import re
from typing import Any

import pytest

import llmcore
from llmcore import Client
from llmcore.fronts.front import ClientRequest, Upstream, front_by_id
from llmcore.fronts.policy import TranslationPolicy
from llmcore.schema.result import Failure
from llmcore.testing.fronts import SEALER
from scripts.fronts_table import MODELS

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


def message_of(front_id: str, protocol_id: str, body: dict[str, Any]) -> str | None:
    """Return the message with which a request is refused; None if it is sent."""
    upstream = Upstream(
        model=MODELS[protocol_id],
        protocol_id=protocol_id,
        policy=TranslationPolicy(),
        sealer=SEALER,
        new_id="{}_1".format,
    )
    asked = ClientRequest(
        body={"model": "m", **body}, path="/v1beta/models/m:streamGenerateContent"
    )
    read = front_by_id(front_id).read(asked, upstream)
    if isinstance(read, Failure):
        assert read.error.status == 400
        return read.error.message
    sent = CLIENT.prepare(read.unwrap().request)
    return sent.error.message if isinstance(sent, Failure) else None


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_is_wrong_in_the_words_of_the_clients_api(name: str) -> None:
    front_id, protocol_id, body, words = REFUSED[name]
    message = message_of(front_id, protocol_id, body)

    assert message is not None
    assert words in message
    assert CLASSES.findall(message) == []
