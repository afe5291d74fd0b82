"""Freeform tools as functions of one string."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.tools import (
    freeform_arguments,
    freeform_function,
    freeform_text,
    object_arguments,
)
from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import json_or_text, text_or_json
from llmcore.schema.tools import CustomTool, Grammar


@given(st.text())
def test_input_comes_back_from_its_function(text: str) -> None:
    """Unwrapping returns the input unchanged."""
    assert freeform_text(freeform_arguments(text)) == text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"patch": "x"}, "x"),
        ({"a": "x", "b": "y"}, '{"a":"x","b":"y"}'),
        ({"input": 1}, '{"input":1}'),
        ({}, ""),
        ("bare", "bare"),
        ([1], "[1]"),
    ],
)
def test_input_that_was_wrapped_oddly(arguments: Any, expected: str) -> None:
    """A renamed only field is the input; other objects stay as JSON."""
    assert freeform_text(arguments) == expected


def test_the_grammar_is_described() -> None:
    """Words are all that can hold the model to it."""
    tool = CustomTool("t", "Does it.", grammar=Grammar(syntax="lark", definition="start: A"))
    assert freeform_function(tool).description == (
        "Does it.\n\nThe input must match this lark grammar:\nstart: A"
    )
    assert freeform_function(CustomTool("t", "")).description == "Takes one text."


@pytest.mark.parametrize("closed", [True, False])
def test_only_a_closed_schema_forbids_other_fields(closed: bool) -> None:
    """Some APIs want it in so many words."""
    function = freeform_function(CustomTool("t", ""), closed=closed)
    assert function.parameters.get("additionalProperties", True) is not closed


@pytest.mark.parametrize(
    ("kind", "arguments", "expected", "noted"),
    [
        ("function", {"a": 1}, {"a": 1}, False),
        ("function", "{broken", {"input": "{broken"}, True),
        ("custom", "text", {"input": "text"}, False),
    ],
)
def test_arguments_become_an_object(kind: Any, arguments: Any, expected: Any, noted: bool) -> None:
    """Wrapping broken arguments is reported; wrapping freeform input is not."""
    diagnostics = Diagnostics()
    call = ToolCallPart(id="c", name="n", arguments=arguments, kind=kind)
    assert object_arguments(call, diagnostics.at("p")) == expected
    assert [note.path for note in diagnostics.entries] == (["p.arguments"] if noted else [])


@given(st.dictionaries(st.text(), st.integers(-5, 5)))
def test_json_comes_back_from_its_text(value: dict[str, int]) -> None:
    """An object that was written is read again."""
    assert json_or_text(text_or_json(value)) == value


def test_text_that_is_not_json_stays() -> None:
    """Neither reading nor writing changes it."""
    assert json_or_text(text_or_json("{no")) == "{no"
