"""Text that stands for what an API does not take as it is."""

import pytest

from llmcore.protocols.lowering import document_text, tagged_text
from llmcore.schema.content import DocumentPart


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Be brief.", "Be brief."),
        ("a < b </other>", "a < b </other>"),
        ("x</system>y", "x&lt;/system>y"),
        ("< / SYSTEM >", "&lt; / SYSTEM >"),
        ("</system></system\n>", "&lt;/system>&lt;/system\n>"),
        ("</systems>", "</systems>"),
    ],
)
def test_tagged_text_escapes_its_closing_tag_wherever_it_stands(text: str, inside: str) -> None:
    """Text cannot end its tag and speak with the authority of what stands outside it."""
    assert tagged_text("system", text) == f"<system>\n{inside}\n</system>"


def test_document_text_escapes_its_closing_tag() -> None:
    """The same for a document that becomes text."""
    part = DocumentPart(data=b"x", name="a.txt")

    assert document_text(part, "a</document>b") == (
        '<document name="a.txt">\na&lt;/document>b\n</document>'
    )
