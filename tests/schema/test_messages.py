"""Messages: how they are made from roles, texts and parts."""

from typing import Any

import pytest
from hypothesis import given

from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message, Origin
from tests.support.strategies.values import messages

ROLES = ("system", "user", "assistant", "tool", "developer")

PARTS: dict[str, tuple[ContentPart, set[str]]] = {
    "text": (TextPart("x"), set(ROLES)),
    "image": (ImagePart(path="a.png"), set(ROLES)),
    "audio": (AudioPart(path="a.wav"), set(ROLES)),
    "document": (DocumentPart(path="a.pdf"), set(ROLES)),
    "provider": (ProviderPart("acme", {}), set(ROLES)),
    "reasoning": (ReasoningPart("hm"), {"assistant"}),
    "refusal": (RefusalPart("no"), {"assistant"}),
    "tool call": (ToolCallPart("c1", "f"), {"assistant"}),
    "provider's call": (ToolCallPart("c1", "f", provider_executed=True), {"assistant"}),
    "tool result": (ToolResultPart("c1", "x"), {"tool"}),
    "provider's result": (
        ToolResultPart("c1", "x", provider_executed=True),
        {"tool", "assistant"},
    ),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", PARTS)
def test_a_role_holds_its_parts_only(role: Any, name: str) -> None:
    """Calls, reasoning and refusals are the assistant's, results the tool's."""
    part, roles = PARTS[name]
    if role in roles:
        assert Message(role, part).content == (part,)
        return
    with pytest.raises(
        InvalidRequestError, match=f"a {role} message cannot contain a {type(part).__name__}"
    ):
        Message(role, part)


@pytest.mark.parametrize("role", ["robot", "", "User", None])
def test_an_unknown_role_is_refused(role: Any) -> None:
    """The error lists the roles there are."""
    with pytest.raises(InvalidRequestError, match="is not one of system, user, assistant, tool"):
        Message(role, "hi")


@pytest.mark.parametrize(
    ("message", "role", "content"),
    [
        (Message.system("be", " brief"), "system", (TextPart("be"), TextPart(" brief"))),
        (Message.developer("be brief"), "developer", (TextPart("be brief"),)),
        (
            Message.user("look", ImagePart(path="a.png"), name="Ann"),
            "user",
            (TextPart("look"), ImagePart(path="a.png")),
        ),
        (
            Message.assistant([ReasoningPart("hm"), "yes"]),
            "assistant",
            (ReasoningPart("hm"), TextPart("yes")),
        ),
        (
            Message.tool("c1", {"t": 20}, name="f", is_error=True),
            "tool",
            (ToolResultPart("c1", {"t": 20}, name="f", is_error=True),),
        ),
        (Message.user(), "user", ()),
        (Message("user", "hi"), "user", (TextPart("hi"),)),
    ],
)
def test_constructors_take_text_parts_and_lists(
    message: Message, role: str, content: tuple[ContentPart, ...]
) -> None:
    """Text, parts and lists of them are taken everywhere, in the order given."""
    assert (message.role, message.content) == (role, content)


def test_the_accessors_read_the_parts() -> None:
    """Text, reasoning and calls each come joined or listed in their order."""
    call = ToolCallPart("c1", "f", {"q": 1})
    message = Message.assistant(
        ReasoningPart("first "),
        "Hello, ",
        call,
        ToolCallPart("s1", "search", provider_executed=True),
        ReasoningPart("then"),
        "world",
        RefusalPart("no"),
        origin=Origin(provider="acme", model="m"),
    )

    assert message.text == "Hello, world"
    assert message.reasoning == "first then"
    assert message.tool_calls == (call,)


def test_no_reasoning_is_not_empty_reasoning() -> None:
    """None says that the model showed no thinking; empty text that it hid it."""
    assert Message.assistant("hi").reasoning is None
    assert Message.assistant(ReasoningPart("", encrypted="abc")).reasoning == ""
    assert Message.assistant().text == ""


@given(messages())
def test_a_message_does_not_share_the_list_it_was_built_from(message: Message) -> None:
    """Appending to the caller's list changes nothing."""
    parts = list(message.content)
    other = Message(message.role, parts)

    parts.clear()

    assert other.content == message.content
