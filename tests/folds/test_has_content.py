"""Whether events have any content."""

import pytest

from llmcore.folds.grammar import has_content
from llmcore.schema.errors import ServerError
from llmcore.schema.events import ErrorEvent, LLMEvent, StepStart, StreamStart, TextStart

START = StreamStart(provider="acme", model="m")


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], False),
        ([START, StepStart()], False),
        ([START, ErrorEvent(ServerError("no"))], False),
        ([START, StepStart(), TextStart("t")], True),
    ],
)
def test_a_start_and_an_error_have_no_content(events: list[LLMEvent], says: bool) -> None:
    """Another attempt may still be made as long as there is nothing else."""
    assert has_content(events) is says
