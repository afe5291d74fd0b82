"""Reasoning: summaries, open text, encrypted content."""

import pytest

from llmcore.schema.content import ReasoningPart
from llmcore.schema.events import ReasoningDelta, ReasoningEnd, ReasoningStart
from tests.support.wire.protocol import response
from tests.support.wire.responses import Native, events_of, message, reasoning, said, streamed


def thoughts(*output: Native) -> list[ReasoningPart]:
    """Return the reasoning in a response of *output*."""
    return [part for part in said(*output).content if isinstance(part, ReasoningPart)]


def test_each_part_of_a_summary_is_a_part() -> None:
    """Their boundaries stay; the last one carries what must go back."""
    first, second = thoughts(reasoning("**A**", "**B**"), message("Hi."))

    assert (first.text, first.encrypted) == ("**A**", None)
    assert (second.text, second.encrypted) == ("**B**", "enc==")
    assert first.provider_metadata == second.provider_metadata
    assert first.provider_metadata == {"openai": {"id": "rs_1", "index": 0, "part": "summary_text"}}


def test_hidden_reasoning_is_a_part_without_text() -> None:
    """Reasoning that the server hides has to be sent back all the same."""
    (part,) = thoughts(reasoning(), message("Hi."))

    assert (part.text, part.encrypted) == ("", "enc==")


def test_replayed_reasoning_separates_texts_from_summaries() -> None:
    """Texts and summaries go back into lists of their own."""
    parts = thoughts(reasoning("Sum.", content=["Raw."]))

    assert [(p.text, p.provider_metadata["openai"]["part"]) for p in parts] == [
        ("Sum.", "summary_text"),
        ("Raw.", "reasoning_text"),
    ]


def test_a_part_ends_when_the_next_begins() -> None:
    """Only the last part waits for the item's end, where the encrypted content is whole."""
    events = [
        event
        for event in streamed(events_of([reasoning("A", "B"), message("Hi.")]))
        if isinstance(event, ReasoningStart | ReasoningDelta | ReasoningEnd)
    ]

    assert [(type(event).__name__, event.id) for event in events] == [
        ("ReasoningStart", "summary_0_0"),
        ("ReasoningDelta", "summary_0_0"),
        ("ReasoningEnd", "summary_0_0"),
        ("ReasoningStart", "summary_0_1"),
        ("ReasoningDelta", "summary_0_1"),
        ("ReasoningEnd", "summary_0_1"),
    ]


def test_the_encrypted_content_is_that_of_the_end() -> None:
    """The encrypted content at the beginning of an item is incomplete."""
    events = events_of([reasoning(), message("Hi.")])
    assert events[2]["item"]["encrypted_content"] != "enc=="

    (part, _) = response(streamed(events)).message.content

    assert isinstance(part, ReasoningPart)
    assert part.encrypted == "enc=="


def test_a_text_may_begin_before_the_reasoning_ends() -> None:
    """Some servers end reasoning last; its place is where it began."""
    events = events_of([reasoning(content=["Hm."], encrypted=None), message("Hi.")])
    inside = [e for e in events if e.get("item_id") == "rs_1"]
    ends = [e for e in inside if e["type"].endswith(".done")]
    done = [e for e in events if e["type"].endswith("item.done")]
    rest = [e for e in events if e not in ends and e not in done]

    answer = response(streamed([*rest[:-1], done[1], *ends, done[0], rest[-1]]))

    assert [getattr(part, "text", "") for part in answer.message.content] == ["Hm.", "Hi."]


OPENED: dict[str, Native] = {
    "response.reasoning_summary_part.added": {"part": {"type": "summary_text", "text": ""}},
    "response.reasoning_summary_text.delta": {"delta": "Hm."},
}


@pytest.mark.parametrize("end", [True, False])
def test_an_item_that_never_ends_is_closed_with_the_response(end: bool) -> None:
    """Its text so far stays."""
    events = events_of([])
    said_ = [{"type": k, "output_index": 0, "summary_index": 0, **v} for k, v in OPENED.items()]
    if end:
        said_.append(
            {
                "type": "response.reasoning_summary_text.done",
                "output_index": 0,
                "summary_index": 0,
                "text": "Hm.",
            }
        )

    answer = response(streamed([*events[:-1], *said_, events[-1]]))

    assert answer.reasoning == "Hm."
