"""How much to think, by model."""

from typing import Any

import pytest

from llmcore.protocols.gemini.body import lower_reasoning
from llmcore.protocols.gemini.models import rules_of
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.messages import Message
from llmcore.schema.options import ReasoningOptions
from llmcore.schema.request import LLMRequest


def asking(reasoning: ReasoningOptions | None) -> LLMRequest:
    """Return a request with *reasoning*."""
    return LLMRequest(model="m", messages=(Message.user("Hi"),), reasoning=reasoning)


@pytest.mark.parametrize(
    ("model", "asked", "expected", "notes"),
    [
        ("gemini-3-flash-preview", {"effort": "none"}, {"thinkingLevel": "MINIMAL"}, 1),
        ("gemini-3-flash-preview", {"effort": "minimal"}, {"thinkingLevel": "MINIMAL"}, 0),
        ("gemini-3-flash-preview", {"effort": "medium"}, {"thinkingLevel": "MEDIUM"}, 0),
        ("gemini-3-flash-preview", {"effort": "xhigh"}, {"thinkingLevel": "HIGH"}, 1),
        ("gemini-3-pro-preview", {"effort": "minimal"}, {"thinkingLevel": "LOW"}, 1),
        ("gemini-3-pro-preview", {"effort": "medium"}, {"thinkingLevel": "HIGH"}, 1),
        ("gemini-3.1-pro-preview", {"effort": "medium"}, {"thinkingLevel": "MEDIUM"}, 0),
        ("gemini-3.6-flash", {"effort": "minimal"}, {"thinkingLevel": "MINIMAL"}, 0),
        ("gemini-3.7-flash", {"effort": "minimal"}, {"thinkingLevel": "LOW"}, 1),
        ("gemini-3.8-flash", {"effort": "none"}, {"thinkingLevel": "LOW"}, 1),
        ("gemini-3.1-flash-image", {"effort": "low"}, {"thinkingLevel": "HIGH"}, 1),
        ("gemini-4-argon", {"effort": "high"}, {"thinkingLevel": "HIGH"}, 0),
        ("gemini-4-argon", {"effort": "xhigh"}, {"thinkingLevel": "HIGH"}, 1),
        ("gemini-4-argon", {"effort": "minimal"}, {"thinkingLevel": "LOW"}, 1),
        ("gemini-4-argon", {"budget_tokens": 99}, {}, 1),
        ("gemini-4-hydrogen", {"effort": "xhigh"}, {"thinkingLevel": "XHIGH"}, 0),
        ("gemini-4-hydrogen", {"effort": "max"}, {"thinkingLevel": "XHIGH"}, 1),
        ("gemini-flash-latest", {"effort": "minimal"}, {"thinkingLevel": "LOW"}, 1),
        ("endpoints/123", {"effort": "minimal"}, {"thinkingLevel": "MINIMAL"}, 0),
        ("gemma-4-31b-it", {"effort": "medium"}, {"thinkingLevel": "HIGH"}, 1),
        ("gemma-4-31b-it", {"budget_tokens": 99}, {}, 1),
        ("models/gemini-flash-latest", {"effort": "low"}, {"thinkingLevel": "LOW"}, 0),
        ("gemini-3-flash", {"effort": "ultra"}, {"thinkingLevel": "ULTRA"}, 0),
        ("gemini-3-flash", {"budget_tokens": 99}, {"thinkingBudget": 99}, 0),
        ("gemini-3-flash", {"effort": "low", "budget_tokens": 9}, {"thinkingLevel": "LOW"}, 1),
        ("gemini-2.5-flash", {"effort": "none"}, {"thinkingBudget": 0}, 0),
        ("gemini-2.5-flash", {"effort": "low"}, {"thinkingBudget": 1024}, 0),
        ("gemini-2.5-flash", {"effort": "medium"}, {"thinkingBudget": 8192}, 0),
        ("gemini-2.5-flash", {"effort": "max"}, {"thinkingBudget": 24576}, 0),
        ("gemini-2.5-flash", {"effort": "some"}, {"thinkingBudget": -1}, 1),
        ("gemini-2.5-flash", {"budget_tokens": -1}, {"thinkingBudget": -1}, 0),
        ("gemini-2.5-flash", {"budget_tokens": 99_999}, {"thinkingBudget": 24576}, 1),
        ("gemini-2.5-flash-lite", {"budget_tokens": 9}, {"thinkingBudget": 512}, 1),
        ("gemini-2.5-flash", {"effort": "low", "budget_tokens": 9}, {"thinkingBudget": 9}, 1),
        ("gemini-2.5-pro", {"effort": "none"}, {"thinkingBudget": 128}, 1),
        ("gemini-2.5-pro", {"effort": "max"}, {"thinkingBudget": 32768}, 0),
        ("gemini-2.5-pro-preview-05-06", {"effort": "high"}, {"thinkingBudget": 24576}, 0),
        ("gemini-2.0-flash", {"effort": "high"}, {}, 1),
        ("gemini-2.5-flash-image", {"effort": "high"}, {}, 1),
        ("gemini-2.5-flash-preview-tts", {"budget_tokens": 5}, {}, 1),
        ("gemini-1.5-pro-002", {"budget_tokens": 5}, {}, 1),
        ("gemma-3-27b-it", {"effort": "high"}, {}, 1),
        ("gemini-3-flash", {"summary": "auto"}, {"includeThoughts": True}, 0),
        ("gemini-3-flash", {"summary": "none"}, {"includeThoughts": False}, 0),
        ("gemini-2.5-flash", {"summary": "detailed"}, {"includeThoughts": True}, 1),
        ("gemini-2.5-flash", {}, {}, 0),
    ],
)
def test_thinking_is_a_level_or_a_budget_by_model(
    model: str, asked: dict[str, Any], expected: dict[str, Any], notes: int
) -> None:
    """A level from Gemini 3 on, a budget for 2.5, and a note of each change."""
    said = Diagnostics()

    assert lower_reasoning(asking(ReasoningOptions(**asked)), rules_of(model), said) == expected
    assert len(said.entries) == notes


def test_request_without_reasoning_sends_no_thinking_config() -> None:
    """The provider's default stands."""
    assert lower_reasoning(asking(None), rules_of("gemini-2.0-flash"), Diagnostics()) == {}
