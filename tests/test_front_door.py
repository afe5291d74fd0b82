"""The front door: the names that `llmcore` gives, and how it gives them."""

import ast
from pathlib import Path

import pytest

import llmcore

SOURCE = ast.parse(Path(llmcore.__file__).read_text("utf-8"))


def checked_names() -> dict[str, str]:
    """Return the names that type checkers see, each with its home."""
    return {
        name.name: node.module or ""
        for block in SOURCE.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


def test_checkers_and_the_interpreter_see_the_same_names() -> None:
    """The lazy table, the imports for type checkers and `__all__` agree, and all are sorted."""
    assert checked_names() == llmcore._HOME_OF
    assert set(llmcore.__all__) == {"__version__", *llmcore._HOME_OF}
    assert len(llmcore.__all__) == len(set(llmcore.__all__))


@pytest.mark.parametrize("name", llmcore.__all__)
def test_every_name_can_be_had(name: str) -> None:
    """No name leads to a module that is not there."""
    assert getattr(llmcore, name) is not None
    assert name in dir(llmcore)


def test_other_names_are_attribute_errors() -> None:
    """A typo is told as such."""
    with pytest.raises(AttributeError, match="opena1"):
        _ = llmcore.opena1
