"""Finding the JSON document in a response."""

import pytest
from hypothesis import given

from llmcore.generation.partial_objects import Document, document_in
from llmcore.schema import json
from llmcore.schema.json import JsonValue
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_values

FENCED = """Here is your object:

```json
{"a": [1, 2]}
```
I hope it helps."""


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a": 1}', Document({"a": 1})),
        (' \n[1, "2"]\t', Document([1, "2"])),
        ('"text"', Document("text")),
        ("123456789012345678901234567890", Document(123456789012345678901234567890)),
        (FENCED, Document({"a": [1, 2]}, bare=False)),
        ('```\n{"a": 1}\n```', Document({"a": 1}, bare=False)),
        ("```json\r\n3\r\n```", Document(3, bare=False)),
        ('Sure! {"a": {"b": 1}} Done.', Document({"a": {"b": 1}}, bare=False)),
        ("The list: [1, [2]].", Document([1, [2]], bare=False)),
        ('{"code": "```json\\n1\\n```"}', Document({"code": "```json\n1\n```"})),
        ('```json\n{"a": 1}', Document({"a": 1}, bare=False)),
    ],
)
def test_the_document_is_found(text: str, document: Document) -> None:
    """Bare, in a fence, or in a sentence; only the first is as it should be."""
    assert document_in(text) == document


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no text"),
        (" \n", "no text"),
        ("Hello", "line 1 column 1.*near 'Hello'"),
        ('{"a": 1', "line 1 column 8"),
        ('```json\n{"a": [1, 2\n```', "Expecting"),
        ('{"a": 1,}', "near '{\"a\": 1,}'"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "is too large"),
        ('{"a": 1} {"a": 2}', "Extra data"),
        ("see ] and [", "Expecting"),
    ],
)
def test_what_is_not_a_document_says_where(text: str, problem: str) -> None:
    """The position and what stands there."""
    with pytest.raises(ValueError, match=problem):
        document_in(text)


@pytest.mark.parametrize(
    "text",
    [
        'As [1] says: {"a": [2]}',
        'For [this] one: {"a": [2]} (see [1])',
        'The list [1, 2] has {"a": [2]}.',
    ],
)
def test_an_object_after_square_brackets_is_found_where_an_object_is_wanted(text: str) -> None:
    """A sentence before it may cite or list something."""
    assert document_in(text, "{") == Document({"a": [2]}, bare=False)


@given(value=json_values())
@costly
def test_every_document_is_found_in_a_fence(value: JsonValue) -> None:
    """Bare and fenced give the same value."""
    text = json.canonical(value)
    bare = document_in(text)

    assert bare.bare
    assert document_in(f"Here:\n```json\n{text}\n```").value == bare.value
