"""The executable grammar: good streams pass, and each rule is broken by one change."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from llmcore.fronts.openai_responses.grammar import ResponsesChecker, violations
from llmcore.schema.content import Citation
from llmcore.schema.errors import NetworkError
from llmcore.schema.events import ErrorEvent, StreamStart
from tests.fronts.openai_responses.responses_kit import ASK, folded, translated
from tests.support.events import call, stream, text, thought

Events = list[dict[str, Any]]


def good() -> Events:
    """Return a stream with every kind of item."""
    tools = [{"type": "custom", "name": "patch"}]
    translation = translated({**ASK, "tools": tools, "reasoning": {"summary": "auto"}})
    cited = (Citation(url="https://a.example"),)
    made = folded(
        stream(
            thought("hm"),
            text("Hello", " you", citations=cited),
            call("f", '{"a":', "1}", id="c1"),
            call("patch", '{"input":"x"}', id="c2"),
        ),
        translation,
    )
    return copy.deepcopy(made.events)


def renumbered(events: Events) -> Events:
    """Return *events* numbered from 0, so that only the change itself is wrong."""
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def at(events: Events, type_: str) -> int:
    """Return where the first event of a type stands."""
    return next(i for i, event in enumerate(events) if event["type"] == f"response.{type_}")


def without(type_: str) -> Callable[[Events], Events]:
    """Return a change that leaves an event out."""

    def change(events: Events) -> Events:
        place = at(events, type_)
        return renumbered([*events[:place], *events[place + 1 :]])

    return change


def twice(type_: str) -> Callable[[Events], Events]:
    """Return a change that says an event again."""

    def change(events: Events) -> Events:
        place = at(events, type_)
        return renumbered([*events[:place], events[place], *events[place:]])

    return change


def having(type_: str, **fields: Any) -> Callable[[Events], Events]:
    """Return a change of an event's fields."""

    def change(events: Events) -> Events:
        events[at(events, type_)].update(fields)
        return events

    return change


def item_having(type_: str, **fields: Any) -> Callable[[Events], Events]:
    """Return a change of an item's fields."""

    def change(events: Events) -> Events:
        events[at(events, type_)]["item"].update(fields)
        return events

    return change


def response_having(**fields: Any) -> Callable[[Events], Events]:
    """Return a change of the last response."""

    def change(events: Events) -> Events:
        events[-1]["response"] = {**events[-1]["response"], **fields}
        return events

    return change


def test_valid_stream_passes_the_checker() -> None:
    """Nor does its beginning, as long as it runs."""
    events = good()

    assert violations(events) == []
    assert violations(events[:-1], complete=False) == []


@pytest.mark.parametrize(
    "change",
    [
        without("created"),
        without("in_progress"),
        without("output_item.added"),
        without("reasoning_summary_part.added"),
        without("reasoning_summary_text.delta"),
        without("reasoning_summary_text.done"),
        without("reasoning_summary_part.done"),
        without("output_item.done"),
        without("content_part.added"),
        without("output_text.delta"),
        without("output_text.annotation.added"),
        without("output_text.done"),
        without("content_part.done"),
        without("function_call_arguments.delta"),
        without("function_call_arguments.done"),
        without("custom_tool_call_input.done"),
        without("completed"),
        twice("created"),
        twice("output_item.added"),
        twice("output_item.done"),
        twice("content_part.added"),
        twice("content_part.done"),
        twice("output_text.done"),
        twice("completed"),
        having("output_text.delta", sequence_number=99),
        having("output_text.delta", item_id="other"),
        having("output_text.delta", output_index=0),
        having("output_text.delta", content_index=1),
        having("output_text.delta", delta=""),
        having("output_text.done", text="Hello"),
        having("content_part.added", content_index=1),
        having("function_call_arguments.delta", type="response.output_text.delta"),
        item_having("output_item.added", status="completed"),
        item_having("output_item.done", id="other"),
        item_having("output_item.done", summary=[]),
        response_having(id="other"),
        response_having(output=[]),
        response_having(status="in_progress"),
        response_having(error={"code": "server_error", "message": "x"}),
        response_having(incomplete_details={"reason": "max_output_tokens"}),
    ],
)
def test_each_rule_is_checked(change: Callable[[Events], Events]) -> None:
    """One change, at least one violation."""
    assert violations(change(good()))


def test_a_failure_is_an_error_and_a_failed_response() -> None:
    """Neither comes alone."""
    failed = folded([StreamStart(provider="acme", model="m"), ErrorEvent(NetworkError("gone"))])
    *begun, error, end = failed.events

    assert violations([*begun, error, end]) == []
    assert violations([*begun, {**end, "sequence_number": 2}])
    assert violations([*begun, error]) == ["no terminal event"]


def test_violations_name_their_event() -> None:
    """By number and type."""
    events = having("output_text.delta", item_id="other")(good())
    place = at(events, "output_text.delta")

    assert violations(events)[0].startswith(f"event {place} (response.output_text.delta): ")


def test_one_event_at_a_time() -> None:
    """For streams that are checked while they run."""
    checker = ResponsesChecker()

    assert [checker.feed(event) for event in good()] == [[]] * len(good())
    assert checker.ended


def test_no_event_at_all_is_not_a_stream() -> None:
    """A terminal event is due."""
    assert violations([]) == ["no terminal event"]


@pytest.mark.parametrize(
    "change",
    [
        without("content_part.added"),
        without("reasoning_text.delta"),
        without("reasoning_text.done"),
        without("content_part.done"),
        having("content_part.added", part={"type": "output_text", "text": ""}),
        having("content_part.done", part={"type": "reasoning_text", "text": "other"}),
        item_having("output_item.done", content=[]),
    ],
)
def test_thinking_in_content_is_checked_too(change: Callable[[Events], Events]) -> None:
    """It is framed as the parts of a message are."""
    events = folded(stream(thought("hm"))).events

    assert violations(events) == []
    assert violations(change(copy.deepcopy(events)))
