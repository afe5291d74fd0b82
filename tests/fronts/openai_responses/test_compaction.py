"""Compaction: a summary in place of a conversation, for upstreams that have no such thing."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_responses.request import read_request
from llmcore.fronts.sealer import Sealer
from llmcore.schema.content import ProviderPart
from llmcore.schema.tools import ToolChoice
from tests.fronts.openai_responses.responses_kit import (
    Folded,
    asked,
    folded,
    messages_of,
    refused,
    translated,
    upstream_of,
)
from tests.support.events import call, stream, text, thought

TRIGGER = {"type": "compaction_trigger"}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "Count to ten."},
    {"role": "assistant", "content": "One, two."},
]
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
SCHEMA = {"format": {"type": "json_object"}}


def wish(**fields: Any) -> Any:
    """Return the translation of a request that ends with the trigger."""
    return asked([*SAID, TRIGGER], **fields)


def compacted(*segments: Any, **options: Any) -> Folded:
    """Return the stream of a response to it."""
    return folded(stream(*segments, **options), wish())


def test_the_upstream_is_asked_for_a_summary() -> None:
    """After all that was said; it may not call tools, nor is it held to a schema."""
    made = wish(tools=[TOOL], tool_choice="auto", text=SCHEMA)

    assert [message.role for message in made.messages] == ["user", "assistant", "user"]
    assert "summary" in made.messages[-1].text
    assert made.request.tool_choice == ToolChoice.none()
    assert made.request.response_format is None


def test_the_response_is_one_item() -> None:
    """Neither thinking, nor calls, nor a message: clients replace what they have by it."""
    made = compacted(thought("hm", signature="s"), text("They ", "count."), call("f", "{}"))

    assert made.types == [
        "created",
        "in_progress",
        "output_item.added",
        "output_item.done",
        "completed",
    ]
    assert [item["type"] for item in made.output] == ["compaction"]


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_the_item_is_read_as_the_summary(kind: str) -> None:
    """Items that the client keeps beside it stay in their places, under each of Codex's types."""
    item = {**compacted(text("They count.")).output[0], "type": kind}
    kept, summary, last = messages_of(SAID[0], item, {"role": "user", "content": "Go on."})

    assert (kept.text, last.text) == ("Count to ten.", "Go on.")
    assert summary.role == "user"
    assert summary.text.endswith("They count.")


def test_a_stored_conversation_goes_on_from_the_summary() -> None:
    """`previous_response_id` brings nothing else."""
    conversation = compacted(text("They count.")).conversation
    again = translated({"input": "Go on."}, previous=conversation)

    assert len(again.messages) == 2
    assert again.messages[0].text.endswith("They count.")


@pytest.mark.parametrize("segments", [(), (text("No.", refusal=True),), (call("f", "{}"),)])
def test_without_a_summary_the_response_fails(segments: Any) -> None:
    """A conversation must not be replaced by nothing."""
    made = folded(stream(*segments), wish(), strict=False)

    assert made.types[-1] == "failed"
    assert made.output == []


def test_a_summary_that_was_cut_off_is_incomplete() -> None:
    """The client decides what it is worth."""
    assert compacted(text("They"), reason="length").response["status"] == "incomplete"


@pytest.mark.parametrize(
    "items",
    [
        [TRIGGER, SAID[0]],
        [SAID[0], {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}],
        [SAID[0], {"type": "compaction", "id": "cmp_1"}],
        [
            SAID[0],
            {
                "type": "compaction",
                "encrypted_content": Sealer(b"another key").seal({"v": 1, "compaction": "x"}),
            },
        ],
    ],
)
def test_what_cannot_be_read_is_refused(items: list[dict[str, Any]]) -> None:
    """Much would be missing without it."""
    assert refused({"input": items}).code == "unsupported_item"


def test_a_marker_without_a_summary_is_left_out() -> None:
    """Codex keeps one where it compacted by itself; the messages beside it are what is left."""
    made = translated({"input": [{"type": "context_compaction"}, SAID[0]]})

    assert [message.text for message in made.messages] == ["Count to ten."]
    assert [note.path for note in made.diagnostics] == ["input[0]"]


@pytest.mark.parametrize("instructions", [None, "Be brief."])
def test_compaction_of_an_empty_conversation_is_refused(instructions: str | None) -> None:
    """A summary of it would be made up."""
    error = refused({"input": [TRIGGER], "instructions": instructions})

    assert (error.status, error.param) == (400, "input")


def test_openai_compacts_by_itself() -> None:
    """Its own trigger and items go up as they are; what we sealed is read by us."""
    foreign = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}
    ours = compacted(text("They count.")).output[0]
    body = {"input": [foreign, ours, SAID[0], TRIGGER]}
    made = translated(body, protocol_id="openai-responses")
    first, summary, *_, last = made.messages

    assert not made.compacts
    assert first.content == (ProviderPart("openai", foreign),)
    assert summary.text.endswith("They count.")
    assert last.content == (ProviderPart("openai", TRIGGER),)


@pytest.mark.parametrize(
    ("provider", "protocol_id", "asks"),
    [
        ("openai", "openai-responses", False),
        ("azure", "openai-responses", False),
        (None, "openai-responses", False),
        ("openai-compatible", "openai-responses", True),
        ("xai", "openai-responses", True),
        ("openai", "openai-chat", True),
    ],
)
def test_other_servers_of_the_api_are_asked_for_a_summary(
    provider: str | None, protocol_id: str, asks: bool
) -> None:
    """They do not know the trigger, and would respond to the conversation."""
    upstream = evolve(upstream_of(protocol_id), provider=provider)
    body: Any = {"model": "client-model", "input": [*SAID, TRIGGER]}
    made = read_request(ClientRequest(body=body), upstream).unwrap()

    assert made.compacts == asks
    assert ("summary" in made.messages[-1].text) == asks
    assert (ProviderPart("openai", TRIGGER) in made.messages[-1].content) == (not asks)
