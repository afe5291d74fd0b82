"""Conversations that are shortened before they are sent."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import Client, Message
from llmcore.catalog.model_info import ModelInfo
from llmcore.client.middleware.context import (
    CLEARED,
    EditContext,
    SummarizeContext,
    tokens_of,
    trimmed,
    without_old_results,
)
from llmcore.generation.generate import generate
from llmcore.schema.content import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.errors import ConfigurationError, ServerError
from llmcore.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio


def turn(number: int, calls: int = 0) -> list[Message]:
    """Return a question of about 25 tokens, *calls* of a tool with results, and a response."""
    asked = [
        message
        for call in range(calls)
        for message in (
            Message.assistant(ToolCallPart(f"c{number}-{call}", "look", {})),
            Message.tool(f"c{number}-{call}", "sunny " * 10, name="look"),
        )
    ]
    return [Message.user(f"{number} {'?' * 98}"), *asked, Message.assistant(f"{number} !")]


def conversation(turns: int, calls: int = 0) -> list[Message]:
    return [message for number in range(turns) for message in turn(number, calls)]


conversations = st.builds(
    lambda turns, last: [message for one in turns for message in one][: last or None],
    st.lists(st.builds(turn, st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(-3, 0),
).filter(lambda messages: bool(messages) and messages[-1].role != "tool")


@given(conversations, st.integers(1, 400))
def test_trimmed_messages_are_whole_and_within_the_limit_if_they_can_be(
    messages: list[Message], limit: int
) -> None:
    kept = trimmed(messages, max_tokens=limit)

    position = [next(n for n, one in enumerate(messages) if one is item) for item in kept]
    assert position == sorted(set(position))
    assert kept[-1] is messages[-1]
    assert kept[0].role == "user"
    last_question = max(n for n, one in enumerate(messages) if one.role == "user")
    assert last_question in position
    calls = [call.id for one in kept for call in one.tool_calls]
    results = [p.tool_call_id for one in kept for p in one.content if isinstance(p, ToolResultPart)]
    assert set(results) <= set(calls)
    needed = {last_question, *range(_start_of_last_group(messages), len(messages))}
    if set(position) != needed:
        assert tokens_of(kept) <= limit + len(kept)  # each is rounded up by itself
    if tokens_of(messages) + len(messages) <= limit:
        assert list(kept) == messages


def _start_of_last_group(messages: list[Message]) -> int:
    return max(n for n, one in enumerate(messages) if one.role != "tool")


def test_trimming_a_long_run_keeps_its_question() -> None:
    messages = turn(0, calls=5)[:-1]

    kept = trimmed(messages, max_tokens=60)

    assert kept[0] is messages[0]
    assert list(kept[1:]) == messages[-2:] or list(kept[1:]) == messages[-4:]


@pytest.mark.parametrize(("keep", "cleared"), [(0, 4), (1, 3), (3, 1), (4, 0), (9, 0)])
def test_old_results_are_replaced_and_the_newest_kept(keep: int, cleared: int) -> None:
    messages = conversation(2, calls=2)

    edited = without_old_results(messages, keep=keep)

    results = [p for one in edited for p in one.content if isinstance(p, ToolResultPart)]
    assert [result.content == CLEARED for result in results] == [True] * cleared + [False] * (
        4 - cleared
    )
    assert [one.role for one in edited] == [one.role for one in messages]


def test_trimming_nothing_returns_nothing() -> None:
    assert trimmed([], max_tokens=1) == ()


async def test_edited_context_is_sent_and_reported() -> None:
    fake = FakeModel("Hi.", "Hi.")
    client = Client(middleware=[EditContext(partial(trimmed, max_tokens=60)), fake])

    long = await generate(fake.model, messages=conversation(3)[:-1], client=client)
    short = await generate(fake.model, "Hi", client=client)

    assert [one.text[0] for one in fake.requests[0].messages] == ["1", "1", "2"]
    assert [note.code for note in long.diagnostics] == ["context-edited"]
    assert short.diagnostics == ()


async def test_long_conversation_is_summarized_once_until_it_has_grown_again() -> None:
    fake = FakeModel("SUMMARY 1", "answer", "answer", "SUMMARY 2", "answer")
    client = Client(middleware=[SummarizeContext(max_tokens=120, keep_tokens=40), fake])

    async def ask(turns: int) -> Any:
        return await generate(fake.model, messages=conversation(turns)[:-1], client=client)

    first, second, third = await ask(5), await ask(6), await ask(9)

    written, sent, later, again, last = fake.requests
    assert "0 ???" in written.messages[0].text
    assert sent.messages[0].text.endswith("SUMMARY 1")
    assert later.messages[: len(sent.messages)] == sent.messages  # prompt caches stay valid
    assert "SUMMARY 1" in again.messages[0].text
    assert last.messages[0].text.endswith("SUMMARY 2")
    for result in (first, second, third):
        assert [note.code for note in result.diagnostics] == ["context-summarized"]


async def test_calls_and_results_are_in_the_text_that_is_summarized() -> None:
    fake = FakeModel("SUMMARY", "answer")
    client = Client(middleware=[SummarizeContext(max_tokens=60, keep_tokens=20), fake])
    called = [
        Message.user("Weather in Paris? " * 20),
        Message.assistant(ToolCallPart("c1", "look", {"city": "Paris"}), ReasoningPart("Hm.")),
        Message(
            "tool",
            (
                ToolResultPart("c1", "19 C"),
                ToolResultPart("c2", (TextPart("at"), TextPart("noon"))),
            ),
        ),
        Message.user("And in Rome? " * 5),
    ]

    await generate(fake.model, messages=called, client=client)

    assert (
        fake.requests[0]
        .messages[0]
        .text.endswith(
            'assistant: [calls look with {"city":"Paris"}] [reasoning]\n\ntool: [19 C] at noon'
        )
    )


def test_editing_without_a_function_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a function"):
        EditContext()


async def test_limit_comes_from_the_window_of_the_model() -> None:
    fake = FakeModel("SUMMARY", "answer")
    known = ModelInfo(id="fake-model", provider="fake", display_name="F", context_window=150)
    client = Client(middleware=[SummarizeContext(), fake], models=[known])

    await generate(fake.model, messages=conversation(5)[:-1], client=client)

    assert len(fake.requests) == 2


async def test_unknown_window_and_one_long_question_are_sent_as_they_are() -> None:
    fake = FakeModel("answer", "answer")
    unknown = Client(middleware=[SummarizeContext(), fake])
    small = Client(middleware=[SummarizeContext(max_tokens=10), fake])

    await generate(fake.model, messages=conversation(9)[:-1], client=unknown)
    await generate(fake.model, messages=turn(0)[:1], client=small)

    assert [len(request.messages) for request in fake.requests] == [17, 1]


async def test_summary_that_fails_is_the_error_of_the_call() -> None:
    fake = FakeModel(ServerError("down"))
    client = Client(middleware=[SummarizeContext(max_tokens=50), fake])

    with pytest.raises(ServerError, match="down"):
        await generate(fake.model, messages=conversation(5)[:-1], client=client, max_retries=0)


@pytest.mark.parametrize("settings", [{"max_tokens": 0}, {"keep_tokens": -1}], ids=str)
def test_limits_below_1_are_refused(settings: Any) -> None:
    with pytest.raises(ConfigurationError, match="must be at least 1"):
        SummarizeContext(**settings)
