"""pytest: an application's function, tested without a network and without a key. Run: `pytest`.

`FakeModel` returns the given responses. To test with the bytes of a real provider, record a
cassette once.
"""

from llmcore import Client, Model, sync
from llmcore.testing import FakeModel


def headline(text: str, model: Model | str, client: Client | None = None) -> str:
    """The application: asks for a headline, and removes the quotes that models like to add."""
    return sync.generate(model, f"A headline for: {text}", client=client).text.strip(' "')


def test_quotes_around_a_headline_are_removed() -> None:
    fake = FakeModel('"Rain in Oslo"')

    assert headline("It rains in Oslo.", fake.model, fake.client) == "Rain in Oslo"
    assert "It rains in Oslo." in fake.prompts[0]
