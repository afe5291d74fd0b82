"""Results of failed tools at Claude's APIs: text alone, and other content after the results."""

from typing import Any

import pytest

from llmcore.schema.content import (
    ContentPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy
from tests.support.wire import anthropic, bedrock

PNG = ImagePart(data=b"\x89PNG\r\n\x1a\n0000")
PDF = DocumentPart(data=b"%PDF-1.7", name="a.pdf")
OFF = CachePolicy(mode="off")


def asked_with(*content: ContentPart, is_error: bool) -> list[Message]:
    """Return a conversation in which a tool returned *content*."""
    result = ToolResultPart("toolu_1", content, is_error=is_error)
    call = ToolCallPart("toolu_1", "look", {})
    return [Message.user("a"), Message.assistant(call), Message("tool", (result,))]


def messages_sent(*content: ContentPart, is_error: bool) -> list[dict[str, Any]]:
    """Return the blocks of the last message to Anthropic."""
    asked = anthropic.ask(messages=asked_with(*content, is_error=is_error))
    last: list[dict[str, Any]] = anthropic.messages(asked)[-1]["content"]
    return last


def converse_sent(model: str, *content: ContentPart) -> list[dict[str, Any]]:
    """Return the blocks of the last message to Amazon Bedrock."""
    asked = bedrock.ask(model, messages=asked_with(*content, is_error=True), cache=OFF)
    last: list[dict[str, Any]] = bedrock.body(asked)["messages"][-1]["content"]
    return last


@pytest.mark.parametrize(
    ("content", "held", "after"),
    [
        ([TextPart("No.")], ["No."], []),
        (
            [TextPart("No."), PNG],
            ["No.", "[image 1 of tool call toolu_1: after the results]"],
            ["image 1 of tool call toolu_1:", "image"],
        ),
        (
            [PNG, TextPart("No."), PDF],
            [
                "[image 1 of tool call toolu_1: after the results]",
                "No.",
                "[document 2 of tool call toolu_1: after the results]",
            ],
            [
                "image 1 of tool call toolu_1:",
                "image",
                "document 2 of tool call toolu_1:",
                "document",
            ],
        ),
    ],
    ids=["text", "an image", "an image and a document"],
)
def test_the_result_of_a_failed_tool_is_text(
    content: list[ContentPart], held: list[str], after: list[str]
) -> None:
    """Both APIs refuse other content in it; it stands after the results."""
    result, *rest = messages_sent(*content, is_error=True)

    assert result["is_error"] is True
    assert [block["text"] for block in result["content"]] == held
    assert [block.get("text", block["type"]) for block in rest] == after

    native, *rest = converse_sent("anthropic.claude-sonnet-4-5-20250929-v1:0", *content)
    assert [block["text"] for block in native["toolResult"]["content"]] == held
    assert [block.get("text", next(iter(block))) for block in rest] == after


def test_the_move_is_reported() -> None:
    """Each block that moves has a Diagnostic."""
    asked = anthropic.ask(messages=asked_with(TextPart("No."), PNG, is_error=True))

    assert anthropic.codes(asked) == [
        ("moved-tool-result-media", "messages[2].content[0].content[1]")
    ]


def test_results_of_tools_that_did_not_fail_hold_media() -> None:
    """Nothing moves there, nor at a model that takes media in any result."""
    [result] = messages_sent(TextPart("Yes."), PNG, is_error=False)
    assert [block["type"] for block in result["content"]] == ["text", "image"]

    [native] = converse_sent("amazon.nova-pro-v1:0", TextPart("No."), PNG)
    assert [next(iter(block)) for block in native["toolResult"]["content"]] == ["text", "image"]


def test_what_moves_stands_before_what_the_user_says() -> None:
    """The results come first, then what they could not hold, then the rest of the message."""
    talk = [*asked_with(PNG, is_error=True), Message.user("Try again.")]
    sent = anthropic.messages(anthropic.ask(messages=talk))[-1]["content"]

    assert [block["type"] for block in sent] == ["tool_result", "text", "image", "text"]
