"""Estimates of tokens, for what no provider has counted."""

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text."""


def estimated_tokens(characters: int) -> int:
    """Return about how many tokens a text of so many characters has."""
    return -(-characters // CHARACTERS_PER_TOKEN)
