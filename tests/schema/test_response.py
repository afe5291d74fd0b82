"""Whole answers."""

from attrs import evolve
from hypothesis import given

from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from tests.support.strategies.values import responses


def test_the_accessors_are_the_messages() -> None:
    """A response answers the common questions itself."""
    call = ToolCallPart("c1", "f")
    response = LLMResponse(
        message=Message.assistant(ReasoningPart("hm"), "a", call, "b"),
        finish_reason=FinishReason("tool_calls"),
        provider="acme",
        model="m",
    )

    assert response.text == "ab"
    assert response.reasoning == "hm"
    assert response.tool_calls == (call,)


@given(responses())
def test_the_native_document_is_neither_compared_nor_shown(response: LLMResponse) -> None:
    """A streamed answer equals the same answer that came whole."""
    other = evolve(response, raw={"another": "document"})

    assert other == response
    assert repr(other) == repr(response)


def test_a_diagnostic_reads_as_one_line() -> None:
    """Where, what, why and its code."""
    diagnostic = Diagnostic(
        "unsupported-parameter", "generation.top_k", action="dropped", message="no such parameter"
    )

    assert str(diagnostic) == (
        "generation.top_k: dropped: no such parameter [unsupported-parameter]"
    )
