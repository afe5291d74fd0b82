"""The checker of streams finds what breaks clients."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from llmcore.fronts.openai_chat.grammar import violations
from tests.fronts.openai_chat.chat_kit import Written
from tests.fronts.openai_chat.test_response import USAGE, WITH_USAGE
from tests.support.events import call, stream, text, thought

Chunks = list[dict[str, Any]]


def good() -> Chunks:
    """Return a stream with a text, thinking, a call and usage."""
    parts = (thought("Hm.", signature="S"), text("x"), call("f", "{}"))
    return deepcopy(Written(stream(*parts, reason="tool_calls", usage=USAGE), WITH_USAGE).chunks)


def delta_of(chunks: Chunks, field: str, *, last: bool = False) -> dict[str, Any]:
    """Return the first, or the last, delta with a field."""
    deltas: Chunks = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    found = [delta for delta in deltas if field in delta]
    return found[-1 if last else 0]


def _again(chunks: Chunks) -> None:
    chunks.insert(2, deepcopy(chunks[0]))


def _two_finishes(chunks: Chunks) -> None:
    chunks.insert(-1, deepcopy(chunks[-2]))


def _null_name(chunks: Chunks) -> None:
    delta_of(chunks, "tool_calls", last=True)["tool_calls"][0]["function"]["name"] = None


def _gap(chunks: Chunks) -> None:
    delta_of(chunks, "tool_calls")["tool_calls"][0]["index"] = 1


def _empty_reason(chunks: Chunks) -> None:
    chunks[1]["choices"][0]["finish_reason"] = ""


def _usage_at_the_end(chunks: Chunks) -> None:
    chunks[-2]["usage"] = chunks.pop()["usage"]


def _another_id(chunks: Chunks) -> None:
    chunks[3]["id"] = "chatcmpl_2"


def _format_twice(chunks: Chunks) -> None:
    delta_of(chunks, "reasoning_details", last=True)["reasoning_details"][0]["format"] = "x"


def _error_and_more(chunks: Chunks) -> None:
    error = {"message": "m", "type": "t", "param": None, "code": None}
    chunks.insert(3, {"error": error})


def _error_without_text(chunks: Chunks) -> None:
    error = {"message": None, "type": "t", "param": None, "code": None}
    chunks[3:] = [{"error": error}]


def _second_citations(chunks: Chunks) -> None:
    for number in (2, 3):
        chunks.insert(number, deepcopy(chunks[1]))
        chunks[number]["choices"][0]["delta"] = {"annotations": [{"type": "url_citation"}]}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_second_citations, "index of annotations has a gap"),
        (_again, "role comes first, and once"),
        (_two_finishes, "comes after its finish_reason"),
        (_null_name, "other fields than arguments"),
        (_gap, "out of order"),
        (_empty_reason, "finish_reason is ''"),
        (_usage_at_the_end, "usage comes before its own chunk"),
        (_another_id, "id, object, created or model changed"),
        (_format_twice, "format of reasoning_details comes twice"),
        (_error_and_more, "comes after the end"),
        (_error_without_text, "its message is not a text"),
        (lambda chunks: chunks.pop(0), "role comes first"),
        (lambda chunks: chunks.__delitem__(slice(-2, None)), "no chunk has a finish_reason"),
        (lambda chunks: chunks.append(deepcopy(chunks[1])), "comes after the end"),
    ],
)
def test_a_fault_of_a_stream_is_found(damage: Callable[[Chunks], Any], words: str) -> None:
    """Each of them crashed some client."""
    chunks = good()
    assert violations(chunks) == []

    damage(chunks)
    assert any(words in problem for problem in violations(chunks)), violations(chunks)


def test_a_stream_that_still_runs_may_stop_anywhere() -> None:
    """Nothing is missing yet."""
    chunks = good()

    assert all(violations(chunks[:end], complete=False) == [] for end in range(len(chunks)))
