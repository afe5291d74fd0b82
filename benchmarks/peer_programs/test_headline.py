"""With pydantic-ai."""

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.models.test import TestModel

agent = Agent("openai:gpt-5.2")


def headline(text: str) -> str:
    """The application: asks for a headline, and removes the quotes that models like to add."""
    return agent.run_sync(f"A headline for: {text}").output.strip(' "')


def test_quotes_around_a_headline_are_removed() -> None:
    with (
        agent.override(model=TestModel(custom_output_text='"Rain in Oslo"')),
        capture_run_messages() as messages,
    ):
        assert headline("It rains in Oslo.") == "Rain in Oslo"
    assert "It rains in Oslo." in messages[0].parts[0].content
