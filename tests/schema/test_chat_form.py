"""Messages and tools given as dicts in the form of Chat Completions."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    AudioPart,
    DocumentPart,
    ImagePart,
    Message,
    TextPart,
    ToolDefinition,
    evolve,
    generate,
    request,
    tool,
)
from llmcore.schema.content import RefusalPart, ToolCallPart, ToolResultPart, cached
from llmcore.schema.errors import InvalidRequestError
from llmcore.testing.fake_model import FakeModel

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}

READ: list[tuple[dict[str, Any], Message]] = [
    ({"role": "user", "content": "Hi", "name": "Ann"}, Message.user("Hi", name="Ann")),
    ({"role": "system", "content": "Be brief."}, Message.system("Be brief.")),
    ({"role": "developer", "content": "Be brief."}, Message.developer("Be brief.")),
    (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        Message.assistant(ToolCallPart("c1", "f", {"a": 1})),
    ),
    (
        {"role": "assistant", "content": "No", "refusal": "never"},
        Message.assistant("No", RefusalPart("never")),
    ),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "never"}]},
        Message.assistant(RefusalPart("never")),
    ),
    (
        {"role": "assistant", "tool_calls": [{"id": "c1", "custom": {"name": "f", "input": "x"}}]},
        Message.assistant(ToolCallPart("c1", "f", "x", kind="custom")),
    ),
    (
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sunny"}]},
        Message("tool", (ToolResultPart("c1", "sunny"),)),
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": "https://h/a.png", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}},
                {"type": "file", "file": {"file_id": "f1"}},
                {
                    "type": "file",
                    "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
                },
            ],
        },
        Message.user(
            TextPart("See"),
            ImagePart(url="https://h/a.png", detail="low"),
            AudioPart(data=b"abc", media_type="audio/wav"),
            DocumentPart(file_id="f1"),
            DocumentPart(url="data:application/pdf;base64,JVBE", name="a.pdf"),
        ),
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
                {
                    "type": "file",
                    "file": {"file_id": "f1", "filename": "a.pdf"},
                    "cache_control": {"type": "ephemeral", "ttl": "1h"},
                },
            ],
        },
        Message.user(
            cached(TextPart("Hi")), cached(DocumentPart(file_id="f1", name="a.pdf"), ttl="1h")
        ),
    ),
    (
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [
                {"type": "text", "text": "dry", "cache_control": {"type": "ephemeral", "ttl": "5m"}}
            ],
        },
        Message("tool", (cached(ToolResultPart("c1", "dry")),)),
    ),
    (
        {"role": "assistant", "content": "Hi", "annotations": [], "audio": None, "tool_calls": []},
        Message.assistant("Hi"),
    ),
]


@pytest.mark.parametrize(("given_", "message"), READ, ids=lambda value: str(value)[:40])
def test_a_dict_is_read_as_a_message(given_: dict[str, Any], message: Message) -> None:
    """Wherever a message is taken."""
    assert Message.from_openai(given_) == message
    assert request(model="m", messages=[given_]).messages == (message,)


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"content": "Hi"}, "needs a role, one of system"),
        ({"role": "user", "contents": "Hi"}, "no field 'contents'; its fields are content"),
        ({"role": "user", "content": "Hi", "tool_calls": [CALL]}, "no field 'tool_calls'"),
        ({"role": "user", "contents": "Hi"}, "no field 'contents'"),
        ({"role": "user", "content": 5}, "is an int"),
        ({"role": "user", "content": [{"type": "video"}]}, "'video'"),
        ({"role": "user", "content": ["Hi"]}, "'str'"),
        ({"role": "user", "parts": [{"text": "Hi"}]}, "no field 'parts'.*: write content"),
        (
            {"role": "user", "content": "Hi", "cache_control": {"type": "ephemeral"}},
            "put it into a part of the content",
        ),
        (
            {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."},
            "an assistant message has no field 'reasoning_content'.*ReasoningPart",
        ),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]},
            "of an assistant message .*'thinking'; write Message.assistant.ReasoningPart",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "Hi", "citations": [1]}]},
            "a part 'text' with unknown fields: 'citations'",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "a", "format": "b"}}],
            },
            "a part 'image_url' with unknown fields: 'format'",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_id": "f", "file_data": "data:,"}}],
            },
            "exactly one of",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": "on"}]},
            'cache_control must be {"type": "ephemeral"}',
        ),
        (
            {"role": "assistant", "tool_calls": [{**CALL, "extra_content": {"google": {}}}]},
            "a tool call has no field 'extra_content'",
        ),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "a tool call needs"),
        ({"role": "tool", "content": "x"}, "needs tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": 1}, "tool_call_id is an int, not text"),
        (
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}],
            },
            "the content of a tool message is text",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}],
            },
            "not base64",
        ),
    ],
)
def test_other_dicts_are_refused(given_: dict[str, Any], told: str) -> None:
    """Nothing in them is left out without a word."""
    with pytest.raises(InvalidRequestError, match=told):
        Message.from_openai(given_)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(
    st.sampled_from(["user", "system", "assistant", "tool"]),
    JSON,
    st.dictionaries(st.sampled_from(["name", "tool_calls", "refusal", "tool_call_id"]), JSON),
)
def test_no_dict_breaks_the_reader(role: str, content: Any, more: dict[str, Any]) -> None:
    """It is a message, or a typed error."""
    with suppress(InvalidRequestError):
        message = Message.from_openai({"role": role, "content": content, **more})
        assert message.role == role


def weather(city: str) -> str:
    """Return the weather."""
    return city


def test_tools_are_taken_in_every_form() -> None:
    """Dicts of both of OpenAI's APIs, and functions with a definition."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    chat = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    responses = {"type": "function", "name": "f", "parameters": schema, "strict": True}
    expected = ToolDefinition("f", parameters=schema, strict=True)
    made = request(model="m", prompt="Hi", tools=[chat, tool(weather)])
    assert made.tools == (expected, tool(weather).definition)
    assert request(model="m", prompt="Hi", tools=[responses]).tools == (expected,)
    mark = {"cache_control": {"type": "ephemeral"}}
    for marked in ({**chat, **mark}, {**responses, **mark}):
        assert request(prompt="Hi", tools=[marked]).tools == (evolve(expected, cache="5m"),)
    for wrong in (
        {**chat, "defer_loading": True},
        {"name": "f"},
        {"type": "function", "function": {"name": "f", "x": 1}},
        5,
    ):
        with pytest.raises(InvalidRequestError):
            request(model="m", prompt="Hi", tools=[wrong])  # type: ignore[list-item]


@pytest.mark.anyio
async def test_generate_sends_messages_and_tools_given_as_dicts() -> None:
    """The model is sent what they say."""
    fake = FakeModel("Hello")
    definition = {"type": "function", "function": {"name": "f"}}
    messages = [{"role": "user", "content": "Hi"}]
    await generate(fake.model, messages=messages, tools=[definition], client=fake.client)
    assert fake.requests[0].messages == (Message.user("Hi"),)
    assert fake.requests[0].tools == (ToolDefinition("f"),)
