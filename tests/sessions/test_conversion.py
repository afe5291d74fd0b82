"""Messages as entries and back: nothing is lost."""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import ANY

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema import content as c
from llmcore.schema.errors import LLMError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.schema.usage import Usage
from llmcore.sessions.contract import entries as e
from llmcore.sessions.contract.codec import entry_from_text, entry_to_text
from llmcore.sessions.contract.errors import MalformedError
from llmcore.sessions.contract.run_rules import check_run
from llmcore.sessions.conversion import response_entries, to_entries, to_messages
from tests.support.strategies.contract import NOON, RUN, entry, single_entries
from tests.support.strategies.values import messages, responses


def entries_of(*said: Message) -> tuple[e.MessageEntry, ...]:
    return to_entries(said, run_id=RUN, timestamp=NOON)


def kept(entries: Sequence[e.MessageEntry]) -> list[e.MessageEntry]:
    """Return *entries* as they come back from a store."""
    return [entry_from_text(entry_to_text(one)) for one in entries]


@given(st.lists(messages(), max_size=3))
def test_every_conversation_round_trips_through_stored_entries(said: list[Message]) -> None:
    """Messages -> entries -> JSON -> entries -> messages are the same messages."""
    entries = entries_of(*said)

    assert tuple(kept(entries)) == entries
    assert to_messages(kept(entries)) == tuple(said)


@given(st.lists(messages(), max_size=2), st.lists(messages(), max_size=2))
def test_a_conversation_stored_in_two_parts_round_trips(
    first: list[Message], second: list[Message]
) -> None:
    """Messages appended later come back too, with new ids for calls whose ids collide."""
    before = entries_of(*first)
    after = to_entries(second, run_id=RUN, timestamp=NOON, after=before)

    assert to_messages(kept([*before, *after])) == (*first, *second)
    calls = [call.tool_call_id for one in (*before, *after) for call in one.tool_calls]
    assert len(set(calls)) == len(calls)


BROKEN: list[tuple[c.ToolCallPart, bool]] = [
    (c.ToolCallPart("a", "look", '{"city": "Os'), True),
    (c.ToolCallPart("a", "look", [1, 2]), True),
    (c.ToolCallPart("a", "look", {"city": "Oslo"}), False),
    (c.ToolCallPart("a", "look", {"city": "Oslo"}, raw_arguments='{ "city": "Oslo" }'), False),
    (c.ToolCallPart("a", "patch", "*** Begin", kind="custom"), False),
    (c.ToolCallPart("a", "search", "{", provider_executed=True), False),
]


@pytest.mark.parametrize(("call", "broken"), BROKEN)
def test_entries_name_calls_whose_arguments_are_not_an_object(
    call: c.ToolCallPart, broken: bool
) -> None:
    """As `assemble` does; the call itself comes back as it was."""
    fine = c.ToolCallPart("b", "look", {})
    said = Message.assistant([fine, call])
    (one,) = entries_of(said)

    assert to_messages(kept([one])) == (said,)
    match one.meta.get("toolCallErrors"):
        case [{"toolCallId": "a", "message": str(message)}]:
            assert broken
            assert "not" in message
        case None:
            assert not broken
        case other:
            pytest.fail(f"unexpected: {other}")


def test_broken_calls_are_named_by_the_id_that_their_entry_has() -> None:
    """An id that the run has already is another one in the entry."""
    call = Message.assistant([c.ToolCallPart("a", "look", "{")])
    before = entries_of(call)
    (one,) = to_entries([call], run_id=RUN, timestamp=NOON, after=before)

    assert one.meta["toolCallErrors"] == [
        {"toolCallId": one.tool_calls[0].tool_call_id, "message": ANY}
    ]
    assert one.tool_calls[0].tool_call_id != "a"


