"""Freeform input, unwrapped from the JSON that a model writes."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.fronts.freeform_input import FreeformInput, unwrapped
from llmcore.protocols.tools import freeform_text
from llmcore.schema.json import parse_arguments

PATCH = '*** Begin Patch\n*** Update File: a\\b.py\n+say "hi" \t😀\u2028\n*** End Patch'


def fed(pieces: list[str]) -> str:
    """Return what pieces add up to."""
    wrapped = FreeformInput()
    return "".join([*map(wrapped.feed, pieces), wrapped.close()])


@pytest.mark.parametrize("ascii_only", [True, False])
def test_one_character_at_a_time(ascii_only: bool) -> None:
    """Escapes and surrogate pairs may be cut anywhere."""
    written = json.dumps({"input": PATCH}, ensure_ascii=ascii_only)

    assert fed(list(written)) == PATCH


def test_the_text_comes_as_it_is_written() -> None:
    """A client does not wait for the end of the JSON."""
    wrapped = FreeformInput()

    assert wrapped.feed('{"input": "*** Be') == "*** Be"
    assert wrapped.feed("gin\\") == "gin"
    assert wrapped.feed("nx\\ud83d") == "\nx"
    assert wrapped.feed("\\ude00!") == "😀!"
    assert wrapped.feed('"}') == ""
    assert wrapped.close() == ""


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"patch": "*** Begin"}', "*** Begin"),
        ("*** Begin Patch\n", "*** Begin Patch\n"),
        (' \n{ "input" : "a" } ', "a"),
        ('"just \\"text\\""', 'just "text"'),
        (json.dumps(json.dumps({"input": "twice"})), "twice"),
        ('"quoted" and more', '"quoted" and more'),
        ("{not json at all", "{not json at all"),
        ('{"note": 1, "input": "b"}', "b"),
        ('{"input": "b", "note": 1}', "b"),
        ('{"input": 5}', '{"input":5}'),
        ('{"a": 1, "b": 2}', '{"a":1,"b":2}'),
        ("", ""),
        ("{}", ""),
        ("null", "null"),
        ('{"input": "cut of', "cut of"),
        ('{"input": "cut \\', "cut "),
        ('{"input": "half \\ud83d', "half �"),
        ('{"input": "half \\ud83d"}', "half �"),
        ('{"input": "low \\ude00"}', "low �"),
        ('{"input": "\\ud83dx"}', "�x"),
        ('{"input": "line\nbreak"}', "line\nbreak"),
        ('{"input": "say "hi" now"}', 'say "hi" now'),
        ('{"input": "reg \\d+ \\uzz"}', "reg \\d+ \\uzz"),
        ('{"input": ""}', ""),
    ],
)
def test_what_models_write_instead(written: str, expected: str) -> None:
    """Another field, no JSON, broken JSON: nothing is lost, in whatever pieces."""
    assert unwrapped(written) == expected
    assert fed(list(written)) == expected


@given(st.text(max_size=30), st.booleans(), st.lists(st.integers(0, 60), max_size=8))
def test_any_text_in_any_pieces(text: str, ascii_only: bool, cuts: list[int]) -> None:
    """Pieces add up to what the whole JSON says."""
    written = json.dumps({"input": text}, ensure_ascii=ascii_only)
    edges = [0, *sorted(min(cut, len(written)) for cut in cuts), len(written)]

    assert fed([written[a:b] for a, b in pairwise(edges)]) == text


@given(
    st.dictionaries(
        st.sampled_from(["input", "patch", "x"]), st.text(max_size=8) | st.integers(), min_size=1
    )
)
def test_streaming_agrees_with_reading_the_whole(arguments: dict[str, object]) -> None:
    """A client sees the text that the conversation keeps."""
    written = json.dumps(arguments)

    assert fed(list(written)) == freeform_text(parse_arguments(written)[0])
