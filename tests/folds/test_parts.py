"""Content parts as another model than their own can send them back."""

import pytest

from llmcore.folds.parts import without_opaque
from llmcore.schema.content import (
    ContentPart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

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
