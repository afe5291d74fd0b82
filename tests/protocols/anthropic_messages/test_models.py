"""The parameters that each Claude model accepts, by its name on every platform."""

import pytest

from llmcore.protocols.anthropic_messages.models import rules_of


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-3-5-sonnet-20241022", set()),
        ("claude-3-opus-latest", set()),
        ("claude-3-7-sonnet-20250219", {"enabled", "disabled"}),
        ("claude-sonnet-4-20250514", {"enabled", "disabled"}),
        ("claude-sonnet-4-0", {"enabled", "disabled"}),
        ("claude-sonnet-4-5-20250929", {"enabled", "disabled"}),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"enabled", "disabled"}),
        ("claude-sonnet-4-5@20250929", {"enabled", "disabled"}),
        ("anthropic/claude-sonnet-4.6", {"enabled", "disabled", "adaptive"}),
        ("anthropic.claude-opus-4-6-v1", {"enabled", "disabled", "adaptive"}),
        ("claude-opus-4-7", {"disabled", "adaptive"}),
        ("claude-sonnet-5", {"disabled", "adaptive"}),
        ("claude-haiku-5-5", {"disabled", "adaptive"}),
        ("claude-sonnet-5-5", {"between_tools", "adaptive"}),
        ("claude-opus-5-5", {"adaptive"}),
        ("claude-fable-5", {"adaptive"}),
        ("claude-mythos-preview", {"adaptive"}),
        ("my-claude-deployment", {"disabled", "adaptive"}),
        ("claude-opus-6", {"adaptive"}),
        ("claude-saga-1", {"disabled", "adaptive"}),
        ("claude-instant-1.2", set()),
        ("deepseek-chat", {"enabled", "disabled"}),
    ],
)
def test_thinking_types_follow_the_model(model: str, thinking: set[str]) -> None:
    """Each generation takes other types of thinking."""
    assert set(rules_of(model).thinking) == thinking


@pytest.mark.parametrize(
    ("model", "highest"),
    [
        ("claude-sonnet-4-5", None),
        ("claude-haiku-4-5", None),
        ("claude-opus-4-5", "high"),
        ("claude-opus-4-6", "max"),
        ("claude-mythos-preview", "max"),
        ("claude-sonnet-5", "max"),
    ],
)
def test_reasoning_efforts_follow_the_model(model: str, highest: str | None) -> None:
    """Effort came with Opus 4.5, and its higher levels later."""
    efforts = rules_of(model).efforts

    assert (efforts[-1] if efforts else None) == highest
    assert ("xhigh" in efforts) == (model == "claude-sonnet-5")


@pytest.mark.parametrize(
    ("model", "prefill"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-opus-4-6", False),
        ("us.anthropic.claude-sonnet-4-6", False),
        ("claude-haiku-5-5", False),
        ("claude-mythos-preview", False),
        ("qwen3-coder", True),
    ],
)
def test_prefill_support_follows_the_model(model: str, prefill: bool) -> None:
    """Since 4.6 no response goes on from a beginning."""
    assert rules_of(model).prefill == prefill


@pytest.mark.parametrize(
    ("model", "sampling", "forced", "structured", "system"),
    [
        ("claude-3-haiku-20240307", "all", True, False, False),
        ("claude-opus-4-1-20250805", "one", True, False, False),
        ("claude-sonnet-4-5", "one", True, True, False),
        ("claude-opus-4-8", "none", True, True, True),
        ("claude-sonnet-5", "none", True, True, False),
        ("claude-fable-5", "none", True, True, True),
        ("claude-fable-5-2", "none", False, True, True),
        ("claude-opus-5", "none", True, True, True),
        ("claude-opus-5-5", "none", False, True, True),
        ("claude-sonnet-5-5", "none", False, True, True),
        ("claude-haiku-5-5", "none", True, True, True),
        ("qwen3-coder", "all", True, False, False),
    ],
)
def test_other_rules_by_model(
    model: str, sampling: str, forced: bool, structured: bool, system: bool
) -> None:
    """Sampling, forced tools, structured output and system messages, as the documents list them."""
    rules = rules_of(model)

    assert rules.sampling == sampling
    assert rules.forced_tools == forced
    assert rules.structured_output == structured
    assert rules.system_messages == system
