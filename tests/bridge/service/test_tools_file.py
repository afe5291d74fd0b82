"""Tool types from a user's file."""

from pathlib import Path

import pytest

from llmcore.bridge.tools_file import read_tools
from llmcore.fronts.policy import RegisteredTool
from llmcore.schema.errors import ConfigurationError


def test_tools_are_read_with_description_and_parameters(tmp_path: Path) -> None:
    """Each with its type, description and parameters."""
    path = tmp_path / "tools.json"
    path.write_text('[{"type": "x", "description": "d", "parameters": {"type": "object"}}]')

    assert read_tools(path) == (
        RegisteredTool(type="x", description="d", parameters={"type": "object"}),
    )
    assert read_tools(None) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "tools.json"),
        ("{}", "not a list"),
        ('[{"type": "x"}]', "description"),
        ('[{"type": "x", "description": "d"}, {"type": "x", "description": "e"}]', "two tools"),
    ],
)
def test_invalid_values_are_refused(tmp_path: Path, text: str, says: str) -> None:
    """The error names the file and the fault."""
    path = tmp_path / "tools.json"
    path.write_text(text)

    with pytest.raises(ConfigurationError, match=says):
        read_tools(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(ConfigurationError, match=r"none\.json"):
        read_tools(tmp_path / "none.json")
