"""The estimate of a request's tokens: everything counts, and rather more than less."""

from pathlib import Path
from typing import Any

import anyio
import pytest

import llmcore
from llmcore import Client, Local
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import request
from llmcore.schema.token_estimate import estimated_own_tokens, estimated_tokens
from llmcore.schema.tools import HostedTool, ToolDefinition

LONG = "a word and another " * 260
TOOL = ToolDefinition("look", LONG)
PDF = b"%PDF-1.7" + b"/Type /Page\n" * 3
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def estimate(*messages: Message, **fields: Any) -> int:
    return estimated_tokens(
        request(model=Model("m", "p"), messages=[Message.user("Hi"), *messages], **fields)
    )


@pytest.mark.parametrize(
    ("fields", "least"),
    [
        ({"system": LONG}, 1000),
        ({"tools": [TOOL]}, 1000),
        ({"tools": [HostedTool.web_search()]}, 1000),
        ({"response_format": ResponseFormat.json_schema({"description": LONG})}, 1000),
    ],
    ids=["system", "tools", "hosted tool", "schema"],
)
def test_five_kilobytes_beside_the_messages_raise_the_count(
    fields: dict[str, Any], least: int
) -> None:
    """Clients shorten a conversation by what they are told, so nothing may be left out."""
    assert estimate(**fields) - estimate() >= least


@pytest.mark.parametrize(
    "message",
    [
        Message.user(LONG),
        Message.assistant(LONG),
        Message("assistant", (ReasoningPart(LONG),)),
        Message("assistant", (ToolCallPart("c", "look", {"text": LONG}),)),
        Message("tool", (ToolResultPart("c", LONG),)),
        Message.user(ImagePart(data=PNG)),
        Message.user(ImagePart(url="https://acme.test/a.png")),
        Message.user(AudioPart(data=bytes(300_000), media_type="audio/wav")),
        Message.user(DocumentPart(data=LONG.encode(), media_type="text/plain")),
        Message.user(DocumentPart(file_id="file_1")),
        Message.user(DocumentPart(data=PDF, media_type="application/pdf")),
        Message.assistant(ProviderPart(provider="p", data={"text": LONG})),
    ],
    ids=lambda message: type(message.content[0]).__name__,
)
def test_each_part_of_a_message_raises_the_count(message: Message) -> None:
    """Pictures, files and sound have no text, and are counted all the same."""
    assert estimate(message) - estimate() >= 1000


@pytest.mark.parametrize(
    ("fields", "prompts"),
    [
        ({}, 80),
        ({"tools": [TOOL]}, 680),
        ({"tools": [HostedTool.web_search()]}, 3680),
        ({"response_format": ResponseFormat.json_schema({"description": LONG})}, 680),
    ],
    ids=["alone", "tools", "hosted tool", "schema"],
)
def test_prompts_that_servers_add_are_in_the_estimate_and_not_in_its_content(
    fields: dict[str, Any], prompts: int
) -> None:
    """A window is compared with the whole; a number to be shown is the content's."""
    asked = request(model=Model("m", "p"), prompt="Hi", **fields)

    assert estimated_tokens(asked) - estimated_own_tokens(asked) == prompts


@pytest.mark.local_model
@pytest.mark.slow
@pytest.mark.parametrize("name", ["prose", "code", "json", "numbers"])
def test_no_text_is_counted_below_what_a_model_counts(name: str) -> None:
    """English, Python, JSON and numbers, as the tokenizer of the embedded model cuts them."""
    root = Path(llmcore.__file__).parent
    text = {
        "prose": (root / "client" / "client.py").read_text("utf-8").split('"""')[1] * 8,
        "code": (root / "schema" / "content.py").read_text("utf-8"),
        "json": (root / "catalog" / "models.json").read_text("utf-8"),
        "numbers": "".join(f"{n * 3.14159:.3f},{n * n}\n" for n in range(400)),
    }[name][:700]
    asked = request(model=Local.configure().model(), prompt=text, max_tokens=1)

    counted = anyio.run(Client().count_tokens, asked).unwrap()

    assert not counted.estimated
    assert 0.95 * counted.tokens <= estimated_tokens(asked) <= 2.5 * counted.tokens
