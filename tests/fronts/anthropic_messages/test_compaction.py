"""Compaction: a summary in place of a conversation, for upstreams of other APIs."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.fronts.anthropic_messages import ReadMessagesRequest, front
from llmcore.fronts.anthropic_messages.compaction import loses_thread
from llmcore.schema import json
from llmcore.schema.content import ProviderPart, TextPart, cache_ttl
from llmcore.schema.events import LLMEvent, ProviderEvent
from llmcore.schema.response import LLMResponse
from llmcore.schema.tools import ToolChoice, ToolDefinition
from tests.fronts.anthropic_messages.messages_kit import (
    HELLO,
    MESSAGES,
    SDK_ASK,
    Written,
    built,
    codes,
    decoded,
    messages_of,
    read,
    refused,
    sdk,
    upstream,
    written,
)
from tests.support.events import call, stream, text, thought

TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
SCHEMA = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
SUMMARY = {"type": "compaction", "content": "The user counts."}
FAILED = {"type": "compaction", "content": None}
SAID: list[Any] = [HELLO, {"role": "assistant", "content": "Hi."}]


def wish(protocol_id: str = "openai-chat", **fields: Any) -> ReadMessagesRequest:
    """Return a request for a summary as it is read."""
    return read({"messages": SAID, "compaction": {"type": "summarize"}, **fields}, protocol_id)


def compacted(*segments: Any, reason: str = "stop") -> Written:
    """Return the response to it, whose block the contract, without betas, does not have."""
    return written(stream(*segments, reason=reason), wish(), checked=False)


# -- requests


def test_an_upstream_of_another_api_writes_the_summary() -> None:
    """After all that was said; it may not call tools, nor is it held to a schema."""
    made = wish(tools=[TOOL], tool_choice={"type": "any"}, output_config=SCHEMA)

    assert [message.role for message in made.request.messages] == ["user", "assistant", "user"]
    assert "summary" in made.request.messages[-1].text
    assert made.request.tool_choice == ToolChoice.none()
    assert made.request.response_format is None
    assert made.compacts
    assert codes(made) == []


@pytest.mark.parametrize(
    ("given", "asks"),
    [("List the names.", "List the names."), ("  ", "Write a summary"), (None, "Write a summary")],
)
def test_the_clients_own_instructions_ask_for_the_summary(given: str | None, asks: str) -> None:
    """Blank ones count as absent."""
    made = wish(compaction={"type": "summarize", "instructions": given})

    assert asks in made.request.messages[-1].text


def test_a_messages_upstream_compacts_by_itself() -> None:
    """It gets the parameter, the blocks and what stands before them."""
    answer = {"role": "assistant", "content": [SUMMARY]}
    made = wish(MESSAGES, messages=[*SAID, answer, HELLO])

    body = built(made.request, MESSAGES)
    assert not made.compacts
    assert body["compaction"] == {"type": "summarize"}
    assert [block for one in body["messages"] for block in one["content"]][2] == SUMMARY


@pytest.mark.parametrize(
    ("natives", "roles", "places"),
    [
        pytest.param(
            [{"role": "assistant", "content": [SUMMARY]}, HELLO],
            ["user", "user"],
            ["messages[0].content[0]"],
            id="in place of the conversation",
        ),
        pytest.param(
            [
                *SAID,
                {"role": "assistant", "content": [{"type": "text", "text": "Old."}, SUMMARY]},
                HELLO,
            ],
            ["user", "user"],
            ["messages[2].content[1]"],
            id="behind what it was made of",
        ),
        pytest.param(
            [
                {"role": "assistant", "content": [{**SUMMARY, "content": "Older."}]},
                HELLO,
                {"role": "assistant", "content": [SUMMARY, {"type": "text", "text": "New."}]},
                HELLO,
            ],
            ["user", "assistant", "user"],
            ["messages[2].content[0]"],
            id="the last of two",
        ),
        pytest.param(
            [
                {"role": "assistant", "content": [SUMMARY]},
                HELLO,
                {"role": "assistant", "content": [FAILED, {"type": "text", "text": "New."}]},
                HELLO,
            ],
            ["user", "user", "assistant", "user"],
            ["messages[0].content[0]"],
            id="a later one that failed",
        ),
    ],
)
def test_a_conversation_goes_on_from_its_last_summary(
    natives: list[Any], roles: list[str], places: list[str]
) -> None:
    """Anthropic ignores the blocks before it, and reads those after it."""
    made = read({"messages": natives})

    messages = made.request.messages
    assert [message.role for message in messages] == roles
    assert messages[0].text.endswith("The user counts.")
    assert not any("Old" in message.text for message in messages)
    assert [(note.code, note.path) for note in made.diagnostics] == [
        ("context-summarized", place) for place in places
    ]


def test_a_compaction_that_failed_stands_for_nothing() -> None:
    """The conversation is whole without it."""
    made = read({"messages": [*SAID, {"role": "assistant", "content": [FAILED]}, HELLO]})

    assert [message.text for message in made.request.messages] == ["Hello", "Hi.", "Hello"]
    assert made.diagnostics == ()


def test_the_cache_mark_of_a_summary_is_kept() -> None:
    """The prefix that it ends is the summary."""
    marked = {**SUMMARY, "cache_control": {"type": "ephemeral", "ttl": "1h"}}

    (summary, _) = messages_of({"role": "assistant", "content": [marked]}, HELLO)

    assert isinstance(summary.content[0], TextPart)
    assert cache_ttl(summary.content[0]) == "1h"


def test_places_of_faults_behind_a_summary_are_those_of_the_request() -> None:
    """Also in the message that has it."""
    blocks = [SUMMARY, {"type": "tool_use", "id": "toolu_1"}]

    failure = refused({"messages": [*SAID, {"role": "assistant", "content": blocks}]})

    assert failure.param == "messages[2].content[1].name"


def test_tools_of_the_messages_before_a_summary_are_offered() -> None:
    """The block repeats what changed in them."""
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "late"}}
    removed = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "read"}}
    block = {**SUMMARY, "tool_changes": [added, removed]}
    late = {**TOOL, "name": "late", "defer_loading": True}

    made = read(
        {"tools": [TOOL, late], "messages": [{"role": "assistant", "content": [block]}, HELLO]}
    )

    assert [tool.name for tool in made.request.tools if isinstance(tool, ToolDefinition)] == [
        "late"
    ]


# -- responses


def test_the_response_is_one_block() -> None:
    """Neither thinking, nor calls, nor text: clients replace what they have by it."""
    made = compacted(thought("hm", signature="s"), text("They ", "count."), call("f", "{}"))

    assert made.content == [{"type": "compaction", "content": "They count."}]
    assert (made.end["delta"]["stop_reason"], made.whole["stop_reason"]) == (
        "compaction",
        "compaction",
    )
    assert [event["type"] for event in made.events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize(
    ("segments", "reason", "stop_reason"),
    [
        ((), "stop", "compaction"),
        ((text("They"),), "length", "max_tokens"),
        ((text("They"),), "content_filter", "refusal"),
    ],
)
def test_a_summary_that_is_not_whole_is_a_compaction_that_failed(
    segments: tuple[Any, ...], reason: str, stop_reason: str
) -> None:
    """Clients then keep the messages they have."""
    made = compacted(*segments, reason=reason)

    assert made.content == [FAILED]
    assert made.whole["stop_reason"] == stop_reason


def test_a_response_that_fails_has_no_summary() -> None:
    """It ends with an error, as any other."""
    made = compacted(text("They"), reason="error")

    assert made.failed
    assert made.content == []


@pytest.mark.parametrize("streaming", [True, False])
def test_anthropics_client_reads_the_summary(streaming: bool) -> None:
    """Streamed and whole; a later request brings it back."""
    made = compacted(text("They count."))
    headers = {"content-type": "text/event-stream" if streaming else "application/json"}
    body = made.body if streaming else json.dumps(made.whole)

    client = sdk(200, headers, body)
    if streaming:
        with client.beta.messages.stream(**SDK_ASK) as events:
            message = events.get_final_message()
    else:
        message = client.beta.messages.create(**SDK_ASK)

    (block,) = message.content
    assert (block.type, message.stop_reason) == ("compaction", "compaction")
    assert getattr(block, "content", None) == "They count."
    echo = {"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True)]}
    assert messages_of(echo, HELLO)[0].text.endswith("They count.")


@pytest.mark.parametrize("encrypted", [{}, {"encrypted_content": "opaque"}])
def test_anthropics_own_compaction_is_streamed_as_anthropic_does(encrypted: dict[str, str]) -> None:
    """Its content comes in a delta, by which clients announce it."""
    native = {**SUMMARY, **encrypted}
    events: list[LLMEvent] = [ProviderEvent("anthropic", native, replay=True)]
    made = written(stream(events, text("Hi.")), checked=False)

    begun, delta = made.events[1:3]
    assert begun["content_block"] == {**native, "content": None}
    assert delta["delta"] == {
        "type": "compaction_delta",
        "content": "The user counts.",
        **encrypted,
    }
    assert made.content[0] == native
    response = decoded(made.body, streaming=True)
    assert isinstance(response, LLMResponse)
    assert response.message.content[0] == ProviderPart("anthropic", native)


# -- threads


def test_a_thread_that_goes_on_is_not_found_elsewhere() -> None:
    """Clients then send the whole conversation; without it, the model would know nothing."""
    thread = {"type": "continue", "previous_message_id": "msg_1"}

    failure = front.error(refused({"thread": thread}))

    assert failure.status == 404
    error: Any = failure.body["error"]
    assert (error["type"], error["details"]) == (
        "not_found_error",
        {"error_code": "thread_not_found"},
    )


@pytest.mark.parametrize(
    ("thread", "protocol_id"),
    [
        ({"type": "create"}, "openai-chat"),
        ({"type": "continue", "previous_message_id": "msg_1"}, MESSAGES),
    ],
)
def test_other_threads_are_sent_or_reported(thread: dict[str, str], protocol_id: str) -> None:
    """One that begins needs no state, and Anthropic keeps its own."""
    made = read({"thread": thread}, protocol_id)

    sent = built(made.request, protocol_id).get("thread")
    assert sent == (thread if protocol_id == MESSAGES else None)
    assert [note.path for note in made.diagnostics] == ([] if sent else ["thread"])


@pytest.mark.parametrize(
    ("provider", "host", "loses"),
    [
        (None, None, False),
        (None, "proxy.example", False),
        ("anthropic", None, False),
        ("anthropic", "api.anthropic.com", False),
        ("anthropic", "proxy.example", True),
        ("bedrock", None, True),
    ],
)
def test_a_thread_goes_on_only_at_the_host_of_a_provider_that_keeps_it(
    provider: str | None, host: str | None, loses: bool
) -> None:
    """A server to which the address was set may not know the field."""
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    messages = evolve(upstream(MESSAGES), provider=provider, host=host)

    assert loses_thread({"thread": thread}, messages) is loses
    assert loses_thread({"thread": {"type": "create"}}, messages) is False
    assert loses_thread({"thread": thread}, evolve(messages, protocol_id="openai-chat")) is True
