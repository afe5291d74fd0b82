"""The table of settings by provider is the one of the code."""

import pytest
from attrs import fields_dict

from llmcore.routes.providers import PROVIDERS
from llmcore.schema.options import GenerationOptions
from scripts.settings_by_provider import PAGE, SETTINGS, Row, page, rows


def test_page_has_the_current_table() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `make docs-table`"


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return list(rows())


def test_every_generation_option_has_an_example() -> None:
    """But for `max_tokens`, which is supported everywhere, and what `logprobs` stands for."""
    options = fields_dict(GenerationOptions).keys()

    assert options - SETTINGS.keys() == {"max_tokens", "top_logprobs"}


def test_every_provider_has_a_row_and_every_setting_an_outcome(found: list[Row]) -> None:
    assert {row.provider for row in found} == {entry.id for entry in PROVIDERS}
    for row in found:
        assert row.taken | row.changed | set(row.left_out) == SETTINGS.keys()


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_taken_by_some_provider(setting: str, found: list[Row]) -> None:
    assert any(setting in row.taken for row in found)


def test_settings_that_models_are_known_to_lack_are_left_out(found: list[Row]) -> None:
    left_out = {(row.provider, row.protocol, row.model): row.left_out for row in found}

    assert "seed" in left_out["anthropic", "anthropic-messages", "claude-opus-4-6"]
    assert "stop" in left_out["openai", "openai-responses", "gpt-5.2"]
    assert "seed" not in left_out["openai", "openai-chat", "gpt-4.1"]


def test_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("# Settings\n")
