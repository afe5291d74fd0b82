"""The environment of the fixture's client."""

from llmcore.testing.fixture import PlaceholderKeys


def test_keys_are_placeholders_and_the_rest_is_real() -> None:
    """Whether a key is set or not, it is not used; what is listed is really there."""
    environ = PlaceholderKeys({"OPENAI_API_KEY": "sk-real", "OPENAI_BASE_URL": "https://x"})

    assert environ["OPENAI_API_KEY"] == environ["GROQ_API_KEY"] == "placeholder"
    assert environ.get("AWS_SECRET_ACCESS_KEY") == "placeholder"
    assert environ["OPENAI_BASE_URL"] == "https://x"
    assert environ.get("OTHER_URL") is None
    assert list(environ) == ["OPENAI_API_KEY", "OPENAI_BASE_URL"]
    assert len(environ) == 2
