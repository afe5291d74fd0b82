"""Events: equality, copies of their data, and their text."""

from typing import Any, get_args

import pytest
from hypothesis import given

from llmcore.schema import events
from llmcore.schema.codec import to_json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import EventType, File, LLMEvent, ProviderEvent, ToolCall, ToolResult
from llmcore.schema.json import JsonValue
from tests.support.strategies.values import json_values


def test_every_event_has_a_type_of_its_own() -> None:
    """The strings tell events apart, in JSON too, and none is left over."""
    types = sorted(kind.type for kind in get_args(LLMEvent))

    assert types == sorted(get_args(EventType))


def test_a_type_reads_as_its_string() -> None:
    """Users compare with plain strings."""
    assert events.TextDelta("0", "x").type == "text-delta"
    assert f"{events.TextDelta.type}" == "text-delta"


def test_finish_and_error_are_the_terminal_events() -> None:
    """Exactly these two end a stream."""
    assert (events.Finish, events.ErrorEvent) == events.TERMINAL_EVENTS


@given(json_values())
def test_events_keep_a_copy_of_json(value: JsonValue) -> None:
    """Later changes of the data do not change the event."""
    mutable: dict[str, Any] = {"acme": {"value": value}}
    made: list[LLMEvent] = [
        ProviderEvent("acme", mutable),
        ToolCall("c1", "f", mutable),
        ToolResult("c1", mutable),
        events.TextEnd("0", provider_metadata=mutable),
        events.StreamStart(provider="acme", model="m", provider_metadata=mutable),
    ]
    before = [to_json(event) for event in made]

    mutable["acme"]["value"] = "changed"
    mutable["more"] = {}

    assert [to_json(event) for event in made] == before


@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object()])
def test_events_refuse_values_that_json_lacks(bad: Any) -> None:
    """A protocol that passes on other values gets an error."""
    for build in (
        lambda: ProviderEvent("acme", bad),
        lambda: ToolCall("c1", "f", bad),
        lambda: ToolResult("c1", bad),
    ):
        with pytest.raises(InvalidRequestError):
            build()


def test_no_arguments_are_an_empty_object() -> None:
    """The event says it as the part does."""
    assert ToolCall("c1", "f", None).arguments == {}


def test_repr_of_a_file_states_the_number_of_bytes() -> None:
    """A log line never holds a whole file."""
    assert "<3 bytes>" in repr(File(id="f", data=b"abc"))
    assert "abc" not in repr(File(id="f", data=b"abc"))
