"""Whole responses."""

from attrs import evolve
from hypothesis import given

from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage
from tests.support.strategies.values import responses


def test_the_accessors_are_the_messages() -> None:
    """A response responses the common questions itself."""
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


def test_usage_is_empty_where_the_provider_sent_none() -> None:
    """Its fields can be read of any response; a partial response has no usage at first."""
    told: dict[str, Usage | None] = {"nothing": None, "something": Usage(input_tokens=1)}
    responses_of = {
        name: LLMResponse(
            message=Message.assistant("a"),
            finish_reason=FinishReason("stop"),
            provider="acme",
            model="m",
            usage=usage,
        )
        for name, usage in told.items()
    }

    assert responses_of["nothing"].usage == Usage()
    assert responses_of["nothing"].usage.total_tokens is None
    assert responses_of["something"].usage.input_tokens == 1


@given(responses())
def test_the_native_document_is_neither_compared_nor_shown(response: LLMResponse) -> None:
    """A streamed response equals the same response that came whole."""
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
