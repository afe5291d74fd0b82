"""Content parts of events, and parts as another model than their own can send them back."""

from typing import Any

import pytest

from llmcore.folds.parts import part_of, without_opaque
from llmcore.schema.content import (
    ContentPart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.events import ToolCall

NATIVE = {"openai": {"id": "item_1"}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart("Hi", provider_metadata=NATIVE), TextPart("Hi")),
        (
            ReasoningPart("Hm", signature="s", encrypted="e", provider_metadata=NATIVE),
            ReasoningPart("Hm"),
        ),
        (ReasoningPart("", encrypted="e"), None),
        (ToolCallPart("c", "f", {}, provider_metadata=NATIVE), ToolCallPart("c", "f", {})),
        (ToolCallPart("c", "web_search", {}, provider_executed=True), None),
        (ToolResultPart("c", "found", provider_executed=True), None),
        (ProviderPart("openai", {"type": "compaction"}), None),
    ],
)
def test_a_part_without_opaque_data_keeps_its_content_or_is_left_out(
    part: ContentPart, expected: ContentPart | None
) -> None:
    kept = without_opaque([part])
    assert kept == (() if expected is None else (expected,))
    assert all(not one.provider_metadata for one in kept)


@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        ({}, None),
        ({"city": "Riga"}, '{"city": "Riga"}'),
        ({"a": {"b": [1, 2.5, None]}}, '{"a":{"b":[1,2.5,null]}}'),
        ({"a": 1}, '{"a":1.0}'),
        ({"a": 1}, "not JSON"),
        ("not JSON", None),
        (" ", " "),
        (10**30, None),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"kind": "custom"}, {"provider_executed": True}])
def test_the_part_of_a_call_is_what_the_constructor_makes_of_its_fields(
    arguments: Any, raw: str | None, fields: dict[str, Any]
) -> None:
    given = dict(arguments=arguments, raw_arguments=raw, provider_metadata=NATIVE, **fields)
    event = ToolCall("c", "f", **given)

    part, expected = part_of(event), ToolCallPart("c", "f", **given)

    assert isinstance(part, ToolCallPart)
    assert part == expected
    assert part.raw_arguments == expected.raw_arguments
    assert part.provider_metadata["openai"] is not event.provider_metadata["openai"]
    if isinstance(arguments, dict):
        assert part.arguments is not event.arguments
