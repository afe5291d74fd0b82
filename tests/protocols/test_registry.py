"""Protocols by their ids."""

import pytest

from llmcore.protocols import PROTOCOL_IDS, openai_chat
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.errors import ConfigurationError


def test_a_protocol_is_found_by_its_id() -> None:
    """In its provider's own dialect."""
    assert protocol_by_id("openai-chat") is openai_chat.protocol


def test_an_unknown_id_is_a_typed_error() -> None:
    """It says which ids there are."""
    with pytest.raises(ConfigurationError, match="openai-chat"):
        protocol_by_id("openai")


def test_each_protocol_has_the_id_of_its_row() -> None:
    assert [protocol_by_id(id_).id for id_ in PROTOCOL_IDS] == [*PROTOCOL_IDS]