PICTURE = b"\x89PNG"
PLAIN: list[tuple[Message, e.MessageEntry]] = [
    (Message.system("Be brief."), entry("system", e.EntryText("Be brief."))),
    (
        Message.user("Look", c.ImagePart(data=PICTURE, media_type="image/png")),
        entry(
            "user", e.EntryText("Look"), e.EntryImage(mime_type="image/png", data="iVBORw==")
        ),
    ),
    (
        Message.user(c.DocumentPart(path="a"), c.ImagePart(path="b.png", media_type="image/png")),
        entry("user", e.EntryFileRef("a"), e.EntryFileRef("b.png", mime_type="image/png")),
    ),
    (
        Message.assistant(
            c.ReasoningPart("Hm."), "Yes.", c.ToolCallPart("call_1", "look", {"at": 1})
        ),
        entry(
            "assistant",
            e.EntryThinking("Hm."),
            e.EntryText("Yes."),
            e.EntryToolCall("call_1", "look", {"at": 1}),
        ),
    ),
    (Message.tool("call_1", "done"), entry("tool", e.EntryToolResult("call_1", "done"))),
    (
        Message.tool("call_1", {"parts": ["x"]}, is_error=True),
        entry("tool", e.EntryToolResult("call_1", {"parts": ["x"]}, is_error=True)),
    ),
    (
        Message.tool("call_1", [c.TextPart("x"), c.ImagePart(url="https://x/y.png")]),
        entry(
            "tool",
            e.EntryToolResult(
                "call_1",
                (e.EntryText("x"), e.EntryImage(mime_type="image/*", url="https://x/y.png")),
            ),
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("message", "said"), PLAIN)
def test_messages_that_the_contract_can_express_need_no_meta(
    message: Message, said: e.MessageEntry
) -> None:
    """The usual conversation needs no `meta` at all, in either direction."""
    assert entries_of(message) == (said,)
    assert to_messages([said]) == (message,)


def test_a_broken_call_reads_back_from_an_entry_without_meta() -> None:
    """The text that the model wrote is all it takes."""
    said = entry("assistant", e.EntryToolCall("call_1", "look", {}, raw_args_text='{"at":'))

    assert to_messages([said]) == (Message.assistant(c.ToolCallPart("call_1", "look", '{"at":')),)


def test_signatures_citations_and_native_parts_are_stored_in_meta() -> None:
    """Text stands in the parts only; beside it is what the provider wants back."""
    message = Message.assistant(
        c.ReasoningPart("Hm.", signature="c2ln"),
        c.ProviderPart("acme", {"native": 1}),
        c.TextPart("Yes.", citations=(c.Citation(url="https://x"),)),
        origin=Origin(provider="acme", model="m-1"),
    )
    (one,) = entries_of(message)

    assert one.parts == (e.EntryThinking("Hm."), e.EntryText("Yes."))
    assert one.meta == {
        "llmcore": {
            "message": {"origin": {"provider": "acme", "model": "m-1"}},
            "content": [
                {"set": {"signature": "c2ln"}},
                {"whole": {"type": "provider", "provider": "acme", "data": {"native": 1}}},
                {"set": {"citations": [{"url": "https://x"}]}},
            ],
        }
    }


def test_a_message_with_several_results_becomes_several_entries() -> None:
    """One message comes back as one; two come back as two."""
    results = [c.ToolResultPart(f"call_{n}", "x") for n in range(3)]
    together, alone = Message("tool", (*results, "And?")), Message("tool", (results[0],))
    entries = entries_of(together, alone)

    assert [one.role for one in entries] == ["tool", "tool", "tool", "user", "tool"]
    assert to_messages(entries) == (together, alone)
    assert to_messages(entries[1:3]) == (Message("tool", tuple(results[1:])),)
    assert to_messages([entries[0], entries[4]]) == (Message("tool", (results[0],)), alone)
    assert to_messages(entries[:2]) == (Message("tool", tuple(results[:2])),)


def test_calls_that_the_provider_ran_are_stored_in_meta_only() -> None:
    """Nobody who reads the contract runs it again, and its result needs no entry."""
    searched = Message.assistant(
        c.ToolCallPart("s", "web_search", {}, provider_executed=True),
        c.ToolResultPart("s", "found", provider_executed=True),
        "Found.",
    )
    (one,) = entries_of(searched)

    assert one.parts == (e.EntryText("Found."),)
    assert isinstance(check_run([one]), Success)
    assert to_messages([one]) == (searched,)


def test_call_ids_that_repeat_in_a_run_are_replaced_in_entries() -> None:
    """Results go to the latest call of their id, also in a later append."""
    turn = (
        Message.assistant(c.ToolCallPart("call_0", "look", {})),
        Message.tool("call_0", "x"),
    )
    first = entries_of(*turn, *turn)
    call = to_entries(turn[:1], run_id=RUN, timestamp=NOON, after=first)
    result = to_entries(turn[1:], run_id=RUN, timestamp=NOON, after=[*first, *call])
    whole = [*first, *call, *result]

    calls = [made.tool_call_id for one in whole for made in one.tool_calls]
    assert calls == ["call_0", "call_0~2", "call_0~3"]
    assert isinstance(check_run(whole), Success)
    assert to_messages(kept(whole)) == turn * 3


@given(responses())
def test_answer_entries_have_model_usage_cost_and_finish_reason(response: LLMResponse) -> None:
    """Model, usage and the reason are in `meta`; the message is whole."""
    entries = response_entries(response, run_id=RUN, timestamp=NOON)

    assert to_messages(kept(entries)) == (response.message,)
    (one,) = entries
    assert one.meta["finishReason"] == response.finish_reason.reason
    assert one.meta["modelId"] == response.model
    assert ("usage" in one.meta) == (response.usage != Usage())


def test_meta_of_the_caller_is_merged_with_ours() -> None:
    """Traces and approvals are for applications to write."""
    message = Message.user("Hi", name="Ada")
    (one,) = to_entries([message], run_id=RUN, timestamp=NOON, meta={"trace": {"id": "t-1"}})

    assert one.meta == {"trace": {"id": "t-1"}, "llmcore": {"message": {"name": "Ada"}}}
    assert to_messages([one]) == (message,)


# -- entries of others


@given(single_entries())
def test_entries_of_other_programs_are_read_without_meta(one: e.MessageEntry) -> None:
    """Whoever wrote them: a message comes of each, with its words, or a typed error."""
    bare = evolve(one, meta={})
    try:
        (message,) = to_messages([bare])
    except LLMError:
        assert any(isinstance(part, e.EntryImage) for part in bare.parts)
        return
    assert message.role == bare.role
    if bare.role != "system":
        assert message.text == bare.text
    assert len(message.content) == len(bare.parts)


def test_thinking_in_a_tool_result_is_read_as_text() -> None:
    """The contract allows any part there; providers take what a tool said as its output."""
    parts = (e.EntryThinking("Hm."), e.EntryText("21"))
    (message,) = to_messages([entry("tool", e.EntryToolResult("c", parts))])

    assert message == Message.tool("c", [c.TextPart("Hm."), c.TextPart("21")])


def test_thinking_in_a_system_entry_is_read_as_text() -> None:
    """The contract allows it there; a message does not."""
    assert to_messages([entry("system", e.EntryThinking("Hm."))]) == (Message.system("Hm."),)


@pytest.mark.parametrize(
    "mark",
    [
        7,
        {"content": {}},
        {"content": []},
        {"content": [None, None]},
        {"content": ["x"]},
        {"content": [{"set": 1}]},
        {"content": [{"colour": "red"}]},
        {"content": [{"whole": 7}, None]},
        {"content": [{"whole": {"type": "reasoning", "text": "x"}}, None]},
        {"content": [{"set": {"type": "video"}}]},
        {"content": [{"whole": {"type": "text"}}, None]},
        {"message": []},
        {"message": {"role": "emperor"}},
        {"message": {"colour": "red"}},
        {"group": 2},
        {"group": ["a", "b"]},
    ],
)
def test_a_meta_that_does_not_fit_its_entry_is_an_error(mark: Any) -> None:
    """Nothing is made of half of it."""
    broken = evolve(entry("user", e.EntryText("Hi")), meta={"llmcore": mark})
    with pytest.raises(MalformedError, match=r"meta\.llmcore"):
        to_messages([broken])


@pytest.mark.parametrize(
    "item", [{"set": {"provider_executed": True}}, {"set": {"type": "text", "text": "x"}}]
)
def test_continuing_after_entries_with_a_wrong_meta_is_an_error(item: dict[str, Any]) -> None:
    """The ids that the provider gave the calls would be unknown."""
    call = entry("assistant", e.EntryToolCall("c", "look", {}))
    broken = evolve(call, meta={"llmcore": {"content": [item]}})
    with pytest.raises(LLMError):
        to_entries([Message.user("Hi")], run_id=RUN, timestamp=NOON, after=[broken])


def test_a_meta_that_turns_a_result_into_text_is_an_error() -> None:
    """A layout does not make text of it."""
    mark = {"llmcore": {"content": [{"set": {"type": "text"}}]}}
    broken = evolve(entry("tool", e.EntryToolResult("c", "x")), meta=mark)
    with pytest.raises(MalformedError, match=r"meta\.llmcore"):
        to_messages([broken])


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [("image/png", c.ImagePart), ("audio/wav", c.AudioPart), (None, c.DocumentPart)],
)
def test_a_file_ref_is_read_by_its_mime_type(mime_type: str | None, kind: type) -> None:
    """Pictures, sound, and everything else."""
    (message,) = to_messages([entry("user", e.EntryFileRef("f", mime_type=mime_type))])

    assert message.content == (kind(path="f", media_type=mime_type),)


def test_an_image_whose_data_is_not_base64_is_an_error() -> None:
    """Others may write anything."""
    with pytest.raises(MalformedError, match="base64"):
        to_messages([entry("user", e.EntryImage(mime_type="image/png", data="%%%"))])


def test_a_list_as_result_is_wrapped_and_stored_once() -> None:
    """A list, which the contract has no word for, is wrapped and not copied."""
    (one,) = entries_of(Message.tool("c", list(range(1000))))

    assert len(json.dumps(one.meta)) < 100
    assert one.tool_result == e.EntryToolResult("c", {"value": list(range(1000))})


@pytest.mark.parametrize(
    "content",
    [
        ["Oslo", {"c": 3}],
        7,
        (c.TextPart("3°", provider_metadata={"openai": {"id": "t1"}}), c.ImagePart(data=b"x")),
    ],
)
def test_a_result_reads_back_with_its_content_and_native_fields(content: Any) -> None:
    part = c.ToolResultPart("a", content, name="look", provider_metadata={"openai": {"id": "r1"}})
    said = (Message.assistant(c.ToolCallPart("a", "look", {})), Message("tool", (part,)))

    assert to_messages(kept(entries_of(*said))) == said
