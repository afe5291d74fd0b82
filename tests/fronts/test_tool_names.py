"""Function names for the names of clients."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.fronts.tool_registry import function_name


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("exec_command", None, "exec_command"),
        ("a-b", None, "a_b"),
        ("go", "mcp__x", "mcp__x__go"),
        ("1st", None, "t_1st"),
    ],
)
def test_fitted_tool_names_keep_the_readable_part(
    name: str, namespace: str | None, expected: str
) -> None:
    """A model reads them."""
    assert function_name(name, namespace) == expected


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=70), st.none() | st.text(min_size=1, max_size=70)),
        unique=True,
        max_size=6,
    )
)
def test_any_tools_get_legal_names_of_their_own(tools: list[tuple[str, str | None]]) -> None:
    """Whatever two names have in common, their functions differ."""
    taken: set[str] = set()
    for name, namespace in tools:
        made = function_name(name, namespace, taken=taken)
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]{0,63}", made)
        assert made not in taken
        assert made == function_name(name, namespace, taken=taken)
        taken.add(made)


def test_reserved_names_are_renamed() -> None:
    """Servers refuse a function called functions."""
    assert function_name("functions") != "functions"
