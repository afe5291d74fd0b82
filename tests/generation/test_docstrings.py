"""Descriptions of functions and parameters in docstrings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.generation.docstrings import arguments_of, summary_of
from tests.support.strategies.examples import costly

GOOGLE = """The weather in a city,
    as of now.

    More about it.

    Args:
        city (str): such as Paris,
            or Rome: anything
        days: how many
        **options: the rest

    Returns:
        nothing: really
    """


@pytest.mark.parametrize(
    ("docstring", "summary"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        (GOOGLE, "The weather in a city, as of now."),
        ("\n    Starts below.\n    ", "Starts below."),
        ("Args:\n    x: a number", ""),
    ],
)
def test_the_first_paragraph_is_the_summary(docstring: str | None, summary: str) -> None:
    """Its lines are joined; a section does not count as a summary."""
    assert summary_of(docstring) == summary


@pytest.mark.parametrize("title", ["Args:", "Arguments:", "Parameters:"])
def test_a_section_describes_the_parameters(title: str) -> None:
    """Types in brackets are left out, deeper lines go on, and the section ends with the indent."""
    assert arguments_of(GOOGLE.replace("Args:", title)) == {
        "city": "such as Paris, or Rome: anything",
        "days": "how many",
        "options": "the rest",
    }


@pytest.mark.parametrize("docstring", [None, "Nothing.", "Args:", "Args:\n    loose words"])
def test_no_entries_describe_nothing(docstring: str | None) -> None:
    """Lines that are not entries are left out."""
    assert arguments_of(docstring) == {}


@costly
@given(st.text(alphabet="ab:() *\n\tArgs", max_size=80))
def test_any_text_is_a_docstring(text: str) -> None:
    """Nothing that people write breaks it, and names are names."""
    assert all(name.isidentifier() or name.isdigit() for name in arguments_of(f"Args:\n{text}"))
    assert "\n" not in summary_of(text)


names = st.from_regex(r"[a-z]\w{0,5}", fullmatch=True).filter(str.isascii)


@costly
@given(st.dictionaries(names, st.from_regex(r"[a-z]{1,8}( [a-z]{1,8})?", fullmatch=True)))
def test_what_is_written_is_read(entries: dict[str, str]) -> None:
    """An `Args:` section round-trips."""
    lines = "".join(f"\n    {name}: {text}" for name, text in entries.items())

    assert arguments_of(f"Does it.\n\nArgs:{lines}\n") == entries
